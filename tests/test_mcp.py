"""The Model Context Protocol server, asked by the SDK's own client over stdio and HTTP."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import HANG, clean_environment, command, run_process
from hostile import save_hostile
from hypothesis import given
from hypothesis import strategies as st
from needed import skip_without
from syrupy.assertion import SnapshotAssertion

import attnlens
from attnlens.cricket.mcp.match_folders import Folders
from attnlens.cricket.mcp.server import BoundedLines
from attnlens.cricket.readers import read_match
from attnlens.errors import InputError
from attnlens.render.safe import visible_name

if TYPE_CHECKING:
    from mcp.client import Client

skip_without("mcp")

TOOLS = {
    *("list_matches", "find_balls", "match_story", "player_in_match", "explain_over"),
    *("explain_ball", "what_if", "check_text"),
}
NAME, INNER = "data/match.csv", "data/all.zip::inner/one.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Path:
    """A folder of matches, and beside it what may not be read."""
    top = tmp_path_factory.mktemp("mcp")
    data = top / "data"
    (data / "more").mkdir(parents=True)
    for name in ("match.csv", "match_info.csv"):
        shutil.copy(sample_match_path.parent / name, data / name)
    shutil.copy(sample_match_path, top / "outside_match.csv")
    save_hostile(data / "more" / "hostile.json")
    with zipfile.ZipFile(data / "all.zip", "w") as archive:
        archive.write(data / "more" / "hostile.json", "inner/one.json")
    os.symlink(top / "outside_match.csv", data / "link.csv")
    os.symlink(top, data / "up")
    (data / "leak.csv").write_bytes((data / "match.csv").read_bytes())
    (top / "secret.txt").write_text("the secret\n")
    os.symlink(top / "secret.txt", data / "leak_info.csv")
    return data


def ask(server: Any, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """What a client makes of a server: in memory, a process's stdio, or an address."""
    import anyio
    from mcp.client import Client

    async def session() -> Any:
        async with Client(server) as client:
            return await talk(client)

    return anyio.run(session)


@pytest.fixture(scope="module")
def server(folder: Path) -> Any:
    """A server in memory."""
    from attnlens.cricket.mcp.server import server_of

    return server_of(Folders([folder]))


def called(server: Any, tool: str, **arguments: Any) -> Any:
    """A tool's answer as plain data, or what it says is wrong."""
    result = ask(server, lambda client: client.call_tool(tool, arguments))
    text = result.content[0].text
    if result.is_error:
        assert "\n" not in text.strip()
        return f"error: {text}"
    # Once: some clients show a model the text, some the structured content, some both.
    assert result.structured_content is None
    assert "\n" not in text
    return json.loads(text)


def test_matches_are_listed_by_name_side_and_date(server: Any) -> None:
    def names(**arguments: Any) -> list[str]:
        return [one["match"] for one in called(server, "list_matches", **arguments)["matches"]]

    matches = {one["match"]: one for one in called(server, "list_matches")["matches"]}
    every = [INNER, NAME, "data/more/hostile.json"]
    assert list(matches) == every
    assert matches[NAME]["teams"] == ["Copperfield Comets", "Port Amber Mariners"]
    assert matches[NAME]["innings"][0]["deliveries"] == 125
    assert called(server, "list_matches", contains="HOSTILE")["files"] == 1
    assert names(limit=2, offset=2) == every[1:]  # one file is refused
    assert names(team="amber") == names(team="MARINERS", date="2024-09-09") == [NAME]
    assert names(team="Nobody at all") == names(team="MARINERS", date="1999") == []
    day = matches[INNER]["date"]
    assert all(INNER in names(date=date) for date in (day, day[:7], day[:4]))
    first = called(server, "list_matches", limit=1)
    assert names(limit=9, offset=first["next_offset"])
    assert called(server, "list_matches", limit=9)["next_offset"] is None


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(found["cols"], row, strict=True)) for row in found["rows"]]


def test_why_somebody_got_out_is_found_in_two_calls(server: Any, folder: Path) -> None:
    match = read_match(folder / "match.csv")
    wickets = [
        (f"{side.number}:{ball.index}", ball, wicket)
        for side in match.innings
        for ball in side.deliveries
        for wicket in ball.wickets
        if wicket.counts
    ]
    assert len(wickets) > 5
    for name, ball, wicket in wickets:
        surname = wicket.player_out.name.split()[-1].upper()
        found = called(server, "find_balls", player=surname, outcome="W", limit=100)
        told = [row for row in rows(found) if (row["match"], row["ball"]) == (NAME, name)]
        assert told[0]["out"].startswith(f"{wicket.player_out.name}: ")
        assert told[0]["label"] == ball.label
    answer = called(server, "explain_ball", match=NAME, ball=name, evidence=False)
    assert answer["data"]["happened"]["out"] == wicket.player_out.name


COLUMNS = (
    "match_id,season,start_date,venue,innings,ball,batting_team,bowling_team,striker,"
    "non_striker,bowler,runs_off_bat,extras,wides,noballs,byes,legbyes,penalty,wicket_type,"
    "player_dismissed,other_wicket_type,other_player_dismissed"
)
THREE_BALLS = f"""{COLUMNS}
7,2024,2024-05-01,Hill,1,0.1,Kites,Moles,JC Buttler,A Young,B Old,1,0,,,,,,,,,
7,2024,2024-05-01,Hill,1,0.2,Kites,Moles,A Young,JC Buttler,B Old,0,0,,,,,,run out,JC Buttler,,
7,2024,2024-05-01,Hill,1,0.3,Kites,Moles,A Young,C New,B Old,0,0,,,,,,bowled,A Young,,
"""


@pytest.fixture(scope="module")
def small_server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of a match of three balls."""
    from attnlens.cricket.mcp.server import server_of

    folder = tmp_path_factory.mktemp("few")
    (folder / "seven.csv").write_text(THREE_BALLS)
    return server_of(Folders([folder]))


def test_the_man_out_is_found_at_either_end(small_server: Any) -> None:
    def balls(**arguments: Any) -> list[str]:
        return [one["ball"] for one in rows(called(small_server, "find_balls", **arguments))]

    for name in ("Buttler", "jos buttler", "J Buttler", "JC Buttler"):
        assert balls(player=name, outcome="W") == ["1:2"]
    assert balls(player="Buttler") == ["1:1", "1:2"]
    assert balls(player="Young", outcome="W") == ["1:3"]
    assert balls(player="Old", outcome="W") == ["1:3"]  # a run out is not the bowler's
    assert balls(outcome="1") == ["1:1"]
    assert balls(innings=2) == []
    answer = called(small_server, "find_balls", limit=1)
    assert (answer["more"], answer["files"], answer["files_searched"]) == (True, 1, 1)
    assert not called(small_server, "find_balls", limit=3)["more"]


class Scorebook:
    """The sample match counted from its raw rows, by nothing of ours."""

    def __init__(self, path: Path) -> None:
        with path.open(newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))
        seen: Counter[str] = Counter()
        for row in self.rows:
            seen[row["innings"]] += 1
            row["name"] = f"{row['innings']}:{seen[row['innings']]}"

    def of(self, **wanted: str) -> list[dict[str, str]]:
        return [row for row in self.rows if all(row[key] == wanted[key] for key in wanted)]

    def runs(self, **wanted: str) -> int:
        return sum(int(row["runs_off_bat"]) for row in self.of(**wanted))

    def dismissal(self, player: str) -> dict[str, str]:
        return self.of(player_dismissed=player)[0]


BATTER, BOWLER, CHASER = "Callum Wetherspring", "Pita Falekaono", "Rhys Llanfarian"


def test_ten_questions_of_a_journalist_take_two_calls_each(server: Any, folder: Path) -> None:
    book = Scorebook(folder / "match.csv")

    def of_player(player: str) -> Any:
        return called(server, "player_in_match", match=NAME, player=player.split()[-1])

    def found(**arguments: Any) -> list[dict[str, Any]]:
        return rows(called(server, "find_balls", match=NAME, **arguments))

    # 1. Why did Llanfarian get out? Where he was out, then why the model expected it.
    out = of_player(CHASER)["batting"][0]
    assert out["out_ball"] == book.dismissal(CHASER)["name"]
    why = called(server, "explain_ball", match=NAME, ball=out["out_ball"])
    assert why["data"]["happened"]["out"] == CHASER
    assert why["data"]["story"]["outcome"] == "W"
    # 2. Where did the match turn?
    story = called(server, "match_story", match=NAME)
    assert story["turning_points"][0]["sentence"]
    # 3. How many did Wetherspring make, off how many balls, with how many sixes?
    batting = of_player(BATTER)["batting"][0]
    faced = [row for row in book.of(striker=BATTER) if not row["wides"]]
    assert (batting["runs"], batting["balls"]) == (book.runs(striker=BATTER), len(faced))
    assert batting["sixes"] == len(book.of(striker=BATTER, runs_off_bat="6"))
    # 4. How did Falekaono bowl, and to whom did he concede most?
    bowling = of_player(BOWLER)["bowling"][0]
    extras = [
        int(row[kind] or 0) for row in book.of(bowler=BOWLER) for kind in ("wides", "noballs")
    ]
    assert bowling["runs"] == book.runs(bowler=BOWLER) + sum(extras) == 65
    against = {row["batter"]: row["runs"] for row in rows(bowling["to_each_batter"])}
    assert max(against, key=against.__getitem__) == BATTER
    # 5. Which sixes did Wetherspring hit, and off whom?
    sixes = found(player="Wetherspring", outcome="6", innings=1, limit=100)
    expected = [(row["name"], row["bowler"]) for row in book.of(striker=BATTER, runs_off_bat="6")]
    assert [(row["ball"], row["bowler"]) for row in sixes] == expected
    # 6. What happened in the twentieth over of the chase?
    over = called(server, "explain_over", match=NAME, innings=2, over=19)
    last = [row for row in book.of(innings="2") if row["ball"].startswith("19.")]
    total = sum(int(row["runs_off_bat"]) + int(row["extras"]) for row in last)
    assert (over["runs"], over["bowlers"]) == (total, list({row["bowler"]: 0 for row in last}))
    assert [row["ball"] for row in rows(over)] == [row["name"] for row in last]
    # 7. How likely was a win before the last over?
    percent = rows(called(server, "explain_over", match=NAME, innings=2, over=18))[-1]["win_after"]
    assert rows(over)[0]["win_before"] == pytest.approx(percent, abs=0.11)
    # 8. Who won it for them?
    best = story["win_probability_added"][0]
    assert best["added"] > 20
    added = of_player(best["name"])["win_probability_added"]
    assert added == pytest.approx(best["added"], abs=0.051)
    # 9. Which ball was the most surprising?
    assert found(most_surprising=True, limit=1)[0]["surprise_bits"] > 3
    # 10. What if somebody else had bowled to Wetherspring?
    other = called(server, "what_if", match=NAME, ball="1:47", bowler="Mirwaldi")
    assert other["changes"]
    # And whom did a fielder catch?
    catch = book.of(wicket_type="caught")[0]
    fielding = of_player(catch["fielder_1"])["fielding"]
    assert catch["name"] in [row["ball"] for row in rows(fielding)]
    page = found(over=7, innings=1, limit=3, offset=2)
    assert [row["label"] for row in page] == ["7.3", "7.4", "7.5"]


def test_a_story_has_few_tokens(server: Any) -> None:
    from attnlens.cricket.mcp.server import in_few_tokens

    for match in (NAME, "data/more/hostile.json"):
        story = called(server, "match_story", match=match)
        assert in_few_tokens(story)
        assert "won by" in story["result"]
        assert all("sentence" in one and "verdict" in one for one in story["turning_points"])


def test_the_most_surprising_balls_come_first(server: Any) -> None:
    listed = rows(called(server, "find_balls", match=NAME, most_surprising=True, limit=7))
    bits = [row["surprise_bits"] for row in listed]
    assert len(bits) == 7
    assert bits == sorted(bits, reverse=True)
    first = called(server, "explain_ball", match=NAME, ball=listed[0]["ball"], evidence=False)
    assert first["data"]["happened"]["surprise_bits"] == pytest.approx(bits[0], abs=0.011)


def test_a_ball_is_explained_and_a_text_about_it_checked(server: Any, folder: Path) -> None:
    ball = {"match": NAME, "ball": "1:47"}
    answer = called(server, "explain_ball", **ball)
    done = run_process(folder, "explain", "match.csv", "--ball", "47", "--json")
    data = json.loads(done.out)
    assert answer["echo"] == data["ball"]["echo"]
    assert "summary" not in answer
    assert answer["narrative"] == [sentence["text"] for sentence in data["narrative"]]
    assert answer["data"]["story"]["outcome"] == data["prediction"]["subject"]
    right = called(server, "check_text", text=" ".join(answer["narrative"]), **ball)
    assert right["coverage"]["read"] > 0
    assert "not borne out" not in [one["answer"] for one in right["statements"]]
    lie = "The probability of a single is 93%."
    wrong = called(server, "check_text", text=lie, **ball)
    assert [(one["text"], one["answer"]) for one in wrong["statements"]] == [(lie, "not borne out")]
    changed = called(server, "what_if", **ball, changes={"45": "2"})
    assert len(changed["outcomes"]["rows"]) == 11
    assert changed["changes"]
    untested = called(server, "explain_ball", match=NAME, ball="2:47", evidence=False)
    assert untested["data"]["claims"]["rows"] == []
    assert untested["echo"].startswith("innings 2, delivery 47")


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "data/../outside_match.csv",
        "data/link.csv",
        "data/up/outside_match.csv",
        "data/leak.csv",
        "data/all.zip::../../secret.txt",
        "data",
        "~/match.csv",
        "data\\match.csv",
        "data/match.csv\0",
        "",
        "data/all.zip::none.json",
    ],
)
def test_nothing_outside_the_folders_is_read(server: Any, folder: Path, name: str) -> None:
    said = called(server, "explain_ball", match=name, ball="1:47", evidence=False)
    assert said.startswith("error: ")
    for hidden in (str(folder), str(folder.parent), "secret", "root:"):
        assert hidden not in said.replace(repr(name), "").replace(name or " ", "")


def test_folders_of_one_name_and_no_folder(folder: Path) -> None:
    assert list(Folders([folder, folder / "more", folder]).roots) == ["data", "more"]
    with pytest.raises(InputError, match="is not a folder"):
        Folders([folder / "match.csv"])


BALL = {"match": NAME, "ball": "1:47"}
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("list_matches", {"limit": 0}),
    ("list_matches", {"date": "March"}),
    ("find_balls", {"player": "Root"}),
    ("find_balls", {"most_surprising": True}),
    ("find_balls", {"match": "data/none.csv"}),
    ("player_in_match", {"match": NAME, "player": "Root"}),
    ("player_in_match", {"match": NAME, "player": "o"}),
    ("explain_over", {"match": NAME, "over": 20, "innings": 1}),
    ("explain_over", {"match": NAME, "over": 3, "innings": 3}),
    ("match_story", {"match": "data/none.json"}),
    *(("explain_ball", {**BALL, "ball": ball}) for ball in ("7.4", "47", "last", "legal:7.4")),
    ("what_if", {**BALL, "ball": "7.4", "changes": {"7.1": "W"}}),
    ("what_if", BALL),
    ("explain_ball", {**BALL, "ball": "1:999"}),
    ("explain_ball", {**BALL, "ball": "47", "innings": 9}),
    ("explain_ball", {**BALL, "outcome": "7"}),
    ("explain_ball", {"ball": "3"}),
    ("explain_ball", {**BALL, "bowler": "X"}),
    ("explain_ball", {**BALL, "ball": "47", "outcom": "6"}),
    ("check_text", {**BALL, "text": "a" * 100_001}),
]


def test_messages_of_the_tools(server: Any, small_server: Any, snapshot: SnapshotAssertion) -> None:
    answers = [
        called(
            small_server if tool == "find_balls" and "player" in arguments else server,
            tool,
            **arguments,
        )
        for tool, arguments in WRONG
    ]
    assert all(answer.startswith("error: ") and "--" not in answer for answer in answers)
    # The SDK's own words before ours are not compared.
    assert [re.sub("Error executing tool [a-z_]+: ", "", answer) for answer in answers] == snapshot


def test_a_text_is_read_for_a_limited_time(server: Any) -> None:
    sentence = f"A {'3 for 4 from ' * 70}. "
    answer = called(server, "check_text", text=sentence * 100, **BALL)
    assert answer["coverage"]["of"] == 100
    checked = attnlens.check_grounding({"a": 3}, "The a is 4. " * 3, seconds=-1)
    assert {row.what for row in checked.statements} == {"the time limit was reached"}


def test_hostile_names_are_only_names(server: Any) -> None:
    answer = called(server, "explain_ball", match=INNER, ball="1:47")
    assert not {"\u202e", "\u200b", "\ufeff", "\x1b"} & set(json.dumps(answer, ensure_ascii=False))
    ball = answer["data"]["ball"]
    assert all(ball[role] == visible_name(ball[role]) for role in ("bowler", "batter"))


async def greeted(client: Client) -> None:
    """What is answered however it is asked."""
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    found = await client.call_tool(
        "explain_ball", {"match": NAME, "ball": "1:47", "evidence": False}
    )
    echo = json.loads(found.content[0].text)["echo"]
    assert echo.startswith("innings 1, delivery 47 of 125")
    wrong = await client.call_tool("explain_ball", {"match": "/etc/passwd", "ball": "47"})
    assert wrong.is_error
    assert "is not inside the folders that the server may read (data)" in wrong.content[0].text


def test_over_stdio(folder: Path) -> None:
    _, *words = command("mcp", folder)
    from mcp.client.stdio import StdioServerParameters, stdio_client

    process = StdioServerParameters(command=sys.executable, args=words, env=clean_environment())
    ask(stdio_client(process), greeted)


def test_a_line_that_is_too_long_is_refused_unread(folder: Path) -> None:
    """Over stdio: it is answered by its id, and the next request as if nothing had been."""
    call = {"name": "list_matches", "arguments": {"team": "x" * 24_000_000}}
    client = {"name": "a", "version": "1"}
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    requests = [
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "_": {"id": 9}, "id": "two", "params": call},
        {"id": 3, "method": "ping"},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **request}) for request in requests]
    text = "\n".join([*lines[:3], "junk" * 2_000_000, *lines[3:], ""]).encode()
    process = subprocess.Popen(
        command("mcp", folder),
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    impatience = threading.Timer(300, process.kill)
    impatience.start()
    with process:
        process.stdin.write(text)
        process.stdin.flush()
        # The end of its input stops the server, whatever it has not answered.
        answers = {answer["id"]: answer for answer in map(json.loads, islice(process.stdout, 3))}
        process.stdin.close()
    impatience.cancel()
    assert process.returncode == 0
    assert answers["two"]["error"]["data"] == "a request larger than 4 MB is refused"
    assert answers[3]["result"] == {}
    assert list(answers) == [1, "two", 3]


@pytest.mark.parametrize(
    ("start", "answered"),
    [
        ('{"params": {"id": 1}, "id": 2', {"id": 2}),
        (r'{"a": "\\\"}{", "id": "b"', {"id": "b"}),
        ('{"id": 1.5', {}),
        ('{"id": 12345678901234567890', {}),
        (r'{"a": "\"\"id\": 3, {', {}),
    ],
)
def test_a_line_that_is_too_long_is_answered_by_its_own_id(
    start: str, answered: dict[str, Any]
) -> None:
    stream = io.BufferedReader(io.BytesIO(f"{start}, {'x' * 200}\n".encode()))
    request = json.loads(io.BufferedReader(BoundedLines(stream, 100)).read())  # type: ignore[arg-type]
    assert {name: request[name] for name in request if name == "id"} == answered


@given(st.binary(max_size=400), st.integers(1, 60))
def test_lines_within_the_bound_come_through_whole(data: bytes, bound: int) -> None:
    lines = BoundedLines(io.BufferedReader(io.BytesIO(data)), bound)  # type: ignore[arg-type]
    read = io.BufferedReader(lines).read()
    each = re.compile(rb"[^\n]*\n|[^\n]+\Z")
    assert [line for line in each.findall(read) if b" is refused" not in line] == [
        line for line in each.findall(data) if len(line) <= bound
    ]


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """A server over HTTP, as a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command("mcp", folder, "--http", "--port", str(port))
    process = subprocess.Popen(
        words, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=HANG)
        assert out == b""


def test_over_http_to_this_machine_only(address: str) -> None:
    ask(address, greeted)
    open_directly = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    accepted = "application/json, text/event-stream"
    headers = {"Content-Type": "application/json", "Accept": accepted}
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    for more, body, refusals in (
        ({**headers, "Host": "evil.example"}, ping, (403, 421)),
        ({**headers, "Origin": "http://evil.example"}, ping, (403, 421)),
        # A picture or a frame of another site says nothing of where it is asked from.
        ({"Sec-Fetch-Site": "cross-site"}, None, (406,)),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            open_directly(urllib.request.Request(address, body, more), timeout=HANG)
        assert caught.value.code in refusals
        caught.value.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none",), "none: is not a folder; give folders that contain match files"),
        (("--http", "--host", "0.0.0.0"), "can be reached from other machines"),
        (("none", "--http", "--host", "LOCALHOST"), "none: is not a folder"),
        (("--http", "--port", "0"), "'0' is not a number from 1 to 65535"),
        ((), "pip install 'attnlens[mcp]'"),
    ],
)
def test_what_cannot_be_served(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    if not words:  # as if the extra were not installed
        (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(name='mcp')\n")
    path = os.pathsep.join([str(tmp_path), clean_environment()["PYTHONPATH"]])
    done = run_process(tmp_path, "mcp", *words, PYTHONPATH=path)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err

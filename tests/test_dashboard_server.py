"""The dashboard's server without a browser: what it tells, what it refuses, how it begins."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import re
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

import numpy as np
import pytest
from command_line import HANG, Here, run_process
from dashboard_server import Server, serving, two_recordings, until
from needed import skip_without
from small_predictors import arrays_of
from syrupy.assertion import SnapshotAssertion
from waitress.adjustments import Adjustments

from attnlens.cricket.explain.innings_data import read_encoded, shown_innings
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.trained import load_predictor
from attnlens.cricket.predictor.window import window_for
from attnlens.cricket.readers import read_match
from attnlens.dashboard.app import create_app
from attnlens.dashboard.library import BusyError, Data, Functions, Library, Matches, Recordings
from attnlens.dashboard.serving import MAX_BODY_BYTES, THREADS, BoundedParser
from attnlens.errors import InputError

skip_without("dash")

ASSETS = Path(__file__).resolve().parent.parent / "dashboard" / "assets"
OURS = {"X-Attnlens": "1"}
JSON = {**OURS, "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served"), sample_match_path) as dashboard:
        yield dashboard


@pytest.fixture(scope="module")
def innings(sample_match_path: Path) -> tuple[Any, Any, Any]:
    """The predictor, the match, and the first innings read in one pass."""
    predictor, match = load_predictor(), read_match(sample_match_path)
    return predictor, match, read_encoded(arrays_of(predictor, match, 1), predictor)


def test_one_pass_over_an_innings_gives_the_numbers_of_every_ball(innings: Any) -> None:
    predictor, match, reading = innings
    for ball in (0, 1, 6, 46, 124):
        window = window_for(match, BallReference(1, ball + 1), predictor)
        single = read_ball(predictor, window)
        past_balls = min(35, ball)
        for actual, expected in (
            (reading.probabilities[ball], single.probabilities),
            (reading.total[ball, :past_balls], single.total[::-1][:past_balls]),
        ):
            np.testing.assert_allclose(actual, expected, atol=1e-6, rtol=1e-5)
        for scale in ("micro", "short", "medium"):
            rows = np.array(single.scales[scale].rows).reshape(len(single.scales[scale].own), -1)
            by_distance = reading.scales[scale][0][:, ball]
            np.testing.assert_allclose(by_distance[:, : rows.shape[1]], rows[:, ::-1], atol=1e-6)
            assert not by_distance[:, rows.shape[1] :].any()
            own = reading.scales[scale][1][:, ball]
            np.testing.assert_allclose(own, single.scales[scale].own, atol=1e-6)


def test_what_is_sent_unpacks_to_what_was_read(innings: Any) -> None:
    predictor, match, reading = innings
    document = shown_innings(match, 1, predictor)
    packed, (rows, own) = document["attention"]["medium"], reading.scales["medium"]
    cells = np.frombuffer(base64.b64decode(packed["cells"]), np.uint8).reshape(rows.shape)
    largest = np.frombuffer(base64.b64decode(packed["most"]), "<f4").reshape(rows.shape[:2])
    np.testing.assert_allclose(largest[..., None] * cells / 255, rows, atol=largest.max() / 500)
    np.testing.assert_array_equal(
        np.frombuffer(base64.b64decode(packed["own"]), "<f4"), own.ravel()
    )
    last = document["balls"][-1]
    assert (last["score"], last["wickets"], last["label"]) == (184, 5, "19.8")
    falekaono = [ball for ball in document["balls"] if ball["bowler"] == "Pita Falekaono"]
    assert falekaono[-1]["spell"] == "3.5"  # his 24th ball is the last


def test_who_leaves_is_noticed_and_silent_connections_are_no_burden(server: Server) -> None:
    port = int(server.url.rpartition(":")[2])
    asking = "GET /data/simulated-252/2/{}/explanation.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with contextlib.ExitStack() as opened:
        for _ in range(500):
            silent = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            silent.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        balls = range(80, 100)
        for ball in balls:
            with socket.create_connection(("127.0.0.1", port)) as leaving:
                leaving.sendall(asking.format(ball).encode())
                time.sleep(0.02)
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        assert int(re.search(r"Threads:\s+(\d+)", status)[1]) < THREADS + 20
        assert server.get("/health", Host=f"LOCALHOST:{port}")[0] == 200
        thread = threading.Thread(target=server.explanation, args=("simulated-252/2/101",))
        thread.start()
        # One of those that were left may have begun; the others are dropped.
        until(lambda: server.json("/data/simulated-252/2/101/place.json")["before"] <= 1)
        thread.join()
    assert server.get("/health", Host=f"LOCALHOST:{port}")[0] == 200


def test_what_is_not_there_and_what_is_too_large_say_so_by_their_status(server: Server) -> None:
    for path in ("/nowhere", "/match/gone", "/match/gone/innings/1/ball/1", "/recording/gone"):
        status, content, _ = server.get(path)
        assert (status, b"<html" in content) == (404, True), path
    for path in ("/corpus", "/compare", "/models/tiny", "/recordings/compare"):
        assert server.get(path)[0] == 410
    for path in ("/", "/match/simulated-252", "/match/simulated-252/innings/1/ball/5"):
        assert server.get(path)[0] == 200


def test_a_first_visit_is_small_and_scripts_are_cached_for_good(server: Server) -> None:
    page = server.get("/")[1].decode()
    own = {path for path in re.findall(r'(?:src|href)="(/[^"]+)"', page) if "/_dash" not in path}
    own.add("/data/simulated-252/1/balls.json?model=bundled")
    sizes = {}
    for path in sorted(own):
        _, content, headers = server.get(path, **{"Accept-Encoding": "gzip"})
        sizes[path] = len(content)
        if path.startswith("/scripts-"):
            assert "immutable" in headers["Cache-Control"]
            if headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            assert content == server.get(path)[1]
    names = {path.rpartition("/")[2] for path in sizes if path.startswith("/scripts-")}
    assert names == {*(path.name for path in ASSETS.glob("*.js")), "heat_maps.js"}
    assert sum(sizes.values()) < 250_000, sizes
    folder = next(path for path in own if path.startswith("/scripts-")).rpartition("/")[0]
    assert server.get(f"{folder}/none.js")[0] == 404


def callback(server: Server, output: str, *, state: Any, **value: Any) -> Any:
    """What a callback of Dash answers to one input and one state, each an ``id.property``."""
    ((name, given),) = value.items()
    ids = {"url": ("url", "pathname"), "find": ("find", "value")}
    (first, of_first), (second, of_second) = ids[name], state[:2]
    outputs = [
        {"id": part.partition(".")[0], "property": part.partition(".")[2]}
        for part in output.split()
    ]
    body = {
        "output": f"..{'...'.join(output.split())}..",
        "outputs": outputs,
        "inputs": [{"id": first, "property": of_first, "value": given}],
        "state": [{"id": second, "property": of_second, "value": state[2]}],
        "changedPropIds": [f"{first}.{of_first}"],
    }
    status, answer = server.post("/_dash-update-component", json.dumps(body).encode(), **JSON)
    assert status == 200, answer
    return answer["response"]


FOUND = "hits.children url.href find.value"
PAGE = "page.children page-key.data"


def found(server: Server, text: str) -> Any:
    return callback(server, FOUND, find=text, state=("url", "pathname", "/match/simulated-252"))


def test_players_and_matches_are_found_by_a_part_of_their_names(
    server: Server, sample_match_path: Path
) -> None:
    first = next(
        ball.index
        for ball in read_match(sample_match_path).innings[0].deliveries
        if ball.batter.name == "Callum Wetherspring"
    )
    hits = [option["props"]["value"] for option in found(server, "wether")["hits"]["children"]]
    assert hits[0].startswith("Callum Wetherspring · faces from ")
    chosen = found(server, hits[0])
    assert chosen["url"]["href"] == f"/match/simulated-252/innings/1/ball/{first}"
    assert chosen["find"]["value"] == ""
    match = found(server, "comets mariners")["hits"]["children"][0]["props"]["value"]
    assert found(server, match)["url"]["href"] == "/match/simulated-252"
    for nobody in ("nobody of the sort", "", "x" * 9999):
        assert found(server, nobody)["hits"]["children"] == []


def test_a_malformed_callback_is_a_line_and_no_traceback(server: Server) -> None:
    call = {
        "output": "..page.children...page-key.data..",
        "outputs": [
            {"id": "page", "property": "children"},
            {"id": "page-key", "property": "data"},
        ],
        "inputs": [{"id": "url", "property": "pathname", "value": "/"}],
        "state": [{"id": "page-key", "property": "data", "value": None}],
        "changedPropIds": ["url.pathname"],
    }
    assert server.post("/_dash-update-component", json.dumps(call).encode(), **JSON)[0] == 200
    broken: list[Any] = [None, [], {}, 5, "x", {"output": 5}]
    broken += [{key: call[key] for key in call if key != gone} for gone in call]
    for key in call:
        broken += [{**call, key: wrong} for wrong in (5, None, "x", [5], [{}], [{"id": []}])]
    for value in ({"a": 1}, [1], 5, True):
        for key in ("inputs", "state"):
            broken.append({**call, key: [{**call[key][0], "value": value}]})
    broken.append({**call, "inputs": [{**call["inputs"][0], "value": "/match/\ud800"}]})
    deep = b"[" * 100_000
    for body in (b"", b"[", deep, *(json.dumps(row).encode() for row in broken)):
        status, said = server.post("/_dash-update-component", body, **JSON)
        assert (status, said) == (400, {"error": "the request is not a callback of this page"}), (
            body
        )


def test_an_outcome_that_is_asked_for_is_what_claims_and_words_are_about(server: Server) -> None:
    six = server.explanation(outcome="6")
    assert six["prediction"]["explained"] == "6"
    assert {claim["outcome"] for claim in six["evidence"]} == {"6"}
    default = server.explanation()
    assert {claim["outcome"] for claim in default["evidence"]} == {default["prediction"]["subject"]}


def test_every_answer_carries_the_policy(server: Server) -> None:
    for path in ("/health", "/", "/data/simulated-252/1/balls.json", "/match/a/innings/1/ball/1"):
        status, _, headers = server.get(path)
        assert status == (404 if path.startswith("/match/a/") else 200)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "script-src 'self' 'sha256-" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    script = server.get("/")[1].decode()
    assert "http://" not in script.replace(server.url, "")
    assert "https://" not in script


def test_other_sites_may_link_to_a_page_and_no_more(
    server: Server, sample_match_path: Path
) -> None:
    assert server.get("/health", Host="evil.example")[0] == 403
    assert server.post("/upload/match?name=a.csv", sample_match_path.read_bytes())[0] == 403
    body = json.dumps({"bowler": "Zeeshan Mirwaldi"}).encode()
    assert server.post("/ask/simulated-252/1/47/what-if", body)[0] == 403
    match = "simulated-252/1"
    costly = [
        *(f"/data/{match}/balls.json", f"/data/{match}/50/explanation.json"),
        *(f"/files/{match}/50/prompt.txt", "/live/simulated-252.json", "/_dash-layout"),
    ]
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # another port of this machine
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Referer": "http://evil.example/"},
    ):
        assert [server.get(path, **headers)[0] for path in costly] == [403] * len(costly), headers
        assert server.get(f"/match/{match}/ball/47", **headers)[0] == 200
        post = urllib.request.Request(f"{server.url}/_dash-update-component", b"{}", headers)
        assert server.send(post)[0] == 403
    port = server.url.rpartition(":")[2]
    for headers in (
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none", "Referer": "http://elsewhere.example"},
        {"Origin": server.url},
        {"Host": f"LOCALHOST:{port}"},
    ):
        assert server.get(costly[0], **headers)[0] == 200, headers


def test_requests_of_other_sites_start_no_work() -> None:
    explained: list[int] = []

    unused: Any = dict
    functions = Functions(
        **dict.fromkeys(("read", "people", "story", "innings", "next_ball", "what_if"), unused),
        match=lambda match: {"match_id": match},
        explain=lambda _match, _innings, ball, *_: {"explanation": explained.append(ball)},
        texts={},
        page=unused,
        models=("bundled",),
    )
    matches = Matches(functions)
    matches.add(cast(Any, "m"))
    client = create_app(functions, matches, Recordings(functions)).server.test_client()
    for ball in range(40):
        path = f"/data/m/1/{ball}/explanation.json"
        assert client.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert explained == []
    assert client.get("/data/m/1/7/explanation.json").status_code == 200
    assert explained == [7]


def test_a_body_is_refused_before_it_is_received(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    ours = "X-Attnlens: 1\r\n"

    def status(path: str, head: str) -> int:
        request = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{head}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=HANG) as connection:
            connection.sendall(request.encode())
            return int(connection.recv(12).split()[1])

    upload, two_megabytes = "/upload/match?name=a.csv", "Content-Length: 2000000"
    assert status(upload, f"{ours}Content-Length: 10000000000") == 413
    assert status(upload, f"{ours}Content-Length: {MAX_BODY_BYTES + 1}") == 413
    assert status(upload, f"{ours}Transfer-Encoding: chunked") == 411
    assert status(upload, two_megabytes) == 413, "without the header of the dashboard's own pages"
    assert status("/_dash-update-component", f"{ours}{two_megabytes}") == 413
    assert status("/x", f"Expect: 100-continue\r\n{two_megabytes}") == 413
    assert status("/x", "Expect: 100-continue\r\nTransfer-Encoding: chunked") == 411


def test_all_arriving_bodies_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnlens.dashboard.serving.MAX_ARRIVING_BYTES", 100)
    monkeypatch.setattr(BoundedParser, "arriving", WeakSet())

    def begun(body: bytes) -> BoundedParser:
        parser = BoundedParser(Adjustments())
        parser.received(b"POST / HTTP/1.1\r\nContent-Length: 60\r\n\r\n")
        assert parser.error is None, "only bytes that have arrived count"
        parser.received(body)
        return parser

    stalled, complete = [begun(b"") for _ in range(4)], begun(b"x" * 60)
    assert (complete.completed, complete.error) == (True, None)
    assert begun(b"x" * 40).error is None
    refused = begun(b"x" * 41)
    assert (refused.completed, refused.error.code) == (True, 503)
    for parser in (complete, refused):
        parser.close()
    assert begun(b"x" * 60).error is None
    assert len(BoundedParser.arriving) >= len(stalled)


def test_uploads_are_capped_and_kept_apart(server: Server, sample_match_path: Path) -> None:
    status, said = server.post("/upload/match?name=big.csv", b"x" * 1_000_001, **OURS)
    assert (status, said["error"].partition(": ")[0]) == (422, "big.csv")
    content = sample_match_path.read_bytes().replace(b"Callum", b"Colum")
    status, said = server.post("/upload/match?name=../../x.csv", content, **OURS)
    assert status == 200
    key = said["path"].removeprefix("/match/")
    assert (
        server.json(f"/data/{key}/1/balls.json")["balls"][0]["non_striker"] == "Pranit Gollapatti"
    )
    assert key.encode() not in server.get("/_dash-layout")[1]
    _, again = server.post("/upload/match?name=x.csv", content, **OURS)
    _, other = server.post("/upload/match?name=y.csv", content, **OURS)
    assert (again == said, other == said) == (True, False)
    answer = callback(server, PAGE, url="/", state=("page-key", "data", None))
    assert key not in json.dumps(answer)
    status, said = server.post("/upload/match?name=bad.csv", b"a,b\n1,2\n", **OURS)
    assert (status, said["error"][:9], "/tmp" in said["error"]) == (422, "bad.csv: ", False)


class Pages(Library[str]):
    """A library whose items are their files' texts."""

    def _read(self, path: str, name: str) -> tuple[str, Data]:
        return Path(path).read_text(), {"name": name}

    def _size(self, content: str) -> int:
        return len(content)


def test_all_uploads_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnlens.dashboard.library._MAX_UPLOADED_CHARACTERS", 100)
    pages = Pages(functions=None)  # type: ignore[arg-type]  # `_read` asks none
    items = [pages.upload(f"{number}.txt", io.BytesIO(b"x" * 40)) for number in range(3)]
    assert len({item.key for item in items}) == 3
    assert [pages.get(item.key) for item in items] == [None, *items[1:]]
    with pytest.raises(
        InputError, match=r"^4\.txt: is too large to be kept open after the upload; open it from"
    ):
        pages.upload("4.txt", io.BytesIO(b"x" * 101))
    many = [pages.upload(f"{number}", io.BytesIO()) for number in range(70)]
    assert sum(pages.get(item.key) is not None for item in many) == 64


def test_an_upload_beyond_those_being_read_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = Pages(functions=None)  # type: ignore[arg-type]  # `_read` asks none
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slowly(path: str, name: str) -> tuple[str, Data]:
        begun.release()
        go_on.wait(60)
        return path, {"name": name}

    monkeypatch.setattr(pages, "_read", slowly)
    readers = [
        threading.Thread(target=pages.upload, args=(name, io.BytesIO())) for name in ("a", "b")
    ]
    for reader in readers:
        reader.start()
        begun.acquire()
    with pytest.raises(BusyError):
        pages.upload("c", io.BytesIO())
    go_on.set()
    for reader in readers:
        reader.join()
    assert pages.upload("c", io.BytesIO()).summary == {"name": "c"}


def test_questions_that_cannot_be_answered_are_one_line(
    server: Server, snapshot: SnapshotAssertion
) -> None:
    answers: dict[str, tuple[int, Any]] = {}
    for path in (
        "/data/gone/1/balls.json",
        "/data/simulated-252/7/balls.json",
        "/data/simulated-252/1/900/explanation.json",
        "/data/simulated-252/1/47/explanation.json?outcome=x",
        "/files/simulated-252/1/47/secrets.txt",
    ):
        status, content, _ = server.get(path)
        answers[path] = (status, json.loads(content))
    bodies = (b"{}", b"[" * 900_000, b"[" * 1_000_001, b'{"target": [1]}', b'{"target": Infinity}')
    for body in (*bodies, b'{"bowler": 5}', b'{"balls": "46"}'):
        name = body.decode() if len(body) < 99 else f"{len(body)} brackets"
        answers[name] = server.post("/ask/simulated-252/2/47/what-if", body, **JSON)
    assert not any("\n" in answer["error"] for _, answer in answers.values())
    assert answers == snapshot


def test_a_recording_is_shown_under_its_own_policy(server: Server, tmp_path: Path) -> None:
    content = two_recordings(tmp_path)[0].read_bytes()
    status, answer = server.post("/upload/recording?name=r.safetensors", content, **OURS)
    assert status == 200, answer
    status, page, headers = server.get(f"/page/{answer['path'].removeprefix('/recording/')}")
    assert (status, b"r.safetensors: attention" in page) == (200, True)
    assert "script-src 'sha256-" in headers["Content-Security-Policy"]
    status, answer = server.post("/upload/recording?name=r.safetensors", b"junk", **OURS)
    assert status == 422


def test_public_is_read_only_and_other_hosts_are_warned_of(
    tmp_path: Path, sample_match_path: Path
) -> None:
    with serving(tmp_path, sample_match_path, "--public", "--host", "0.0.0.0") as server:
        local = Server(server.url.replace("0.0.0.0", "127.0.0.1"), server.process)
        content = sample_match_path.read_bytes()
        assert local.post("/upload/match?name=a.csv", content, **OURS)[0] == 403
        assert local.get("/health", Host="scores.example")[0] == 200
        warned = (tmp_path / "dashboard.err").read_text()
    assert "WARNING: 0.0.0.0 can be reached from other machines" in warned


def test_heads_across_matches_are_shown_from_their_file(
    tmp_path: Path, attnlens_here: Here, sample_match_path: Path
) -> None:
    options = ("--allow-in-sample", "--balls", "12", "--json", "--out", "heads.json")
    attnlens_here.good("lab", "heads", sample_match_path, *options)
    data = json.loads((tmp_path / "heads.json").read_text())
    with serving(tmp_path, sample_match_path, "--heads", "heads.json") as server:
        every = server.json("/heads.json?head=")["html"]
        shown = {
            row["id"]: row["name"]
            for row in server.json("/data/simulated-252/1/balls.json")["heads"]
        }
        for scale in data["scales"]:
            for head in scale["heads"]:
                name = f"{scale['scale']}-{head['number']}"
                page = server.json(f"/heads.json?head={name}")["html"]
                assert f'<a href="/heads/{name}">{shown.pop(name)}</a>' in every
                assert f"<b>{head['importance']['points']:.2f}</b> points" in page
                assert server.get(f"/heads/{name}")[0] == 200
                assert len(head["mean_by_distance"]) == page.count("back: ")
        assert shown == {}
        assert server.get("/heads/whole-99")[0] == 404
        assert server.get("/heads.json?head=whole-99")[0] == 404
    (tmp_path / "other.json").write_text('{"scales": [{"heads": [{}]}]}')
    error = attnlens_here.refused("dashboard", sample_match_path, "--heads", "other.json")
    assert error.startswith(
        "attnlens: other.json: is not a document that `attnlens lab heads --json` wrote; write one"
    )


def test_a_taken_port_and_a_bad_file_are_one_line(
    tmp_path: Path, attnlens_here: Here, sample_match_path: Path
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        words = ("dashboard", sample_match_path, "--no-browser", "--port", port)
        assert attnlens_here.refused(*words) == (
            f"attnlens: port {port} of 127.0.0.1 is already in use; give another --port\n"
        )
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    error = attnlens_here.refused("dashboard", "bad.csv", "--no-browser")
    assert error.startswith("attnlens: bad.csv: ")
    attnlens_here.refused("dashboard", "--port", "99999")


def test_without_dash_it_says_what_to_install(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    (blocked / "dash").mkdir(parents=True)
    (blocked / "dash" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'dash'\", name='dash')\n"
    )
    repository = str(Path(__file__).resolve().parent.parent)
    answer = run_process(tmp_path, "dashboard", PYTHONPATH=f"{blocked}:{repository}")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "attnlens: the dashboard needs dash, which is not installed; "
        "run: pip install 'attnlens[dashboard]'\n"
    )

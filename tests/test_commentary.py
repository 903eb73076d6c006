"""Simulated commentary: it says what happened, and says it in many ways."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pytest
from command_line import REPOSITORY, Here

from attnlens.cricket import commentary_words as words
from attnlens.cricket.commentary import COLUMNS, _Speaker, commentary_csv, sentences
from attnlens.cricket.simulate import simulate
from attnlens.text.tokens import tokenise

SAMPLE = REPOSITORY / "sample_data" / "commentary.csv"
EVENT = re.compile(
    r"(nb|(nb )?[0-6]( dropped)? [a-z-]+ [a-z]+|0 (beaten|pads|left)|out caught [a-z-]+ [a-z]+"
    r"|out (bowled|lbw|stumped|hit-wicket)|out run-out \S+ \d|(wd|b|lb) \d)( fifty)?( hundred)?"
)


def surname(name: str) -> str:
    return name.rsplit(" ", 1)[-1].lower()


def test_the_sample_is_what_the_command_writes(attnlens_here: Here) -> None:
    readme = (REPOSITORY / "sample_data" / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"attnlens (simulate .*--commentary .*)", readme)
    attnlens_here.good(*line.replace("sample_data/", "").split())
    assert (attnlens_here.folder / SAMPLE.name).read_bytes() == SAMPLE.read_bytes()
    rows = list(csv.reader(io.StringIO(SAMPLE.read_text(encoding="utf-8"))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) > 5000
    assert SAMPLE.stat().st_size < 750_000


def test_a_ball_is_told_as_it_was() -> None:
    from random import Random

    told = Counter[str]()
    for innings in simulate(11).match.innings:
        for ball in innings.deliveries:
            fielders = [ball.bowler.name, "Some One", "Any Body"]
            one = _Speaker(ball, fielders, Random(ball.index)).sentence([])
            bowler, striker, *event = one.scorebook.split()
            assert (bowler, striker) == (surname(ball.bowler.name), surname(ball.batter.name))
            assert EVENT.fullmatch(" ".join(event)), one
            spoken = tokenise(one.commentary)
            assert bowler in spoken
            assert striker in spoken
            assert not re.search(r"[{}]|  | [,.!?]", one.commentary), one
            kind = event[0]
            told[kind] += 1
            if ball.wickets:
                assert kind == "out"
                if ball.wickets[0].kind == "run out":
                    assert event[2] == surname(ball.wickets[0].player_out.name)
                    assert event[2] in spoken
            elif "wides" in ball.extras:
                assert event == ["wd", str(ball.extras["wides"])]
            elif "noballs" in ball.extras:
                assert kind == "nb"
                assert len(event) == 1 or event[1] == str(ball.runs_batter)
            elif "byes" in ball.extras or "legbyes" in ball.extras:
                runs = str(ball.extras.get("byes") or ball.extras["legbyes"])
                assert event == ["b" if "byes" in ball.extras else "lb", runs]
            else:
                assert kind == str(ball.runs_batter)
            if kind in words.RUNS and len(event) == 3:
                assert event[1] in words.PLACES
                assert event[2] in words.SHOTS
                assert event[1] in words.SHOTS[event[2]].places
    assert set(told) >= {"0", "1", "2", "4", "6", "out", "wd"}


def test_the_words_are_varied_and_lead_astray() -> None:
    found = list(sentences(1500, 3))
    assert len({one.commentary for one in found}) > 1490
    assert len({tuple(one.scorebook.split()[2:]) for one in found}) > 200
    four_spoken = [one for one in found if "four" in tokenise(one.commentary)]
    assert sum("4" not in one.scorebook.split() for one in four_spoken) > 50
    out_spoken = [one for one in found if "caught" in tokenise(one.commentary)]
    assert any("out" not in one.scorebook.split() for one in out_spoken)
    named = [one for one in found if one.scorebook.split()[0] != tokenise(one.commentary)[0]]
    assert 0.3 < len(named) / len(found) < 0.9
    tokens = Counter(token for one in found for token in one.scorebook.split())
    assert {"dropped", "beaten", "pads", "left", "caught", "run-out", "fifty"} <= set(tokens)


def test_fewer_are_the_first_of_more() -> None:
    assert commentary_csv(40, 9).startswith(commentary_csv(15, 9))
    assert commentary_csv(15, 9) != commentary_csv(15, 10)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--matches", "2"], "--matches is about matches"),
        (["--format", "json"], "--format is about matches"),
        (["--rules"], "--rules is about matches"),
        (["--seed", "-1"], "seed -1 is negative"),
        (["--out", "x.txt"], "x.txt: commentary is written as CSV"),
        (["--out", "none/x.csv"], "none/x.csv: its folder does not exist"),
    ],
)
def test_what_does_not_fit_is_refused(attnlens_here: Here, given: list[str], said: str) -> None:
    answer = attnlens_here("simulate", "--out", "c.csv", "--commentary", "10", *given)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"attnlens: {said}")
    assert answer.err.count("\n") == 1
    assert attnlens_here.files() == []


def test_a_count_must_be_one(attnlens_here: Here, tmp_path: Path) -> None:
    for count in ("0", "ten", "-3", "9999999"):
        answer = attnlens_here("simulate", "--out", tmp_path / "c.csv", "--commentary", count)
        assert answer.status == 2
        assert "is not a number from 1 to" in answer.err

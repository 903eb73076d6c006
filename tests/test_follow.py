"""A match that grows while it is read: nothing half-written is told, nothing is missed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from command_line import HANG, Here, clean_environment, command
from hypothesis import given, settings
from hypothesis import strategies as st

import attnlens
from attnlens.cli.explain import _sentence
from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.readers import SETTLED, Growing, read_match

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
LINES = SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)

NO_BALL = json.dumps({"info": {"match_type": "T20", "teams": ["A", "B"]}, "innings": []})
"""A match of which nothing was played."""


class Clock:
    """Seconds that pass when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_however_the_file_grows_each_ball_is_told_once_and_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("growing") / "match.csv"
    text = "".join(LINES[:14])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=8)))
    growing = Growing(str(path), clock := Clock())
    told: list[BallReference] = []
    with path.open("w", encoding="utf-8") as file:
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            file.write(text[start:end])
            file.flush()
            news = growing.poll()
            whole = max(0, text[:end].count("\n") - 1)
            if news is not None:
                assert not news.corrected
                told += news.bowled
            assert len(told) == whole
            clock.now += 0.5
    assert told == [BallReference(1, index) for index in range(1, 14)]
    assert growing.error is None


def test_a_last_line_without_an_end_is_taken_when_the_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "match.csv"
    path.write_text("".join(LINES[:10]).rstrip("\n"), encoding="utf-8")
    growing = Growing(str(path), clock := Clock())
    first = growing.poll()
    assert first is not None
    assert len(first.bowled) == 8
    clock.now += SETTLED / 2
    assert growing.poll() is None
    clock.now += SETTLED
    second = growing.poll()
    assert second is not None
    assert second.bowled == (BallReference(1, 9),)
    assert growing.settled
    assert growing.poll() is None


def test_a_document_is_read_when_it_is_whole_and_a_correction_is_said(
    tmp_path: Path, shared_data: Path
) -> None:
    whole = next((shared_data / "formats" / "json").rglob("*.json")).read_text(encoding="utf-8")
    path = tmp_path / "match.json"
    growing = Growing(str(path), Clock())
    assert growing.poll() is None
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    assert growing.poll() is None
    assert isinstance(growing.error, MatchFileError)
    path.write_text(whole, encoding="utf-8")
    news = growing.poll()
    assert news is not None
    assert growing.error is None
    balls = sum(len(side.deliveries) for side in read_match(path).innings)
    assert len(news.bowled) == balls
    document = json.loads(whole)
    delivery = document["innings"][0]["overs"][0]["deliveries"][0]
    for part in ("batter", "total"):
        delivery["runs"][part] += 1
    path.write_text(json.dumps(document), encoding="utf-8")
    news = growing.poll()
    assert news is not None
    assert (news.bowled, news.corrected) == ((), True)


def test_a_file_that_stays_away_is_told_and_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "match.csv"
    path.write_text("".join(LINES[:10]), encoding="utf-8")
    growing = Growing(str(path), clock := Clock())
    assert growing.poll() is not None
    path.unlink()
    for _ in range(3):
        assert growing.poll() is None
        assert growing.error is None  # it may be about to be replaced
        clock.now += SETTLED / 3
    clock.now += SETTLED / 3
    assert growing.poll() is None
    assert str(growing.error) == f"{path}: no such file"
    assert growing.settled
    path.write_text("".join(LINES[:11]), encoding="utf-8")
    news = growing.poll()
    assert news is not None
    assert (news.bowled, growing.error) == ((BallReference(1, 10),), None)


def followed(folder: Path) -> subprocess.Popen[str]:
    """A process that follows ``match.csv``."""
    return subprocess.Popen(
        command("explain", "match.csv", "--follow", "--idle", "6", "--json", "--no-evidence"),
        cwd=folder,
        env=clean_environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_each_new_ball_is_told_and_another_match_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "match.csv"
    path.write_text("".join(LINES[:38]), encoding="utf-8")
    process = followed(tmp_path)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert (first["bowled"], first["next"], first["waiting"]) == (
        [],
        None,
        "the next ball begins an over, and the file does not name the bowler",
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(LINES[38][:20])
        file.flush()
        time.sleep(0.8)
        file.write(LINES[38][20:])
    second = json.loads(process.stdout.readline())
    path.write_text("".join(LINES[:60]).replace("simulated-252", "x\x1by"), encoding="utf-8")
    third = json.loads(process.stdout.readline())
    out, err = process.communicate(timeout=HANG)
    assert (process.returncode, out) == (0, "")
    assert err == "attnlens: the file now contains another match: x�y\n"
    assert (third["bowled"], third["corrected"]) == ([], False)
    assert [one["index"] for one in second["bowled"]] == [38]
    assert second["next"]["ball"]["index"] == 39
    assert second["next"]["prediction"]["actual"] is None
    whole = tmp_path / "whole.csv"
    whole.write_text("".join(LINES[:39]), encoding="utf-8")
    whole_told = attnlens.explain(whole, ball=38, evidence=False).prediction
    # Worked out by another process.
    assert second["bowled"][0]["surprise_bits"] == pytest.approx(whole_told.surprise_bits, abs=1e-5)
    assert second["bowled"][0]["actual"] == whole_told.actual


def test_what_was_unlikely_is_not_told_as_impossible() -> None:
    ball = {"label": "7.4", "bowler": "A", "batter": "B", "actual": "nb"}
    said = _sentence({**ball, "probability": 0.0012, "likeliest": False})
    assert said.endswith("probability was <1%")
    likely = _sentence({**ball, "probability": 0.6, "likeliest": True})
    assert likely.endswith("probability was 60% (the likeliest outcome)")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.csv", "--follow"], "no such file"),
        (["bad.csv", "--follow"], "bad.csv"),
        (
            ["match.csv", "--follow", "--ball", "47"],
            "--follow explains only the next ball, which is not yet bowled",
        ),
        (["match.csv", "--follow", "--bowler", "X"], "so --bowler cannot be given"),
        (["match.csv", "--ball", "4", "--idle", "3"], "--idle works only with --follow"),
        (["match.csv", "--follow", "--idle", "-1"], "'-1' is not a number from 0 to"),
    ],
)
def test_what_cannot_be_followed_is_one_line(
    attnlens_here: Here, words: list[str], said: str
) -> None:
    Path("match.csv").write_text("".join(LINES), encoding="utf-8")
    Path("bad.csv").write_text("not,a,match\n1,2,3\n", encoding="utf-8")
    answer = attnlens_here("explain", *words)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_followed_match_keeps_its_last_good_state_and_says_why(tmp_path: Path) -> None:
    path, clock = tmp_path / "match.csv", Clock()
    path.write_text("".join(LINES[:31]), encoding="utf-8")
    followed = Growing(str(path), clock, read_match(path))

    def later(content: str | None, seconds: float = SETTLED) -> Match | None:
        """What is new once the file has been as told for so long."""
        if content is None:
            path.unlink()
        else:
            path.with_suffix(".new").write_text(content, encoding="utf-8")
            path.with_suffix(".new").replace(path)
        found = followed.newer()
        clock.now += seconds
        return followed.newer() or found

    assert later("".join(LINES[:31])) is None
    assert followed.trouble is None
    good = followed.as_of
    for content, wrong in (
        ("no match at all\n", "match.csv: "),
        (None, "match.csv: the file no longer exists"),
        ("", "match.csv: the file is empty"),
        ("".join(LINES[:1]), "match.csv: has a header but no deliveries"),
        (NO_BALL, "match.csv: no longer contains a ball"),
        ("".join(LINES[:11]), "match.csv: now contains 10 balls, but contained 30 balls before"),
        (
            "".join(LINES[:31]).replace("Copperfield", "Elsewhere"),
            "match.csv: now contains another match",
        ),
    ):
        assert later(content) is None
        assert (followed.trouble or "").startswith(wrong), content
        assert str(tmp_path) not in str(followed.trouble)
        assert (len(followed.match.innings[0].deliveries), followed.as_of) == (30, good)
    # Said as long as it lasts, not forgotten when the junk changes.
    later("junk\n")
    assert later("more junk\n", 0) is None
    assert followed.trouble is not None
    found = later("".join(LINES[:32]))
    assert found is not None
    assert followed.match is found
    assert len(found.innings[0].deliveries) == 31
    assert followed.trouble is None
    assert followed.as_of > good
    # A ball that the scorer takes back is a correction, and what soon is good again no trouble.
    assert later("".join(LINES[:31])) is not None
    path.unlink()
    assert followed.newer() is None
    assert followed.trouble is None

"""Every ball of many matches as Parquet files: whole or not there, and the same whoever writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas
import pytest
from command_line import HANG, Here, clean_environment, command, heed_interrupts, run_process
from dashboard_server import until

import attnlens
from attnlens.cricket.export import MatchEntry
from attnlens.cricket.match.match import OUTCOMES

BALLS = 6


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Path:
    """A zip of three matches, the first balls of one."""
    text = sample_match_path.read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("season") / "season.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            lines = text.splitlines()[: BALLS + 1 + number]
            match = "\n".join([*lines, ""]).replace(text.splitlines()[1].split(",")[0], f"{number}")
            archive.writestr(f"{number}.csv", match)
    return path


@pytest.fixture(scope="module")
def exported(season: Path) -> Path:
    """The season's files, claims not tested."""
    folder = season.parent / "exported"
    assert run_process(season.parent, *words(season, folder)).status == 0
    return folder


def words(source: Path, out: Path | str, *more: str) -> tuple[str | Path, ...]:
    return ("explain", "--all", source, "--out", out, "--no-evidence", *more)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_same(folder: Path, expected: Path) -> None:
    """The same files with the same rows; another process rounds the last digit otherwise."""
    assert sorted(contents(folder)) == sorted(contents(expected))
    for path in expected.iterdir():
        frames = pandas.read_parquet(folder / path.name), pandas.read_parquet(path)
        pandas.testing.assert_frame_equal(*frames, atol=3e-6)


def test_a_row_is_what_predict_and_explain_say(season: Path, exported: Path) -> None:
    matches = {match.match_id: match for match in attnlens.read_matches(season)}
    assert {path.stem for path in exported.iterdir()} == set(matches)
    for match_id, match in matches.items():
        frame = pandas.read_parquet(exported / f"{match_id}.parquet")
        expected = attnlens.predict(match)
        for name in ("innings", "index", "label", "batter", "bowler", "actual"):
            assert frame[name].tolist() == expected[name].tolist()
        for outcome in OUTCOMES:
            assert (frame[f"p_{outcome}"] - expected[f"p_{outcome}"]).abs().max() < 1e-6
    row = frame.iloc[5]
    answer = attnlens.explain(match, ball=6, evidence=False)
    assert row["summary"] == answer.summary
    assert row["score"] == answer.ball.score
    assert row["subject"] == answer.prediction.subject
    assert list(row["flags"]) == [caution.flag for caution in answer.flags]
    assert row["claims"] == "[]"


def test_verdicts_are_counted_and_claims_are_kept(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    lines = sample_match_path.read_text(encoding="utf-8").splitlines()
    header, balls = lines[0], lines[1:]
    Path("short.csv").write_text("\n".join([header, *balls[:14]]) + "\n", encoding="utf-8")
    attnlens_here.good("explain", "--all", "short.csv", "--out", "out")
    [path] = Path("out").iterdir()
    row = pandas.read_parquet(path).iloc[13]
    answer = attnlens.explain("short.csv", ball=14)
    assert json.loads(row["claims"]) == answer.to_dict()["evidence"]
    counts = [int(row[name]) for name in row.index if name.startswith("claims_")]
    assert sum(counts) == len(answer.evidence) > 0
    supported = [claim for claim in answer.evidence if claim.verdict == "supported"]
    assert row["claims_supported"] == len(supported)


def test_finished_matches_are_not_explained_again(
    attnlens_here: Here, season: Path, exported: Path
) -> None:
    attnlens_here.good(*words(season, "out"))
    whole = contents(Path("out"))
    assert_same(Path("out"), exported)  # of another process
    first, second, _ = sorted(Path("out").iterdir())
    first.unlink()
    second.write_bytes(whole[second.name][:500])  # damaged
    third = sorted(Path("out").iterdir())[-1].stat().st_mtime_ns
    attnlens_here.good(*words(season, "out", "--workers", "2"))
    assert_same(Path("out"), exported)
    assert sorted(Path("out").iterdir())[-1].stat().st_mtime_ns == third


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--outcome", "4"), "was written with a different outcome"),
        (("--model", "measured"), "was written with a different model"),
        (("--ball", "3"), "--ball cannot be combined with --all --out DIR"),
        (("--format", "html"), "--all --out writes Parquet files into a folder"),
    ],
)
def test_other_options_into_the_same_folder_are_refused(
    attnlens_here: Here, season: Path, exported: Path, more: tuple[str, ...], problem: str
) -> None:
    before = contents(exported)
    answer = attnlens_here(*words(season, exported, *more))
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert problem in answer.err
    assert contents(exported) == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("a.csv", "b.csv", "--ball", "3"),
            "the explanations of several matches need an output folder; add --all --out DIR",
        ),
        (
            ("a.csv", "--all", "--workers", "2"),
            "--workers and --ray work only when explanations are written to a folder",
        ),
        (("nothing.zip", "--all", "--out", "out"), "nothing.zip: no such file"),
        ((".", "--all", "--out", "out"), "out: is inside a folder from which matches are read"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(
    attnlens_here: Here, arguments: tuple[str, ...], problem: str
) -> None:
    answer = attnlens_here("explain", *arguments)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert problem in answer.err


def test_a_match_that_cannot_be_read_does_not_stop_the_rest(
    attnlens_here: Here, season: Path
) -> None:
    with zipfile.ZipFile(season) as source, zipfile.ZipFile("some.zip", "w") as target:
        name = source.namelist()[0]
        text = source.read(name).decode()
        target.writestr(name, text)
        target.writestr("cut.csv", text[: len(text) // 2].replace("\n0,", "\n8,"))
        target.writestr("swapped.csv", text.replace(",0,0,", ",x,0,").replace("\n0,", "\n7,"))
    for workers in ("1", "2"):
        out = Path(f"out{workers}")
        answer = attnlens_here(*words(Path("some.zip"), out, "--workers", workers))
        assert (answer.status, answer.out) == (1, "")
        *lines, total = answer.err.splitlines()
        cut, swapped = sorted(lines)
        assert cut.startswith("attnlens: some.zip::cut.csv:")
        assert swapped.startswith("attnlens: some.zip::swapped.csv:")
        assert total == "attnlens: 2 matches could not be read"
        assert [path.name for path in out.iterdir()] == ["0.parquet"]


def test_a_history_dates_the_ratings_and_its_damaged_files_are_said(
    attnlens_here: Here, season: Path
) -> None:
    with zipfile.ZipFile(season) as source, zipfile.ZipFile("past.zip", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
        target.writestr("cut.csv", source.read(name)[:500])
    Path("match.csv").write_bytes(zipfile.ZipFile("past.zip").read("2.csv"))
    asked = (*words(Path("match.csv"), "out"), "--history", "past.zip")
    answer = attnlens_here(*asked)
    assert (answer.status, answer.out) == (0, "")
    assert answer.err.startswith("attnlens: a file of the history was left out: past.zip::cut.csv:")
    assert answer.err.count("\n") == 1
    [path] = Path("out").iterdir()
    session = attnlens.Session(history="past.zip")
    with pytest.warns(UserWarning, match="of the history could not be read"):
        chances = session.predict("match.csv")["p_4"]
    assert (pandas.read_parquet(path)["p_4"] - chances).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("match_id", "name"),
    [
        ("1234567", "1234567.parquet"),
        ("../../etc/passwd", "_.._etc_passwd-"),
        (".hidden", "hidden-"),
        ("a\x00b/c", "a_b_c-"),
    ],
)
def test_a_file_stays_in_the_folder_whatever_a_match_is_called(match_id: str, name: str) -> None:
    made = MatchEntry("file", match_id, None).file_name
    assert made.startswith(name)
    assert "/" not in made
    assert not made.startswith(".")


def started(source: Path, out: Path) -> subprocess.Popen[bytes]:
    """A run of two workers that has written a file."""
    process = subprocess.Popen(
        command(*words(source, out, "--workers", "2")),
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    until(lambda: process.poll() is not None or bool(list(out.glob("*.parquet"))))
    return process


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    children = [
        int(pid)
        for path in Path(f"/proc/{process.pid}/task").glob("*/children")
        for pid in path.read_text().split()
    ]
    return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("harm", ["worker", "run", "interrupt"])
def test_whatever_is_killed_whole_files_stay(
    attnlens_here: Here, season: Path, exported: Path, harm: str
) -> None:
    out = attnlens_here.folder / "out"
    process = started(season, out)
    states = [Path(f"/proc/{pid}/stat") for pid in workers_of(process)]
    if harm == "worker" and states:
        os.kill(int(states[0].parent.name), signal.SIGKILL)
    elif harm == "run":
        process.kill()
    elif harm == "interrupt":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = process.communicate(timeout=HANG)
    if process.returncode and harm == "worker":  # it may have been done by then
        assert process.returncode == 2
        assert said.startswith(b"attnlens: a worker process was killed")
        assert said.count(b"\n") == 1
    if process.returncode and harm == "interrupt":
        assert (process.returncode, said) == (130, b"")
    until(lambda: all(not path.exists() or path.read_text().split()[2] == "Z" for path in states))
    for path in out.glob("*.parquet"):
        pandas.read_parquet(path)
    attnlens_here.good(*words(season, out))
    assert_same(out, exported)


def test_a_file_is_on_the_disk_before_it_has_its_name(
    attnlens_here: Here, season: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def spied(*arguments: Any, name: str = name, real: Any = real) -> Any:
            calls.append(name)
            return real(*arguments)

        monkeypatch.setattr(os, name, spied)
    attnlens_here.good(*words(season, "out"))
    assert calls == ["fsync", "replace", "fsync"] * 3


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_writes_the_same_bytes(tmp_path: Path, season: Path, exported: Path) -> None:
    for _ in range(20):  # Ray itself gives up a start after 30 seconds, on a busy machine too
        done = run_process(tmp_path, *words(season, "out", "--ray"), PYTHONWARNINGS="ignore")
        if "timed out during startup" not in done.err:
            break
    assert done.status == 0, done.err
    assert_same(tmp_path / "out", exported)


def test_duckdb_and_pandas_read_a_folder(exported: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    frame = pandas.read_parquet(exported)
    asked = f"select bowler, avg(surprise_bits) from '{exported}/*.parquet' group by 1 order by 1"
    expected = frame.groupby("bowler")["surprise_bits"].mean().sort_index()
    rows = duckdb.sql(asked).fetchall()
    assert [name for name, _ in rows] == expected.index.tolist()
    assert [mean for _, mean in rows] == pytest.approx(expected.tolist())

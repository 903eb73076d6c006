"""``attnlens match``: one match in full, several a line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attnlens.cli import main
from attnlens.cricket.lab.simulator import simulate_match, write_match


@pytest.fixture
def season(tmp_path: Path) -> Path:
    """Three matches in a folder, their names against the order of their dates."""
    folder = tmp_path / "season"
    folder.mkdir()
    matches = sorted((simulate_match(seed) for seed in (1, 2, 3)), key=lambda m: m.dates)
    for name, match in zip(("c", "b", "a"), matches, strict=True):
        write_match(match, folder / f"{name}.csv")
    return folder


def test_one_match_is_a_page(sample_match_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", str(sample_match_path)]) == 0
    page = capsys.readouterr().out
    for words in ("won the toss", "fall of wickets", "extras", "did not bat"):
        assert words in page
    assert main(["match", str(sample_match_path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {card["batting_team"] for card in data["innings"]} == set(data["teams"])
    assert data["result"]


def test_several_matches_are_a_line_each(season: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", str(season), "--json"]) == 0
    by_file = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["match", str(season)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [match["match_id"] for match in by_file]


def test_a_bad_file_among_them_stops_or_is_skipped(
    season: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (season / "b.csv").read_text().splitlines()
    (season / "b.csv").write_text("\n".join([*good[:30], good[30].replace(",", ";")]) + "\n")
    out = tmp_path / "list.txt"
    assert main(["match", str(season), "--out", str(out)]) == 2
    stopped = capsys.readouterr()
    assert stopped.err.count("\n") == 1
    assert "b.csv:31:" in stopped.err
    assert not out.exists()
    assert main(["match", str(season), "--on-error", "skip"]) == 0
    skipped = capsys.readouterr()
    assert len(skipped.out.splitlines()) == 2
    assert "skipped 1" in skipped.err
    assert "b.csv:31:" in skipped.err

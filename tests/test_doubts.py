"""What cannot be in a match is told with its place, or the match is refused with its line."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import pytest
from wrong_matches import KINDS, PROBLEMS, mutant

from attnlens.cli import main
from attnlens.cricket.errors import ImpossibleMatchError, MatchFileError
from attnlens.cricket.lab.simulator import simulate_match, write_match
from attnlens.cricket.match.doubts import RULES
from attnlens.cricket.match.match import Doubt
from attnlens.cricket.readers import read_match


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Matches that nobody doubts; one is won by runs, the other by wickets."""
    folder, found, margins = tmp_path_factory.mktemp("sound"), [], set()
    for seed in (3, 4):
        path = folder / f"{seed}.json"
        write_match(simulate_match(seed), path)
        match = read_match(path)
        assert match.doubts == ()
        margins |= set(match.outcome["by"])
        found.append(path.read_text())
    assert margins == {"runs", "wickets"}
    return found


def made_wrong(path: Path, base: str, kind: str) -> None:
    """Write a match made wrong in one way, a value a line."""
    changed = mutant(base, kind, random.Random(1))
    assert changed is not None
    path.write_text(json.dumps(json.loads(changed[0]), indent=1))


def doubts_about(path: Path) -> tuple[Doubt, ...]:
    try:
        match = read_match(path)
    except ImpossibleMatchError as error:
        return (error.doubt,)
    assert match.notes[len(match.notes) - len(match.doubts) :] == tuple(map(str, match.doubts))
    return match.doubts


def test_every_impossible_match_is_told_and_every_rule_tells_of_one(
    tmp_path: Path, sound: list[str]
) -> None:
    seen: set[tuple[str, bool]] = set()
    for kind in KINDS:
        for number, base in enumerate(sound * 3):
            result = mutant(base, kind, random.Random(number))
            if result is None:
                continue
            path = tmp_path / f"{kind}.json"
            path.write_text(result[0])
            try:
                found = doubts_about(path)
            except MatchFileError:
                assert kind == "extras_do_not_add_up"
                continue
            seen |= {(doubt.kind, doubt.refused) for doubt in found}
            assert found or not result[1], (kind, number)
    assert seen >= {(rule.kind, rule.refused) for rule in RULES}


@pytest.mark.parametrize("change", PROBLEMS)
def test_a_doubt_names_the_problem(tmp_path: Path, sound: list[str], change: str) -> None:
    mutants = (mutant(base, change, random.Random(seed)) for seed in range(9) for base in sound)
    text, _ = next(result for result in mutants if result is not None)
    (tmp_path / "m.json").write_text(text)
    problems = [doubt.problem for doubt in doubts_about(tmp_path / "m.json")]
    assert any(PROBLEMS[change] in problem for problem in problems), problems


def test_impossible_versions_of_real_matches_are_doubted(tmp_path: Path, shared_data: Path) -> None:
    path, dice = tmp_path / "mutant.json", random.Random(7)
    with zipfile.ZipFile(shared_data / "t20s_male_json.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".json"))
        texts = [archive.read(name).decode() for name in dice.sample(names, 40)]
    real = []
    for text in texts:
        path.write_text(text)
        match = read_match(path)
        settled = "by" in match.outcome and "method" not in match.outcome
        if settled and not match.doubts and len(match.innings) == 2:
            real.append((text, match.notes))
    for number in range(250):
        sound_match, notes = dice.choice(real)
        change = KINDS[number % len(KINDS)]
        result = mutant(sound_match, change, dice)
        if result is None or not result[1]:
            continue
        path.write_text(result[0])
        try:
            noted = set(read_match(path).notes) - set(notes)
        except MatchFileError:
            continue
        assert noted, (number, change)


def test_a_refusal_names_the_line_of_the_ball(tmp_path: Path, sound: list[str]) -> None:
    path = tmp_path / "m.json"
    made_wrong(path, sound[0], "one_batter_at_both_ends")
    with pytest.raises(ImpossibleMatchError) as caught:
        read_match(path)
    assert caught.value.line is not None
    ball = path.read_text().splitlines()[caught.value.line - 1 :][:12]
    name = next(line for line in ball if '"batter"' in line).split('"')[3]
    assert any(f'"non_striker": "{name}"' in line for line in ball)
    place = f"innings {caught.value.doubt.innings}, ball {caught.value.doubt.ball}"
    assert f"{place}: {name} is at both ends, which cannot happen in a match; " in str(caught.value)


@pytest.mark.parametrize("blank", [False, True])
def test_a_refusal_names_the_line_of_the_row(tmp_path: Path, blank: bool) -> None:
    path = tmp_path / "m.csv"
    write_match(simulate_match(3), path)
    rows = path.read_text().splitlines()
    at = len(rows) - 20
    fields = rows[at].split(",")
    fields[11] = fields[9]
    rows[at] = ",".join(fields)
    if blank:
        rows.insert(9, "")
        at += 1
    path.write_text("\n".join(rows))
    with pytest.raises(ImpossibleMatchError) as caught:
        read_match(path)
    assert (caught.value.line, caught.value.doubt.kind) == (at + 1, "to-himself")


def test_the_check_lists_every_doubt_and_every_refusal(
    tmp_path: Path, sound: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "season"
    folder.mkdir()
    made_wrong(folder / "a.json", sound[0], "an_over_is_cut_out")
    made_wrong(folder / "b.json", sound[0], "one_batter_at_both_ends")
    made_wrong(folder / "c.json", sound[0], "the_batters_are_exchanged_on_a_ball")
    (folder / "d.json").write_text(sound[0])
    assert main(["match", "--check", str(folder / "d.json"), str(folder / "c.json")]) == 0
    said = capsys.readouterr()
    assert said.err == "attnlens: 2 matches: 1 with doubts, 0 refused\n"
    assert said.out.startswith(f"{folder / 'c.json'}: innings ")
    assert main(["match", "--check", "--json", str(folder)]) == 1
    said = capsys.readouterr()
    assert said.err == "attnlens: 4 matches: 2 with doubts, 1 refused\n"
    rows = json.loads(said.out)
    told = {(Path(row["file"]).name, row["kind"], row["refused"]) for row in rows}
    expected = {("a.json", "over-numbers", False), ("b.json", "both-ends", True)}
    assert told >= {*expected, ("c.json", "ends", False)}
    assert not any(name == "d.json" for name, *_ in told)
    gap = next(row for row in rows if row["kind"] == "over-numbers")
    assert gap["what"] == f"over {gap['over'] - 1} is missing"
    assert gap["ball"] == f"{gap['over']}.1"
    assert gap["innings"] in (1, 2)
    (folder / "e.json").write_text("{")
    assert main(["match", "--check", str(folder)]) == 1
    said = capsys.readouterr()
    assert "2 with doubts, 2 refused" in said.err
    assert f"refused: {folder / 'e.json'}:1: " in said.out


def test_the_check_names_the_match_of_a_table(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = shared_data / "formats/kaggle_ipl/deliveries_2025.csv"
    assert main(["match", "--check", "--json", str(table)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len({row["match"] for row in rows}) > 1
    assert main(["match", "--check", str(table)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [[str(table), row["match"]] for row in rows]


def test_every_page_shows_a_doubt(
    tmp_path: Path, sound: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.json"
    made_wrong(path, sound[0], "an_over_is_cut_out")
    (said,) = (str(doubt) for doubt in doubts_about(path) if doubt.kind == "over-numbers")
    forms = ((), ("--format", "html"), ("--json",))
    for words in (
        ["match", str(path)],
        ["match", str(path), "--json"],
        *(["explain", str(path), "--ball", "30", "--no-evidence", *form] for form in forms),
        *(["story", str(path), "--no-evidence", *form] for form in forms),
    ):
        assert main(words) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert said in shown, words

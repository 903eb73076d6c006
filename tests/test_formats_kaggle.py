"""The three Kaggle tables of the IPL: each trap handled, or refused with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from match_files import problem

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.readers.kaggle import non_strikers

OF_2019 = (
    "match_id,inning,batting_team,bowling_team,over,ball,batsman,non_striker,bowler,"
    "is_super_over,wide_runs,bye_runs,legbye_runs,noball_runs,penalty_runs,batsman_runs,"
    "extra_runs,total_runs,player_dismissed,dismissal_kind,fielder"
)
OF_2024 = (
    "match_id,inning,batting_team,bowling_team,over,ball,batter,bowler,non_striker,"
    "batsman_runs,extra_runs,total_runs,extras_type,is_wicket,player_dismissed,"
    "dismissal_kind,fielder"
)
OF_2025 = (
    "match_no,date,stage,venue,batting_team,bowling_team,innings,over,striker,bowler,"
    "runs_of_bat,extras,wide,legbyes,byes,noballs,wicket_type,player_dismissed,fielder"
)


def written(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def ball_2019(
    ball: int, *, wide: int = 0, bye: int = 0, noball: int = 0, bat: int = 0, inning: int = 1
) -> str:
    extra = wide + bye + noball
    teams = "Reds,Blues" if inning % 2 else "Blues,Reds"
    return (
        f"7,{inning},{teams},1,{ball},Ana,Bea,Cem,0,{wide},{bye},0,{noball},0,{bat},{extra},"
        f"{bat + extra},,,"
    )


def test_extras_counted_twice_are_taken_out(tmp_path: Path) -> None:
    rows = [ball_2019(1, bat=4), ball_2019(2, wide=1, bat=1), ball_2019(3, noball=1, bat=3)]
    match = read_match(written(tmp_path / "d.csv", OF_2019, rows))
    assert [
        (ball.runs_batter, ball.runs_extras, ball.outcome) for ball in match.innings[0].deliveries
    ] == [(4, 0, "4"), (0, 1, "wd"), (2, 1, "nb")]
    assert match.innings[0].total == 8
    assert (
        "batsman_runs contains the extras, so total_runs counts the extras twice; the extras were "
        "subtracted on 2 balls, and totals are lower than in the file"
    ) in match.notes


def test_extras_that_cannot_be_told_are_refused(tmp_path: Path) -> None:
    rows = [ball_2019(1, wide=1, bat=1), ball_2019(2, wide=1)]
    assert "so the score cannot be determined" in problem(
        written(tmp_path / "d.csv", OF_2019, rows)
    )
    rows = [ball_2019(1, noball=1, bat=1)]
    assert "the match has no wide, bye or leg bye" in problem(
        written(tmp_path / "d.csv", OF_2019, rows)
    )


def ball_2024(ball: int, bat: int = 0, extra: int = 0, kind: str = "", wicket: str = "NA") -> str:
    out = "NA" if wicket == "NA" else "Ana"
    return (
        f"8,1,Reds,Blues,0,{ball},Ana,Cem,Bea,{bat},{extra},{bat + extra},{kind},"
        f"{int(wicket != 'NA')},{out},{wicket},NA"
    )


def test_one_kind_of_extra_and_na(tmp_path: Path) -> None:
    rows = [
        ball_2024(1, bat=1),
        ball_2024(2, extra=5, kind="wides"),
        ball_2024(3, wicket="run out"),
        ball_2024(4, extra=1, kind="legbyes"),
    ]
    match = read_match(written(tmp_path / "d.csv", OF_2024, rows))
    innings = match.innings[0]
    assert [ball.outcome for ball in innings.deliveries] == ["1", "wd", "W", "bye"]
    assert (innings.total, innings.wickets, innings.legal_balls) == (7, 1, 3)
    assert innings.deliveries[0].wickets == ()
    assert innings.deliveries[2].wickets[0].fielders == ()
    rows[3] = ball_2024(4, extra=1, kind="")
    assert problem(written(tmp_path / "d.csv", OF_2024, rows)) == (
        "d.csv:5: extras_type is '' for 1 runs; known types: wides, noballs, byes, legbyes, penalty"
    )


def ball_2025(
    label: str,
    striker: str = "Ana",
    bat: int = 0,
    extras: int = 0,
    flag: str = "",
    wicket: tuple[str, str] = ("", ""),
    innings: int = 1,
    teams: str = "RED,BLU",
) -> str:
    flags = ",".join(str(int(kind == flag)) for kind in ("wide", "legbyes", "byes", "noballs"))
    return (
        f'3,"Mar 22, 2025",League stage,"Park, Town",{teams},{innings},{label},{striker},Cem,'
        f"{bat},{extras},{flags},{wicket[0]},{wicket[1]},"
    )


def test_labels_that_count_legal_balls_and_flags(tmp_path: Path) -> None:
    rows = [
        ball_2025("0.1", extras=5, flag="wide"),
        ball_2025("0.1", bat=1),
        ball_2025("0.2", "Bea", extras=2),
        ball_2025("0.3", "Bea", bat=2, extras=1, flag="noballs"),
        ball_2025("0.3", "Bea", wicket=("runout", "Ana")),
        ball_2025("0.4", "Dov"),
    ]
    match = read_match(written(tmp_path / "d.csv", OF_2025, rows))
    balls = match.innings[0].deliveries
    labels = ["0.1", "0.1", "0.2", "0.3", "0.3", "0.4"]
    assert [ball.label for ball in balls] == [ball.actual_delivery for ball in balls] == labels
    assert [ball.outcome for ball in balls if ball.is_legal] == ["1", "bye", "W", "0"]
    assert [ball.outcome for ball in balls] == ["wd", "1", "bye", "nb", "W", "0"]
    assert [ball.non_striker.name for ball in balls] == ["Bea", "Bea", "Ana", "Ana", "Ana", "Bea"]
    assert balls[4].wickets[0].kind == "run out"
    assert (str(match.date), match.venue, match.season) == ("2025-03-22", "Park, Town", "2025")


@pytest.mark.parametrize(
    ("balls", "expected"),
    [
        ([("a", ""), ("b", "")], ["b", "a"]),
        # b never faces before he is run out.
        ([("a", ""), ("a", "b"), ("a", ""), ("c", "")], ["b", "b", "c", "a"]),
        # c comes in for a and stays at the other end; b stayed in.
        ([("a", ""), ("b", ""), ("a", "a"), ("c", "")], ["b", "a", "b", "b"]),
        # Whoever comes in with the survivor and is never seen is not known.
        ([("a", ""), ("b", ""), ("a", "a"), ("b", "")], ["b", "a", "b", None]),
        # Three at once cannot be.
        ([("a", ""), ("b", ""), ("c", "")], [None, None, None]),
    ],
)
def test_partners(balls: list[tuple[str, str]], expected: list[str | None]) -> None:
    assert non_strikers(balls) == expected


def test_a_super_over_with_its_teams_exchanged(tmp_path: Path) -> None:
    rows = [
        ball_2025("0.1", "Ana", innings=1),
        ball_2025("0.1", "Cy", innings=2, teams="BLU,RED"),
        ball_2025("0.1", "Cy", innings=3, teams="RED,BLU"),
        ball_2025("0.1", "Ana", innings=4, teams="BLU,RED"),
    ]
    match = read_match(written(tmp_path / "d.csv", OF_2025, rows))
    assert [innings.batting_team for innings in match.innings] == ["RED", "BLU", "BLU", "RED"]
    assert sum("the teams were exchanged" in note for note in match.notes) == 2


def test_results_beside_it_are_joined_by_id_and_sides(tmp_path: Path) -> None:
    path = written(tmp_path / "deliveries.csv", OF_2024, [ball_2024(1, bat=1)])
    header = (
        "id,season,city,date,match_type,player_of_match,venue,team1,team2,toss_winner,"
        "toss_decision,winner,result,result_margin,target_runs,target_overs,super_over,method"
    )
    row = "8,2024,Town,2024-05-01,Final,NA,Park,Blues,Red,Red,bat,Red,runs,3,NA,NA,N,NA"
    written(tmp_path / "matches.csv", header, [row])
    match = read_match(path)
    # A plural may be written either way; the balls' spelling stands.
    assert match.teams == ("Blues", "Reds")
    assert match.outcome == {"winner": "Reds", "by": {"runs": 3}}
    assert match.toss == {"winner": "Reds", "decision": "bat"}
    assert match.event == {"name": "Indian Premier League", "stage": "Final"}
    written(tmp_path / "matches.csv", header, [row.replace("Blues", "Greens")])
    match = read_match(path)
    assert match.outcome == {}
    assert (
        "in the table of results, match 8 is Greens v Red; the result was not used" in match.notes
    )
    assert problem(tmp_path / "matches.csv") == (
        "matches.csv: this table contains only the results; the balls are in the deliveries file "
        "next to it; give the deliveries file"
    )
    assert [one.match_id for one in read_matches(tmp_path)] == ["8"]


# Real matches.


def figures(match: Match) -> list[tuple[object, ...]]:
    return [
        (innings.total, innings.wickets, len(innings.deliveries), innings.legal_balls)
        for innings in match.innings
    ]


def test_2024_equals_the_json(shared_data: Path) -> None:
    archive = shared_data / "formats/json_zip/ipl_male_json.zip"
    place = shared_data / "formats/kaggle_ipl/deliveries_2008_2024_excerpt.csv"
    different = set()
    for match in read_matches(place):
        other = read_match(f"{archive}::{match.match_id}.json")
        assert (match.outcome, match.dates) == (other.outcome, other.dates)
        ours, theirs = (
            [(innings.target, innings.total) for innings in side.innings] for side in (match, other)
        )
        assert ours == theirs
        if figures(match) != figures(other):
            different.add(match.match_id)
            noted = any("legal balls instead of 6" in note for note in match.notes)
            assert noted or match.match_id == "1216497"
    # No-balls that the layout hides.
    assert different == {"1216497", "1426274", "1216500"}


def sides(match: Match) -> set[str]:
    """Its teams, of which a plural may be written either way."""
    return {team.removesuffix("s") for team in match.teams}


def test_2019_equals_the_json_but_where_super_overs_lack_balls(shared_data: Path) -> None:
    from_json = list(read_matches(shared_data / "formats/json_zip/ipl_male_json.zip"))
    different, compared = set(), 0
    for match in read_matches(shared_data / "formats/kaggle_ipl/deliveries_2008_2019_excerpt.csv"):
        day = [other for other in from_json if other.date == match.date]
        (other,) = [other for other in day if sides(other) == sides(match)]
        compared += 1
        assert figures(match)[:2] == figures(other)[:2]
        lacking = any(
            "in this layout, some balls of super overs of 2018" in note for note in match.notes
        )
        assert lacking == (figures(match) != figures(other))
        different |= {match.match_id} if lacking else set()
    assert (compared, different) == (49, {"11146", "11342"})


def test_totals_of_2025_that_fall_short_are_told(shared_data: Path) -> None:
    place = shared_data / "formats/kaggle_ipl/deliveries_2025.csv"
    match = read_match(f"{place}::2")
    assert (match.innings[0].total, match.innings[1].target) == (285, 287)
    assert (
        "innings 1: the balls add up to 285/6, but the table of results says 286/6, so balls or "
        "runs are missing or counted twice in the file"
    ) in match.notes

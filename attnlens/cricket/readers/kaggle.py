"""Read Kaggle's tables of IPL deliveries, and the tables of results in the same folder.

Known defects are corrected. A match whose defects cannot be corrected is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import UNKNOWN_PLAYER, Facts, Match, plain
from attnlens.cricket.match.scan import Stated
from attnlens.cricket.readers.assembly import MAX_BALLS_AN_INNINGS, MAX_INNINGS, MatchDraft
from attnlens.cricket.readers.cricsheet_csv import (
    BallRows,
    BeginMatch,
    Table,
    TableFormat,
    header_of,
)
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    MAX_OVER,
    MAX_RUNS_A_BALL,
    balls_in,
    date_from,
    day_comes_first,
    decode_text,
    lines,
    number_in,
    quoted,
    runs_in,
    whole_number,
)

_MAX_BALLS_IN_OVER = 40
_MAX_RESULT_TABLES = 8
_MAX_RESULTS = 50_000
_BALLS_PER_OVER = 6
_MAIN_INNINGS = 2
_NOT_OFF_THE_BAT = ("wides", "byes", "legbyes")
_DECISIONS = {"bat": "bat", "bowl": "field", "field": "field"}
_UNDECIDED = ("tie", "no result")
_DISMISSALS = {"runout": "run out"}
_BLANK = frozenset({"", "NA"})
"""Texts that mean a blank value in these tables."""

Row = dict[str, str]
"""Maps each field of a row to the stripped text. The text of a missing field is empty."""


@dataclass(frozen=True)
class KaggleLayout:
    """The columns in which a layout stores the fields of a ball and of a result.

    Attributes:
        recognized_by, results_recognized_by: the columns that identify each kind of table.
        columns, results: map fields to columns. Every column in ``columns`` is required.
        extras: ``runs``: each kind of extra has a column of runs. ``kind``: one column names the
            kind. ``flags``: each kind has a column, and one more column contains the runs from
            extras.
        first_over: the number of the first over, 0 or 1.
    """

    recognized_by: frozenset[str]
    columns: Mapping[str, str]
    results_recognized_by: frozenset[str]
    results: Mapping[str, str]
    extras: Literal["runs", "kind", "flags"]
    first_over: int = 0


def _columns(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split())
    return {field: column or field for field, _, column in pairs}


_LAYOUTS: Final = (
    # 21 columns: seasons 2008 to 2017, and an extended version to 2019. The tenth ball of an over
    # is stored as 1. In the rows of 2018 and 2019, the batter's runs include the extras, which the
    # total then counts twice. The super overs of 2019 are innings 3 and 5, and some of their balls
    # are missing.
    KaggleLayout(
        frozenset({"inning", "batsman", "wide_runs", "batsman_runs"}),
        _columns(
            "match_id innings=inning batting_team bowling_team over ball batter=batsman non_striker"
            " bowler is_super_over wides=wide_runs noballs=noball_runs byes=bye_runs"
            " legbyes=legbye_runs penalty=penalty_runs runs=batsman_runs extra=extra_runs"
            " total=total_runs player_out=player_dismissed kind=dismissal_kind fielder"
        ),
        frozenset({"id", "Season", "date", "team1", "team2", "dl_applied", "win_by_runs"}),
        _columns(
            "id season=Season city date team1 team2 toss_winner toss_decision result dl_applied"
            " winner by_runs=win_by_runs by_wickets=win_by_wickets venue"
        ),
        "runs",
        first_over=1,
    ),
    # 17 columns: seasons 2008 to 2024, with Cricsheet's match ids. A ball has only one kind of
    # extra, so a no-ball with byes may be recorded as byes and counted as a legal ball.
    KaggleLayout(
        frozenset({"inning", "batter", "batsman_runs", "extras_type"}),
        _columns(
            "match_id innings=inning batting_team bowling_team over ball batter bowler non_striker"
            " runs=batsman_runs extra=extra_runs total=total_runs extras_type is_wicket"
            " player_out=player_dismissed kind=dismissal_kind fielder"
        ),
        frozenset({"id", "season", "date", "team1", "team2", "result_margin", "super_over"}),
        _columns(
            "id season city date stage=match_type venue team1 team2 toss_winner toss_decision"
            " winner result margin=result_margin target_runs target_overs method"
        ),
        "kind",
    ),
    # 19 columns: season 2025. Labels count legal balls, so a wide and the next ball have the same
    # label. There is no column for the non-striker. Teams are written as codes. In super overs the
    # two teams may be exchanged. Some balls or runs are missing, so totals can be lower than in the
    # table of results.
    KaggleLayout(
        frozenset({"match_no", "striker", "runs_of_bat", "wide"}),
        _columns(
            "match_id=match_no date stage venue batting_team bowling_team innings over"
            " batter=striker bowler runs=runs_of_bat extra=extras wides=wide legbyes byes noballs"
            " kind=wicket_type player_out=player_dismissed fielder"
        ),
        frozenset({"match_id", "date", "team1", "team2", "first_ings_score", "match_winner"}),
        _columns(
            "id=match_id date venue team1 team2 stage toss_winner toss_decision"
            " runs1=first_ings_score wickets1=first_ings_wkts runs2=second_ings_score"
            " wickets2=second_ings_wkts result=match_result winner=match_winner by_runs=wb_runs"
            " by_wickets=wb_wickets"
        ),
        "flags",
    ),
)
_RESULT_FIELDS = frozenset[str]().union(*(layout.results for layout in _LAYOUTS))


def _team_key(team: str) -> str:
    return team.strip().lower().removesuffix("s")


def is_results_table(file: MatchFile) -> bool:
    header = set(header_of(file))
    return any(header >= layout.results_recognized_by for layout in _LAYOUTS)


def _results_beside(file: MatchFile, layout: KaggleLayout) -> dict[str, Row]:
    """Return the rows of the table of results in the same folder, by match id."""
    tables = [name for name in file.siblings() if re.search(r"match.*\.csv$", name, re.I)]
    siblings = filter(None, map(file.sibling, tables[:_MAX_RESULT_TABLES]))
    return next(filter(None, (_results(sibling, layout) for sibling in siblings)), {})


def _results(file: MatchFile, layout: KaggleLayout) -> dict[str, Row]:
    reader = csv.reader(lines(decode_text(file.data, file.display)))
    rows: list[Row] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        if not layout.results_recognized_by <= set(header):
            return {}
        for texts in reader:
            if len(texts) == len(header):
                by_column = dict(zip(header, map(str.strip, texts), strict=True))
                row = {field: by_column.get(name, "") for field, name in layout.results.items()}
                filled = {field: text for field, text in row.items() if text not in _BLANK}
                rows.append(dict.fromkeys(_RESULT_FIELDS, "") | filled)
            if len(rows) > _MAX_RESULTS:
                raise file.wrong(f"has more than {_MAX_RESULTS} matches")
    except csv.Error as error:
        raise file.wrong(f"this line is not CSV: {error}", line=reader.line_num) from None
    day_first = day_comes_first(row["date"] for row in rows) is not False
    for row in rows:
        date = date_from(row["date"], day_first=day_first)
        row["date"] = "" if date is None else date.isoformat()
    return {row["id"]: row for row in rows}


def _teams_of(result: Row) -> list[str]:
    return [result[name] for name in ("team1", "team2") if result[name]]


def _facts_of(result: Row, teams: Sequence[str]) -> dict[str, Any]:
    """Return the `MatchDraft` fields in a row of results, with the team names of ``teams``."""
    spelling = {_team_key(team): team for team in teams}
    names = ("team1", "team2", "toss_winner", "winner")
    row = result | {name: spelling.get(_team_key(result[name]), result[name]) for name in names}
    date = date_from(row["date"])
    return {
        "teams": tuple(_teams_of(row)),
        "dates": () if date is None else (date,),
        "season": row["season"].removeprefix("IPL-"),
        "city": row["city"],
        "venue": row["venue"],
        "event": Facts.not_none(
            name="Indian Premier League",
            stage=row["stage"] if row["stage"] not in ("", "League") else None,
        ),
        "toss": Facts.not_none(
            winner=row["toss_winner"] or None,
            decision=_DECISIONS.get(row["toss_decision"].lower()),
        ),
        "outcome": _outcome(row),
    }


def _outcome(row: Row) -> Facts:
    winner, result = row["winner"] or None, row["result"]
    if winner and "super over" in (row["by_runs"], row["by_wickets"]):
        result = "tie"
    elif result == "tied" and not winner:
        # Matches that were ended by rain are also recorded as tied.
        result = "tie" if row["runs1"] and row["runs1"] == row["runs2"] else "no result"
    method = "D/L" if row["dl_applied"] == "1" else row["method"] or None
    if result in _UNDECIDED:
        return Facts.not_none(result=result, eliminator=winner, method=method)
    if not winner:
        return Facts.not_none(method=method)
    margin = _number(row["margin"])
    # The layout has one column for runs and one for wickets; the inapplicable one is blank or 0.
    amounts = {unit: _number(row[f"by_{unit}"]) for unit in ("runs", "wickets")}
    by = {unit: amount for unit, amount in amounts.items() if amount}
    by = by if margin is None else {result: margin}
    return Facts.not_none(winner=winner, by=by or None, method=method)


def _scores(result: Row) -> list[tuple[int, int]]:
    scores = [(_number(result[f"runs{n}"]), _number(result[f"wickets{n}"])) for n in (1, 2)]
    return [(runs, out) for runs, out in scores if runs is not None and out is not None]


def _number(text: str) -> int | None:
    # Spreadsheets and pandas write whole numbers with .0 if some values of the column are blank.
    return whole_number(text.removesuffix(".0"), 6)


class _MatchRows:
    """The rows of one match. Some defects can be detected only when all rows are known."""

    def __init__(
        self, layout: KaggleLayout, table: Table, match_id: str, result: Row | None
    ) -> None:
        self.layout = layout
        self._table = table
        self._pick = table.picker(tuple(layout.columns.values()))
        self._lines: list[int] = []
        self._line = 0
        self._written_innings = self.innings = 0
        self._previous_ball = (0, 0, 0)
        self._runs_contain_extras = False
        self.balls: list[Row] = []
        self.result = result
        self.draft = MatchDraft(
            match_id,
            table.display,
            match_type="T20",
            gender="male",
            overs=20,
            balls_per_over=_BALLS_PER_OVER,
            event=Facts(name="Indian Premier League"),
            stated=Stated(method_known=result is not None),
        )
        self.note(
            "the file is a Kaggle IPL table, so the match is assumed to be a men's match of 20 "
            "overs; players are identified by name"
        )

    def add(self, row: list[str]) -> None:
        if len(self.balls) == MAX_BALLS_AN_INNINGS:
            raise self._table.wrong(f"more than {MAX_BALLS_AN_INNINGS} balls belong to one match")
        texts = map(str.strip, self._pick(row))
        self.balls.append(dict(zip(self.layout.columns, texts, strict=True)))
        self._lines.append(self._table.line)

    def wrong(self, problem: str) -> MatchFileError:
        return MatchFileError(problem, path=self._table.display, line=self._line or None)

    def note(self, text: str) -> None:
        self.draft.notes.append(text)

    def build(self) -> Match:
        if self.layout.extras == "runs":
            self._find_doubled_extras()
        if "date" in self.layout.columns:
            self._take_date()
        if "non_striker" not in self.layout.columns:
            self._add_non_strikers()
        counted = "ball" not in self.layout.columns
        rows = BallRows(self.draft, list, self.wrong, labels_count_legal=counted)
        for row in self._with_lines():
            rows.add(self._as_csv2(row))
        for innings in self.draft.innings:
            innings.super_over = innings.number > _MAIN_INNINGS
        self._take_result()
        self._note_limits()
        if self.layout.extras == "flags":
            self._compare_scores()
        return rows.build()

    def _with_lines(self) -> Iterator[Row]:
        for line, row in zip(self._lines, self.balls, strict=True):
            self._line = line
            yield row
        self._line = 0

    def _runs(self, row: Row, field: str) -> int:
        return runs_in(row[field], self.layout.columns[field], self.wrong)

    def _find_doubled_extras(self) -> None:
        """Find out whether the batter's runs include the extras on wides, byes and leg byes."""
        contained = apart = unclear = 0
        for row in self._with_lines():
            extra = self._runs(row, "extra")
            if not extra:
                continue
            contains = self._runs(row, "runs") >= extra
            if any(row[kind] not in ("", "0") for kind in _NOT_OFF_THE_BAT):
                contained += contains
                apart += not contains
            else:
                unclear += contains
        if contained and apart:
            raise self.wrong(
                f"batsman_runs contains the extras on {contained} wides, byes and leg byes "
                f"but not on {apart} others, so the score cannot be determined"
            )
        if unclear and not contained and not apart:
            raise self.wrong(
                "the match has no wide, bye or leg bye, so it is unknown whether batsman_runs "
                "contains the extras (as in the rows of 2018 and 2019)"
            )
        self._runs_contain_extras = contained > 0
        if contained:
            self.note(
                "batsman_runs contains the extras, so total_runs counts the extras twice; the "
                f"extras were subtracted on {contained + unclear} balls, and totals are lower than "
                "in the file"
            )

    def _take_date(self) -> None:
        draft, first = self.draft, self.balls[0]
        date = date_from(first["date"])
        draft.dates = () if date is None else (date,)
        draft.season = None if date is None else str(date.year)
        draft.venue = first["venue"] or None

    def _add_non_strikers(self) -> None:
        partners: list[str | None] = []
        for number in dict.fromkeys(row["innings"] for row in self.balls):
            rows = [row for row in self.balls if row["innings"] == number]
            # If two balls have the same label, the order of the rows is the order of play.
            partners += non_strikers([(row["batter"], row["player_out"]) for row in rows])
            if number not in ("1", "2"):
                self._exchange_teams(number, rows)
        unknown = partners.count(None)
        for row, partner in zip(self.balls, partners, strict=True):
            row["non_striker"] = partner or UNKNOWN_PLAYER.name
        self.note(
            "this layout does not contain the non-striker, who was derived from the "
            "batters of other balls"
            + (f", and is unknown on {unknown} of {len(self.balls)} balls" if unknown else "")
        )
        self.note(
            "the labels count legal balls, so a wide or no-ball has the same label as the next ball"
        )

    def _exchange_teams(self, number: str, rows: Sequence[Row]) -> None:
        """Exchange the teams of a super over if the batters belong to the bowling team."""
        sides = {row["batter"]: row["batting_team"] for row in self.balls if row["innings"] in "12"}
        batted_for = {sides[row["batter"]] for row in rows if row["batter"] in sides}
        if batted_for == {rows[0]["bowling_team"]}:
            for row in rows:
                row["batting_team"], row["bowling_team"] = row["bowling_team"], row["batting_team"]
            self.note(
                f"innings {number} names the wrong batting side; the teams were exchanged, because "
                f"the batters play for {rows[0]['batting_team']}"
            )

    def _as_csv2(self, row: Row) -> list[str]:
        self._number_innings(row)
        label = row["over"] if "ball" not in row else self._label(row)
        bat, extras = self._bat_and_extras(row)
        texts = (row["kind"], row["player_out"], *row["fielder"].split(","))
        kind, out, *fielders = ("" if text.strip() in _BLANK else text.strip() for text in texts)
        return [
            *(str(self.innings), label, row["batting_team"], row["bowling_team"]),
            *(row["batter"], row["non_striker"], row["bowler"]),
            *(str(bat), str(sum(extras.values()))),
            *(str(extras.get(extra) or "") for extra in EXTRA_KINDS),
            *("", "", _DISMISSALS.get(kind, kind), out, "", ""),
            *fielders,
        ]

    def _number_innings(self, row: Row) -> None:
        """Set ``innings`` to the innings of the row. The first super over has number 3."""
        column = self.layout.columns["innings"]
        written = number_in(row["innings"], column, 1, MAX_INNINGS, self.wrong)
        if written < self._written_innings:
            raise self.wrong(f"innings {written} comes after innings {self._written_innings}")
        if written > self._written_innings:
            number = written
            if self.innings and written > _MAIN_INNINGS:
                number = max(self.innings, _MAIN_INNINGS) + 1
            if number != written:
                self.note(f"innings {number} is numbered {written} in the file")
            self.innings, self._written_innings = number, written

    def _label(self, row: Row) -> str:
        first = self.layout.first_over
        over = number_in(row["over"], "over", first, MAX_OVER, self.wrong) - first
        ball = number_in(row["ball"], "ball", first, _MAX_BALLS_IN_OVER, self.wrong)
        if self.layout.extras == "runs":
            self._note_missing_balls(over, ball)
        return f"{over}.{ball}"

    def _note_missing_balls(self, over: int, ball: int) -> None:
        innings, previous = self.innings, self._previous_ball
        expected = previous[2] + 1 if previous[:2] == (innings, over) else 1
        if ball > expected:
            missing = [f"{over}.{number}" for number in range(expected, ball)]
            verb, noun = ("is", "ball") if len(missing) == 1 else ("are", "balls")
            balls = f"{noun} {', '.join(missing)} {verb}"
            self.note(f"innings {innings}: {balls} missing from the file")
        # The tenth ball of an over is stored as 1.
        stored_as_one = expected == 10 and ball == 1
        self._previous_ball = (innings, over, expected if stored_as_one else ball)

    def _bat_and_extras(self, row: Row) -> tuple[int, dict[str, int]]:
        bat, extra = self._runs(row, "runs"), self._runs(row, "extra")
        if "total" in row and bat + extra != (total := self._runs(row, "total")):
            raise self.wrong(f"{bat} and {extra} runs do not add up to total_runs, {total}")
        if self.layout.extras == "kind":
            return bat, self._extras_of_kind(row, extra)
        by_kind = {
            kind: runs for kind in EXTRA_KINDS if kind in row and (runs := self._runs(row, kind))
        }
        if self.layout.extras == "flags":
            return bat, self._extras_of_flags(row, extra, by_kind)
        if sum(by_kind.values()) != extra:
            kinds = sum(by_kind.values())
            raise self.wrong(f"extra_runs is {extra}, but the kinds of extras add up to {kinds}")
        if self._runs_contain_extras:
            bat -= extra
        if not 0 <= bat <= MAX_RUNS_A_BALL:
            raise self.wrong("batsman_runs is less than the extras that it should contain")
        return bat, by_kind

    def _extras_of_kind(self, row: Row, extra: int) -> dict[str, int]:
        kind = row["extras_type"]
        if (kind not in _BLANK and kind not in EXTRA_KINDS) or (extra and kind in _BLANK):
            raise self.wrong(
                f"extras_type is {quoted(kind)} for {extra} runs; known types: "
                f"{', '.join(EXTRA_KINDS)}"
            )
        if (row["is_wicket"] == "1") != (row["kind"] not in _BLANK):
            raise self.wrong(
                f"is_wicket is {quoted(row['is_wicket'])}, but dismissal_kind is "
                f"{quoted(row['kind'])}"
            )
        return {kind: extra} if extra else {}

    def _extras_of_flags(self, row: Row, extra: int, by_kind: dict[str, int]) -> dict[str, int]:
        if sum(by_kind.values()) == extra:
            return by_kind
        kinds = list(by_kind)
        if not extra:
            raise self.wrong(f"{kinds[0]} is set, but extras is 0")
        if not kinds:
            ball = f"innings {row['innings']}, ball {row['over']}"
            self.note(f"{ball}: the kind of the extras is missing; they are read as byes")
        if len(kinds) < 2:
            return {kinds[0] if kinds else "byes": extra}
        if len(kinds) > 2 or kinds[0] != "noballs" or extra < 2:
            raise self.wrong(f"extras are of several kinds: {', '.join(kinds)}")
        # The no-ball itself counts one run, and the remaining runs belong to the other kind.
        return {kinds[0]: 1, kinds[1]: extra - 1}

    def _take_result(self) -> None:
        draft, result = self.draft, self.result
        teams = draft.sides
        if result is not None and set(map(_team_key, teams)) != set(
            map(_team_key, _teams_of(result))
        ):
            other = f"match {draft.match_id} is {' v '.join(_teams_of(result))}"
            self.note(f"in the table of results, {other}; the result was not used")
            self.result = result = None
            draft.stated.method_known = False
        if result is None:
            self.note("there is no table with the match's result, so result and toss are unknown")
            return
        facts = _facts_of(result, teams)
        for name, fact in facts.items():
            setattr(draft, name, fact or getattr(draft, name))
        draft.stated.info = {name: plain(fact) for name, fact in facts.items() if fact}
        draft.stated.info["dates"] = [day.isoformat() for day in draft.dates]
        runs, overs = _number(result["target_runs"]), result["target_overs"]
        for innings in draft.innings:
            if innings.number == _MAIN_INNINGS:
                innings.target, innings.target_balls = runs, balls_in(overs, _BALLS_PER_OVER)
                target = {"runs": runs, "overs": overs.removesuffix(".0") or None}
                draft.stated.innings[_MAIN_INNINGS] = {"target": target}

    def _note_limits(self) -> None:
        if self._runs_contain_extras and len(self.draft.innings) > _MAIN_INNINGS:
            self.note(
                "in this layout, some balls of super overs of 2018 and 2019 are missing, mostly "
                "balls with a wicket"
            )
        if self.layout.extras == "kind":
            self.note(
                "this layout has one kind of extra for each ball, so a no-ball with byes may be "
                "recorded as byes and count as a legal ball"
            )

    def _compare_scores(self) -> None:
        # This layout does not state whether a rain rule changed the target.
        self.draft.stated.method_known = False
        scores = [] if self.result is None else _scores(self.result)
        for innings, score in zip(self.draft.innings, scores, strict=False):
            if innings.number == _MAIN_INNINGS and self._result_follows(scores):
                innings.target = scores[0][0] + 1
            facts = self.draft.stated.innings.setdefault(innings.number, {})
            facts["total"] = f"{score[0]}/{score[1]}"

    def _result_follows(self, scores: Sequence[tuple[int, int]]) -> bool:
        """Return whether the scores give the stated result. Rain then did not change the target."""
        if len(scores) != _MAIN_INNINGS:
            return False
        margin, lead = self.draft.outcome.get("by", {}), scores[0][0] - scores[1][0]
        return margin.get("runs") == lead or ("wickets" in margin and lead < 0)


def non_strikers(balls: Sequence[tuple[str, str]]) -> list[str | None]:
    """Return the non-striker of each ball of an innings; ``None`` if the non-striker is unknown.

    Args:
        balls: for each ball, the batter and the player who was out, or an empty name.
    """
    spans: list[list[tuple[str, str]]] = [[]]
    for ball in balls:
        spans[-1].append(ball)
        if ball[1]:
            spans.append([])
    partners: list[str | None] = []
    stayed: str | None = None
    for span in filter(None, spans):
        pair = {name for ball in span for name in ball if name}
        if len(pair) == 1 and stayed is not None:
            pair.add(stayed)
        other = dict(zip(pair, reversed(list(pair)), strict=True)) if len(pair) == 2 else {}
        partners += [other.get(striker) for striker, _ in span]
        stayed = other.get(span[-1][1])
    return partners


def _reader(layout: KaggleLayout, file: MatchFile) -> BeginMatch:
    results = _results_beside(file, layout)
    return lambda table, match_id, _: _MatchRows(layout, table, match_id, results.get(match_id))


FORMATS: Final = tuple(
    TableFormat(
        layout.recognized_by,
        tuple(layout.columns.values()),
        layout.columns["match_id"],
        partial(_reader, layout),
    )
    for layout in _LAYOUTS
)

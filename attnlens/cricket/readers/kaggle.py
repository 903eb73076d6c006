"""The Kaggle tables of IPL deliveries, in three layouts, and the tables of results beside them."""

from __future__ import annotations

import csv
import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import UNKNOWN_PLAYER, Facts, Match
from attnlens.cricket.readers.assembly import MOST_DELIVERIES, MOST_INNINGS, MatchDraft
from attnlens.cricket.readers.cricsheet_csv import BallRows
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.tables import Table, TableFormat, header_of
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    LAST_OVER,
    MOST_RUNS,
    balls_in,
    date_from,
    day_comes_first,
    decoded,
    lines,
    number_in,
    runs_in,
    shown,
    whole,
)

OF_2019 = frozenset({"id", "Season", "date", "team1", "team2", "dl_applied", "win_by_runs"})
OF_2024 = frozenset({"id", "season", "date", "team1", "team2", "result_margin", "super_over"})
OF_2025 = frozenset({"match_id", "date", "team1", "team2", "first_ings_score", "match_winner"})

NOTHING = frozenset({"", "NA"})
"""What stands in these tables where there is nothing."""

_MOST_BESIDE = 8
_MOST_RESULTS = 50_000
_BALLS_PER_OVER = 6
_DECISIONS = {"bat": "bat", "bowl": "field", "field": "field"}
_UNDECIDED = ("tie", "no result")


@dataclass(frozen=True)
class Result:
    """What a table of results says of one match; ``None`` and empty where it does not.

    Attributes:
        facts: by the names of a draft's fields.
    """

    facts: dict[str, Any]
    target: int | None
    target_balls: int | None
    scores: tuple[tuple[int, int], ...]

    def is_of(self, teams: Sequence[str]) -> bool:
        """Whether these two sides played it; a plural may be written either way."""
        return set(map(_plain, teams)) == set(map(_plain, self.facts["teams"]))

    def spelt_as(self, teams: Sequence[str]) -> dict[str, Any]:
        """The facts with these spellings of the teams."""
        spelling = {_plain(team): team for team in teams}

        def spelt(value: Any) -> Any:
            return spelling.get(_plain(value), value) if isinstance(value, str) else value

        facts = {
            key: Facts({name: spelt(value) for name, value in self.facts[key].items()})
            for key in ("toss", "outcome")
        }
        return {**self.facts, **facts, "teams": tuple(map(spelt, self.facts["teams"]))}


def is_results_table(file: MatchFile) -> bool:
    """Whether the first line is the header of a table of results."""
    header = set(header_of(file))
    return any(header >= columns for columns in (OF_2019, OF_2024, OF_2025))


def results_beside(file: MatchFile, columns: frozenset[str]) -> dict[str, Result]:
    """Results by match id, from the table beside a table of deliveries that has these columns.

    Raises:
        MatchFileError: the table is damaged.
    """
    tables = [name for name in file.siblings() if re.search(r"match.*\.csv$", name, re.I)]
    for beside in filter(None, map(file.sibling, tables[:_MOST_BESIDE])):
        results = _results(*beside, columns)
        if results:
            return results
    return {}


def _results(display: str, data: bytes, columns: frozenset[str]) -> dict[str, Result]:
    reader = csv.reader(lines(decoded(data, display)))
    rows = []
    try:
        header = [name.strip() for name in next(reader, [])]
        if not columns <= set(header):
            return {}
        for fields in reader:
            if len(fields) == len(header):
                rows.append(dict(zip(header, (field.strip() for field in fields), strict=True)))
            if len(rows) > _MOST_RESULTS:
                raise MatchFileError(f"has more than {_MOST_RESULTS} matches", path=display)
    except csv.Error as error:
        raise MatchFileError(
            f"this line is not CSV: {error}", path=display, line=reader.line_num
        ) from None
    day_first = day_comes_first(row["date"] for row in rows) is not False
    key = "match_id" if columns == OF_2025 else "id"
    outcome_of = _outcome_2025 if columns == OF_2025 else _outcome
    return {row[key]: _result(row, day_first, outcome_of(row)) for row in rows}


def _result(row: dict[str, str], day_first: bool, outcome: Facts) -> Result:
    decision = _DECISIONS.get((_text(row, "toss_decision") or "").lower())
    stage = _text(row, "stage") or _text(row, "match_type")
    season = _text(row, "season") or (_text(row, "Season") or "").removeprefix("IPL-")
    date = date_from(row["date"], day_first=day_first)
    return Result(
        facts={
            "teams": tuple(team for key in ("team1", "team2") if (team := _text(row, key))),
            "dates": () if date is None else (date,),
            "season": season or None,
            "city": _text(row, "city"),
            "venue": _text(row, "venue"),
            "event": Facts.known(
                name="Indian Premier League", stage=stage if stage != "League" else None
            ),
            "toss": Facts.known(winner=_text(row, "toss_winner"), decision=decision),
            "outcome": outcome,
        },
        target=_number(row.get("target_runs")),
        target_balls=balls_in(row.get("target_overs", ""), _BALLS_PER_OVER),
        scores=_scores(row),
    )


def _outcome(row: dict[str, str]) -> Facts:
    """How it ended, in the layouts of 2019 and 2024."""
    winner, result = _text(row, "winner"), row.get("result", "")
    method = "D/L" if row.get("dl_applied") == "1" else _text(row, "method")
    if result in _UNDECIDED:
        return Facts.known(result=result, eliminator=winner, method=method)
    if not winner:
        return Facts.known(method=method)
    if result == "normal":
        return Facts.known(winner=winner, by=_margin(row, "win_by_{}") or None, method=method)
    margin = _number(row.get("result_margin"))
    by = None if margin is None else {result: margin}
    return Facts.known(winner=winner, by=by, method=method)


def _outcome_2025(row: dict[str, str]) -> Facts:
    winner = _text(row, "match_winner")
    if winner and "super over" in (row.get("wb_runs"), row.get("wb_wickets")):
        return Facts(result="tie", eliminator=winner)
    if winner:
        return Facts.known(winner=winner, by=_margin(row, "wb_{}") or None)
    if row.get("match_result") != "tied":
        return Facts()
    # Matches that rain ended stand as tied too.
    first = row.get("first_ings_score")
    return Facts(result="tie" if first and first == row.get("second_ings_score") else "no result")


def _margin(row: dict[str, str], column: str) -> dict[str, int]:
    """The margin from two columns, of which the one that does not apply is blank or 0."""
    amounts = {unit: _number(row.get(column.format(unit))) for unit in ("runs", "wickets")}
    return {unit: amount for unit, amount in amounts.items() if amount}


def _scores(row: dict[str, str]) -> tuple[tuple[int, int], ...]:
    """Runs and wickets of the innings, as far as the layout of 2025 has them."""
    scores = [
        (_number(row.get(f"{which}_ings_score")), _number(row.get(f"{which}_ings_wkts")))
        for which in ("first", "second")
    ]
    return tuple((runs, out) for runs, out in scores if runs is not None and out is not None)


def _text(row: dict[str, str], column: str) -> str | None:
    value = row.get(column, "")
    return None if value in NOTHING else value


def _number(text: str | None) -> int | None:
    # Spreadsheets and pandas write whole numbers with a .0 where some are blank.
    return whole((text or "").removesuffix(".0"), 6)


def _plain(team: str) -> str:
    return team.strip().lower().removesuffix("s")


MOST_IN_AN_OVER: Final = 40
"""Balls."""

_MAIN_INNINGS = 2
_BY_KIND = ("wide_runs", "noball_runs", "bye_runs", "legbye_runs", "penalty_runs")
_NOT_OFF_THE_BAT = ("wide_runs", "bye_runs", "legbye_runs")
_FLAGS = {"wide": "wides", "noballs": "noballs", "byes": "byes", "legbyes": "legbyes"}

Row = dict[str, str]
"""A row's fields by column, without blanks around them."""


class KaggleRows(ABC):
    """The rows of one match, kept until the last is there, since some traps show only then.

    Attributes:
        telling: the columns by which a table is known to have this layout.
        result_columns: those of the table of results that belongs to it.
        innings_column, striker_column, kind_column: what the layout calls the innings, the
            striker and the kind of wicket.
        first_over: the number of an innings' first over.
        labels_count_legal: whether a wide shares its label with the next ball.
        every: the rows.
        innings: the number of the innings that the row at hand is of.
    """

    columns: ClassVar[tuple[str, ...]]
    telling: ClassVar[frozenset[str]]
    result_columns: ClassVar[frozenset[str]]
    id_column: ClassVar[str] = "match_id"
    innings_column: ClassVar[str] = "inning"
    striker_column: ClassVar[str] = "striker"
    kind_column: ClassVar[str] = "dismissal_kind"
    first_over: ClassVar[int] = 0
    labels_count_legal: ClassVar[bool] = False

    def __init__(self, table: Table, match_id: str, result: Result | None) -> None:
        self._table = table
        self._pick = table.picker(self.columns)
        self._lines: list[int] = []
        self._line = 0
        self._innings_as_written = self.innings = 0
        self.every: list[Row] = []
        self.result = result
        self.draft = MatchDraft(
            match_id,
            table.display,
            match_type="T20",
            gender="male",
            overs=20,
            balls_per_over=6,
            event=Facts(name="Indian Premier League"),
            penalties_known=False,
            method_known=result is not None,
        )
        self.note(
            "the columns are those of the IPL tables on Kaggle: a men's match of 20 overs; "
            "players are known by name"
        )

    def add(self, row: list[str]) -> None:
        """Keep a row."""
        if len(self.every) == MOST_DELIVERIES:
            raise self._table.wrong(f"more than {MOST_DELIVERIES} balls of one match")
        fields = zip(self.columns, self._pick(row), strict=True)
        self.every.append({key: value.strip() for key, value in fields})
        self._lines.append(self._table.line)

    def wrong(self, problem: str) -> MatchFileError:
        """An error about the row being turned into a delivery."""
        return MatchFileError(problem, path=self._table.display, line=self._line or None)

    def note(self, text: str) -> None:
        """Tell of something that was odd or repaired."""
        self.draft.notes.append(text)

    def told(self) -> Iterator[Row]:
        """The rows; what is wrong while one is at hand is said with its line."""
        for line, row in zip(self._lines, self.every, strict=True):
            self._line = line
            yield row
        self._line = 0

    def finished(self) -> Match:
        """The match of the rows kept."""
        self.look_through()
        rows = BallRows(self.draft, list, self.wrong, labels_count_legal=self.labels_count_legal)
        for row in self.told():
            rows.add(self._as_csv2(row))
        for innings in self.draft.innings:
            innings.super_over = innings.number > _MAIN_INNINGS
        self._take_result()
        self.compare()
        return rows.finished()

    def look_through(self) -> None:  # noqa: B027  # one layout has nothing to fill in
        """Look at all rows before any becomes a delivery, and fill in what they lack."""

    @abstractmethod
    def compare(self) -> None:
        """Compare the innings with what else is known, and tell what the layout hides."""

    def label(self, row: Row) -> str:
        """The ball's label, its over from 0."""
        over = number_in(row["over"], "over", self.first_over, LAST_OVER, self.wrong)
        ball = number_in(row["ball"], "ball", self.first_over, MOST_IN_AN_OVER, self.wrong)
        return f"{over - self.first_over}.{ball}"

    def adding_up(self, row: Row) -> tuple[int, int]:
        """Runs in the batter's column and extras, which must add up to the total."""
        bat, extra, total = (
            runs_in(row[column], column, self.wrong)
            for column in ("batsman_runs", "extra_runs", "total_runs")
        )
        if bat + extra != total:
            raise self.wrong(f"{bat} and {extra} runs do not add up to total_runs, {total}")
        return bat, extra

    @abstractmethod
    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and extras by kind."""

    def _as_csv2(self, row: Row) -> list[str]:
        """A row's fields in the order that CSV2 has."""
        self._number(row)
        label = self.label(row)
        bat, extras = self.runs(row)
        told = (row[self.kind_column], row["player_dismissed"], *row["fielder"].split(","))
        kind, out, *fielders = ("" if text.strip() in NOTHING else text.strip() for text in told)
        return [
            *(str(self.innings), label, row["batting_team"], row["bowling_team"]),
            *(row[self.striker_column], row["non_striker"], row["bowler"]),
            *(str(bat), str(sum(extras.values()))),
            *(str(extras.get(extra) or "") for extra in EXTRA_KINDS),
            *("", "", kind, out, "", ""),
            *fielders,
        ]

    def _number(self, row: Row) -> None:
        """Number a row's innings; super overs on from the innings before, whatever is written."""
        column = self.innings_column
        written = number_in(row[column], column, 1, MOST_INNINGS, self.wrong)
        if written < self._innings_as_written:
            raise self.wrong(f"innings {written} comes after innings {self._innings_as_written}")
        if written > self._innings_as_written:
            number = written
            if self.innings and written > _MAIN_INNINGS:
                number = max(self.innings, _MAIN_INNINGS) + 1
            if number != written:
                self.note(f"innings {number} is numbered {written} in the file")
            self.innings, self._innings_as_written = number, written

    def _take_result(self) -> None:
        """Put what the table of results says into the draft, where it is of this match."""
        draft, result = self.draft, self.result
        sides = [side for one in draft.innings for side in (one.batting_team, one.bowling_team)]
        teams = tuple(dict.fromkeys(sides))
        if result is not None and not result.is_of(teams):
            other = f"{' v '.join(result.facts['teams'])} is the match {draft.match_id}"
            self.note(f"{other} in the table of results beside it: not used")
            self.result = result = None
            draft.method_known = False
        if result is None:
            self.note("there is no result beside it: result and toss are not known")
            return
        for name, fact in result.spelt_as(teams).items():
            setattr(draft, name, fact or getattr(draft, name))
        for innings in draft.innings:
            if innings.number == _MAIN_INNINGS:
                innings.target = result.target
                innings.target_balls = result.target_balls


class Rows2019(KaggleRows):
    """The table of 21 columns: seasons 2008 to 2017, and as extended to 2019.

    Its traps: the tenth ball of an over is stored as 1; in the rows of 2018 and 2019 the
    batter's runs contain the extras, which are added again; the super overs of 2019 are
    innings 3 and 5, and balls are missing from them.
    """

    columns = (
        "match_id", "inning", "batting_team", "bowling_team", "over", "ball",
        "batsman", "non_striker", "bowler", "is_super_over",
        *_BY_KIND, "batsman_runs", "extra_runs", "total_runs",
        "player_dismissed", "dismissal_kind", "fielder",
    )  # fmt: skip
    telling = frozenset({"inning", "batsman", "wide_runs", "batsman_runs"})
    result_columns = OF_2019
    striker_column = "batsman"
    first_over = 1

    def look_through(self) -> None:
        """Tell whether the batter's runs contain the extras.

        Off a wide, a bye or a leg bye the batter has no runs, so where every such
        ball has as many as its extras, they are the extras, and where none has,
        they are not.
        """
        self._place = (0, 0, 0)
        held = not_held = unclear = 0
        for row in self.told():
            extra = runs_in(row["extra_runs"], "extra_runs", self.wrong)
            if not extra:
                continue
            contains = runs_in(row["batsman_runs"], "batsman_runs", self.wrong) >= extra
            if any(row[column] not in ("", "0") for column in _NOT_OFF_THE_BAT):
                held += contains
                not_held += not contains
            else:
                unclear += contains
        if held and not_held:
            raise self.wrong(
                f"batsman_runs contains the extras on {held} wides, byes and leg byes and does "
                f"not on {not_held} others, so the score cannot be told"
            )
        if unclear and not held and not not_held:
            raise self.wrong(
                "whether batsman_runs contains the extras, as in the rows of 2018 and 2019, "
                "cannot be told: the match has no wide, bye or leg bye"
            )
        self._twice = held > 0
        if self._twice:
            self.note(
                "batsman_runs contains the extras, which total_runs adds again: they were "
                f"taken out of {held + unclear} balls, so totals are lower than the file's"
            )

    def label(self, row: Row) -> str:
        """The ball's label; balls that are missing are told."""
        label, innings = super().label(row), self.innings
        over, ball = map(int, label.split("."))
        expected = self._place[2] + 1 if self._place[:2] == (innings, over) else 1
        if ball > expected:
            gone = [f"{over}.{number}" for number in range(expected, ball)]
            what = f"ball {gone[0]} is" if len(gone) == 1 else f"balls {', '.join(gone)} are"
            self.note(f"innings {innings}: {what} missing from the file")
        # The tenth ball is stored as 1.
        stored_as_one = expected == 10 and ball == 1
        self._place = (innings, over, expected if stored_as_one else ball)
        return label

    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and extras by kind."""
        bat, extra = self.adding_up(row)
        by_kind = [runs_in(row[column], column, self.wrong) for column in _BY_KIND]
        if sum(by_kind) != extra:
            raise self.wrong(f"extra_runs is {extra}, and the kinds add up to {sum(by_kind)}")
        if self._twice:
            bat -= extra
        if not 0 <= bat <= MOST_RUNS:
            raise self.wrong("batsman_runs is less than the extras it contains")
        return bat, dict(zip(EXTRA_KINDS, by_kind, strict=True))

    def compare(self) -> None:
        """Warn of super overs whose last balls may be missing."""
        if self._twice and len(self.draft.innings) > 2:
            self.note(
                "super overs of 2018 and 2019 lack balls in this layout, mostly those on which "
                "a wicket fell"
            )


class Rows2024(KaggleRows):
    """The table of 17 columns, seasons 2008 to 2024, with Cricsheet's match ids.

    Its traps: one kind of extra for each ball, so that a no-ball with byes may stand as
    byes and count as a legal ball; ``NA`` where there is nothing.
    """

    columns = (
        "match_id", "inning", "batting_team", "bowling_team", "over", "ball",
        "batter", "bowler", "non_striker", "batsman_runs", "extra_runs", "total_runs",
        "extras_type", "is_wicket", "player_dismissed", "dismissal_kind", "fielder",
    )  # fmt: skip
    telling = frozenset({"inning", "batter", "batsman_runs", "extras_type"})
    result_columns = OF_2024
    striker_column = "batter"

    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and the one kind of extra."""
        bat, extra = self.adding_up(row)
        kind = row["extras_type"]
        if (kind not in NOTHING and kind not in EXTRA_KINDS) or (extra and kind in NOTHING):
            raise self.wrong(
                f"extras_type is {shown(kind)} for {extra} runs; known: {', '.join(EXTRA_KINDS)}"
            )
        if (row["is_wicket"] == "1") != (row["dismissal_kind"] not in NOTHING):
            raise self.wrong(
                f"is_wicket is {shown(row['is_wicket'])}, and dismissal_kind is "
                f"{shown(row['dismissal_kind'])}"
            )
        return bat, {kind: extra} if extra else {}

    def compare(self) -> None:
        """Say what one kind of extra for each ball hides."""
        self.note(
            "a ball has one kind of extra in this layout: a no-ball that also brought byes may "
            "be told as byes, and counted as a legal ball"
        )


class Rows2025(KaggleRows):
    """The table of 2025: 19 columns, ``match_no``.

    Its traps: balls are labelled by legal balls, so that a wide and the next ball share a
    label; kinds of extras are flags, and the runs stand in ``extras``; no non-striker; teams
    as codes; a super over with the two teams exchanged; balls or runs that are missing, so
    that some totals fall short of the table of results.
    """

    columns = (
        "match_no", "date", "stage", "venue", "batting_team", "bowling_team", "innings", "over",
        "striker", "bowler", "runs_of_bat", "extras", "wide", "legbyes", "byes", "noballs",
        "wicket_type", "player_dismissed", "fielder",
    )  # fmt: skip
    telling = frozenset({"match_no", "striker", "runs_of_bat", "wide"})
    result_columns = OF_2025
    id_column = "match_no"
    innings_column = "innings"
    kind_column = "wicket_type"
    labels_count_legal = True

    def look_through(self) -> None:
        """Work out who was at the other end, and who bats in a super over."""
        draft = self.draft
        every = self.every
        first = every[0]
        date = date_from(first["date"])
        draft.dates = () if date is None else (date,)
        draft.season = None if date is None else str(date.year)
        draft.venue = first["venue"] or None
        partners: list[str | None] = []
        for number in dict.fromkeys(row["innings"] for row in every):
            rows = [row for row in every if row["innings"] == number]
            # Of two balls labelled the same, the order of the rows is the order of play.
            partners += non_strikers([(row["striker"], row["player_dismissed"]) for row in rows])
            if number not in ("1", "2"):
                self._exchange_teams(number, rows, every)
        unknown = partners.count(None)
        for row, partner in zip(every, partners, strict=True):
            row["non_striker"] = partner or UNKNOWN_PLAYER.name
            if row["wicket_type"] == "runout":
                row["wicket_type"] = "run out"
        self.note(
            "the non-striker is not in this layout: worked out from who batted together"
            + (f", and not known on {unknown} of {len(every)} balls" if unknown else "")
        )
        self.note("labels count legal balls: a wide or no-ball shares its label with the next ball")

    def _exchange_teams(self, number: str, rows: Sequence[Row], every: Sequence[Row]) -> None:
        """Put the teams of a super over right where its batters batted for the other side."""
        sides = {row["striker"]: row["batting_team"] for row in every if row["innings"] in "12"}
        batted_for = {sides[row["striker"]] for row in rows if row["striker"] in sides}
        if batted_for == {rows[0]["bowling_team"]}:
            for row in rows:
                row["batting_team"], row["bowling_team"] = row["bowling_team"], row["batting_team"]
            self.note(
                f"innings {number} names the other side as batting, and its batters are "
                f"{rows[0]['batting_team']}'s: the teams were exchanged"
            )

    def label(self, row: Row) -> str:
        """The ball's label, which is in the column ``over``."""
        return row["over"]

    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and extras by kind."""
        bat = runs_in(row["runs_of_bat"], "runs_of_bat", self.wrong)
        extra = runs_in(row["extras"], "extras", self.wrong)
        by_kind = {
            kind: runs
            for column, kind in _FLAGS.items()
            if (runs := runs_in(row[column], column, self.wrong))
        }
        kinds = list(by_kind)
        if sum(by_kind.values()) == extra:
            return bat, by_kind
        # The kinds are flags, and the runs stand apart.
        if not extra:
            raise self.wrong(f"{kinds[0]} is set, and extras is 0")
        if not kinds:
            place = f"innings {row['innings']}, ball {row['over']}"
            self.note(f"{place}: extras of no kind, taken as byes")
        if len(kinds) < 2:
            return bat, {kinds[0] if kinds else "byes": extra}
        if len(kinds) > 2 or kinds[0] != "noballs" or extra < 2:
            raise self.wrong(f"extras are of several kinds: {', '.join(kinds)}")
        # A no-ball is one run, and the rest ran.
        return bat, {kinds[0]: 1, kinds[1]: extra - 1}

    def compare(self) -> None:
        """Compare with the scores in the table of results."""
        # There is no word of rain rules in this layout.
        self.draft.method_known = False
        scores = () if self.result is None else self.result.scores
        for innings, score in zip(self.draft.innings, scores, strict=False):
            if innings.number == _MAIN_INNINGS and self._result_follows(scores):
                innings.target = scores[0][0] + 1
            if (innings.total, innings.wickets) != score:
                self.note(
                    f"innings {innings.number}: the balls add up to {innings.total}/"
                    f"{innings.wickets}, and the table of results says {score[0]}/{score[1]}: "
                    "balls or runs are missing or doubled in the file"
                )

    def _result_follows(self, scores: Sequence[tuple[int, int]]) -> bool:
        """Whether the result follows from the scores beside it, so that no rain changed them."""
        if len(scores) != _MAIN_INNINGS:
            return False
        margin, lead = self.draft.outcome.get("by", {}), scores[0][0] - scores[1][0]
        return margin.get("runs") == lead or ("wickets" in margin and lead < 0)


def non_strikers(balls: Sequence[tuple[str, str]]) -> list[str | None]:
    """The non-striker of each ball of an innings, ``None`` where it cannot be told.

    Two batters stand together until one is out. Those who faced while they stood
    together, and the one who was out at the end, are the two; where only one of
    them is seen, the other is the one who stayed in from the pair before.

    Args:
        balls: the striker, and who was out on that ball or an empty text.
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
        # Of a pair that is not two there is nobody to tell.
        other = dict(zip(pair, reversed(list(pair)), strict=True)) if len(pair) == 2 else {}
        partners += [other.get(striker) for striker, _ in span]
        stayed = other.get(span[-1][1])
    return partners


class KaggleReader:
    """A table of one layout, and the table of results beside it."""

    def __init__(self, layout: type[KaggleRows], file: MatchFile) -> None:
        self._layout = layout
        self._results = results_beside(file, layout.result_columns)

    def begin(self, table: Table, match_id: str, row: list[str]) -> KaggleRows:  # noqa: ARG002  # for other formats
        """A builder for the match of that id."""
        return self._layout(table, match_id, self._results.get(match_id))

    def date_of(self, table: Table, match_id: str, row: list[str]) -> datetime.date | None:
        """The date in the match's first row, or in the table of results."""
        if "date" in self._layout.columns:
            return date_from(row[table.position("date")])
        result = self._results.get(match_id)
        return result.facts["dates"][0] if result and result.facts["dates"] else None


LAYOUTS: Final = tuple(
    TableFormat(layout.telling, layout.columns, layout.id_column, partial(KaggleReader, layout))
    for layout in (Rows2019, Rows2024, Rows2025)
)

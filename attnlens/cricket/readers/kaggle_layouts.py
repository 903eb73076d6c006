"""The three layouts of the Kaggle tables of IPL deliveries, each with its traps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from attnlens.cricket.readers.deliveries import UNKNOWN_PLAYER
from attnlens.cricket.readers.kaggle import KaggleReader, KaggleRows, Row
from attnlens.cricket.readers.kaggle_results import (
    NOTHING,
    OF_2019,
    OF_2024,
    OF_2025,
    Result,
)
from attnlens.cricket.readers.tables import TableFormat
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    LAST_OVER,
    MOST_RUNS,
    date_from,
    number_in,
    runs_in,
    shown,
)

MOST_IN_AN_OVER: Final = 40
"""Balls."""

_BY_KIND = ("wide_runs", "noball_runs", "bye_runs", "legbye_runs", "penalty_runs")
_NOT_OFF_THE_BAT = ("wide_runs", "bye_runs", "legbye_runs")
_FLAGS = {"wide": "wides", "noballs": "noballs", "byes": "byes", "legbyes": "legbyes"}


class _WithTotals(KaggleRows):
    """The two older layouts: over and ball as numbers, and a total beside bat and extras."""

    first_over: ClassVar[int]

    def label(self, row: Row, innings: int) -> str:  # noqa: ARG002  # for the other
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


class Rows2019(_WithTotals):
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

    def label(self, row: Row, innings: int) -> str:
        """The ball's label; balls that are missing are told."""
        label = super().label(row, innings)
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


class Rows2024(_WithTotals):
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
    first_over = 0

    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and the one kind of extra."""
        bat, extra = self.adding_up(row)
        kind = row["extras_type"]
        if (kind not in NOTHING and kind not in EXTRA_KINDS) or (extra and kind in NOTHING):
            raise self.wrong(
                f"extras_type is {shown(kind)} for {extra} runs; known: {', '.join(EXTRA_KINDS)}"
            )
        return bat, {kind: extra} if extra else {}

    def kind_of_wicket(self, row: Row) -> str:
        """How somebody was out, which another column must know of."""
        kind = super().kind_of_wicket(row)
        if (row["is_wicket"] == "1") != (kind not in NOTHING):
            raise self.wrong(
                f"is_wicket is {shown(row['is_wicket'])}, and dismissal_kind is "
                f"{shown(row['dismissal_kind'])}"
            )
        return kind

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
        self._partners = iter(partners)
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

    def label(self, row: Row, innings: int) -> str:  # noqa: ARG002  # for the others
        """The ball's label, which is in the column ``over``."""
        return row["over"]

    def partner(self, row: Row) -> str:  # noqa: ARG002  # it is not in the row
        """Who stands at the other end, as far as could be worked out."""
        return next(self._partners) or UNKNOWN_PLAYER.name

    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and extras by kind."""
        bat = runs_in(row["runs_of_bat"], "runs_of_bat", self.wrong)
        extra = runs_in(row["extras"], "extras", self.wrong)
        by_kind = {
            kind: runs
            for column, kind in _FLAGS.items()
            if (runs := runs_in(row[column], column, self.wrong))
        }
        if sum(by_kind.values()) != extra:
            by_kind = self._shared(row, by_kind, extra)
        return bat, by_kind

    def _shared(self, row: Row, flags: dict[str, int], extra: int) -> dict[str, int]:
        """Extras by kind, where the kinds are flags and the runs stand apart."""
        kinds = list(flags)
        if not extra:
            raise self.wrong(f"{kinds[0]} is set, and extras is 0")
        if not kinds:
            self.note(
                f"innings {row['innings']}, ball {row['over']}: extras of no kind, taken as byes"
            )
            return {"byes": extra}
        if len(kinds) == 1:
            return {kinds[0]: extra}
        if len(kinds) > 2 or kinds[0] != "noballs" or extra < 2:
            raise self.wrong(f"extras are of several kinds: {', '.join(kinds)}")
        # A no-ball is one run, and the rest ran.
        return {kinds[0]: 1, kinds[1]: extra - 1}

    def kind_of_wicket(self, row: Row) -> str:
        """How somebody was out."""
        return "run out" if row["wicket_type"] == "runout" else row["wicket_type"]

    def compare(self) -> None:
        """Compare with the scores in the table of results."""
        # There is no word of rain rules in this layout.
        self.draft.method_known = False
        result = self.result
        if result is None:
            return
        self._take_target(result)
        for innings, score in zip(self.draft.innings, result.scores, strict=False):
            if (innings.total, innings.wickets) != score:
                self.note(
                    f"innings {innings.number}: the balls add up to {innings.total}/"
                    f"{innings.wickets}, and the table of results says {score[0]}/{score[1]}: "
                    "balls or runs are missing or doubled in the file"
                )

    def _take_target(self, result: Result) -> None:
        """The score of innings 1 as the table has it, where the result follows from its scores."""
        if len(result.scores) != 2:
            return
        first, second = result.scores
        margin = result.facts["outcome"].get("by", {})
        if margin.get("runs") == first[0] - second[0] or (
            "wickets" in margin and second[0] > first[0]
        ):
            for innings in self.draft.innings:
                if innings.number == 2:
                    innings.target = first[0] + 1


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
        whole = len(pair) == 2
        for striker, _ in span:
            others = pair - {striker}
            partners.append(others.pop() if whole and len(others) == 1 else None)
        out = span[-1][1]
        left = pair - {out}
        stayed = left.pop() if whole and out in pair and len(left) == 1 else None
    return partners


LAYOUTS: Final = tuple(
    TableFormat(layout.telling, layout.columns, layout.id_column, partial(KaggleReader, layout))
    for layout in (Rows2019, Rows2024, Rows2025)
)

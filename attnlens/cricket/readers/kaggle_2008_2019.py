"""The Kaggle IPL table of 21 columns: seasons 2008 to 2017, and as extended to 2019.

Its traps: the tenth ball of an over is stored as 1; in the rows of 2018 and 2019 the
batter's runs contain the extras, which are added again; the super overs of 2019 are
innings 3 and 5, and balls are missing from them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from attnlens.cricket.match import Match
from attnlens.cricket.readers.deliveries import EXTRA_KINDS, MOST_RUNS
from attnlens.cricket.readers.fields import runs_in, whole_number
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.kaggle_matches import OF_2019
from attnlens.cricket.readers.kaggle_rows import (
    MOST_IN_AN_OVER,
    KaggleRows,
    kaggle_matches_of,
    kaggle_parts_of,
)
from attnlens.cricket.readers.tables import Part, Refused, header_of

_COLUMNS = (
    "match_id",
    "inning",
    "batting_team",
    "bowling_team",
    "over",
    "ball",
    "batsman",
    "non_striker",
    "bowler",
    "is_super_over",
    "wide_runs",
    "noball_runs",
    "bye_runs",
    "legbye_runs",
    "penalty_runs",
    "batsman_runs",
    "extra_runs",
    "total_runs",
    "player_dismissed",
    "dismissal_kind",
    "fielder",
)
_BY_KIND = ("wide_runs", "noball_runs", "bye_runs", "legbye_runs", "penalty_runs")
_NOT_OFF_THE_BAT = ("wide_runs", "bye_runs", "legbye_runs")


def recognises(file: MatchFile) -> bool:
    """Whether the header has the columns that only this layout has."""
    return {"inning", "batsman", "wide_runs", "batsman_runs"} <= set(header_of(file))


def matches(
    file: MatchFile, part: Part | None = None, refused: Refused | None = None
) -> Generator[Match, None, None]:
    """The matches of the table.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    return kaggle_matches_of(file, _Rows, "match_id", _COLUMNS, OF_2019, part, refused)


def parts(file: MatchFile) -> Iterator[Part]:
    """The matches of the table, with the dates of the table of results beside it."""
    return kaggle_parts_of(file, "match_id", OF_2019)


class _Rows(KaggleRows):
    columns = _COLUMNS

    def before_building(self) -> None:
        """Tell whether the batter's runs contain the extras.

        Off a wide, a bye or a leg bye the batter has no runs, so where every such
        ball has as many as its extras, they are the extras, and where none has,
        they are not.
        """
        self._twice = False
        self._place = (0, 0, 0)
        held = not_held = unclear = 0
        for row in self.rows():
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
            self.draft.notes.append(
                "batsman_runs contains the extras, which total_runs adds again: they were "
                f"taken out of {held + unclear} balls, so totals are lower than the file's"
            )

    def build(self, row: dict[str, str]) -> None:
        """Make a delivery of a row."""
        innings = self.innings(row["inning"], row["batting_team"], row["bowling_team"], "inning")
        over = whole_number(row["over"], "over", 999, self.wrong) - 1
        ball = whole_number(row["ball"], "ball", MOST_IN_AN_OVER, self.wrong)
        if over < 0 or ball < 1:
            raise self.wrong("over and ball are counted from 1")
        bat, extra = self.runs(row)
        by_kind = [runs_in(row[column], column, self.wrong) for column in _BY_KIND]
        if sum(by_kind) != extra:
            raise self.wrong(f"extra_runs is {extra}, and the kinds add up to {sum(by_kind)}")
        if self._twice:
            bat -= extra
        if not 0 <= bat <= MOST_RUNS:
            raise self.wrong("batsman_runs is less than the extras it contains")
        self._look_for_gaps(innings.number, over, ball)
        innings.add(
            over,
            self.person(row, "batsman"),
            self.person(row, "non_striker"),
            self.person(row, "bowler"),
            bat,
            extra,
            dict(zip(EXTRA_KINDS, by_kind, strict=True)),
            self.wicket(row["dismissal_kind"], row["player_dismissed"], row["fielder"]),
            f"{over}.{ball}",
        )

    def _look_for_gaps(self, innings: int, over: int, ball: int) -> None:
        expected = self._place[2] + 1 if self._place[:2] == (innings, over) else 1
        if ball > expected:
            gone = [f"{over}.{number}" for number in range(expected, ball)]
            what = f"ball {gone[0]} is" if len(gone) == 1 else f"balls {', '.join(gone)} are"
            self.draft.notes.append(f"innings {innings}: {what} missing from the file")
        # The tenth ball is stored as 1.
        stored_as_one = expected == 10 and ball == 1
        self._place = (innings, over, expected if stored_as_one else ball)

    def after_building(self) -> None:
        """Warn of super overs whose last balls may be missing."""
        if self._twice and len(self.draft.innings) > 2:
            self.draft.notes.append(
                "super overs of 2018 and 2019 lack balls in this layout, mostly those on which "
                "a wicket fell"
            )

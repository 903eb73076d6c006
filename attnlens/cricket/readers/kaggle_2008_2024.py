"""The Kaggle IPL table of 17 columns, seasons 2008 to 2024, with Cricsheet's match ids.

Its traps: one kind of extra for each ball, so that a no-ball with byes may stand as
byes and count as a legal ball; ``NA`` where there is nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from attnlens.cricket.match import Match
from attnlens.cricket.readers.deliveries import EXTRA_KINDS
from attnlens.cricket.readers.fields import whole_number
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.kaggle_matches import NOTHING, OF_2024
from attnlens.cricket.readers.kaggle_rows import (
    MOST_IN_AN_OVER,
    KaggleRows,
    kaggle_matches_of,
    kaggle_parts_of,
)
from attnlens.cricket.readers.tables import Part, Refused, header_of
from attnlens.cricket.readers.text import shown

_COLUMNS = (
    "match_id",
    "inning",
    "batting_team",
    "bowling_team",
    "over",
    "ball",
    "batter",
    "bowler",
    "non_striker",
    "batsman_runs",
    "extra_runs",
    "total_runs",
    "extras_type",
    "is_wicket",
    "player_dismissed",
    "dismissal_kind",
    "fielder",
)


def recognises(file: MatchFile) -> bool:
    """Whether the header has the columns that only this layout has."""
    return {"inning", "batter", "batsman_runs", "extras_type"} <= set(header_of(file))


def matches(
    file: MatchFile, part: Part | None = None, refused: Refused | None = None
) -> Generator[Match, None, None]:
    """The matches of the table.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    return kaggle_matches_of(file, _Rows, "match_id", _COLUMNS, OF_2024, part, refused)


def parts(file: MatchFile) -> Iterator[Part]:
    """The matches of the table, with the dates of the table of results beside it."""
    return kaggle_parts_of(file, "match_id", OF_2024)


class _Rows(KaggleRows):
    columns = _COLUMNS

    def before_building(self) -> None:
        """Each row of this layout stands for itself."""

    def build(self, row: dict[str, str]) -> None:
        """Make a delivery of a row."""
        innings = self.innings(row["inning"], row["batting_team"], row["bowling_team"], "inning")
        over = whole_number(row["over"], "over", 999, self.wrong)
        ball = whole_number(row["ball"], "ball", MOST_IN_AN_OVER, self.wrong)
        bat, extra = self.runs(row)
        kind = row["extras_type"]
        if (kind not in NOTHING and kind not in EXTRA_KINDS) or (extra and kind in NOTHING):
            raise self.wrong(
                f"extras_type is {shown(kind)} for {extra} runs; known: {', '.join(EXTRA_KINDS)}"
            )
        wicket = self.wicket(row["dismissal_kind"], row["player_dismissed"], row["fielder"])
        if (row["is_wicket"] == "1") != bool(wicket):
            raise self.wrong(
                f"is_wicket is {shown(row['is_wicket'])}, and dismissal_kind is "
                f"{shown(row['dismissal_kind'])}"
            )
        innings.add(
            over,
            self.person(row, "batter"),
            self.person(row, "non_striker"),
            self.person(row, "bowler"),
            bat,
            extra,
            {kind: extra} if extra else None,
            wicket,
            f"{over}.{ball}",
        )

    def after_building(self) -> None:
        """Say what one kind of extra for each ball hides."""
        self.draft.notes.append(
            "a ball has one kind of extra in this layout: a no-ball that also brought byes may "
            "be told as byes, and counted as a legal ball"
        )

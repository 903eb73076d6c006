"""The Kaggle IPL table of 2025 (19 columns, ``match_no``).

Its traps: balls are labelled by legal balls, so that a wide and the next ball share a
label; kinds of extras are flags, and the runs stand in ``extras``; no non-striker; teams
as codes; a super over with the two teams exchanged; balls or runs that are missing, so
that some totals fall short of the table of results.
"""

from __future__ import annotations

import datetime
from collections.abc import Generator, Iterator, Sequence

from attnlens.cricket.match import Match, Wicket
from attnlens.cricket.readers.deliveries import UNKNOWN_PLAYER
from attnlens.cricket.readers.fields import over_of, runs_in
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.kaggle_matches import OF_2025, Result
from attnlens.cricket.readers.kaggle_rows import KaggleRows, kaggle_matches_of
from attnlens.cricket.readers.pairs import non_strikers
from attnlens.cricket.readers.spreadsheet import date_from
from attnlens.cricket.readers.tables import Part, Refused, Table, header_of, parts_in

_COLUMNS = (
    "match_no",
    "date",
    "stage",
    "venue",
    "batting_team",
    "bowling_team",
    "innings",
    "over",
    "striker",
    "bowler",
    "runs_of_bat",
    "extras",
    "wide",
    "legbyes",
    "byes",
    "noballs",
    "wicket_type",
    "player_dismissed",
    "fielder",
)
_KINDS = {"wide": "wides", "noballs": "noballs", "byes": "byes", "legbyes": "legbyes"}
_WICKETS = {"runout": "run out"}


def recognises(file: MatchFile) -> bool:
    """Whether the header has the columns that only this layout has."""
    return {"match_no", "striker", "runs_of_bat", "wide"} <= set(header_of(file))


def matches(
    file: MatchFile, part: Part | None = None, refused: Refused | None = None
) -> Generator[Match, None, None]:
    """The matches of the table.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    return kaggle_matches_of(file, _Rows, "match_no", _COLUMNS, OF_2025, part, refused)


def parts(file: MatchFile) -> Iterator[Part]:
    """The matches of the table, with the dates in their rows."""

    def date_of(table: Table, row: list[str], _: str) -> datetime.date | None:
        return date_from(row[table.position("date")])

    return parts_in(file, "match_no", date_of)


class _Rows(KaggleRows):
    columns = _COLUMNS
    labels_count_legal = True

    def before_building(self) -> None:
        """Work out who was at the other end, and who bats in a super over."""
        draft = self.draft
        every = list(self.rows())
        first = every[0]
        date = date_from(first["date"])
        draft.dates = () if date is None else (date,)
        draft.season = None if date is None else str(date.year)
        draft.venue = first["venue"] or None
        self._index = 0
        self._partners: list[str | None] = []
        numbers = list(dict.fromkeys(row["innings"] for row in every))
        for number in numbers:
            rows = [row for row in every if row["innings"] == number]
            # Of two balls labelled the same, the order of the rows is the order of play.
            self._partners += non_strikers(
                [(row["striker"], row["player_dismissed"]) for row in rows]
            )
            if number not in ("1", "2"):
                self._exchange_teams(number, rows, every)
        unknown = sum(partner is None for partner in self._partners)
        draft.notes.append(
            "the non-striker is not in this layout: worked out from who batted together"
            + (f", and not known on {unknown} of {len(every)} balls" if unknown else "")
        )
        draft.notes.append(
            "labels count legal balls: a wide or no-ball shares its label with the next ball"
        )

    def _exchange_teams(
        self, number: str, rows: Sequence[dict[str, str]], every: Sequence[dict[str, str]]
    ) -> None:
        """Put the teams of a super over right where its batters batted for the other side."""
        sides = {row["striker"]: row["batting_team"] for row in every if row["innings"] in "12"}
        batted_for = {sides[row["striker"]] for row in rows if row["striker"] in sides}
        if batted_for == {rows[0]["bowling_team"]}:
            for row in rows:
                row["batting_team"], row["bowling_team"] = row["bowling_team"], row["batting_team"]
            self.draft.notes.append(
                f"innings {number} names the other side as batting, and its batters are "
                f"{rows[0]['batting_team']}'s: the teams were exchanged"
            )

    def build(self, row: dict[str, str]) -> None:
        """Make a delivery of a row."""
        innings = self.innings(row["innings"], row["batting_team"], row["bowling_team"], "innings")
        label = row["over"]
        over = over_of(label, "over", self.wrong)
        bat = runs_in(row["runs_of_bat"], "runs_of_bat", self.wrong)
        extra = runs_in(row["extras"], "extras", self.wrong)
        partner = self._partners[self._index]
        self._index += 1
        innings.add(
            over,
            self.person(row, "striker"),
            UNKNOWN_PLAYER if partner is None else self.people[partner],
            self.person(row, "bowler"),
            bat,
            extra,
            self._extras(row, label, extra),
            self._fallen(row),
            label,
        )

    def _extras(self, row: dict[str, str], label: str, extra: int) -> dict[str, int] | None:
        by_kind = {
            kind: runs
            for column, kind in _KINDS.items()
            if (runs := runs_in(row[column], column, self.wrong))
        }
        if sum(by_kind.values()) == extra:
            return by_kind or None
        flags = list(by_kind)
        if not extra:
            raise self.wrong(f"{flags[0]} is set, and extras is 0")
        if not flags:
            self.draft.notes.append(
                f"innings {row['innings']}, ball {label}: extras of no kind, taken as byes"
            )
            return {"byes": extra}
        if len(flags) > 1:
            if len(flags) > 2 or flags[0] != "noballs" or extra < 2:
                raise self.wrong(f"extras are of several kinds: {', '.join(flags)}")
            # A no-ball is one run, and the rest ran.
            return {flags[0]: 1, flags[1]: extra - 1}
        return {flags[0]: extra}

    def _fallen(self, row: dict[str, str]) -> tuple[Wicket, ...]:
        kind = row["wicket_type"]
        return self.wicket(_WICKETS.get(kind, kind), row["player_dismissed"], row["fielder"])

    def _take_target(self, result: Result) -> None:
        """The score of innings 1 as the table has it, where the result follows from its scores."""
        if len(result.scores) != 2:
            return
        first, second = result.scores
        margin = result.outcome.get("by", {})
        if margin.get("runs") == first[0] - second[0] or (
            "wickets" in margin and second[0] > first[0]
        ):
            for innings in self.draft.innings:
                if innings.number == 2:
                    innings.target = first[0] + 1

    def after_building(self) -> None:
        """Compare with the scores in the table of results."""
        # There is no word of rain rules in this layout.
        self.draft.method_known = False
        result = self.result
        if result is None:
            return
        self._take_target(result)
        for innings, score in zip(self.draft.innings, result.scores, strict=False):
            if (innings.total, innings.wickets) != score:
                self.draft.notes.append(
                    f"innings {innings.number}: the balls add up to {innings.total}/"
                    f"{innings.wickets}, and the table of results says {score[0]}/{score[1]}: "
                    "balls or runs are missing or doubled in the file"
                )

"""Rows of one delivery each on their way to a match, whatever table they stand in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attnlens.cricket.match.match import Match, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES, MOST_INNINGS, InningsDraft
from attnlens.cricket.readers.info import InfoRows
from attnlens.cricket.readers.text import EXTRA_KINDS, WrongHere, number_in, over_of, runs_in, shown

REQUIRED = (
    "innings", "ball", "batting_team", "bowling_team", "striker", "non_striker", "bowler",
    "runs_off_bat", "extras", *EXTRA_KINDS,
)  # fmt: skip
OF_A_BALL = (
    *REQUIRED, "actual_delivery", "non_boundary", "wicket_type", "player_dismissed",
    "other_wicket_type", "other_player_dismissed", "fielder_1", "fielder_2", "fielder_3",
)  # fmt: skip
"""The fields of a ball, called as Cricsheet's CSV2 calls them."""

_BLANK = ("", "0")


@dataclass
class BallRows:
    """The rows of one match.

    Args:
        draft: what is known without the rows.
        pick: from a row to its fields in the order of `OF_A_BALL`, blank where there is nothing;
            there may be any number of fielders.
        wrong: makes the error that names the row's line.
        info: tells each innings its target in the end.
        labels_count_legal: whether a wide shares its label with the next ball.
    """

    draft: MatchDraft
    pick: Callable[[list[str]], Sequence[str]]
    wrong: WrongHere
    info: InfoRows | None = None
    labels_count_legal: bool = False
    _innings: InningsDraft | None = field(default=None, init=False)
    _innings_as_written: tuple[str, str, str] | None = field(default=None, init=False)

    def add(self, row: list[str]) -> None:
        """Append the delivery of one row."""
        (
            number, label, batting, bowling, striker, non_striker, bowler, bat, extra,
            wides, noballs, byes, legbyes, penalty,
            actual, non_boundary, kind, out, other_kind, other_out, *fielders,
        ) = self.pick(row)  # fmt: skip
        innings = self._innings
        if innings is None or (number, batting, bowling) != self._innings_as_written:
            innings = self._start_innings(number, batting, bowling)
        if len(innings.deliveries) == MOST_DELIVERIES:
            raise self.wrong(f"innings {innings.number} is longer than {MOST_DELIVERIES} balls")
        label = label.strip()
        over = over_of(label, "ball", self.wrong)
        if actual:
            over_of(actual, "actual_delivery", self.wrong)
        extras: dict[str, int] = {}
        total = 0
        if extra not in _BLANK or wides or noballs or byes or legbyes or penalty:
            total = runs_in(extra, "extras", self.wrong)
            extras = self._extras((wides, noballs, byes, legbyes, penalty), total)
        people = self.draft.people
        try:
            players = people[striker], people[non_striker], people[bowler]
        except TypeError:
            names = {"striker": striker, "non_striker": non_striker, "bowler": bowler}
            blank = next(column for column, name in names.items() if not name.strip())
            raise self.wrong(f"{blank} is blank") from None
        wickets: tuple[Wicket, ...] = ()
        if kind or out or other_kind or other_out:
            wickets = (
                *self._wicket("", kind, out, [name for name in fielders if name]),
                *self._wicket("other_", other_kind, other_out, ()),
            )
        innings.add(
            over,
            *players,
            0 if bat == "0" else runs_in(bat, "runs_off_bat", self.wrong),
            total,
            extras,
            wickets,
            label,
            actual.strip() or None,
            bool(non_boundary) and non_boundary.strip().lower() == "true",
        )

    def _extras(self, by_kind: Sequence[str], total: int) -> dict[str, int]:
        extras = {
            name: runs
            for name, text in zip(EXTRA_KINDS, by_kind, strict=True)
            if (runs := runs_in(text, name, self.wrong))
        }
        if sum(extras.values()) != total:
            raise self.wrong(
                f"extras is {total}, but wides, noballs, byes, legbyes and penalty "
                f"add up to {sum(extras.values())}"
            )
        return extras

    def _start_innings(self, text: str, batting: str, bowling: str) -> InningsDraft:
        number = number_in(text, "innings", 1, MOST_INNINGS, self.wrong)
        for team, column in ((batting, "batting_team"), (bowling, "bowling_team")):
            if not team.strip():
                raise self.wrong(f"{column} is blank")
        current = self._innings
        if current is not None and current.number == number:
            raise self.wrong(
                f"{batting} bats against {bowling} inside the innings of {current.batting_team}"
            )
        if current is not None and number < current.number:
            raise self.wrong(f"innings {number} comes after innings {current.number}")
        innings = InningsDraft(number, batting, bowling, labels_count_legal=self.labels_count_legal)
        self.draft.innings.append(innings)
        self._innings = innings
        self._innings_as_written = (text, batting, bowling)
        return innings

    def _wicket(
        self, prefix: str, kind: str, out: str, fielders: Sequence[str]
    ) -> tuple[Wicket, ...]:
        """The wicket of the columns that begin so, if one fell."""
        kind = kind.strip()
        if not kind and out.strip():
            raise self.wrong(f"{prefix}player_dismissed is set, and {prefix}wicket_type is blank")
        if not kind:
            return ()
        if not out.strip():
            raise self.wrong(f"{prefix}wicket_type is {shown(kind)}, and no one is out")
        return (Wicket(kind, self.draft.people[out], tuple(fielders)),)

    def finished(self) -> Match:
        """The match of the rows added."""
        draft = self.draft
        sides = [side for one in draft.innings for side in (one.batting_team, one.bowling_team)]
        draft.teams = draft.teams or tuple(dict.fromkeys(sides))
        if self.info is not None:
            self.info.mark(draft.innings, draft.balls_per_over or 6)
        return draft.finished()

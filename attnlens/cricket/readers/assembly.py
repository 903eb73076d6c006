"""From what a file said to a `Match`: the gaps that the rules of cricket can fill, and where
the file contradicts itself.

Every gap filled, every oddity and everything that does not fit is a sentence in the notes.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from attnlens.cricket.match.match import Facts, Match
from attnlens.cricket.readers.deliveries import InningsDraft, People

TWENTY_OVER_TYPES = frozenset({"T20", "IT20"})
LIMITED_OVERS_TYPES = TWENTY_OVER_TYPES | {"ODI", "ODM"}
UNLIMITED_TYPES = frozenset({"Test", "MDM"})

CONTRADICTED = "does not follow from the balls"
"""Part of the note of a match whose balls and result cannot both be right."""

_TWENTY = 20
_MOST_LIMITED_OVERS = 60
_ODDITIES_TOLD = 3
_OVERS_TOLD = 4
_ALL_OUT = 10


@dataclass
class MatchDraft:
    """A match being read; ``None`` and empty mark what the format did not say.

    ``method_known`` says whether a rain rule would be in ``outcome["method"]``,
    and ``penalties_known`` whether the format carries penalty runs awarded
    outside a delivery.
    """

    match_id: str
    source: str
    match_type: str | None = None
    gender: str | None = None
    team_type: str | None = None
    dates: tuple[datetime.date, ...] = ()
    season: str | None = None
    event: Facts = field(default_factory=Facts)
    venue: str | None = None
    city: str | None = None
    teams: tuple[str, ...] = ()
    toss: Facts = field(default_factory=Facts)
    outcome: Facts = field(default_factory=Facts)
    overs: int | None = None
    balls_per_over: int | None = None
    innings: list[InningsDraft] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    players: dict[str, list[str]] = field(default_factory=dict)
    people: People = field(default_factory=lambda: People({}))
    method_known: bool = True
    penalties_known: bool = True

    def finished(self) -> Match:
        """The match, its gaps filled where the rules allow."""
        self.notes += self.people.notes()
        balls_per_over = self._balls_per_over()
        self._settle_length(balls_per_over)
        limited = self._limited()
        self._settle_super_overs(limited, balls_per_over)
        if limited:
            self._settle_targets(balls_per_over)
            for innings in self.innings:
                # Where each side bats once there is nothing to declare.
                innings.declared = bool(innings.declared)
        if not self.penalties_known:
            self.notes.append("penalty runs outside a delivery are not in this format: taken as 0")
        for innings in self.innings:
            self._tell_oddities(innings)
        self.notes.extend(contradictions(self, limited, balls_per_over))
        made: dict[str, Any] = {
            "balls_per_over": balls_per_over,
            "innings": tuple(innings.finished(balls_per_over) for innings in self.innings),
            "notes": tuple(self.notes),
            "players": Facts(self.players),
        }
        kept = {one.name: getattr(self, one.name) for one in fields(Match) if one.name not in made}
        return Match(**kept, **made)

    def _balls_per_over(self) -> int:
        if self.balls_per_over is not None:
            return self.balls_per_over
        lengths: Counter[int] = Counter()
        for innings in self.innings:
            by_over = Counter(ball.over for ball in innings.deliveries if ball.is_legal)
            # The last over may have been cut short.
            by_over.pop(innings.last_over, None)
            lengths.update(by_over.values())
        usual = lengths.most_common(1)[0][0] if lengths else 6
        self.notes.append(f"balls per over are not in the file: {usual} from the overs bowled")
        return usual

    def _settle_length(self, balls_per_over: int) -> None:
        if self.match_type in UNLIMITED_TYPES:
            self.overs = None
            return
        if self.match_type is None and self.overs is None:
            full = any(
                innings.last_over == _TWENTY - 1 and innings.legal_balls >= _TWENTY * balls_per_over
                for innings in self.innings
                if innings.number <= 2
            )
            if full and self._limited() and max(i.last_over for i in self.innings) < _TWENTY:
                self.match_type = "T20"
                self.overs = _TWENTY
                self.notes.append(
                    "match type is not in the file: T20, as an innings had 20 overs and none more"
                )
            else:
                self.notes.append("match type and overs a side are not in the file")
        elif self.match_type in TWENTY_OVER_TYPES and (self.overs is None or self.overs > _TWENTY):
            said = "has no overs a side" if self.overs is None else f"says {self.overs} overs"
            self.notes.append(
                f"the file {said}: taken as {_TWENTY}, as its type is a twenty-over match"
            )
            self.overs = _TWENTY

    def _limited(self) -> bool:
        """Whether each side bats once, as far as can be told safely."""
        if self.match_type in UNLIMITED_TYPES:
            return False
        if self.overs is not None or self.match_type in LIMITED_OVERS_TYPES:
            return True
        if any(innings.last_over >= _MOST_LIMITED_OVERS for innings in self.innings):
            return False
        if len(set(self.dates)) > 2 or self.outcome.get("result") == "draw":
            return False
        if "innings" in self.outcome.get("by", {}):
            return False
        if len(self.innings) <= 2:
            return True
        # More than two innings of a limited-overs match come of a tie.
        totals = {innings.total for innings in self.innings if innings.number <= 2}
        return len(totals) == 1 and all(
            innings.overs_begun <= 1 for innings in self.innings if innings.number > 2
        )

    def _settle_super_overs(self, limited: bool, balls_per_over: int) -> None:
        told_apart = False
        for position, innings in enumerate(self.innings):
            if innings.super_over is None:
                innings.super_over = limited and innings.number > 2
                told_apart = told_apart or innings.super_over
            if not innings.super_over:
                continue
            if innings.number % 2:
                continue
            innings.target_balls = innings.target_balls or balls_per_over
            if innings.target is None and position:
                innings.target = self.innings[position - 1].total + 1
                self.notes.append(
                    f"innings {innings.number} has no target in the file: "
                    f"{innings.target}, one more than the super over before it"
                )
        if told_apart:
            self.notes.append(
                "super overs are not marked in the file: innings 3 and up are taken so"
            )

    def _settle_targets(self, balls_per_over: int) -> None:
        by_number = {innings.number: innings for innings in self.innings}
        if not {1, 2} <= by_number.keys():
            return
        first, second = by_number[1], by_number[2]
        method = self.outcome.get("method")
        if second.target is None:
            if method is not None:
                self.notes.append(f"innings 2 has no target in the file ({method} changed it)")
                return
            second.target = first.total + 1
            caution = "" if self.method_known else ", unless rain changed it"
            self.notes.append(
                f"innings 2 has no target in the file: {second.target}, "
                f"one more than innings 1{caution}"
            )
        if _set_later(second, first.total + 1):
            second.set_later = Facts.known(runs=second.target, balls=second.target_balls)
            second.target, second.target_balls, method = first.total + 1, None, None
            self.notes.append(
                f"innings 2 passed the target {second.set_later['runs']} and went on: it was set "
                f"after the chase began; {second.target}, one more than innings 1, stands for it"
            )
        if second.target_balls is None and self.overs is not None and method is None:
            second.target_balls = self.overs * balls_per_over

    def _tell_oddities(self, innings: InningsDraft) -> None:
        if innings.restored:
            self.notes.append(
                f"innings {innings.number}: {_some(innings.restored)} had lost a last zero, "
                "as spreadsheets do: put right from the order of the rows"
            )
        if not innings.oddities:
            return
        labels = Counter(ball.label for ball in innings.deliveries)
        repeated = [label for label, count in labels.items() if count > 1]
        if repeated and not innings.labels_count_legal:
            self.notes.append(
                f"innings {innings.number} uses a label for several balls "
                f"({_some(repeated)}): a spreadsheet may have changed 0.10 to 0.1"
            )
        else:
            self.notes.append(f"innings {innings.number}: {_some(innings.oddities, '; ')}")


def _set_later(chase: InningsDraft, usual: int) -> bool:
    """Whether balls were bowled though the file's target, another than usual, was reached."""
    if chase.target in (None, usual) or not chase.deliveries:
        return False
    return chase.deliveries[-1].score_before >= chase.target


def _some(items: list[str], separator: str = ", ") -> str:
    told = separator.join(items[:_ODDITIES_TOLD])
    rest = len(items) - _ODDITIES_TOLD
    return f"{told} and {rest} more" if rest > 0 else told


def contradictions(draft: MatchDraft, limited: bool, balls_per_over: int) -> Iterator[str]:
    """What does not fit, a sentence each.

    Args:
        limited: whether each side was to bat once.
    """
    for innings in draft.innings:
        yield from _overs(innings, balls_per_over)
        if innings.wickets > _ALL_OUT:
            yield f"innings {innings.number} has {innings.wickets} wickets"
    main = [innings for innings in draft.innings if not innings.super_over]
    if limited and len(main) == 2:
        yield from _target(draft, main[0], main[1])
        yield from _limited_result(draft, main[0], main[1])


def _overs(innings: InningsDraft, balls_per_over: int) -> Iterator[str]:
    odd = [(over, legal) for over, legal in innings.over_lengths if legal != balls_per_over]
    if innings.legal_in_over > balls_per_over:
        odd.append((innings.deliveries[-1].over, innings.legal_in_over))
    if not odd:
        return
    told = ", ".join(f"over {over} has {legal}" for over, legal in odd[:_OVERS_TOLD])
    more = f" and {len(odd) - _OVERS_TOLD} more overs" if len(odd) > _OVERS_TOLD else ""
    stated = all(over in innings.miscounted for over, _ in odd)
    why = ": the umpires miscounted, as the file says" if stated else ""
    yield (
        f"innings {innings.number}: {told} legal balls{more}, not {balls_per_over} "
        f"(overs as the file labels them){why}"
    )


def _target(draft: MatchDraft, first: InningsDraft, second: InningsDraft) -> Iterator[str]:
    if not draft.method_known or draft.outcome.get("method") is not None:
        return
    target = second.set_later.get("runs", second.target)
    if target not in (None, first.total + 1):
        yield (
            f"innings 2 has the target {target} in the file, and innings 1 made "
            f"{first.total}: it was revised, and the file does not say how"
        )


def _limited_result(draft: MatchDraft, first: InningsDraft, second: InningsDraft) -> Iterator[str]:
    outcome = draft.outcome
    winner, margin = outcome.get("winner"), outcome.get("by", {})
    # A rain rule moves the score to beat; without the target it is not known.
    by_rule = outcome.get("method") is not None
    target = second.set_later.get("runs", second.target)
    to_beat = first.total if not by_rule else (target or 1) - 1
    if not to_beat and by_rule:
        return
    if outcome.get("result") == "tie":
        fits = second.total == to_beat
    elif "runs" in margin and winner == first.batting_team:
        fits = to_beat - second.total == margin["runs"]
    elif "runs" in margin:
        # A side that bats second and is ahead of the rain rule wins by runs.
        fits = by_rule
    else:
        won = winner == second.batting_team and second.total > to_beat
        left = _ALL_OUT - second.wickets
        fits = "wickets" not in margin or (won and left == margin["wickets"])
    if not fits:
        yield _says(draft, (first, second))


def _says(draft: MatchDraft, innings: Sequence[InningsDraft]) -> str:
    stated = str(draft.outcome.get("result"))
    if "winner" in draft.outcome:
        margin = " and ".join(
            f"{amount} {unit.removesuffix('s') if amount == 1 else unit}"
            for unit, amount in draft.outcome.get("by", {}).items()
        )
        stated = f"{draft.outcome['winner']} won by {margin}"
    scores = ", ".join(f"{one.batting_team} {one.total}/{one.wickets}" for one in innings)
    caution = "" if draft.penalties_known else "; penalty runs may be missing from this format"
    return (
        f"the stated result ({stated}) {CONTRADICTED} ({scores}); "
        f"both are told as the file has them{caution}"
    )

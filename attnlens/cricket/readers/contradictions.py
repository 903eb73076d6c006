"""Where a file contradicts itself: results, targets, overs and wickets that do not fit.

Nothing is changed; each thing found is one sentence for a match's notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from attnlens.cricket.readers.deliveries import InningsDraft

_ALL_OUT = 10
_OVERS_TOLD = 4


class Draft(Protocol):
    """What is looked at of a match."""

    @property
    def innings(self) -> Sequence[InningsDraft]: ...
    @property
    def outcome(self) -> Mapping[str, Any]: ...
    @property
    def penalties_known(self) -> bool: ...
    @property
    def method_known(self) -> bool: ...


def contradictions(draft: Draft, limited: bool, balls_per_over: int) -> Iterator[str]:
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
        yield from _eliminator(draft)
    elif not limited:
        yield from _unlimited_result(draft, main)


def _overs(innings: InningsDraft, balls_per_over: int) -> Iterator[str]:
    odd = [(over, legal) for over, legal in innings.over_lengths if legal != balls_per_over]
    if innings.legal_in_last_over > balls_per_over:
        odd.append((innings.deliveries[-1].over, innings.legal_in_last_over))
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


def _target(draft: Draft, first: InningsDraft, second: InningsDraft) -> Iterator[str]:
    if not draft.method_known or draft.outcome.get("method") is not None:
        return
    if second.target not in (None, first.total + 1):
        yield (
            f"innings 2 has the target {second.target} in the file, and innings 1 made "
            f"{first.total}: it was revised, and the file does not say how"
        )


def _limited_result(draft: Draft, first: InningsDraft, second: InningsDraft) -> Iterator[str]:
    outcome = draft.outcome
    winner = outcome.get("winner")
    margin = outcome.get("by", {})
    # A rain rule moves the score to beat; without the target it is not known.
    by_rule = outcome.get("method") is not None
    to_beat = first.total if not by_rule else second.target and second.target - 1
    if not to_beat and by_rule:
        return
    to_beat = to_beat or 0
    if outcome.get("result") == "tie":
        fits = second.total == to_beat
    elif "runs" in margin and winner == first.batting_team:
        fits = to_beat - second.total == margin["runs"]
    elif "runs" in margin and by_rule:
        # A side that bats second and is ahead of the rain rule wins by runs.
        return
    elif "wickets" in margin:
        fits = (
            winner == second.batting_team
            and second.total > to_beat
            and _ALL_OUT - second.wickets == margin["wickets"]
        )
    elif "runs" in margin:
        fits = False
    else:
        return
    if not fits:
        yield _says(draft, (first, second))


def _unlimited_result(draft: Draft, main: Sequence[InningsDraft]) -> Iterator[str]:
    winner = draft.outcome.get("winner")
    margin = draft.outcome.get("by", {})
    if winner is None or not margin or not main:
        return
    sides = {innings.batting_team for innings in main}
    ahead = sum(
        innings.total if innings.batting_team == winner else -innings.total for innings in main
    )
    if "wickets" in margin:
        last = main[-1]
        fits = (
            last.batting_team == winner
            and ahead > 0
            and _ALL_OUT - last.wickets == margin["wickets"]
        )
    else:
        fits = winner in sides and ahead == margin.get("runs", ahead)
    if not fits:
        yield _says(draft, main)


def _eliminator(draft: Draft) -> Iterator[str]:
    name = draft.outcome.get("eliminator")
    supers = [innings for innings in draft.innings if innings.super_over]
    if name is None or len(supers) < 2:
        return
    one, other = supers[-2:]
    # Level super overs were decided by boundaries for some years.
    if one.total != other.total:
        ahead = one if one.total > other.total else other
        if ahead.batting_team != name:
            yield (
                f"{name} won the super over as the file says, and the balls say "
                f"{one.batting_team} {one.total}, {other.batting_team} {other.total}"
            )


def _says(draft: Draft, innings: Sequence[InningsDraft]) -> str:
    outcome = draft.outcome
    if "winner" in outcome:
        margin = " and ".join(_amount(key, value) for key, value in outcome.get("by", {}).items())
        stated = f"{outcome['winner']} won by {margin}"
    else:
        stated = str(outcome.get("result"))
    scores = ", ".join(f"{one.batting_team} {one.total}/{one.wickets}" for one in innings)
    caution = "" if draft.penalties_known else "; penalty runs may be missing from this format"
    return (
        f"the stated result ({stated}) does not follow from the balls ({scores}); "
        f"both are told as the file has them{caution}"
    )


def _amount(key: str, value: int) -> str:
    if key == "innings":
        return "an innings" if value == 1 else f"{value} innings"
    return f"{value} {key.removesuffix('s') if value == 1 else key}"

"""What lifts the outcome of a story, what pulls the other way, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attnlens.cricket.explain.types import (
    Evidence,
    Explanation,
    Prediction,
    Sentence,
)
from attnlens.cricket.words.facts import (
    Part,
    Source,
    bare_points,
    outcome_words,
    sentence,
)
from attnlens.cricket.words.narrative_claims import balls_of
from attnlens.show.numbers import signed_points

FELT = 0.05
"""Points below which a contribution prints as 0.0 and is not worth a sentence."""


def story_outcome(prediction: Prediction) -> int:
    """The place of the outcome that is explained, else of the one furthest from its baseline."""
    if prediction.explained is not None:
        return place_of(prediction, prediction.explained)
    moves = [abs(entry.probability - entry.baseline) for entry in prediction.outcomes]
    return moves.index(max(moves))


def place_of(prediction: Prediction, outcome: str) -> int:
    """An outcome's place among those of the prediction."""
    return next(at for at, entry in enumerate(prediction.outcomes) if entry.outcome == outcome)


PLAYERS: Final[Mapping[str, tuple[str, str]]] = {
    "striker's record": ("/ball/batter", "'s record"),
    "bowler's record": ("/ball/bowler", "'s record"),
    "this bowler's earlier balls": ("/ball/bowler", "'s earlier balls to other batters"),
    "this batter's earlier balls": ("/ball/batter", "'s earlier balls from other bowlers"),
}
"""Groups that belong to a player: whose, and what."""

GROUPS: Final[Mapping[str, str]] = {
    "venue and teams": "the ground and the teams",
    "scoreboard": "the scoreboard",
    "this over": "this over so far",
    "other recent balls": "the other recent balls",
    "earlier balls": "the balls long past",
}

MANY: Final = frozenset(
    {
        "venue and teams",
        "this bowler to this batter",
        "this bowler's earlier balls",
        "this batter's earlier balls",
        "other recent balls",
        "earlier balls",
    }
)
"""Groups whose words are plural."""


def _group(source: Source[Explanation], at: int) -> list[Part]:
    group = source.document.contributions[at].group
    if group == "this bowler to this batter":
        return [source.quote("/ball/bowler"), "'s earlier balls to ", source.quote("/ball/batter")]
    if group in PLAYERS:
        pointer, words = PLAYERS[group]
        return [source.quote(pointer), words]
    if group in GROUPS:
        return [GROUPS[group]]
    return [source.quote(f"/contributions/{at}/group")]


def contributions(source: Source[Explanation]) -> list[Sentence]:
    """What does most to the outcome, and what pulls the other way."""
    groups = source.document.contributions
    if not groups:
        return []
    place = story_outcome(source.document.prediction)
    points = [group.points[place].points for group in groups]
    outcome = source.quote(f"/prediction/outcomes/{place}/outcome", outcome_words)

    def does(at: int, verb: str) -> list[Part]:
        return [*_group(source, at), f" {verb if groups[at].group in MANY else f'{verb}s'} "]

    def much(at: int) -> list[Part]:
        pointer = f"/contributions/{at}/points/{place}/points"
        return [" (", source.quote(pointer, signed_points), " points)"]

    up, down = points.index(max(points)), points.index(min(points))
    rises, falls = points[up] >= FELT, points[down] <= -FELT
    if not rises and not falls:
        return [sentence(["Nothing known about this ball moves ", outcome, " by much."])]
    if rises and (not falls or sum(points) >= 0):
        parts = [*does(up, "lift"), outcome, " most", *much(up)]
        if falls:
            parts += ["; ", *does(down, "pull"), "the other way", *much(down)]
        return [sentence([*parts, "."])]
    parts = [*does(down, "hold"), outcome, " down most", *much(down)]
    if rises:
        parts += ["; ", *does(up, "pull"), "the other way", *much(up)]
    return [sentence([*parts, "."])]


UNKNOWN: Final[Mapping[str, tuple[str, str | None, str]]] = {
    "venue and teams": ("Knowing nothing of the ground and the teams", None, ""),
    "striker's record": ("Knowing nothing of ", "/ball/batter", "'s record"),
    "bowler's record": ("Knowing nothing of ", "/ball/bowler", "'s record"),
    "the scoreboard": ("Hiding the scoreboard", None, ""),
    "the chase": ("Hiding the chase", None, ""),
}
"""What it means to take away what was known: the words, the player, the words after."""


def what_would_change(source: Source[Explanation], claimed: Sequence[int]) -> list[Sentence]:
    """The largest change of the outcome among everything that was taken away.

    Args:
        claimed: claims that have their sentences.
    """
    explanation = source.document
    place = story_outcome(explanation.prediction)
    outcome = source.quote(f"/prediction/outcomes/{place}/outcome", outcome_words)
    largest = _largest(explanation, place)
    if largest is None:
        return []
    points, pointer, claim = largest
    if abs(points) < FELT:
        start = "Nothing that was taken away would change the chance of "
        return [sentence([start, outcome, " by much."])]
    asked = explanation.prediction.outcomes[place].outcome
    same = claim is not None and claim.top_change.outcome == asked
    tested = [explanation.evidence[at] for at in claimed]
    if same and any(_alike(claim, other) for other in tested if other.verdict is not None):
        return [sentence(["Nothing else would change the chance of ", outcome, " as much."])]
    parts = [*_taken_away(source, pointer, claim), " would change the chance of ", outcome, " most"]
    if same:
        before, after = source.change(f"{pointer}/top_change/before", f"{pointer}/top_change/after")
        parts += [", taking it from ", before, " to ", after]
    else:
        way = "up" if points > 0 else "down"
        amount = source.quote(f"{pointer}/changes/{place}/points", bare_points)
        parts += [f", taking it {way} by ", amount, " points"]
    return [sentence([*parts, *_how_sure(source, pointer, claim), "."])]


def _largest(explanation: Explanation, place: int) -> tuple[float, str, Evidence | None] | None:
    """The largest change of an outcome: in points, where it stands, and the claim if it is one's.

    What was hidden from one head alone is left out.
    """
    changes: list[tuple[float, str, Evidence | None]] = [
        (claim.changes[place].points, f"/evidence/{at}", claim)
        for at, claim in enumerate(explanation.evidence)
        if claim.removed_from == "model"
    ]
    changes += [
        (ball.changes[place].points, f"/history/{at}", None)
        for at, ball in enumerate(explanation.history)
        if ball.changes
    ]
    return max(changes, key=lambda change: abs(change[0]), default=None)


def _alike(claim: Evidence | None, other: Evidence) -> bool:
    """Whether two claims were tested by taking away the same."""
    return (
        claim is not None
        and claim.removed_from == other.removed_from
        and set(claim.removed) == set(other.removed)
    )


def _taken_away(source: Source[Explanation], pointer: str, claim: Evidence | None) -> list[Part]:
    if claim is None:
        return ["Hiding ball ", source.quote(f"{pointer}/label"), " alone"]
    if claim.kind in UNKNOWN:
        words, player, end = UNKNOWN[claim.kind]
        return [words] if player is None else [words, source.quote(player), end]
    return ["Hiding ", *balls_of(source, int(pointer.rsplit("/", 1)[1]))]


def _how_sure(source: Source[Explanation], pointer: str, claim: Evidence | None) -> list[Part]:
    if claim is None or claim.verdict is None:
        return [", though there was nothing to test that against"]
    return [" (", source.quote(f"{pointer}/verdict"), ")"]

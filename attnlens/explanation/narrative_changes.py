"""What lifts the outcome of a story, what pulls the other way, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.explanation.facts import (
    Part,
    Sentence,
    Source,
    bare_points,
    outcome_words,
    resolve,
    sentence,
    signed_points,
)
from attnlens.explanation.narrative_claims import balls_of

FELT = 0.05
"""Points below which a contribution prints as 0.0 and is not worth a sentence."""


def story_outcome(data: Mapping[str, Any]) -> int:
    """The place of the outcome that is explained, else of the one furthest from its baseline."""
    if data["prediction"]["explained"] is not None:
        return place_of(data, data["prediction"]["explained"])
    entries = data["prediction"]["outcomes"]
    moves = [abs(entry["probability"] - entry["baseline"]) for entry in entries]
    return moves.index(max(moves))


def place_of(data: Mapping[str, Any], outcome: str) -> int:
    """An outcome's place among those of the prediction."""
    entries = data["prediction"]["outcomes"]
    return next(at for at, entry in enumerate(entries) if entry["outcome"] == outcome)


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


def _group(source: Source, at: int) -> list[Part]:
    group = source.data["contributions"][at]["group"]
    if group == "this bowler to this batter":
        return [source.quote("/ball/bowler"), "'s earlier balls to ", source.quote("/ball/batter")]
    if group in PLAYERS:
        pointer, words = PLAYERS[group]
        return [source.quote(pointer), words]
    if group in GROUPS:
        return [GROUPS[group]]
    return [source.quote(f"/contributions/{at}/group")]


def contributions(source: Source) -> list[Sentence]:
    """What does most to the outcome, and what pulls the other way."""
    groups = source.data["contributions"]
    if not groups:
        return []
    place = story_outcome(source.data)
    points = [group["points"][place]["points"] for group in groups]
    outcome = source.quote(f"/prediction/outcomes/{place}/outcome", outcome_words)

    def told(at: int, one: str) -> list[Part]:
        verb = one if groups[at]["group"] in MANY else f"{one}s"
        return [*_group(source, at), f" {verb} "]

    def much(at: int) -> list[Part]:
        pointer = f"/contributions/{at}/points/{place}/points"
        return [" (", source.quote(pointer, signed_points), " points)"]

    up, down = points.index(max(points)), points.index(min(points))
    rises, falls = points[up] >= FELT, points[down] <= -FELT
    if not rises and not falls:
        return [sentence(["Nothing known about this ball moves ", outcome, " by much."])]
    if rises and (not falls or sum(points) >= 0):
        parts = [*told(up, "lift"), outcome, " most", *much(up)]
        if falls:
            parts += ["; ", *told(down, "pull"), "the other way", *much(down)]
        return [sentence([*parts, "."])]
    parts = [*told(down, "hold"), outcome, " down most", *much(down)]
    if rises:
        parts += ["; ", *told(up, "pull"), "the other way", *much(up)]
    return [sentence([*parts, "."])]


UNKNOWN: Final[Mapping[str, tuple[str, str | None, str]]] = {
    "venue and teams": ("Knowing nothing of the ground and the teams", None, ""),
    "striker's record": ("Knowing nothing of ", "/ball/batter", "'s record"),
    "bowler's record": ("Knowing nothing of ", "/ball/bowler", "'s record"),
    "the scoreboard": ("Hiding the scoreboard", None, ""),
    "the chase": ("Hiding the chase", None, ""),
}
"""What it means to take away what was known: the words, the player, the words after."""


def what_would_change(source: Source, told: Sequence[int]) -> list[Sentence]:
    """The largest change of the outcome among everything that was taken away.

    Args:
        told: claims that have their sentences.
    """
    data = source.data
    place = story_outcome(data)
    found: list[tuple[float, str]] = [
        (claim["changes"][place]["points"], f"/evidence/{at}")
        for at, claim in enumerate(data["evidence"])
        if claim["removed_from"] == "model"
    ]
    found += [
        (ball["changes"][place]["points"], f"/history/{at}")
        for at, ball in enumerate(data["history"])
        if ball["changes"]
    ]
    if not found:
        return []
    points, pointer = max(found, key=lambda change: abs(change[0]))
    outcome = source.quote(f"/prediction/outcomes/{place}/outcome", outcome_words)
    if abs(points) < FELT:
        start = "Nothing that was taken away would change the chance of "
        return [sentence([start, outcome, " by much."])]
    entry = resolve(data, pointer)
    change = entry.get("top_change")
    same = (
        change is not None and change["outcome"] == data["prediction"]["outcomes"][place]["outcome"]
    )
    tested = [data["evidence"][at] for at in told if data["evidence"][at]["verdict"] is not None]
    if same and any(_hides(one) == _hides(entry) for one in tested):
        return [sentence(["Nothing else would change the chance of ", outcome, " as much."])]
    parts = [*_taken_away(source, pointer), " would change the chance of ", outcome, " most"]
    if same:
        before, after = source.change(f"{pointer}/top_change/before", f"{pointer}/top_change/after")
        parts += [", taking it from ", before, " to ", after]
    else:
        way = "up" if points > 0 else "down"
        amount = source.quote(f"{pointer}/changes/{place}/points", bare_points)
        parts += [f", taking it {way} by ", amount, " points"]
    return [sentence([*parts, *_how_sure(source, pointer), "."])]


def _hides(claim: Mapping[str, Any]) -> tuple[str, frozenset[int]]:
    return claim["removed_from"], frozenset(claim["removed"])


def _taken_away(source: Source, pointer: str) -> list[Part]:
    entry = resolve(source.data, pointer)
    if "kind" not in entry:
        return ["Hiding ball ", source.quote(f"{pointer}/label"), " alone"]
    if entry["kind"] in UNKNOWN:
        words, player, end = UNKNOWN[entry["kind"]]
        return [words] if player is None else [words, source.quote(player), end]
    return ["Hiding ", *balls_of(source, int(pointer.rsplit("/", 1)[1]))]


def _how_sure(source: Source, pointer: str) -> list[Part]:
    entry = resolve(source.data, pointer)
    if entry.get("verdict") is None:
        return [", though there was nothing to test that against"]
    return [" (", source.quote(f"{pointer}/verdict"), ")"]

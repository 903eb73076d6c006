"""An explanation in a few sentences, each number and name tied to its place in the data.

A sentence never says more than the evidence: what the model looked at is told
with the verdict of the test that hid it, and what was not tested is told as a
picture. How a sentence is worded follows from what it tells, never from chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.explanation.facts import (
    FLAG_WORDS,
    FORMATS,
    OUTCOME_WORDS,
    Fact,
    Part,
    Sentence,
    Source,
    bare_outcome,
    bare_points,
    counted,
    fine_percent,
    finest_percent,
    flag_words,
    outcome_words,
    percent,
    resolve,
    sentence,
    signed_points,
    significant,
    tenths,
    thousands,
)
from attnlens.explanation.narrative_claims import (
    RELATION_WORDS,
    balls_of,
    claim_sentence,
    picture,
    speaks_for,
    told_claims,
)

__all__ = [
    "FELT",
    "FORMATS",
    "OUTCOME_WORDS",
    "RELATION_WORDS",
    "UNNAMED",
    "fine_percent",
    "finest_percent",
    "narrate",
    "outcome_words",
    "percent",
    "resolve",
    "significant",
]

UNNAMED = "learned"
"""The pattern of a head that started without one."""

FELT = 0.05
"""Points below which a contribution prints as 0.0 and is not worth a sentence."""

FEWEST, MOST = 4, 7
"""Sentences."""

CAUTIONS: Final = 3
"""So many flags are told; more are counted."""

STANDS_OUT: Final = 1.0
"""Points between an outcome and its baseline from which it is worth remarking on."""

FIRM, LOOSE = 0.5, 0.36
"""Chances of the likeliest outcome from which, and below which, it is told as such."""

NEAR: Final = 0.03
"""A call further than this from others' mean is not such a call, only the nearest."""

SURPRISES: Final = ((1.5, "no surprise"), (3.0, "a mild surprise"), (5.0, "a surprise"))
"""What to call a surprise below so many bits; above, it is a great one."""

SAID_ELSEWHERE: Final = frozenset({"no_history", "evidence_skipped"})
"""Flags that another sentence tells."""


def narrate(data: Mapping[str, Any]) -> list[Sentence]:
    """Four to seven sentences about an explanation (its own ``narrative`` is not read).

    What is expected, and how often such calls came true; what the model looked at and whether
    it mattered; what lifts the outcome and what pulls the other way; what would change it; what
    happened; what to keep in mind.

    Returns:
        ``[{"text": sentence, "facts": [{"text": "35%", "pointer": "/..."}]}]``;
        every number and name in a sentence is a fact, in the order of reading.
    """
    source = Source(data)
    focus = _focus(source)
    told = [
        [_expectation(source)],
        _calibration(source),
        focus[:1],
        _contributions(source),
        _what_would_change(source, told_claims(data)[:1]),
        _after(source),
        _cautions(source),
    ]
    if sum(map(len, told)) < MOST:
        told.insert(3, focus[1:])
    sentences = [one for part in told for one in part]
    for more in (_fusion, _next_likeliest):
        if len(sentences) < FEWEST:
            sentences.insert(2, more(source))
    return sentences


def _moved(data: Mapping[str, Any]) -> int:
    """The outcome that is explained, else the one that is furthest from its baseline."""
    if data["prediction"]["explained"] is not None:
        return _place(data, data["prediction"]["explained"])
    entries = data["prediction"]["outcomes"]
    moves = [abs(entry["probability"] - entry["baseline"]) for entry in entries]
    return moves.index(max(moves))


def _place(data: Mapping[str, Any], outcome: str) -> int:
    entries = data["prediction"]["outcomes"]
    return next(at for at, entry in enumerate(entries) if entry["outcome"] == outcome)


def _difference(data: Mapping[str, Any], place: int) -> float:
    """Points by which an outcome is above its baseline."""
    entry = data["prediction"]["outcomes"][place]
    return float(100 * (entry["probability"] - entry["baseline"]))


def _situation(source: Source) -> list[Part]:
    """Who bowls to whom, and at what moment."""
    ball = source.data["ball"]
    who: list[Part] = [source.quote("/ball/bowler"), " to ", source.quote("/ball/batter")]
    if ball["super_over"]:
        who = [*who, " in a super over"]
    score: list[Part] = [source.quote("/ball/score"), "/", source.quote("/ball/wickets")]
    if ball["runs_required"] and ball["balls_left"]:
        runs = " run" if ball["runs_required"] == 1 else " runs"
        left = " ball" if ball["balls_left"] == 1 else " balls"
        return [
            *who,
            ", with ",
            source.quote("/ball/runs_required"),
            f"{runs} needed from ",
            source.quote("/ball/balls_left"),
            left,
        ]
    if not source.data["history"]:
        return [*who, ", to open the innings"]
    return [*who, " at ", *score]


def _expectation(source: Source) -> Sentence:
    data = source.data
    place = _moved(data)
    likeliest = _place(data, data["prediction"]["top"])
    top, moved = (f"/prediction/outcomes/{at}" for at in (likeliest, place))
    now, base = source.change(f"{moved}/probability", f"{moved}/baseline")
    difference = _difference(data, place)
    favourite = source.quote(f"{top}/outcome", outcome_words)
    chance = data["prediction"]["outcomes"][likeliest]["probability"]
    start: list[Part] = [*_situation(source), ": the model ", *_backed(favourite, chance)]
    against: list[Part] = [now, ", against ", base, " for a ball of which it knows nothing."]
    if top == moved:
        return sentence([*start, ", at ", *against])
    start += [" (", source.quote(f"{top}/probability", percent), ")"]
    outcome = source.quote(f"{moved}/outcome", outcome_words)
    if data["prediction"]["explained"] is not None:
        return sentence([*start, "; asked about is ", outcome, ": ", *against])
    if abs(difference) < STANDS_OUT:
        return sentence([*start, " and nothing stands out: ", outcome, " is at ", *against])
    how = "high" if difference > 0 else "low"
    return sentence(
        [*start, f", but what stands out is a {how} chance of ", outcome, ": ", *against]
    )


def _backed(favourite: Fact, chance: float) -> list[Part]:
    """How firmly it holds to the likeliest outcome."""
    if chance >= FIRM:
        return ["backs ", favourite]
    return ["leans to ", favourite] if chance < LOOSE else ["makes ", favourite, " likeliest"]


def _calibration(source: Source) -> list[Sentence]:
    """How often such calls came true, for the outcome that the story is about."""
    table = source.data["prediction"]["calibration"]
    if table is None:
        return []
    place = _moved(source.data)
    entry = table["outcomes"][place]
    pointer = f"/prediction/calibration/outcomes/{place}"
    chance = source.data["prediction"]["outcomes"][place]["probability"]
    near = abs(entry["predicted"] - chance) <= NEAR
    subject: list[Part] = ["Such calls" if near else "The nearest calls on record"]
    if table["checkpoint"] != source.data["model"]["name"]:
        twin = source.quote("/prediction/calibration/checkpoint")
        subject += [" by the checkpoint ", twin, ", on matches it had not seen,"]
    said: list[Part] = [
        "where it said about ",
        source.visible(f"{pointer}/predicted"),
        ", ",
        source.quote(f"{pointer}/outcome", outcome_words),
    ]
    balls = source.quote(f"{pointer}/balls", thousands)
    if not entry["happened"]:
        return [sentence([*subject, " are rare: ", *said, " never came (", balls, " balls)."])]
    came: list[Part] = [" came ", source.quote(f"{pointer}/happened", fine_percent)]
    count: list[Part] = [" of the time (", balls, " balls)."]
    return [sentence([*subject, f" {_held(entry)}: ", *said, *came, *count])]


def _held(entry: Mapping[str, Any]) -> str:
    """Whether what was said lies within what came, by its interval."""
    if entry["happened_ci"] is None:
        return "can be counted"
    low, high = entry["happened_ci"]
    if entry["predicted"] > high:
        return "run a little high"
    return "run a little low" if entry["predicted"] < low else "hold up"


def _focus(source: Source) -> list[Sentence]:
    """What was looked at, with verdicts: the leading claim and one that fared differently."""
    data = source.data
    if not data["across_balls"]["medium"]["balls"] and not data["history"]:
        return [
            sentence(
                [
                    "There is no earlier ball of this innings to look at: the prediction rests on "
                    "what was known before it."
                ]
            )
        ]
    chosen = told_claims(data)
    if not chosen:
        return [picture(source)]
    return [claim_sentence(source, at, leading=at == chosen[0]) for at in chosen]


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


def _contributions(source: Source) -> list[Sentence]:
    """What does most to the outcome, and what pulls the other way."""
    groups = source.data["contributions"]
    if not groups:
        return []
    place = _moved(source.data)
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


def _what_would_change(source: Source, told: Sequence[int]) -> list[Sentence]:
    """The largest change of the outcome among everything that was taken away.

    Args:
        told: claims that have their sentences.
    """
    data = source.data
    place = _moved(data)
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


def surprise_word(bits: float) -> str:
    """What to call a surprise of so many bits, as they are shown."""
    shown = round(bits, 1)
    return next((word for most, word in SURPRISES if shown < most), "a great surprise")


def _after(source: Source) -> list[Sentence]:
    """What happened, how surprising it was, and whether what the story pointed at came."""
    data = source.data
    actual = data["prediction"]["actual"]
    if actual is None:
        return []
    parts: list[Part] = [
        "The ball brought ",
        source.quote("/prediction/actual", outcome_words),
        ", which the model had at ",
        source.visible(f"/prediction/outcomes/{_place(data, actual)}/probability"),
    ]
    surprise = data["prediction"]["surprise_bits"]
    if surprise is not None:
        bits = source.quote("/prediction/surprise_bits", tenths)
        word = surprise_word(surprise)
        unit = " bit)" if bits.text == "1.0" else " bits)"
        parts += [f": {word} (", bits, unit]
    chosen = told_claims(data)
    if chosen and data["evidence"][chosen[0]]["verdict"] == "supported":
        parts += _held_story(source, chosen[0])
    return [sentence([*parts, "."])]


def _held_story(source: Source, at: int) -> list[Part]:
    """Whether the outcome that the supported claim speaks for, or against, is what came."""
    claim = source.data["evidence"][at]
    came = claim["top_change"]["outcome"] == source.data["prediction"]["actual"]
    those = "that ball" if len(claim["removed"]) == 1 else "those balls"
    if came:
        return [
            f", just what {those} spoke for"
            if speaks_for(claim)
            else f", though {those} spoke against it"
        ]
    outcome = source.quote(f"/evidence/{at}/top_change/outcome", bare_outcome)
    if speaks_for(claim):
        return [", and not the ", outcome, f" that {those} spoke for"]
    return ["; the ", outcome, f" that {those} spoke against did not come"]


def _cautions(source: Source) -> list[Sentence]:
    flags = {entry["flag"]: at for at, entry in enumerate(source.data["flags"])}
    told = [flag for flag in FLAG_WORDS if flag in flags and flag not in SAID_ELSEWHERE]
    if not told:
        return []
    start: list[Part] = ["Keep in mind: "]
    parts: list[Part] = []
    if len(told) > CAUTIONS:
        told = told[:CAUTIONS]
        start = ["Keep in mind, of ", source.quote("/flags", counted), " cautions: "]
    for rank, flag in enumerate(told):
        if rank:
            parts.append(", and " if rank == len(told) - 1 else ", ")
        parts.append(source.quote(f"/flags/{flags[flag]}/flag", flag_words))
    return [sentence([*start, *parts, "."])]


def _fusion(source: Source) -> Sentence:
    return sentence(
        [
            "What is known of the ball itself carries ",
            source.quote("/fusion_weights/within_ball", percent),
            " of the weight in the prediction, earlier balls the rest.",
        ]
    )


def _next_likeliest(source: Source) -> Sentence:
    entries = source.data["prediction"]["outcomes"]
    order = sorted(range(len(entries)), key=lambda at: -entries[at]["probability"])
    parts: list[Part] = ["After that come "]
    for rank, at in enumerate(order[1:3]):
        pointer = f"/prediction/outcomes/{at}"
        parts += [" and " if rank else "", source.quote(f"{pointer}/outcome", outcome_words)]
        parts += [" at ", source.visible(f"{pointer}/probability")]
    return sentence([*parts, "."])

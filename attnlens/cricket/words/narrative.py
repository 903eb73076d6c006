"""An explanation in a few sentences, each number and name tied to its place in the data.

A sentence never says more than the evidence: what the model looked at is told with the verdict
of the test that hid it, and balls are said to inform an outcome only where the claim is supported.
A head is named only where hiding its balls from that head alone is supported, with its share of
what hiding them from the whole model does. How a sentence is worded follows from what it tells,
never from chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.claims.verdict import CHANCE
from attnlens.cricket.explain.types import Evidence, Explanation, Prediction, Sentence
from attnlens.cricket.words.facts import (
    Part,
    Source,
    counted,
    head_number,
    outcome_words,
    resolve,
    sentence,
    spaced,
    tenths,
)
from attnlens.cricket.words.summary import summarize_temporal_attention
from attnlens.show.numbers import percent, signed_points

STANDS_OUT: Final = 1.0
"""Points between an outcome and its baseline from which it is worth remarking on."""

FELT: Final = 0.05
"""Points below which a contribution prints as 0.0 and is not worth a sentence."""

LISTED: Final = 4
"""More balls than this are told by the first and the last, or by their number."""

SURPRISES: Final = ((1.5, "no surprise"), (3.0, "a mild surprise"), (5.0, "a surprise"))
"""What to call a surprise below so many bits; above, it is a great one."""

ORDER: Final = ("supported", "not better than chance", "contradicted", "cannot be told", None)
"""Verdicts, the most telling first."""

LOOKED: Final = ("attended most", "attended", "head")
"""Kinds of claims about what was looked at; the others are of balls that it might have used."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "venue and teams": ("the ground and the teams",),
    "striker's record": ("/ball/batter", "'s record"),
    "bowler's record": ("/ball/bowler", "'s record"),
    "scoreboard": ("the scoreboard",),
    "this over": ("this over so far",),
    "this bowler to this batter": ("/ball/bowler", "'s earlier balls to ", "/ball/batter"),
    "this bowler's earlier balls": ("/ball/bowler", "'s earlier balls to other batters"),
    "this batter's earlier balls": ("/ball/batter", "'s earlier balls from other bowlers"),
    "other recent balls": ("the other recent balls",),
    "earlier balls": ("the balls long past",),
}
"""What to call the groups of contributions: words, and pointers to names."""

SINGULAR: Final = frozenset({"striker's record", "bowler's record", "scoreboard", "this over"})
"""Groups whose words are singular."""


def in_words(explanation: Explanation) -> Explanation:
    """The explanation with its summary and its narrative."""
    history = {row.index: row.model_dump() for row in explanation.history}
    medium = explanation.across_balls.medium
    held = {
        claim.head
        for claim in explanation.evidence
        if claim.scale == "medium" and claim.verdict == "supported"
    }
    # A part of the summary speaks of what a head started as: it must have earned that name.
    heads = {
        key: head
        for key, head in medium.attention_by_head.items()
        if key in held and head.earned == head.started_as
    }
    told = medium.model_copy(update={"attention_by_head": heads})
    summary = summarize_temporal_attention(told, history)
    return with_narrative(explanation.model_copy(update={"summary": summary}))


def with_narrative(explanation: Explanation) -> Explanation:
    """The explanation with its narrative."""
    return explanation.model_copy(update={"narrative": narrate(explanation)})


def narrate(explanation: Explanation) -> tuple[Sentence, ...]:
    """Two to five sentences about an explanation (its own ``narrative`` is not read).

    What is expected; what the model looked at and whether it mattered; what lifts the outcome and
    what pulls the other way; what happened.

    Returns:
        Every number and name in a sentence is one of its facts, in the order of reading.
    """
    source = Source(explanation)
    return (
        _expectation(source),
        *_focus(source),
        *_contributions(source),
        *_after(source),
    )


def place_of(prediction: Prediction, outcome: str) -> int:
    """An outcome's place among those of the prediction."""
    return next(at for at, entry in enumerate(prediction.outcomes) if entry.outcome == outcome)


def story_outcome(prediction: Prediction) -> int:
    """The place of the outcome that is explained, else of the one furthest from its baseline."""
    if prediction.explained is not None:
        return place_of(prediction, prediction.explained)
    moves = [abs(entry.probability - entry.baseline) for entry in prediction.outcomes]
    return moves.index(max(moves))


def _situation(source: Source[Explanation]) -> list[Part]:
    """Who bowls to whom, and at what moment."""
    ball = source.document.ball
    who: list[Part] = [source.quote("/ball/bowler"), " to ", source.quote("/ball/batter")]
    if ball.super_over:
        who = [*who, " in a super over"]
    if ball.runs_required and ball.balls_left:
        runs = " run" if ball.runs_required == 1 else " runs"
        left = " ball" if ball.balls_left == 1 else " balls"
        return [
            *who,
            ", with ",
            source.quote("/ball/runs_required"),
            f"{runs} needed from ",
            source.quote("/ball/balls_left"),
            left,
        ]
    if not source.document.history:
        return [*who, ", to open the innings"]
    return [*who, " at ", source.quote("/ball/score"), "/", source.quote("/ball/wickets")]


def _expectation(source: Source[Explanation]) -> Sentence:
    prediction = source.document.prediction
    place = story_outcome(prediction)
    likeliest = place_of(prediction, prediction.top)
    top, moved = (f"/prediction/outcomes/{at}" for at in (likeliest, place))
    now, base = source.change(f"{moved}/probability", f"{moved}/baseline")
    entry = prediction.outcomes[place]
    difference = 100 * (entry.probability - entry.baseline)
    favourite = source.quote(f"{top}/outcome", outcome_words)
    start: list[Part] = [*_situation(source), ": the model makes ", favourite, " likeliest"]
    against: list[Part] = [now, ", against ", base, " for a ball of which it knows nothing."]
    if top == moved:
        return sentence([*start, ", at ", *against])
    start += [" (", source.quote(f"{top}/probability", percent), ")"]
    outcome = source.quote(f"{moved}/outcome", outcome_words)
    if prediction.explained is not None:
        return sentence([*start, "; asked about is ", outcome, ": ", *against])
    if abs(difference) < STANDS_OUT:
        return sentence([*start, " and nothing stands out: ", outcome, " is at ", *against])
    how = "high" if difference > 0 else "low"
    return sentence(
        [*start, f", but what stands out is a {how} chance of ", outcome, ": ", *against]
    )


def _focus(source: Source[Explanation]) -> list[Sentence]:
    """What was looked at, with verdicts: the leading claim and one that fared differently."""
    explanation = source.document
    if not explanation.across_balls.medium.balls and not explanation.history:
        nothing = "There is no earlier ball of this innings to look at: the prediction rests on "
        return [sentence([f"{nothing}what was known before it."])]
    chosen = chosen_claims(explanation)
    if not chosen:
        return [sentence(["Nothing it looked at was tested: the heat maps are a picture only."])]
    return [claim_sentence(source, at, leading=at == chosen[0]) for at in chosen]


def chosen_claims(explanation: Explanation) -> list[int]:
    """The claims about past balls worth a sentence: the leading one, and one that fared otherwise.

    What was hidden from the whole model comes before what one head alone lost; then by verdict,
    supported first; then by effect. The second is about other balls and has another verdict. The
    last balls, which anybody would guess, are for comparison and not told; of heads only supported
    claims are.
    """
    claims = explanation.evidence
    told = (
        at
        for at, claim in enumerate(claims)
        if claim.removed
        and not claim.reference
        and (claim.removed_from == "model" or claim.verdict == "supported")
    )
    order = sorted(told, key=lambda at: _rank(claims[at]))
    if not order:
        return []
    first = claims[order[0]]
    for at in order:
        claim = claims[at]
        balls = set(claim.removed)
        nested = balls >= set(first.removed) or balls <= set(first.removed)
        new = claim.removed_from == "head" or not nested
        if claim.verdict not in (first.verdict, "cannot be told") and new:
            return [order[0], at]
    return order[:1]


def _rank(claim: Evidence) -> tuple[bool, int, bool, float]:
    one_head = claim.removed_from == "head"
    # What is not supported is told of what the model looked at, not of what it might have.
    looked = claim.kind in LOOKED or claim.verdict == "supported"
    return one_head, ORDER.index(claim.verdict), not looked, -abs(claim.effect_nats)


def claim_sentence(source: Source[Explanation], at: int, *, leading: bool = True) -> Sentence:
    """A claim about past balls: where the model looked, and what hiding that does.

    Args:
        leading: whether it is the first that is told.
    """
    claim = source.document.evidence[at]
    pointer = f"/evidence/{at}"
    looked = _looked(source, at, leading)
    if claim.verdict is None:
        return sentence([*looked, "; this is a picture and not a claim."])
    usual = claim.reason in (None, CHANCE)
    why: list[Part] = [] if usual else [" (", source.quote(f"{pointer}/reason"), ")"]
    if claim.verdict == "cannot be told":
        mattered = f"; whether {'it' if len(claim.removed) == 1 else 'they'} mattered "
        return sentence([*looked, mattered, source.quote(f"{pointer}/verdict"), *why, "."])
    outcome = source.quote(f"{pointer}/top_change/outcome", outcome_words)
    before, after = source.change(f"{pointer}/top_change/before", f"{pointer}/top_change/after")
    verdict = source.quote(f"{pointer}/verdict")
    where = " from that head alone" if claim.removed_from == "head" else ""
    hidden = f"; hide {_them(claim)}{where} and "
    end: list[Part]
    if claim.verdict == "supported":
        looked += [", informing the chance of ", outcome, hidden]
        looked += ["that chance" if _them(claim) == "it" else "it"]
        end = [", which is ", verdict, *_share(source, at), "."]
    else:
        looked += [hidden, "the chance of ", outcome]
        end = [", which is ", verdict, *why, "."]
    if before.text == after.text:
        return sentence([*looked, " stays at ", before, *end])
    verb = "falls" if claim.top_change.points < 0 else "rises"
    return sentence([*looked, f" {verb} from ", before, " to ", after, *end])


def _them(claim: Evidence) -> str:
    return "it" if len(claim.removed) == 1 else "them"


def _share(source: Source[Explanation], at: int) -> list[Part]:
    """What part of hiding a head's balls from the whole model its own look is, cut at all of it."""
    claim = source.document.evidence[at]
    if claim.share is None:
        return []
    does = f" of what hiding {_them(claim)} from the whole model does"
    least = "at least " if claim.share == 1 else ""
    return [f": {least}", source.quote(f"/evidence/{at}/share", percent), does]


def _looked(source: Source[Explanation], at: int, leading: bool) -> list[Part]:
    claim = source.document.evidence[at]
    balls = _balls_of(source, at)
    if claim.kind == "head":
        return [*_head_of(source, at), " looked most at ", *balls]
    if claim.kind in LOOKED:
        return ["The model looked most at ", *balls]
    which = "boundary" if len(claim.removed) == 1 else "boundaries"
    whose: Mapping[str, list[Part]] = {
        "this over": ["this over so far"],
        "this bowler": [source.quote("/ball/bowler"), "'s earlier balls"],
        "this batter": [source.quote("/ball/batter"), "'s earlier balls"],
        "boundaries": [f"the last {which}"],
    }
    return [f"One test was {'' if leading else 'also '}of ", *whose[claim.kind], ", ", *balls]


def _head_of(source: Source[Explanation], at: int) -> list[Part]:
    """A head by its number and the name it has earned, if it has."""
    claim = source.document.evidence[at]
    pointer = f"/across_balls/{claim.scale}/attention_by_head/{claim.head}/earned"
    earned = resolve(source.document, pointer) is not None
    name: list[Part] = [" (", source.quote(pointer, spaced), ")"] if earned else []
    number = source.quote(f"/evidence/{at}/head", head_number)
    return ["Head ", number, *name, f" of the {claim.scale} scale"]


def _balls_of(source: Source[Explanation], at: int) -> list[Part]:
    """The labels of a claim's balls, latest first; of many the first and the last, or how many."""
    removed = source.document.evidence[at].removed
    where = {entry.index: place for place, entry in enumerate(source.document.history)}

    def label(ball: int) -> Part:
        if ball in where:
            return source.quote(f"/history/{where[ball]}/label")
        return source.quote(f"/evidence/{at}/removed/{removed.index(ball)}")

    known = all(ball in where for ball in removed)
    if len(removed) == 1:
        return ["ball " if known else "delivery ", label(removed[0])]
    noun = "balls " if known else "deliveries "
    if len(removed) > LISTED:
        ordered = sorted(removed)
        if ordered[-1] - ordered[0] == len(ordered) - 1:
            return [noun, label(ordered[0]), " to ", label(ordered[-1])]
        return [source.quote(f"/evidence/{at}/removed", counted), " balls"]
    *others, last = [label(ball) for ball in sorted(removed, reverse=True)]
    parts: list[Part] = [noun, others[0]]
    for other in others[1:]:
        parts += [", ", other]
    return [*parts, " and ", last]


def _contributions(source: Source[Explanation]) -> list[Sentence]:
    """What does most to the outcome, and what pulls the other way."""
    groups = source.document.contributions
    if not groups:
        return []
    place = story_outcome(source.document.prediction)
    points = [group.points[place].points for group in groups]
    outcome = source.quote(f"/prediction/outcomes/{place}/outcome", outcome_words)

    def does(at: int, verb: str) -> list[Part]:
        group = groups[at].group
        words = [source.quote(one) if one.startswith("/") else one for one in GROUPS[group]]
        return [*words, f" {verb}{'s' * (group in SINGULAR)} "]

    def much(at: int) -> list[Part]:
        pointer = f"/contributions/{at}/points/{place}/points"
        return [" (", source.quote(pointer, signed_points), " points)"]

    up, down = points.index(max(points)), points.index(min(points))
    rises, falls = points[up] >= FELT, points[down] <= -FELT
    if not rises and not falls:
        return [sentence(["Nothing known about this ball moves ", outcome, " by much."])]
    upwards = rises and (not falls or sum(points) >= 0)
    most, least = (up, down) if upwards else (down, up)
    verb, how = ("lift", " most") if upwards else ("hold", " down most")
    parts = [*does(most, verb), outcome, how, *much(most)]
    if rises and falls:
        parts += ["; ", *does(least, "pull"), "the other way", *much(least)]
    return [sentence([*parts, "."])]


def surprise_word(bits: float) -> str:
    """What to call a surprise of so many bits, as they are shown."""
    shown = round(bits, 1)
    return next((word for most, word in SURPRISES if shown < most), "a great surprise")


def _after(source: Source[Explanation]) -> list[Sentence]:
    """What happened, and how surprising it was."""
    prediction = source.document.prediction
    if prediction.actual is None or prediction.surprise_bits is None:
        return []
    pointer = f"/prediction/outcomes/{place_of(prediction, prediction.actual)}/probability"
    bits = source.quote("/prediction/surprise_bits", tenths)
    return [
        sentence(
            [
                "The ball brought ",
                source.quote("/prediction/actual", outcome_words),
                ", which the model had at ",
                source.visible(pointer),
                f": {surprise_word(prediction.surprise_bits)} (",
                bits,
                f" bit{'s' * (bits.text != '1.0')}).",
            ]
        )
    ]

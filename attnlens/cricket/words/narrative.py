"""An explanation in a few sentences, each number and name tied to its place in the data.

A sentence never says more than the evidence: what the model looked at is told with the verdict
of the test that hid it, and balls are said to inform an outcome only where the claim is supported.
What was not tested is told as a picture. How a sentence is worded follows from what it tells,
never from chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Evidence, Explanation, Prediction, Sentence
from attnlens.cricket.words.facts import (
    Part,
    Source,
    counted,
    outcome_words,
    sentence,
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

ORDER: Final = ("supported", "not better than chance", "contradicted", None)

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
    summary = summarize_temporal_attention(explanation.across_balls.medium, history)
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

    By verdict, supported first; what was hidden from the whole model before what one head alone
    lost; then by effect. The second is about other balls and has another verdict.
    """
    claims = explanation.evidence
    about_balls = (at for at, claim in enumerate(claims) if claim.removed)
    order = sorted(about_balls, key=lambda at: _rank(claims[at]))
    if not order:
        return []
    first = claims[order[0]]
    for at in order:
        claim = claims[at]
        if (
            claim.verdict not in (first.verdict, None)
            and set(claim.removed) != set(first.removed)
            and claim.removed_from == "model"
        ):
            return [order[0], at]
    return order[:1]


def _rank(claim: Evidence) -> tuple[int, bool, bool, float]:
    one_head = claim.removed_from == "head"
    # What is not supported is told of what the model looked at, not of what it might have.
    looked = claim.kind == "head" or claim.verdict == "supported"
    return ORDER.index(claim.verdict), one_head, not looked, -abs(claim.effect_nats)


def claim_sentence(source: Source[Explanation], at: int, *, leading: bool = True) -> Sentence:
    """A claim about past balls: where the model looked, and what hiding that does.

    Args:
        leading: whether it is the first that is told.
    """
    claim = source.document.evidence[at]
    looked = _looked(source, at, leading)
    if claim.verdict is None:
        few = (claim.reason or "").startswith("too few")
        why: list[Part] = ["with too few other balls to test that against, "] if few else []
        return sentence([*looked, "; ", *why, "this is a picture and not a claim."])
    pointer = f"/evidence/{at}"
    outcome = source.quote(f"{pointer}/top_change/outcome", outcome_words)
    before, after = source.change(f"{pointer}/top_change/before", f"{pointer}/top_change/after")
    verdict = source.quote(f"{pointer}/verdict")
    them = "it" if len(claim.removed) == 1 else "them"
    where = " from that head alone" if claim.removed_from == "head" else ""
    hidden = f"; hide {them}{where} and "
    end: list[Part]
    if claim.verdict == "supported":
        looked += [", informing the chance of ", outcome, hidden]
        looked += ["that chance" if them == "it" else "it"]
        end = [", which is ", verdict, "."]
    else:
        looked += [hidden, "the chance of ", outcome]
        reason: list[Part] = [source.quote(f"{pointer}/reason"), ": "] if claim.reason else []
        end = [", ", *reason, verdict, "."]
    if before.text == after.text:
        return sentence([*looked, " stays at ", before, *end])
    verb = "falls" if claim.top_change.points < 0 else "rises"
    return sentence([*looked, f" {verb} from ", before, " to ", after, *end])


def _looked(source: Source[Explanation], at: int, leading: bool) -> list[Part]:
    claim = source.document.evidence[at]
    also = "" if leading else "also "
    balls = _balls_of(source, at)
    if claim.kind == "this over":
        return [f"One test was {also}of this over so far, ", *balls]
    if claim.kind == "boundaries":
        which = "boundary" if len(claim.removed) == 1 else "boundaries"
        return [f"One test was {also}of the last {which}, ", *balls]
    if claim.removed_from == "head":
        return [f"One head of the model {also}focused on ", *balls]
    verb = "looked back at" if claim.scale == "long" else "focused on"
    return [f"{'The model' if leading else 'It also'} {verb} ", *balls]


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

"""An explanation in a few sentences, each number and name tied to its place in the data.

A sentence never says more than the evidence: what the model looked at is told
with the verdict of the test that hid it, and what was not tested is told as a
picture. How a sentence is worded follows from what it tells, never from chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attnlens.cricket.explain.types import CallsLikeThis, Explanation, Fact, Sentence
from attnlens.cricket.words.facts import (
    FLAG_WORDS,
    Part,
    Source,
    bare_outcome,
    counted,
    fine_percent,
    flag_words,
    outcome_words,
    sentence,
    tenths,
    thousands,
)
from attnlens.cricket.words.narrative_changes import (
    contributions,
    place_of,
    story_outcome,
    what_would_change,
)
from attnlens.cricket.words.narrative_claims import (
    chosen_claims,
    claim_sentence,
    picture,
    speaks_for,
)
from attnlens.cricket.words.summary import summarize_temporal_attention
from attnlens.show.numbers import percent

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


def in_words(explanation: Explanation) -> Explanation:
    """The explanation with its summary and its narrative."""
    history = {row.index: row.model_dump() for row in explanation.history}
    summary = summarize_temporal_attention(explanation.across_balls.medium, history)
    return with_narrative(explanation.model_copy(update={"summary": summary}))


def with_narrative(explanation: Explanation) -> Explanation:
    """The explanation with its narrative."""
    return explanation.model_copy(update={"narrative": narrate(explanation)})


def narrate(explanation: Explanation) -> tuple[Sentence, ...]:
    """Four to seven sentences about an explanation (its own ``narrative`` is not read).

    What is expected, and how often such calls came true; what the model looked at and whether
    it mattered; what lifts the outcome and what pulls the other way; what would change it; what
    happened; what to keep in mind.

    Returns:
        Every number and name in a sentence is one of its facts, in the order of reading.
    """
    source = Source(explanation)
    chosen = chosen_claims(explanation)
    focus = _focus(source, chosen)
    parts = [
        [_expectation(source)],
        _calibration(source),
        focus[:1],
        contributions(source),
        what_would_change(source, chosen[:1]),
        _after(source, chosen[:1]),
        _cautions(source),
    ]
    if sum(map(len, parts)) < MOST:
        parts.insert(3, focus[1:])
    sentences = [entry for part in parts for entry in part]
    for more in (_fusion, _next_likeliest):
        if len(sentences) < FEWEST:
            sentences.insert(2, more(source))
    return tuple(sentences)


def _situation(source: Source[Explanation]) -> list[Part]:
    """Who bowls to whom, and at what moment."""
    ball = source.document.ball
    who: list[Part] = [source.quote("/ball/bowler"), " to ", source.quote("/ball/batter")]
    if ball.super_over:
        who = [*who, " in a super over"]
    score: list[Part] = [source.quote("/ball/score"), "/", source.quote("/ball/wickets")]
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
    return [*who, " at ", *score]


def _expectation(source: Source[Explanation]) -> Sentence:
    prediction = source.document.prediction
    place = story_outcome(prediction)
    likeliest = place_of(prediction, prediction.top)
    top, moved = (f"/prediction/outcomes/{at}" for at in (likeliest, place))
    now, base = source.change(f"{moved}/probability", f"{moved}/baseline")
    entry = prediction.outcomes[place]
    difference = 100 * (entry.probability - entry.baseline)
    favourite = source.quote(f"{top}/outcome", outcome_words)
    chance = prediction.outcomes[likeliest].probability
    start: list[Part] = [*_situation(source), ": the model ", *_backed(favourite, chance)]
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


def _backed(favourite: Fact, chance: float) -> list[Part]:
    """How firmly it holds to the likeliest outcome."""
    if chance >= FIRM:
        return ["backs ", favourite]
    return ["leans to ", favourite] if chance < LOOSE else ["makes ", favourite, " likeliest"]


def _calibration(source: Source[Explanation]) -> list[Sentence]:
    """How often such calls came true, for the outcome that the story is about."""
    prediction = source.document.prediction
    table = prediction.calibration
    if table is None:
        return []
    place = story_outcome(prediction)
    entry = table.outcomes[place]
    pointer = f"/prediction/calibration/outcomes/{place}"
    chance = prediction.outcomes[place].probability
    near = abs(entry.predicted - chance) <= NEAR
    subject: list[Part] = ["Such calls" if near else "The nearest calls on record"]
    if table.checkpoint != source.document.model.name:
        twin = source.quote("/prediction/calibration/checkpoint")
        subject += [" by the checkpoint ", twin, ", on matches it had not seen,"]
    said: list[Part] = [
        "where it said about ",
        source.visible(f"{pointer}/predicted"),
        ", ",
        source.quote(f"{pointer}/outcome", outcome_words),
    ]
    balls = source.quote(f"{pointer}/balls", thousands)
    if not entry.happened:
        return [sentence([*subject, " are rare: ", *said, " never came (", balls, " balls)."])]
    came: list[Part] = [" came ", source.quote(f"{pointer}/happened", fine_percent)]
    count: list[Part] = [" of the time (", balls, " balls)."]
    return [sentence([*subject, f" {_held(entry)}: ", *said, *came, *count])]


def _held(entry: CallsLikeThis) -> str:
    """Whether what was said lies within what came, by its interval."""
    if entry.happened_ci is None:
        return "can be counted"
    low, high = entry.happened_ci
    if entry.predicted > high:
        return "run a little high"
    return "run a little low" if entry.predicted < low else "hold up"


def _focus(source: Source[Explanation], chosen: Sequence[int]) -> list[Sentence]:
    """What was looked at, with verdicts: the leading claim and one that fared differently."""
    explanation = source.document
    if not explanation.across_balls.medium.balls and not explanation.history:
        return [
            sentence(
                [
                    "There is no earlier ball of this innings to look at: the prediction rests on "
                    "what was known before it."
                ]
            )
        ]
    if not chosen:
        return [picture(source)]
    return [claim_sentence(source, at, leading=at == chosen[0]) for at in chosen]


def surprise_word(bits: float) -> str:
    """What to call a surprise of so many bits, as they are shown."""
    shown = round(bits, 1)
    return next((word for most, word in SURPRISES if shown < most), "a great surprise")


def _after(source: Source[Explanation], leading: Sequence[int]) -> list[Sentence]:
    """What happened, how surprising it was, and whether what the leading claim pointed at came."""
    prediction = source.document.prediction
    actual = prediction.actual
    if actual is None:
        return []
    parts: list[Part] = [
        "The ball brought ",
        source.quote("/prediction/actual", outcome_words),
        ", which the model had at ",
        source.visible(f"/prediction/outcomes/{place_of(prediction, actual)}/probability"),
    ]
    surprise = prediction.surprise_bits
    if surprise is not None:
        bits = source.quote("/prediction/surprise_bits", tenths)
        word = surprise_word(surprise)
        unit = " bit)" if bits.text == "1.0" else " bits)"
        parts += [f": {word} (", bits, unit]
    for at in leading:
        if source.document.evidence[at].verdict == "supported":
            parts += _held_story(source, at)
    return [sentence([*parts, "."])]


def _held_story(source: Source[Explanation], at: int) -> list[Part]:
    """Whether the outcome that the supported claim speaks for, or against, is what came."""
    claim = source.document.evidence[at]
    came = claim.top_change.outcome == source.document.prediction.actual
    those = "that ball" if len(claim.removed) == 1 else "those balls"
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


def _cautions(source: Source[Explanation]) -> list[Sentence]:
    flags = {entry.flag: at for at, entry in enumerate(source.document.flags)}
    said = [flag for flag in FLAG_WORDS if flag in flags and flag not in SAID_ELSEWHERE]
    if not said:
        return []
    start: list[Part] = ["Keep in mind: "]
    parts: list[Part] = []
    if len(said) > CAUTIONS:
        said = said[:CAUTIONS]
        start = ["Keep in mind, of ", source.quote("/flags", counted), " cautions: "]
    for rank, flag in enumerate(said):
        if rank:
            parts.append(", and " if rank == len(said) - 1 else ", ")
        parts.append(source.quote(f"/flags/{flags[flag]}/flag", flag_words))
    return [sentence([*start, *parts, "."])]


def _fusion(source: Source[Explanation]) -> Sentence:
    return sentence(
        [
            "What is known of the ball itself carries ",
            source.quote("/fusion_weights/within_ball", percent),
            " of the weight in the prediction, earlier balls the rest.",
        ]
    )


def _next_likeliest(source: Source[Explanation]) -> Sentence:
    entries = source.document.prediction.outcomes
    order = sorted(range(len(entries)), key=lambda at: -entries[at].probability)
    parts: list[Part] = ["After that come "]
    for rank, at in enumerate(order[1:3]):
        pointer = f"/prediction/outcomes/{at}"
        parts += [" and " if rank else "", source.quote(f"{pointer}/outcome", outcome_words)]
        parts += [" at ", source.visible(f"{pointer}/probability")]
    return sentence([*parts, "."])

"""The story of a ball in three sentences: what stands out, what was tested, what came.

All three are about one outcome (`attnlens.cricket.explain.story`). What is said to have made a
difference is a supported claim; else that nothing did is what is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Explanation, Fact, Prediction, Sentence
from attnlens.cricket.words.facts import (
    Part,
    Source,
    counted,
    outcome_start,
    outcome_words,
    sentence,
    small_q,
)
from attnlens.show.numbers import percent

LISTED: Final = 4
"""More balls than this are told by their number, or by the first and the last."""

PLURAL: Final = frozenset({"2", "3", "5", "bye"})
"""Outcomes whose words are plural."""

NOT_TOLD: Final = ("the scoreboard", "the chase")
"""Kinds of claims that are no findings: what the scoreboard tells is what is usual."""

FAINT: Final = (0.9, 1.12)
"""Between so many times as likely as usual nothing stands out."""

TIMES: Final = (
    (0.17, "a tenth as likely as"),
    (0.22, "a fifth as likely as"),
    (0.29, "a quarter as likely as"),
    (0.42, "a third as likely as"),
    (0.58, "half as likely as"),
    (0.72, "much less likely than"),
    (1.0, "less likely than"),
    (1.4, "likelier than"),
    (1.75, "much likelier than"),
    (2.3, "twice as likely as"),
    (2.75, "two and a half times as likely as"),
    (3.5, "three times as likely as"),
    (4.5, "four times as likely as"),
    (5.5, "five times as likely as"),
    (7.5, "six times as likely as"),
)
"""What to say below so many times as likely as usual; above them all it is many times."""


def place_of(prediction: Prediction, outcome: str) -> int:
    """An outcome's place among those of the prediction."""
    return next(at for at, entry in enumerate(prediction.outcomes) if entry.outcome == outcome)


def story_place(prediction: Prediction) -> int:
    """The place of the outcome that the story is about."""
    return place_of(prediction, prediction.about)


def times_words(times: float) -> str:
    """``twice as likely as``, before "usual"."""
    return next((words for most, words in TIMES if times < most), "many times as likely as")


def headline(source: Source[Explanation]) -> Sentence:
    """How likely the outcome is, beside what is usual at this scoreboard."""
    prediction = source.document.prediction
    place = story_place(prediction)
    pointer = f"/prediction/outcomes/{place}"
    entry = prediction.outcomes[place]
    what = source.quote(f"{pointer}/outcome", outcome_start)
    verb = "are" if entry.outcome in PLURAL else "is"
    if entry.usual is None or prediction.story_times is None:
        return sentence(
            [what, f" {verb} at ", source.quote(f"{pointer}/probability", percent), "."]
        )
    now, usual = source.change(f"{pointer}/probability", f"{pointer}/usual")
    times = prediction.story_times
    if FAINT[0] <= times <= FAINT[1]:
        return sentence(
            [
                what,
                f" {verb} about as likely as usual, ",
                now,
                " where ",
                usual,
                " is usual.",
            ]
        )
    return sentence([what, f" {verb} {times_words(times)} usual here: ", now, ", not ", usual, "."])


def model_claims(explanation: Explanation) -> list[int]:
    """The places of claims about the whole model that are findings, the supported first.

    Of one verdict the largest change first. The last balls, which anybody would guess, are not
    among them, nor what the scoreboard tells: it is what is usual.
    """
    claims = explanation.evidence
    places = [
        at
        for at, claim in enumerate(claims)
        if claim.removed_from == "model"
        and not claim.reference
        and claim.kind not in NOT_TOLD
        and claim.verdict not in (None, "cannot be told")
    ]
    return sorted(
        places,
        key=lambda at: (claims[at].verdict != "supported", -abs(claims[at].top_change.points)),
    )


def supported(explanation: Explanation) -> list[int]:
    """The places of the supported ones."""
    claims = explanation.evidence
    return [at for at in model_claims(explanation) if claims[at].verdict == "supported"]


def tested(source: Source[Explanation]) -> Sentence:
    """What hiding does, from supported claims; else why nothing can be said."""
    explanation = source.document
    if not explanation.evidence:
        return sentence(["Nothing was tested."])
    places = supported(explanation)
    if places:
        return without(source, places[0])
    claims = explanation.evidence
    opposite = [at for at in model_claims(explanation) if claims[at].verdict == "contradicted"]
    if opposite:
        return without(source, opposite[0])
    untold = why_untold(source)
    if untold is not None:
        return sentence(["Tested, and nothing can be told: ", untold, "."])
    looked = "what it looked at" if explanation.history else "what it knew"
    return sentence([f"Tested: {looked} is not shown to matter more than chance would have it."])


def why_untold(source: Source[Explanation]) -> Fact | None:
    """Why no claim about past balls can be told, where none can."""
    claims = source.document.evidence
    places = [at for at, claim in enumerate(claims) if claim.removed_from == "model"]
    places = [at for at in places if claims[at].removed and not claims[at].reference]
    if not places or any(claims[at].verdict != "cannot be told" for at in places):
        return None
    return source.quote(f"/evidence/{places[0]}/reason")


def aim(explanation: Explanation) -> str | None:
    """What claims say that their balls do, such as ``raise``; nothing of a whole distribution."""
    directions = (claim.direction for claim in explanation.evidence)
    return next((direction for direction in directions if direction is not None), None)


def without(source: Source[Explanation], at: int) -> Sentence:
    """What the outcome's chance is without what a claim names, its verdict, and q."""
    claim = source.document.evidence[at]
    end: list[Part] = [" (", source.quote(f"/evidence/{at}/verdict")]
    untold = claim.q is None or claim.verdict == "contradicted"
    q: list[Part] = [] if untold else [", q ", source.quote(f"/evidence/{at}/q", small_q)]
    return sentence(["Tested: ", *changed(source, at), *end, *q, ")."])


def changed(source: Source[Explanation], at: int) -> list[Part]:
    """``without ball 2.6 it would be 9%, not 15%``: what hiding does that a claim names."""
    top = source.document.evidence[at].top_change
    change = f"/evidence/{at}/top_change"
    before, after = source.change(f"{change}/before", f"{change}/after")
    same = top.outcome == source.document.prediction.about
    of = ["it"] if same else [source.quote(f"{change}/outcome", outcome_words)]
    return ["without ", *named(source, at), " ", *of, " would be ", after, ", not ", before]


def named(source: Source[Explanation], at: int) -> list[Part]:
    """What a claim about the whole model names."""
    claim = source.document.evidence[at]
    kinds: Mapping[str, list[Part]] = {
        "striker's record": [source.quote("/ball/batter"), "'s record"],
        "bowler's record": [source.quote("/ball/bowler"), "'s record"],
        "venue and teams": ["what is known of the ground and the teams"],
        "boundaries": [f"the {'boundary' if len(claim.removed) == 1 else 'last boundaries,'} of "],
    }
    if not claim.removed:
        return kinds[claim.kind]
    whose: Mapping[str, list[Part]] = {
        "this over": ["this over"],
        "this bowler": [source.quote("/ball/bowler")],
        "this batter": [source.quote("/ball/batter")],
    }
    if claim.kind in whose:
        link = " to " if claim.kind == "this batter" else " of "
        return [*balls_of(source, at, counting=True), link, *whose[claim.kind]]
    return [*kinds.get(claim.kind, []), *balls_of(source, at)]


def balls_of(source: Source[Explanation], at: int, *, counting: bool = False) -> list[Part]:
    """The labels of a claim's balls, oldest first; of many how many of the last.

    Args:
        counting: whether to tell the number where they are several.
    """
    removed = source.document.evidence[at].removed
    where = {entry.index: place for place, entry in enumerate(source.document.history)}
    if (counting and len(removed) > 1) or len(removed) > LISTED:
        return ["the last ", source.quote(f"/evidence/{at}/removed", counted), " balls"]
    known = all(ball in where for ball in removed)
    noun = "ball" if known else "delivery"
    labels: list[Part] = [
        source.quote(f"/history/{where[ball]}/label")
        if known
        else source.quote(f"/evidence/{at}/removed/{removed.index(ball)}")
        for ball in sorted(removed)
    ]
    if len(labels) == 1:
        return [f"{noun} ", *labels]
    listed = [part for label in labels[:-1] for part in (label, ", ")][:-1]
    plural = "balls" if known else "deliveries"
    return [f"{plural} ", *listed, " and ", labels[-1]]


def then(source: Source[Explanation]) -> Sentence | None:
    """What the ball brought, and what the model had given it; nothing of a ball to come."""
    prediction, ball = source.document.prediction, source.document.ball
    if prediction.actual is None:
        return None
    chance = f"/prediction/outcomes/{place_of(prediction, prediction.actual)}/probability"
    brought = source.quote("/prediction/actual", outcome_words)
    parts: list[Part] = ["Then: ", brought, " (", source.visible(chance), ")"]
    if ball.happened is not None and ball.happened.out is not None:
        parts += [", ", *gone(source)]
    return sentence([*parts, "."])


def gone(source: Source[Explanation]) -> list[Part]:
    """Who was out, and how; of one who did not face, that he was at the other end."""
    ball = source.document.ball
    assert ball.happened is not None
    out = source.quote("/ball/happened/out")
    end = " at the other end" if ball.happened.out == ball.non_striker else ""
    return [out, " ", source.quote("/ball/happened/how"), end]


def winning(source: Source[Explanation]) -> Sentence | None:
    """The batting side's chance of winning before the ball, and after what happened."""
    win = source.document.win_probability
    if win is None:
        return None
    team = source.quote("/win_probability/team")
    before = source.quote("/win_probability/before", percent)
    if win.happened is None:
        return sentence([team, " to win: ", before, "."])
    after = source.quote("/win_probability/happened", percent)
    return sentence([team, " to win: ", before, " → ", after, "."])

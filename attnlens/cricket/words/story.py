"""The story of a ball in three sentences: what stands out, what was tested, what came.

All three are about one outcome (`attnlens.cricket.explain.reading`). What is said to have made a
difference is a supported claim; else that nothing did is what is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Explanation, Fact, Prediction, Sentence
from attnlens.cricket.words.facts import (
    Part,
    Source,
    claims_in_order,
    counted,
    outcome_start,
    outcome_words,
    sentence,
    small_q,
)
from attnlens.render.numbers import percent

LISTED: Final = 4
"""More balls than this are told by their number, the first and the last."""

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
    verb = "is" if outcome_words(entry.outcome).startswith("a ") else "are"
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
    """The places of claims about the whole model that are findings, in order.

    The last balls, which anybody would guess, are not among them, nor what the scoreboard tells:
    it is what is usual.
    """
    claims = explanation.evidence
    return [
        at
        for at in claims_in_order(explanation)
        if claims[at].removed_from == "model"
        and not claims[at].reference
        and claims[at].kind not in NOT_TOLD
        and claims[at].verdict not in (None, "cannot be told")
    ]


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
        several = ["the last ", source.quote(f"/evidence/{at}/removed", counted), " balls"]
        balls = several if len(claim.removed) > 1 else balls_of(source, at)
        return [*balls, link, *whose[claim.kind]]
    return [*kinds.get(claim.kind, []), *balls_of(source, at)]


def balls_of(source: Source[Explanation], at: int) -> list[Part]:
    """The labels of a claim's balls, oldest first; of many their number, the first and the last."""
    removed = source.document.evidence[at].removed
    where = {entry.index: place for place, entry in enumerate(source.document.history)}
    known = all(ball in where for ball in removed)
    labels: list[Part] = [
        source.quote(f"/history/{where[ball]}/label")
        if known
        else source.quote(f"/evidence/{at}/removed/{removed.index(ball)}")
        for ball in sorted(removed)
    ]
    one, several = ("ball ", "balls ") if known else ("delivery ", "deliveries ")
    if len(labels) == 1:
        return [one, *labels]
    if len(labels) > LISTED:
        number = source.quote(f"/evidence/{at}/removed", counted)
        return [number, f" {several}from ", labels[0], " to ", labels[-1]]
    listed = [part for label in labels[:-1] for part in (label, ", ")][:-1]
    return [several, *listed, " and ", labels[-1]]


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

"""Render parts of the dashboard: the page of a ball, and the pages about heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from jinja2 import UndefinedError

from attnlens.cricket.explain.types import Evidence, Explanation
from attnlens.cricket.explain.what_if_types import WhatIf
from attnlens.cricket.match.match import OUTCOME_NAMES, OUTCOMES, Innings
from attnlens.cricket.pages import parts
from attnlens.cricket.pages.ball_page import BORDERLINE_WORDS, USUAL_WORDS, ball_page_of
from attnlens.cricket.predictor.scales import (
    UNSPECIALISED,
    head_id,
    head_name,
    relation_words,
)
from attnlens.cricket.words.facts import claims_in_order
from attnlens.files import Json
from attnlens.render.page import render_part

_CLAIM_KINDS: Final = (
    ("Claims about past balls", "The balls are hidden from the whole model."),
    (
        "Claims about heads",
        "A head's most attended balls are hidden from that head only. Share: the effect, divided "
        "by the effect of hiding the same balls from the whole model.",
    ),
    (
        "Claims about other inputs",
        "The input is hidden. The effect is compared with the effects of hiding other players' "
        "records or earlier scoreboards.",
    ),
)
_MAX_HIDDEN_SETS: Final = 6
_MAX_CHANGEABLE_BALLS: Final = 36
_NAMES: Final = {code: OUTCOME_NAMES[code].noun for code in OUTCOMES}


def render_ball_parts(
    explanation: Explanation, batters: Sequence[str], bowlers: Sequence[str]
) -> str:
    """Render the parts of a ball's page: sentences, hidden sets, reasons, claims and a form."""
    explanation = parts.presentable(explanation)
    claims: tuple[list[tuple[int, Evidence]], ...] = ([], [], [])
    for number in claims_in_order(explanation):
        claim = explanation.evidence[number]
        kind = 1 if claim.removed_from == "head" else 0 if claim.removed else 2
        claims[kind].append((number, claim))
    return render_part(
        "cricket/ball_parts.html",
        **parts.context(explanation) | {"claims": ()},
        story=ball_page_of(explanation, max_hidden_sets=_MAX_HIDDEN_SETS),
        scale=_scale_of(explanation),
        pieces=parts.pieces,
        kinds=[(*words, rows) for words, rows in zip(_CLAIM_KINDS, claims, strict=True)],
        usual_words=USUAL_WORDS,
        borderline_words=BORDERLINE_WORDS,
        control_words=_control_words,
        names=_NAMES,
        batters=batters,
        bowlers=bowlers,
        past=explanation.past_balls[: -_MAX_CHANGEABLE_BALLS - 1 : -1],
    )


def _control_words(control: str) -> str:
    return control.replace("of as many balls", "of the same size").replace(
        "beyond what distance and players explain", "adjusted for distance and players"
    )


def _scale_of(explanation: Explanation) -> tuple[float, float]:
    probs = [
        prob
        for claim in explanation.evidence
        if claim.removed and claim.removed_from == "model"
        for prob in (
            claim.top_change.before,
            claim.top_change.after,
            *((claim.controls.low, claim.controls.high) if claim.controls else ()),
        )
    ]
    return (min(probs), max(max(probs), min(probs) + 1e-6)) if probs else (0.0, 1.0)


def render_scores(innings: Innings, document: Json) -> list[str]:
    """Render a bar for each ball, with the score before the ball.

    Args:
        document: the result of `attnlens.cricket.explain.innings_data.shown_innings`.
    """
    balls = document["balls"]
    win = document["win"] or [None] * len(balls)
    return [
        render_part(
            "cricket/score_bar.html",
            innings=innings,
            ball=ball,
            won=chance,
            over=[other for other in balls if other["over"] == ball["over"]],
            count=len(balls),
            names=_NAMES,
        )
        for ball, chance in zip(balls, win, strict=True)
    ]


def render_what_if_part(answer: WhatIf) -> str:
    """Render the answer to a what-if question: the changes and the probabilities."""
    return render_part("cricket/what_if_part.html", answer=answer, names=_NAMES)


# ---- heads across matches

_MAX_DRAWN_LIFT: Final = 8.0
_DARKEST_SHARE: Final = 0.5


def render_heads(document: Json) -> dict[str, str]:
    """Render the pages about heads as HTML.

    Args:
        document: the result of `attnlens.cricket.lab.head_study.head_report`, as JSON.

    Returns:
        A page for each head's id, such as ``whole-0``. The key of the page about all heads is
        ``""``.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: ``document`` is not a report about heads.
    """
    try:
        return _pages(document)
    except UndefinedError as error:  # the template reads a field that the document lacks
        raise ValueError(str(error)) from None


def _pages(document: Json) -> dict[str, str]:
    heads = list(_heads(document))
    if not heads:
        raise ValueError("no heads")
    points = [end for head in heads for end in _ends(head["importance"], "points")]
    context = {"document": document, "most": max([*points, 1e-9]), "heads": heads}
    pages = {"": render_part("cricket/heads.html", **context, head=None)}
    for number, head in enumerate(heads):
        neighbours = heads[number - 1], heads[(number + 1) % len(heads)]
        pages[head["id"]] = render_part(
            "cricket/heads.html",
            **context,
            head=head,
            neighbours=neighbours,
            relations=_relations(head),
        )
    return pages


def _heads(document: Json) -> Iterator[Json]:
    for scale in document["scales"]:
        for head in scale["heads"]:
            earned, which = head["earned"], (scale["scale"], int(head["number"]))
            yield {
                **head,
                "id": head_id(*which),
                "name": head_name(*which),
                "scale": scale["scale"],
                "scale_question": scale["question"],
                "earned": "" if earned == UNSPECIALISED else relation_words(earned),
                "sees": relation_words(head["sees"] or ""),
                "low_high": _ends(head["importance"], "points"),
                "strip": [_shade(share) for share in head.get("mean_by_distance", ())],
                "strongest": head.get("strongest", ()),
            }


def _ends(figures: Json, name: str) -> Sequence[float]:
    value, ends = figures[name], figures[f"{name}_ci"]
    return (0.0, 0.0) if value is None else ends or (value, value)


def _shade(share: float | None) -> tuple[float, float]:
    """The square root keeps small shares visible."""
    value = share or 0.0
    return value, min(1.0, value / _DARKEST_SHARE) ** 0.5


def _relations(head: Json) -> list[Json]:
    rows = [row for row in head["relations"] if row["lift"] is not None]
    return [
        {
            "name": relation_words(row["relation"]),
            "lift": row["lift"],
            "lift_ci": row["lift_ci"],
            "ends": [min(end, _MAX_DRAWN_LIFT) / _MAX_DRAWN_LIFT for end in _ends(row, "lift")],
            "place": min(row["lift"], _MAX_DRAWN_LIFT) / _MAX_DRAWN_LIFT,
            "hiding": row["hiding"],
            "verdict": _verdict(row["hiding"]),
        }
        for row in sorted(rows, key=lambda row: -row["lift"])
    ]


def _verdict(test: Json | None) -> str:
    if test is None:
        return ""
    margin = test["margin_nats_ci"]
    if margin is None or margin[0] <= 0:
        return "no larger effect than hiding random balls was shown"
    if not test["supports"]:
        return "a larger effect than hiding random balls, but on too few balls"
    return "a larger effect than hiding random balls"

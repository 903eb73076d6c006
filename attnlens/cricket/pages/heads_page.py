"""Heads across matches as pages: what each looks at and what it carries, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from jinja2 import UndefinedError

from attnlens.cricket.predictor.scales import (
    UNSPECIALISED,
    head_id,
    head_name,
    relation_words,
)
from attnlens.files import Json
from attnlens.render.page import render_part

_MAX_LIFT: Final = 8.0
"""At the right end of the drawing of lifts; larger ones are drawn there."""
_MOST_SHARE: Final = 0.5
"""The share of the darkest cell of a map."""


def render_heads(document: Json) -> dict[str, str]:
    """Pages as HTML, by head such as ``whole-0``, and by ``""`` the page of all heads.

    Args:
        document: of `attnlens.cricket.lab.head_report.head_report`, as JSON.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no such document.
    """
    try:
        return _pages(document)
    except UndefinedError as error:  # a field that only the template reads
        raise ValueError(str(error)) from None


def _pages(document: Json) -> dict[str, str]:
    heads = list(_heads(document))
    if not heads:
        raise ValueError("no heads")
    points = [end for head in heads for end in _ends(head["importance"], "points")]
    shown = {"document": document, "most": max([*points, 1e-9]), "heads": heads}
    pages = {"": render_part("cricket/heads.html", **shown, head=None)}
    for number, head in enumerate(heads):
        beside = heads[number - 1], heads[(number + 1) % len(heads)]
        pages[head["id"]] = render_part(
            "cricket/heads.html", **shown, head=head, beside=beside, relations=_relations(head)
        )
    return pages


def _heads(document: Json) -> Iterator[Json]:
    """Every head as the pages show it, scale by scale, with its name as on a ball's page."""
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
    """The interval of a figure, or the figure itself where there is none."""
    value, ends = figures[name], figures[f"{name}_ci"]
    return (0.0, 0.0) if value is None else ends or (value, value)


def _shade(share: float | None) -> tuple[float, float]:
    """A mean share, and how dark it is drawn, 0 to 1: small ones stay visible by the root."""
    value = share or 0.0
    return value, min(1.0, value / _MOST_SHARE) ** 0.5


def _relations(head: Json) -> list[Json]:
    """What the head pays each relation, over even attention, the most first."""
    rows = [row for row in head["relations"] if row["lift"] is not None]
    return [
        {
            "name": relation_words(row["relation"]),
            "lift": row["lift"],
            "lift_ci": row["lift_ci"],
            "ends": [min(end, _MAX_LIFT) / _MAX_LIFT for end in _ends(row, "lift")],
            "place": min(row["lift"], _MAX_LIFT) / _MAX_LIFT,
            "hiding": row["hiding"],
            "verdict": _verdict(row["hiding"]),
        }
        for row in sorted(rows, key=lambda row: -row["lift"])
    ]


def _verdict(test: Json | None) -> str:
    """What hiding a relation's balls showed beside random sets of as many balls."""
    if test is None:
        return ""
    margin = test["margin_nats_ci"]
    if margin is None or margin[0] <= 0:
        return "not shown to do more than hiding random balls"
    if not test["supports"]:
        return "more than hiding random balls, but on too few balls"
    return "more than hiding random balls"

"""What every head does across matches: the document of ``attnlens lab heads --json`` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dash import html

from .functions import Data
from .parts import Page, panel, store

MOST_FAVOURED: Final = 3
"""Relations that are told of a head."""


def is_measured(data: Data) -> bool:
    """Whether a document is one of heads, that a page can be made of."""
    try:
        heads_page(data)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return False
    return True


def heads_page(data: Data) -> Page:
    """Every head by scale, then slots."""
    lead = (
        f"Over {data['balls']:,} balls; matches: {data['matches']:,}. ×2 of a relation: twice as "
        "much of its past attention as even attention would pay, with 95% intervals over matches. "
        "A name is earned where looking and mattering both hold."
    )
    told = ("looks at", "without it", "rank", "on itself", "built in", "began as")
    scales = [
        panel(
            scale["scale"],
            f"{scale['scale']}: {scale['question']}",
            _table(("head", "name earned", *told), map(_head, scale["heads"])),
            lead=f"{scale['window']} {scale['unit']}",
            files=False,
        )
        for scale in data["scales"]
    ]
    slots = _table(("slot", "reads", "without it", "rank"), map(_slot, data["slots"]))
    return [
        html.H1("Heads across matches"),
        html.P(lead, className="lead"),
        *scales,
        panel("slots", "Slots inside the ball", slots, files=False),
        store("measured", {}),
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> html.Div:
    """Rows under their heads; it slides where the window is narrow."""
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in heads]))
    lines = [
        html.Tr([html.Th(first, scope="row"), *(html.Td(cell) for cell in cells)])
        for first, *cells in rows
    ]
    return html.Div(html.Table([head, html.Tbody(lines)]), className="scroll wide", tabIndex="0")


def _head(head: Data) -> list[str]:
    rows = sorted(head["relations"], key=lambda row: -(row["lift"] or 0.0))
    return [
        f"head {head['number']}",
        "none" if head["earned"] == "unspecialised" else _words(head["earned"]),
        ", ".join(map(_favoured, rows[:MOST_FAVOURED])),
        *_importance(head["importance"]),
        _share(head["self_attention"]),
        _share(head["bias_share"]),
        _words(head["pattern"]),
    ]


def _favoured(row: Data) -> str:
    lift, ends = row["lift"], row["lift_ci"]
    interval = "" if ends is None or ends[0] == ends[1] else f" [{ends[0]:.2f}, {ends[1]:.2f}]"
    return f"{_words(row['relation'])} {'–' if lift is None else f'×{lift:.2f}'}{interval}"


def _slot(slot: Data) -> list[str]:
    return [_words(slot["slot"]), slot["reads"], *_importance(slot["importance"])]


def _importance(importance: Data) -> tuple[str, str]:
    points = importance["points"]
    return "not known" if points is None else f"{points:.2f} points", str(importance["rank"])


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.0%}"


def _words(name: str) -> str:
    return name.replace("_", " ").replace("batsman", "batter")

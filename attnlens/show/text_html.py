"""An answer of a text model as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attnlens.show.heat_map import Cell, Column, HeatMap, Row
from attnlens.show.numbers import fine_percent
from attnlens.show.page import render_page
from attnlens.show.safe import each_text, seen
from attnlens.show.text_terminal import CAVEAT, SHORT_WAYS, notes
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.text.explain import TextExplanation, Token

MARKS: Final = {"supported": "✓", "not better than chance": "–", "contradicted": "✗", None: "○"}
CLASSES: Final = {"supported": "more", "contradicted": "less"}


def render_text_html(data: TextExplanation, positions: Sequence[Sequence[float]]) -> str:
    """The page, without a final line break.

    Args:
        data: what `attnlens.text.explain_text` says.
        positions: the waves of the input's places ``(word, d)``.
    """
    shown: TextExplanation = each_text(data, seen)
    written, words = shown.output.tokens, shown.input.tokens
    most = max((max(token.cross_attention) for token in written), default=0.0)
    return render_page(
        "text.html",
        title=shown.output.text or "nothing",
        model=shown.model.name,
        words=words,
        answer=shown.output.text or "(nothing)",
        notes=notes(shown),
        tokens=written,
        claims=sorted(shown.evidence, key=lambda claim: claim.token),
        overall=[one for one in shown.overall if one.claims],
        ways=SHORT_WAYS,
        marks=MARKS,
        classes=CLASSES,
        attention=_attention(words, written, most),
        most=most,
        waves=_waves(words, positions),
        caveat=CAVEAT,
    )


def _attention(words: Sequence[str], tokens: Sequence[Token], most: float) -> HeatMap:
    """A row for each token written, a column for each word read."""
    rows, told = [], []
    for token in tokens:
        weights = token.cross_attention
        cells = [
            Cell.shaded(weight, most, f"{token.token} on {word}: {fine_percent(weight)}")
            for word, weight in zip(words, weights, strict=True)
        ]
        rows.append(Row(token.token, cells))
        best = max(range(len(words)), key=lambda place: weights[place])
        told.append(f"{token.token}: {words[best]} ({fine_percent(weights[best])})")
    return HeatMap(
        anchor="cross",
        title="Cross-attention of every token written over the words read",
        told=f"Most of each. {'; '.join(told)}.",
        columns=[Column(word) for word in words],
        rows=rows,
        width=22.0,
        height=22.0,
    )


def _waves(words: Sequence[str], positions: Sequence[Sequence[float]]) -> HeatMap:
    """A row for each word, a column for each number added to it: from -1 to 1."""
    rows = [
        Row(f"{place} {word}", [Cell.either(value, 1.0, f"{value:.2f}") for value in row])
        for place, (word, row) in enumerate(zip(words, positions, strict=True))
    ]
    size = len(positions[0])
    return HeatMap(
        anchor="waves",
        title=f"The {count(size, 'number')} added to each word, by its place",
        told="Fast waves on the left, slow ones on the right.",
        columns=[Column()] * size,
        rows=rows,
        width=7.0,
        height=15.0,
    )

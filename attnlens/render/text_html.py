"""An answer of a text model as one HTML page that needs nothing else: no network, no script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import clean_all
from attnlens.render.html_page import framed, section
from attnlens.render.html_text import name, table, text
from attnlens.render.text_terminal import CAVEAT, SHORT_WAYS, percent

CELL: Final = 22.0
NAME: Final = 130.0
LETTER: Final = 7.0
"""Height that a letter of an upright label takes."""

WAVE: Final = 7.0
"""Width and height of a cell of the positions."""

MARKS: Final = {"supported": "✓", "not better than chance": "–", "contradicted": "✗", None: "○"}
CLASSES: Final = {"supported": "more", "contradicted": "less"}


def render_text_html(data: Mapping[str, Any], positions: Sequence[Sequence[float]]) -> str:
    """The page, without a final line break.

    Args:
        data: what `attnlens.text.explain_text` says.
        positions: the waves of the input's places ``(word, d)``.
    """
    shown = clean_all(data)
    given, output = shown["input"], shown["output"]
    notes = [f"{word!r} is not in the vocabulary: read as <unk>." for word in given["unknown"]]
    if not output["complete"]:
        notes.append("The longest answer that the model can give ended without <eos>.")
    sections = [
        "<header>",
        f'<p class="match">{text(shown["model"]["name"])}, a sentence read and answered</p>',
        f"<h1>{name(output['text'] or '(nothing)')}</h1>",
        f'<p class="score">{name(" ".join(given["tokens"]))}</p>',
        *(f'<p class="echo">{text(note)}</p>' for note in notes),
        "</header>\n<main>",
        _tokens(shown),
        _evidence(shown),
        _attention(shown),
        _positions(given["tokens"], positions),
        "</main>",
        f"<footer>\n<p>{text(CAVEAT)}</p>\n</footer>",
    ]
    return framed(output["text"] or "nothing", sections)


def _tokens(data: Mapping[str, Any]) -> str:
    rows = [
        [
            name(token["token"]),
            f"<strong>{text(percent(token['probability']))}</strong>",
            ", ".join(
                f"{name(one['token'])} {text(percent(one['probability']))}"
                for one in token["runners_up"]
            ),
        ]
        for token in data["output"]["tokens"]
    ]
    heads = ["written", "chance", "what else it might have been"]
    return section("written", "What it wrote", table("Token by token", heads, rows, numbers=(1,)))


def _evidence(data: Mapping[str, Any]) -> str:
    if not data["evidence"]:
        return ""
    rows = []
    for claim in sorted(data["evidence"], key=lambda claim: claim["token"]):
        token = data["output"]["tokens"][claim["token"]]["token"]
        verdict = claim["verdict"] or "no claim"
        if claim["reason"] is not None:
            verdict += f": {claim['reason']}"
        tested = "" if claim["q"] is None else f"{claim['q']:.3f}"
        rows.append(
            [
                name(token),
                f"{', '.join(map(name, claim['words']))} "
                f"<small>{text(percent(claim['weight']))}</small>",
                text(SHORT_WAYS[claim["removed_from"]]),
                f'<span class="{CLASSES.get(claim["verdict"], "same")}">'
                f"{MARKS[claim['verdict']]} {text(verdict)}</span>",
                text(percent(claim["probability"])),
                text(percent(claim["without"])),
                tested,
            ]
        )
    overall = "".join(
        f"<p>{text(SHORT_WAYS[one['removed_from']])}: {one['supported']} of {one['claims']} claims "
        f"supported; in {one['strongest']} of {one['claims']} no other words do as much (by chance "
        f"{one['strongest_by_chance']:.2f}, p {one['p']:.2g}).</p>"
        for one in data["overall"]
        if one["claims"]
    )
    heads = ["token", "looked at", "these words are", "verdict", "chance", "without them", "q"]
    body = table(
        "The words that hold half of a token's attention, three at most, taken away; compared with "
        "every other set of as many words",
        heads,
        rows,
        numbers=(4, 5, 6),
    )
    return section("checked", "Did it come from there?", f"{body}\n{overall}")


def _attention(data: Mapping[str, Any]) -> str:
    words, tokens = data["input"]["tokens"], data["output"]["tokens"]
    top = LETTER * max(map(len, words)) + 10
    width, height = NAME + CELL * len(words) + 2, top + CELL * len(tokens) + 2
    drawn = [
        f'<svg class="heat" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-labelledby="cross-title cross-told">',
        '<title id="cross-title">Cross-attention of every token written over the words read'
        "</title>",
        f'<desc id="cross-told">{_told(words, tokens)}</desc>',
    ]
    for place, word in enumerate(words):
        x = NAME + CELL * place + CELL / 2 + 3.5
        drawn.append(
            f'<text class="first" transform="translate({x:.1f} {top - 5:.1f}) rotate(-90)">'
            f"{text(word)}</text>"
        )
    for row, token in enumerate(tokens):
        y = top + CELL * row
        drawn.append(
            f'<text class="name" x="{NAME - 8}" y="{y + 15:.1f}">{text(token["token"])}</text>'
        )
        for place, weight in enumerate(token["cross_attention"]):
            drawn.append(
                f'<rect x="{NAME + CELL * place + 0.75:.2f}" y="{y + 0.75:.2f}" '
                f'width="{CELL - 1.5}" height="{CELL - 1.5}" '
                f'fill-opacity="{math.sqrt(weight):.2f}"><title>{text(token["token"])} on '
                f"{text(words[place])}: {text(percent(weight))}</title></rect>"
            )
    drawn.append("</svg>")
    note = (
        '<p class="quiet">A row for each token written, a column for each word read; the stronger, '
        "the larger the share of its attention, mean over heads (square roots are drawn).</p>"
    )
    picture = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Cross-attention">\n'
        + "\n".join(drawn)
        + "\n</div>"
    )
    return section("looked", "Where it looked", note, picture)


def _told(words: Sequence[str], tokens: Sequence[Mapping[str, Any]]) -> str:
    """What the drawing shows, for those who do not see it."""
    told = []
    for token in tokens:
        weights = token["cross_attention"]
        best = max(range(len(words)), key=lambda place: weights[place])
        told.append(f"{text(token['token'])}: {text(words[best])} ({text(percent(weights[best]))})")
    return "Most of each. " + "; ".join(told) + "."


def _positions(words: Sequence[str], positions: Sequence[Sequence[float]]) -> str:
    columns = len(positions[0])
    row_height = 15.0
    width, height = NAME + WAVE * columns + 2, row_height * len(words) + 2
    drawn = [
        f'<svg class="heat" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-labelledby="waves-title">',
        f'<title id="waves-title">The {columns} numbers added to each word, by its place</title>',
    ]
    for place, (word, row) in enumerate(zip(words, positions, strict=True)):
        y = row_height * place
        drawn.append(
            f'<text class="name" x="{NAME - 8}" y="{y + 11:.1f}">{place} {text(word)}</text>'
        )
        drawn += [
            f'<rect x="{NAME + WAVE * column:.1f}" y="{y:.1f}" width="{WAVE}" '
            f'height="{row_height}" fill-opacity="{(value + 1) / 2:.2f}"/>'
            for column, value in enumerate(row)
        ]
    drawn.append("</svg>")
    note = (
        '<p class="quiet">Sine and cosine of a word\'s place, from fast waves on the left to slow '
        "ones on the right: faint −1, strong 1. Neighbours differ on the left, far places on the "
        "right.</p>"
    )
    picture = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Positions">\n'
        + "\n".join(drawn)
        + "\n</div>"
    )
    return section("places", "How it knows places", note, picture)

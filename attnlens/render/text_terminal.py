"""An answer of a text model for a terminal: how sure, what it looked at, whether that holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import (
    ASCII,
    UNICODE,
    Line,
    Page,
    clean_all,
    cut,
    display_width,
    pad,
    width_of,
)

NARROWEST: Final = 60
WIDEST: Final = 128
NAME: Final = 16
"""Columns of a token's name, at most."""

CELL: Final = 6
"""Columns of a weight in the picture: a sign and per cent."""

SHORT_WAYS: Final = {
    "cross-attention": "hidden from cross-attention",
    "model": "replaced by <unk>",
}
VERDICTS: Final = {
    "supported": "supported",
    "not better than chance": "chance",
    "contradicted": "contradicted",
}
CAVEAT: Final = (
    "A weight says where the decoder looked, not that it mattered. Hidden: not seen by "
    "cross-attention, whose places hold traces of other words too. Replaced: not read at all. p: "
    "the share of all sets of as many words that do at least as much; q: after Benjamini and "
    "Hochberg over the tokens."
)


def render_text(
    data: Mapping[str, Any],
    *,
    width: int,
    color: bool,
    unicode: bool = True,
    positions: Sequence[Sequence[float]] | None = None,
) -> str:
    """The page for one answer.

    Args:
        data: what `attnlens.text.explain_text` says.
        width: columns of the terminal; no line is wider (at least `NARROWEST`).
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
        positions: the waves of the input's places ``(word, d)``, to be drawn too.
    """
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(NARROWEST, min(width, WIDEST)), UNICODE if unicode else ASCII)
    _heading(page, shown)
    _tokens(page, shown)
    if shown["evidence"]:
        _evidence(page, shown)
    _picture(page, shown)
    if positions is not None:
        _positions(page, shown["input"]["tokens"], positions)
    page.paragraph(CAVEAT, "quiet")
    return page.text(color=color)


def percent(share: float) -> str:
    """``17%``, with a decimal where it is near the ends, and never a false 0 or 100."""
    points = 100 * share
    if points < 0.05 or points > 99.95:
        return "<0.1%" if points < 50 else ">99.9%"
    return f"{points:.1f}%" if points < 10 or points > 99 else f"{points:.0f}%"


def _heading(page: Page, data: Mapping[str, Any]) -> None:
    given, output = data["input"], data["output"]
    page.flow(
        [[(word, "title")] for word in " ".join(given["tokens"]).split()],
        indent=9,
        gap=1,
        lead=[("input", "quiet")],
    )
    page.flow(
        [[(word, "title")] for word in (output["text"] or "(nothing)").split()],
        indent=9,
        gap=1,
        lead=[("output", "quiet")],
    )
    for word in given["unknown"]:
        page.paragraph(
            f"{word!r} is not in the vocabulary: read as <unk>", "flag", indent=4, lead="  !"
        )
    if not output["complete"]:
        page.paragraph(
            "the longest answer that the model can give ended without <eos>",
            "flag",
            indent=4,
            lead="  !",
        )
    page.blank()


def _tokens(page: Page, data: Mapping[str, Any]) -> None:
    glyphs = page.glyphs
    page.add(("  written         chance  what else it might have been", "heading"))
    for token in data["output"]["tokens"]:
        others = ", ".join(
            f"{one['token']} {percent(one['probability'])}" for one in token["runners_up"]
        )
        page.add(
            ("  " + pad(token["token"], NAME, glyphs.ellipsis), "name"),
            (percent(token["probability"]).rjust(6) + "  ", ""),
            (others, "quiet"),
        )
    page.blank()


def _evidence(page: Page, data: Mapping[str, Any]) -> None:
    glyphs = page.glyphs
    page.paragraph("did they come from the words they looked at?", "heading")
    tokens = data["output"]["tokens"]
    telling = {(one["token"], one["removed_from"]): one for one in data["most_telling"]}
    for number, token in enumerate(tokens):
        claims = [claim for claim in data["evidence"] if claim["token"] == number]
        if not claims:
            continue
        words = ", ".join(claims[0]["words"])
        page.flow(
            [[(words, "name")], [(f"{percent(claims[0]['weight'])} of its attention", "quiet")]],
            indent=2 + NAME,
            gap=2,
            lead=[("  " + pad(token["token"], NAME - 1, glyphs.ellipsis), "name")],
        )
        for claim in claims:
            _claim(page, claim)
            _telling(page, claim, telling[number, claim["removed_from"]])
    page.blank()
    for one in data["overall"]:
        if not one["claims"]:
            continue
        page.paragraph(
            f"{SHORT_WAYS[one['removed_from']]}: {one['supported']} of {one['claims']} claims "
            f"supported; in {one['strongest']} of {one['claims']} no other words do as much "
            f"(by chance {one['strongest_by_chance']:.2f}, p {one['p']:.2g})"
        )
    page.blank()


def _claim(page: Page, claim: Mapping[str, Any]) -> None:
    glyphs = page.glyphs
    way = SHORT_WAYS[claim["removed_from"]]
    moved = f"{percent(claim['probability'])} {glyphs.arrow} {percent(claim['without'])}"
    line: Line = [
        ("    " + pad(way, 28, glyphs.ellipsis), "quiet"),
        (pad(moved, 18, glyphs.ellipsis), ""),
    ]
    verdict, reason = claim["verdict"], claim["reason"]
    if verdict is None:
        line.append((f"{glyphs.picture} no claim", "chance"))
    else:
        style = VERDICTS[verdict]
        line.append((f"q {claim['q']:.2f} ", ""))
        line.append((f"{getattr(glyphs, style)} {verdict}", style))
    if width_of(line) > page.width:
        page.add(*line[:2])
        line = [(" " * 8, ""), *line[2:]]
    if reason is not None and width_of(line) + display_width(reason) + 2 <= page.width:
        page.add(*line, (f": {reason}", "quiet"))
        return
    page.add(*line)
    if reason is not None:
        page.paragraph(reason, "quiet", indent=8)


def _telling(page: Page, claim: Mapping[str, Any], telling: Mapping[str, Any]) -> None:
    """The word that does more than all that a claim names, if one does."""
    if telling["position"] in claim["removed"] or claim["verdict"] == "supported":
        return
    if telling["without"] < claim["without"]:
        page.paragraph(
            f"one word that does more: {telling['word']} "
            f"({page.glyphs.arrow} {percent(telling['without'])})",
            "quiet",
            indent=8,
        )


def _picture(page: Page, data: Mapping[str, Any]) -> None:
    """Words down, tokens across, in blocks of as many tokens as go side by side."""
    glyphs = page.glyphs
    words, tokens = data["input"]["tokens"], data["output"]["tokens"]
    room = max(8, min(NAME, max(map(display_width, words))))
    column = max(CELL, min(13, max(display_width(token["token"]) for token in tokens))) + 1
    beside = max(1, (page.width - room - 3) // column)
    page.paragraph("cross-attention, mean over heads: every token down its column", "heading")
    for start in range(0, len(tokens), beside):
        some = tokens[start : start + beside]
        head: Line = [(" " * (room + 3), "")]
        head += [(pad(one["token"], column - 1, glyphs.ellipsis) + " ", "name") for one in some]
        page.add(*head)
        for place, word in enumerate(words):
            line: Line = [("  " + pad(cut(word, room, glyphs.ellipsis), room, ""), ""), (" ", "")]
            for one in some:
                line.append(_cell(one["cross_attention"][place], column, glyphs.shades))
            page.add(*line)
        page.blank()


def _cell(weight: float, column: int, shades: str) -> tuple[str, str]:
    """A shade, and per cent where there is one to tell."""
    level = min(len(shades) - 1, int(weight * len(shades)))
    if weight < 0.005:
        return " " * column, ""
    return f"{shades[level]}{100 * weight:3.0f}%".ljust(column), f"shade{level + 1}"


def _positions(page: Page, words: Sequence[str], positions: Sequence[Sequence[float]]) -> None:
    """Places down, waves across: sine and cosine of each, from the shortest to the longest."""
    glyphs = page.glyphs
    room = max(8, min(NAME, max(map(display_width, words))))
    page.paragraph(
        f"positions: what is added to each word so that its place is known; {len(positions[0])} "
        "numbers from -1 (low) to 1 (high), fast waves on the left",
        "heading",
    )
    most = page.width - room - 6
    for place, (word, row) in enumerate(zip(words, positions, strict=True)):
        drawn: Line = [(f"  {place:2} " + pad(word, room, glyphs.ellipsis) + " ", "")]
        for value in row[:most]:
            level = min(len(glyphs.shades) - 1, int((value + 1) / 2 * len(glyphs.shades)))
            drawn.append((glyphs.shades[level], f"shade{level + 1}"))
        page.add(*drawn)
    page.blank()


def render_words(data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True) -> str:
    """The page for neighbours or an analogy.

    Args:
        data: what `attnlens.text.words` says.
        width, color, unicode: as `render_text`.
    """
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(NARROWEST, min(width, WIDEST)), UNICODE if unicode else ASCII)
    analogy = "words" in shown
    if analogy:
        first, second, third = shown["words"]
        page.paragraph(f"{first} - {second} + {third}", "title", indent=0)
    else:
        page.paragraph(f"close to {shown['word']}", "title", indent=0)
    pair = shown["random_pair"]
    for one in shown["neighbours"]:
        full = max(0, round(20 * one["cosine"]))
        page.add(
            ("  " + pad(one["word"], NAME + 4, page.glyphs.ellipsis), "name"),
            (f"{one['cosine']:6.3f}  ", ""),
            (page.glyphs.full * full, "bar"),
            ("" if one["cosine"] > pair["high"] else "  no closer than chance", "quiet"),
        )
    page.blank()
    page.paragraph(
        f"Cosines of vectors of {shown['side']} words. Two of the {shown['vocabulary']:,} words "
        f"drawn at random: {pair['mean']:.3f} on average, 90% between {pair['low']:.3f} and "
        f"{pair['high']:.3f}; the largest of {shown['vocabulary']:,} is larger still.",
        "quiet",
    )
    if analogy:
        nearest = shown["nearest_of_all"]
        own = " (one of the three)" if nearest["word"] in shown["words"] else ""
        page.paragraph(
            f"The three words are left out; with them the nearest is {nearest['word']}{own}, "
            f"{nearest['cosine']:.3f}.",
            "quiet",
        )
    return page.text(color=color)

"""Format a text model's answer for a terminal: probabilities, attended tokens and test results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.render.canvas import (
    Column,
    Line,
    Page,
    Span,
    Words,
    add_row,
    add_table,
    display_width,
    legend,
    pad,
    shade,
    terminal_page,
)
from attnlens.render.numbers import fine_percent

if TYPE_CHECKING:
    from attnlens.reference.text import TextExplanation, TokenClaim

_MIN_COLUMNS: Final = 60
_MAX_COLUMNS: Final = 128
_NAME: Final = 16
"""The largest width of a token's name in columns."""

_CELL: Final = 6
"""The width in columns of a heat-map cell with a shade and a percentage."""

_SHORT_WAYS: Final = {
    "cross-attention": "hidden from cross-attention",
    "model": "replaced by <unk>",
}
VERDICTS: Final = {
    "supported": ("✓", "larger", "supported"),
    "not better than chance": ("–", "no larger", "chance"),
    "contradicted": ("✗", "opposite", "contradicted"),
    "cannot be told": ("?", "unclear", "untold"),
    None: ("○", "not tested", "picture"),
}
"""The sign, the displayed words and the style of each verdict."""

_Q_LEVEL: Final = 0.05
"""Above this q-value, the verdict "no larger" needs no reason."""

_CAVEAT: Final = (
    "An attention weight shows where the decoder looked. A large weight does not show that the "
    "word mattered. Hidden words get no cross-attention, but other positions may contain traces "
    "of them. Replaced words are read as <unk>. ✓ larger, – no larger: than the effects of other "
    "sets with the same number of words. q: the share of these sets whose effect is at least as "
    "large, corrected for the number of tokens in the answer."
)


@terminal_page(min_width=_MIN_COLUMNS, max_width=_MAX_COLUMNS)
def render_text(page: Page, explanation: TextExplanation) -> None:
    _heading(page, explanation)
    _tokens(page, explanation)
    if explanation.evidence:
        _evidence(page, explanation)
    _picture(page, explanation)
    page.paragraph(_CAVEAT, "quiet")


def _heading(page: Page, data: TextExplanation) -> None:
    read, written = " ".join(data.input.tokens), data.output.text or "(nothing)"
    for name, words in (("input", read), ("output", written)):
        page.paragraph(words, "title", indent=9, lead=name)
    for word in data.input.unknown:
        page.flag(f"{word!r} is not in the vocabulary: read as <unk>")
    if not data.output.complete:
        page.flag("the answer reached the model's maximum length without <eos>")
    page.blank()


def _tokens(page: Page, data: TextExplanation) -> None:
    rows = []
    for token in data.output.tokens:
        runners_up = ", ".join(
            f"{token_probability.token} {fine_percent(token_probability.probability)}"
            for token_probability in token.runners_up
        )
        rows.append([token.token, fine_percent(token.probability), runners_up])
    columns = [
        Words("written", style="name", min_width=_NAME, max_width=_NAME, gap=0),
        Column("probability", gap=0),
        Words("runners-up", style="quiet", shrinks=True),
    ]
    add_table(page, columns, rows)
    page.blank()


def _evidence(page: Page, data: TextExplanation) -> None:
    page.paragraph(
        "Do the most attended words matter? Probability of the token without these words", "heading"
    )
    for number, token in enumerate(data.output.tokens):
        claims = [claim for claim in data.evidence if claim.token == number]
        if not claims:
            continue
        words, share = ", ".join(claims[0].words), fine_percent(claims[0].weight)
        page.flow(
            [[(words, "name")], [(f"{share} of its attention", "quiet")]],
            indent=2 + _NAME,
            gap=2,
            lead=[("  " + pad(token.token, _NAME - 1), "name")],
        )
        for claim in claims:
            _claim(page, claim)
    page.blank()


def _claim(page: Page, claim: TokenClaim) -> None:
    moved = f"{fine_percent(claim.probability)} → {fine_percent(claim.without)}"
    line: Line = [(pad(_SHORT_WAYS[claim.removed_from], 28), "quiet"), (pad(moved, 18), "")]
    sign, words, style = VERDICTS[claim.verdict]
    judged: Line = [(f"{sign} {words}", style)]
    if claim.verdict is not None and claim.q is not None:
        judged.insert(0, (f"q {claim.q:.2f} ", ""))
    is_evident = claim.verdict == "not better than chance" and (claim.q or 0.0) > _Q_LEVEL
    if claim.reason is not None and not is_evident:
        judged.append((f": {claim.reason}", "quiet"))
    page.flow([line, judged], indent=4, gap=0)


def _picture(page: Page, data: TextExplanation) -> None:
    words, tokens = data.input.tokens, data.output.tokens
    side = max(8, min(_NAME, max(map(display_width, words)))) + 3
    column = max(_CELL, min(13, max(display_width(token.token) for token in tokens))) + 1
    per_block = max(1, (page.width - side) // column)
    largest = max(weight for token in tokens for weight in token.cross_attention)
    page.paragraph("cross-attention, mean over heads: one column per token", "heading")
    page.paragraph(f"{legend(largest)} of a token's attention", "quiet")
    for start in range(0, len(tokens), per_block):
        some = tokens[start : start + per_block]
        heads = [(pad(token.token, column - 1) + " ", "name") for token in some]
        add_row(page, ("", ""), side, [heads])
        for index, word in enumerate(words):
            cells = [_cell(token.cross_attention[index], largest, column) for token in some]
            add_row(page, (f"  {word}", ""), side, [cells])
        page.blank()


def _cell(weight: float, largest: float, column: int) -> Span:
    if weight < 0.005:
        return " " * column, ""
    sign, style = shade(weight, largest)
    return f"{sign}{100 * weight:3.0f}%".ljust(column), style

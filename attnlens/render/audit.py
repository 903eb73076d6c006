"""Render audits for a terminal, as HTML and as Markdown.

All formats show the same sections. Tables of heads and ablations appear only in a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from attnlens.errors import count
from attnlens.render.canvas import Column as Figure
from attnlens.render.canvas import Page, add_table, terminal_page
from attnlens.render.heat_map import Cell, HeatMapColumn, HeatMapDrawing, Row
from attnlens.render.numbers import fine_percent, number
from attnlens.render.page import WIDTH, frame_page, render_page, render_plain
from attnlens.render.safe import visible_all
from attnlens.render.text_terminal import VERDICTS

if TYPE_CHECKING:
    from attnlens.audits.ablate import Ablation
    from attnlens.audits.head_table import HeadRow, HeadTable
    from attnlens.audits.report import Audit, AuditedClaim, Input, TokenEffect

_MAX_CLAIMS: Final = 6
_MAX_HEADS: Final = 4
_MAX_INPUTS: Final = 3
_SHARES: Final = ("previous", "first", "duplicate", "induction", "sink")
_MAX_TOKENS: Final = 8
_SIZES: Final = ((0.5, "large"), (0.05, "medium"), (0.005, "small"), (0.0, "none"))
"""The words for the size of an effect, with lower limits in nats."""
_SIZE_LEGEND: Final = "large from 0.5 nats, medium from 0.05, small from 0.005"
_LEGEND: Final = (
    "✓ larger, – no larger: than the effect of hiding the same number of other items; ✗ opposite: "
    "the items lower the target; ? unclear: too few items for a test; q: p-value corrected for "
    "all claims of an input"
)
_ALPHA: Final = 0.05
"""The significance level for the p-values of heads."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a title and headings.

    Attributes:
        figures: the indices of the right-aligned columns.
        bars: the length of each row's bar, from -1 to 1; empty for a table without bars.
        styles: the style of each row.
        more: a note below the table.
    """

    title: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    figures: tuple[int, ...] = ()
    bars: tuple[float, ...] = ()
    styles: tuple[str, ...] = ()
    more: str = ""


@terminal_page(max_width=WIDTH)
def render_audit(page: Page, audit: Audit) -> None:
    """Write an audit to a page, in at most 45 lines."""
    page.paragraph(heading(audit), "title", indent=0)
    for line in inputs_of(audit):
        page.paragraph(line, "quiet")
    for section in sections(audit):
        page.blank()
        page.paragraph(section.title, "heading", indent=0)
        _add(page, section)
    page.blank()
    for line in closing(audit):
        page.paragraph(line, "quiet", indent=0)


@terminal_page(max_width=WIDTH)
def render_heads(page: Page, table: HeadTable) -> None:
    _add(page, heads_section(table))


@terminal_page(max_width=WIDTH)
def render_ablation(page: Page, ablation: Ablation) -> None:
    way = {"zero": "set to 0", "mean": "attending evenly"}[ablation.how]
    summary = f"loss {ablation.loss:.4f}, mean of {count(ablation.inputs, 'input')}"
    page.paragraph(f"{summary}; one head at a time {way}", "title", indent=0)
    heads = ("head", "change", "minus random", "p", "q", "site")
    rows = [
        [
            head.name,
            *map(_signed, (head.change, head.beyond)),
            *(number(chance, 3) for chance in (head.p, head.q)),
            head.site,
        ]
        for head in ablation.heads
    ]
    _add(page, Section("", heads, rows, (1, 2, 3, 4)))
    if ablation.random:
        largest, mean = max(ablation.random), sum(ablation.random) / len(ablation.random)
        drawn_heads = count(len(ablation.random), "head")
        summary = f"{_signed(mean)} on average, {_signed(largest)} at most"
        page.paragraph(f"{drawn_heads} drawn at random change the loss by {summary}")


def _signed(nats: float) -> str:
    return f"{nats:+.4f}"


def _add(page: Page, section: Section) -> None:
    columns = [Figure(head, right=at in section.figures) for at, head in enumerate(section.heads)]
    add_table(page, columns, section.rows, styles=section.styles)
    if section.more:
        page.paragraph(section.more, "quiet")


def heading(audit: Audit) -> str:
    model = audit.model
    model_words = f"{model.name}, {count(model.heads, 'head')} at {count(model.sites, 'site')}"
    return f"audit of {model_words}: {audit.target}"


def inputs_of(audit: Audit) -> list[str]:
    """Describe the first inputs, each with the target and the sinks."""

    def line(item: Input) -> str:
        chance = "" if item.probability is None else f" {fine_percent(item.probability)}"
        sinks = f"sinks, left out of claims: {', '.join(item.sinks)}" if item.sinks else "no sink"
        text = f"{item.text}: " if item.text else ""
        return f"{text}{count(len(item.items), 'item')}; {item.target}{chance}; {sinks}"

    left = len(audit.inputs) - _MAX_INPUTS
    return [line(item) for item in audit.inputs[:_MAX_INPUTS]] + (
        [f"and {count(left, 'more input')}"] if left > 0 else []
    )


def sections(audit: Audit) -> list[Section]:
    """Return the sections of an audit: single tokens, claims and heads."""
    many = len(audit.inputs) > 1
    claim_sections = [
        claims_section(
            title, [claim for claim in audit.claims if claim.removed_from == target], many
        )
        for target, title in (
            ("model", "claims about the whole model: items hidden from all attention"),
            ("head", "claims about heads: items hidden from that head alone"),
        )
    ]
    ranked = sorted(audit.heads, key=lambda row: -(row.importance or 0.0))[:_MAX_HEADS]
    tokens = tokens_section(audit.tokens, many)
    return [section for section in (tokens, *claim_sections) if section.rows] + [
        heads_section(ranked)
    ]


def tokens_section(tokens: Sequence[TokenEffect], many: bool) -> Section:
    """Return the table of tokens and their effects, largest effect first."""
    ranked = sorted(tokens, key=lambda token: -token.nats)
    top_tokens = ranked[:_MAX_TOKENS]
    largest = max((abs(token.points) for token in top_tokens), default=0.0) or 1.0
    rows = [
        [
            next(word for threshold, word in _SIZES if token.nats >= threshold),
            f"{fine_percent(token.before)} → {fine_percent(token.after)}",
            f"{token.points:+.1f}",
            number(token.nats, 3),
            fine_percent(token.attention),
            (f"input {token.input + 1}: " if many else "")
            + token.item
            + (" (sink)" if token.sink else ""),
        ]
        for token in top_tokens
    ]
    left = f"and {count(len(ranked) - len(top_tokens), 'more token')} with smaller effects; "
    return Section(
        "effect of hiding each token alone, and the attention to the token",
        ("effect", "target", "points", "nats", "attention", "token"),
        rows,
        (2, 3, 4),
        tuple(token.points / largest for token in top_tokens),
        ("",) * len(rows),
        (left if len(ranked) > len(top_tokens) else "") + _SIZE_LEGEND,
    )


def claims_section(title: str, claims: Sequence[AuditedClaim], many: bool) -> Section:
    """Return the table of claims, supported claims first; ``many`` adds each input's number."""
    order = [*VERDICTS]
    ranked = sorted(claims, key=lambda claim: (order.index(claim.verdict), -claim.effect_nats))
    left = Counter(map(_word, ranked[_MAX_CLAIMS:]))
    omitted = ", ".join(f"{many} {verdict}" for verdict, many in left.most_common())
    largest = max((abs(claim.top_change.points) for claim in ranked), default=0.0) or 1.0
    some = ranked[:_MAX_CLAIMS]
    of_heads = any(claim.share is not None for claim in some)
    return Section(
        title,
        ("effect", "q", "target", *(["share"] if of_heads else []), "claim"),
        [_claim_row(claim, f"input {claim.input + 1}: " if many else "") for claim in some],
        (1, 3) if of_heads else (1,),
        tuple(claim.top_change.points / largest for claim in some),
        tuple("reference" if claim.reference else VERDICTS[claim.verdict][2] for claim in some),
        f"and {sum(left.values())} more: {omitted}" if left else "",
    )


def _word(claim: AuditedClaim) -> str:
    return VERDICTS[claim.verdict][1]


def _claim_row(claim: AuditedClaim, lead: str) -> list[str]:
    change = claim.top_change
    return [
        f"{VERDICTS[claim.verdict][0]} {_word(claim)}",
        number(claim.q, 3),
        f"{fine_percent(change.before)} → {fine_percent(change.after)}",
        *([] if claim.share is None else [fine_percent(claim.share)]),
        lead + claim.claim.replace(" mattered:", ":"),
    ]


def heads_section(table: Sequence[HeadRow]) -> Section:
    """Return the table of heads and their shares of attention, without empty columns."""
    digits = {"importance": 2, **dict.fromkeys(_SHARES, 2), "entropy": 2, "p": 3}
    names = [name for name in digits if any(getattr(row, name) is not None for row in table)]
    rows = [
        [
            row.name,
            *(number(getattr(row, name), digits[name], "·") for name in names),
            f"{row.relation} ×{row.lift:.1f}" if row.lift and row.lift > 1 else "",
        ]
        for row in table
    ]
    heads = ("head", *names, "prefers")
    title = "heads: importance (gradient × attention), shares of attention, p of the attended items"
    return Section(title, heads, rows, tuple(range(1, len(names) + 1)))


def closing(audit: Audit) -> list[str]:
    """Summarise the heads' p-values, the placebos and the computing time."""
    p_values = [row.p for row in audit.heads if row.p is not None]
    few, even = sum(p <= _ALPHA for p in p_values), _ALPHA * len(p_values)
    looks = (
        f"p ≤ {_ALPHA} for {few} of {count(len(p_values), 'head')} when their most attended items "
        f"are hidden from the whole model ({even:.0f} expected by chance)"
    )
    placebos = ", ".join(
        f"{placebo.kind} {placebo.supported} of {placebo.tested}" for placebo in audit.placebos
    )
    cost = f"cost: {count(audit.cost.forwards, 'forward pass', 'forward passes')}, "
    cost += f"{audit.cost.seconds:.1f} s"
    legend = [_LEGEND] if audit.claims else []
    return [
        *legend,
        *([looks] if p_values else []),
        f"placebos with the verdict 'larger': {placebos}",
        cost,
    ]


def importance_map(table: Sequence[HeadRow], largest: float) -> HeatMapDrawing:
    """Return a heat map of importance with a row per site and a column per head."""
    sites: dict[str, list[HeadRow]] = {}
    for row in table:
        sites.setdefault(row.site, []).append(row)

    def cell(row: HeadRow) -> Cell:
        value = row.importance or 0.0
        return Cell.shaded(value, largest, f"{row.name}: {number(value, 3)}")

    return HeatMapDrawing(
        anchor="importance",
        title="Gradient times attention of every head",
        description=f"{count(len(sites), 'site')}, {count(len(table), 'head')}",
        columns=[
            HeatMapColumn(f"H{head}") for head in range(max(map(len, sites.values()), default=0))
        ],
        rows=[
            Row(f"{rows[0].stack} L{rows[0].layer}".strip(), [cell(row) for row in rows])
            for rows in sites.values()
        ],
    )


def _document(draw: Callable[..., str], template: str, audit: Audit) -> str:
    visible = visible_all(audit)
    largest = max((row.importance or 0.0 for row in visible.heads), default=0.0)
    return draw(
        template,
        title=heading(visible),
        inputs=inputs_of(visible),
        sections=sections(visible),
        map=importance_map(visible.heads, largest),
        most=number(largest),
        closing=closing(visible),
    )


def audit_page(audit: Audit) -> str:
    return _document(render_page, "audit.html", audit)


def audit_markdown(audit: Audit) -> str:
    return _document(render_plain, "audit.md", audit)


def audit_html(audit: Audit) -> str:
    return frame_page(audit_page(audit), "An audit")


audit_text = partial(render_audit, width=WIDTH, color=False)
heads_text = partial(render_heads, width=WIDTH, color=False)
ablation_text = partial(render_ablation, width=WIDTH, color=False)

"""An audit, a table of heads and an ablation: for a terminal, as a page and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.show.canvas import Page, terminal_page
from attnlens.show.heat_map import Cell, Column, HeatMap, Row
from attnlens.show.notebook import WIDTH, framed, preformatted
from attnlens.show.numbers import fine_percent, number
from attnlens.show.page import render_page, render_plain
from attnlens.show.safe import visible_all
from attnlens.show.table import Column as Figure
from attnlens.show.table import Words, add_table
from attnlens.show.text_terminal import VERDICTS
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.audits.ablate import Ablation
    from attnlens.audits.heads import HeadRow, HeadTable
    from attnlens.audits.report import Audit, TestedClaim

SHOWN_CLAIMS: Final = 12
SHOWN_HEADS: Final = 8
SHOWN_INPUTS: Final = 3
LOOKS: Final = ("previous", "first", "duplicate", "induction", "sink")
PICTURE: Final = ("○", "picture")
UNLIKELY: Final = 0.05
"""p of what a head looks at, of which so many are expected by chance alone."""


@terminal_page(most=WIDTH)
def render_audit(page: Page, audit: Audit) -> None:
    """At most some forty lines."""
    page.paragraph(heading(audit), "title", indent=0)
    for one in audit.inputs[:SHOWN_INPUTS]:
        page.paragraph(about(one), "quiet")
    if len(audit.inputs) > SHOWN_INPUTS:
        page.paragraph(f"and {len(audit.inputs) - SHOWN_INPUTS} more inputs", "quiet")
    page.blank()
    for kind, claims in by_place(audit):
        page.paragraph(kind, "heading", indent=0)
        rows = [
            [verdict_of(one), number(one.q, 3), f"{before_after(one)}{share_of(one)}", one.claim]
            for one in claims[:SHOWN_CLAIMS]
        ]
        columns = [Words("verdict"), Figure("q", right=True), Words("target"), Words("claim")]
        add_table(page, columns, rows, styles=[_style(one) for one in claims])
        if left := claims[SHOWN_CLAIMS:]:
            page.paragraph(f"and {len(left)} more: {counted(left)}", "quiet")
        page.blank()
    if some := highest(audit.heads):
        page.paragraph("heads screened highest, and shares of their attention", "heading", indent=0)
        _add_heads(page, some)
        page.blank()
    for line in closing(audit):
        page.paragraph(line, "quiet", indent=0)


@terminal_page(most=WIDTH)
def render_heads(page: Page, table: HeadTable) -> None:
    """Every head."""
    _add_heads(page, table)


@terminal_page(most=WIDTH)
def render_ablation(page: Page, ablation: Ablation) -> None:
    """Every head that was listed."""
    way = {"zero": "set to 0", "mean": "attending evenly"}[ablation.how]
    page.paragraph(
        f"loss {ablation.loss:.4f}, mean of {count(ablation.inputs, 'input')}; heads {way} one by "
        "one",
        "title",
        indent=0,
    )
    columns = [
        Words("head"),
        *(Figure(one, right=True) for one in ("change", "beside random", "p", "q")),
        Words("site", style="quiet", shrinks=True),
    ]
    add_table(
        page,
        columns,
        [
            [
                f"L{one.layer}H{one.head}",
                f"{one.change:+.4f}",
                f"{one.beside:+.4f}",
                number(one.p, 3),
                number(one.q, 3),
                one.site,
            ]
            for one in ablation.heads
        ],
    )
    if ablation.random:
        most, mean = max(ablation.random), sum(ablation.random) / len(ablation.random)
        page.paragraph(
            f"{count(len(ablation.random), 'random head')} beside them: {mean:+.4f} on average, "
            f"{most:+.4f} at most",
            "quiet",
            indent=0,
        )


def _add_heads(page: Page, rows: Sequence[HeadRow]) -> None:
    names = ("importance", *LOOKS, "entropy", "p")
    columns = [
        Words("head"),
        *(Figure(name, right=True) for name in names),
        Words("prefers", style="quiet"),
    ]
    add_table(
        page,
        columns,
        [
            [
                row.name,
                *(number(getattr(row, name), 3 if name == "p" else 2, "·") for name in names),
                prefers(row),
            ]
            for row in rows
        ],
    )


def prefers(row: HeadRow) -> str:
    """What a head pays more than evenly."""
    return f"{row.relation} ×{row.lift:.1f}" if row.lift is not None and row.lift > 1 else ""


def heading(audit: Audit) -> str:
    """What was audited, and about what."""
    model = audit.model
    told = f"{model.name}, {count(model.heads, 'head')} at {count(model.sites, 'site')}"
    return f"audit of {told}: {audit.target}"


def about(one: Any) -> str:
    """An input: its words, what was answered, and what is left out."""
    sinks = f"; sinks, left out of claims: {', '.join(one.sinks)}" if one.sinks else "; no sink"
    text = f"{one.text}: " if one.text else ""
    chance = "" if one.probability is None else f" {fine_percent(one.probability)}"
    return f"{text}{count(len(one.items), 'item')}, {one.target}{chance}{sinks}"


def by_place(audit: Audit) -> list[tuple[str, list[TestedClaim]]]:
    """Claims about the model and about heads, those that hold first."""
    order = [*VERDICTS, None]
    found = []
    for place, told in (
        ("model", "what mattered: hidden from the whole model"),
        ("head", "what heads looked at: hidden from that head alone"),
    ):
        claims = [one for one in audit.claims if one.removed_from == place]
        if len(audit.inputs) > 1 or place == "head":
            claims.sort(key=lambda one: (order.index(one.verdict), -one.effect_nats))
        if claims:
            found.append((told, claims))
    return found


def verdict_of(one: TestedClaim) -> str:
    """A verdict and its sign."""
    sign = PICTURE[0] if one.verdict is None else VERDICTS[one.verdict][0]
    return f"{sign} {one.verdict or 'picture only'}"


def _style(one: TestedClaim) -> str:
    return "reference" if one.reference else _kind(one)


def _kind(one: TestedClaim) -> str:
    return PICTURE[1] if one.verdict is None else VERDICTS[one.verdict][1]


def before_after(one: TestedClaim) -> str:
    """The target with everything, and without these items."""
    return f"{fine_percent(one.top_change.before)} → {fine_percent(one.top_change.after)}"


def share_of(one: TestedClaim) -> str:
    """A head's part of the effect."""
    return "" if one.share is None else f", share {fine_percent(one.share)}"


def counted(claims: Sequence[TestedClaim]) -> str:
    """How many have each verdict."""
    often = Counter(one.verdict or "picture only" for one in claims)
    return ", ".join(f"{many} {verdict}" for verdict, many in often.most_common())


def highest(table: Sequence[HeadRow]) -> list[HeadRow]:
    """The heads of most importance."""
    return sorted(table, key=lambda row: -(row.importance or 0.0))[:SHOWN_HEADS]


def closing(audit: Audit) -> list[str]:
    """What all heads' looks come to, the placebos, the cost, the notes."""
    lines = []
    known = [row.p for row in audit.heads if row.p is not None]
    if known:
        few = sum(p <= UNLIKELY for p in known)
        lines.append(
            f"what {few} of {count(len(known), 'head')} look at most does more, hidden from the "
            f"whole model, than chance would have it (p ≤ {UNLIKELY}, which chance alone gives "
            f"{UNLIKELY * len(known):.0f})"
        )
    told = ", ".join(f"{one.kind} {one.supported} of {one.tested}" for one in audit.placebos)
    lines.append(f"placebos supported: {told}")
    lines.append(f"cost: {audit.cost.forwards:,} forwards of an input, {audit.cost.seconds:.1f} s")
    return [*lines, *audit.notes]


def importance_map(table: Sequence[HeadRow]) -> HeatMap:
    """Sites down, heads across, the darkest the most important."""
    sites: dict[str, list[HeadRow]] = {}
    for row in table:
        sites.setdefault(row.site, []).append(row)
    most = max((row.importance or 0.0 for row in table), default=0.0)
    widest = max(map(len, sites.values()), default=0)

    def cell(row: HeadRow) -> Cell:
        shares = ", ".join(
            f"{name} {fine_percent(value)}"
            for name in LOOKS
            if (value := getattr(row, name)) is not None
        )
        return Cell.shaded(
            row.importance or 0.0, most, f"{row.name}: {number(row.importance, 3)}; {shares}"
        )

    return HeatMap(
        anchor="importance",
        title="Gradient times attention of every head",
        told=f"{count(len(sites), 'site')}, {count(len(table), 'head')}",
        columns=[Column(f"H{head}") for head in range(widest)],
        rows=[Row(f"L{rows[0].layer}", [cell(row) for row in rows]) for rows in sites.values()],
    )


def audit_page(audit: Audit) -> str:
    """One file of HTML."""
    shown = visible_all(audit)
    return render_page("audit.html", title=heading(shown), **_context(shown))


def audit_markdown(audit: Audit) -> str:
    """A document in Markdown."""
    return render_plain("audit.md", **_context(audit))


def _context(audit: Audit) -> dict[str, Any]:
    return {
        "a": audit,
        "heading": heading(audit),
        "abouts": [about(one) for one in audit.inputs],
        "places": by_place(audit),
        "map": importance_map(audit.heads),
        "highest": highest(audit.heads),
        "looks": LOOKS,
        "closing": closing(audit),
        "verdict_of": verdict_of,
        "before_after": before_after,
        "kind": _kind,
        "prefers": prefers,
    }


def _text(render: Any) -> Any:
    return lambda one: render(one, width=WIDTH, color=False)


FORMS: Final = {
    "Audit": {
        "text": _text(render_audit),
        "html": lambda one: framed(audit_page(one), "An audit"),
        "page": audit_page,
        "markdown": audit_markdown,
    },
    "HeadTable": {
        "text": _text(render_heads),
        "html": lambda one: preformatted(render_heads(one, width=WIDTH, color=False)),
    },
    "Ablation": {"text": _text(render_ablation)},
}

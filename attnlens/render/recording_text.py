"""A recording on a terminal: its sites, and the strongest keys of some rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Page, clean, clean_all, cut, display_width, pad
from attnlens.words import count as counted

WIDEST: Final = 128
LONGEST_NAME: Final = 40
BAR: Final = 24
NO_AXES: Final = frozenset(
    {"site", "call", "position", "entropy_nats", "entropy_bounds", "strongest"}
)
"""What a row tells beside the axes it stands at."""


def render_recording(
    data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True
) -> str:
    """The page.

    Args:
        data: ``recording`` (its name), ``sites`` and ``rows``, as `attnlens.analysis.views`
            tells them.
        width: columns of the terminal; no line is wider (at least 40).
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    page = Page(max(40, min(width, WIDEST)), UNICODE if unicode else ASCII)
    shown = clean_all(data, ascii_only=not unicode)
    sites = shown["sites"]
    count = len({record["site"] for record in sites})
    page.add(
        (shown["recording"], "title"),
        (f"  {counted(count, 'site')}, {counted(len(sites), 'call')}", "quiet"),
    )
    _add_sites(page, sites)
    for number, row in enumerate(data["rows"]):
        _add_row(page, row, data["rows"][number - 1] if number else None, not unicode)
    return page.text(color=color)


def _add_sites(page: Page, sites: Sequence[Mapping[str, Any]]) -> None:
    cells = [
        (
            record["site"] or "(the model itself)",
            str(record["call"]),
            record["kept"],
            ", ".join(f"{axis['name']} {axis['size']}" for axis in record["axes"]),
        )
        for record in sites
    ]
    table = [("site", "call", "kept", "sizes"), *cells]
    widths = [min(LONGEST_NAME, max(display_width(row[at]) for row in table)) for at in range(3)]
    for number, row in enumerate(table):
        style = "quiet" if number == 0 else ""
        page.add(
            ("  ", ""),
            *(
                (pad(cell, size, page.glyphs.ellipsis) + "  ", style or ("name" if at == 0 else ""))
                for at, (cell, size) in enumerate(zip(row, widths, strict=False))
            ),
            (row[3], style),
        )
    for note in dict.fromkeys(note for record in sites for note in record["notes"]):
        page.paragraph(note, "flag", indent=4, lead="  ")


def _add_row(
    page: Page, row: Mapping[str, Any], before: Mapping[str, Any] | None, ascii_only: bool
) -> None:
    place = [(name, value) for name, value in row.items() if name not in NO_AXES]
    texts = [f"{clean(name)} {clean(value, ascii_only=ascii_only)}" for name, value in place]
    if before is None or (row["site"], row["call"]) != (before["site"], before["call"]):
        page.blank()
        page.add((f"{clean(row['site'], ascii_only=ascii_only)}, call {row['call']}", "heading"))
    told = f"({row['position']})" if place and str(row["position"]) != place[-1][1] else ""
    page.add(
        ("  ", ""),
        (", ".join(texts), "name"),
        (f" {told}" if told else "", "quiet"),
        (f"  {_spread(row)}", "quiet"),
    )
    strongest = row["strongest"]
    names = [clean(one["key"], ascii_only=ascii_only) for one in strongest]
    widest = min(LONGEST_NAME, max(map(display_width, names), default=0))
    most = strongest[0]["weight"] if strongest else 1.0
    for one, name in zip(strongest, names, strict=True):
        bar = page.glyphs.full * max(1, round(BAR * one["weight"] / most))
        numbered = f"  ({one['position']})" if str(one["position"]) != one["key"] else ""
        page.add(
            (f"    {one['weight']:.4f}  ", ""),
            (pad(cut(name, widest, page.glyphs.ellipsis), widest, page.glyphs.ellipsis), ""),
            (pad(numbered, 9, "") if numbered else "  ", "quiet"),
            (bar, "bar"),
        )


def _spread(row: Mapping[str, Any]) -> str:
    bounds = row["entropy_bounds"]
    if bounds is None:
        return "pays nothing"
    if row["entropy_nats"] is None:
        return f"entropy {bounds[0]:.3f} to {bounds[1]:.3f} nats"
    nats = row["entropy_nats"]
    return f"entropy {nats:.3f} nats, as {math.exp(nats):.1f} keys paid alike"

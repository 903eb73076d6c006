"""A recording on a terminal: its sites, and the strongest keys of some rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.show.canvas import Page, terminal_page
from attnlens.show.table import Column, Words, add_table
from attnlens.words import count

WIDEST: Final = 128
LONGEST_NAME: Final = 40
BAR: Final = 24
NO_AXES: Final = frozenset(
    {"site", "call", "position", "entropy_nats", "entropy_bounds", "strongest"}
)
"""What a row tells beside the axes it stands at."""


@terminal_page(most=WIDEST)
def render_recording(page: Page, shown: Mapping[str, Any]) -> None:
    """A recording: its name, ``sites`` and ``rows``, as `attnlens.analysis.views` tells them."""
    sites, rows = shown["sites"], shown["rows"]
    names = {record["site"] for record in sites}
    page.add(
        (shown["recording"], "title"),
        (f"  {count(len(names), 'site')}, {count(len(sites), 'call')}", "quiet"),
    )
    _add_sites(page, sites)
    before = None
    for row in rows:
        if before != (row["site"], row["call"]):
            before = row["site"], row["call"]
            page.blank()
            page.add((f"{row['site']}, call {row['call']}", "heading"))
        _add_row(page, row)


def _add_sites(page: Page, sites: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        [
            record["site"] or "(the model itself)",
            str(record["call"]),
            record["kept"],
            ", ".join(f"{axis['name']} {axis['size']}" for axis in record["axes"]),
        ]
        for record in sites
    ]
    columns = [
        Words("site", most=LONGEST_NAME, shrinks=True),
        Words("call"),
        Words("kept", most=LONGEST_NAME),
        Words("sizes", shrinks=True),
    ]
    add_table(page, columns, rows)
    for note in dict.fromkeys(note for record in sites for note in record["notes"]):
        page.paragraph(note, "flag", indent=4, lead="  ")


def _add_row(page: Page, row: Mapping[str, Any]) -> None:
    """Where a row stands, how spread it is, and its strongest keys with bars."""
    place = [(name, value) for name, value in row.items() if name not in NO_AXES]
    position = str(row["position"])
    page.add(
        ("  ", ""),
        (", ".join(f"{name} {value}" for name, value in place), "name"),
        (f" ({position})" if place and position != place[-1][1] else "", "quiet"),
        (f"  {_spread(row['entropy_nats'], row['entropy_bounds'])}", "quiet"),
    )
    strongest = row["strongest"]
    most = strongest[0]["weight"] if strongest else 1.0
    rows = [
        [
            f"{one['weight']:.4f}",
            one["key"],
            f"({one['position']})" if str(one["position"]) != one["key"] else "",
            page.glyphs.full * max(1, round(BAR * one["weight"] / most)),
        ]
        for one in strongest
    ]
    columns = [
        Column(),
        Words(most=LONGEST_NAME, shrinks=True),
        Words(style="quiet"),
        Words(style="bar", shrinks=True),
    ]
    add_table(page, columns, rows, indent=4)


def _spread(nats: float | None, bounds: tuple[float, float] | None) -> str:
    if bounds is None:
        return "pays nothing"
    if nats is None:
        return f"entropy {bounds[0]:.3f} to {bounds[1]:.3f} nats"
    return f"entropy {nats:.3f} nats, as {math.exp(nats):.1f} keys paid alike"

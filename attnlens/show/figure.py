"""The heat maps of a record as a figure of plotly, for notebooks and papers.

The scale is that of the pages: shades go by the square root of a weight's part of the darkest, and
what is drawn together shares one darkest weight. Every cell has its weight as it was recorded.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.show.safe import clean

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from attnlens.recording.record import AttentionRecord

RAMP: Final = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""Light to dark: told apart by lightness alone."""
ROOTS: Final = 8
"""Places between two colours where the scale, which is linear between them, follows the root."""
MOST_MAPS: Final = 64
MOST_CELLS: Final = 4_000_000
SIDE: Final = 300
"""Pixels of a map among several; one alone has twice as many."""
MARGIN: Final = 110


def heat_map_trace() -> Json:
    """One heat map as plotly takes it, without its numbers and its scale."""
    return {"type": "heatmap", "hoverongaps": False}


def heat_map_axis() -> Json:
    """An axis of names, as plotly takes it."""
    return {"showgrid": False, "zeroline": False}


def figure(record: AttentionRecord) -> Figure:
    """Every heat map of one record as a figure of plotly: one for each head of each batch.

    Parts are chosen before: ``attnlens.figure(record.sel(batch=0, head=[2, 5]))``. All maps share
    one colour scale, whose end is the largest weight outside sinks, as on the page of
    ``attnlens view`` (see `attnlens.analysis.views.sinks`); the legend tells where sinks are paid
    more.

    Args:
        record: at most `MOST_MAPS` maps, of `MOST_CELLS` weights together.

    Raises:
        InputError: plotly is not installed, or the record has no weights or too many.
    """
    try:
        from plotly.subplots import make_subplots
    except ModuleNotFoundError as error:
        raise InputError(
            f"a figure needs {error.name}, which is not installed", remedy="run: pip install plotly"
        ) from None
    from attnlens.analysis.views import has_weights, maps_data
    from attnlens.recording.recording import Recording

    if not has_weights(record):
        raise InputError(f"{record.site}: holds no weights", remedy="choose another record")
    count = math.prod(record.sizes[:-2])
    if count > MOST_MAPS or math.prod(record.sizes) > MOST_CELLS:
        raise InputError(
            f"{record.site}: {count} heat maps with {math.prod(record.sizes):,} weights are too "
            f"many for one figure (at most {MOST_MAPS} with {MOST_CELLS:,})",
            remedy="choose some, such as record.sel(batch=0, head=[0, 1])",
        )
    maps = maps_data(Recording([record]))["records"][0]["maps"]
    wide = math.ceil(math.sqrt(count))
    tall = math.ceil(count / wide)
    drawn: Figure = make_subplots(
        rows=tall,
        cols=wide,
        subplot_titles=[_lead(record, one["lead"]) for one in maps],
        horizontal_spacing=0.3 / wide,
        vertical_spacing=0.35 / tall,
        x_title=_plain(record.axes[-1].name),
        y_title=_row(record),
    )
    keys = _names(record.names(len(record.axes) - 1))
    queries = _names(record.names(len(record.axes) - 2)) if len(record.axes) > 1 else [""]
    hover = (
        f"{_row(record)} %{{y}} → {_plain(record.axes[-1].name)} %{{x}}: %{{z:.4f}}<extra></extra>"
    )
    for number, cells in enumerate(record.to_numpy().reshape(count, -1, len(keys))):
        shown = {"z": cells, "x": keys, "y": queries, "hovertemplate": hover}
        trace = heat_map_trace() | shown | {"coloraxis": "coloraxis"}
        drawn.add_trace(trace, row=number // wide + 1, col=number % wide + 1)
    top, rest = (max(one[name] for one in maps) for name in ("top", "rest"))
    drawn.update_xaxes(heat_map_axis() | {"type": "category"})
    drawn.update_yaxes(heat_map_axis() | {"type": "category", "autorange": "reversed"})
    side = SIDE if count > 1 else 2 * SIDE
    drawn.update_layout(
        coloraxis=_scale(rest or top, sinks=0 < rest < top),
        title={"text": _plain(record.site or "attention")},
        width=wide * side + 2 * MARGIN,
        height=tall * side + 2 * MARGIN,
    )
    return drawn


def _scale(most: float, *, sinks: bool) -> Json:
    """The colours from nothing to ``most``, by the square root."""
    steps = ROOTS * (len(RAMP) - 1)
    stops = [((step / steps) ** 2, _mixed(step / steps)) for step in range(steps + 1)]
    title = f"weight<br>(sinks: more<br>than {most:.3g})" if sinks else "weight"
    return {"colorscale": stops, "cmin": 0, "cmax": most, "colorbar": {"title": {"text": title}}}


def _mixed(share: float) -> str:
    """The colour at a part of the ramp, 0 to 1."""
    place = share * (len(RAMP) - 1)
    low = min(int(place), len(RAMP) - 2)
    ends = [[int(RAMP[low + at][i : i + 2], 16) for i in (1, 3, 5)] for at in (0, 1)]
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(*ends, strict=True))
    return f"rgb({','.join(map(str, mixed))})"


def _row(record: AttentionRecord) -> str:
    return _plain(record.axes[-2].name) if len(record.axes) > 1 else ""


def _lead(record: AttentionRecord, lead: Sequence[str]) -> str:
    named = zip(record.axes, lead, record.sizes, strict=False)
    return _plain(", ".join(f"{axis.name} {name}" for axis, name, size in named if size > 1))


def _names(names: Sequence[str]) -> list[str]:
    """What positions are called; those of one name with their numbers, as plotly joins the same."""
    plain = [_plain(re.sub("^[Ġ▁ ]+(?=.)", "", name).replace("Ċ", "↵")) for name in names]
    many = Counter(plain)
    return [f"{name} · {at}" if many[name] > 1 else name for at, name in enumerate(plain)]


def _plain(text: str) -> str:
    """Text that plotly takes for no markup."""
    return html.escape(clean(text), quote=False)

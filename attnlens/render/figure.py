"""The heat maps of a record as a figure of plotly, for notebooks and papers.

The scale is that of the pages: shades go by the square root of a weight's part of the darkest, and
what is drawn together shares one darkest weight. Every cell has its weight as it was recorded.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.safe import clean

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from attnlens.recording.attention_record import AttentionRecord

_RAMP: Final = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""Light to dark: told apart by lightness alone."""
_HEAT_MAP: Final[Json] = {"type": "heatmap", "hoverongaps": False}
"""What every heat map is to plotly."""
_STEPS: Final = 32
"""Of the scale: between them it is linear."""
_MOST_MAPS: Final = 64
_MOST_CELLS: Final = 4_000_000
_SIDE: Final = 300
"""Pixels of a map among several; one alone has twice as many."""
MARGIN: Final = 110


def figure(record: AttentionRecord) -> Figure:
    """Every heat map of one record as a figure of plotly: one for each head of each batch.

    Parts are chosen before: ``attnlens.figure(record.sel(batch=0, head=[2, 5]))``. All maps share
    one colour scale, whose end is the largest weight outside sinks, as on the page of
    ``attnlens view`` (see `attnlens.attention.sinks.sinks`); the legend tells where sinks are paid
    more.

    Args:
        record: at most `_MOST_MAPS` maps, of `_MOST_CELLS` weights together.

    Raises:
        InputError: plotly is not installed, or the record has no weights or too many.
    """
    from attnlens.attention.views import maps_data
    from attnlens.recording.recording import Recording

    _check(record)
    try:
        from plotly.subplots import make_subplots
    except ModuleNotFoundError as error:
        raise InputError(
            f"a figure needs {error.name}, which is not installed", remedy="run: pip install plotly"
        ) from None
    maps = maps_data(Recording([record]))["records"][0]["maps"]
    wide = math.ceil(math.sqrt(len(maps)))
    tall = math.ceil(len(maps) / wide)
    chart: Figure = make_subplots(
        rows=tall,
        cols=wide,
        subplot_titles=[_lead(record, heads["lead"]) for heads in maps],
        horizontal_spacing=0.3 / wide,
        vertical_spacing=0.35 / tall,
    )
    for number, trace in enumerate(_traces(record)):
        chart.add_trace(trace, row=number // wide + 1, col=number % wide + 1)
    chart.update_xaxes(type="category")
    chart.update_yaxes(type="category", autorange="reversed")
    chart.update_xaxes(title_text=_plain(record.axes[-1].name), row=tall)
    chart.update_yaxes(title_text=_row(record), col=1)
    top, rest = (max(heads[name] for heads in maps) for name in ("top", "rest"))
    side = _SIDE if len(maps) > 1 else 2 * _SIDE
    chart.update_layout(
        coloraxis=_scale(rest or top, sinks=0 < rest < top),
        title={"text": _plain(record.site or "attention")},
        width=wide * side + 2 * MARGIN,
        height=tall * side + 2 * MARGIN,
    )
    return chart


def _check(record: AttentionRecord) -> None:
    """Raises where a figure cannot be made of it."""
    from attnlens.attention.views import has_weights
    from attnlens.recording.attention_record import AttentionRecord

    if not isinstance(record, AttentionRecord):
        raise InputError(
            f"a figure is made of one record, not of a {type(record).__name__}",
            remedy="give recording[SITE], or a call of recording.calls(SITE)",
        )
    if not has_weights(record):
        raise InputError(f"{record.site}: holds no weights", remedy="choose another record")
    count, cells = math.prod(record.sizes[:-2]), math.prod(record.sizes)
    if count > _MOST_MAPS or cells > _MOST_CELLS:
        raise InputError(
            f"{record.site}: {count} heat maps with {cells:,} weights are too many for one figure "
            f"(at most {_MOST_MAPS} with {_MOST_CELLS:,})",
            remedy="choose some, such as record.sel(batch=0, head=[0, 1])",
        )


def _traces(record: AttentionRecord) -> Iterator[Json]:
    keys = _names(record.names(len(record.axes) - 1))
    queries = _names(record.names(len(record.axes) - 2)) if len(record.axes) > 1 else [""]
    position = f"{_row(record)} %{{y}} → {_plain(record.axes[-1].name)} %{{x}}: %{{z:.4f}}"
    shared = _HEAT_MAP | {"x": keys, "y": queries, "coloraxis": "coloraxis"}
    for cells in record.to_numpy().reshape(-1, len(queries), len(keys)):
        yield shared | {"z": cells, "hovertemplate": f"{position}<extra></extra>"}


def _scale(largest: float, *, sinks: bool) -> Json:
    """The colours from nothing to ``most``, by the square root."""
    from plotly.colors import sample_colorscale

    parts = [step / _STEPS for step in range(_STEPS + 1)]
    colours = zip((part**2 for part in parts), sample_colorscale(_RAMP, parts), strict=True)
    title = f"weight<br>(sinks: more<br>than {largest:.3g})" if sinks else "weight"
    bar = {"title": {"text": title}}
    return {"colorscale": list(colours), "cmin": 0, "cmax": largest, "colorbar": bar}


def _row(record: AttentionRecord) -> str:
    return _plain(record.axes[-2].name) if len(record.axes) > 1 else ""


def _lead(record: AttentionRecord, lead: Sequence[str]) -> str:
    axes = zip(record.axes, lead, record.sizes, strict=False)
    words = (f"{axis.name} {name}" for axis, name, size in axes if size > 1 or axis.labels)
    return _plain(", ".join(words))


def _names(names: Sequence[str]) -> list[str]:
    """What positions are called; those of one name with their numbers, as plotly joins the same."""
    plain = [_plain(re.sub("^[Ġ▁ ]+(?=.)", "", name).replace("Ċ", "↵")) for name in names]
    many = Counter(plain)
    return [f"{name} · {at}" if many[name] > 1 else name for at, name in enumerate(plain)]


def _plain(text: str) -> str:
    """Text that plotly takes for no markup."""
    return html.escape(clean(text), quote=False)

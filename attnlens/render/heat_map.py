"""Prepare heat maps for HTML pages, and draw heat maps with plotly.

The shade of a cell grows with the square root of the value. Maps that are drawn together share one
scale. In HTML, every cell has a description in words. In plotly, every cell has the recorded
weight.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from attnlens.errors import InputError
from attnlens.render.safe import clean

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from attnlens.recording.attention_record import AttentionRecord


LEVELS: Final = 20
"""The number of shades. The style sheet has a colour for each shade."""

_LETTER: Final = 6.3
_NAME_LETTER: Final = 7.4
"""The width of a letter in pixels, for column labels and for row labels."""

_GAP: Final = 4.0
"""The space between groups of columns, in pixels."""

_MAX_LABEL_LETTERS: Final = 24


def level(value: float, largest: float) -> int:
    """Return the shade of a value, from 0 to `LEVELS`."""
    return round(LEVELS * math.sqrt(min(max(value / largest, 0.0), 1.0))) if largest > 0 else 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a heat map.

    Attributes:
        colour: the CSS class of the colour.
        words: the description.
        framed: whether the cell has a frame.
        strength: the opacity of ``colour``, from 0 to 1; ``None`` for a shade.
    """

    colour: str
    words: str
    framed: bool = False
    strength: float | None = None

    @classmethod
    def shaded(cls, value: float, largest: float, words: str, *, framed: bool = False) -> Cell:
        """Return the cell of a weight; ``largest`` has the darkest shade."""
        return cls(f"s{level(value, largest)}", words, framed=framed)

    @classmethod
    def either(cls, value: float, largest: float, words: str) -> Cell:
        """Return the cell of a number. The colour shows the sign, and the opacity the size."""
        if not value or not largest:
            return cls("none", words)
        way = "over" if value > 0 else "under"
        return cls(way, words, strength=0.75 * min(abs(value) / largest, 1.0))


@dataclass(frozen=True, slots=True)
class HeatMapColumn:
    """The heading of a column.

    Attributes:
        mark: a short text above the cells.
        kind: the CSS class of the mark.
        first: whether the column is the first of a group. A gap precedes the column.
    """

    label: str = ""
    mark: str = ""
    kind: str = "mark"
    first: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class HeatMapDrawing:
    """Rows of cells under labelled columns.

    Attributes:
        anchor: a unique name on the page.
        title: the heading of the map.
        description: a description for screen readers.
        width, height: the size of a cell in pixels.
        marks: the label of the row with the columns' marks; empty without such a row.
        sparse: whether only the first column of each group has a label.
    """

    anchor: str
    title: str
    description: str
    columns: Sequence[HeatMapColumn]
    rows: Sequence[Row]
    width: float = 19.0
    height: float = 19.0
    marks: str = ""
    sparse: bool = False

    @property
    def side(self) -> float:
        """The width of the row labels in pixels."""
        labels = [self.marks, *(row.label for row in self.rows)]
        longest = max((min(len(label), _MAX_LABEL_LETTERS) for label in labels), default=0)
        return 12 + _NAME_LETTER * longest

    @property
    def labels_end(self) -> float:
        """The height of the column labels in pixels."""
        longest = max(
            (min(len(column.label), _MAX_LABEL_LETTERS) for column in self.columns), default=0
        )
        if not longest:
            return 2.0
        return 10 + _LETTER * longest

    @property
    def top(self) -> float:
        """The vertical position of the first row of cells, in pixels."""
        return self.labels_end + (self.height if self.marks else 0)

    @property
    def places(self) -> list[float]:
        """The horizontal position of each column, in pixels."""
        gaps = 0
        places = []
        for at, column in enumerate(self.columns):
            gaps += column.first and at > 0
            places.append(self.side + self.width * at + _GAP * gaps)
        return places

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the drawing in pixels."""
        end = self.places[-1] + self.width if self.columns else self.side
        return end + 2, self.top + self.height * len(self.rows) + 2


def short(label: str) -> str:
    """Shorten a label to the available space."""
    return label if len(label) <= _MAX_LABEL_LETTERS else f"{label[: _MAX_LABEL_LETTERS - 1]}…"


_RAMP: Final = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""The colours from light to dark. The lightness alone distinguishes the colours."""
_SCALE_STEPS: Final = 32
"""The number of steps of the colour scale."""
_MAX_MAPS: Final = 64
_MAX_CELLS: Final = 4_000_000
_MAP_PIXELS: Final = 300
"""The width and height of a map in pixels. A single map is twice as wide and high."""
_MARGIN_PIXELS: Final = 110


def figure(record: AttentionRecord) -> Figure:
    """Draw every heat map of one record with plotly: one map for each head of each sequence.

    To select maps, use `AttentionRecord.sel`: ``attnlens.figure(record.sel(batch=0, head=[2,
    5]))``. All maps share one colour scale. The darkest colour stands for the largest weight
    outside attention sinks (see `attnlens.attention.focus.sinks`).

    Args:
        record: a record with at most 64 maps and 4,000,000 weights.

    Raises:
        InputError: plotly is not installed, or the record has no weights, too many weights or too
            many maps.
    """
    from attnlens.attention.views import maps_data
    from attnlens.recording.recording import Recording

    _check(record)
    try:
        import plotly.express as px
    except ModuleNotFoundError as error:
        raise InputError(
            f"a figure needs {error.name}, which is not installed", remedy="run: pip install plotly"
        ) from None
    maps = maps_data(Recording([record]))["records"][0]["maps"]
    top, rest = (max(heads[name] for heads in maps) for name in ("top", "rest"))
    keys = _names(record.names(len(record.axes) - 1))
    queries = _names(record.names(len(record.axes) - 2)) if len(record.axes) > 1 else [""]
    key = _plain(record.axes[-1].name)
    query = _plain(record.axes[-2].name) if len(record.axes) > 1 else ""
    wide = math.ceil(math.sqrt(len(maps)))
    tall = math.ceil(len(maps) / wide)
    steps = [step / _SCALE_STEPS for step in range(_SCALE_STEPS + 1)]
    colours = px.colors.sample_colorscale(_RAMP, steps)
    chart: Figure = px.imshow(
        record.to_numpy().reshape(len(maps), len(queries), len(keys)),
        x=keys,
        y=queries,
        labels={"x": key, "y": query, "color": "weight"},
        facet_col=0,
        facet_col_wrap=wide,
        facet_col_spacing=0.3 / wide,
        facet_row_spacing=0.35 / tall,
        aspect="auto",
        zmin=0,
        zmax=rest or top,
        color_continuous_scale=[
            (step**2, colour) for step, colour in zip(steps, colours, strict=True)
        ],
    )
    for annotation in chart.layout.annotations:
        lead = maps[int(annotation.text.rpartition("=")[2])]["lead"]
        annotation.text = _lead(record, lead)
    cell = f"{query} %{{y}} → {key} %{{x}}: %{{z:.4f}}<extra></extra>"
    chart.update_traces(hovertemplate=cell, hoverongaps=False)
    chart.update_xaxes(type="category", showticklabels=True)
    chart.update_yaxes(type="category", showticklabels=True)
    if 0 < rest < top:
        title = f"weight<br>(sinks: more<br>than {rest:.3g})"
        chart.update_coloraxes(colorbar_title_text=title)
    side = _MAP_PIXELS if len(maps) > 1 else 2 * _MAP_PIXELS
    chart.update_layout(
        title={"text": _plain(record.site or "attention")},
        width=wide * side + 2 * _MARGIN_PIXELS,
        height=tall * side + 2 * _MARGIN_PIXELS,
    )
    return chart


def _check(record: AttentionRecord) -> None:
    from attnlens.attention.views import has_weights
    from attnlens.recording.attention_record import AttentionRecord

    if not isinstance(record, AttentionRecord):
        raise InputError(
            f"a figure shows one record, but got a {type(record).__name__}",
            remedy="give recording[SITE], or one call such as recording.calls(SITE)[0]",
        )
    if not has_weights(record):
        raise InputError(
            f"{record.site}: the record contains no weights", remedy="choose another record"
        )
    count, cells = math.prod(record.sizes[:-2]), math.prod(record.sizes)
    if count > _MAX_MAPS or cells > _MAX_CELLS:
        raise InputError(
            f"{record.site}: {count} heat maps with {cells:,} weights are too many for one figure "
            f"(at most {_MAX_MAPS} with {_MAX_CELLS:,})",
            remedy="select some maps, such as record.sel(batch=0, head=[0, 1])",
        )


def _lead(record: AttentionRecord, lead: Sequence[str]) -> str:
    axes = zip(record.axes, lead, record.sizes, strict=False)
    words = (f"{axis.name} {name}" for axis, name, size in axes if size > 1 or axis.labels)
    return _plain(", ".join(words))


def _names(names: Sequence[str]) -> list[str]:
    """Add numbers to repeated names, because plotly would merge equal names."""
    plain = [_plain(re.sub("^[Ġ▁ ]+(?=.)", "", name).replace("Ċ", "↵")) for name in names]
    many = Counter(plain)
    return [f"{name} · {at}" if many[name] > 1 else name for at, name in enumerate(plain)]


def _plain(text: str) -> str:
    """Escape a text so that plotly does not read it as markup."""
    return html.escape(clean(text), quote=False)

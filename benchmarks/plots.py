"""Draw figures of the JSON that `attnlens lab heads`, `faithfulness` and `evaluate` write.

    attnlens lab heads SRC --json --out heads.json
    python benchmarks/plots.py heads.json docs/heads.svg

The content of the JSON decides which figure is drawn. The name of the figure's file ends in .svg,
.png or .pdf. Marks that differ in colour also differ in lightness or shape, so that a figure can be
read when it is printed in grey.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlens.cricket.lab.attention_faithfulness import CONTROL_ROWS
from attnlens.cricket.predictor.scales import UNNAMED, UNSPECIALISED

MAX_DOUBLINGS = 2.0
"""The ends of the colour scale for heads: two doublings and two halvings of even attention."""

LESS, EVEN, MORE, GREY, DARK = "#2166ac", "#f7f7f7", "#d9730d", "#9a9a9a", "#333333"
PANELS = (
    ("spearman_last36", "Spearman with single-ball effects,\nlast 36 balls (more is faithful)"),
    ("partial_spearman_last36", "the same beyond distance\n(more is faithful)"),
    ("comprehensiveness_kl", "nats lost without the first k balls\n(more is faithful)"),
    ("sufficiency_kl", "nats lost with only the first k balls\n(less is faithful)"),
)
MARKERS = {
    "likeliest": ("#0072B2", "o"),
    "4": ("#E69F00", "s"),
    "6": ("#009E73", "^"),
    "W": ("#D55E00", "D"),
}
"""For each outcome, the shape of its marks and their colour. Readers with colour blindness can tell
these colours apart (Okabe and Ito 2008)."""

Data = dict[str, Any]


def sample(data: Data) -> str:
    """Return a text that describes the sample from which the figures were measured."""
    return f"{data['balls']:,} balls of {data['matches']:,} matches"


def heads(data: Data) -> Figure:
    """Draw a grid of heads and relations for every scale. Orange means more than even attention."""
    scales = data["scales"]
    rows = [len(scale["heads"]) for scale in scales]
    figure = Figure(figsize=(11, 1.9 + 0.36 * sum(rows) + 0.5 * len(rows)), layout="constrained")
    grid = figure.subplots(len(scales), 2, height_ratios=rows, width_ratios=(3.4, 1.0))
    every = [head for scale in scales for head in scale["heads"]]
    longest = max(head["importance"]["points_ci"][1] for head in every)
    for (left, right), scale in zip(grid, scales, strict=True):
        last = scale is scales[-1]
        image = lifts(left, scale, data["relations"], bottom=last)
        importances(right, scale, 1.05 * longest, bottom=last)
    bar = figure.colorbar(image, ax=list(grid[:, 0]), location="bottom", shrink=0.5, aspect=40)
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["¼", "½", "even", "2×", "4×"])
    bar.set_label("attention against even attention (framed: the name earned)", fontsize=8)
    title = "what they look at, and what the prediction loses without them"
    figure.suptitle(f"Heads of {data['model']['name']}: {title} ({sample(data)})", fontsize=10)
    return figure


def lifts(axes: Any, scale: Data, relations: Sequence[str], *, bottom: bool) -> Any:
    """Draw a panel with one row per head and one column per relation, and return the image."""
    heads_shown = scale["heads"]
    cells = [[doublings(row["lift"]) for row in head["relations"]] for head in heads_shown]
    colours = LinearSegmentedColormap.from_list("lift", (LESS, EVEN, MORE))
    image = axes.imshow(cells, cmap=colours, vmin=-MAX_DOUBLINGS, vmax=MAX_DOUBLINGS, aspect="auto")
    for row, head in enumerate(heads_shown):
        for column, relation in enumerate(head["relations"]):
            earned = relation["relation"] == head["earned"]
            axes.text(
                column,
                row,
                "–" if relation["lift"] is None else f"{relation['lift']:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                fontweight="bold" if earned else "normal",
            )
            if earned:
                corner = (column - 0.48, row - 0.46)
                axes.add_patch(Rectangle(corner, 0.96, 0.92, fill=False, lw=1.6))
    names = [
        f"{head['number']} {plain(head['pattern'])} → {plain(head['earned'])}"
        for head in heads_shown
    ]
    axes.set_yticks(range(len(heads_shown)), names, fontsize=8)
    names = [name.replace("_", "\n") for name in relations]
    axes.set_xticks(range(len(names)), names if bottom else [], fontsize=8)
    window = f" (last {scale['window']} {scale['unit']})" if scale["window"] else ""
    title = f"{scale['scale']}: {scale['question']}{window}"
    axes.set_title(title, fontsize=9, loc="left")
    axes.spines[:].set_visible(False)
    return image


def importances(axes: Any, scale: Data, longest: float, *, bottom: bool) -> None:
    """Draw the importance of each head as a bar with its interval, next to a panel of `lifts`."""
    values, errors = with_errors([head["importance"] for head in scale["heads"]], "points")
    axes.barh(range(len(values)), values, height=0.6, color=GREY, xerr=errors, capsize=2)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xlim(0, longest)
    axes.set_yticks([])
    axes.tick_params(labelsize=8, labelbottom=bottom)
    axes.spines[["top", "right"]].set_visible(False)
    if bottom:
        axes.set_xlabel("largest change of an outcome\nwithout the head (points)", fontsize=8)


def plain(name: str) -> str:
    """Return a pattern or the name of a head in words."""
    return {UNNAMED: "free", UNSPECIALISED: "—"}.get(name, name.replace("_", " "))


def doublings(lift: float | None) -> float:
    """Return log2 of a lift, clipped to the colour scale.

    None counts as even attention, which is 0.
    """
    return 0.0 if lift is None else math.log2(min(max(lift, 2**-MAX_DOUBLINGS), 2**MAX_DOUBLINGS))


def with_errors(rows: Sequence[Data], name: str) -> tuple[list[float], list[list[float]]]:
    """Return the values of a column, and how far their error bars extend below and above them."""
    values = [row[name] for row in rows]
    ends = [row[f"{name}_ci"] or (row[name], row[name]) for row in rows]
    gaps = [(value - low, high - value) for value, (low, high) in zip(values, ends, strict=True)]
    return values, [[max(gap, 0.0) for gap in side] for side in zip(*gaps, strict=True)]


def faithfulness(data: Data) -> Figure:
    """Draw bars with intervals: attention in orange, other methods in blue, controls in grey."""
    methods = data["methods"]
    names = list(methods)
    size = (3.1 * len(PANELS) + 1.4, 1.6 + 0.34 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(PANELS), sharey=True)
    colours = [
        MORE if name == "attention" else GREY if name in CONTROL_ROWS else LESS for name in names
    ]
    for axes, (key, title) in zip(grid, PANELS, strict=True):
        values, errors = with_errors(list(methods.values()), key)
        axes.barh(range(len(names)), values, color=colours, xerr=errors, ecolor=DARK)
        axes.set_title(title, fontsize=8)
        axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="x", nbins=4)  # with more labels, they would overlap
        axes.axvline(0, color=DARK, linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].invert_yaxis()
    title = f"Does attention of {data['model']['name']} say what mattered?"
    figure.suptitle(f"{title} {sample(data)}; bars: 95% over matches", fontsize=9)
    return figure


def calibration(data: Data) -> Figure:
    """Draw the observed frequencies of outcomes against their predicted probabilities."""
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    for axes, names in zip(figure.subplots(1, 2), (("likeliest",), ("4", "6", "W")), strict=True):
        limit = 0.0
        for name in names:
            bins = data["reliability"][name]
            predicted = [row["predicted"] for row in bins]
            came, errors = with_errors(bins, "observed")
            colour, marker = MARKERS[name]
            style = {"marker": marker, "linewidth": 1, "capsize": 2}
            title = "the likeliest outcome" if name == "likeliest" else name
            axes.errorbar(predicted, came, yerr=errors, color=colour, label=title, **style)
            highest = (value + up for value, up in zip(came, errors[1], strict=True))
            limit = max([limit, *predicted, *highest])
        axes.plot([0, limit], [0, limit], color="#666666", linestyle=":", linewidth=1)
        axes.set_xlabel("said")
        axes.set_ylabel("came")
        axes.legend(frameon=False)
    figure.suptitle(f"{data['checkpoint']['name']}: {sample(data)}; bars: 95% over matches")
    return figure


DRAWINGS: dict[str, Callable[[Data], Figure]] = {
    "scales": heads,
    "methods": faithfulness,
    "reliability": calibration,
}
"""The drawing function of each kind of JSON document. The key is a key of the document that no
other kind has."""


def main() -> None:
    source, picture = map(Path, sys.argv[1:])
    data = json.loads(source.read_text(encoding="utf-8"))
    draw = next(draw for member, draw in DRAWINGS.items() if member in data)
    # No date is written, so that the same data always gives the same file.
    metadata = {"Date": None} if picture.suffix == ".svg" else None
    draw(data).savefig(picture, dpi=200, metadata=metadata)


if __name__ == "__main__":
    main()

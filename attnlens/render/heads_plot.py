"""A picture of what heads look at: a grid of heads by relations for every scale.

Needs matplotlib, which is imported only when a picture is asked for. Orange is more than
even attention, blue less; lightness tells how much, so the picture also reads in grey, and
every cell says its number.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Final

from attnlens.explanation.heatmap import UNNAMED, UNSPECIALISED

MOST: Final = 2.0
"""Colours end at four times, or a quarter of, even attention: two doublings."""

LESS, EVEN, MORE = "#2166ac", "#f7f7f7", "#d9730d"
BAR: Final = "#4d4d4d"


def save_heads(data: Mapping[str, Any], path: str | os.PathLike[str], file_format: str) -> None:
    """Draw the document of ``attnlens heads``.

    Args:
        data: the document.
        file_format: ``svg``, ``png`` or ``pdf``.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    scales = data["scales"]
    relations = data["relations"]
    rows = [len(scale["heads"]) for scale in scales]
    figure = Figure(figsize=(11, 1.9 + 0.36 * sum(rows) + 0.5 * len(rows)), layout="constrained")
    grid = figure.subplots(
        len(scales), 2, squeeze=False, height_ratios=rows, width_ratios=(3.4, 1.0)
    )
    colours = LinearSegmentedColormap.from_list("lift", (LESS, EVEN, MORE))
    longest = max(head["importance"]["points_ci"][1] for scale in scales for head in scale["heads"])
    image = None
    for number, scale in enumerate(scales):
        last = number == len(scales) - 1
        image = _lifts(grid[number][0], scale, relations, colours, bottom=last)
        _importances(grid[number][1], scale, 1.05 * longest, bottom=last)
    if image is not None:
        bar = figure.colorbar(
            image, ax=grid[:, 0].tolist(), location="bottom", shrink=0.5, aspect=40, pad=0.01
        )
        bar.set_ticks([-2, -1, 0, 1, 2], labels=["¼", "½", "even", "2×", "4×"])
        bar.set_label(
            "attention on the relation's balls, against even attention "
            "(framed: the name the head has earned)",
            fontsize=8,
        )
        bar.ax.tick_params(labelsize=8)
    figure.suptitle(
        f"Heads of {data['model']['name']}: what they look at, and what the prediction loses "
        f"without them ({data['balls']:,} balls of {data['matches']:,} matches)",
        fontsize=10,
    )
    # Without a date, so that the same figures give the same file.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format)
    figure.savefig(path, format=file_format, dpi=200, metadata=metadata)


def _lifts(
    axes: Any, scale: Mapping[str, Any], relations: Any, colours: Any, *, bottom: bool
) -> Any:
    """One panel: heads down, relations across."""
    heads = scale["heads"]
    cells = [[_doublings(row["lift"]) for row in head["relations"]] for head in heads]
    image = axes.imshow(cells, cmap=colours, vmin=-MOST, vmax=MOST, aspect="auto")
    for row, head in enumerate(heads):
        for column, relation in enumerate(head["relations"]):
            lift = relation["lift"]
            earned = relation["relation"] == head["earned"]
            dark = lift is not None and abs(_doublings(lift)) > 0.75 * MOST
            axes.text(
                column,
                row,
                "–" if lift is None else f"{lift:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                fontweight="bold" if earned else "normal",
                color="white" if dark else "black",
            )
            if earned:
                _frame(axes, column, row)
    axes.set_yticks(range(len(heads)), [_label(head) for head in heads], fontsize=8)
    axes.set_xticks(
        range(len(relations)),
        [name.replace("_", "\n") for name in relations] if bottom else [],
        fontsize=8,
    )
    axes.tick_params(length=0)
    axes.set_title(
        f"{scale['scale']}: {scale['question']} (last {scale['window']} {scale['unit']})",
        fontsize=9,
        loc="left",
    )
    for side in axes.spines.values():
        side.set_visible(False)
    return image


def _frame(axes: Any, column: int, row: int) -> None:
    """A box around the relation whose name a head has earned."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, edgecolor="black", lw=1.6)
    )


def _label(head: Mapping[str, Any]) -> str:
    start = "free" if head["pattern"] == UNNAMED else head["pattern"].replace("_", " ")
    earned = head["earned"].replace("_", " ")
    return f"{head['number']} {start} → {'—' if earned == UNSPECIALISED else earned}"


def _importances(axes: Any, scale: Mapping[str, Any], longest: float, *, bottom: bool) -> None:
    """Bars beside the panel, each with its interval."""
    found = [head["importance"] for head in scale["heads"]]
    points = [one["points"] for one in found]
    ends = [
        [value - one["points_ci"][0] for value, one in zip(points, found, strict=True)],
        [one["points_ci"][1] - value for value, one in zip(points, found, strict=True)],
    ]
    places = range(len(points))
    axes.barh(places, points, height=0.6, color=BAR)
    axes.errorbar(points, places, xerr=ends, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    axes.set_ylim(len(points) - 0.5, -0.5)
    axes.set_xlim(0, longest)
    axes.set_yticks([])
    axes.tick_params(labelsize=8, labelbottom=bottom)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if bottom:
        axes.set_xlabel("largest change of an outcome\nwithout the head (points)", fontsize=8)


def _doublings(lift: float | None) -> float:
    """log2, kept within the colours; even attention where there is nothing to tell."""
    if lift is None:
        return 0.0
    return max(-MOST, min(MOST, math.log2(lift))) if lift > 0 else -MOST

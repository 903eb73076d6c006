"""Pictures of ``attnlens heads``, ``faithfulness`` and ``evaluate``.

They need matplotlib, which is imported only when a picture is asked for. Colours differ in
lightness too, or in shape, and everything is named, so that each picture also reads in grey.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.model.heads import UNNAMED, UNSPECIALISED
from attnlens.cricket.pages.faithfulness_table import CONTROLS, TITLES

if TYPE_CHECKING:
    from attnlens.cricket.study.evaluate import Evaluation
    from attnlens.cricket.study.faithfulness import Faithfulness
    from attnlens.cricket.study.head_report import Head, Scale
    from attnlens.cricket.study.head_stability import HeadsDocument

MOST: Final = 2.0
"""Colours of heads end at four times, or a quarter of, even attention: two doublings."""

LESS, EVEN, MORE, GREY = "#2166ac", "#f7f7f7", "#d9730d", "#9a9a9a"
DARK: Final = "#333333"
PANELS: Final[tuple[tuple[str, str], ...]] = (
    ("spearman_last36", "Spearman with single-ball effects,\nlast 36 balls (more is faithful)"),
    ("partial_spearman_last36", "the same beyond distance\n(more is faithful)"),
    ("comprehensiveness_kl", "nats lost without the first k balls\n(more is faithful)"),
    ("sufficiency_kl", "nats lost with only the first k balls\n(less is faithful)"),
)
MARKERS: Final[Mapping[str, tuple[str, str]]] = {
    "likeliest": ("#0072B2", "o"),
    "4": ("#E69F00", "s"),
    "6": ("#009E73", "^"),
    "W": ("#D55E00", "D"),
}
"""Colours apart in every common colour blindness (Okabe and Ito 2008), and shapes."""

Place = str | os.PathLike[str]


def save_heads(data: HeadsDocument, path: Place, file_format: str) -> None:
    """Draws the document of ``attnlens heads``: a grid of heads by relations for every scale.

    Orange is more than even attention, blue less; every cell says its number.

    Args:
        file_format: ``svg``, ``png`` or ``pdf``.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    report = data.report
    scales = report.scales
    rows = [len(scale.heads) for scale in scales]
    figure = Figure(figsize=(11, 1.9 + 0.36 * sum(rows) + 0.5 * len(rows)), layout="constrained")
    grid = figure.subplots(
        len(scales), 2, squeeze=False, height_ratios=rows, width_ratios=(3.4, 1.0)
    )
    colours = LinearSegmentedColormap.from_list("lift", (LESS, EVEN, MORE))
    longest = max(head.importance.points.known[2] for scale in scales for head in scale.heads)
    image = None
    for (left, right), scale in zip(grid, scales, strict=True):
        last = scale is scales[-1]
        image = _lifts(left, scale, report.relations, colours, bottom=last)
        _importances(right, scale, 1.05 * longest, bottom=last)
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
        f"Heads of {data.model.name}: what they look at, and what the prediction loses "
        f"without them ({report.balls:,} balls of {report.matches:,} matches)",
        fontsize=10,
    )
    _save(figure, path, file_format)


def _save(figure: Any, path: Place, file_format: str) -> None:
    """Writes a picture without a date, so that the same figures give the same file."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format)
    figure.savefig(path, format=file_format, dpi=200, metadata=metadata)


def _errors(figures: Sequence[tuple[float, float, float]]) -> list[list[float]]:
    """How far intervals go below and above a figure, which need not lie inside its own.

    Args:
        figures: each with the ends of its interval: value, low, high.
    """
    below = [max(value - low, 0.0) for value, low, _ in figures]
    above = [max(high - value, 0.0) for value, _, high in figures]
    return [below, above]


def _bare(axes: Any, *sides: str) -> None:
    """Takes lines of the frame away."""
    for side in sides:
        axes.spines[side].set_visible(False)


def _lifts(axes: Any, scale: Scale, relations: Sequence[str], colours: Any, *, bottom: bool) -> Any:
    """One panel: heads down, relations across."""
    heads = scale.heads
    cells = [[_doublings(row.lift.value) for row in head.relations] for head in heads]
    image = axes.imshow(cells, cmap=colours, vmin=-MOST, vmax=MOST, aspect="auto")
    for row, head in enumerate(heads):
        for column, relation in enumerate(head.relations):
            earned = relation.relation == head.earned
            axes.text(
                column,
                row,
                "–" if relation.lift.value is None else f"{relation.lift.value:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                fontweight="bold" if earned else "normal",
                color="white" if abs(cells[row][column]) > 0.75 * MOST else "black",
            )
            if earned:
                _frame(axes, column, row)
    axes.set_yticks(range(len(heads)), [_label(head) for head in heads], fontsize=8)
    names = [name.replace("_", "\n") for name in relations]
    axes.set_xticks(range(len(names)), names if bottom else [], fontsize=8)
    axes.tick_params(length=0)
    title = f"{scale.scale}: {scale.question} (last {scale.window} {scale.unit})"
    axes.set_title(title, fontsize=9, loc="left")
    _bare(axes, *axes.spines)
    return image


def _frame(axes: Any, column: int, row: int) -> None:
    """A box around the relation whose name a head has earned."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, edgecolor="black", lw=1.6)
    )


def _label(head: Head) -> str:
    start = "free" if head.pattern == UNNAMED else head.pattern.replace("_", " ")
    earned = head.earned.replace("_", " ")
    return f"{head.number} {start} → {'—' if earned == UNSPECIALISED else earned}"


def _importances(axes: Any, scale: Scale, longest: float, *, bottom: bool) -> None:
    """Bars beside the panel, each with its interval."""
    figures = [head.importance.points.known for head in scale.heads]
    points = [value for value, _, _ in figures]
    errors = _errors(figures)
    axes.barh(range(len(points)), points, height=0.6, color="#4d4d4d", xerr=errors, capsize=2)
    axes.set_ylim(len(points) - 0.5, -0.5)
    axes.set_xlim(0, longest)
    axes.set_yticks([])
    axes.tick_params(labelsize=8, labelbottom=bottom)
    _bare(axes, "top", "right")
    if bottom:
        axes.set_xlabel("largest change of an outcome\nwithout the head (points)", fontsize=8)


def _doublings(lift: float | None) -> float:
    """log2, kept within the colours; even attention where there is nothing to tell."""
    if lift is None:
        return 0.0
    return max(-MOST, min(MOST, math.log2(lift))) if lift > 0 else -MOST


def save_faithfulness(data: Faithfulness, path: Place, file_format: str) -> None:
    """Draws the document of ``attnlens faithfulness``: bars with 95% intervals over matches.

    Attention is orange, other methods blue, controls grey.

    Args:
        file_format: ``svg``, ``png`` or ``pdf``.
    """
    from matplotlib.figure import Figure

    methods = data.methods
    names = list(methods)
    panels = [panel for panel in PANELS if panel[0] in methods[names[0]].figures]
    size = (3.1 * len(panels) + 1.4, 1.6 + 0.34 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    colours = [MORE if one == "attention" else GREY if one in CONTROLS else LESS for one in names]
    for axes, (key, title) in zip(grid, panels, strict=True):
        figures = [methods[name].figures[key].known for name in names]
        values, errors = [value for value, _, _ in figures], _errors(figures)
        axes.barh(range(len(names)), values, color=colours, xerr=errors, ecolor=DARK)
        axes.set_title(title, fontsize=8)
        axes.set_yticks(range(len(names)), [TITLES.get(name, name) for name in names])
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="x", nbins=4)  # more would run into each other
        axes.invert_yaxis()
        axes.axvline(0, color=DARK, linewidth=0.8)
        _bare(axes, "top", "right")
    for axes in grid[1:]:
        axes.set_yticklabels([])
    figure.suptitle(
        f"Does attention of {data.model.name} say what mattered? {data.balls:,} balls of "
        f"{data.matches:,} matches; bars: 95% over matches",
        fontsize=9,
    )
    _save(figure, path, file_format)


def save_diagram(data: Evaluation, path: Place, file_format: str) -> None:
    """Draws how often outcomes came, against how likely they were said to be.

    Args:
        data: the document.
        file_format: ``svg``, ``png`` or ``pdf``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    panels = (("likeliest",), ("4", "6", "W"))
    for axes, names in zip(figure.subplots(1, 2), panels, strict=True):
        most = 0.0
        for name in names:
            bins = data.reliability[name]
            said = [each.predicted for each in bins]
            came = [each.observed.known_value for each in bins]
            ends = [each.observed.ci or (each.observed.known_value,) * 2 for each in bins]
            figures = [(value, low, high) for value, (low, high) in zip(came, ends, strict=True)]
            colour, marker = MARKERS[name]
            label = "the likeliest outcome" if name == "likeliest" else name
            style = {"marker": marker, "linewidth": 1, "markersize": 5, "capsize": 2}
            axes.errorbar(said, came, yerr=_errors(figures), color=colour, label=label, **style)
            most = max([most, *said, *(high for _, high in ends)])
        axes.plot([0, most], [0, most], color="#666666", linestyle=":", linewidth=1)
        axes.set_xlabel("said")
        axes.set_ylabel("came")
        axes.legend(frameon=False)
    checkpoint = data.checkpoint.name.replace("$", r"\$")
    figure.suptitle(
        f"{checkpoint}: {data.balls:,} balls of {data.matches:,} matches; "
        "bars hold 95% of resamples of matches"
    )
    _save(figure, path, file_format)

"""A reliability diagram: how often outcomes came, against how likely they were said to be.

matplotlib is imported here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

COLOURS: Final[Mapping[str, str]] = {
    "likeliest": "#0072B2",
    "4": "#E69F00",
    "6": "#009E73",
    "W": "#D55E00",
}
"""Apart in every common colour blindness (Okabe and Ito 2008); shapes differ too."""

SHAPES: Final[Mapping[str, str]] = {"likeliest": "o", "4": "s", "6": "^", "W": "D"}


def save_diagram(data: Mapping[str, Any], path: str | os.PathLike[str], file_format: str) -> None:
    """Draw the reliability of an evaluation.

    Args:
        data: `attnlens.cricket.evaluate.evaluation`'s.
        file_format: ``svg``, ``png`` or ``pdf``.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2)
    for axes, names in zip(panels, (("likeliest",), ("4", "6", "W")), strict=True):
        most = 0.0
        for name in names:
            bins = data["reliability"][name]
            said = [one["predicted"] for one in bins]
            came = [one["observed"] for one in bins]
            ends = [one["observed_ci"] or (one["observed"], one["observed"]) for one in bins]
            # A resampled interval need not hold the figure itself where a bin is small.
            below = [max(c - low, 0) for c, (low, _) in zip(came, ends, strict=True)]
            above = [max(high - c, 0) for c, (_, high) in zip(came, ends, strict=True)]
            label = "the likeliest outcome" if name == "likeliest" else name
            axes.errorbar(
                said,
                came,
                yerr=[below, above],
                color=COLOURS[name],
                marker=SHAPES[name],
                linewidth=1,
                markersize=5,
                capsize=2,
                label=label,
            )
            most = max([most, *said, *(high for _, high in ends)])
        axes.plot([0, most], [0, most], color="#666666", linestyle=":", linewidth=1)
        axes.set_xlabel("said")
        axes.set_ylabel("came")
        axes.legend(frameon=False)
    checkpoint = data["checkpoint"]["name"].replace("$", r"\$")
    figure.suptitle(
        f"{checkpoint}: {data['balls']:,} balls of {data['matches']:,} matches; "
        "bars hold 95% of resamples of matches"
    )
    figure.savefig(
        path, format=file_format, metadata={"Date": None} if file_format == "svg" else {}
    )

"""A picture of ``attnlens faithfulness``: rank agreement and removal by method.

Needs matplotlib, which is imported only when a picture is asked for. Attention is orange,
other methods blue, controls grey: three shades that also differ in grey, and every bar is
named.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from attnlens.render.faithfulness_table import CONTROLS, TITLES

ATTENTION, METHOD, CONTROL = "#d9730d", "#2166ac", "#9a9a9a"
PANELS: Final[tuple[tuple[str, str], ...]] = (
    ("spearman_last36", "Spearman with single-ball effects,\nlast 36 balls (more is faithful)"),
    ("partial_spearman_last36", "the same beyond distance\n(more is faithful)"),
    ("comprehensiveness_kl", "nats lost without the first k balls\n(more is faithful)"),
    ("sufficiency_kl", "nats lost with only the first k balls\n(less is faithful)"),
)


def save_faithfulness(
    data: Mapping[str, Any], path: str | os.PathLike[str], file_format: str
) -> None:
    """Draw the document of ``attnlens faithfulness``: bars with 95% intervals over matches.

    Args:
        data: the document.
        file_format: ``svg``, ``png`` or ``pdf``.
    """
    from matplotlib.figure import Figure

    methods = data["methods"]
    names = list(methods)
    panels = [panel for panel in PANELS if panel[0] in methods[names[0]]]
    figure = Figure(
        figsize=(3.1 * len(panels) + 1.4, 1.6 + 0.34 * len(names)), layout="constrained"
    )
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    colours = [
        ATTENTION if name == "attention" else CONTROL if name in CONTROLS else METHOD
        for name in names
    ]
    for axis, (key, title) in zip(axes, panels, strict=True):
        values = [methods[name][key] for name in names]
        ends = [methods[name][f"{key}_ci"] for name in names]
        errors = [
            [max(value - low, 0.0) for value, (low, _) in zip(values, ends, strict=True)],
            [max(high - value, 0.0) for value, (_, high) in zip(values, ends, strict=True)],
        ]
        axis.barh(range(len(names)), values, color=colours, xerr=errors, ecolor="#333333")
        axis.set_title(title, fontsize=8)
        axis.set_yticks(range(len(names)), [TITLES.get(name, name) for name in names])
        axis.tick_params(labelsize=8)
        axis.locator_params(axis="x", nbins=4)  # more would run into each other
        axis.invert_yaxis()
        axis.axvline(0, color="#333333", linewidth=0.8)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    for axis in axes[1:]:
        axis.set_yticklabels([])
    figure.suptitle(
        f"Does attention of {data['model']['name']} say what mattered? {data['balls']:,} balls of "
        f"{data['matches']:,} matches; bars: 95% over matches",
        fontsize=9,
    )
    # Without the day in it, the same figures make the same file.
    metadata = {"Date": None} if file_format == "svg" else {}
    figure.savefig(path, format=file_format, dpi=150, metadata=metadata)

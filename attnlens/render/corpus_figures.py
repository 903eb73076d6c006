"""Small drawings of a corpus's report, as inline SVG: bars, spans, diagrams, heads by relation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.html_text import share, text

WIDTH: Final = 120
"""Of the bars in tables; lengths are in units of the drawing."""

SIDE: Final = 150
MARGIN: Final = 26

NAME, CELL, ROW, TOP, LEAN = 148, 42, 20, 72, 44
"""Of the heads by relations: names, cells, lines, and room for the leaning words."""

RELATION_WORDS: Final[Mapping[str, str]] = {
    "same_over": "this over",
    "same_bowler": "same bowler",
    "same_batsman": "same batter",
    "same_matchup": "same pair",
    "boundary": "boundaries",
    "wicket_adjacent": "near wickets",
    "boundary_cluster": "boundary clusters",
    "over_boundary": "ends of overs",
}


def stacked_svg(weights: Sequence[float]) -> str:
    """Shares of a whole, side by side."""
    drawn, start = [], 0.0
    for place, weight in enumerate(weights):
        drawn.append(
            f'<rect class="part{place}" x="{start * WIDTH:.1f}" y="1" '
            f'width="{max(weight * WIDTH - 0.8, 0):.1f}" height="12"/>'
        )
        start += weight
    return _bar(drawn)


def span_svg(value: float, low: float, high: float) -> str:
    """A share from 0 to 1 with its interval."""
    x, left, right = (end * (WIDTH - 4) + 2 for end in (value, low, high))
    return _bar(
        [
            f'<rect class="base" x="0" y="6" width="{WIDTH}" height="2"/>',
            f'<rect class="span" x="{left:.1f}" y="4" width="{max(right - left, 1):.1f}" '
            'height="6"/>',
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="14"/>',
        ]
    )


def _bar(drawn: Sequence[str]) -> str:
    return (
        f'<svg class="bar" viewBox="0 0 {WIDTH} 14" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(drawn)}</svg>'
    )


def reliability_svg(one: Mapping[str, Any]) -> str:
    """What was said beside what came, of one outcome.

    Args:
        one: an entry of the report's ``calibration``, with a bin at least.
    """
    bins = one["bins"]
    most = _round_up(max(max(entry["predicted"], entry["high"]) for entry in bins))

    def x(value: float) -> str:
        return f"{MARGIN + value / most * SIDE:.1f}"

    def y(value: float) -> str:
        return f"{6 + SIDE - value / most * SIDE:.1f}"

    told = "; ".join(
        f"said {share(entry['predicted'], 1)}, came {share(entry['observed'], 1)} of "
        f"{entry['balls']:,}"
        for entry in bins
    )
    drawn = [
        f'<svg class="reliability" viewBox="0 0 {MARGIN + SIDE + 12} {SIDE + 26}" role="img" '
        f'aria-label="Reliability: {told}">',
        f'<rect class="frame" x="{MARGIN}" y="6" width="{SIDE}" height="{SIDE}"/>',
        f'<line class="even" x1="{x(0)}" y1="{y(0)}" x2="{x(most)}" y2="{y(most)}"/>',
    ]
    for tick in (0.0, most / 2, most):
        words = share(tick, 0 if most >= 0.1 else 1)
        drawn.append(f'<text class="down" x="{MARGIN - 3}" y="{y(tick)}" dy="3">{words}</text>')
        drawn.append(f'<text class="across" x="{x(tick)}" y="{SIDE + 19}">{words}</text>')
    for entry in bins:
        at = x(entry["predicted"])
        drawn.append(
            f'<line class="whisker" x1="{at}" x2="{at}" y1="{y(entry["low"])}" '
            f'y2="{y(entry["high"])}"/>'
            f'<circle cx="{at}" cy="{y(entry["observed"])}" r="2.6"/>'
        )
    return "".join(drawn) + "</svg>"


def _round_up(value: float) -> float:
    """A round number not below, for the end of an axis."""
    step = 10 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return min(next(step * times for times in (1, 2, 4, 5, 6, 8, 10) if step * times >= value), 1.0)


def head_matrix(phase: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Heads down, relations across, each cell the ratio to uniform attention."""
    relations = [entry["relation"] for entry in rows[0]["relations"]]
    width = NAME + CELL * len(relations) + LEAN
    height = TOP + ROW * len(rows) + 4
    drawn = [
        f'<svg class="matrix" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="How many times as much as uniform attention each head pays each '
        f'relation, {text(phase)}">'
    ]
    for column, relation in enumerate(relations):
        at = NAME + CELL * column + CELL / 2
        drawn.append(
            f'<text class="column" transform="translate({at:.0f} {TOP - 6}) rotate(-38)">'
            f"{text(RELATION_WORDS[relation])}</text>"
        )
    for line, row in enumerate(rows):
        top = TOP + ROW * line
        label = head_label(f"{row['scale']} {row['head']}")
        drawn.append(f'<text class="name" x="{NAME - 6}" y="{top + 14}">{text(label)}</text>')
        for column, entry in enumerate(row["relations"]):
            drawn.append(_cell(entry, label, NAME + CELL * column, top))
    return "\n".join(drawn) + "\n</svg>"


def head_label(told: str) -> str:
    """``medium 2 same batsman`` of ``medium head_2_same_batsman``."""
    return told.replace("head_", "").replace("_", " ")


def _cell(entry: Mapping[str, Any], label: str, x: int, y: int) -> str:
    ratio = entry["ratio"]
    if ratio is None:
        return f'<text class="figure none" x="{x + CELL / 2:.0f}" y="{y + 14}">·</text>'
    way = "more" if ratio >= 1 else "less"
    strength = min(abs(math.log2(max(ratio, 1 / 16))) / 2.5, 1.0)
    told = (
        f"{label}, {RELATION_WORDS[entry['relation']]}: {share(entry['share'], 1)} of past "
        f"attention, uniform {share(entry['uniform'], 1)}"
    )
    return (
        f'<g><title>{told}</title><rect class="{way}" x="{x}" y="{y}" width="{CELL - 1}" '
        f'height="{ROW - 1}" fill-opacity="{0.75 * strength:.2f}"/>'
        f'<text class="figure" x="{x + CELL / 2:.0f}" y="{y + 14}">{ratio:.1f}</text></g>'
    )

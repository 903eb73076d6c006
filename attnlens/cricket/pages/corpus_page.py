"""A corpus's report as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from attnlens.cricket.predictor.heads import head_words
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.render.heat_map import Cell, Column, HeatMap, Row
from attnlens.render.numbers import percent_seen
from attnlens.render.page import render_page
from attnlens.render.safe import LONGEST, visible_all
from attnlens.words import count

Report: TypeAlias = dict[str, Any]
"""`attnlens.cricket.corpus.report.report_data`'s, or a part of it."""

FEWEST_EVENTS: Final = 50
"""An outcome that came less often has no diagram."""

MOST_DOUBLINGS: Final = 2.5
"""The strongest colour stands for so many doublings, or halvings, of uniform attention."""

SIDE: Final = 150
MARGIN: Final = 26
"""Side of a diagram and the room left of it, in units of the drawing."""

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


def render_corpus(data: Report) -> str:
    """The page, without a final line break."""
    shown: Report = visible_all(data, LONGEST + 4)
    figures = shown["figures"]
    phases = dict.fromkeys(row["phase"] for row in shown["attention"])
    return render_page(
        "cricket/corpus.html",
        title=f"{count(figures['balls'], 'ball')} of "
        f"{count(figures['matches'], 'match', 'matches')}",
        styles=("cricket/corpus.css",),
        d=shown,
        words=OUTCOME_WORDS,
        heads={f"{row['scale']} {row['head']}": head_label(row) for row in shown["attention"]},
        strongest_ratio=f"{2**MOST_DOUBLINGS:.1f}",
        matrices=[
            (phase, _matrix(phase, [row for row in shown["attention"] if row["phase"] == phase]))
            for phase in phases
        ],
        diagrams=[
            Diagram.of(one["outcome"], one["happened"], one["bins"])
            for one in shown["calibration"]
            if one["happened"] >= FEWEST_EVENTS and len(one["bins"]) > 1
        ],
    )


def head_label(row: Report) -> str:
    """``medium head 2 (same batsman)``, by the name it has earned."""
    return f"{row['scale']} {head_words(int(row['head'].split('_')[1]), row['earned'])}"


@dataclass(frozen=True, slots=True)
class Diagram:
    """How often an outcome came against how likely it was said to be, 0 to ``most`` each way."""

    outcome: str
    happened: int
    bins: Sequence[Mapping[str, float]]
    most: float

    @classmethod
    def of(cls, outcome: str, happened: int, bins: Sequence[Mapping[str, float]]) -> Diagram:
        """The diagram for an entry of the report's ``calibration``, with a bin at least."""
        most = max(max(entry["predicted"], entry["high"]) for entry in bins)
        return cls(outcome, happened, bins, _round_up(most))

    def x(self, value: float) -> str:
        """Where a share stands across."""
        return f"{MARGIN + value / self.most * SIDE:.1f}"

    def y(self, value: float) -> str:
        """Where a share stands, from above."""
        return f"{6 + SIDE - value / self.most * SIDE:.1f}"


def _round_up(value: float) -> float:
    """A round number not below, for the end of an axis."""
    step = 10 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return min(next(step * times for times in (1, 2, 4, 5, 6, 8, 10) if step * times >= value), 1.0)


def _matrix(phase: str, rows: Sequence[Report]) -> HeatMap:
    """Heads down, relations across, each cell the ratio to uniform attention."""
    relations = [entry["relation"] for entry in rows[0]["relations"]]
    drawn = []
    for row in rows:
        label = head_label(row)
        drawn.append(Row(label, [_cell(entry, label) for entry in row["relations"]]))
    return HeatMap(
        anchor=f"phase-{phase}".replace(" ", "-"),
        title=f"How many times as much as uniform attention each head pays each relation, {phase}",
        told=f"{count(len(rows), 'head')}, {count(len(relations), 'relation')}",
        columns=[Column(RELATION_WORDS[relation]) for relation in relations],
        rows=drawn,
        width=42.0,
        height=20.0,
    )


def _cell(entry: Report, label: str) -> Cell:
    ratio = entry["ratio"]
    relation = RELATION_WORDS[entry["relation"]]
    if ratio is None:
        return Cell("none", f"{label}, {relation}: no such ball", "·")
    words = (
        f"{label}, {relation}: {percent_seen(entry['share'], 1)} of past attention, uniform "
        f"{percent_seen(entry['uniform'], 1)}"
    )
    doublings = math.log2(max(ratio, 1 / 16))
    return Cell.either(doublings, MOST_DOUBLINGS, words, f"{ratio:.1f}")

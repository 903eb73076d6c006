"""What heads do: the document of ``attnlens lab heads``.

Every figure that has an interval has it beside it under the same name with ``_ci``: 95%,
whole matches resampled. What could not be measured is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from attnlens.cricket.explain.reading import SITES, head_patterns
from attnlens.cricket.lab.attention_faithfulness import add_opening
from attnlens.cricket.lab.figures import Estimate, finite
from attnlens.cricket.lab.head_study import (
    RECENCY_BALLS,
    HeadAttention,
    HeadName,
    HeadStudy,
    beyond_distance,
    name_heads,
)
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.lab.sampling import BEFORE
from attnlens.cricket.predictor.predictor import FUSED
from attnlens.cricket.predictor.relations import (
    RELATIONS,
    RelationAttention,
    starting_table,
)
from attnlens.cricket.predictor.scales import (
    QUESTIONS,
    SCALE_QUESTIONS,
    SCALES,
    UNNAMED,
    UNSPECIALISED,
    WINDOWED,
    head_key,
)
from attnlens.cricket.predictor.window import one_thread
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.canvas import Cell, Column, Line, Page, Words, add_table, terminal_page
from attnlens.render.numbers import interval, percent, rounded
from attnlens.render.numbers import number as figure_text


@one_thread()
def head_report(held: HeldOut, *, balls: int, seed: int = 5, report: Report = silent) -> Json:
    """Every head, measured on a sample of balls.

    Raises:
        InputError: no ball has 36 before it.
    """
    study = HeadStudy(held.predictor.model, list(held.innings(report)), balls=balls, seed=seed)
    if not len(study.sample):
        raise InputError(f"no ball has {BEFORE} before it", remedy="give longer innings")
    names = name_heads(study, report=report)
    scales: list[Json] = []
    for scale in SITES:
        report(f"importance of heads: {scale}")
        gate = study.recorded.gates[:, FUSED.index(scale)].mean()
        scales.append(
            {
                "scale": scale,
                "question": SCALE_QUESTIONS[scale],
                "window": SCALES[scale] if scale in WINDOWED else None,
                "unit": "overs" if scale == "long" else "balls",
                "weight": finite(gate),
                "heads": [
                    _head(study, scale, number, names[scale]) for number in range(len(names[scale]))
                ],
            }
        )
    _rank([head for scale in scales for head in scale["heads"]])
    return {
        "model": held.checkpoint,
        "dates": held.dates,
        "notes": held.notes,
        "seed": seed,
        "balls": len(study.sample),
        "matches": len(set(study.sample.matches)),
        "relations": list(RELATIONS),
        "nearest": RECENCY_BALLS,
        "scales": scales,
    }


def _rank(rows: Sequence[Json]) -> None:
    """Add the rank to each importance: 1 where the ablation moves the prediction most."""
    ordered = sorted(rows, key=lambda row: -(row["importance"]["nats"].value or 0.0))
    for rank, row in enumerate(ordered, 1):
        row["importance"]["rank"] = rank


def _head(study: HeadStudy, scale: str, number: int, names: Sequence[HeadName]) -> Json:
    """One head: what it sees and started as, the name it has earned, and its figures.

    ``sees`` is what it is restricted to, and ``hiding`` what hiding all of that does; both are null
    for a head that sees every ball of its scale.
    """
    name, looks = names[number], study.recorded.looks[scale]
    pattern = head_patterns(scale, len(names))[number]
    attention = study.model.get_submodule(SITES[scale])
    assert isinstance(attention, RelationAttention)
    biases = zip(
        RELATIONS,
        attention.bias[number].detach().double().tolist(),
        (starting_table(len(names)) * attention.own)[number].tolist(),
        strict=True,
    )
    return {
        "head": head_key(number, pattern),
        "number": number,
        "pattern": pattern or UNNAMED,
        "sees": study.sees(scale, number),
        "earned": name.earned,
        "question": QUESTIONS[
            (pattern or UNNAMED) if name.earned == UNSPECIALISED else name.earned
        ],
        "biases": [
            {"relation": relation, "value": rounded(value), "start": rounded(start)}
            for relation, value, start in biases
        ],
        "bias_share": Estimate.of(study.bootstrap.mean(looks.bias_share[:, number])),
        "self_attention": Estimate.of(study.bootstrap.mean(looks.self_weight[:, number])),
        "relations": [
            {**row, "hiding": name.tests.get(column)}
            for column, row in enumerate(study.rows[scale][number])
        ],
        "hiding": name.all_hidden,
        "mean_by_distance": _mean_by_distance(looks, number),
        "strongest": _strongest(study, looks, number),
        "importance": study.importance(SITES[scale], number, len(names)),
    }


_DISTANCES: Final = 24
"""Balls back, of which the mean attention is told."""
_STRONGEST: Final = 5


def _mean_by_distance(looks: HeadAttention, head: int) -> list[float | None]:
    """The mean share of past attention that the ball so many deliveries back gets, from 1 back."""
    shares = looks.shares[:, head]
    looked = np.isfinite(shares).all(-1)
    rows = [
        np.where(looks.distance[looked] == back, shares[looked], 0.0).sum(-1)
        for back in range(1, _DISTANCES + 1)
    ]
    return [finite(row.mean()) if len(row) else None for row in rows]


def _strongest(study: HeadStudy, looks: HeadAttention, head: int) -> list[Json]:
    """The sampled balls that look at one earlier ball most: both by number, and the share."""
    shares = np.nan_to_num(looks.shares[:, head])
    most = shares.max(-1)
    found: list[Json] = []
    for row in np.argsort(-most, kind="stable")[:_STRONGEST].tolist():
        if most[row] > 0:
            innings, ball = study.sample.places[row]
            past = ball - int(looks.distance[row, shares[row].argmax()])
            match = study.sample.matches[row]
            where = {"match_id": match, "innings": innings, "ball": ball, "looked_at": past}
            found.append({**where, "share": rounded(most[row])})
    return found


_FAVOURED_LIFT: Final = 1.25
"""A relation is listed where the lift's lower end is at least this."""

_MIN_BIAS: Final = 0.05
_MAX_BIASES: Final = 4
"""Biases of a head on a page: all that began as something, and the largest others."""

_IMPORTANCE_COLUMNS: Final = (
    Column("moves", min_width=6),
    Column("matters"),
    Column("KL", min_width=6),
    Column("rank", min_width=5),
)
_HEAD_COLUMNS: Final = (
    Words("head", min_width=7),
    Words("earned the name", min_width=16),
    Words("sees", min_width=13, style="quiet"),
    Column("bias"),
    Column("self"),
    *_IMPORTANCE_COLUMNS,
)
_LEGEND: Final = (
    "sees: the only balls that a head may look at; it earns that name, and no other, where it "
    "matters to hide them all from it",
    "bias: how much of a head's preference among balls is its learnt bias and not content",
    "self: weight on the current ball itself, or on nothing (whole): nothing in the past matters",
    "x1.50 [1.40, 1.60]: gets 1.5 times what even attention would give; 95% interval, "
    "whole matches resampled",
    "hidden: on how many balls it matters to hide those balls from this head alone; 'no': on "
    "too few, or no more than hiding other balls",
    "moves, matters, KL, rank: with what it says replaced by its average: the largest change "
    "of an outcome in points, on how many balls it matters, thousandths of a nat, the place "
    "among its like",
    "it matters where an outcome moves by half a point or the prediction by 0.0005 nats",
)


@terminal_page(max_width=110)
def render_heads(page: Page, document: Json) -> None:
    """The document of `head_report`."""
    add_opening(page, document, f"what the heads of {document['model']['name']} do, over")
    for scale in document["scales"]:
        _add_scale(page, scale)
    for line in _LEGEND:
        page.paragraph(line, "quiet")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _percent(figure: Estimate) -> str:
    return "" if figure.value is None else percent(figure.value)


def _importance_cells(part: Json) -> list[Cell]:
    """Cells under `_IMPORTANCE_COLUMNS`; KL in thousandths of a nat."""
    importance = part["importance"]
    nats = importance["nats"].value
    return [
        figure_text(importance["points"].value),
        _percent(importance["matters"]),
        figure_text(None if nats is None else 1000 * nats),
        str(importance["rank"]),
    ]


def _add_scale(page: Page, scale: Json) -> None:
    heads = scale["heads"]
    weight = "" if scale["weight"] is None else percent(scale["weight"])
    window = f"; the last {scale['window']} {scale['unit']}" if scale["window"] else ""
    page.paragraph(
        f"{scale['scale']}: {scale['question']}{window}, {weight} of the prediction's mix",
        "heading",
        indent=0,
    )
    rows: list[list[Cell]] = [
        [
            f"head {head['number']}",
            (_words(head["earned"]), "quiet" if head["earned"] == UNSPECIALISED else "supported"),
            f"{_words(head['sees'])} only" if head["sees"] else "all",
            _percent(head["bias_share"]),
            _percent(head["self_attention"]),
            *_importance_cells(head),
        ]
        for head in heads
    ]

    def below(row: int) -> None:
        _add_relations(page, heads[row])
        _add_biases(page, heads[row]["biases"])

    add_table(page, _HEAD_COLUMNS, rows, below=below)
    page.blank()


def _add_relations(page: Page, head: Json) -> None:
    """The relations a head favours, with what hiding them did; of a restricted head all it sees."""
    if head["sees"]:
        if head["hiding"]:
            matters = _percent(head["hiding"]["matters"])
            page.paragraph(f"all it sees hidden: {matters}", "quiet", indent=6)
        return
    favoured = [
        row for row in head["relations"] if row["lift"].ci and row["lift"].ci[0] >= _FAVOURED_LIFT
    ]
    if not favoured:
        page.paragraph("favours no relation", "quiet", indent=6)
        return
    items: list[Line] = []
    for row in sorted(favoured, key=lambda row: -(row["departure_nats"] or 0.0)):
        lift, test = row["lift"], row["hiding"]
        text = f"{_words(row['relation'])} x{lift.value:.2f} {interval(lift.ci, 2)}"
        if test is not None:
            text += f" hidden: {_percent(test['matters'])}{'' if test['supports'] else ' no'}"
        elif not beyond_distance(row):
            text += " (only as near as it is)"
        mark = ";" if len(items) < len(favoured) - 1 else ""
        style = "name" if row["relation"] == head["earned"] else "quiet"
        items.append([(text + mark, style)])
    page.flow(items, indent=6, gap=1)


def _add_biases(page: Page, biases: Sequence[Json]) -> None:
    rows = [row for row in biases if row["start"] or abs(row["value"]) >= _MIN_BIAS]
    rows.sort(key=lambda row: (-abs(row["start"]), -abs(row["value"])))
    words = [
        f"{_words(row['relation'])} {row['value']:+.2f}"
        + (f" (began {row['start']:+.2f})" if row["start"] else "")
        for row in rows[:_MAX_BIASES]
    ]
    page.paragraph(f"learnt biases: {', '.join(words) or 'none'}", "quiet", indent=6)

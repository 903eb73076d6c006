"""Do heads do the same in other checkpoints, and do explanations say the same?

A head's role is its *profile*: by how much it pays each relation more than uniform attention
would. Heads of two checkpoints are compared by number, and by the one-to-one matching of
their profiles that fits best, since training may give two heads each other's role.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.heads import best_matching, correlation
from attnlens.cricket.evidence import baseline_and_contributions
from attnlens.cricket.head_report import told
from attnlens.cricket.head_sample import sample_balls
from attnlens.cricket.held_out import EncodedInnings
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import cut_window
from attnlens.errors import InputError
from attnlens.explanation.heatmap import head_key
from attnlens.models.relation_attention import STARTING_PATTERNS

Floats = NDArray[np.float64]


def profiles(report: dict[str, Any]) -> dict[str, Floats]:
    """Share above uniform by scale, ``(head, relation)``, from `head_report`'s document."""
    return {
        scale["scale"]: np.array(
            [
                [
                    np.nan if row["share"] is None else row["share"] - row["uniform"]
                    for row in head["relations"]
                ]
                for head in scale["heads"]
            ]
        )
        for scale in report["scales"]
    }


def names_of_heads(report: dict[str, Any]) -> dict[str, list[str]]:
    """Earned names by scale, from `head_report`'s document."""
    return {
        scale["scale"]: [head["earned"] for head in scale["heads"]] for scale in report["scales"]
    }


def roles(reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far each head of the first report has the same role in the others.

    Returns:
        per scale: ``heads``, each with the correlation of its profile with the same head of
        each other report, whether all give it the same name, and in each other report the
        head that the best matching gives it, with that correlation; and how many heads'
        names agree, by number and by matching.
    """
    mine, others = profiles(reports[0]), [profiles(report) for report in reports[1:]]
    names = [names_of_heads(report) for report in reports]
    found = []
    for scale, table in mine.items():
        likeness = [_likeness(table, other[scale]) for other in others]
        matched = [best_matching(one) for one in likeness]
        heads: list[dict[str, Any]] = []
        for number in range(len(table)):
            theirs = [given[scale] for given in names[1:]]
            same = [one[number] if number < len(one) else None for one in theirs]
            best = [
                match[number] if match[number] < len(one) else None
                for match, one in zip(matched, theirs, strict=True)
            ]
            pattern = STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None
            own = names[0][scale][number]
            heads.append(
                {
                    "head": head_key(number, pattern),
                    "names": [own, *same],
                    "same_name": all(name == own for name in same),
                    "correlations": [told(one[number, number]) for one in likeness],
                    "best_match": best,
                    "best_match_correlations": [
                        None if place is None else told(one[number, place])
                        for place, one in zip(best, likeness, strict=True)
                    ],
                    "best_match_same_name": all(
                        place is not None and one[place] == own
                        for place, one in zip(best, theirs, strict=True)
                    ),
                }
            )
        found.append(
            {
                "scale": scale,
                "heads": heads,
                "same_names": sum(head["same_name"] for head in heads),
                "same_names_matched": sum(head["best_match_same_name"] for head in heads),
            }
        )
    return found


def _likeness(first: Floats, second: Floats) -> Floats:
    """Correlations of profiles, square; NaN where one checkpoint has no such head."""
    size = max(len(first), len(second))
    table = np.full((size, size), np.nan)
    for row, one in enumerate(first):
        for column, other in enumerate(second):
            table[row, column] = correlation(one, other)
    return table


def contributions_alike(
    predictors: Sequence[TrainedPredictor],
    innings: Sequence[Sequence[EncodedInnings]],
    *,
    balls: int,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """How alike the contributions to the same balls are between checkpoints.

    Exact Shapley values of the explanation's groups, in percentage points; each of the
    other checkpoints against the first.

    Args:
        innings: the same innings for every predictor, each encoded with its own ratings.

    Returns:
        ``balls``; ``pairs``, one per other checkpoint: the correlation over balls, groups
        and outcomes, the mean absolute difference in points, and both ``by_group``.
    """
    asked = [sample_balls(one, balls, seed) for one in innings]
    tables: list[Floats] = []
    groups: tuple[str, ...] = ()
    for predictor, chosen in zip(predictors, asked, strict=True):
        parts = []
        for encoded, places in chosen:
            assert isinstance(encoded, EncodedInnings)
            for place in places:
                window = cut_window(encoded.match, encoded.side, encoded.arrays, place + 1)
                _, groups, table = baseline_and_contributions(predictor, window)
                parts.append(100 * table)
            report(f"contributions under {predictor.name}: {len(parts)} balls")
        tables.append(np.stack(parts))
    first = tables[0]
    return {
        "balls": len(first),
        "pairs": [
            {
                "checkpoint": predictor.name,
                **_alike(first, other),
                "by_group": [
                    {"group": group, **_alike(first[:, number], other[:, number])}
                    for number, group in enumerate(groups)
                ],
            }
            for predictor, other in zip(predictors[1:], tables[1:], strict=True)
        ],
    }


def _alike(first: Floats, second: Floats) -> dict[str, Any]:
    return {
        "correlation": told(correlation(first.ravel(), second.ravel())),
        "mean_absolute_points": told(float(np.abs(first - second).mean())),
    }


def same_innings(
    first: Sequence[EncodedInnings], other: Sequence[EncodedInnings], name: str
) -> None:
    """Whether two checkpoints are judged on the same innings.

    Raises:
        InputError: they are not.
    """

    def keys(innings: Sequence[EncodedInnings]) -> list[tuple[str, int]]:
        return [(one.match_id, one.innings) for one in innings]

    if keys(first) != keys(other):
        raise InputError(
            "was trained up to another date, so other matches are held out from it",
            path=name,
            remedy="compare checkpoints of one training split, or give --from a day after both",
        )

"""A corpus summed up, as plain data: where attention goes, when it holds, what surprises.

Every share of trials has Wilson's interval; every mean over balls an interval in which whole
matches, not balls, are independent. Groups of fewer than `Least` are counted, not shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from attnlens.cricket.corpus.folder import Corpus
from attnlens.cricket.corpus.questions import SURPRISING, Row, day_of, opened, rows_of
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.heads import SCALES, SHARES
from attnlens.cricket.predictor.predictor import FUSED
from attnlens.cricket.predictor.ratings import PHASES
from attnlens.errors import InputError
from attnlens.evidence.scores import ratio_interval, wilson
from attnlens.render.numbers import rounded_all

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BINS: Final = 10
STEPS: Final = 2000
"""Levels of probability that are told apart before bins are made of them."""

LISTED: Final = 12
OF_EACH: Final = 2
"""Of the most surprising balls, so many of each outcome: fives would fill the list."""

CLAIMS_BY: Final = {
    "kind": "case kind when 'head' then 'a head''s look, hidden from that head' "
    "when 'last balls' then 'the last balls, for comparison' else kind end",
    "phase": "case when removed_from = 'model' and kind <> 'last balls' then phase end",
    "head": "scale || ' ' || head",
}
"""What claims are grouped by, in SQL; null for a claim that is in no group."""

TOLD: Final = "verdict <> 'cannot be told'"
"""Claims that were tested, in SQL: false or null for the others."""


@dataclass(frozen=True, slots=True)
class Least:
    """The fewest of each that are shown.

    Attributes:
        claims: tested, of a kind, a phase or a head.
        bin: balls in a bin of a reliability diagram.
        balls, matches: of a player whose surprise is told.
    """

    claims: int = 30
    bin: int = 50
    balls: int = 200
    matches: int = 5


def report_data(folder: str | os.PathLike[str], least: Least | None = None) -> Row:
    """The report's figures, the document of ``attnlens corpus report --json``.

    Raises:
        InputError: there is no corpus, no part of it is finished, no ball is in it, it is damaged,
            or DuckDB is not installed.
    """
    least = least or Least()
    corpus = Corpus(Path(folder))
    manifest, finished = corpus.manifest, corpus.finished()
    with opened(corpus) as connection:
        figures = _figures(connection)
        if not figures["balls"]:
            raise InputError(
                "tells of no ball what came of it", path=folder, remedy="add other matches"
            )
        tested = "evidence" in corpus.files()
        data = {
            "kind": "attnlens corpus report",
            "schema_version": manifest["schema_version"],
            "corpus": {
                "model": manifest["model"],
                "history": manifest["history"] is not None,
                "parts": manifest["parts"],
                "finished": len(finished),
                "skipped": corpus.skipped(),
                "evidence": manifest["evidence"],
            },
            "least": asdict(least),
            "figures": figures,
            "fusion": _fusion(connection),
            "attention": _attention(connection),
            "calibration": [_calibration(connection, one, least) for one in OUTCOMES],
            "surprises": _surprises(connection, least),
            "claims": _claims(connection, least) if tested else None,
        }
    plain: Row = rounded_all(data)
    return plain


def _figures(connection: DuckDBPyConnection) -> Row:
    """How much there is, and how well what was expected fits what happened."""
    [counts] = rows_of(
        connection,
        "select count(*) as matches, min(date) as first, max(date) as last, "
        "count(*) filter (in_training) as in_training, "
        "count(distinct competition) as competitions from matches",
    )
    matches = rows_of(
        connection,
        "select match_id, count(*) as balls, sum(surprise_bits) * ln(2) as loss, "
        "sum(entropy_bits) * ln(2) as expected, count(*) filter (top = actual) as hits from balls "
        "where actual is not null group by match_id order by match_id",
    )
    fit = {"log_loss": "loss", "expected_log_loss": "expected", "accuracy": "hits"}
    return {
        **counts,
        "first": day_of(counts["first"]),
        "last": day_of(counts["last"]),
        "balls": sum(match["balls"] for match in matches),
        **{name: _ratio(matches, sums, "balls") for name, sums in fit.items() if matches},
    }


def _ratio(matches: Sequence[Row], above: str, below: str) -> dict[str, float]:
    """One column's sum over another's, and its interval over matches."""
    sums = (np.array([row[name] for row in matches], np.float64) for name in (above, below))
    return dict(zip(("value", "low", "high"), ratio_interval(*sums), strict=True))


def _fusion(connection: DuckDBPyConnection) -> list[Row]:
    """How much of what reaches the prediction comes from each source, by phase."""
    means = ", ".join(f"avg(fusion_{source}) as {source}" for source in FUSED)
    phases = rows_of(
        connection, f"select phase, count(*) as balls, {means} from balls group by phase"
    )
    return [
        {
            "phase": row["phase"],
            "balls": row["balls"],
            "weights": {source: row[source] for source in FUSED},
        }
        for row in sorted(phases, key=_by_phase)
    ]


def _by_phase(row: Row) -> int:
    return PHASES.index(row["phase"])


def _attention(connection: DuckDBPyConnection) -> list[Row]:
    """Where each head looks, by phase, beside what uniform attention would give.

    A ratio is of mean shares, over balls on which the head had something to look at.
    """
    means = ", ".join(f"avg({relation}) as {relation}" for relation in SHARES)
    heads = rows_of(
        connection,
        "select scale, head, earned, phase, count(entropy) as balls, avg(own) as own, "
        f"{means} from heads group by all",
    )
    even = ", ".join(
        f"avg({scale}_{relation}_uniform) as {scale}_{relation}"
        for scale in SCALES
        for relation in SHARES
    )
    uniform = {
        row["phase"]: row
        for row in rows_of(connection, f"select phase, {even} from balls group by 1")
    }
    scales = list(SCALES)
    heads.sort(key=lambda row: (scales.index(row["scale"]), row["head"], _by_phase(row)))
    return [
        {
            **{name: value for name, value in row.items() if name not in SHARES},
            "relations": [
                _share(relation, row[relation], uniform[row["phase"]][f"{row['scale']}_{relation}"])
                for relation in SHARES
            ],
        }
        for row in heads
    ]


def _share(relation: str, share: float | None, uniform: float | None) -> Row:
    ratio = share / uniform if share is not None and uniform else None
    return {"relation": relation, "share": share, "uniform": uniform, "ratio": ratio}


def _calibration(connection: DuckDBPyConnection, outcome: str, least: Least) -> Row:
    """How often an outcome came where it was said to be about so likely.

    Bins, at most `BINS` of about as many balls, are made of finer levels in order.
    """
    bins = rows_of(
        connection,
        f'with levels as (select least(floor("p_{outcome}" * {STEPS}), {STEPS - 1}) as level, '
        f'count(*) as balls, sum("p_{outcome}") as said, count(*) filter (actual = ?) as came '
        "from balls where actual is not null group by 1), "
        "placed as (select *, (sum(balls) over (order by level) - balls) "
        f"* {BINS} // sum(balls) over () as place from levels order by level) "
        "select sum(balls)::int as balls, sum(said) as said, sum(came)::int as came "
        "from placed group by place having sum(balls) >= ? order by place",
        [outcome, least.bin],
    )
    return {
        "outcome": outcome,
        "happened": sum(row["came"] for row in bins),
        "bins": [
            {
                "predicted": row["said"] / row["balls"],
                "observed": row["came"] / row["balls"],
                **_wilson(row["came"], row["balls"]),
                "balls": row["balls"],
            }
            for row in bins
        ],
    }


def _wilson(hits: int, trials: int) -> dict[str, float]:
    return dict(zip(("low", "high"), wilson(hits, trials), strict=True))


def _surprises(connection: DuckDBPyConnection, least: Least) -> Row:
    """The balls and the players that went least as expected."""
    balls = rows_of(
        connection,
        f"select {SURPRISING} from balls where surprise_bits is not null and not super_over "
        "qualify row_number() over (partition by actual order by surprise_bits desc, match_id, "
        "innings, index) <= ? order by surprise_bits desc, match_id, innings, index",
        [OF_EACH],
    )
    return {
        "balls": [{**row, "date": day_of(row["date"])} for row in balls],
        "batters": _surprising(connection, "batter", least),
        "bowlers": _surprising(connection, "bowler", least),
    }


def _surprising(connection: DuckDBPyConnection, role: str, least: Least) -> Row:
    """Players by how much more they surprise than the model itself expected to be surprised."""
    rows = rows_of(
        connection,
        f"select coalesce({role}_id, {role}) as player, min({role}) as name, match_id, "
        "count(*) as balls, sum(surprise_bits) as surprise, "
        "sum(surprise_bits - entropy_bits) as excess from balls "
        "where surprise_bits is not null and not super_over group by player, match_id "
        "order by player, match_id",
    )
    players, few = [], 0
    for player, of_player in groupby(rows, key=lambda row: row["player"]):
        matches = list(of_player)
        balls = sum(match["balls"] for match in matches)
        if balls < least.balls or len(matches) < least.matches:
            few += 1
            continue
        players.append(
            {
                "player": player,
                "name": matches[-1]["name"],
                "balls": balls,
                "matches": len(matches),
                "surprise_bits": sum(match["surprise"] for match in matches) / balls,
                "excess_bits": _ratio(matches, "excess", "balls"),
            }
        )
    players.sort(key=lambda row: (-row["excess_bits"]["value"], row["player"]))
    more = [player for player in players if player["excess_bits"]["value"] > 0]
    return {
        "players": len(players),
        "too_few": few,
        "most": more[:LISTED],
        "least": players[len(more) :][: -LISTED - 1 : -1],
    }


def _claims(connection: DuckDBPyConnection, least: Least) -> Row:
    """When what is said of attention holds: verdicts by kind, phase and head.

    Claims that cannot be told are counted apart; pictures, which claim nothing, are not.
    """
    [counts] = rows_of(
        connection,
        f"select count(*) as claims, count(*) filter ({TOLD}) as tested, "
        "count(distinct (match_id, innings, index)) as balls from evidence",
    )
    for group, key in CLAIMS_BY.items():
        rows = rows_of(
            connection,
            f"select {key} as name, count(*) filter ({TOLD}) as claims, "
            f"count(*) filter (not {TOLD}) as untold, "
            "count(*) filter (verdict = 'supported') as supported, "
            "count(*) filter (verdict = 'contradicted') as contradicted "
            "from evidence where verdict is not null group by 1 having name is not null "
            "order by supported / greatest(claims, 1) desc, name",
        )
        enough = [
            {
                **row,
                "share": row["supported"] / row["claims"],
                **_wilson(row["supported"], row["claims"]),
            }
            for row in rows
            if row["claims"] >= least.claims
        ]
        if group == "phase":
            enough.sort(key=lambda row: PHASES.index(row["name"]))
        counts |= {group: enough, f"{group}_too_few": len(rows) - len(enough)}
    return counts

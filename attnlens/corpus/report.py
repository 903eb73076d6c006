"""A corpus summed up, as plain data: where attention goes, when it holds, what surprises.

Every share of trials has Wilson's interval; every mean over balls an interval in which whole
matches, not balls, are independent. Groups of fewer than `Least` are counted, not shown.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attnlens.corpus.database import opened, table
from attnlens.corpus.folder import Corpus
from attnlens.corpus.intervals import ratio_interval, wilson
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.ratings_update import PHASES
from attnlens.errors import InputError
from attnlens.explanation.heatmap import SHARES
from attnlens.models.predictor import FUSED
from attnlens.models.temporal import SCALES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BINS: Final = 10
STEPS: Final = 2000
"""Levels of probability that are told apart before bins are made of them."""

LISTED: Final = 12
OF_EACH: Final = 2
"""Of the most surprising balls, so many of each outcome: fives would fill the list."""

FAR: Final = 35
"""Past balls further back are not compared: few have an effect."""


@dataclass(frozen=True, slots=True)
class Least:
    """The fewest of each that are shown.

    Attributes:
        claims: tested, of a kind, a phase or a head.
        bin: balls in a bin of a reliability diagram.
        balls, matches: of a player whose surprise is told.
        past, asked: past balls of a player whose effect is told, and sampled balls they stand
            before.
    """

    claims: int = 30
    bin: int = 50
    balls: int = 200
    matches: int = 5
    past: int = 60
    asked: int = 10


def report_data(folder: str | os.PathLike[str], least: Least | None = None) -> dict[str, Any]:
    """The report's figures.

    Raises:
        InputError: there is no corpus, no part of it is finished, no ball is in it, it is damaged,
            or DuckDB is not installed.
    """
    least = least or Least()
    corpus = Corpus(Path(folder))
    manifest, finished = corpus.manifest, corpus.finished()
    with opened(corpus) as connection:
        [played] = table(connection, "select count(actual) as balls from balls")
        if not played["balls"]:
            raise InputError(
                "holds no ball that was bowled",
                path=corpus.folder,
                remedy="add matches that were played: `attnlens corpus explain`",
            )
        tested = "evidence" in next(iter(finished.values()))["tables"]
        told = {
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
            "figures": _figures(connection),
            "fusion": _fusion(connection),
            "attention": _attention(connection),
            "calibration": _calibration(connection, least),
            "surprises": _surprises(connection, least),
            "claims": _claims(connection, least) if tested else None,
            "past_balls": _past_balls(connection, least) if tested else None,
        }
    plain: dict[str, Any] = _rounded(told)
    return plain


def _figures(connection: DuckDBPyConnection) -> dict[str, Any]:
    """How much there is, and how well what was expected fits what happened."""
    [counts] = table(
        connection,
        "select count(*) as matches, min(date) as first, max(date) as last, "
        "count(*) filter (in_training) as in_training, "
        "count(distinct competition) as competitions from matches",
    )
    rows = table(
        connection,
        "select match_id, count(*) as balls, sum(surprise_bits) * ln(2) as loss, "
        "sum(entropy_bits) * ln(2) as expected, count(*) filter (top = actual) as hits from balls "
        "where actual is not null group by match_id order by match_id",
    )
    balls = np.array([row["balls"] for row in rows], np.float64)

    def mean(name: str) -> dict[str, float]:
        return _interval(np.array([row[name] for row in rows], np.float64), balls)

    return {
        **counts,
        "first": None if counts["first"] is None else counts["first"].isoformat(),
        "last": None if counts["last"] is None else counts["last"].isoformat(),
        "balls": int(balls.sum()),
        "log_loss": mean("loss"),
        "expected_log_loss": mean("expected"),
        "accuracy": mean("hits"),
    }


def _interval(above: np.ndarray[Any, Any], below: np.ndarray[Any, Any]) -> dict[str, float]:
    value, low, high = ratio_interval(above, below)
    return {"value": value, "low": low, "high": high}


def _fusion(connection: DuckDBPyConnection) -> list[dict[str, Any]]:
    """How much of what reaches the prediction comes from each source, by phase."""
    means = ", ".join(f"avg(fusion_{source}) as {source}" for source in FUSED)
    rows = {
        row["phase"]: row
        for row in table(
            connection, f"select phase, count(*) as balls, {means} from balls group by phase"
        )
    }
    return [
        {
            "phase": phase,
            "balls": rows[phase]["balls"],
            "weights": {source: rows[phase][source] for source in FUSED},
        }
        for phase in PHASES
        if phase in rows
    ]


def _attention(connection: DuckDBPyConnection) -> list[dict[str, Any]]:
    """Where each head looks, by phase, beside what uniform attention would give.

    A ratio is of mean shares, over balls on which the head had something to look at.
    """
    means = ", ".join(f"avg({relation}) as {relation}" for relation in SHARES)
    heads = table(
        connection,
        f"select scale, head, earned, phase, count(entropy) as balls, avg(own) as own, "
        f"avg(entropy) as entropy, avg(ln(visible)) filter (entropy is not null) as most, {means} "
        "from heads group by all",
    )
    even = ", ".join(
        f"avg({scale}_{relation}_uniform) as {scale}_{relation}"
        for scale in SCALES
        for relation in SHARES
    )
    uniform = {
        row["phase"]: row
        for row in table(connection, f"select phase, {even} from balls group by 1")
    }
    order = {phase: place for place, phase in enumerate(PHASES)}
    scales = list(SCALES)
    heads.sort(key=lambda row: (scales.index(row["scale"]), row["head"], order[row["phase"]]))
    return [
        {
            **{name: row[name] for name in ("scale", "head", "earned", "phase", "balls")},
            "own": row["own"],
            "entropy": row["entropy"],
            "uniform_entropy": row["most"],
            "relations": [
                _share(relation, row[relation], uniform[row["phase"]][f"{row['scale']}_{relation}"])
                for relation in SHARES
            ],
        }
        for row in heads
    ]


def _share(relation: str, share: float | None, uniform: float | None) -> dict[str, Any]:
    ratio = share / uniform if share is not None and uniform else None
    return {"relation": relation, "share": share, "uniform": uniform, "ratio": ratio}


def _calibration(connection: DuckDBPyConnection, least: Least) -> list[dict[str, Any]]:
    """How often each outcome came where it was said to be about so likely."""
    told = []
    for outcome in OUTCOMES:
        rows = table(
            connection,
            f'select least(floor("p_{outcome}" * {STEPS}), {STEPS - 1})::int as level, '
            f'count(*) as balls, sum("p_{outcome}") as said, '
            "count(*) filter (actual = ?) as came "
            "from balls where actual is not null group by 1 order by 1",
            [outcome],
        )
        bins = [one for one in _filled(rows) if one["balls"] >= least.bin]
        came = sum(one["happened"] for one in bins)
        told.append(
            {
                "outcome": outcome,
                "happened": came,
                "bins": [
                    {
                        "predicted": one["said"] / one["balls"],
                        "observed": one["happened"] / one["balls"],
                        **_wilson(one["happened"], one["balls"]),
                        "balls": one["balls"],
                    }
                    for one in bins
                ],
            }
        )
    return told


def _filled(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """At most `BINS` bins of about as many balls, from finer levels in order."""
    total = sum(row["balls"] for row in rows)
    waiting = {"balls": 0, "said": 0.0, "happened": 0}
    filled = made = 0
    for row in rows:
        waiting["balls"] += row["balls"]
        waiting["said"] += row["said"]
        waiting["happened"] += row["came"]
        filled += row["balls"]
        if filled >= total * (made + 1) / BINS:
            yield waiting
            waiting = {"balls": 0, "said": 0.0, "happened": 0}
            while filled >= total * (made + 1) / BINS:
                made += 1
    if waiting["balls"]:
        yield waiting


def _wilson(hits: int, trials: int) -> dict[str, float]:
    low, high = wilson(hits, trials)
    return {"low": low, "high": high}


def _surprises(connection: DuckDBPyConnection, least: Least) -> dict[str, Any]:
    """The balls and the players that went least as expected."""
    balls = table(
        connection,
        "select match_id, innings, index, label, date, competition, batting_team, bowling_team, "
        "batter, bowler, phase, actual, top, surprise_bits, score, wickets from balls "
        "where surprise_bits is not null and not super_over "
        "qualify row_number() over (partition by actual order by surprise_bits desc, match_id, "
        "innings, index) <= ? order by surprise_bits desc, match_id, innings, index",
        [OF_EACH],
    )
    for row in balls:
        row["date"] = None if row["date"] is None else row["date"].isoformat()
    return {
        "balls": balls,
        **{
            role: _surprising(connection, role.removesuffix("s"), least)
            for role in ("batters", "bowlers")
        },
    }


def _surprising(connection: DuckDBPyConnection, role: str, least: Least) -> dict[str, Any]:
    """Players by how much more they surprise than the model itself expected to be surprised."""
    rows = table(
        connection,
        f"select coalesce({role}_id, {role}) as player, min({role}) as name, match_id, "
        "count(*) as balls, sum(surprise_bits) as surprise, "
        "sum(surprise_bits - entropy_bits) as excess from balls "
        "where surprise_bits is not null and not super_over group by player, match_id "
        "order by player, match_id",
    )
    found, few = [], 0
    for player, matches in _grouped(rows, "player"):
        balls = np.array([row["balls"] for row in matches], np.float64)
        if balls.sum() < least.balls or len(matches) < least.matches:
            few += 1
            continue
        found.append(
            {
                "player": player,
                "name": matches[-1]["name"],
                "balls": int(balls.sum()),
                "matches": len(matches),
                "surprise_bits": float(sum(row["surprise"] for row in matches) / balls.sum()),
                "excess_bits": _interval(np.array([row["excess"] for row in matches]), balls),
            }
        )
    found.sort(key=lambda one: (-one["excess_bits"]["value"], one["player"]))
    more = [one for one in found if one["excess_bits"]["value"] > 0]
    return {
        "players": len(found),
        "too_few": few,
        "most": more[:LISTED],
        "least": found[len(more) :][: -LISTED - 1 : -1],
    }


def _grouped(
    rows: Iterable[dict[str, Any]], name: str
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Consecutive rows of equal ``name``."""
    waiting: list[dict[str, Any]] = []
    for row in rows:
        if waiting and waiting[0][name] != row[name]:
            yield waiting[0][name], waiting
            waiting = []
        waiting.append(row)
    if waiting:
        yield waiting[0][name], waiting


def _claims(connection: DuckDBPyConnection, least: Least) -> dict[str, Any]:
    """When what is said of attention holds: verdicts by kind, phase and head.

    Claims with too few alternatives to compare with were not tested and do not count.
    """
    groups = {
        "kind": "case when kind = 'head' and removed_from = 'head' then 'a head''s balls, hidden "
        "from that head' when kind = 'head' then 'a head''s balls, hidden from the model' "
        "else kind end",
        "phase": "phase",
        "head": "case when kind = 'head' then scale || ' ' || head end",
    }
    told: dict[str, Any] = {}
    for name, key in groups.items():
        only = " and removed_from = 'model'" if name == "head" else ""
        rows = table(
            connection,
            f"select {key} as name, count(*) as claims, "
            "count(*) filter (verdict = 'supported') as supported, "
            "count(*) filter (verdict = 'contradicted') as contradicted "
            f"from evidence where verdict is not null{only} group by 1 having name is not null "
            "order by supported / claims desc, name",
        )
        told[name] = [
            {
                **row,
                "share": row["supported"] / row["claims"],
                **_wilson(row["supported"], row["claims"]),
            }
            for row in rows
            if row["claims"] >= least.claims
        ]
        if name == "phase":
            told[name].sort(key=lambda row: PHASES.index(row["name"]))
        told[f"{name}_too_few"] = len(rows) - len(told[name])
    [counts] = table(
        connection,
        "select count(*) as claims, count(verdict) as tested, "
        "count(distinct (match_id, innings, index)) as balls from evidence",
    )
    return {**counts, **told}


def _past_balls(connection: DuckDBPyConnection, least: Least) -> dict[str, Any]:
    """Players whose past balls move later predictions more than balls as far back do."""
    [counts] = table(
        connection,
        "select count(*) as past, count(distinct (match_id, innings, index)) as asked, "
        "avg(effect_nats) as effect_nats from effects where distance <= ?",
        [FAR],
    )
    return {
        **counts,
        "within": FAR,
        "batters": _moving(connection, "batter", least),
        "bowlers": _moving(connection, "bowler", least),
    }


def _moving(connection: DuckDBPyConnection, role: str, least: Least) -> dict[str, Any]:
    rows = table(
        connection,
        "with usual as (select distance, avg(effect_nats) as nats from effects group by 1) "
        f"select coalesce(past_{role}_id, past_{role}) as player, min(past_{role}) as name, "
        "match_id, count(*) as past, count(distinct (innings, index)) as asked, "
        "sum(effect_nats) as effect, sum(nats) as usual "
        "from effects join usual using (distance) where distance <= ? "
        "group by player, match_id order by player, match_id",
        [FAR],
    )
    found, few = [], 0
    for player, matches in _grouped(rows, "player"):
        past = sum(row["past"] for row in matches)
        asked = sum(row["asked"] for row in matches)
        if past < least.past or asked < least.asked or len(matches) < 2:
            few += 1
            continue
        effect = np.array([row["effect"] for row in matches])
        found.append(
            {
                "player": player,
                "name": matches[-1]["name"],
                "past": past,
                "asked": asked,
                "matches": len(matches),
                "effect_nats": float(effect.sum() / past),
                "ratio": _interval(effect, np.array([row["usual"] for row in matches])),
            }
        )
    found.sort(key=lambda one: (-one["ratio"]["value"], one["player"]))
    return {"players": len(found), "too_few": few, "most": found[:LISTED]}


def _rounded(value: Any) -> Any:
    """Plain data, rounded once, at the boundary; what is not a number is null."""
    if isinstance(value, Mapping):
        return {key: _rounded(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(member) for member in value]
    if isinstance(value, float | np.floating):
        return round(float(value), 6) if math.isfinite(value) else None
    return value

"""A consistent explanation of an invented innings, at any ball of it, for tests.

The players, the match and every figure are made up; what must agree does agree:
contributions sum to the prediction minus the baseline, shares follow from the
rows of attention, labels from the balls.
"""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path
from typing import Any

from attnlens.cricket.explain.reading import ScaleAttention
from attnlens.cricket.explain.reading import heat_map as heat_map_of
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.scales import Scale, WindowBall
from attnlens.cricket.words.narrative import narrate
from attnlens.cricket.words.summary import summarize_temporal_attention

EXAMPLE: dict[str, Any] = json.loads(
    Path(__file__).with_name("explanation_example.json").read_text(encoding="utf-8")
)
GROUPS = (
    "venue and teams",
    "striker's record",
    "bowler's record",
    "scoreboard",
    "this over",
    "this bowler to this batter",
    "this bowler's earlier balls",
    "this batter's earlier balls",
    "other recent balls",
    "earlier balls",
)
SCALES: dict[Scale, tuple[int, int]] = {
    "micro": (6, 2),
    "short": (12, 3),
    "medium": (36, 6),
    "long": (0, 2),
}
BATTERS = ("R Varela", "K Osei-Lund", "T Varela", "J Marchetti", "D Fenwick")
BOWLERS = ("S Adeyemi", "H Lindqvist", "P Castellane", "N Brandt")
NAMED = {
    "attended most": "the ball it attended to most",
    "attended": "the 4 balls it attended to most",
    "this over": "this over so far",
    "boundaries": "the last boundaries",
    "last balls": "the last 4 balls",
    "head_0_recency": "head 0 (recency)",
    "head_1_same_bowler": "head 1",
    "head_2_same_batsman": "head 2 (same batsman)",
    "head_3_free": "head 3 (boundary)",
}
"""What claims and heads are called in a claim."""
TOLD = ("index", "label", "over", "batter", "bowler", "outcome", "runs", "runs_batter", "boundary")
"""What a past ball tells."""


def shares_of(values: list[float]) -> list[float]:
    """Values scaled to sum to 1, with six decimals."""
    total = math.fsum(values) or 1.0
    return [round(value / total, 6) for value in values]


def ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def innings() -> list[dict[str, Any]]:
    """Sixty deliveries: two wides, three wickets, bowlers in turns of one over."""
    chance = random.Random(7)
    balls: list[dict[str, Any]] = []
    batters, waiting, over, in_over, score, wickets, legal = [0, 1], 2, 0, 0, 0, 0, 0
    for index in range(1, 61):
        runs = chance.choice((0, 0, 1, 1, 1, 2, 4, 0, 1, 6, 0, 1, 4))
        outcome = {9: "wd", 14: "W", 23: "W", 39: "W", 31: "nb", 47: "4"}.get(index, str(runs))
        bat = 4 if outcome == "nb" else int(outcome) if outcome.isdigit() else 0
        total = bat + (outcome in ("wd", "nb"))
        in_over += 1
        balls.append(
            {
                "index": index,
                "label": f"{over}.{in_over}",
                "over": over,
                "batter": BATTERS[batters[0]],
                "non_striker": BATTERS[batters[1]],
                "bowler": BOWLERS[(over % 2) * 2 + (over // 4) % 2],
                "outcome": outcome,
                "runs": total,
                "runs_batter": bat,
                "boundary": bat in (4, 6),
                "wicket": outcome == "W",
                "score": score,
                "wickets": wickets,
                "legal": legal,
            }
        )
        score, wickets = score + total, wickets + (outcome == "W")
        if outcome == "W":
            batters[0], waiting = waiting, waiting + 1
        elif bat % 2:
            batters.reverse()
        if outcome not in ("wd", "nb"):
            legal += 1
            if legal % 6 == 0:
                over, in_over = over + 1, 0
                batters.reverse()
    return balls


def relations(now: dict[str, Any], ball: dict[str, Any]) -> frozenset[str]:
    holds = {
        "same_over": ball["over"] == now["over"],
        "same_bowler": ball["bowler"] == now["bowler"],
        "same_batsman": ball["batter"] == now["batter"],
        "boundary": ball["boundary"],
    }
    return frozenset(name for name, fits in holds.items() if fits)


def heat_map(scale: Scale, now: dict[str, Any], past: list[dict[str, Any]]) -> dict[str, Any]:
    """One scale's inner heat map, its rows from a fixed rule per head."""
    size, heads = SCALES[scale]
    long = scale == "long"
    window = [ball for ball in past if ball["over"] < now["over"]] if long else past[1 - size :]
    patterns = [*("recency", "same_bowler", "same_batsman"), None, None, None][:heads]
    chance, rows, own = random.Random(len(past) + heads), [], []
    for head, pattern in enumerate(patterns):
        scores = [
            math.exp(
                -0.12 * (now["index"] - ball["index"]) * (1 if head < 3 else 0.3)
                + 1.6 * (pattern in relations(now, ball))
                + (1.8 if head == 3 and ball["boundary"] else 0)
                + chance.uniform(0, 0.8)
            )
            for ball in window
        ]
        if long:
            scores = [2.0 ** -(now["over"] - ball["over"]) * (1 + head) / 6 for ball in window]
        *row, alone = shares_of([*scores, 0.9 + 0.1 * head])
        rows.append(row)
        own.append(alone)
    attention = ScaleAttention(
        scale=scale,
        current=now["index"],
        balls=[
            WindowBall(**{key: ball[key] for key in TOLD}, relations=relations(now, ball))
            for ball in window
        ],
        rows=rows,
        own=own,
        patterns=patterns,
        earned=["recency", "unspecialised", "same_batsman", "boundary", *["unspecialised"] * 2][
            :heads
        ],
        bias_shares=[0.2, 0.3, 0.4, None, None, None][:heads],
        over_weights=[
            {
                over: math.fsum(w for w, b in zip(row, window, strict=True) if b["over"] == over)
                for over in range(now["over"])
            }
            for row in rows
        ]
        if long
        else None,
    )
    effects = {ball["index"]: 0.002 / (now["index"] - ball["index"]) for ball in window}
    found = heat_map_of(attention, bowler=now["bowler"], batter=now["batter"], effects=effects)
    return found.model_dump(mode="json")


def points(moves: dict[str, float]) -> list[dict[str, Any]]:
    return [{"outcome": name, "points": round(moves.get(name, 0.0), 6)} for name in OUTCOMES]


def claims(
    medium: dict[str, Any], past: list[dict[str, Any]], before: float
) -> list[dict[str, Any]]:
    """Claims of both kinds, with every verdict, one for comparison, and two pictures."""
    labels = {ball["index"]: ball["label"] for ball in past}
    recent = [ball["index"] for ball in past[-35:]]
    heads = {key: head["top_any"] for key, head in medium["attention_by_head"].items()}
    few, chance = "too few other balls to compare with", "chance does as much"
    elsewhere = "what they do reaches the prediction by other ways than this head"
    boundaries = [ball["index"] for ball in past[-35:] if ball["boundary"]][-4:]
    held, by_chance, untold = "supported", "not better than chance", "cannot be told"
    bowler, batter = heads["head_1_same_bowler"], heads["head_2_same_batsman"]
    kept: tuple[tuple[str, list[int], float, float | None, str | None, str | None], ...] = (
        ("attended most", recent[-2:][:1], -3.1, 0.02, held, None),
        ("attended", recent[-5:-1], -0.9, 0.31, by_chance, chance),
        ("this over", recent[-1:], 0.4, None, untold, few),
        ("boundaries", boundaries, 0.7, 0.97, "contradicted", "other balls do more"),
        ("last balls", recent[-4:], -1.9, 0.2, by_chance, chance),
        ("head_0_recency", heads["head_0_recency"], -0.1, 0.01, None, elsewhere),
        ("head_1_same_bowler", bowler, -0.4, 0.4, by_chance, chance),
        ("head_2_same_batsman", batter, -1.2, 0.03, held, None),
        ("head_3_free", heads["head_3_free"], -0.2, None, untold, few),
    )
    entries = []
    for kind, balls, moved, q, verdict, reason in kept:
        if not balls:
            continue
        alone = kind.startswith("head")
        if len(recent) < 5 and verdict is not None:
            q, verdict, reason = None, "cannot be told", few
        named = ", ".join(labels[ball] for ball in sorted(balls))
        entries.append(
            {
                "claim": f"on the medium scale, {NAMED[kind]} looked most at balls {named}"
                if alone
                else f"{NAMED[kind]} (balls {named})",
                "scale": "medium" if alone else None,
                "head": kind if alone else None,
                "kind": "head" if alone else kind,
                "reference": kind == "last balls",
                "removed": balls,
                "removed_from": "head" if alone else "model",
                "outcome": "4",
                "effect_nats": round(abs(moved) * 0.0006, 9),
                "single_effects": [0.0001] * len(balls),
                "share": None if not alone else 0.02 if verdict is None else 0.34,
                "changes": points({"4": moved, "0": -moved * 0.75, "1": -moved * 0.25}),
                "top_change": {
                    "outcome": "4",
                    "points": moved,
                    "before": before,
                    "after": round(before + moved / 100, 6),
                },
                "control": "other sets of as many balls, hidden from the same head"
                if alone
                else "other sets of as many balls, allowing for where they stand",
                "controls": 0 if q is None else 3999,
                "control_median_nats": None if q is None else 0.000231,
                "control_quantiles_nats": None
                if q is None
                else [0.00001, 0.00009, 0.000231, 0.0004, 0.0009],
                "p": None if q is None else round(q / 2, 6),
                "q": q,
                "replaced": {
                    "effect_nats": 0.002104,
                    "draws": 16,
                    "control_nats": 0.000817,
                    "controls": 24,
                }
                if verdict == "supported"
                else None,
                "verdict": verdict,
                "reason": reason,
            }
        )
    return entries


def standing(past: list[dict[str, Any]], now: dict[str, Any]) -> dict[str, Any]:
    """The scorebook before a ball."""
    faced = [ball for ball in past if ball["batter"] == now["batter"]]
    bowled = [ball for ball in past if ball["bowler"] == now["bowler"]]
    legal = sum(ball["outcome"] not in ("wd", "nb") for ball in bowled)
    fell = max((at + 1 for at, ball in enumerate(past) if ball["wicket"]), default=0)
    return {
        "batter_runs": sum(ball["runs_batter"] for ball in faced),
        "batter_balls": sum(ball["outcome"] != "wd" for ball in faced),
        "bowler_overs": f"{legal // 6}.{legal % 6}",
        "bowler_runs": sum(ball["runs"] for ball in bowled),
        "bowler_wickets": sum(ball["wicket"] for ball in bowled),
        "partnership_runs": sum(ball["runs"] for ball in past[fell:]),
        "partnership_balls": len(past[fell:]),
        "over_runs": sum(ball["runs"] for ball in past if ball["over"] == now["over"]),
        "latest": [ball["outcome"] for ball in past[-6:]],
        "hat_trick": False,
    }


def gone(now: dict[str, Any]) -> dict[str, Any]:
    return {"out": now["batter"], "how": "bowled"} if now["wicket"] else {"out": None, "how": None}


def explanation(ball: int = 47, **options: Any) -> dict[str, Any]:
    """An explanation of this delivery, without its narrative.

    Options: ``evidence=False``, ``super_over=True``, ``bowled=False`` (the ball
    has not been bowled yet).
    """
    every = innings()
    now, past = every[ball - 1], every[: ball - 1]
    chance = random.Random(ball)
    outcomes = EXAMPLE["prediction"]["outcomes"]
    kinds = ("probability", "baseline", "usual")
    probability, baseline, usual = ([row[key] for row in outcomes] for key in kinds)
    total, beyond = (
        {name: 100 * (p - b) for name, p, b in zip(OUTCOMES, probability, start, strict=True)}
        for start in (baseline, usual)
    )
    cut = [chance.uniform(-0.3, 0.6) for _ in GROUPS[:-2]]
    if not past:
        cut[4:] = [0.0] * len(cut[4:])
    cut[1] += 1 - math.fsum(cut)
    contributions = [
        {
            "group": group,
            "points": points({name: value * part for name, value in total.items()}),
            "when": "before the match" if at < 3 else "in the match",
            "from_usual": points({name: value * part for name, value in beyond.items()}),
            "balls": [{"index": past[-1]["index"], "points": points({"4": 0.3, "0": -0.3})}]
            if past and group == "this over"
            else [],
        }
        for at, (group, part) in enumerate(zip(GROUPS, [*cut, 0.0, 0.0], strict=True))
    ]
    maps = {scale: heat_map(scale, now, past) for scale in SCALES}
    evidence = options.get("evidence", True)
    bowled = options.get("bowled", True)
    super_over = options.get("super_over", False)
    actual = now["outcome"] if bowled else None
    seen = set(maps["medium"]["balls"]) | {
        index
        for one in maps.values()
        for head in one["attention_by_head"].values()
        for index in (*head["top_balls"], *head["top_any"])
    }
    history = [
        {
            **{key: past_ball[key] for key in (*TOLD, "wicket")},
            "attention": round(0.9 / (1 + now["index"] - past_ball["index"]), 6),
            "effect_nats": round(0.002 / (now["index"] - past_ball["index"]), 9)
            if evidence
            else None,
            "changes": points({"4": -0.3, "0": 0.3}) if evidence else [],
        }
        for past_ball in past
        if past_ball["index"] in seen
    ]
    number = 3 if super_over else 1
    overs, deliveries = (1, 7) if super_over else (20, 60)
    legal = now["legal"] + 1
    count = f"{now['index']} of {deliveries}" if bowled else f"{now['index']} (not yet bowled)"
    flags = []
    if len(past) < 6:
        flags.append(("no_history", "No ball of this innings has been bowled yet."))
    if 0 < len(past) < 6:
        flags = [("short_history", f"Only {len(past)} of the 35 past balls it can see exist yet.")]
    if super_over:
        flags.append(("super_over", "A super over: the model was not trained on super overs."))
    if not evidence:
        flags.append(("evidence_skipped", "No claim was tested: evidence was switched off."))
    data: dict[str, Any] = {
        "schema_version": "1.0",
        "model": EXAMPLE["model"],
        "match": EXAMPLE["match"],
        "ball": {
            "innings": number,
            "index": now["index"],
            "deliveries": deliveries if bowled else len(past),
            "over": now["over"],
            "label": now["label"] if bowled else None,
            "actual_delivery": f"{(legal - 1) // 6}.{(legal - 1) % 6 + 1}" if bowled else None,
            "legal_number": legal if bowled else None,
            "is_legal": now["outcome"] not in ("wd", "nb") if bowled else None,
            "batter": now["batter"],
            "non_striker": now["non_striker"],
            "bowler": now["bowler"],
            "score": now["score"],
            "wickets": now["wickets"],
            "target": None,
            "balls_left": overs * 6 - now["legal"],
            "runs_required": None,
            "required_rate": None,
            "run_rate": round(6 * now["score"] / now["legal"], 6) if now["legal"] else None,
            "free_hit": False,
            "super_over": super_over,
            "standing": {**standing(past, now), "phase": None if super_over else "middle overs"},
            "happened": {"runs": now["runs"], "runs_batter": now["runs_batter"], **gone(now)}
            if bowled
            else None,
            "echo": f"innings {number}, delivery {count} | label {now['label']} | legal ball "
            f"{(legal - 1) // 6}.{(legal - 1) % 6 + 1} ({ordinal(legal)}) | {now['score']}/"
            f"{now['wickets']} | {now['bowler']} to {now['batter']}",
        },
        "prediction": {
            **EXAMPLE["prediction"],
            "actual": actual,
            "surprise_bits": None
            if actual is None
            else round(-math.log2(probability[OUTCOMES.index(actual)]), 6),
            "calibration": None if super_over else EXAMPLE["prediction"]["calibration"],
        },
        "contributions": contributions if evidence else [],
        "within_ball": EXAMPLE["within_ball"],
        "across_balls": maps,
        "fusion_weights": EXAMPLE["fusion_weights"],
        "history": history,
        "evidence": claims(maps["medium"], past, probability[4]) if evidence else [],
        "flags": [{"flag": flag, "text": text} for flag, text in flags],
    }
    data["summary"] = summarize_temporal_attention(
        maps["medium"], {entry["index"]: entry for entry in history}
    )
    data["narrative"] = []
    return copy.deepcopy(data)


def narrated(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The narrative of an explanation, as plain data."""
    return [entry.model_dump(mode="json") for entry in narrate(Explanation.from_dict(data))]

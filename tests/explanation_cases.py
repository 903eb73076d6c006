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
import re
from pathlib import Path
from typing import Any

from attnlens.cricket.explain.reading import ScaleAttention
from attnlens.cricket.explain.reading import heat_map as heat_map_of
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.predictor.scales import Scale, WindowBall
from attnlens.cricket.predictor.temporal import WHOLE_RELATIONS
from attnlens.cricket.words.narrative import narrate
from attnlens.cricket.words.summary import summarize_temporal_attention

EXAMPLE: dict[str, Any] = json.loads(
    Path(__file__).with_name("explanation_example.json").read_text(encoding="utf-8")
)
GROUPS = (
    *("venue and teams", "striker's record", "bowler's record", "scoreboard", "this over"),
    *("this bowler to this batter", "this bowler's earlier balls", "this batter's earlier balls"),
    *("other recent balls", "earlier balls"),
)
SCALES: dict[Scale, tuple[int, int]] = {"micro": (6, 2), "short": (12, 3), "medium": (36, 6)}
SCALES |= {"long": (0, 2), "whole": (200, 3)}
"""Length and heads."""
BATTERS = ("R Varela", "K Osei-Lund", "T Varela", "J Marchetti", "D Fenwick")
BOWLERS = ("S Adeyemi", "H Lindqvist", "P Castellane", "N Brandt")
TOLD = ("index", "label", "over", "batter", "bowler", "outcome", "runs", "runs_batter", "boundary")
"""What is known of a past ball."""
BALL = (
    *("index", "label", "over", "batter", "non_striker", "bowler", "outcome", "runs"),
    *("runs_batter", "boundary", "wicket", "score", "wickets", "legal"),
)


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
        bowler = BOWLERS[(over % 2) * 2 + (over // 4) % 2]
        people = (*(BATTERS[place] for place in batters), bowler)
        events = (outcome, total, bat, bat in (4, 6), outcome == "W")
        values = (index, f"{over}.{in_over}", over, *people, *events, score, wickets, legal)
        balls.append(dict(zip(BALL, values, strict=True)))
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
    sees = [*(None, "same_bowler", "same_batsman"), None, None, None][:heads]
    patterns = ["recency", *sees[1:]]
    earned = ["recency", "unspecialised", "same_batsman", "boundary", *["unspecialised"] * 2]
    if scale == "whole":
        sees = patterns = list(WHOLE_RELATIONS[:heads])
        earned = [WHOLE_RELATIONS[0], *["unspecialised"] * 2]
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

    def by_over(row: list[float]) -> dict[int, float]:
        weighed = list(zip(row, window, strict=True))
        overs = range(now["over"])
        return {over: math.fsum(w for w, b in weighed if b["over"] == over) for over in overs}

    attention = ScaleAttention(
        scale=scale,
        current=now["index"],
        balls=[
            WindowBall(**{key: ball[key] for key in TOLD}, relations=relations(now, ball))
            for ball in window
        ],
        rows=rows,
        own=own,
        carries=[round((1 + head) / 39, 6) for head in range(heads)],
        patterns=patterns,
        sees=sees,
        earned=earned[:heads],
        bias_shares=[0.2, 0.3, 0.4, None, None, None][:heads],
        over_weights=[by_over(row) for row in rows] if long else None,
    )
    effects = {ball["index"]: 0.002 / (now["index"] - ball["index"]) for ball in window}
    found = heat_map_of(attention, bowler=now["bowler"], batter=now["batter"], effects=effects)
    return found.model_dump(mode="json")


def points(moves: dict[str, float]) -> list[dict[str, Any]]:
    return [{"outcome": name, "points": round(moves.get(name, 0.0), 6)} for name in OUTCOMES]


def claims(medium: dict[str, Any], past: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The example's claims, of balls before this one: with every verdict, and for comparison."""
    labels = {ball["index"]: ball["label"] for ball in past}
    recent = [ball["index"] for ball in past[-35:]]
    balls = {key: head["top_any"] for key, head in medium["attention_by_head"].items()} | {
        "attended most": recent[-2:][:1],
        "attended": recent[-5:-1],
        "this over": recent[-1:],
        "boundaries": [ball["index"] for ball in past[-35:] if ball["boundary"]][-4:],
        "last balls": recent[-4:],
    }
    entries = []
    for claim in EXAMPLE["evidence"]:
        removed = balls[claim["head"] or claim["kind"]]
        listed = ", ".join(labels[ball] for ball in sorted(removed))
        entry = {
            **claim,
            "claim": re.sub(r"balls \d[\d., ]*", f"balls {listed}", claim["claim"]),
            "removed": removed,
            "single_effects": [0.0001] * len(removed),
            "opposing": int(len(removed) > 2),
            "about": claim["about"] and ("played", "happened")[len(past) % 2],
        }
        if len(recent) < 5 and claim["verdict"] is not None:
            few = "too few other balls to compare with"
            untested = dict.fromkeys(("q", "p", "control_median_nats", "control_quantiles_nats"))
            entry |= {"verdict": "cannot be told", "reason": few, "control_sets": 0, **untested}
        entries += [entry] * bool(removed)
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


def explanation(
    ball: int = 47, *, evidence: bool = True, super_over: bool = False, bowled: bool = True
) -> dict[str, Any]:
    """An explanation of this delivery, without its narrative."""
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
    actual = now["outcome"] if bowled else None
    past_balls = [
        {
            **{key: past_ball[key] for key in (*TOLD, "wicket")},
            "attention": round(0.9 / (1 + back), 6),
            "effect_log_odds": 0.02 if evidence else None,
            "effect_points": 0.3 if evidence else None,
            "effect_nats": round(0.002 / back, 9) if evidence else None,
            "rarity": round(min(1.0, 0.05 * back), 6) if evidence else None,
        }
        for past_ball in past
        if (back := now["index"] - past_ball["index"])
    ]
    number, overs, deliveries = (3, 1, 7) if super_over else (1, 20, 60)
    legal = now["legal"] + 1
    delivery = f"{(legal - 1) // 6}.{(legal - 1) % 6 + 1}"
    count = f"{now['index']} of {deliveries}" if bowled else f"{now['index']} (not yet bowled)"
    texts = {
        "no_history": not past and "No ball of this innings has been bowled yet.",
        "short_history": 0 < len(past) < 6
        and f"Only {len(past)} of the 35 past balls it can see exist yet.",
        "super_over": super_over and "A super over: the model was not trained on super overs.",
        "evidence_skipped": not evidence and "No claim was tested: evidence was switched off.",
    }
    out, how = (now["batter"], "bowled") if now["wicket"] else (None, None)
    runs = {name: now[name] for name in ("runs", "runs_batter")}
    of_bowled = {
        "label": now["label"],
        "actual_delivery": delivery,
        "legal_number": legal,
        "is_legal": now["outcome"] not in ("wd", "nb"),
        "happened": {**runs, "out": out, "how": how, "fielders": []},
    }
    surprise = -math.log2(probability[OUTCOMES.index(actual)]) if actual is not None else None
    data: dict[str, Any] = {
        "schema_version": "2.0",
        "model": EXAMPLE["model"],
        "match": EXAMPLE["match"],
        "ball": {
            "innings": number,
            "index": now["index"],
            "deliveries": deliveries if bowled else len(past),
            "over": now["over"],
            **(of_bowled if bowled else dict.fromkeys(of_bowled)),
            **{key: now[key] for key in ("batter", "non_striker", "bowler", "score", "wickets")},
            **dict.fromkeys(("target", "runs_required", "required_rate")),
            "balls_left": overs * 6 - now["legal"],
            "run_rate": round(6 * now["score"] / now["legal"], 6) if now["legal"] else None,
            "free_hit": False,
            "super_over": super_over,
            "standing": {**standing(past, now), "phase": None if super_over else "middle overs"},
            "echo": f"innings {number}, delivery {count} | label {now['label']} | legal ball "
            f"{delivery} ({ordinal(legal)}) | {now['score']}/{now['wickets']} | {now['bowler']} "
            f"to {now['batter']}",
        },
        "prediction": {
            **EXAMPLE["prediction"],
            "actual": actual,
            "surprise_bits": surprise and round(surprise, 6),
            "calibration": None if super_over else EXAMPLE["prediction"]["calibration"],
        },
        "contributions": contributions if evidence else [],
        "within_ball": EXAMPLE["within_ball"],
        "across_balls": maps,
        "fusion_weights": EXAMPLE["fusion_weights"],
        "past_balls": past_balls,
        "evidence": claims(maps["medium"], past) if evidence else [],
        "flags": [{"flag": flag, "text": text} for flag, text in texts.items() if text],
    }
    by_index = {entry["index"]: entry for entry in past_balls}
    data["summary"] = summarize_temporal_attention(maps["medium"], by_index)
    data["narrative"] = []
    return copy.deepcopy(data)


def narrated(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The narrative of an explanation, as plain data."""
    return [entry.model_dump(mode="json") for entry in narrate(Explanation.from_dict(data))]

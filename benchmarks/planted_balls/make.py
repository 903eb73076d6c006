"""Make PlantedBalls: the matches, the checkpoints that are asked, and the truth.

::

    python benchmarks/planted_balls/make.py             # the truth: is it the frozen one?
    python benchmarks/planted_balls/make.py --train     # all of it anew: 7 minutes a checkpoint

Matches are played by the three rules of `attnlens.cricket.lab.league` in a league of equals,
so it is known which past balls each ball depends on, and by how much. Each model is trained on
matches of its own, as ``attnlens lab planted`` trains, and asked about others that no model saw.
Nothing is random but by the seeds below. Training gives the same bits on one kind of machine; on
another the last digits may differ, which is why the checkpoints are frozen.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from attnlens.cricket.lab.league import RULES
from attnlens.cricket.lab.planted_truth import (
    PlantedPlan,
    RuledInnings,
    compare_with_truth,
    ruled_innings,
    ruled_sample,
    train_planted,
)
from attnlens.cricket.lab.simulator import simulate
from attnlens.cricket.predictor.trained import TrainedPredictor, load_predictor, save_predictor
from attnlens.cricket.predictor.window import one_thread

HERE: Final = Path(__file__).resolve().parent
TRUTH: Final = HERE / "truth.parquet"
PLANS: Final[dict[str, PlantedPlan]] = {
    f"planted-{number}": PlantedPlan(matches=800, checks=40, balls=150, seed=1000 * number + 1)
    for number in (1, 2)
}
"""The models by name; the matches of a plan have the seeds from its own on."""

Example = tuple[str, RuledInnings, int]
"""An id, the innings of the ball that is asked about, and how many balls are before it."""


@cache
def frozen(name: str) -> TrainedPredictor:
    """A model as it was frozen."""
    return load_predictor(HERE / f"{name}.safetensors")


@cache
def innings_of(name: str) -> list[RuledInnings]:
    """The innings that a model is asked about, which no model has seen."""
    plan = PLANS[name]
    first = plan.seed + plan.matches + plan.checks
    made = [simulate(first + number, rules=RULES) for number in range(plan.tests)]
    return ruled_innings(made, frozen(name).base)


@cache
def examples(name: str) -> tuple[Example, ...]:
    """The balls that a model is asked about."""
    plan, innings = PLANS[name], innings_of(name)
    chosen = [(innings[at], past) for at, past in ruled_sample(innings, plan.balls, plan.seed)]
    return tuple(
        (f"{name}/{one.match_id}/{one.innings}/{past + 1}", one, past) for one, past in chosen
    )


def truth(example: str, one: RuledInnings, past: int) -> pd.DataFrame:
    """A row per past ball of an example, oldest first.

    Columns: ``example``; ``past`` (its place in the innings, from 1); ``distance`` (1 is the ball
    before); ``same_batter``, ``same_bowler``; ``outcome``; ``event`` (the rule that counts such
    balls, if any); ``planted`` (whether it matters); ``nats`` (by how much the true chances move).
    """
    now, ruled = one.side.deliveries[past], one.ruled[past]
    effects = ruled.effects()
    rows: list[dict[str, Any]] = [
        {
            "example": example,
            "past": ball.index,
            "distance": now.index - ball.index,
            "same_batter": ball.batter == now.batter,
            "same_bowler": ball.bowler == now.bowler,
            "outcome": ball.outcome,
            "event": next((rule.name for rule in ruled.rules if rule.event(ball)), ""),
            "planted": ball.index in effects,
            "nats": effects.get(ball.index, 0.0),
        }
        for ball in one.side.deliveries[:past]
    ]
    return pd.DataFrame(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", action="store_true", help="make and freeze everything anew")
    anew = parser.parse_args().train
    for name, plan in PLANS.items() if anew else ():
        seeds = range(plan.seed, plan.seed + plan.matches + plan.checks)
        with one_thread():
            model = train_planted(plan, [simulate(seed, rules=RULES) for seed in seeds], print)
        save_predictor(HERE / f"{name}.safetensors", model)
    made = pd.concat(truth(*one) for name in PLANS for one in examples(name))
    made = made.reset_index(drop=True)
    if anew:
        made.to_parquet(TRUTH, index=False)
    same = made.equals(pd.read_parquet(TRUTH))
    planted, asked = int(made["planted"].sum()), made["example"].nunique()
    print(f"{asked} examples, {len(made)} past balls, {planted} of them planted")
    print(f"{'the same as' if same else 'DIFFERENT FROM'} {TRUTH.name}")
    for name, plan in PLANS.items():
        innings = {(one.match_id, one.innings): one for _, one, _ in examples(name)}
        share = compare_with_truth(frozen(name), [*innings.values()], plan.seed)["share_learnt"]
        print(f"{name} has learnt {share:.0%} of what past balls tell")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

"""Make the data of PlantedBalls: the matches, the checkpoints and the truth.

::

    python benchmarks/planted_balls/make.py             # compares the truth with the frozen file
    python benchmarks/planted_balls/make.py --train     # trains again: 7 minutes per checkpoint

Matches are simulated by the three rules of `attnlens.cricket.lab.league`, and all players are
equal. It is therefore known on which past balls a ball depends, and by how much. Each model is
trained as by ``attnlens lab planted``, on matches of its own, and tested on matches that no model
has seen. All random numbers come from the seeds below. Training gives the same weights, bit by bit,
on the same kind of machine. On another kind, the last digits may differ, so the checkpoints are
stored here.
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
"""The plan of each model, by name. The matches of a plan have consecutive seeds that start with the
plan's `seed`."""

Example = tuple[str, RuledInnings, int]
"""An example: its id, the innings of the ball to explain, and the number of balls before the
ball."""


@cache
def frozen(name: str) -> TrainedPredictor:
    """Return the stored model with this name."""
    return load_predictor(HERE / f"{name}.safetensors")


@cache
def innings_of(name: str) -> list[RuledInnings]:
    """Return the innings on which a model is tested. No model has seen them in training."""
    plan = PLANS[name]
    first = plan.seed + plan.matches + plan.checks
    made = [simulate(first + number, rules=RULES) for number in range(plan.tests)]
    return ruled_innings(made, frozen(name).base)


@cache
def examples(name: str) -> tuple[Example, ...]:
    """Return the balls on which a model is tested."""
    plan, innings = PLANS[name], innings_of(name)
    chosen = [(innings[at], past) for at, past in ruled_sample(innings, plan.balls, plan.seed)]
    return tuple(
        (f"{name}/{one.match_id}/{one.innings}/{past + 1}", one, past) for one, past in chosen
    )


def truth(example: str, one: RuledInnings, past: int) -> pd.DataFrame:
    """Return a row for each past ball of an example, oldest first.

    The columns are:

    - ``example``: the id of the example.
    - ``past``: the index of the past ball in the innings, from 1.
    - ``distance``: the distance of the past ball. It is 1 for the ball just before.
    - ``same_batter``, ``same_bowler``: whether the past ball had the same batter or bowler.
    - ``outcome``: the outcome of the past ball.
    - ``event``: the rule that is about balls with such an outcome, if there is one.
    - ``planted``: whether the past ball matters.
    - ``nats``: the effect of the past ball on the true probabilities.
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

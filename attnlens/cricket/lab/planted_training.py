"""``attnlens lab planted``: train on matches played by rules; ask whether the rules are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from attnlens.cricket.lab.afterwards import tell_of_hidings
from attnlens.cricket.lab.course import Course, Epoch
from attnlens.cricket.lab.fit import Recipe, cricket_sizes, fit, fit_base
from attnlens.cricket.lab.planted import (
    Learnt,
    Pointing,
    Verdicts,
    learnt,
    pointing,
    put_to_the_test,
    ruled_innings,
    verdict_shares,
)
from attnlens.cricket.lab.rules import rules_times
from attnlens.cricket.lab.simulate import Simulated, simulate
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.readers.history import Report, silent


@dataclass(frozen=True, slots=True)
class PlantedPlan:
    """What to simulate, train and ask.

    The seeds of matches to train on, to choose the epoch by (``checks``) and to ask about
    (``tests``) follow one another from ``seed``; ``strength`` is how many times as strong the rules
    are as `RULES`. Every method is asked about ``balls``; verdicts, the slow part, are passed on
    ``claims`` of them.
    """

    matches: int = 300
    checks: int = 30
    tests: int = 60
    strength: float = 1.0
    hidden_dim: int = 36
    epochs: int = 8
    innings: int = 8
    learning_rate: float = 3e-3
    balls: int = 200
    claims: int = 50
    seed: int = 5


HIDDEN: Final = 200
"""Balls of the checks to find out on what hiding a ball does usually."""

FULL: Final = PlantedPlan()
QUICK: Final = PlantedPlan(
    matches=12, checks=2, tests=4, hidden_dim=12, epochs=2, balls=6, claims=2
)
"""Large enough to run every part, too small to find anything."""


@dataclass(frozen=True, slots=True)
class RuleTold:
    """One of the rules; ``balls`` is the share of balls that it counts for."""

    name: str
    text: str
    moves: list[str]
    strength: float
    balls: float


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """The document of ``attnlens lab planted``; ``model`` is how the tested model was trained."""

    plan: PlantedPlan
    model: dict[str, list[Epoch]]
    rules: list[RuleTold]
    learnt: Learnt
    pointing: Pointing
    verdicts: Verdicts


def planted(plan: PlantedPlan, *, report: Report = silent) -> PlantedDocument:
    """Simulate, train, ask."""
    report("simulating")
    rules = rules_times(plan.strength)
    count = plan.matches + plan.checks + plan.tests
    made = [simulate(plan.seed + number, rules=rules) for number in range(count)]
    predictor = train_planted(plan, made[: -plan.tests], report)
    innings = ruled_innings(made[-plan.tests :], predictor.base)
    balls = [ball for one in innings for ball in one.ruled]
    report("comparing with the truth")
    return PlantedDocument(
        plan,
        {"epochs": predictor.card["epochs"]},
        [
            RuleTold(
                rule.name,
                rule.text,
                list(rule.moves),
                rule.strength,
                sum(rule.name in ball.balls for ball in balls) / len(balls),
            )
            for rule in rules
        ],
        learnt(predictor, innings, plan.seed),
        pointing(predictor, innings, balls=plan.balls, seed=plan.seed, report=report),
        verdict_shares(
            *put_to_the_test(predictor, innings, balls=plan.claims, seed=plan.seed, report=report),
            plan.seed,
        ),
    )


def train_planted(plan: PlantedPlan, made: list[Simulated], report: Report) -> TrainedPredictor:
    """The predictor of the plan, from its matches to train on and to choose the epoch by."""
    report("fitting what the scoreboard alone expects")
    base = fit_base([one.match for one in made[: plan.matches]], seed=plan.seed)
    learn = ruled_innings(made[: plan.matches], base)
    check = ruled_innings(made[plan.matches :], base)
    fitted = fit(
        cricket_sizes(plan.hidden_dim),
        base.everything,
        [one.arrays for one in learn],
        [one.arrays for one in check],
        Recipe(
            epochs=plan.epochs,
            innings=plan.innings,
            learning_rate=plan.learning_rate,
            patience=plan.epochs,
            average=0.98,
            warm_up=50,
            seed=plan.seed,
        ),
        course=Course(report=report),
    )
    tell_of_hidings(fitted.model, check, balls=HIDDEN, seed=plan.seed)
    card = {"epochs": fitted.history, "matches": plan.matches}
    return TrainedPredictor("planted", "", fitted.model, base, Ratings(), card)

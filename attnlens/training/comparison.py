"""The baselines of `attnlens evaluate`: fitted on the model's split, asked about its balls."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.evaluate import JudgedBalls, aligned
from attnlens.cricket.held_out import HeldOut, last_day
from attnlens.cricket.kinds import like_training
from attnlens.cricket.match import Match
from attnlens.cricket.ratings import Ratings
from attnlens.training.aggregates import Doubles
from attnlens.training.baselines import (
    BaselineError,
    BoostedTrees,
    Fitted,
    Logistic,
    Prior,
    StateTable,
)
from attnlens.training.dataset import TrainingInnings, rate_and_encode
from attnlens.training.form import FeatureTable, feature_table

Report = Callable[[str], None]

NO_TRAINING = (
    "none of the matches given was played in the dates the model was trained on; give them as "
    "SRC or with --history"
)
UNDATED = "a match judged on has no date, so what came before it is not known"


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What the baselines say of the judged balls.

    Attributes:
        chances: by baseline, ``(balls, 11)``, in the order of the judged balls.
        left_out: baselines that could not be fitted, and why.
        own_prior: whether the prior is the checkpoint's own, for want of anything to fit on.
        fitted_on: how many matches the baselines were fitted on.
    """

    chances: dict[str, Doubles]
    left_out: dict[str, str]
    own_prior: bool
    fitted_on: int


def compare(
    held: HeldOut,
    balls: JudgedBalls,
    names: Sequence[str],
    *,
    seed: int = 5,
    report: Report = lambda _: None,
) -> Compared:
    """Fit baselines on the matches the model was trained on, and ask them about ``balls``.

    Training ends on the checkpoint's ``weights_until``; matches from there to its
    ``trained_until`` say when to stop boosting. Ratings are made date by date from all
    matches given. Without training matches, or dates, there is only the checkpoint's own prior.

    Args:
        names: of `baselines.BASELINES`.
    """
    if not names:
        return Compared({}, {}, own_prior=False, fitted_on=0)
    split = _Split.of(held)
    fit = [match for match in held.given.values() if split.trains(match)]
    undated = not all(match.dates for match in held.matches)
    if undated or not fit:
        chances: dict[str, Doubles] = {}
        if "prior" in names:
            shares = np.exp(held.predictor.base.everything.astype(np.float64))
            chances["prior"] = np.tile(shares / shares.sum(), (len(balls), 1))
        reason = UNDATED if undated else NO_TRAINING
        left = {name: reason for name in names if name != "prior"}
        return Compared(chances, left, own_prior=True, fitted_on=0)

    train, check, asked, order = _tables(held, split, report)
    chances, left = {}, {}
    for name in names:
        report(f"fitting {name.replace('_', ' ')} on {len(train)} balls")
        try:
            fitted = _fitted(name, train, check, seed, report)
        except BaselineError as error:
            left[name] = str(error)
            continue
        chances[name] = aligned(balls, order, fitted.probabilities(asked))
    return Compared(chances, left, own_prior=False, fitted_on=len(fit))


def _fitted(
    name: str, train: FeatureTable, check: FeatureTable | None, seed: int, report: Report
) -> Fitted:
    if name == "boosted_trees":
        return BoostedTrees.fit(train, check, seed=seed, report=report)
    kinds: dict[str, Callable[[FeatureTable], Fitted]] = {
        "prior": Prior.fit,
        "state_table": StateTable.fit,
        "logistic": Logistic.fit,
    }
    return kinds[name](train)


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Which matches the model's weights and their number of epochs come from."""

    held: HeldOut
    weights_until: datetime.date | None
    trained_until: datetime.date | None

    @classmethod
    def of(cls, held: HeldOut) -> _Split:
        ended = held.predictor.date("trained_until")
        return cls(held, held.predictor.date("weights_until") or ended, ended)

    def trains(self, match: Match) -> bool:
        day = last_day(match)
        return (
            day is not None
            and self.weights_until is not None
            and day <= self.weights_until
            and like_training(match, self.held.predictor)
        )

    def checks(self, match: Match) -> bool:
        day = last_day(match)
        return (
            day is not None
            and self.weights_until is not None
            and self.trained_until is not None
            and self.weights_until < day <= self.trained_until
            and like_training(match, self.held.predictor)
        )


def _tables(
    held: HeldOut, split: _Split, report: Report
) -> tuple[FeatureTable, FeatureTable | None, FeatureTable, list[tuple[str, int, int]]]:
    """Features of the balls to fit on, to stop by and to ask about, and the order of the last."""
    last = max(day for match in held.matches if (day := last_day(match)) is not None)
    matches = [m for m in held.given.values() if (day := last_day(m)) is not None and day <= last]
    innings = rate_and_encode(matches, held.predictor.base, Ratings(), progress=report)
    report("adding up what happened before every ball")
    table = feature_table(matches, innings)
    counts = [len(one.arrays) for one in innings]

    def rows(chosen: set[str]) -> NDArray[np.bool_]:
        return np.repeat([one.match_id in chosen for one in innings], counts)

    fit = rows({match.match_id for match in matches if split.trains(match)})
    check = rows({match.match_id for match in matches if split.checks(match)})
    judged = {match.match_id for match in held.matches}
    return (
        table.rows(fit),
        table.rows(check) if check.any() else None,
        table.rows(rows(judged)),
        _order(innings, judged),
    )


def _order(innings: Sequence[TrainingInnings], judged: set[str]) -> list[tuple[str, int, int]]:
    return [
        (one.match_id, one.innings, len(one.arrays)) for one in innings if one.match_id in judged
    ]

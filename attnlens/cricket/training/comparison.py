"""The baselines of `attnlens evaluate`: fitted on the model's split, asked about its balls."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attnlens.cricket.model.kinds import like_training
from attnlens.cricket.model.ratings import Ratings
from attnlens.cricket.study.evaluate import JudgedBalls, aligned
from attnlens.cricket.study.held_out import EncodedInnings, HeldOut, last_day
from attnlens.cricket.training.ball_table import Doubles
from attnlens.cricket.training.baselines import (
    BaselineError,
    BoostedTrees,
    Fitted,
    Logistic,
    Prior,
    StateTable,
)
from attnlens.cricket.training.dataset import rate_and_encode
from attnlens.cricket.training.features import FeatureTable, feature_table

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
    until = held.predictor.date("trained_until")
    weights_until = held.predictor.date("weights_until") or until
    learnt = _ids(held, None, weights_until)
    undated = not all(match.dates for match in held.matches)
    if undated or not learnt:
        chances: dict[str, Doubles] = {}
        if "prior" in names:
            shares = np.exp(held.predictor.base.everything.astype(np.float64))
            chances["prior"] = np.tile(shares / shares.sum(), (len(balls), 1))
        reason = UNDATED if undated else NO_TRAINING
        left = {name: reason for name in names if name != "prior"}
        return Compared(chances, left, own_prior=True, fitted_on=0)

    checked = _ids(held, weights_until, until)
    innings = _innings(held, report)
    report("adding up what happened before every ball")
    table = feature_table(innings)
    judged = {match.match_id for match in held.matches}
    ids = np.repeat([one.match_id for one in innings], [len(one.arrays) for one in innings])
    train, check, asked = (table.rows(np.isin(ids, [*some])) for some in (learnt, checked, judged))
    order = [
        (one.match_id, one.innings, len(one.arrays)) for one in innings if one.match_id in judged
    ]
    chances, left = {}, {}
    for name in names:
        report(f"fitting {name.replace('_', ' ')} on {len(train)} balls")
        try:
            fitted = _fitted(name, train, check if len(check) else None, seed, report)
        except BaselineError as error:
            left[name] = str(error)
            continue
        chances[name] = aligned(balls, order, fitted.probabilities(asked))
    return Compared(chances, left, own_prior=False, fitted_on=len(learnt))


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


def _ids(held: HeldOut, after: datetime.date | None, until: datetime.date | None) -> set[str]:
    """Matches like those of the training that ended after one day and until another."""
    return {
        match.match_id
        for match in held.given.values()
        if (day := last_day(match)) is not None
        and until is not None
        and (after is None or after < day)
        and day <= until
        and like_training(match, held.predictor)
    }


def _innings(held: HeldOut, report: Report) -> list[EncodedInnings]:
    """Every innings up to the last one judged, with ratings made date by date."""
    last = max(day for match in held.matches if (day := last_day(match)) is not None)
    matches = [m for m in held.given.values() if (day := last_day(m)) is not None and day <= last]
    return rate_and_encode(matches, held.predictor.base, Ratings(), progress=report)

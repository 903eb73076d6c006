"""``attnlens train``: from match files to a checkpoint, in one call."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from attnlens.cricket.match import Innings, Match
from attnlens.cricket.ratings import Ratings
from attnlens.cricket.readers import read_matches
from attnlens.cricket.tensors import InningsArrays
from attnlens.cricket.trained import TrainedPredictor, save_predictor
from attnlens.errors import InputError, MatchFileError
from attnlens.training.dataset import TrainingInnings, fit_base, ordinary, rate_and_encode
from attnlens.training.earned import earned_names
from attnlens.training.fit import Recipe, cricket_sizes, fit

Report = Callable[[str], None]
VALIDATION_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """What to train on.

    Attributes:
        train_until: the last day of training; ``None`` leaves the last tenth of the days
            to validation.
        validate_until: the last day of validation; ``None`` is the last day there is. Equal
            to ``train_until`` there is no validation, and the number of epochs is final.
        hidden_dim: width of the predictor.
        head_balls: balls to sample for the heads' names.
    """

    train_until: datetime.date | None = None
    validate_until: datetime.date | None = None
    hidden_dim: int = 60
    dropout: float = 0.2
    head_balls: int = 200


def train(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    plan: Plan,
    recipe: Recipe,
    *,
    state: Path | None = None,
    report: Report = lambda _: None,
) -> TrainedPredictor:
    """Read, rate, train and write a checkpoint to ``out``.

    Raises:
        InputError: no matches, or none on one side of the split.
    """
    matches = _read(sources, report)
    train_until, validate_until = _split(matches, plan)
    training = [match for match in matches if max(match.dates) <= train_until]
    if not training:
        raise InputError(f"no match up to {train_until} to train on", path=sources[0])
    report(f"{len(training)} matches to train on; fitting what the scoreboard alone expects")
    base = fit_base(training, seed=recipe.seed)
    ratings = Ratings()
    used = [match for match in matches if max(match.dates) <= validate_until]
    innings = rate_and_encode(used, base, ratings)
    learn = [one.arrays for one in innings if one.date <= train_until]
    check = [one for one in innings if train_until < one.date <= validate_until]
    report(
        f"{sum(map(len, learn))} balls to train on, {sum(len(o.arrays) for o in check)} to check"
    )

    sizes = cricket_sizes(plan.hidden_dim, plan.dropout)
    fitted = fit(
        sizes,
        base.everything,
        learn,
        [one.arrays for one in check],
        recipe,
        state=state,
        report=report,
    )
    types = sorted({match.match_type for match in training if match.match_type})
    genders = {match.gender for match in training}
    card: dict[str, Any] = {
        "trained_from": min(match.dates[0] for match in training).isoformat(),
        "trained_until": validate_until.isoformat(),
        "weights_until": train_until.isoformat(),
        "match_types": types,
        "gender": genders.pop() if len(genders) == 1 else None,
        "matches": len(training),
        "balls": sum(map(len, learn)),
        "recipe": asdict(recipe),
        "epochs": fitted.history,
    }
    predictor = TrainedPredictor(Path(out).stem, "", fitted.model, base, ratings, card)
    sample = check or [one for one in innings if one.date <= train_until]
    card["earned"] = earned_names(
        predictor,
        _with_matches(sample, used),
        balls=plan.head_balls,
        seed=recipe.seed,
        report=report,
    )
    card["earned_from"] = "validation" if check else "training"
    save_predictor(out, predictor)
    digest = hashlib.sha256(Path(out).read_bytes()).hexdigest()
    report(f"wrote {out} ({Path(out).stat().st_size / 2**20:.2f} MB, sha256 {digest[:12]})")
    return predictor


def _read(sources: Sequence[str], report: Report) -> list[Match]:
    skipped: list[MatchFileError] = []
    matches: dict[str, Match] = {}
    for source in sources:
        for match in read_matches(source, on_error="skip", skipped=skipped):
            if match.dates and any(ordinary(match)):
                matches[match.match_id] = match
            if len(matches) % 100 == 0:
                report(f"read {len(matches)} matches")
    if not matches:
        reason = f" ({skipped[0]})" if skipped else ""
        raise InputError(f"holds no match to train on{reason}", path=sources[0])
    for error in skipped:
        report(f"skipped: {error}")
    return sorted(matches.values(), key=lambda match: (max(match.dates), match.match_id))


def _split(matches: Sequence[Match], plan: Plan) -> tuple[datetime.date, datetime.date]:
    days = sorted({max(match.dates) for match in matches})
    validate_until = plan.validate_until or days[-1]
    if plan.train_until is not None:
        if plan.train_until > validate_until:
            raise InputError(
                f"training until {plan.train_until} runs past validation until {validate_until}"
            )
        return plan.train_until, validate_until
    inside = [day for day in days if day <= validate_until]
    if len(inside) < 2:
        raise InputError(
            "one day of matches cannot be split for validation",
            remedy="give more matches, or the same day to --train-until and --validate-until",
        )
    cut = min(int(len(inside) * (1 - VALIDATION_SHARE)), len(inside) - 2)
    return inside[cut], validate_until


def _with_matches(
    sample: Sequence[TrainingInnings], matches: Sequence[Match]
) -> list[tuple[Match, Innings, InningsArrays]]:
    by_id = {match.match_id: match for match in matches}
    found = []
    for one in sample:
        match = by_id[one.match_id]
        side = next(side for side in match.innings if side.number == one.innings)
        found.append((match, side, one.arrays))
    return found


def use_threads(count: int | None) -> None:
    """How many threads torch may use; all the machine's unless given."""
    torch.set_num_threads(count or os.cpu_count() or 1)

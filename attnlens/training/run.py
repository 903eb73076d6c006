"""``attnlens train``: from match files to a checkpoint, in one call."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from attnlens.cricket.kinds import kind_card
from attnlens.cricket.match import Innings, Match
from attnlens.cricket.ratings import Ratings
from attnlens.cricket.readers import read_matches
from attnlens.cricket.seen import identities
from attnlens.cricket.tensors import InningsArrays
from attnlens.cricket.trained import TrainedPredictor, save_predictor
from attnlens.errors import InputError, MatchFileError
from attnlens.models.predictor import FullModel
from attnlens.training.dataset import TrainingInnings, fit_base, ordinary, rate_and_encode
from attnlens.training.earned import earned_names
from attnlens.training.fit import Recipe, cricket_sizes, fit
from attnlens.training.processes import ALONE, Processes
from attnlens.training.running import check_state
from attnlens.training.teachers import check_teachers, teach

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
        sizes: fields of `attnlens.models.predictor.Sizes` that differ from the default.
        teachers: see `attnlens.training.teachers.teach`.
        head_balls: balls to sample for the heads' names.
    """

    train_until: datetime.date | None = None
    validate_until: datetime.date | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    teachers: tuple[str, ...] = ()
    head_balls: int = 200


def train(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    plan: Plan,
    recipe: Recipe,
    *,
    state: Path | None = None,
    report: Report = lambda _: None,
    among: Processes = ALONE,
) -> TrainedPredictor:
    """Read, rate, train and write a checkpoint to ``out``.

    Args:
        state: where to keep what a run needs to go on after it was stopped.
        among: the processes of the run; only the first one writes and reports.

    Raises:
        InputError: no matches, or none on one side of the split.
        CheckpointError: ``state`` belongs to another run.
    """
    if not among.first:
        report = _silent
    keep = None if state is None else state.with_name(state.name + ".teacher")
    asked = check_teachers(plan.teachers, keep)
    sizes = cricket_sizes(**plan.sizes)
    if state is not None:
        check_state(state, FullModel(sizes, torch.zeros(sizes.outcomes)), recipe, asked)
    matches = read_dated(sources, report)
    split = split_matches(matches, plan, sources[0])
    train_until, validate_until = split.train_until, split.validate_until
    training, used = split.training, split.used
    asked["matches"] = split.mark
    if state is not None:
        check_state(state, FullModel(sizes, torch.zeros(sizes.outcomes)), recipe, asked)
    report(f"{len(training)} matches to train on; fitting what the scoreboard alone expects")
    base = fit_base(training, seed=recipe.seed)
    ratings = Ratings()
    innings = rate_and_encode(used, base, ratings)
    learn = [one.arrays for one in innings if one.date <= train_until]
    validation = [one for one in innings if train_until < one.date <= validate_until]
    to_check = sum(len(one.arrays) for one in validation)
    report(f"{sum(map(len, learn))} balls to train on, {to_check} to check")

    teacher = None
    if plan.teachers:
        teacher = teach(
            plan.teachers,
            used,
            innings,
            lambda one: one.date <= train_until,
            seed=recipe.seed,
            threads=_threads(among),
            keep=keep,
            report=report,
            among=among,
        )
    fitted = fit(
        sizes,
        base.everything,
        learn,
        [one.arrays for one in validation],
        recipe,
        teacher=teacher,
        state=state,
        asked=asked,
        report=report,
        among=among,
    )
    card: dict[str, Any] = {
        **split.card,
        "balls": sum(map(len, learn)),
        "recipe": asdict(recipe),
        "teachers": [Path(name).stem for name in plan.teachers],
        "epochs": fitted.history,
    }
    predictor = TrainedPredictor(
        Path(out).stem, "", fitted.model, base, ratings, card, seen=identities(used)
    )
    if not among.first:
        return predictor
    sample = validation or [one for one in innings if one.date <= train_until]
    card["earned"] = earned_names(
        predictor,
        _with_matches(sample, used),
        balls=plan.head_balls,
        seed=recipe.seed,
        report=report,
    )
    card["earned_from"] = "validation" if validation else "training"
    save_predictor(out, predictor)
    tell_written(out, report)
    return predictor


@dataclass(frozen=True, slots=True)
class Split:
    """Matches by the days of a plan.

    Attributes:
        train_until, validate_until: the last days of both.
        training: the matches to train on.
        used: those, and the ones to validate on.
    """

    train_until: datetime.date
    validate_until: datetime.date
    training: list[Match]
    used: list[Match]

    @property
    def mark(self) -> str:
        """What tells these matches, and where they are split, from others."""
        told = [(match.match_id, match.dates) for match in self.used]
        return hashlib.sha256(repr((self.train_until, told)).encode()).hexdigest()

    @property
    def card(self) -> dict[str, Any]:
        """What a checkpoint says of the matches it was trained on."""
        return {
            "trained_from": min(match.dates[0] for match in self.training).isoformat(),
            "trained_until": self.validate_until.isoformat(),
            "weights_until": self.train_until.isoformat(),
            **kind_card(self.training),
            "matches": len(self.training),
        }


def split_matches(matches: Sequence[Match], plan: Plan, source: str) -> Split:
    """Which matches to train on, and which to validate on.

    Raises:
        InputError: none to train on, or what `split_days` raises.
    """
    train_until, validate_until = split_days(matches, plan)
    training = [match for match in matches if max(match.dates) <= train_until]
    if not training:
        raise InputError(
            f"no match up to {train_until} to train on",
            path=source,
            remedy="give earlier matches or a later day",
        )
    used = [match for match in matches if max(match.dates) <= validate_until]
    return Split(train_until, validate_until, training, used)


def tell_written(out: str | os.PathLike[str], report: Report) -> None:
    """Report a checkpoint's size and hash."""
    digest = hashlib.sha256(Path(out).read_bytes()).hexdigest()
    report(f"wrote {out} ({Path(out).stat().st_size / 1e6:.2f} MB, sha256 {digest[:12]})")


def _threads(among: Processes) -> int:
    """For what the first process does while the others of its machine wait."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if among.count > 1 else 1
    return min(torch.get_num_threads() * here, os.cpu_count() or 1)


def _silent(_: str) -> None:
    """For all processes but the first."""


def read_dated(sources: Sequence[str], report: Report) -> list[Match]:
    """Matches to learn from that have a date, each once, oldest first.

    Raises:
        InputError: there is none.
    """
    skipped: list[MatchFileError] = []
    matches: dict[str, Match] = {}
    for source in sources:
        for match in read_matches(source, on_error="skip", skipped=skipped):
            if match.dates and any(ordinary(match)):
                matches[match.match_id] = match
            if len(matches) % 100 == 0:
                report(f"read {len(matches)} matches")
    if not matches:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(
            f"holds no match to train on{reason}",
            path=sources[0],
            remedy="give match files, a folder or a zip of them",
        )
    for error in skipped:
        report(f"skipped: {error}")
    return sorted(matches.values(), key=lambda match: (max(match.dates), match.match_id))


def split_days(matches: Sequence[Match], plan: Plan) -> tuple[datetime.date, datetime.date]:
    """The last day of training and that of validation; neither is later than the matches.

    Raises:
        InputError: the days are in the wrong order, or leave nothing to validate on.
    """
    days = sorted({max(match.dates) for match in matches})
    first, last = plan.train_until, plan.validate_until or days[-1]
    whole = "give the same day to --train-until and --validate-until to train without validation"
    if first is None:
        inside = [day for day in days if day <= last]
        if not inside:
            raise InputError(
                f"no match up to {last} to train on", remedy="give a later --validate-until"
            )
        if len(inside) < 2:
            raise InputError(
                "one day of matches cannot be split for validation",
                remedy="give more matches, or the same day to --train-until and --validate-until",
            )
        cut = min(int(len(inside) * (1 - VALIDATION_SHARE)), len(inside) - 2)
        return inside[cut], inside[-1]
    if plan.validate_until is not None and first > last:
        raise InputError(
            f"training until {first} runs past validation until {last}",
            remedy="give a later --validate-until",
        )
    if first != last and not any(first < day <= last for day in days):
        until = "" if plan.validate_until is None else f" and until {last}"
        raise InputError(f"no match after {first}{until} to validate on", remedy=whole)
    # The card tells what was seen: days after the last match were not.
    return min(first, days[-1]), min(last, days[-1])


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


def use_threads(count: int | None, among: int = 1) -> None:
    """How many threads torch may use; unless given, a process's part of all the machine's."""
    torch.set_num_threads(count or max(1, (os.cpu_count() or 1) // among))

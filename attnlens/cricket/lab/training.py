"""Train a checkpoint from match files, for the command ``attnlens lab train``."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import torch

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.lab.baselines import TREES, teach
from attnlens.cricket.lab.fit import (
    SMALL,
    Hyperparameters,
    OverHyperparameters,
    OverTrainingSet,
    cricket_sizes,
    fit,
    fit_base,
    rate_and_encode,
    rated,
    store_hiding_effects,
)
from attnlens.cricket.lab.head_study import HeadStudy, name_heads
from attnlens.cricket.lab.held_out import read, sides
from attnlens.cricket.lab.training_loop import (
    Schedule,
    TrainedModel,
    TrainingLoop,
    run_training,
    saved_run,
)
from attnlens.cricket.lab.winning import dated_contests, fit_win, win_rows
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.witnesses import RESULT
from attnlens.cricket.over.encoder_decoder import OverModel, OverSizes
from attnlens.cricket.over.features import RATED, OverRow, encode_overs
from attnlens.cricket.over.next_over import TrainedOvers, save_overs, token_runs
from attnlens.cricket.predictor.kinds import kind_card
from attnlens.cricket.predictor.predictor import Sizes
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.temporal import HEADS
from attnlens.cricket.predictor.tensors import BaseModel
from attnlens.cricket.predictor.trained import TrainedPredictor, identities, save_predictor
from attnlens.cricket.readers import Report
from attnlens.errors import InputError

_VALIDATION_SHARE = 0.1
_MAX_NAMED_MATCHES: Final = 8

_NO_VALIDATION = (
    "give the same day to --train-until and --validate-until to train without validation"
)

R = TypeVar("R", bound=Schedule)
KINDS: Final = ("int", "float")
_FIXED: Final = ("outcomes", "happened", "features", "context", "tokens")
"""Users cannot set these sizes, which follow from the features and tokens."""

_MAX_SIZE: Final = 4096
_MAX_VALUE: Final = 1e9
_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    **dict.fromkeys(("forget", "forget_past", "final", "teacher", "smoothing"), (0, 1)),
    **dict.fromkeys(("average", "dropout"), (0, 0.9999)),
    **dict.fromkeys(("seed", "warm_up"), (0, _MAX_VALUE)),
}
"""The allowed ranges of settings. Other settings have default ranges: integers start at 1, shares
of hidden inputs are from 0 to 1, and all other numbers start at 0.
"""


@dataclass(frozen=True)
class ModelKind(Generic[R]):
    """The settings of one kind of model.

    Attributes:
        recipe: the class of the model's hyperparameters.
        sizes: the class of the model's sizes.
        scales: the default number of heads of each scale; empty for a model without scales.
    """

    recipe: type[R]
    sizes: type
    scales: Mapping[str, int]

    @property
    def settings(self) -> dict[str, str]:
        """The name and the type of every setting."""
        kinds = {
            field.name: str(field.type)
            for field in (*fields(self.recipe), *fields(self.sizes))
            if field.type in KINDS and field.name not in _FIXED
        }
        return kinds | {f"heads.{scale}": "int" for scale in self.scales}


def recipe_and_sizes(
    kind: ModelKind[R], words: Sequence[str], overrides: Mapping[str, float]
) -> tuple[R, dict[str, Any]]:
    """Parse settings. Return the hyperparameters and the explicitly set model sizes.

    Args:
        words: the settings, such as ``learning_rate=0.001`` or ``heads.medium=8``.
        overrides: further settings, which override ``words``.

    Raises:
        InputError: a name is not a setting, or a value is invalid.
    """
    settings = kind.settings
    chosen: dict[str, Any] = {}
    for name, value in [*map(_parted, words), *overrides.items()]:
        if name not in settings:
            names = ", ".join(settings)
            raise InputError(
                f"--set: there is no setting {name!r}", remedy=f"the settings are {names}"
            )
        chosen[name] = _checked(name, value, settings[name])
    heads = {scale: chosen.pop(f"heads.{scale}", usual) for scale, usual in kind.scales.items()}
    of_recipe = chosen.keys() & {field.name for field in fields(kind.recipe)}
    recipe = kind.recipe(**{name: chosen.pop(name) for name in of_recipe})
    return recipe, chosen if heads == kind.scales else {**chosen, "heads": heads}


def _parted(word: str) -> tuple[str, Any]:
    name, sign, value = word.partition("=")
    if not sign:
        raise InputError(f"--set {word}: write a setting as NAME=VALUE")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        raise InputError(f"--set {word}: {value!r} is not a number") from None


def _checked(name: str, value: Any, kind: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = number and (kind == "float" or float(value).is_integer())
    if not fits:
        raise InputError(f"--set {name}={json.dumps(value)}: {name} has type {kind}")
    usual = (1, _MAX_SIZE) if kind == "int" else (0, 1 if name.startswith("hide_") else _MAX_VALUE)
    low, high = _BOUNDS.get(name, usual)
    if number and not low <= value <= high:
        raise InputError(
            f"--set {name}={json.dumps(value)}: {name} is between {low:g} and {high:g}"
        )
    return int(value) if kind == "int" else value


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """The matches, sizes and teacher of a training run.

    Attributes:
        train_until: the last day of the training matches. With ``None``, the last tenth of the days
            is for validation.
        validate_until: the last day of the validation matches; by default, the day of the last
            match. If this day equals ``train_until``, there is no validation and no early stopping.
        sizes: the model sizes that differ from the defaults. The encoder-decoder's defaults are
            `OverSizes` with the values in `SMALL`.
        teacher: ``boosted_trees``, or ``None`` for no teacher; only the predictor of balls can have
            a teacher.
        head_balls: the sample size for naming the predictor's heads. For effects of hiding a ball,
            the sample is three times as large.
    """

    train_until: datetime.date | None = None
    validate_until: datetime.date | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    teacher: str | None = None
    head_balls: int = 200


def train(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    plan: TrainingPlan,
    recipe: Hyperparameters,
    loop: TrainingLoop,
) -> None:
    """Read the matches, compute ratings, train a predictor of balls, and write it to ``out``.

    Raises:
        InputError: there are no matches for training, or no matches for validation.
        CheckpointError: the saved state belongs to another run.
    """
    if plan.teacher and find_spec("lightgbm") is None:  # fail before the matches are read
        remedy = "run: pip install lightgbm"
        raise InputError(f"--teacher {TREES}: lightgbm is not installed", remedy=remedy)
    sizes = cricket_sizes(**plan.sizes)
    split, loop, base = _begun(sources, plan, recipe, loop)
    ratings = Ratings()
    innings = rate_and_encode(split.used, base, ratings)
    n_train = sum(max(encoded.match.dates) <= split.train_until for encoded in innings)
    training, validation = innings[:n_train], innings[n_train:]
    balls, checked = (
        sum(len(encoded.arrays) for encoded in part) for part in (training, validation)
    )
    loop.report(f"training on {balls} balls, validating on {checked}")
    teacher = None
    if plan.teacher:
        # While the first process fits the trees, the other processes on its machine wait.
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if loop.among.count > 1 else 1
        threads = min(torch.get_num_threads() * local, os.cpu_count() or 1)
        teacher = teach(training, seed=recipe.seed, threads=threads, loop=loop)
    fitted = fit(
        sizes,
        base.everything,
        [encoded.arrays for encoded in training],
        [encoded.arrays for encoded in validation],
        recipe,
        teacher=teacher,
        loop=loop,
    )
    teachers = [TREES] if plan.teacher else []
    card = split.card(recipe, fitted) | {"balls": balls, "teachers": teachers}
    contests = dated_contests(split.training, base)
    predictor = TrainedPredictor(
        Path(out).stem,
        "",
        fitted.model,
        base,
        ratings,
        card,
        win=fit_win(win_rows(contests), base.last_over, report=loop.report),
        trained_on=identities(split.used),
    )
    if loop.among.first:
        sample = validation or training
        study = HeadStudy(fitted.model, sample, balls=plan.head_balls, seed=recipe.seed)
        loop.report(f"measuring and naming the heads on {len(study.sample)} balls")
        names = name_heads(study, thorough=False)
        card["earned"] = {scale: [head.earned for head in heads] for scale, heads in names.items()}
        card["earned_from"] = "validation" if validation else "training"
        store_hiding_effects(fitted.model, sample, balls=3 * plan.head_balls, seed=recipe.seed)
        save_predictor(out, predictor)
        _report_written(out, loop.report)


def train_overs(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    plan: TrainingPlan,
    recipe: OverHyperparameters,
    loop: TrainingLoop,
) -> None:
    """Train the encoder-decoder of overs. `train` documents the arguments and errors."""
    sizes = OverSizes(**{**SMALL, **plan.sizes})
    split, loop, base = _begun(sources, plan, recipe, loop)
    ratings = Ratings(kinds=RATED)
    learn: list[OverRow] = []
    check: list[OverRow] = []
    encode = partial(encode_overs, ratings=ratings, base=base)
    for _, _, day, arrays in rated(split.used, ratings, encode):
        part = learn if day <= split.train_until else check
        part += [(arrays, row) for row in range(len(arrays))]
    training_set = OverTrainingSet(learn, check, sizes, recipe)
    loop.report(
        f"training on {len(training_set.train)} overs, validating on {len(training_set.check)}"
    )
    fitted = run_training(lambda: OverModel(sizes), training_set, recipe, loop)
    card = split.card(recipe, fitted) | {
        "overs_trained_on": len(training_set.train),
        "token_runs": token_runs(split.training).round(9).tolist(),
    }
    trained = TrainedOvers(
        Path(out).stem, "", fitted.model, base, ratings, card, trained_on=identities(split.used)
    )
    if loop.among.first:
        save_overs(out, trained)
        _report_written(out, loop.report)


TRAINERS: Final[Mapping[str, tuple[ModelKind[Any], Callable[..., None]]]] = {
    "temporal": (ModelKind(Hyperparameters, Sizes, HEADS), train),
    "cricket": (ModelKind(OverHyperparameters, OverSizes, {}), train_overs),
}
"""The models that ``attnlens lab train`` trains, with their settings and training functions."""


@dataclass(frozen=True, slots=True)
class DateSplit:
    """The matches of a training run, split by date.

    Attributes:
        train_until: the last day of the matches for training.
        validate_until: the last day of the matches for validation.
        training: the matches for training.
        used: the matches for training and for validation.
    """

    train_until: datetime.date
    validate_until: datetime.date
    training: list[Match]
    used: list[Match]

    def card(self, recipe: Schedule, fitted: TrainedModel[Any]) -> dict[str, Any]:
        """Return the card of the trained checkpoint: its training dates, settings and losses."""
        return {
            "trained_from": min(match.dates[0] for match in self.training).isoformat(),
            "trained_until": self.validate_until.isoformat(),
            "weights_until": self.train_until.isoformat(),
            "win_until": self.train_until.isoformat(),
            **kind_card(self.training),
            "matches": len(self.training),
            "recipe": asdict(recipe),
            "epochs": fitted.history,
        }


def _begun(
    sources: Sequence[str],
    plan: TrainingPlan,
    recipe: Schedule,
    loop: TrainingLoop,
) -> tuple[DateSplit, TrainingLoop, BaseModel]:
    """Read and split the matches, and fit the scoreboard model. ``mark`` becomes a data hash."""
    split = split_matches(read_dated(sources, loop.report), plan, sources[0])
    played = [
        (
            match.match_id,
            match.dates,
            [[ball.outcome for ball in s.deliveries] for s in sides(match)],
        )
        for match in split.used
    ]
    described = repr((split.train_until, sorted(plan.sizes.items()), plan.teacher, played))
    loop = replace(loop, mark=hashlib.sha256(described.encode()).hexdigest())
    if loop.state is not None and loop.state.exists():
        saved_run(loop.state, recipe, loop.mark)
    count = len(split.training)
    loop.report(f"training on {count} matches; fitting the predictions from the scoreboard alone")
    return split, loop, fit_base(split.training, seed=recipe.seed)


def split_matches(matches: Sequence[Match], plan: TrainingPlan, source: str) -> DateSplit:
    """Split matches by date into training and validation.

    A day in the plan after the last match is replaced by the day of the last match.

    Raises:
        InputError: the plan's days are in the wrong order, or leave no matches for training or
            validation.
    """
    days = sorted({max(match.dates) for match in matches})
    first, last = plan.train_until, plan.validate_until or days[-1]
    used_days = [day for day in days if day <= last]
    if first is None and len(used_days) == 1:
        raise InputError(
            "all matches were played on one day, so they cannot be split for validation",
            remedy=_NO_VALIDATION,
        )
    if first is None:
        index = min(int(len(used_days) * (1 - _VALIDATION_SHARE)), len(used_days) - 2)
        first = used_days[index] if used_days else last
    if plan.validate_until is not None and first > last:
        raise InputError(
            f"the training period (to {first}) ends after the validation period (to {last})",
            remedy="give a later --validate-until",
        )
    training = [match for match in matches if max(match.dates) <= first]
    if not training:
        raise InputError(
            f"no match was played up to {first}, the last training day",
            path=source,
            remedy="give earlier matches or a later day",
        )
    if first != last and not any(first < day for day in used_days):
        until = "" if plan.validate_until is None else f" and until {last}"
        raise InputError(
            f"no match was played after {first}{until}, so there is no match for validation",
            remedy=_NO_VALIDATION,
        )
    used = [match for match in matches if max(match.dates) <= last]
    return DateSplit(min(first, days[-1]), min(last, days[-1]), training, used)


def read_dated(sources: Sequence[str], report: Report) -> list[Match]:
    """Read the matches that have a date. Return each match once, oldest first.

    A match is skipped and reported if the stated result does not follow from the balls.

    Raises:
        InputError: no match is left.
    """
    skipped: list[MatchFileError] = []
    matches = [match for match in read(sources, skipped, report).values() if match.dates]
    wrong = [match for match in matches if any(doubt.kind == RESULT for doubt in match.doubts)]
    if wrong:
        names = ", ".join(match.match_id for match in wrong[:_MAX_NAMED_MATCHES])
        unnamed = len(wrong) - _MAX_NAMED_MATCHES
        more = f" and {unnamed} more" if unnamed > 0 else ""
        report(
            f"skipped {len(wrong)} matches whose result does not follow from their balls: "
            f"{names}{more}"
        )
        matches = [match for match in matches if match not in wrong]
    if not matches:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(
            f"contains no match to train on{reason}",
            path=sources[0],
            remedy="give match files, a folder or a zip of them",
        )
    for error in skipped:
        report(f"skipped: {error}")
    return sorted(matches, key=lambda match: (max(match.dates), match.match_id))


def _report_written(out: str | os.PathLike[str], report: Report) -> None:
    digest = hashlib.sha256(Path(out).read_bytes()).hexdigest()
    report(f"wrote {out} ({Path(out).stat().st_size / 1e6:.2f} MB, sha256 {digest[:12]})")


def use_threads(count: int | None, among: int) -> None:
    """Set the number of torch's threads.

    The default is the number of cores divided by the number of processes (``among``).
    """
    torch.set_num_threads(count or max(1, (os.cpu_count() or 1) // among))

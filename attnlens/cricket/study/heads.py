"""What every head does, measured on many balls, and the name it has earned by that.

A head earns the name of a relation when, over a sample of balls of many matches,

1. *it looks there*: it pays the relation's balls at least `LEAST_LIFT` times what attention
   spread evenly would pay (the lower end of the 95% interval, whole matches resampled);
2. *not only because they are near*: it pays them more than its own profile over distance
   would (again the lower end; recency itself is exempt);
3. *those balls are what it uses*: hiding them from this head alone moves the prediction more
   than hiding as many other balls drawn at random from what it sees (the lower end of the
   difference in nats is above 0);
4. *it matters*: on at least `LEAST_OFTEN` of balls (the lower end) that hiding is as large as
   a verdict asks of a single claim, 0.5 points on some outcome or 0.0005 nats.

Of several relations that pass, the name is that of the one which accounts for most of the
head's departure from uniform attention (`attnlens.analysis.heads.departure`). All others
stay ``unspecialised``: a head that looks but does not matter earns nothing, whatever it
started as.

Importance is by mean ablation: what the head puts out is replaced by its mean over the
sample, and the model goes on from there. Zhang & Nanda 2023 on why the mean and not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.analysis.heads import (
    Bootstrap,
    Estimates,
    columns_replaced,
    departure,
    keys_hidden,
    relation_shares,
    shares_by_distance,
    uniform_shares,
)
from attnlens.analysis.scores import divergence
from attnlens.arrays import Flags, Floats
from attnlens.claims.verdicts import ENOUGH_NATS, ENOUGH_POINTS, LEAST_LIFT
from attnlens.cricket.explain.reading import SITES, SLOT_SITE
from attnlens.cricket.model.heads import UNSPECIALISED
from attnlens.cricket.model.predictor import FUSED, FullModel
from attnlens.cricket.model.relations import RECENCY, RELATIONS
from attnlens.cricket.model.tensors import Encoded
from attnlens.cricket.study.figures import Figure
from attnlens.cricket.study.head_looks import Looks, Passed, pass_over
from attnlens.cricket.study.sampling import batches_of, past_told, probabilities, sample_balls
from attnlens.show.numbers import DIGITS

Report = Callable[[str], None]

LEAST_BALLS: Final = 50
LEAST_OFTEN: Final = 0.05
NATS_DIGITS: Final = 9
DRAWS: Final = 2
"""Random sets per ball that hiding a relation's balls is compared with."""

SOURCES: Final[dict[str, str]] = {
    source: "ball_norm" if source == "within_ball" else f"temporal.output_norms.{source}"
    for source in FUSED
}
"""The module that gives each of the vectors that the fusion gates weigh."""


@dataclass(frozen=True, slots=True, eq=False)
class Focus:
    """Where the heads of one site look, each figure ``(head, relation)``.

    Attributes:
        uniform: what attention spread evenly would pay.
        full, bias_only, content_only: share of past attention.
        lift, bias_lift, content_lift: those over uniform.
        by_distance: what the head's profile over distance alone would pay.
        beyond: share over ``by_distance``.
        balls: rows that had a ball to look at.
        departure: nats; see `attnlens.analysis.heads.departure`.
    """

    uniform: Floats
    full: Estimates
    bias_only: Estimates
    content_only: Estimates
    lift: Estimates
    bias_lift: Estimates
    content_lift: Estimates
    by_distance: Floats
    beyond: Estimates
    balls: NDArray[np.int64]
    departure: Floats


@dataclass(frozen=True, slots=True)
class Hiding:
    """What hiding a relation's balls from one head did, over the balls where it could.

    Attributes:
        nats, control_nats, margin_nats: the effect, random sets' effect, and the difference.
        matters: share of balls on which it was large enough to matter.
        supports: whether conditions 3 and 4 are met.
    """

    nats: Figure
    control_nats: Figure
    margin_nats: Figure
    matters: Figure
    supports: bool


@dataclass(frozen=True, slots=True)
class Importance:
    """What replacing something by its mean did.

    Attributes:
        nats: ``KL(full ‖ ablated)``.
        log_loss_change: rise of the log-loss, nats.
        points: largest change of an outcome, percentage points.
        matters: share of balls on which it was large enough to matter.
        rank: 1 for the one of its kind whose ablation moves the prediction most.
    """

    nats: Figure
    log_loss_change: Figure
    points: Figure
    matters: Figure
    rank: int = 0


def focus_of(looks: Looks, bootstrap: Bootstrap) -> Focus:
    """Shares and lifts of the heads of one site."""
    full = relation_shares(looks.full, looks.held)
    by_distance = shares_by_distance(looks.full, looks.held, looks.visible, looks.distance)
    even = np.broadcast_to(uniform_shares(looks.held, looks.visible)[:, None], full.shape)
    uniform = bootstrap.mean(np.where(np.isnan(full), np.nan, even)).value
    bias = relation_shares(looks.bias_only, looks.held)
    content = relation_shares(looks.content_only, looks.held)
    share = bootstrap.mean(full)
    return Focus(
        uniform=uniform,
        full=share,
        bias_only=bootstrap.mean(bias),
        content_only=bootstrap.mean(content),
        lift=bootstrap.ratio(full, even),
        bias_lift=bootstrap.ratio(bias, even),
        content_lift=bootstrap.ratio(content, even),
        by_distance=bootstrap.mean(by_distance).value,
        beyond=bootstrap.ratio(full, by_distance),
        balls=(~np.isnan(full[..., 0])).sum(0),
        departure=departure(share.value, uniform),
    )


class HeadStudy:
    """A predictor, a sample of balls and one pass over them: what every measurement needs.

    Args:
        innings: encoded with the ratings of the day before.
        balls: how many balls to sample, each with at least 36 before it.
        seed: of the sample, the intervals and the random sets.
    """

    def __init__(
        self, model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
    ) -> None:
        self.model = model
        self.seed = seed
        self.sample = batches_of(sample_balls(innings, balls, seed))
        self.past = past_told(model, self.sample)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """The intervals' resamples of matches."""
        return Bootstrap(self.sample.matches, seed=self.seed)

    @cached_property
    def passed(self) -> Passed:
        """The pass over the sample.

        Raises:
            ValueError: no ball was sampled.
        """
        if not len(self.sample):
            raise ValueError("no ball was sampled")
        outputs = [f"{site}.to_output" for site in (*SITES.values(), SLOT_SITE)]
        return pass_over(self.model, self.sample, outputs, list(SOURCES.values()))

    @cached_property
    def focus(self) -> dict[str, Focus]:
        """Where heads look, by scale, and slots under ``slots.<name>``."""
        return {name: focus_of(looks, self.bootstrap) for name, looks in self.passed.looks.items()}

    def mean(self, values: Floats, digits: int = NATS_DIGITS) -> Figure:
        """Over balls ``(row,)``; those that are NaN do not count."""
        return Figure.of(self.bootstrap.mean(values), digits=digits)

    def _probabilities(self, hook: Callable[[int], AbstractContextManager[None]]) -> Floats:
        """Of every sampled ball under an intervention."""
        return probabilities(self.model, self.sample, self.past, hook)

    def hiding(self, scale: str, head: int, relation: int) -> Hiding:
        """Hide a relation's balls from one head alone, and random ones for comparison.

        On the long scale, whose keys are overs, an over loses the share of its weight that
        its balls in the relation have, and the shares are dealt out again at random.
        """
        full = self.passed.probabilities
        probe = self.model.get_submodule(f"{SITES[scale]}.probe")
        taken = [shares[scale][..., relation] for shares in self.passed.key_shares]
        visible = [flags[scale] for flags in self.passed.key_visible]

        def without(shares: Sequence[Floats]) -> Floats:
            parts = [torch.from_numpy(share).float() for share in shares]
            return self._probabilities(lambda number: keys_hidden(probe, head, parts[number]))

        hidden = without(taken)
        effect = divergence(full, hidden)
        generator = np.random.default_rng([self.seed, list(SITES).index(scale), head, relation])
        controls = [
            without([dealt(s, v, generator) for s, v in zip(taken, visible, strict=True)])
            for _ in range(DRAWS)
        ]
        control = np.mean([divergence(full, one) for one in controls], axis=0)
        # Where none of the balls is in the relation, or all are, there is nothing to compare.
        part, whole = self._asked(taken), self._asked(visible)
        comparable = np.where((part > 0) & (part < whole), 1.0, np.nan)
        margin = self.bootstrap.mean((effect - control) * comparable)
        matters = self.bootstrap.mean(large_enough(full, hidden, effect))
        return Hiding(
            self.mean(effect),
            self.mean(control),
            Figure.of(margin, digits=NATS_DIGITS),
            Figure.of(matters),
            bool(margin.low > 0 and matters.low >= LEAST_OFTEN),
        )

    def _asked(self, keys: Sequence[Floats] | Sequence[Flags]) -> Floats:
        """Of every sampled ball, the sum over its keys, from ``(innings, query, key)`` each."""
        rows = zip(keys, self.sample.asked, strict=True)
        return np.concatenate([part.sum(-1)[asked.numpy()] for part, asked in rows])

    def candidates(self, scale: str, head: int) -> list[int]:
        """Relations that meet conditions 1 and 2, the most telling first."""
        focus = self.focus[scale]
        if focus.balls[head] < LEAST_BALLS:
            return []
        found = [
            relation
            for relation in range(len(RELATIONS))
            if focus.lift.low[head, relation] >= LEAST_LIFT
            and (relation == RECENCY or focus.beyond.low[head, relation] > 1)
        ]
        return sorted(found, key=lambda relation: -focus.departure[head, relation])

    def importance(self, path: str, part: int, parts: int) -> Importance:
        """Replace a head's output by its mean over the sample.

        Args:
            path: the attention module.
            part, parts: which head, of how many.
        """
        mean = self.passed.means[f"{path}.to_output"]
        width = len(mean) // parts
        columns = slice(part * width, (part + 1) * width)
        module = self.model.get_submodule(f"{path}.to_output")
        return self._importance(lambda _: columns_replaced(module, columns, mean[columns]))

    def source_importance(self, source: str) -> Importance:
        """Replace one of the vectors that the gates weigh by its mean, where they meet.

        What else reads that vector (the gates, and the questions to the past read the
        ball's) still has it.
        """
        mean = self.passed.means[SOURCES[source]]
        return self._importance(lambda _: source_averaged(self.model, source, mean))

    def _importance(self, hook: Callable[[int], AbstractContextManager[None]]) -> Importance:
        full = self.passed.probabilities
        ablated = self._probabilities(hook)
        nats = divergence(full, ablated)
        rows = np.arange(len(full)), self.sample.outcomes
        return Importance(
            self.mean(nats),
            self.mean(np.log(full[rows]) - np.log(ablated[rows])),
            self.mean(100 * np.abs(ablated - full).max(-1), DIGITS),
            self.mean(large_enough(full, ablated, nats), DIGITS),
        )


def large_enough(full: Floats, ablated: Floats, nats: Floats) -> Floats:
    """1 where a change is as large as a verdict asks of a claim, else 0, ``(row,)``."""
    points = 100 * np.abs(ablated - full).max(-1)
    large: Floats = ((nats >= ENOUGH_NATS) | (points >= ENOUGH_POINTS)).astype(float)
    return large


def dealt(shares: Floats, visible: NDArray[np.bool_], generator: np.random.Generator) -> Floats:
    """Each query's shares dealt out again among the keys it sees, ``(innings, query, key)``."""
    # Visible keys first, in a random order; then theirs go to the visible keys in order.
    order = np.where(visible, generator.random(shares.shape), 2.0).argsort(-1)
    places = np.where(visible, 0, 1).argsort(-1, kind="stable")
    result = np.zeros_like(shares)
    np.put_along_axis(result, places, np.take_along_axis(shares, order, -1), -1)
    return result


@contextmanager
def source_averaged(model: FullModel, source: str, mean: Tensor) -> Iterator[None]:
    """While the block runs, the fused vector is made with ``mean`` for one of its sources."""
    number = FUSED.index(source)
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Any:
        def hook(_: nn.Module, __: tuple[Any, ...], value: Tensor) -> None:
            seen[name] = value

        return hook

    def change(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        gate = seen["gates"][..., number, None]
        return (inputs[0] + gate * (mean - seen["part"]), *inputs[1:])

    handles = [
        model.get_submodule(SOURCES[source]).register_forward_hook(keep("part")),
        model.fusion_probe.register_forward_hook(keep("gates")),
        model.to_outcome.register_forward_pre_hook(change),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A head's name, and the tests of the relations that it looks at."""

    earned: str
    tests: dict[int, Hiding]


def name_heads(
    study: HeadStudy, *, thorough: bool = True, report: Report = lambda _: None
) -> dict[str, list[Named]]:
    """The name of every head by scale; ``thorough`` as in `name_head`."""
    named: dict[str, list[Named]] = {}
    for scale in SITES:
        named[scale] = []
        for head in range(study.model.sizes.heads[scale]):
            report(f"names of heads: {scale}, head {head}")
            named[scale].append(name_head(study, scale, head, thorough=thorough))
    return named


def name_head(study: HeadStudy, scale: str, head: int, *, thorough: bool = True) -> Named:
    """The name one head has earned.

    Args:
        thorough: test every relation the head looks at, not only down to the first that
            earns its name; the name is the same.
    """
    tests: dict[int, Hiding] = {}
    earned = UNSPECIALISED
    for relation in study.candidates(scale, head) if len(study.sample) else ():
        tests[relation] = study.hiding(scale, head, relation)
        if earned == UNSPECIALISED and tests[relation].supports:
            earned = RELATIONS[relation]
            if not thorough:
                break
    return Named(earned, tests)

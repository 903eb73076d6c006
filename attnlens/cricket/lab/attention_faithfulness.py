"""Does attention say which past balls mattered? Figures over a sample of balls.

Removed from the model: a past ball that is hidden exists for no scale and no slot; the
scoreboard stays as it was. So what a ball did to the score is not taken away, only what the
model reads of the ball itself.

Scrambled: past outcomes are permuted among the innings' past balls
(`attnlens.cricket.lab.sampling`), for every ball its own past, anew for each of `SCRAMBLES`
permutations, and the log-loss of what happened is compared with the log-loss before. What the
actual outcomes of a few hundred balls say of so small a change is mostly luck, so the same is
measured on a wider sample of balls; and ``scramble_kl_nats``, the mean
``KL(intact ‖ scrambled)``, is what the cost would be if the model were exactly right.

Every method gives one score per past ball of one query; the higher, the more. None is
proof: they are compared with what hiding balls does.

- attention: the sum over paths of fusion gate times mean-head weight times what the path counts
  (`attnlens.cricket.explain.reading`). The paths are the four scales and the seven slots inside
  the ball, whose weights count times the gate of the ball's own vector, the share of the slot's
  layer and the share of its node. An over's weight is split evenly over its visible balls.
- content_only: the same with each path's weights made anew from query times key alone,
  without the built-in biases.
- value_norm: the same with weights replaced by the length of what they carry,
  ``‖Σ_h weight · value · output projection‖`` (Kobayashi et al. 2020). The lengths of
  different paths are in the same width but pass different layers after.
- rollout: attention followed to the inputs (Abnar & Zuidema 2020), half of every residual
  layer's output from its input: what a scale keeps of the current ball, or pays to it, goes
  on to what the slots of the current ball read. The readout is such a layer, each slot a
  seventh of what it adds.
- gradient_x_input: the absolute value of the gradient of the log-odds of the likeliest
  outcome with respect to the past ball's vector, times that vector.
- kl_jacobian: the same of every outcome at once (`attnlens.attention.gradient.kl_jacobian`).
- recency: minus the distance.
- uniform: attention with each path's weights spread evenly over the balls it may see: what
  gates and windows alone would say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.arrays import Floats
from attnlens.attention.gradient import kl_jacobian
from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import (
    SITES,
    SLOT_SITE,
    Paths,
    attention_at,
    keys_of,
    overheard,
    paths_of,
)
from attnlens.cricket.lab.figures import DRAWS, Figure
from attnlens.cricket.lab.held_out import CheckpointDates, HeldOut
from attnlens.cricket.lab.sampling import (
    BEFORE,
    WiderSampleLosses,
    permutations,
    sample,
    scrambled_probabilities,
    wider_sample,
)
from attnlens.cricket.predictor.heads import RECENT
from attnlens.cricket.predictor.predictor import FullModel, Prediction
from attnlens.cricket.predictor.relations import Batch
from attnlens.cricket.predictor.temporal import SLOTS
from attnlens.cricket.predictor.tensors import Encoded
from attnlens.cricket.predictor.window import one_thread, window_batch
from attnlens.cricket.readers.history import Report, silent
from attnlens.errors import InputError
from attnlens.evidence.faithfulness import (
    CONTROLS,
    CORRELATIONS,
    HIGH_IS_FAITHFUL,
    Removed,
    against_controls,
    judge_scores,
    partial_spearman,
    removed_alone,
    spearman,
)
from attnlens.evidence.scores import Bootstrap, divergence, group_numbers
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.reference.attention import hidden_softmax, unflattened
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import interval
from attnlens.render.numbers import number as figure_text
from attnlens.render.table import Cell, Column, Words, add_table
from attnlens.words import count

METHODS: Final[tuple[str, ...]] = (
    "attention",
    "content_only",
    "value_norm",
    "rollout",
    "gradient_x_input",
    "kl_jacobian",
    "recency",
    "uniform",
)
"""Every method, in the order of a table."""


def attributions(model: FullModel, batch: Batch) -> dict[str, Floats]:
    """Scores of every past ball ``(past,)`` by method, from one pass over one query."""
    with (
        record(model) as recording,
        overheard(model, SLOT_SITE, *SITES.values()) as heard,
        _past_vectors(model) as vectors,
    ):
        prediction = model.predict(batch)
    paths = paths_of(model, batch, prediction)
    return {
        "attention": paths.attention(),
        "content_only": _content_only(paths, recording),
        "value_norm": _value_norm(model, paths, keys_of(heard)),
        "rollout": paths.rollout(),
        "gradient_x_input": _gradient_times_input(prediction, vectors[0]),
        "kl_jacobian": kl_jacobian(prediction.logits[0, 0], vectors[0]),
        "recency": -np.arange(len(paths.homes), 0, -1, dtype=float),
        "uniform": paths.uniform(),
    }


def likeliest_log_odds(logits: Tensor) -> Tensor:
    """Log-odds of the likeliest class, from logits ``(class,)``."""
    top = int(logits.argmax())
    return logits[top] - torch.cat([logits[:top], logits[top + 1 :]]).logsumexp(0)


def _gradient_times_input(prediction: Prediction, vectors: Tensor) -> Floats:
    """``|Σ gradient · vector|`` of each past ball; the vectors are ``(1, past, width)``."""
    odds = likeliest_log_odds(prediction.logits[0, 0])
    slope = torch.autograd.grad(odds, vectors, retain_graph=True)[0]
    result: Floats = (slope * vectors)[0].detach().double().sum(-1).abs().numpy()
    return result


@contextmanager
def _past_vectors(model: FullModel) -> Iterator[list[Tensor]]:
    """The past balls' vectors of the passes inside, as leaves that gradients reach.

    ``(1, past, width)`` each. What made them is cut off, so a gradient counts every use of a
    past ball and stops there.
    """
    found: list[Tensor] = []

    def hook(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> Tensor:
        found.append(output.detach().requires_grad_())
        return found[-1]

    handle = model.past_norm.register_forward_hook(hook)
    try:
        yield found
    finally:
        handle.remove()


def _content_only(paths: Paths, recording: Mapping[str, AttentionRecord]) -> Floats:
    def anew(site: str) -> Floats:
        """Weights from content alone, hidden where the model's own are 0."""
        entry = recording[site]
        assert entry.content is not None
        weights: Floats = (
            hidden_softmax(entry.content, entry.weights == 0)[0, :, 0].double().numpy()
        )
        return weights

    scales = {scale: anew(SITES[scale])[:, :-1].mean(0) for scale in paths.scales}
    # The slots may have one key more, "nothing".
    return paths.total(scales, anew(SLOT_SITE)[:, : len(paths.homes)])


def _value_norm(model: FullModel, paths: Paths, keys: Mapping[str, Tensor]) -> Floats:
    def values(site: str) -> Tensor:
        """``(head, key, head width)``."""
        attention = attention_at(model, site)
        told = unflattened(attention.to_value(keys[site])[0], -1, (attention.num_heads, -1))
        return told.transpose(0, 1).detach().double()

    scales = {}
    for scale, weights in paths.scales.items():
        carried = torch.from_numpy(weights)[..., None] * values(SITES[scale])
        output = matrix(attention_at(model, SITES[scale]).to_output)
        scales[scale] = (carried.transpose(0, 1).flatten(1) @ output.T).norm(dim=-1).numpy()
    lengths = np.zeros_like(paths.slots)
    for number, (name, value) in enumerate(zip(SLOTS, values(SLOT_SITE), strict=True)):
        # The last column of a slot's projection is for how many balls it saw.
        projection = matrix(model.slots.to_node[name])[:, :-1]
        lengths[number] = (value @ projection.T).norm(dim=-1).numpy()
        if model.readout is not None:
            # Two ways for one weight: its length is their mean by what each counts.
            width, share = value.shape[-1], paths.shares[number]
            columns = matrix(model.readout)[:, number * width : (number + 1) * width]
            direct = (value @ columns.T).norm(dim=-1).numpy()
            by_readout = 1 / len(paths.slots)
            lengths[number] = ((share - by_readout) * lengths[number] + by_readout * direct) / share
    return paths.total(scales, paths.slots * lengths)


def matrix(module: nn.Module) -> Tensor:
    """A linear layer's weight, cut from what it was made of."""
    assert isinstance(module, nn.Linear)
    return module.weight.detach().double()


RANDOM: Final = "random"
_COMPARED: Final[tuple[str, ...]] = ("recency", "uniform")
"""Controls that every other method is compared with ball by ball."""

_WINDOWS: Final[tuple[str, ...]] = ("last36", "all")
_REMOVED: Final = (
    "a hidden ball is hidden from every scale and slot by the attention mask; the scoreboard and "
    "everything else known before the ball stay"
)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredBall:
    """One sampled ball; losses and divergences in nats.

    Attributes:
        attention, effects: of each past ball, oldest first, its score and what hiding it costs.
        intact, hide_all: log-loss of what happened, and with all past balls hidden.
        scramble_cost: rise of the log-loss, mean over permutations of past outcomes.
        scramble_kl, hide_all_kl: divergence of the prediction from the intact one.
        methods: method to figure to value.
        controls: `removal_figures` of each random ordering.
    """

    match_id: str
    innings: int
    index: int
    attention: Floats
    effects: Floats
    largest: float
    intact: float
    hide_all: float
    scramble_cost: float
    scramble_kl: float
    hide_all_kl: float
    methods: dict[str, dict[str, float]]
    controls: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Method:
    """One method's figures.

    Attributes:
        figures: by name, such as ``spearman_last36``.
        differences: ``minus_recency`` and ``minus_uniform``: the figures less that control's, ball
            by ball.
        against_random: by figure, how far its mean is from those of random orderings: z and p.
    """

    figures: dict[str, Figure]
    differences: dict[str, dict[str, Figure]]
    against_random: dict[str, dict[str, float]]

    MERGED: ClassVar[tuple[str, ...]] = ("figures", "differences")
    OPTIONAL: ClassVar[tuple[str, ...]] = ("against_random",)


@dataclass(frozen=True, slots=True)
class Losses:
    """Log-loss with and without the past; ``wider_sample`` where one was asked for."""

    intact: Figure
    hide_all: Figure
    worth_of_past: Figure
    wider_sample: WiderSampleLosses | None

    OPTIONAL: ClassVar[tuple[str, ...]] = ("wider_sample",)


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The document of ``attnlens lab faithfulness --json``; every figure is a mean over balls."""

    model: CheckpointDates
    dates: tuple[str | None, str | None]
    notes: tuple[str, ...]
    removed: str
    balls: int
    matches: int
    seed: int
    largest_single_ball_effect_nats: Figure
    largest_share_of_hiding_all: Figure
    scramble_cost_nats: Figure
    scramble_kl_nats: Figure
    hide_all_kl_nats: Figure
    log_loss: Losses
    methods: dict[str, Method]


@dataclass(frozen=True, slots=True, eq=False)
class FaithfulnessSample:
    """A sample of balls, measured; ``wider`` as of `Losses.wider_sample`."""

    balls: tuple[MeasuredBall, ...]
    seed: int
    wider: WiderSampleLosses | None

    def document(self, held: HeldOut) -> Faithfulness:
        """The figures, every mean with its 95% interval over matches."""
        intact, hidden = self._each("intact"), self._each("hide_all")
        return Faithfulness(
            model=held.checkpoint,
            dates=held.dates,
            notes=held.notes,
            removed=_REMOVED,
            balls=len(self.balls),
            matches=len({ball.match_id for ball in self.balls}),
            seed=self.seed,
            largest_single_ball_effect_nats=self._mean(self._each("largest")),
            largest_share_of_hiding_all=self._share(),
            scramble_cost_nats=self._mean(self._each("scramble_cost")),
            scramble_kl_nats=self._mean(self._each("scramble_kl")),
            hide_all_kl_nats=self._mean(self._each("hide_all_kl")),
            log_loss=Losses(
                self._mean(intact), self._mean(hidden), self._mean(hidden - intact), self.wider
            ),
            methods={name: self._method(name) for name in self.balls[0].methods},
        )

    def _each(self, name: str) -> Floats:
        """A figure of every ball ``(ball,)``."""
        return np.array([getattr(ball, name) for ball in self.balls])

    def _mean(self, values: Floats) -> Figure:
        return Figure.mean(values, [ball.match_id for ball in self.balls], self.seed)

    def _share(self) -> Figure:
        """The mean largest single effect over the mean effect of hiding all, by ratio of means."""
        largest, every = self._each("largest"), self._each("hide_all_kl")
        place = group_numbers([ball.match_id for ball in self.balls])
        return Figure.of(Bootstrap(place, draws=DRAWS, seed=self.seed).ratio(largest, every))

    def _values(self, name: str) -> dict[str, Floats]:
        """A method's figures of every ball ``(ball,)``, by name."""
        first, *_ = tables = [ball.methods[name] for ball in self.balls]
        return {figure: np.array([table[figure] for table in tables]) for figure in first}

    def _method(self, name: str) -> Method:
        """One method's figures, and how far they are from the controls' and from chance."""
        luck = {
            figure: np.array(
                [[control[figure] for control in ball.controls] for ball in self.balls]
            )
            for figure in HIGH_IS_FAITHFUL
        }
        values = self._values(name)
        if name == RANDOM:
            values |= {figure: table.mean(1) for figure, table in luck.items()}
        figures = {figure: self._mean(row) for figure, row in values.items()}
        if name == RANDOM:
            return Method(figures, {}, {})
        differences = {}
        for control in _COMPARED if name not in _COMPARED else ():
            others = self._values(control)
            gaps = {figure: self._mean(row - others[figure]) for figure, row in values.items()}
            differences[f"minus_{control}"] = gaps
        chance = {}
        for figure, high in HIGH_IS_FAITHFUL.items():
            mean = float(values[figure].mean())
            z, p = against_controls(mean, luck[figure].mean(0), high=high)
            chance[figure] = {"z": z, "p": p}
        return Method(figures, differences, chance)


@one_thread()
def measure(
    model: FullModel,
    innings: Sequence[Encoded],
    *,
    balls: int = 500,
    seed: int = 5,
    wide: int = 0,
    report: Report = silent,
) -> FaithfulnessSample:
    """Measure a sample of balls by every method of `METHODS`.

    Args:
        innings: in an order that does not change, for the sample to be the same; not super
            overs, which are too short to be drawn anyway.
        balls: how many to draw, from all balls with at least 36 before them.
        wide: how many balls to draw for the log-losses alone, from all that have a past.

    Raises:
        InputError: no ball has 36 before it.
    """
    model.eval()
    chosen = sample(innings, balls, seed)
    if not chosen:
        raise InputError(f"no ball has {BEFORE} before it", remedy="give longer innings")
    measured = []
    for number, (place, position) in enumerate(chosen):
        if number % 10 == 0:
            report(f"ball {number + 1} of {len(chosen)}")
        generator = np.random.default_rng([seed, number])
        measured.append(measure_ball(model, innings[place], position, generator))
    wider = wider_sample(model, innings, wide, seed, report) if wide else None
    return FaithfulnessSample(tuple(measured), seed, wider)


def measure_ball(
    model: FullModel, encoded: Encoded, position: int, generator: np.random.Generator
) -> MeasuredBall:
    """Everything about one ball."""
    batch = window_batch(encoded.arrays, position)

    def predict(masks: NDArray[np.bool_]) -> Floats:
        return under_masks(model, batch, masks)

    orders = permutations(generator, position)
    alone = removed_alone(predict, position)
    mixed = scrambled_probabilities(model, encoded.arrays, [position], [orders])[0]
    actual = int(encoded.arrays.outcome[position])
    scores = attributions(model, batch)
    removals, controls = judge_scores(predict, alone, scores, generator=generator)
    played = who_played(encoded, position)
    figures = {
        name: correlations(score, alone, played) | removals[name] for name, score in scores.items()
    }
    luck = [correlations(generator.random(position), alone, played) for _ in range(CONTROLS)]
    figures[RANDOM] = {
        name: float(np.mean([control[name] for control in luck])) for name in luck[0]
    }
    intact = -float(np.log(alone.full[actual]))
    return MeasuredBall(
        match_id=encoded.match_id,
        innings=encoded.innings,
        index=int(encoded.arrays.index[position]),
        attention=scores["attention"],
        effects=alone.effects,
        largest=float(alone.effects.max()),
        intact=intact,
        hide_all=-float(np.log(alone.nothing[actual])),
        scramble_cost=float((-np.log(mixed[:, actual]) - intact).mean()),
        scramble_kl=float(divergence(alone.full, mixed).mean()),
        hide_all_kl=float(divergence(alone.full, alone.nothing)),
        methods=figures,
        controls=controls,
    )


def who_played(encoded: Encoded, position: int) -> Floats:
    """Whether each past ball had the same batter, and the same bowler, ``(2, past)``."""
    arrays = encoded.arrays
    same = [who[:position] == who[position] for who in (arrays.batter, arrays.bowler)]
    return np.array(same, float)


def correlations(score: Floats, removed: Removed, played: Floats) -> dict[str, float]:
    """Rank agreement with single-ball effects, over the last 36 balls and over all.

    ``played`` is `who_played`'s.
    """
    effects = removed.effects
    distance = np.arange(len(effects), 0, -1, dtype=float)
    plain, partial = CORRELATIONS
    figures = {}
    for name, index in zip(_WINDOWS, (slice(-RECENT, None), slice(None)), strict=True):
        one, other = score[index], effects[index]
        figures[f"{plain}_{name}"] = spearman(one, other)
        figures[f"{partial}_{name}"] = partial_spearman(one, other, distance[index])
        fixed = np.vstack([distance[index], played[:, index]])
        figures[f"{partial}_players_{name}"] = partial_spearman(one, other, fixed)
    return figures


if TYPE_CHECKING:
    from attnlens.cricket.lab.attention_faithfulness import Faithfulness, Method
    from attnlens.cricket.lab.figures import Figure
    from attnlens.cricket.lab.head_report import HeadReport

_NARROWEST: Final = 70
_WIDEST: Final = 110
CONTROL_ROWS: Final = ("recency", "uniform", "random")
_FIGURES: Final[tuple[tuple[str, str, str, int], ...]] = (
    ("partial_spearman_last36", "beyond distance", "more", 2),
    ("partial_spearman_players_last36", "and players", "more", 2),
    ("comprehensiveness_kl", "without first k", "more", 4),
    ("sufficiency_kl", "only first k", "less", 4),
    ("deletion_auc_kl", "deletion area", "more", 4),
    ("insertion_auc_kl", "insertion area", "less", 4),
    ("sign_violation_rate", "wrong sign", "less", 0),
)
"""Figure, heading in two words or three, the faithful direction, decimals (0: per cent)."""


@terminal_page(min_width=_NARROWEST, max_width=_WIDEST)
def render_faithfulness(page: Page, faithfulness: Faithfulness) -> None:
    """The document of ``attnlens lab faithfulness``."""
    add_opening(
        page, faithfulness, f"does attention of {faithfulness.model.name} say what mattered?"
    )
    _worth(page, faithfulness)
    page.blank()
    _methods(page, faithfulness.methods)
    page.blank()
    page.paragraph(
        "Rank agreement describes the model on average and proves no single claim; the scoreboard "
        "stays in all of this."
    )


def add_opening(page: Page, shown: Faithfulness | HeadReport, asked: str) -> None:
    """What was asked of which balls, and what a reader should know first."""
    matches = count(shown.matches, "match", "matches")
    days = " to ".join(dict.fromkeys(day for day in shown.dates if day))
    told = ", ".join(filter(None, (matches, days)))
    page.paragraph(f"{asked} {count(shown.balls, 'ball')} of {told}", "title", indent=0)
    for note in shown.notes:
        page.flag(note)
    page.blank()


def _worth(page: Page, data: Faithfulness) -> None:
    """How much the past matters at all."""
    page.paragraph("what past balls are worth, nats (95% over matches)", "heading", indent=0)
    losses = data.log_loss
    rows = [
        ("most telling past ball hidden, KL", data.largest_single_ball_effect_nats),
        ("the same over hiding all, KL", data.largest_share_of_hiding_all),
        ("past outcomes scrambled, KL", data.scramble_kl_nats),
        ("past outcomes scrambled, log-loss", data.scramble_cost_nats),
        ("all past balls hidden, log-loss", losses.worth_of_past),
    ]
    wider = losses.wider_sample
    if wider is not None:
        balls = f"{wider.balls:,} balls"
        rows += [
            (f"scrambled, log-loss, {balls}", wider.scramble_cost),
            (f"all hidden, log-loss, {balls}", wider.worth_of_past),
        ]
    _add_figures(page, rows, 4)


def _add_figures(page: Page, rows: Sequence[tuple[str, Figure]], digits: int) -> None:
    """A row per figure, with its interval."""
    cells: list[list[Cell]] = [
        [words, figure_text(figure.value, digits), interval(figure.ci, digits)]
        for words, figure in rows
    ]
    add_table(page, [Words(), Column(style="name"), Words(style="quiet")], cells)


def _methods(page: Page, methods: Mapping[str, Method]) -> None:
    """A row per method; controls set apart. Columns that do not fit are left to ``--json``."""
    page.paragraph("which scores agree with what hiding balls did", "heading", indent=0)
    columns = [Words(), Words("Spearman, last 36", gap=1)]
    second: list[Cell] = ["", ("(95% over matches)", "quiet")]
    ways: list[Cell] = [("faithful is", "quiet"), ("more", "quiet")]
    for at, (_, heading, way, _) in enumerate(_FIGURES, 1):
        first, _, rest = heading.partition(" ")
        columns.append(Column(first, spare=at, min_width=7, gap=2))
        second.append((rest, "quiet"))
        ways.append((way, "quiet"))
    rows = [second, ways]
    for name, method in methods.items():
        agreement = method.figures["spearman_last36"]
        ends = interval(agreement.ci, 2)
        rows.append(
            [
                name.replace("_", " "),
                [(f"{figure_text(agreement.value, 2)} ", ""), (ends, "quiet")],
                *(_figure(method.figures[key], decimals) for key, _, _, decimals in _FIGURES),
            ]
        )
    styles = ["quiet" if name in CONTROL_ROWS else "" for name in methods]
    add_table(page, columns, rows, styles=["", "", "name", *styles[1:]])
    page.paragraph(
        "first k: the 1, 2, 4, 8 and 16 balls with the highest scores; areas: balls hidden, or "
        "brought back, one share after another; all in nats against the full prediction; "
        "wrong sign: how often one of the first k holds the likeliest outcome down",
        "quiet",
    )
    differences = methods["attention"].differences
    names = {"recency": "that of recency", "uniform": "that of even attention in the same windows"}
    page.blank()
    page.paragraph("Spearman of attention, last 36, less", "heading", indent=0)
    gaps = [(words, differences[f"minus_{key}"]["spearman_last36"]) for key, words in names.items()]
    _add_figures(page, gaps, 2)


def _figure(figure: Figure, decimals: int) -> str:
    value = figure.required_value
    return figure_text(value, decimals) if decimals else f"{100 * value:.0f}%"

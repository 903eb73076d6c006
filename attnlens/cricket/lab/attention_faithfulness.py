"""Test whether attention to past balls shows which past balls matter.

A past ball matters if hiding the ball from every head changes the prediction. Hiding a ball does
not change the scoreboard. Each method gives every past ball a score. The scores are compared with
the effects of hiding the balls. The methods are:

- attention: the attention of all heads to the ball, weighted by the size of each head's
  contribution (`attnlens.cricket.explain.reading.Paths`).
- content_only: like attention, but without the biases in the attention logits.
- value_norm: the norm of the weighted values, ``‖Σ_h weight · value · output projection‖``
  (Kobayashi et al. 2020).
- rollout: attention traced back to the inputs (Abnar & Zuidema 2020). A residual connection counts
  for half of a layer's output.
- gradient_x_input: the absolute value of gradient times input, for the log-odds of the most likely
  outcome.
- kl_jacobian: a gradient-based estimate of the effect of hiding the ball
  (`attnlens.attention.flow.kl_jacobian`).
- structure: the effect that boosted trees predict from the ball's distance, players and outcome.
- recency: minus the distance to the current ball.
- uniform: like attention, but with equal weights for all balls that a head can see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.attention.flow import kl_jacobian
from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import (
    SITES,
    Paths,
    attention_at,
    captured_activations,
    keys_of,
    predict_paths,
    subject_outcome,
    usual_probabilities,
)
from attnlens.cricket.lab.figures import DRAWS, Estimate, add_section, add_title
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.lab.sampling import (
    BEFORE,
    permutations,
    sample,
    scrambled_probabilities,
    wider_sample,
)
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.predictor import FullModel, Prediction
from attnlens.cricket.predictor.relations import Batch
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import Encoded, InningsArrays
from attnlens.cricket.predictor.window import one_thread, window_batch
from attnlens.cricket.readers import Report, silent
from attnlens.errors import AttnlensError, InputError
from attnlens.evidence.faithfulness import (
    CONTROLS,
    CORRELATIONS,
    HIGH_IS_FAITHFUL,
    SingleRemovals,
    against_controls,
    judge_scores,
    partial_spearman,
    remove_each,
    spearman,
)
from attnlens.evidence.scores import Bootstrap, divergence, group_numbers, log_odds
from attnlens.files import Floats, Json
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.reference.attention import hidden_softmax, unflattened
from attnlens.render.canvas import Cell, Column, Page, Words, add_table, terminal_page

STRUCTURE: Final = "structure"
METHODS: Final[tuple[str, ...]] = (
    "attention",
    "content_only",
    "value_norm",
    "rollout",
    "gradient_x_input",
    "kl_jacobian",
    STRUCTURE,
    "recency",
    "uniform",
)
"""The names of all methods, in the order of the table's rows."""


def attributions(model: FullModel, batch: Batch) -> dict[str, Floats]:
    """Return each method's scores for the past balls of one query, with shape ``(past,)``.

    The method ``structure`` is left out, because its trees are fitted on many queries.
    """
    with (
        record(model) as recording,
        captured_activations(model, *SITES.values()) as captured,
        _past_vectors(model) as vectors,
    ):
        prediction, paths = predict_paths(model, batch)
    likeliest = int(prediction.logits[0, 0].argmax())
    return {
        "attention": paths.attention(),
        "content_only": _content_only(paths, recording),
        "value_norm": _value_norm(model, paths, keys_of(captured)),
        "rollout": paths.rollout(),
        "gradient_x_input": np.abs(_gradient_times_input(prediction, vectors[0], likeliest)),
        "kl_jacobian": kl_jacobian(prediction.logits[0, 0], vectors[0]),
        "recency": -np.arange(len(paths.over_of), 0, -1, dtype=float),
        "uniform": paths.uniform(),
    }


def signed_attributions(model: FullModel, batch: Batch, outcome: int) -> dict[str, Floats]:
    """Return signed scores by ``attention`` and ``gradient_x_input``, with shape ``(past,)``.

    A positive score means that the ball raises the log-odds of ``outcome``.
    """
    with _past_vectors(model) as vectors:
        prediction, paths = predict_paths(model, batch)
    return {
        "attention": paths.signed_attention(outcome),
        "gradient_x_input": _gradient_times_input(prediction, vectors[0], outcome),
    }


def class_log_odds(logits: Tensor, index: int) -> Tensor:
    """Return the log-odds of the class ``index`` against all other classes.

    ``logits`` has shape ``(class,)``.
    """
    return logits[index] - torch.cat([logits[:index], logits[index + 1 :]]).logsumexp(0)


def _gradient_times_input(prediction: Prediction, vectors: Tensor, outcome: int) -> Floats:
    odds = class_log_odds(prediction.logits[0, 0], outcome)
    slope = torch.autograd.grad(odds, vectors, retain_graph=True)[0]
    result: Floats = (slope * vectors)[0].detach().double().sum(-1).numpy()
    return result


@contextmanager
def _past_vectors(model: FullModel) -> Iterator[list[Tensor]]:
    """Collect the vectors of past balls in each forward pass, with shape ``(1, past, width)``.

    Gradients stop at these vectors.
    """
    vectors: list[Tensor] = []

    def hook(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> Tensor:
        vectors.append(output.detach().requires_grad_())
        return vectors[-1]

    handle = model.past_norm.register_forward_hook(hook)
    try:
        yield vectors
    finally:
        handle.remove()


def _content_only(paths: Paths, recording: Mapping[str, AttentionRecord]) -> Floats:
    weights = {}
    for scale in paths.scales:
        entry = recording[SITES[scale]]
        assert entry.content is not None
        # A weight that is 0 in the model stays 0.
        content = hidden_softmax(entry.content, entry.weights == 0)[0, :, 0, :-1]
        weights[scale] = np.asarray(content.double())
    return paths.total(weights)


def _value_norm(model: FullModel, paths: Paths, keys: Mapping[str, Tensor]) -> Floats:
    score = np.zeros(len(paths.over_of))
    for scale, weights in paths.scales.items():
        attention, heads = attention_at(model, SITES[scale]), torch.from_numpy(weights)
        # A counting head has no values, so the attention weight itself is used.
        vectors = heads[..., None]
        if attention.to_value is not None:
            values = unflattened(
                attention.to_value(keys[SITES[scale]])[0], -1, (attention.num_heads, -1)
            )
            vectors = vectors * values.transpose(0, 1).detach().double()
        output: Tensor = attention.to_output.get_parameter("weight").detach().double()
        columns = unflattened(output, -1, (attention.num_heads, -1))
        read = torch.einsum("hkd,ohd->ko", vectors, columns)
        norms = paths.gates[scale] * read.norm(dim=-1).numpy()
        score = score + paths.over_balls(scale, norms)
    return score


_STRUCTURE_BALLS: Final = 3

RANDOM: Final = "random"
_COMPARED: Final[tuple[str, ...]] = ("recency", "uniform")
"""The control methods."""

_REMOVED: Final = (
    "a hidden ball is hidden from every head by the attention mask; the scoreboard and "
    "everything else known before the ball stay"
)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredBall:
    """The measured figures of one sampled ball. Losses and divergences are in nats.

    Attributes:
        attention: each past ball's score by the method ``attention``, oldest ball first.
        effects: the effect of hiding each past ball alone, oldest ball first.
        largest: the largest of ``effects``.
        intact: the log-loss with all past balls visible.
        hide_all: the log-loss with all past balls hidden.
        scramble_cost: the mean increase of the log-loss after past outcomes are shuffled.
        scramble_kl: the mean divergence from the intact prediction after the same shuffles.
        hide_all_kl: the divergence between the predictions with and without the past balls.
        methods: maps each method to a dict of figures.
        controls: the result of `removal_figures` for each random ordering of the past balls.
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


@dataclass(frozen=True, slots=True, eq=False)
class FaithfulnessSample:
    """A sample of measured balls.

    Attributes:
        wider: the result of `wider_sample`, or ``None`` if no wider sample was requested.
        left_out: maps each method that could not be fitted to the reason.
    """

    balls: tuple[MeasuredBall, ...]
    seed: int
    wider: Json | None
    left_out: Mapping[str, str]

    def document(self, held: HeldOut) -> Json:
        """Return the JSON result of ``attnlens lab faithfulness``.

        Every figure is a mean over the sampled balls, except for ratios and tests.
        """
        names = ("intact", "hide_all", "largest", "hide_all_kl", "scramble_cost", "scramble_kl")
        column = {name: np.array([getattr(ball, name) for ball in self.balls]) for name in names}
        groups = group_numbers([ball.match_id for ball in self.balls])
        bootstrap = Bootstrap(groups, draws=DRAWS, seed=self.seed)
        return {
            "model": held.checkpoint,
            "dates": held.dates,
            "notes": held.notes,
            "removed": _REMOVED,
            "balls": len(self.balls),
            "matches": len(set(groups.tolist())),
            "seed": self.seed,
            "largest_single_ball_effect_nats": self._mean(column["largest"]),
            "largest_share_of_hiding_all": Estimate.of(
                bootstrap.ratio(column["largest"], column["hide_all_kl"])
            ),
            "scramble_cost_nats": self._mean(column["scramble_cost"]),
            "scramble_kl_nats": self._mean(column["scramble_kl"]),
            "hide_all_kl_nats": self._mean(column["hide_all_kl"]),
            "log_loss": {
                "intact": self._mean(column["intact"]),
                "hide_all": self._mean(column["hide_all"]),
                "worth_of_past": self._mean(column["hide_all"] - column["intact"]),
                **({"wider_sample": self.wider} if self.wider else {}),
            },
            "left_out": self.left_out,
            "methods": {name: self._method(name) for name in self.balls[0].methods},
        }

    def _mean(self, values: Floats) -> Estimate:
        return Estimate.mean(values, [ball.match_id for ball in self.balls], self.seed)

    def _values(self, method: str) -> dict[str, Floats]:
        names = self.balls[0].methods[method]
        return {
            name: np.array([ball.methods[method][name] for ball in self.balls]) for name in names
        }

    def _method(self, method: str) -> Json:
        values = self._values(method)
        figures: Json = {name: self._mean(column) for name, column in values.items()}
        if method == RANDOM:
            return figures
        for control in _COMPARED if method not in _COMPARED else ():
            control_values = self._values(control)
            figures[f"minus_{control}"] = {
                name: self._mean(column - control_values[name]) for name, column in values.items()
            }
        figures["against_random"] = {}
        for name, high in HIGH_IS_FAITHFUL.items():
            random = np.array([[each[name] for each in ball.controls] for ball in self.balls])
            z, p = against_controls(float(values[name].mean()), random.mean(0), high=high)
            figures["against_random"][name] = {"z": z, "p": p}
        return figures


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
    """Measure the faithfulness of every method in `METHODS` on a sample of balls.

    Args:
        innings: all innings except super overs; the sample depends on the order of the innings.
        balls: the sample size; only balls with at least 36 balls before them are sampled.
        wide: the sample size for `wider_sample`, of balls with a past ball; 0 for no wider sample.

    Raises:
        InputError: no ball has 36 balls before it.
    """
    model.eval()
    chosen = sample(innings, balls, seed)
    if not chosen:
        raise InputError(
            f"no ball has {BEFORE} balls before it in its innings", remedy="give longer innings"
        )
    # The trees are also fitted on balls that are not measured. Otherwise they might lack data.
    fitted_on = [*chosen, *sample(innings, _STRUCTURE_BALLS * balls, seed + 1)]
    removals = []
    for number, (row, position) in enumerate(fitted_on):
        if number % 10 == 0:
            report(f"hiding past balls: ball {number + 1} of {len(fitted_on)}")
        removals.append(remove_past(model, innings[row], position))
    structures, left_out = fitted_structure(innings, fitted_on, removals, seed)
    measured = []
    for number, (row, position) in enumerate(chosen):
        if number % 10 == 0:
            report(f"ball {number + 1} of {len(chosen)}")
        generator = np.random.default_rng([seed, number])
        more = {name: scores[number] for name, scores in structures.items()}
        ball = measure_ball(model, innings[row], position, generator, removals[number], more)
        measured.append(ball)
    wider = wider_sample(model, innings, wide, seed, report) if wide else None
    return FaithfulnessSample(tuple(measured), seed, wider, left_out)


def remove_past(model: FullModel, encoded: Encoded, position: int) -> SingleRemovals:
    """Hide the balls before ``position`` one at a time, and measure each effect."""
    batch = window_batch(encoded.arrays, position)
    return remove_each(partial(under_masks, model, batch), position)


def fitted_structure(
    innings: Sequence[Encoded],
    chosen: Sequence[tuple[int, int]],
    removals: Sequence[SingleRemovals],
    seed: int,
) -> tuple[dict[str, list[Floats]], dict[str, str]]:
    """Fit the method `STRUCTURE`.

    Return two dicts: the method's scores, and the reason for a failed fit. One dict is always
    empty.

    Args:
        chosen: for each ball, an index into ``innings`` and a position in that innings.
        removals: the result of `remove_past` for each ball.
    """
    structures = [structure_of(innings[row].arrays, position) for row, position in chosen]
    matches = [innings[row].match_id for row, _ in chosen]
    effects = [removed.effects for removed in removals]
    try:
        return {STRUCTURE: structure_scores(structures, effects, matches, seed)}, {}
    except StructureError as error:
        return {}, {STRUCTURE: str(error)}


def measure_ball(
    model: FullModel,
    encoded: Encoded,
    position: int,
    generator: np.random.Generator,
    removed: SingleRemovals,
    structures: Mapping[str, Floats],
) -> MeasuredBall:
    """Measure one ball with every method.

    Args:
        removed: the result of `remove_past` for this ball.
        structures: maps each fitted method to the past balls' scores, with shape ``(past,)``.
    """
    arrays = encoded.arrays
    batch = window_batch(arrays, position)
    predict = partial(under_masks, model, batch)
    orders = permutations(generator, position)
    permuted = scrambled_probabilities(model, arrays, [position], [orders])[0]
    actual = int(arrays.outcome[position])
    scores = {**attributions(model, batch), **structures}
    scores = {name: scores[name] for name in METHODS if name in scores}
    removals, controls = judge_scores(predict, removed, scores, generator=generator)
    same_players = structure_of(arrays, position)[:, 1:3].T
    usual = usual_probabilities(arrays, position)
    subject = OUTCOME_INDEX[subject_outcome(removed.full, usual, OUTCOMES[actual])]
    signed = log_odds(removed.full, [subject]) - log_odds(removed.singles, [subject])
    effects = removed.effects, signed
    signed_scores = scores | signed_attributions(model, batch, subject)
    methods = {
        name: _correlations(score, signed_scores[name], *effects, same_players) | removals[name]
        for name, score in scores.items()
    }
    draws = [generator.random(position) for _ in range(CONTROLS)]
    random = [_correlations(draw, draw, *effects, same_players) for draw in draws]
    methods[RANDOM] = {
        name: float(np.mean([each[name] for each in table]))
        for table in (random, controls)
        for name in table[0]
    }
    intact = -float(np.log(removed.full[actual]))
    return MeasuredBall(
        match_id=encoded.match_id,
        innings=encoded.innings,
        index=int(arrays.index[position]),
        attention=scores["attention"],
        effects=removed.effects,
        largest=float(removed.effects.max()),
        intact=intact,
        hide_all=-float(np.log(removed.nothing[actual])),
        scramble_cost=float((-np.log(permuted[:, actual]) - intact).mean()),
        scramble_kl=float(divergence(removed.full, permuted).mean()),
        hide_all_kl=float(divergence(removed.full, removed.nothing)),
        methods=methods,
        controls=controls,
    )


def _correlations(
    score: Floats, signed_score: Floats, effects: Floats, signed: Floats, same_players: Floats
) -> dict[str, float]:
    """Return the rank correlations between scores and effects.

    The suffix ``last36`` means the last 35 past balls.

    Args:
        signed_score: the signed scores, or ``score`` if the method has no signed scores.
        effects: the effect of hiding each past ball, in nats, with shape ``(past,)``.
        signed: the same effects on the explained outcome's log-odds, with shape ``(past,)``.
        same_players: flags for the current batter and the current bowler, with shape ``(2, past)``.
    """
    distance = np.arange(len(effects), 0, -1, dtype=float)
    plain, partial_ = CORRELATIONS
    figures = {}
    for name, index in (("last36", slice(-RECENT, None)), ("all", slice(None))):
        pair = score[index], effects[index]
        figures[f"{plain}_{name}"] = spearman(*pair)
        figures[f"{partial_}_{name}"] = partial_spearman(*pair, distance[index])
        fixed = np.vstack([distance[index], same_players[:, index]])
        figures[f"{partial_}_players_{name}"] = partial_spearman(*pair, fixed)
        figures[f"signed_{plain}_{name}"] = spearman(signed_score[index], signed[index])
    return figures


CONTROL_ROWS: Final = (STRUCTURE, "recency", "uniform", "random")
_FIGURES: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("partial_spearman_last36", "beyond distance", "more", ".2f"),
    ("partial_spearman_players_last36", "and players", "more", ".2f"),
    ("signed_spearman_last36", "with sign", "more", ".2f"),
    ("comprehensiveness_kl", "without first k", "more", ".4f"),
    ("sufficiency_kl", "only first k", "less", ".4f"),
    ("deletion_auc_kl", "deletion area", "more", ".4f"),
    ("insertion_auc_kl", "insertion area", "less", ".4f"),
    ("sign_violation_rate", "wrong sign", "less", ".0%"),
)
"""The columns of the table: name, heading, better direction and number format."""


@terminal_page(min_width=70, max_width=110)
def render_faithfulness(page: Page, document: Json) -> None:
    """Write the result of ``attnlens lab faithfulness`` to a terminal page."""
    add_title(page, document, "does the attention of {name} show which balls matter? {sample}")
    losses = document["log_loss"]
    rows = [
        ("most influential past ball hidden, KL", document["largest_single_ball_effect_nats"]),
        ("largest effect / effect of hiding all, KL", document["largest_share_of_hiding_all"]),
        ("past outcomes shuffled, KL", document["scramble_kl_nats"]),
        ("past outcomes shuffled, log-loss", document["scramble_cost_nats"]),
        ("all past balls hidden, log-loss", losses["worth_of_past"]),
    ]
    wider = losses.get("wider_sample")
    if wider:
        balls = f"{wider['balls']:,} balls"
        rows += [
            (f"outcomes shuffled, log-loss, {balls}", wider["scramble_cost"]),
            (f"all hidden, log-loss, {balls}", wider["worth_of_past"]),
        ]
    heading = "change of the prediction (KL) and of log-loss in nats, 95% intervals over matches"
    _add_figures(page, heading, rows, ".4f")
    _add_methods(page, document["methods"])
    for name, reason in document["left_out"].items():
        page.paragraph(f"left out {name}: {reason}", "quiet")
    page.blank()
    page.paragraph(
        "Rank agreement describes the average over many balls. Rank agreement does not prove a "
        "claim about one ball. The scoreboard is never hidden."
    )


def _add_figures(page: Page, heading: str, rows: Sequence[tuple[str, Estimate]], form: str) -> None:
    cells = [[words, *figure.cells(form)] for words, figure in rows]
    add_section(page, heading, [Words(), Column(style="name"), Words(style="quiet")], cells)


def _add_methods(page: Page, methods: Mapping[str, Json]) -> None:
    page.paragraph("agreement of scores with the effects of hiding balls", "heading", indent=0)
    columns = [Words(), Words("Spearman, last 36", gap=1)]
    subheads: list[Cell] = ["", ("(95% over matches)", "quiet")]
    directions: list[Cell] = [("faithful is", "quiet"), ("more", "quiet")]
    for spare, (_, heading, direction, _) in enumerate(_FIGURES, 1):
        first, _, rest = heading.partition(" ")
        columns.append(Column(first, spare=spare, min_width=7, gap=2))
        subheads.append((rest, "quiet"))
        directions.append((direction, "quiet"))
    rows = [subheads, directions]
    for name, figures in methods.items():
        value, ends = figures["spearman_last36"].cells(".2f")
        cells = (figures[key].cells(form)[0] for key, _, _, form in _FIGURES)
        rows.append([name.replace("_", " "), [(f"{value} ", ""), (ends, "quiet")], *cells])
    styles = ["quiet" if name in CONTROL_ROWS else "" for name in methods]
    add_table(page, columns, rows, styles=["", "", "name", *styles[1:]])
    page.paragraph(
        "In the 'first k' columns, the 1, 2, 4, 8 and 16 balls with the highest scores are hidden "
        "or kept. In the 'area' columns, balls are hidden or restored in order of score. All four "
        "columns show the KL divergence from the full prediction, in nats. 'Beyond distance' is a "
        "partial correlation that controls for distance; 'and players' also controls for players. "
        "'With sign' is the Spearman correlation with each ball's effect on the explained "
        "outcome's log-odds. 'Wrong sign' is how often one of the first k balls lowers the "
        "likeliest outcome's probability.",
        "quiet",
    )
    page.blank()
    gaps = [
        (words, methods["attention"][f"minus_{control}"]["spearman_last36"])
        for control, words in (
            ("recency", "minus Spearman of recency"),
            ("uniform", "minus Spearman of uniform attention"),
        )
    ]
    _add_figures(page, "Spearman of attention over the last 36 balls", gaps, ".2f")


_FOLDS: Final = 5
_ROUNDS: Final = 150
_OUTCOME_COLUMN: Final = 3
_PARAMETERS: Final = {
    "objective": "regression",
    "learning_rate": 0.08,
    "num_leaves": 31,
    "min_data_in_leaf": 50,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
_MIN_EFFECT: Final = 1e-9
"""Added to each effect, in nats, before taking the logarithm. Smaller effects are noise."""


class StructureError(AttnlensError):
    """Raised if the trees of `STRUCTURE` cannot be fitted. The message has the reason."""


def structure_of(arrays: InningsArrays, position: int) -> Floats:
    """Return the trees' input features for each of the balls before ``position``.

    The result has shape ``(position, 4)``. The columns are the distance, a flag for the same
    batter, a flag for the same bowler, and the outcome.
    """
    past = slice(0, position)
    columns = [
        np.arange(position, 0, -1),
        arrays.batter[past] == arrays.batter[position],
        arrays.bowler[past] == arrays.bowler[position],
        arrays.outcome[past],
    ]
    return np.stack(columns, 1).astype(np.float64)


def structure_scores(
    structures: Sequence[Floats], effects: Sequence[Floats], matches: Sequence[str], seed: int
) -> list[Floats]:
    """Predict the logarithms of the effects of hiding past balls, with boosted trees.

    The trees for a ball are fitted on balls of other matches.

    Args:
        structures: the result of `structure_of` for each ball.
        effects: for each ball, the effects of hiding past balls, in nats, with shape ``(past,)``.
        matches: the id of each ball's match.

    Raises:
        StructureError: LightGBM is not installed, or all balls are from one match.
    """
    try:
        import lightgbm
    except (ImportError, OSError):  # OSError: a system library is missing
        raise StructureError("lightgbm is not installed") from None
    match = group_numbers(matches)
    count = int(match.max()) + 1
    if count < 2:
        raise StructureError("all balls are from one match")
    fold = (np.random.default_rng(seed).permutation(count) % min(_FOLDS, count))[match]
    scores: list[Floats] = [np.zeros(0)] * len(structures)
    for number in np.unique(fold):
        training_balls = np.flatnonzero(fold != number).tolist()
        features = np.concatenate([structures[ball] for ball in training_balls])
        sizes = np.log(np.concatenate([effects[ball] for ball in training_balls]) + _MIN_EFFECT)
        data = lightgbm.Dataset(
            features, sizes, categorical_feature=[_OUTCOME_COLUMN], params=_PARAMETERS
        )
        trees = lightgbm.train(_PARAMETERS | {"seed": seed}, data, _ROUNDS)
        for ball in np.flatnonzero(fold == number).tolist():
            scores[ball] = np.asarray(trees.predict(structures[ball]), float)
    return scores

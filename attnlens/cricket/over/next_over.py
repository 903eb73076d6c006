"""Forecast the next over with the trained encoder-decoder, and report its cross-attention.

The runs of a sampled delivery are drawn from the training deliveries with the same token. A sampled
over stops if the target is reached or if no batter is left. See docs/over.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.competition import ALL_OUT
from attnlens.cricket.match.match import Delivery, Innings, Match, match_particulars
from attnlens.cricket.match.naming import (
    default_innings,
    innings_numbered,
    ordinal,
    over_ended,
    unbowled,
    why_no_more,
)
from attnlens.cricket.over.encoder_decoder import PAD, START, Choice, OverModel, OverSizes, decode
from attnlens.cricket.over.features import (
    CONTEXT_FEATURES,
    PAST_FEATURES,
    RATED,
    SPECIAL,
    TOKEN_INDEX,
    TOKENS,
    OverBatch,
    encode_overs,
    fewer_balls,
    legal,
    over_batch,
    overs_of,
    token_of,
    token_words,
)
from attnlens.cricket.predictor.calibration import OVERS, named_checkpoint
from attnlens.cricket.predictor.kinds import cautions, few_before
from attnlens.cricket.predictor.trained import (
    Trained,
    checked_checkpoint,
    knowledge_of,
    save_trained,
    tensors_under,
)
from attnlens.cricket.predictor.window import one_thread
from attnlens.errors import InputError
from attnlens.evidence.scores import divergence
from attnlens.files import Floats, Integers, Json
from attnlens.recording import record
from attnlens.reference.checkpoint import read_checkpoint
from attnlens.render.numbers import rounded

OVER_GRAMMAR: Final = "an over number such as 12 (the first over is 0), last, next, or 2:12"
OVER_REMEDY: Final = f"give {OVER_GRAMMAR}"
_NAME: Final = re.compile(r"(?:([0-9]{1,3}):)?([0-9]{1,4}|last|next)")


@dataclass(frozen=True, slots=True, eq=False)
class OverQuestion:
    """An over of an innings, and the state of the innings before the over.

    Attributes:
        over: the over's number in the file.
        balls: the deliveries of the over; empty if the over is not yet bowled.
        before: the number of earlier deliveries in the innings.
        start: the first ball of the over, with the scoreboard before the ball.
        finished: whether the over is complete in the file.
    """

    match: Match
    innings: Innings
    over: int
    balls: tuple[Delivery, ...]
    before: int
    start: Delivery
    finished: bool

    @property
    def bowled(self) -> bool:
        return bool(self.balls)

    @property
    def past(self) -> tuple[Delivery, ...]:
        return self.innings.deliveries[: self.before]

    @property
    def echo(self) -> str:
        """One line of text that identifies the over."""
        start, count = self.start, len(self.innings.deliveries)
        heading = f"innings {self.innings.number}"
        if self.innings.super_over:
            heading += " (super over)"
        parts = [f"{heading}, over {self.over} (the {ordinal(self.over + 1)})"]
        if self.bowled:
            last = self.before + len(self.balls)
            parts.append(f"deliveries {self.before + 1} to {last} of {count}")
        else:
            parts.append("not yet bowled" + (f", after delivery {count}" if count else ""))
        parts.append(f"{start.score_before}/{start.wickets_before}")
        if self.innings.target is not None:
            parts.append(f"target {self.innings.target}")
        return " | ".join(parts)


def find_over(match: Match, over: int | str, innings: int | None = None) -> OverQuestion:
    """Find an over by its name, or by its number in the file (the first over is 0).

    Args:
        over: the number, ``last``, ``next``, or a name such as ``2:12`` (innings 2, over 12).
            ``next`` is the over in progress or, between overs, the coming over.
        innings: the innings, counted from 1. The default is the last innings for ``next``, and 1
            for other overs.

    Raises:
        BallNotFoundError: the match does not have the over or the innings, the name is invalid, or
            the previous over has not ended.
    """
    text = str(over).strip().lower()
    name = None if isinstance(over, bool) else _NAME.fullmatch(text)
    if name is None:
        raise BallNotFoundError(
            f"{text!r} is not the name of an over", remedy=f"write {OVER_GRAMMAR}"
        )
    if name[1] is not None:
        if innings not in (None, int(name[1])):
            raise BallNotFoundError(
                f"over {text!r} names innings {name[1]}, but innings={innings} was given"
            )
        innings = int(name[1])
    chosen = innings_numbered(
        match, default_innings(match, name[2]) if innings is None else innings
    )
    overs = overs_of(chosen)
    if not overs and name[2] not in ("next", "0"):
        raise BallNotFoundError(
            f"innings {chosen.number} has no deliveries yet", remedy="choose over 0"
        )
    labels = list(overs) or [-1]
    under_way = (
        bool(chosen.deliveries)
        and not over_ended(chosen, chosen.deliveries[-1])
        and why_no_more(match, chosen) is None
    )
    over_label = {"last": labels[-1], "next": labels[-1] + (not under_way)}.get(name[2])
    label = int(name[2]) if over_label is None else over_label
    if label in overs:
        balls = overs[label]
        before = balls[0].index - 1
        ended = over_ended(chosen, balls[-1]) or label != labels[-1]
        finished = ended or why_no_more(match, chosen) is not None
        return OverQuestion(
            match, chosen, label, balls, before, _start(chosen, before, label), finished
        )
    if label != labels[-1] + 1:
        raise BallNotFoundError(
            f"there is no over {label}: innings {chosen.number} has overs {labels[0]} to "
            f"{labels[-1]}",
            remedy=OVER_REMEDY,
        )
    _refuse_next(match, chosen, label)
    count = len(chosen.deliveries)
    return OverQuestion(match, chosen, label, (), count, _start(chosen, count, label), False)


def _refuse_next(match: Match, innings: Innings, label: int) -> None:
    reason = why_no_more(match, innings)
    if reason is not None:
        raise BallNotFoundError(
            f"innings {innings.number} has no over {label}: {reason}",
            remedy="choose an over that was bowled",
        )
    if innings.deliveries and not over_ended(innings, innings.deliveries[-1]):
        raise BallNotFoundError(
            f"over {label} cannot be forecast, because over {label - 1} is not finished",
            remedy=f"forecast over {label - 1}",
        )


def _start(innings: Innings, before: int, over: int) -> Delivery:
    so_far = replace(innings, deliveries=innings.deliveries[:before])
    return unbowled(so_far)._replace(over=over)


_SCHEMA_VERSION: Final = "1.0"
_RUNNERS_UP: Final = 3
_DIGITS: Final = 6
_NATS: Final = 9
_SITE: Final = "decoder.cross_attention"
_MAX_ROWS: Final = 128

_MAX_SAMPLES: Final = 100_000


@dataclass(frozen=True, slots=True)
class TokenProbability:
    """A token and its probability."""

    token: str
    probability: float


@dataclass(frozen=True, slots=True)
class WrittenToken(TokenProbability):
    """A token of the generated over, and the most likely alternative tokens."""

    runners_up: list[TokenProbability]


@dataclass(frozen=True, slots=True)
class TokenBall:
    """A ball with its token and its players."""

    index: int
    label: str
    token: str
    batter: str
    bowler: str
    runs: int

    @classmethod
    def of(cls, ball: Delivery, *more: float | None) -> Self:
        names = ball.batter.name, ball.bowler.name
        return cls(ball.index, ball.label, token_of(ball), *names, ball.runs_total, *more)


@dataclass(frozen=True, slots=True)
class BowledBall(TokenBall):
    """A ball that was bowled, and the probability that the model assigned to the ball's token.

    The probability is conditional on the earlier balls of the over. Balls beyond the model's
    maximum length have the probability ``None``.
    """

    probability: float | None


@dataclass(frozen=True, slots=True)
class HistoryBall(TokenBall):
    """A ball that was bowled before the over."""

    over: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """Cross-attention to the past balls. Padding positions come first and have weight 0.

    Attributes:
        labels: the label of each position; ``None`` for padding.
        padded: the number of padding positions.
        balls: the balls at the remaining positions.
        weights: the attention weights, averaged over the heads, ``(token, position)``.
        by_head: the attention weights of each head, ``(head, token, position)``.
        effects_nats: the change of each token's forecast, in nats, if one ball is hidden,
            ``(token, ball)``.
    """

    tokens: list[str]
    labels: list[str | None]
    padded: int
    balls: list[HistoryBall]
    weights: list[list[float]]
    by_head: list[list[list[float]]]
    effects_nats: list[list[float]] | None


@dataclass(frozen=True, slots=True)
class OverFlag:
    """A caution about the forecast."""

    flag: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OverMatch:
    """The facts that the file states about the match."""

    match_id: str
    match_type: str | None
    gender: str | None
    dates: list[str]
    venue: str | None
    teams: list[str]
    batting_team: str
    bowling_team: str
    super_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledChoice(Choice):
    """The rule by which the tokens were chosen, and the random seed."""

    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NextOver:
    """The forecast of an over, as printed by ``attnlens over --json``. All numbers are rounded."""

    schema_version: str
    model: OverWriter
    match: OverMatch
    innings: int
    over: int
    echo: str
    bowled: bool
    finished: bool
    choice: SampledChoice
    tokens: list[WrittenToken]
    actual: list[str]
    actual_balls: list[BowledBall]
    cross_attention: CrossAttention
    samples: Samples | None
    flags: list[OverFlag]

    def to_dict(self) -> Json:
        return asdict(self)


def choice_of(temperature: float | None, top_k: int | None) -> Choice:
    """Return a greedy `Choice`, or a sampling `Choice` if either argument is given."""
    sampled = temperature is not None or top_k is not None
    return Choice(not sampled, 1.0 if temperature is None else temperature, top_k)


@one_thread()
def next_over(
    question: OverQuestion,
    trained: TrainedOvers,
    *,
    choice: Choice | None = None,
    seed: int = 0,
    samples: int = 0,
    evidence: bool = True,
    history: bool = False,
) -> NextOver:
    """Forecast an over.

    Args:
        choice: the rule for choosing tokens. Samples use the same temperature and top-k.
        samples: the number of additional overs to sample, reproducible with ``seed``.
        evidence: whether to measure the effect of hiding each past ball.
        history: whether the ratings use only matches before this match.

    Raises:
        InputError: the choice, the seed or the number of samples is out of range.
    """
    choice = choice or Choice()
    _check(choice, samples, seed)
    model, match, innings = trained.model, question.match, question.innings
    arrays = encode_overs(match, innings, trained.ratings, trained.base, over=question.over)
    batch = over_batch([(arrays, 0)], model.sizes)
    generator = torch.Generator().manual_seed(seed)
    parts = batch.history, batch.padded, batch.context
    numbers = decode(model, *parts, choice, generator=generator)[0]
    words = token_words(numbers.tolist(), fewer_balls(innings))
    targets = numbers[: len(words)]
    inputs = torch.cat([torch.tensor([START]), targets[:-1]])[None]
    both, weights = _read(model, batch, inputs)
    past = question.past[len(question.past) - weights.shape[-1] :]
    effects = single_effects(model, batch, inputs) if evidence and past else None
    sampled = None
    if samples:
        start, some = question.start, replace(choice, greedy=False)
        limits = Limits.of(innings, start.score_before, start.wickets_before)
        generator = torch.Generator().manual_seed(seed)
        tokens = decode(model, *parts, some, samples=samples, generator=generator).numpy()
        sampled = simulate_overs(tokens, trained.token_runs, limits, np.random.default_rng(seed))
    flags = _flags(question, trained, len(past), evidence=evidence, history=history)
    return NextOver(
        schema_version=_SCHEMA_VERSION,
        model=OverWriter.of(trained),
        match=OverMatch(**match_particulars(match, innings), super_over=innings.super_over),
        innings=innings.number,
        over=question.over,
        echo=question.echo,
        bowled=question.bowled,
        finished=question.finished,
        choice=SampledChoice(**asdict(choice), seed=seed),
        tokens=[
            _token(number, chances)
            for number, chances in zip(targets.tolist(), both[0], strict=False)
        ],
        actual=[token_of(ball) for ball in question.balls],
        actual_balls=_actual(question, batch, both[1]),
        cross_attention=_cross_attention(weights, words, past, model.sizes.history, effects),
        samples=None if sampled is None else samples_of(sampled, seed=seed),
        flags=[OverFlag(*flag) for flag in flags],
    )


def _check(choice: Choice, samples: int, seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed} is out of range", remedy="give a number from 0 to 2^32-1")
    if not 0.01 <= choice.temperature <= 100:
        raise InputError(
            f"temperature {choice.temperature:g} is out of range",
            remedy="give 0.01 to 100, or omit the temperature to choose the most likely tokens",
        )
    if choice.top_k is not None and not 1 <= choice.top_k <= len(TOKENS):
        raise InputError(
            f"top-k {choice.top_k} is out of range",
            remedy=f"give a number from 1 to {len(TOKENS)}",
        )
    if not 0 <= samples <= _MAX_SAMPLES:
        raise InputError(
            f"{samples} samples are out of range", remedy=f"give a number from 0 to {_MAX_SAMPLES}"
        )


def _token(number: int, chances: Floats) -> WrittenToken:
    order = [int(n) for n in np.argsort(-chances, kind="stable") if n not in (number, PAD, START)]
    runners_up = [TokenProbability(TOKENS[n], rounded(chances[n])) for n in order[:_RUNNERS_UP]]
    return WrittenToken(TOKENS[number], rounded(chances[number]), runners_up)


def _read(model: OverModel, batch: OverBatch, inputs: Tensor) -> tuple[Floats, Floats]:
    """Return probabilities ``(2, position, token)`` and cross-attention ``(head, position, ball)``.

    The two rows of probabilities belong to the generated over and the bowled over.
    """
    places = max(inputs.shape[1], batch.inputs.shape[1])
    both = torch.cat(
        [
            nn.functional.pad(tokens, (0, places - tokens.shape[1]))
            for tokens in (inputs, batch.inputs)
        ]
    )
    with torch.no_grad(), record(model) as recording:
        logits = model(
            batch.history.expand(2, -1, -1),
            batch.padded.expand(2, -1),
            batch.context.expand(2, -1),
            both,
        )
    chances: Floats = logits.double().softmax(-1).numpy()
    weights = recording[_SITE].weights[0, :, : inputs.shape[1]].double().numpy()
    return chances, weights


def single_effects(model: OverModel, batch: OverBatch, inputs: Tensor) -> Floats:
    """Return the effect of hiding each past ball alone, in nats, ``(position, ball)``."""
    hidden = torch.eye(batch.history.shape[1], dtype=torch.bool)
    chances = []
    for some in torch.split(torch.cat([torch.zeros_like(hidden[:1]), hidden]), _MAX_ROWS):
        others_expanded = (
            tensor.expand(len(some), *tensor.shape[1:]) for tensor in (batch.context, inputs)
        )
        with torch.no_grad():
            logits = model(batch.history.expand(len(some), -1, -1), some, *others_expanded)
        chances.append(logits.double().softmax(-1).numpy())
    every = np.concatenate(chances)
    effects: Floats = divergence(every[:1], every[1:]).T
    return effects


def _actual(question: OverQuestion, batch: OverBatch, chances: Floats) -> list[BowledBall]:
    probabilities = [
        rounded(row[token]) for row, token in zip(chances, batch.targets[0], strict=False)
    ]
    return [
        BowledBall.of(ball, probabilities[row] if row < len(probabilities) else None)
        for row, ball in enumerate(question.balls)
    ]


def _cross_attention(
    weights: Floats,
    words: Sequence[str],
    past: Sequence[Delivery],
    history: int,
    effects: Floats | None,
) -> CrossAttention:
    heads, places, balls = weights.shape
    padded = history - balls
    padded_weights = np.zeros((heads, places, history))
    padded_weights[..., padded:] = weights
    return CrossAttention(
        tokens=list(words),
        labels=[*[None] * padded, *(ball.label for ball in past)],
        padded=padded,
        balls=[HistoryBall.of(ball, ball.over) for ball in past],
        weights=np.round(padded_weights.mean(0), _DIGITS).tolist(),
        by_head=np.round(padded_weights, _DIGITS).tolist(),
        effects_nats=None if effects is None else np.round(effects, _NATS).tolist(),
    )


def _flags(
    question: OverQuestion, trained: TrainedOvers, past: int, *, evidence: bool, history: bool
) -> Iterator[tuple[str, str]]:
    yield from few_before(past)
    if question.bowled and not question.finished:
        yield "unfinished_over", "the file contains only a part of this over"
    longest = trained.model.sizes.length
    if len(question.balls) > longest:
        yield "long_over", f"the model generates at most {longest} deliveries per over"
    yield from cautions(
        question.match, question.innings, trained, evidence=evidence, history=history
    )


_KIND: Final = "cricket"
_FORMAT: Final = 1
_NAMES: Final = {
    "tokens": list(TOKENS),
    "past_features": list(PAST_FEATURES),
    "context_features": list(CONTEXT_FEATURES),
}


MAX_RUNS: Final = 8


@dataclass
class TrainedOvers(Trained):
    """A trained encoder-decoder and its ratings."""

    model: OverModel

    @property
    def token_runs(self) -> NDArray[np.float64]:
        """The result of the function `token_runs` for the training data, ``(24, 9)``."""
        return np.array(self.card["token_runs"], dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverWriter:
    """The checkpoint of a forecast, and the dates of its training and ratings."""

    name: str
    sha256: str
    trained_from: str | None
    trained_until: str | None
    ratings_until: str | None
    sizes: OverSizes

    @classmethod
    def of(cls, trained: TrainedOvers) -> OverWriter:
        until = trained.ratings.until
        return cls(
            name=trained.name,
            sha256=trained.sha256,
            **{name: trained.card.get(name) for name in ("trained_from", "trained_until")},
            ratings_until=None if until is None else until.isoformat(),
            sizes=trained.model.sizes,
        )


def save_overs(path: str | os.PathLike[str], trained: TrainedOvers) -> None:
    """Write an encoder-decoder to one safetensors file."""
    save_trained(
        path, trained, {"kind": _KIND, "format": _FORMAT, **_NAMES}, trained.model.sizes.to_dict()
    )


def load_overs(model: str | os.PathLike[str] | None = None) -> TrainedOvers:
    """Load an encoder-decoder by name (``cricket``, the default) or from a file.

    Raises:
        CheckpointError: the file is missing or damaged, or its kind or version is not supported.
    """
    name, path = named_checkpoint(OVERS if model is None else model)
    checkpoint = read_checkpoint(path, _KIND)
    metadata = checkpoint.metadata
    with checked_checkpoint(metadata, _FORMAT, _NAMES, path):
        sizes = OverSizes.from_dict(metadata["sizes"])
        expected_sizes = (len(PAST_FEATURES), len(CONTEXT_FEATURES), len(TOKENS))
        if (sizes.features, sizes.context, sizes.tokens) != expected_sizes:
            raise ValueError("the checkpoint's sizes do not match its features")
        weights = tensors_under("model.", checkpoint.tensors)
        if sum(value.numel() for value in weights.values()) != sizes.parameters:
            raise ValueError("the checkpoint's sizes do not match its weights")
        network = OverModel(sizes)
        network.load_state_dict(weights)
        trained = TrainedOvers(name=name, model=network.eval(), **knowledge_of(checkpoint, RATED))
        runs = trained.token_runs
        if runs.shape != (len(TOKENS), MAX_RUNS + 1) or not np.allclose(runs.sum(1), 1):
            raise ValueError("the checkpoint's table of runs by token is damaged")
    return trained


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that can end an over early.

    Attributes:
        runs: the runs needed to reach the target; ``None`` without a target to reach.
        wickets: the number of wickets left.
        balls: the number of legal balls per over; ``None`` if an over has six or more.
    """

    runs: int | None
    wickets: int
    balls: int | None = None

    @classmethod
    def of(cls, innings: Innings, score: int, wickets: int) -> Limits:
        """Return the limits for a score. A target that is already reached is ignored."""
        target = innings.target
        needed = None if target is None or score >= target else target - score
        out = 2 if innings.super_over else ALL_OUT
        return cls(needed, max(out - wickets, 1), fewer_balls(innings))


@dataclass(frozen=True, slots=True, eq=False)
class SampledOvers:
    """The runs, wickets and boundaries of sampled overs. Each row is one over.

    Deliveries after the end of the innings are not counted. ``finished`` is false for an over that
    was cut at the model's maximum length.
    """

    runs: Integers
    wickets: Integers
    boundaries: Integers
    finished: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.runs)


def token_runs(matches: Sequence[Match]) -> NDArray[np.float64]:
    """Return the distribution of runs for each token, ``(24, 9)``.

    Column ``k`` has the share of deliveries with ``k`` runs. Column 8 also counts more runs.
    """
    counts = np.zeros((len(TOKENS), MAX_RUNS + 1))
    for side in (side for match in matches for side in match.innings if not side.super_over):
        for ball in side.deliveries:
            counts[TOKEN_INDEX[token_of(ball)], min(ball.runs_total, MAX_RUNS)] += 1
    counts[counts.sum(1) == 0, 0] = 1
    shares: NDArray[np.float64] = counts / counts.sum(1, keepdims=True)
    return shares


def simulate_overs(
    tokens: Integers, token_runs: Floats, limits: Limits, generator: np.random.Generator
) -> SampledOvers:
    """Draw the runs of sampled overs, and stop each over at the limits of its innings.

    Args:
        tokens: the token numbers of the sampled overs, ``(over, position)``.
        token_runs: the result of the function `token_runs`.
    """
    deliveries = tokens >= len(SPECIAL)
    edges = token_runs.cumsum(1)[tokens]
    runs = (generator.random(tokens.shape)[..., None] >= edges[..., :-1]).sum(-1) * deliveries
    wickets = (tokens == TOKEN_INDEX["W"]) & deliveries
    before_runs = runs.cumsum(1) - runs
    before_wickets = wickets.cumsum(1) - wickets
    played = deliveries & (before_wickets < limits.wickets)
    if limits.runs is not None:
        played &= before_runs < limits.runs
    if limits.balls is not None:
        counted = np.array([legal(token) for token in TOKENS], np.int64)[tokens]
        played &= counted.cumsum(1) - counted < limits.balls
    stopped = (deliveries & ~played).any(1)
    finished = (tokens == TOKEN_INDEX["<end>"]).any(1) | stopped
    boundaries = (tokens == TOKEN_INDEX["4"]) | (tokens == TOKEN_INDEX["6"])
    fell, hit = ((flags & played).sum(1) for flags in (wickets, boundaries))
    return SampledOvers((runs * played).sum(1), fell, hit, finished)


@dataclass(frozen=True, slots=True)
class SampledRuns:
    """The distribution of runs per sampled over."""

    mean: float
    median: int
    from_tenth_to_ninth: list[int]
    shares: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class SampledEvents:
    """The distribution of the number of wickets or boundaries per sampled over."""

    mean: float
    at_least_one: float
    shares: list[dict[str, float]]

    @classmethod
    def of(cls, counts: Integers, name: str) -> SampledEvents:
        return cls(rounded(counts.mean()), rounded((counts > 0).mean()), _shares(counts, name))


@dataclass(frozen=True, slots=True)
class Samples:
    """The distributions of runs, wickets and boundaries per sampled over."""

    count: int
    seed: int
    runs: SampledRuns
    wickets: SampledEvents
    boundaries: SampledEvents
    unfinished: float


def samples_of(overs: SampledOvers, *, seed: int) -> Samples:
    low, middle, high = np.quantile(overs.runs, [0.1, 0.5, 0.9], method="inverted_cdf").tolist()
    runs = overs.runs
    tenths = [int(low), int(high)]
    return Samples(
        len(runs),
        seed,
        SampledRuns(rounded(runs.mean()), int(middle), tenths, _shares(runs, "runs")),
        SampledEvents.of(overs.wickets, "wickets"),
        SampledEvents.of(overs.boundaries, "boundaries"),
        rounded((~overs.finished).mean()),
    )


def _shares(values: Integers, name: str) -> list[dict[str, float]]:
    counts = np.bincount(values).tolist()
    return [
        {name: number, "share": rounded(count / len(values))} for number, count in enumerate(counts)
    ]

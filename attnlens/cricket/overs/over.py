"""The next over: what the encoder-decoder expects of it, what it looked at, and the check.

See `docs/over.md` for every field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.analysis.faithfulness import spearman
from attnlens.arrays import Floats
from attnlens.claims.claims import Tested
from attnlens.cricket.match.match import Delivery, MatchParticulars, match_particulars
from attnlens.cricket.model.kinds import cautions, few_before
from attnlens.cricket.model.window import one_thread
from attnlens.cricket.overs.encoder_decoder import PAD, START, Choice, OverModel, decode
from attnlens.cricket.overs.evidence import (
    SITE,
    Claim,
    OneOver,
    OverEvidence,
    claims_of_over,
    gather_over,
    seed_of,
)
from attnlens.cricket.overs.features import OverBatch, encode_overs, over_batch
from attnlens.cricket.overs.question import OverQuestion, Standing, standing_of
from attnlens.cricket.overs.samples import (
    Limits,
    Samples,
    draw_overs,
    fewer_balls,
    samples_of,
    within,
)
from attnlens.cricket.overs.tokens import TOKENS, token_of, written
from attnlens.cricket.overs.trained import OverWriter, TrainedOvers
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.recorder import record
from attnlens.show.numbers import rounded

SCHEMA_VERSION: Final = "1.0"
RUNNERS_UP: Final = 3
DIGITS: Final = 6
NATS: Final = 9
FELT: Final = 0.05
"""Changes of a token's chance that are told, percentage points."""

MOST_SAMPLES: Final = 100_000


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token and its chance."""

    token: str
    probability: float


@dataclass(frozen=True, slots=True)
class WrittenToken(TokenChance):
    """A token of the over that was written, and the likeliest others."""

    runners_up: list[TokenChance]


@dataclass(frozen=True, slots=True)
class BowledBall:
    """A ball of the over as it was bowled, with the chance it was given.

    That follows what was bowled before it; ``None`` past the model's length.
    """

    index: int
    label: str
    token: str
    batter: str
    bowler: str
    runs: int
    probability: float | None


@dataclass(frozen=True, slots=True)
class PastBall:
    """A ball before the over."""

    index: int
    label: str
    over: int
    batter: str
    bowler: str
    token: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """Cross-attention over all places of the history; padding comes first and has weight 0.

    Attributes:
        labels: of every place ``(place,)``; ``padded`` of them are no ball's.
        balls: of the other places.
        weights: over all heads together ``(token, place)``; ``by_head (head, token, place)``.
        effects_nats: what hiding each ball alone does ``(token, ball)``.
    """

    tokens: list[str]
    labels: list[str | None]
    padded: int
    balls: list[PastBall]
    weights: list[list[float]]
    by_head: list[list[list[float]]]
    effects_nats: list[list[float]] | None


@dataclass(frozen=True, slots=True)
class Ranks:
    """Rank correlation with what hiding each ball does, of attention and of recency."""

    attention: float | None
    recency: float | None


@dataclass(frozen=True, slots=True)
class TokenRanks(Ranks):
    """The same for one token."""

    largest_single_ball_effect_nats: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether attention agrees with effects; a description, no verdict."""

    spearman: Ranks
    by_token: list[TokenRanks]


@dataclass(frozen=True, slots=True)
class TokenChange:
    """How far a token's chance moved, percentage points."""

    token: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRow:
    """A claim that a token looked at some balls, and what hiding them did."""

    claim: str
    place: int
    head: int | None
    removed: list[int]
    labels: list[str]
    removed_from: str
    share: float
    effect_nats: float
    changes: list[TokenChange]
    controls: int
    controls_median_nats: float | None
    p: float | None
    q: float | None
    verdict: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Caution:
    """Something a reader should know before trusting the answer."""

    flag: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OverMatch(MatchParticulars):
    """The match, as the file tells it, and whether the over is one of a super over."""

    super_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """How the tokens were chosen, see `Choice`, and the seed of what was drawn."""

    greedy: bool
    temperature: float
    top_k: int | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NextOver:
    """What is expected of an over, rounded once: the document of ``attnlens over --json``."""

    schema_version: str
    model: OverWriter
    match: OverMatch
    innings: int
    over: int
    echo: str
    bowled: bool
    finished: bool
    state: Standing
    choice: Drawn
    tokens: list[WrittenToken]
    actual: list[str]
    actual_balls: list[BowledBall]
    cross_attention: CrossAttention
    agreement: Agreement | None
    evidence: list[LookRow]
    spent: Mapping[str, int]
    samples: Samples | None
    flags: list[Caution]

    def to_dict(self) -> Json:
        """Plain data."""
        return asdict(self)


def choice_of(temperature: float | None, top_k: int | None) -> Choice:
    """The likeliest token each time, unless a temperature or a top-k is given: then drawn."""
    drawn = temperature is not None or top_k is not None
    return Choice(not drawn, 1.0 if temperature is None else temperature, top_k)


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
    """What is expected of an over.

    Args:
        choice: how the over is written, the likeliest token each time unless given; samples are
            drawn with its temperature and top-k.
        seed: of whatever is drawn.
        samples: overs to draw besides.
        evidence: run the interventions; without them attention is shown, not tested.
        history: whether the ratings are those of the match's date.

    Raises:
        InputError: a choice or a number of samples that cannot be.
    """
    choice = choice or Choice()
    _check(choice, samples, seed)
    model, match, innings = trained.model, question.match, question.innings
    arrays = encode_overs(match, innings, trained.ratings, trained.base, over=question.over)
    batch = over_batch([(arrays, 0)], model.sizes)
    with torch.no_grad():
        memory = model.remember(batch.history, batch.padded, batch.context)
    generator = torch.Generator().manual_seed(seed)
    numbers = decode(model, memory, choice, generator=generator)[0, 0]
    words = written(within(numbers.tolist(), fewer_balls(innings)))
    wanted = numbers[: len(words)]
    given = torch.cat([torch.tensor([START]), wanted[:-1]])[None]
    both, weights = _read(model, batch, given)
    past = question.past[len(question.past) - weights.shape[-1] :]
    tested = None
    if evidence and past:
        # The tokens that were written stand in place of those that were bowled.
        over = replace(batch, given=given, wanted=wanted[None])
        asked = OneOver.of(
            model, over, arrays, 0, seed_of(match.match_id, innings.number, question.over)
        )
        tested = gather_over(asked, claims_of_over(weights, words, [ball.label for ball in past]))
    state = standing_of(question)
    drawn = None
    if samples:
        limits = Limits.of(innings, state.score, state.wickets)
        some = replace(choice, greedy=False)
        drawn = draw_overs(
            model, memory, trained.token_runs, limits, samples=samples, seed=seed, choice=some
        )
    flags = _flags(question, trained, len(past), evidence=evidence, history=history)
    return NextOver(
        schema_version=SCHEMA_VERSION,
        model=OverWriter.of(trained),
        match=OverMatch(**asdict(match_particulars(match, innings)), super_over=innings.super_over),
        innings=innings.number,
        over=question.over,
        echo=question.echo,
        bowled=question.bowled,
        finished=question.finished,
        state=state,
        choice=Drawn(**asdict(choice), seed=seed),
        tokens=[
            _token(number, chances)
            for number, chances in zip(wanted.tolist(), both[0], strict=False)
        ],
        actual=[token_of(ball) for ball in question.balls],
        actual_balls=_actual(question, batch, both[1]),
        cross_attention=_cross_attention(weights, words, past, model.sizes.history, tested),
        agreement=None if tested is None else _agreement(weights, tested),
        evidence=[] if tested is None else [_look(claim, past) for claim in tested.tested],
        spent={} if tested is None else tested.spent,
        samples=None if drawn is None else samples_of(drawn, seed=seed),
        flags=[Caution(*flag) for flag in flags],
    )


def _check(choice: Choice, samples: int, seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(f"a seed of {seed} is none", remedy="give a number from 0 to 2^32-1")
    if not 0.01 <= choice.temperature <= 100:
        raise InputError(
            f"a temperature of {choice.temperature:g} cannot be drawn with",
            remedy="give one from 0.01 to 100, or none to take the likeliest each time",
        )
    if choice.top_k is not None and not 1 <= choice.top_k <= len(TOKENS):
        raise InputError(
            f"the likeliest {choice.top_k} of {len(TOKENS)} tokens cannot be",
            remedy=f"give a number from 1 to {len(TOKENS)}",
        )
    if not 0 <= samples <= MOST_SAMPLES:
        raise InputError(
            f"{samples} overs cannot be drawn", remedy=f"give a number from 1 to {MOST_SAMPLES}"
        )


def _token(number: int, chances: Floats) -> WrittenToken:
    """A token that was written, with the likeliest others."""
    order = [int(n) for n in np.argsort(-chances, kind="stable") if n not in (number, PAD, START)]
    others = [TokenChance(TOKENS[n], rounded(chances[n])) for n in order[:RUNNERS_UP]]
    return WrittenToken(TOKENS[number], rounded(chances[number]), others)


def _read(model: OverModel, batch: OverBatch, given: Tensor) -> tuple[Floats, Floats]:
    """Chances after what was written and after what was bowled, from one pass.

    Args:
        given: what stands before each token that was written ``(1, place)``.

    Returns:
        chances ``(2, places, token)`` of the tokens written and of those bowled, and
        cross-attention ``(head, place, ball)`` of those written.
    """
    places = max(given.shape[1], batch.given.shape[1])
    both = torch.cat(
        [nn.functional.pad(one, (0, places - one.shape[1])) for one in (given, batch.given)]
    )
    with torch.no_grad(), record(model) as recording:
        logits = model(
            batch.history.expand(2, -1, -1),
            batch.padded.expand(2, -1),
            batch.context.expand(2, -1),
            both,
        )
    chances: Floats = logits.double().softmax(-1).numpy()
    weights = recording[SITE].weights[0, :, : given.shape[1]].double().numpy()
    return chances, weights


def _actual(question: OverQuestion, batch: OverBatch, chances: Floats) -> list[BowledBall]:
    tokens = batch.wanted[0].tolist()
    return [
        BowledBall(
            ball.index,
            ball.label,
            token_of(ball),
            ball.batter.name,
            ball.bowler.name,
            ball.runs_total,
            rounded(chances[place, tokens[place]]) if place < len(tokens) else None,
        )
        for place, ball in enumerate(question.balls)
    ]


def _cross_attention(
    weights: Floats,
    words: Sequence[str],
    past: Sequence[Delivery],
    history: int,
    tested: OverEvidence | None,
) -> CrossAttention:
    heads, places, balls = weights.shape
    padded = history - balls
    whole = np.zeros((heads, places, history))
    whole[..., padded:] = weights
    return CrossAttention(
        tokens=list(words),
        labels=[*[None] * padded, *(ball.label for ball in past)],
        padded=padded,
        balls=[
            PastBall(
                ball.index,
                ball.label,
                ball.over,
                ball.batter.name,
                ball.bowler.name,
                token_of(ball),
                ball.runs_total,
            )
            for ball in past
        ],
        weights=np.round(whole.mean(0), DIGITS).tolist(),
        by_head=np.round(whole, DIGITS).tolist(),
        effects_nats=None if tested is None else np.round(tested.singles, NATS).tolist(),
    )


def _agreement(weights: Floats, tested: OverEvidence) -> Agreement:
    mean = weights.mean(0)
    recency = np.arange(mean.shape[-1], dtype=float)
    rows = [
        TokenRanks(
            _ranked(mean[place], effects),
            _ranked(recency, effects),
            rounded(effects.max(), NATS),
        )
        for place, effects in enumerate(tested.singles)
    ]
    pairs = [
        (row.attention, row.recency)
        for row in rows
        if row.attention is not None and row.recency is not None
    ]
    means = np.mean(pairs, 0).tolist() if pairs else (None, None)
    return Agreement(Ranks(*(None if one is None else rounded(one) for one in means)), rows)


def _ranked(scores: Floats, effects: Floats) -> float | None:
    """Spearman, ``None`` where one of the two is the same for all balls."""
    if len(scores) < 3 or np.ptp(scores) == 0 or np.ptp(effects) == 0:
        return None
    return rounded(spearman(scores, effects))


def _look(tested: Tested[Claim], past: Sequence[Delivery]) -> LookRow:
    claim, controls = tested.claim, tested.controls
    changes = [
        TokenChange(word, rounded(points))
        for word, points in zip(TOKENS, tested.points.tolist(), strict=True)
        if abs(points) >= FELT
    ]
    return LookRow(
        claim=claim.text,
        place=claim.token,
        head=claim.head,
        removed=[past[ball].index for ball in claim.removed],
        labels=[past[ball].label for ball in claim.removed],
        removed_from="model" if claim.head is None else "head",
        share=rounded(claim.share),
        effect_nats=rounded(tested.effect, NATS),
        changes=sorted(changes, key=lambda change: -abs(change.points)),
        controls=len(controls),
        controls_median_nats=rounded(np.median(controls), NATS) if len(controls) else None,
        p=None if tested.p is None else rounded(tested.p),
        q=None if tested.q is None else rounded(tested.q),
        verdict=tested.judged.verdict,
        reason=tested.judged.reason,
    )


def _flags(
    question: OverQuestion, trained: TrainedOvers, past: int, *, evidence: bool, history: bool
) -> Iterator[tuple[str, str]]:
    """What a reader should know before trusting the answer."""
    yield from few_before(past)
    if question.bowled and not question.finished:
        yield "unfinished_over", "the file does not have all of this over"
    longest = trained.model.sizes.length
    if len(question.balls) > longest:
        yield "long_over", f"the model writes {longest} deliveries of an over at most"
    yield from cautions(
        question.match, question.innings, trained, evidence=evidence, history=history
    )

"""Does cross-attention tell what the next over was made from? Past balls hidden, and others.

Every token of an over says, by its cross-attention, which past balls it looked at. Each such
claim is put to the test as in `attnlens.claims.claims`, with the tokens before it given:

- the balls that all heads together looked at most are hidden from the whole model: from the
  encoder's attention and from every cross-attention;
- the balls that one head looked at most are hidden from that head's cross-attention alone.

The controls are random sets of as many of the innings' past balls. The second operator, for what
is hidden from the whole model, has the balls stay and tell of something else: what happened is
drawn from what the scoreboard alone expected of them.

What the context says (score, target, expected runs) stays: hiding balls does not take the
runs off the board.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.analysis.scores import divergence
from attnlens.arrays import Flags, Floats
from attnlens.claims import claims
from attnlens.claims.claims import MODEL, Place, Tested, Trial
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.overs.encoder_decoder import Memory, OverModel
from attnlens.cricket.overs.features import PAST_FEATURES, RUNS, OverArrays, OverBatch
from attnlens.recorder import intervene

Sets = Sequence[tuple[int, ...]]

LISTED: Final = 4
"""At most this many balls are named for a token."""

SITE: Final = "decoder.cross_attention"
AT_ONCE: Final = 128
"""Masks in one pass of the encoder."""

HEADS_AT_ONCE: Final = 512

HAPPENED: Final = tuple(
    list(PAST_FEATURES).index(name)
    for name in (
        "runs_batter",
        "runs_extras",
        "dot",
        "four",
        "six",
        "wicket",
        "wide",
        "no_ball",
        "bye",
        "surprise",
        "runs_above",
    )
)
"""What a past ball tells of what happened on it, as columns of its features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(claims.Claim):
    """What one token looked at.

    Attributes:
        token: its place in the over, from 0.
        head: the head whose claim it is; ``None``: all of them together.
        share: of the attention, on the balls named.
    """

    token: int
    head: int | None
    share: float


@dataclass(eq=False)
class OneOver:
    """One over with its tokens given, asked about with past balls taken away.

    Items are past balls by position, 0 the oldest that the model reads.

    Attributes:
        batch: of one over; its ``given`` is what stands before each token.
        expected: what the scoreboard alone expected of each past ball, log-probabilities
            ``(balls, 11)``.
        spent: passes over masks, by where balls were hidden.
    """

    model: OverModel
    batch: OverBatch
    expected: NDArray[np.float32]
    seed: int
    spent: dict[str, int] = field(default_factory=lambda: {"model": 0, "head": 0, "replaced": 0})
    _kept: dict[Hashable, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, model: OverModel, batch: OverBatch, arrays: OverArrays, row: int, seed: int
    ) -> OneOver:
        """The over of a row of some arrays."""
        end = int(arrays.start[row])
        return cls(model, batch, arrays.base[end - batch.history.shape[1] : end], seed)

    @property
    def balls(self) -> int:
        """Past balls."""
        return self.batch.history.shape[1]

    @property
    def places(self) -> int:
        """Tokens asked about."""
        return self.batch.given.shape[1]

    def under_masks(self, visible: Flags) -> Floats:
        """Chances of every token with balls hidden from the whole model.

        Args:
            visible: ``(mask, ball)``.

        Returns:
            ``(mask, place, token)``.
        """

        def ask(some: list[int]) -> Floats:
            history = self.batch.history.expand(len(some), -1, -1)
            return self._asked(history, torch.from_numpy(~visible[some]))

        keys = [("model", row.tobytes()) for row in visible]
        return self._once("model", keys, ask, AT_ONCE)

    def _once(
        self, what: str, keys: Sequence[Hashable], ask: Callable[[list[int]], Floats], most: int
    ) -> Floats:
        """Answers by key, each asked for once.

        Args:
            what: which answers are counted.
            ask: the answers to the keys at some places.
            most: places asked about together.
        """
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        new = sorted(place for key, place in first.items() if key not in self._kept)
        for start in range(0, len(new), most):
            some = new[start : start + most]
            self._kept |= zip([keys[place] for place in some], ask(some), strict=True)
        self.spent[what] += len(new)
        return np.stack([self._kept[key] for key in keys])

    def _asked(self, history: Tensor, padded: Tensor) -> Floats:
        rows = len(history)
        with torch.no_grad():
            logits = self.model(
                history,
                padded,
                self.batch.context.expand(rows, -1),
                self.batch.given.expand(rows, -1),
            )
        chances: Floats = logits.double().softmax(-1).numpy()
        return chances

    @cached_property
    def _before_memory(self) -> tuple[Memory, Tensor]:
        """The memory with everything, and ``Y_1`` ``(1, place, d)``."""
        decoder = self.model.decoder
        with torch.no_grad():
            memory = self.model.remember(self.batch.history, self.batch.padded, self.batch.context)
            y_0 = decoder.placed(self.batch.given, self.batch.context)
            return memory, decoder.after(y_0, decoder.self_attention(y_0))

    def under_head(self, head: int, visible: Flags) -> Floats:
        """As `under_masks`, with balls hidden from one head's cross-attention alone."""
        memory, y_1 = self._before_memory

        def ask(some: list[int]) -> Floats:
            rows = len(some)
            hidden = torch.zeros(rows, self.model.sizes.heads, 1, self.balls, dtype=torch.bool)
            hidden[:, head, 0] = torch.from_numpy(~visible[some])
            with (
                torch.no_grad(),
                intervene(self.model, hide=hidden.expand(-1, -1, self.places, -1), sites=SITE),
            ):
                logits = self.model.decoder.read(
                    y_1.expand(rows, -1, -1),
                    memory.keys.expand(rows, -1, -1, -1),
                    memory.values.expand(rows, -1, -1, -1),
                    memory.padded.expand(rows, -1),
                )
            chances: Floats = logits.double().softmax(-1).numpy()
            return chances

        return self._once("head", [(head, row.tobytes()) for row in visible], ask, HEADS_AT_ONCE)

    @cached_property
    def _bank(self) -> Tensor:
        """Each past ball with each outcome instead of its own, ``(11, balls, features)``."""
        told = self.batch.history[0].repeat(len(OUTCOMES), 1, 1)
        runs = np.exp(self.expected) @ RUNS
        for number, outcome in enumerate(OUTCOMES):
            bat = int(outcome) if outcome.isdigit() else 0
            extra = float(outcome in ("wd", "nb", "bye"))
            fixed = [
                bat / 6,
                extra / 4,
                *(float(outcome == one) for one in ("0", "4", "6", "W", "wd", "nb", "bye")),
            ]
            told[number][:, list(HAPPENED[:-2])] = torch.tensor(fixed)
            told[number][:, HAPPENED[-2]] = torch.from_numpy(-self.expected[:, number] / 3)
            above = (bat + extra - runs) / 4
            told[number][:, HAPPENED[-1]] = torch.from_numpy(above.astype(np.float32))
        return told

    def replaced(self, sets: Sets) -> Floats:
        """Chances of every token with balls telling of something else; a set again, drawn again.

        Returns:
            ``(set, place, token)``.
        """
        times: Counter[tuple[int, ...]] = Counter()
        keys = []
        for places in sets:
            keys.append((tuple(sorted(places)), times[places]))
            times[places] += 1
        limits = np.exp(self.expected.astype(float)).cumsum(1)

        def ask(some: list[int]) -> Floats:
            history = self.batch.history.repeat(len(some), 1, 1)
            for row, (places, draw) in enumerate(keys[at] for at in some):
                generator = np.random.default_rng([self.seed, draw, *places])
                chance = generator.random(len(places))
                classes = (chance[:, None] > limits[list(places)]).sum(1)
                drawn = np.minimum(classes, len(OUTCOMES) - 1)
                history[row, list(places)] = self._bank[drawn, list(places)]
            return self._asked(history, self.batch.padded.expand(len(some), -1))

        return self._once("replaced", keys, ask, AT_ONCE)


@dataclass(frozen=True, slots=True, eq=False)
class OverEvidence:
    """What interventions said of one over.

    Attributes:
        full: chances of every token with everything ``(place, token)``.
        singles: nats that hiding one past ball costs each token ``(place, ball)``.
        tested: the claims; those of all heads together first.
        spent: masks asked about, by where balls were hidden.
    """

    full: Floats
    singles: Floats
    tested: list[Tested[Claim]]
    spent: dict[str, int]


def gather_over(over: OneOver, claims_told: Sequence[Claim]) -> OverEvidence:
    """Run every intervention on one over: single balls, claims and their controls.

    Args:
        claims_told: see `claims_of_over`.
    """
    balls = tuple(range(over.balls))
    every = np.ones((1 + len(balls), len(balls)), bool)
    every[1 + np.arange(len(balls)), balls] = False
    alone = over.under_masks(every)
    singles = divergence(alone[:1], alone[1:]).T

    places: dict[str, Place] = {MODEL: Place(partial(_chances, over, 0, None), balls)}
    for claim in claims_told:
        again = partial(_replaced, over, claim.token) if claim.head is None else None
        ask = partial(_chances, over, claim.token, claim.head)
        places[_place(claim)] = Place(ask, balls, again)
    trial: Trial[Claim] = Trial(places, seed=over.seed, items="balls")
    measured = trial.measure([(claim, _place(claim)) for claim in claims_told])
    full = {_place(claim): alone[0, claim.token] for claim in claims_told}
    tested = []
    # Two families, each with its own q: what is hidden from the model, and from heads.
    for whole in (True, False):
        family = [one for one in measured if (one.claim.head is None) == whole]
        tested += trial.judge(family, full) if family else []
    return OverEvidence(alone[0], singles, tested, dict(over.spent))


def _chances(over: OneOver, place: int, head: int | None, visible: Flags) -> Floats:
    """Of the token at a place, with balls hidden from the model or from one head."""
    chances = over.under_masks(visible) if head is None else over.under_head(head, visible)
    return chances[:, place]


def _replaced(over: OneOver, place: int, sets: Sets) -> Floats:
    """The same, with balls telling of something else."""
    return over.replaced(sets)[:, place]


def _place(claim: Claim) -> str:
    return f"{claim.token}/{MODEL if claim.head is None else f'head {claim.head}'}"


def claims_of_over(weights: Floats, words: Sequence[str], labels: Sequence[str]) -> list[Claim]:
    """One claim per token for all heads together, then one per token and head.

    Args:
        weights: cross-attention ``(head, place, ball)``.
        words: the tokens.
        labels: the past balls'.
    """
    heads, places, balls = weights.shape
    if not balls:
        return []
    found = []
    for head in (None, *range(heads)):
        rows = weights.mean(0) if head is None else weights[head]
        for place in range(places):
            row = rows[place]
            order = np.argsort(-row, kind="stable")[:LISTED]
            named = tuple(sorted(int(ball) for ball in order))
            share = float(row[list(named)].sum())
            looked_at = ", ".join(labels[ball] for ball in named)
            who = "" if head is None else f", head {head}"
            found.append(
                Claim(
                    text=f"token {place + 1} ({words[place]}){who}, looked at "
                    f"ball{'s' * (len(named) > 1)} {looked_at}",
                    removed=named,
                    window=tuple(range(balls)),
                    lift=share * balls / len(named),
                    token=place,
                    head=head,
                    share=share,
                )
            )
    return found


def seed_of(match_id: str, innings: int, over: int) -> int:
    """The seed of an over's draws: the same question has the same answer."""
    return zlib.crc32(f"{match_id}/{innings}/over {over}".encode())

"""Did an output token come from the words that it looked at? Words taken away, and others.

A token of the output claims the input words that hold at least half of its cross-attention
(`claimed`). They are taken away in two ways: hidden from cross-attention alone, so that the
decoder does not see them there, and replaced by ``<unk>`` in the input, so that nothing in the
model has read them. What that does to the token's probability is compared with taking away every
other set of as many words of the sentence, punctuation included; where there are more than
`attnlens.claims.verdicts.CONTROLS` of them, with so many drawn at random.

p is exact: it is the share of all such sets that do at least as much. A sentence of n words
cannot give a p under 1/n to a claim about one word; where not even that could reach the level
of a verdict, there is no claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

import numpy as np
import torch
from torch import Tensor

from attnlens.analysis.scores import divergence
from attnlens.arrays import Floats
from attnlens.claims.verdicts import (
    CHANCE,
    LEAST_LIFT,
    Q_LEVEL,
    Verdict,
    about_one,
    benjamini_hochberg,
    draw,
    judge,
    p_value,
    pool_for,
    too_few,
)
from attnlens.models.seq2seq import UNK, Seq2Seq
from attnlens.recorder import intervene

Set = tuple[int, ...]

ENOUGH: Final = 0.5
MOST: Final = 3
WAYS: Final = ("cross-attention", "model")
"""Where words are taken from: cross-attention alone, or the whole model."""

EVEN: Final = "it looks at them hardly more than at others"
MAY_BE_CHANCE: Final = "no other words do as much, but of so few that may be chance"
_LEAST_SETS: Final = math.ceil(1 / Q_LEVEL)
_AT_ONCE: Final = 256
_SURE: Final = 1e-12


def claimed(weights: Floats) -> Set:
    """The fewest words, at most `MOST`, that hold `ENOUGH` of the weights ``(word,)``."""
    order = np.argsort(-weights, kind="stable")[:MOST]
    held = np.cumsum(weights[order])
    count = int(np.searchsorted(held, ENOUGH * weights.sum() - 1e-9)) + 1
    return tuple(sorted(int(place) for place in order[:count]))


@dataclass(frozen=True, slots=True, eq=False)
class Ablations:
    """What a model says of an answer of its own with words taken away.

    Attributes:
        network: the model.
        source: the input's numbers ``(1, word)``.
        answer: ``<bos>`` and what was written, ``(1, token + 1)``.
    """

    network: Seq2Seq
    source: Tensor
    answer: Tensor

    def without(self, way: str, sets: Sequence[Set]) -> Floats:
        """The probability of each token of the answer, ``(set, token)``."""
        starts = range(0, len(sets), _AT_ONCE)
        return np.concatenate([self._some(way, sets[at : at + _AT_ONCE]) for at in starts])

    @torch.no_grad()
    def _some(self, way: str, sets: Sequence[Set]) -> Floats:
        gone = torch.zeros(len(sets), self.source.shape[1], dtype=torch.bool)
        for row, one in zip(gone, sets, strict=True):
            row[list(one)] = True
        source, answer = (one.expand(len(sets), -1) for one in (self.source, self.answer))
        hidden = intervene(self.network, hide={"decoder.*.cross_attention": gone})
        if way == "model":
            source = source.masked_fill(gone, UNK)
        with hidden if way == "cross-attention" else nullcontext():
            logits = self.network(source, answer[:, :-1])
        shares = logits.double().softmax(-1).gather(-1, answer[:, 1:, None])[..., 0]
        result: Floats = shares.clamp(_SURE, 1 - _SURE).numpy()
        return result


@dataclass(frozen=True, slots=True)
class TokenClaim:
    """That a token of an answer came from some words, and what taking them away did.

    Attributes:
        claim: the sentence.
        words, removed: the words, and their places in the input.
        token: its place in the answer.
        removed_from: of `WAYS`.
        weight: of the token's cross-attention, what the words hold.
        probability, without: of the token, with every word and without these.
        points: the difference, in percentage points.
        effect_nats: the same in nats, of the token and all others together.
        controls: with how many other sets it was compared; ``p`` and ``q`` are ``None`` for none.
        reason: why there is no verdict, or why it is not *supported*.
    """

    claim: str
    words: tuple[str, ...]
    token: int
    removed: Set
    removed_from: str
    weight: float
    probability: float
    without: float
    points: float
    effect_nats: float
    controls: int
    p: float | None = None
    q: float | None = None
    verdict: Verdict | None = None
    reason: str | None = None


def check(
    ablations: Ablations,
    way: str,
    attention: Floats,
    words: Sequence[str],
    answer: Sequence[str],
    *,
    seed: int = 0,
) -> list[TokenClaim]:
    """Test what every token looked at.

    Args:
        way: of `WAYS`.
        attention: ``(token, word)``, rows that sum to 1.
        words: of the input.
        answer: the tokens that make claims; those that the model wrote after them do not.
        seed: of the sets drawn where there are too many to take all.
    """
    removed = [claimed(row) for row in attention[: len(answer)]]
    pools, found = _taken_away(ablations, way, removed, len(words), seed)
    full = found[()]
    claims, compared = [], {}
    for token, one in enumerate(removed):
        named = tuple(words[place] for place in one)
        weight = float(attention[token, list(one)].sum())
        others = [other for other in pools[len(one)] if other != one]
        reason = _untestable(others, weight / len(one) * len(words))
        if reason is None:
            probabilities = np.array([found[other][token] for other in others])
            compared[token] = _effect(full[token], probabilities)
        without = found[one][token]
        claims.append(
            TokenClaim(
                claim=f"{answer[token]!r} came from {', '.join(named)}",
                words=named,
                token=token,
                removed=one,
                removed_from=way,
                weight=weight,
                probability=float(full[token]),
                without=float(without),
                points=float(100 * (without - full[token])),
                effect_nats=float(_effect(full[token], without)),
                controls=len(compared.get(token, ())),
                reason=reason,
            )
        )
    return _judged(claims, compared)


def _taken_away(
    ablations: Ablations, way: str, removed: Sequence[Set], words: int, seed: int
) -> tuple[dict[int, list[Set]], dict[Set, Floats]]:
    """Sets to compare with by their size, and each token's probability without any of them."""
    pools = {
        size: draw(pool_for(range(size), range(words)), np.random.default_rng([seed, size]))
        for size in sorted(set(map(len, removed)))
    }
    asked = list(dict.fromkeys([(), *chain.from_iterable(pools.values()), *removed]))
    return pools, dict(zip(asked, ablations.without(way, asked), strict=True))


def _untestable(others: Sequence[Set], lift: float) -> str | None:
    """Why a claim cannot be tested; ``lift``: its words' weight beside even attention."""
    if len(others) + 1 < _LEAST_SETS:
        return too_few("words")
    return EVEN if lift < LEAST_LIFT else None


def _effect(full: float, without: float | Floats) -> Floats:
    """Nats, of the token and all others together."""
    return divergence(about_one(np.array([full]), 0), about_one(np.asarray(without)[..., None], 0))


def _judged(claims: list[TokenClaim], compared: Mapping[int, Floats]) -> list[TokenClaim]:
    """The claims with p, q over those that can be tested, and verdicts.

    Args:
        compared: by token, nats of the sets that its claim is compared with.
    """
    p_values = [p_value(claims[token].effect_nats, nats) for token, nats in compared.items()]
    q_values = benjamini_hochberg(p_values)
    judged = list(claims)
    for (token, nats), p, q in zip(compared.items(), p_values, q_values, strict=True):
        effect, points = claims[token].effect_nats, claims[token].points
        told = judge(effect, np.array([points]), nats, q, against=points > 0, items="words")
        surely = told.reason == CHANCE and bool((nats < effect).all())
        reason = MAY_BE_CHANCE if surely else told.reason
        judged[token] = replace(claims[token], p=p, q=q, verdict=told.verdict, reason=reason)
    return judged

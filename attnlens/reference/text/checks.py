"""Did an output token come from the words that it looked at? Words taken away, and others.

A token of the output claims the input words that hold at least half of its cross-attention
(`claimed`). Words are taken away in two ways: hidden from cross-attention alone, so that the
decoder does not see them there, and replaced by ``<unk>`` in the input, so that nothing in the
model has read them. The test is `attnlens.evidence.trial`'s: what each word does alone to the
token's log-odds, summed, against the same sums of other words of the sentence, punctuation
included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.evidence.claim import MODEL, AblationSite, Claim, ClaimTest
from attnlens.evidence.scores import SMALLEST
from attnlens.evidence.trial import Trial, judged
from attnlens.evidence.verdict import Verdict, one_against_rest
from attnlens.recording import intervene
from attnlens.reference.transformer import UNK, Seq2Seq

Set = tuple[int, ...]

ENOUGH: Final = 0.5
MOST: Final = 3
WAYS: Final = ("cross-attention", "model")
"""Where words are taken from: cross-attention alone, or the whole model."""

_AT_ONCE: Final = 256


def claimed(weights: Floats) -> Set:
    """The fewest words, at most `MOST`, that hold `ENOUGH` of the weights ``(word,)``."""
    order = np.argsort(-weights, kind="stable")[:MOST]
    held = np.cumsum(weights[order])
    count = int(np.searchsorted(held, ENOUGH * weights.sum() - 1e-9)) + 1
    return tuple(sorted(int(index) for index in order[:count]))


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
        result: Floats = shares.clamp(SMALLEST, 1 - SMALLEST).numpy()
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
    count = len(words)
    removed = [claimed(row) for row in attention[: len(answer)]]
    asked = list(dict.fromkeys([(), *((word,) for word in range(count)), *removed]))
    found = dict(zip(asked, ablations.without(way, asked), strict=True))

    def answer_of(sets: Sequence[Set]) -> list[Floats]:
        """What the model writes without sets of words, ``(token, ...)`` each; asked once."""
        new = [words for words in dict.fromkeys(sets) if words not in found]
        found.update(zip(new, ablations.without(way, new), strict=True) if new else {})
        return [found[words] for words in sets]

    weights = [float(attention[token, list(one)].sum()) for token, one in enumerate(removed)]
    tests: list[ClaimTest[Claim]] = []
    for token, one in enumerate(removed):
        trial: Trial[Claim] = Trial(
            {MODEL: AblationSite(partial(_of_token, answer_of, token), tuple(range(count)))},
            seed=seed,
            items="words",
        )
        claim = Claim(
            text=f"{answer[token]!r} came from {', '.join(words[index] for index in one)}",
            removed=one,
            window=tuple(range(count)),
            raises=(0,),
            lift=weights[token] / len(one) * count,
        )
        tests += trial.compare([claim])
    return [
        _told(tested, token, way, words, weights[token])
        for token, tested in enumerate(judged(tests, items="words"))
    ]


def _of_token(
    answer_of: Callable[[Sequence[Set]], Sequence[Floats]], token: int, kept: NDArray[np.bool_]
) -> Floats:
    """A token's probability and that of all others under masks ``(mask, word)``, ``(mask, 2)``."""
    rows = answer_of([tuple(np.flatnonzero(~row).tolist()) for row in kept])
    return one_against_rest(np.array([row[token] for row in rows])[:, None], 0)


def _told(
    tested: ClaimTest[Claim], token: int, way: str, words: Sequence[str], weight: float
) -> TokenClaim:
    without = float(tested.probabilities[0])
    points = float(tested.points[0])
    return TokenClaim(
        claim=tested.claim.text,
        words=tuple(words[index] for index in tested.claim.removed),
        token=token,
        removed=tested.claim.removed,
        removed_from=way,
        weight=weight,
        probability=without - points / 100,
        without=without,
        points=points,
        effect_nats=tested.effect,
        controls=len(tested.null_effects),
        p=tested.p,
        q=tested.q,
        verdict=tested.verdict,
        reason=tested.reason,
    )

"""Test whether an output token depends on its most attended words.

A claim names the input words with the most cross-attention. `attnlens.evidence.trial` compares the
effect of hiding these words with the effect of hiding other words. Punctuation marks are words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.evidence.claim import MODEL, AblationSite, Claim, ClaimTest
from attnlens.evidence.scores import SMALLEST
from attnlens.evidence.trial import Trial, judge_tests
from attnlens.evidence.verdict import Verdict, one_against_rest
from attnlens.files import Floats, Json
from attnlens.recording import intervene, record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.recording import Recording
from attnlens.reference import one_thread
from attnlens.reference.text_model import TextInput, TextModel, join_tokens
from attnlens.reference.transformer import BOS, EOS, SPECIAL, UNK, Seq2Seq
from attnlens.render.numbers import rounded_all

WordSet = tuple[int, ...]

_CLAIMED_WEIGHT: Final = 0.5
_MAX_CLAIMED_WORDS: Final = 3
WAYS: Final = ("cross-attention", "model")
"""Two ways to hide words: mask them in cross-attention, or replace them with ``<unk>``."""

_AT_ONCE: Final = 256


def claimed_words(weights: Floats) -> WordSet:
    """Return the indices of the fewest words with half of the attention, but at most three words.

    Args:
        weights: the attention weight of each word, ``(word,)``.
    """
    order = np.argsort(-weights, kind="stable")[:_MAX_CLAIMED_WORDS]
    held = np.cumsum(weights[order])
    count = int(np.searchsorted(held, _CLAIMED_WEIGHT * weights.sum() - 1e-9)) + 1
    return tuple(sorted(int(index) for index in order[:count]))


@dataclass(frozen=True, slots=True, eq=False)
class WordAblations:
    """The probabilities of a model's answer when input words are hidden.

    Attributes:
        source: the token ids of the input, ``(1, word)``.
        answer: the token ids of ``<bos>`` and of the answer, ``(1, token + 1)``.
    """

    network: Seq2Seq
    source: Tensor
    answer: Tensor

    def without(self, way: str, sets: Sequence[WordSet]) -> Floats:
        """Return the probabilities of the answer tokens with each set hidden, ``(set, token)``.

        Args:
            way: one of `WAYS`.
            sets: the sets of words to hide.
        """
        starts = range(0, len(sets), _AT_ONCE)
        return np.concatenate([self._some(way, sets[at : at + _AT_ONCE]) for at in starts])

    @torch.no_grad()
    def _some(self, way: str, sets: Sequence[WordSet]) -> Floats:
        gone = torch.zeros(len(sets), self.source.shape[1], dtype=torch.bool)
        for row, words in zip(gone, sets, strict=True):
            row[list(words)] = True
        source, answer = (tokens.expand(len(sets), -1) for tokens in (self.source, self.answer))
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
    """The claim that an answer token came from certain words, and the effect of hiding the words.

    Attributes:
        claim: the claim as a sentence.
        words, removed: the claimed words and their indices in the input.
        token: the token's index in the answer.
        removed_from: one of `WAYS`.
        weight: the claimed words' share of the token's cross-attention.
        probability, without: the token's probability with all words, and without the claimed words.
        points: ``without`` minus ``probability``, in percentage points.
        effect_nats: the effect of hiding the words, in nats. All other tokens count as one outcome.
        controls: the number of control sets.
        p, q: the p-value, and the q-value over all claims.
        reason: why there is no verdict, or why the verdict is not *supported*.
    """

    claim: str
    words: tuple[str, ...]
    token: int
    removed: WordSet
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


def check_tokens(
    ablations: WordAblations,
    way: str,
    attention: Floats,
    words: Sequence[str],
    answer: Sequence[str],
    *,
    seed: int = 0,
) -> list[TokenClaim]:
    """Test whether each answer token depends on its most attended words.

    Args:
        way: one of `WAYS`.
        attention: the cross-attention weights, ``(token, word)``.
        words: the words of the input.
        answer: the tokens of the answer.
        seed: the random seed; unused if all control sets are enumerated.

    Returns:
        One claim for each answer token, in order.
    """
    count = len(words)
    removed = [claimed_words(row) for row in attention[: len(answer)]]
    word_sets = list(dict.fromkeys([(), *((word,) for word in range(count)), *removed]))
    probabilities = dict(zip(word_sets, ablations.without(way, word_sets), strict=True))

    def answer_of(sets: Sequence[WordSet]) -> list[Floats]:
        new = [words for words in dict.fromkeys(sets) if words not in probabilities]
        probabilities.update(zip(new, ablations.without(way, new), strict=True) if new else {})
        return [probabilities[words] for words in sets]

    weights = [
        float(attention[token, list(claimed)].sum()) for token, claimed in enumerate(removed)
    ]
    tests: list[ClaimTest[Claim]] = []
    for token, claimed in enumerate(removed):
        trial: Trial[Claim] = Trial(
            {MODEL: AblationSite(partial(_of_token, answer_of, token), tuple(range(count)))},
            seed=seed,
            items="words",
        )
        claim = Claim(
            text=f"{answer[token]!r} came from {', '.join(words[index] for index in claimed)}",
            removed=claimed,
            window=tuple(range(count)),
            raises=(0,),
            lift=weights[token] / len(claimed) * count,
        )
        tests += trial.compare([claim])
    return [
        _token_claim(tested, token, way, words, weights[token])
        for token, tested in enumerate(judge_tests(tests, items="words"))
    ]


def _of_token(
    answer_of: Callable[[Sequence[WordSet]], Sequence[Floats]],
    token: int,
    keep_masks: NDArray[np.bool_],
) -> Floats:
    """Return probabilities ``(mask, 2)``: the token, and all other tokens together."""
    rows = answer_of([tuple(np.flatnonzero(~row).tolist()) for row in keep_masks])
    return one_against_rest(np.array([row[token] for row in rows])[:, None], 0)


def _token_claim(
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


_RUNNERS_UP: Final = 3


@dataclass(frozen=True, slots=True)
class AnsweringModel:
    name: str
    sha256: str
    parameters: int
    width: int
    base: float


@dataclass(frozen=True, slots=True)
class CandidateToken:
    token: str
    probability: float


@dataclass(frozen=True, slots=True)
class AnswerToken(CandidateToken):
    """An answer token, its most probable alternatives, and the token's attention to each word."""

    runners_up: tuple[CandidateToken, ...]
    cross_attention: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """The answer of a model; ``complete`` is true if the answer ended with ``<eos>``."""

    text: str
    complete: bool
    tokens: tuple[AnswerToken, ...]


@dataclass(frozen=True, slots=True)
class TextExplanation:
    """The answer to a sentence, and tested claims about the answer.

    Attributes:
        evidence: the claims for ``WAYS[0]``, then for ``WAYS[1]``; empty if nothing was tested.
    """

    model: AnsweringModel
    input: TextInput
    output: TextAnswer
    evidence: tuple[TokenClaim, ...] = ()

    def to_dict(self) -> Json:
        """Return JSON data, with numbers rounded to six decimals."""
        data: Json = rounded_all(asdict(self))
        return data


@one_thread()
def explain_text(
    model: TextModel, text: str, *, evidence: bool = True, seed: int = 0
) -> TextExplanation:
    """Answer a sentence, and test which words led to the answer.

    Args:
        evidence: whether to test claims; see `check_tokens`.
        seed: as in `check_tokens`.

    Raises:
        InputError: the sentence is empty or too long.
    """
    sentence = model.sentence(text)
    answer, shares = _answer(model, sentence)
    attention = mean_cross_attention(_recorded(model, sentence, answer))
    written = [model.target.words[number] for number in answer[0, 1:].tolist()]
    complete = written[-1] == SPECIAL[EOS]
    tokens = written[:-1] if complete else written
    ablations = WordAblations(model.network, model.numbers([sentence.tokens]), answer)
    claims = [
        claim
        for way in (WAYS if evidence and tokens else ())
        for claim in check_tokens(ablations, way, attention, sentence.tokens, tokens, seed=seed)
    ]
    sizes = model.network.sizes
    answer_tokens = [
        _token(model, token, shares[index], attention[index]) for index, token in enumerate(written)
    ]
    return TextExplanation(
        AnsweringModel(model.name, model.sha256, model.parameters, sizes.width, sizes.base),
        sentence,
        TextAnswer(join_tokens(tokens), complete, tuple(answer_tokens)),
        tuple(claims),
    )


def record_answer(model: TextModel, text: str) -> Recording:
    """Record a model's attention weights while the model answers a sentence.

    The labels are words. In cross-attention, the label of a query is the predicted token. In the
    decoder's self-attention, the label of a query is the preceding token, or ``<bos>``.

    Raises:
        InputError: the sentence is empty or too long.
    """
    sentence = model.sentence(text)
    return _recorded(model, sentence, _answer(model, sentence)[0])


def mean_cross_attention(recording: Recording) -> Floats:
    """Return the cross-attention ``(token, word)`` of an answer, averaged over heads and blocks."""
    weights = [
        record.weights[0].mean(0) for record in recording.records() if "cross" in record.site
    ]
    return np.asarray(torch.stack(weights).mean(0).double())


def _answer(model: TextModel, sentence: TextInput) -> tuple[Tensor, Tensor]:
    """Return the answer's ids ``(1, token + 1)`` and probabilities ``(token, id)``."""
    written = model.generate([sentence.tokens])
    answer = torch.cat((torch.full((1, 1), BOS), written.tokens), 1)
    return answer, written.probabilities[0].double()


def _recorded(model: TextModel, sentence: TextInput, answer: Tensor) -> Recording:
    with torch.no_grad(), record(model.network) as recording:
        model.network(model.numbers([sentence.tokens]), answer[:, :-1])
    words = [model.target.words[number] for number in answer[0].tolist()]

    def labelled(attention_record: AttentionRecord) -> AttentionRecord:
        if attention_record.site.startswith("encoder"):
            return attention_record.labelled(query=sentence.tokens, key=sentence.tokens)
        if "cross" in attention_record.site:
            return attention_record.labelled(query=words[1:], key=sentence.tokens)
        return attention_record.labelled(query=words[:-1], key=words[:-1])

    return Recording([labelled(attention) for attention in recording.records()])


def _token(model: TextModel, token: str, shares: Tensor, attention: Floats) -> AnswerToken:
    order = shares.argsort(descending=True).tolist()
    likely = [CandidateToken(model.target.words[number], float(shares[number])) for number in order]
    alternatives = [alternative for alternative in likely if alternative.token != token]
    probability = float(shares[model.target.number(token)])
    return AnswerToken(
        token, probability, tuple(alternatives[:_RUNNERS_UP]), tuple(attention.tolist())
    )

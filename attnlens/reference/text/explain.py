"""An answer of a text model explained: how sure, what it looked at, and whether that holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.files import Json
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.recording import Recording
from attnlens.reference import one_thread
from attnlens.reference.text.checks import WAYS, Ablations, TokenClaim, check
from attnlens.reference.text.tokens import joined
from attnlens.reference.text.trained import Sentence, TextModel
from attnlens.reference.transformer import BOS, EOS, SPECIAL
from attnlens.render.numbers import rounded_all

RUNNERS_UP: Final = 3


@dataclass(frozen=True, slots=True)
class Explained:
    """The model, as far as its answers rest on it."""

    name: str
    sha256: str
    parameters: int
    width: int
    base: float


@dataclass(frozen=True, slots=True)
class Read(Sentence):
    """The input as the model read it, and how many tokens it would read."""

    most_tokens: int


@dataclass(frozen=True, slots=True)
class Likely:
    """A token, and how likely the model held it."""

    token: str
    probability: float


@dataclass(frozen=True, slots=True)
class Token(Likely):
    """A token of the answer, what else was likely, and what it paid each word of the input."""

    runners_up: tuple[Likely, ...]
    cross_attention: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was written; ``complete`` where the model ended it itself."""

    text: str
    complete: bool
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class TextExplanation:
    """An answer, and which words it came from.

    Attributes:
        evidence: the claims by one way of `WAYS` after the other; empty where nothing was tested.
    """

    model: Explained
    input: Read
    output: Answer
    evidence: tuple[TokenClaim, ...] = ()

    def to_dict(self) -> Json:
        """As plain data, numbers to six decimals."""
        data: Json = rounded_all(asdict(self))
        return data


def explain_text(
    model: TextModel, text: str, *, evidence: bool = True, seed: int = 0
) -> TextExplanation:
    """What the model answers to a sentence, and which words that came from.

    Args:
        evidence: whether to test what every token looked at; see `attnlens.reference.text.checks`.
        seed: of control sets, where there are too many to take all.

    Raises:
        InputError: the sentence is empty or too long.
    """
    with one_thread():
        return _explained(model, model.sentence(text), evidence, seed)


def recorded(model: TextModel, text: str) -> Recording:
    """The attention of one answer, all three kinds, with words as labels.

    Of the decoder a query is the place that writes a token, and called after the token that
    stands there, ``<bos>`` first, in self-attention; after the token that it writes in
    cross-attention.

    Raises:
        InputError: the sentence is empty or too long.
    """
    sentence = model.sentence(text)
    return _recorded(model, sentence, _answer(model, sentence)[0])


def mean_cross_attention(recording: Recording) -> Floats:
    """What each place of an answer pays to each word, ``(token, word)``, heads and blocks alike."""
    found = [record.weights[0].mean(0) for record in recording.records() if "cross" in record.site]
    return np.asarray(torch.stack(found).mean(0).double())


def _answer(model: TextModel, sentence: Sentence) -> tuple[Tensor, Tensor]:
    """``<bos>`` and what is written ``(1, token + 1)``, and probabilities ``(token, word)``."""
    written = model.written([sentence.tokens])
    answer = torch.cat((torch.full((1, 1), BOS), written.tokens), 1)
    return answer, written.probabilities[0].double()


def _recorded(model: TextModel, sentence: Sentence, answer: Tensor) -> Recording:
    with torch.no_grad(), record(model.network) as recording:
        model.network(model.numbers([sentence.tokens]), answer[:, :-1])
    words = [model.target.words[number] for number in answer[0].tolist()]

    def named(attention_record: AttentionRecord) -> AttentionRecord:
        if attention_record.site.startswith("encoder"):
            return attention_record.labelled(query=sentence.tokens, key=sentence.tokens)
        if "cross" in attention_record.site:
            return attention_record.labelled(query=words[1:], key=sentence.tokens)
        return attention_record.labelled(query=words[:-1], key=words[:-1])

    return Recording([named(one) for one in recording.records()])


def _explained(model: TextModel, sentence: Sentence, evidence: bool, seed: int) -> TextExplanation:
    answer, shares = _answer(model, sentence)
    attention = mean_cross_attention(_recorded(model, sentence, answer))
    written = [model.target.words[number] for number in answer[0, 1:].tolist()]
    complete = written[-1] == SPECIAL[EOS]
    tokens = written[:-1] if complete else written
    ablations = Ablations(model.network, model.numbers([sentence.tokens]), answer)
    claims = [
        claim
        for way in (WAYS if evidence and tokens else ())
        for claim in check(ablations, way, attention, sentence.tokens, tokens, seed=seed)
    ]
    sizes = model.network.sizes
    told = [
        _token(model, token, shares[index], attention[index]) for index, token in enumerate(written)
    ]
    return TextExplanation(
        Explained(model.name, model.sha256, model.parameters, sizes.width, sizes.base),
        Read(sentence.text, sentence.tokens, sentence.unknown, sizes.source_length),
        Answer(joined(tokens), complete, tuple(told)),
        tuple(claims),
    )


def _token(model: TextModel, token: str, shares: Tensor, attention: Floats) -> Token:
    """One place of the answer, of the probabilities ``(vocabulary,)`` and weights ``(word,)``."""
    order = shares.argsort(descending=True).tolist()
    likely = [Likely(model.target.words[number], float(shares[number])) for number in order]
    others = [one for one in likely if one.token != token]
    probability = float(shares[model.target.number(token)])
    return Token(token, probability, tuple(others[:RUNNERS_UP]), tuple(attention.tolist()))

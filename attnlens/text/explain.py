"""An answer of a text model explained: how sure, what it looked at, and whether that holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.files import Json
from attnlens.models.seq2seq import BOS, EOS, SPECIAL
from attnlens.recorder import record
from attnlens.recording.record import AttentionRecord
from attnlens.recording.recording import Recording
from attnlens.text.checks import WAYS, Ablations, Checked, TokenClaim, check
from attnlens.text.tokens import joined
from attnlens.text.trained import Sentence, TextModel, one_thread

RUNNERS_UP: Final = 3
_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Explained:
    """The model, as far as its answers rest on it."""

    name: str
    sha256: str
    parameters: int
    width: int
    base: float


@dataclass(frozen=True, slots=True)
class Read:
    """The input as the model read it; ``unknown`` are words that its vocabulary has not."""

    text: str
    tokens: tuple[str, ...]
    unknown: tuple[str, ...]
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
class Overall:
    """One way of taking words away, over all claims; see `attnlens.text.checks.Checked`."""

    removed_from: str
    claims: int
    supported: int
    strongest: int
    strongest_by_chance: float
    p: float | None


@dataclass(frozen=True, slots=True)
class MostTelling:
    """The word without which a token of the answer is least likely."""

    token: int
    removed_from: str
    word: str
    position: int
    without: float


@dataclass(frozen=True, slots=True)
class TextExplanation:
    """An answer, and which words it came from.

    Attributes:
        evidence, overall, most_telling: one way of `WAYS` after the other; empty where nothing
            was tested.
    """

    model: Explained
    input: Read
    output: Answer
    evidence: tuple[TokenClaim, ...] = ()
    overall: tuple[Overall, ...] = ()
    most_telling: tuple[MostTelling, ...] = ()

    def to_dict(self) -> Json:
        """As plain data, numbers to six decimals."""
        data: Json = _rounded(asdict(self))
        for one, whole in zip(data["overall"], self.overall, strict=True):
            # Of many tokens it may be far below what six decimals show.
            one["p"] = None if whole.p is None else float(f"{whole.p:.3g}")
        return data


def explain_text(
    model: TextModel, text: str, *, evidence: bool = True, seed: int = 0
) -> TextExplanation:
    """What the model answers to a sentence, and which words that came from.

    Args:
        evidence: whether to test what every token looked at; see `attnlens.text.checks`.
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
    mean: Floats = torch.stack(found).mean(0).double().numpy()
    return mean


def _answer(model: TextModel, sentence: Sentence) -> tuple[Tensor, Tensor]:
    """``<bos>`` and what is written ``(1, token + 1)``, and probabilities ``(token, word)``."""
    written = model.written([sentence.tokens])
    answer = torch.cat((torch.full((1, 1), BOS), written.tokens), 1)
    return answer, written.probabilities[0].double()


def _recorded(model: TextModel, sentence: Sentence, answer: Tensor) -> Recording:
    with torch.no_grad(), record(model.network) as recording:
        model.network(model.numbers([sentence.tokens]), answer[:, :-1])
    words = [model.target.words[number] for number in answer[0].tolist()]

    def named(one: AttentionRecord) -> AttentionRecord:
        if one.site.startswith("encoder"):
            return one.labelled(query=sentence.tokens, key=sentence.tokens)
        if "cross" in one.site:
            return one.labelled(query=words[1:], key=sentence.tokens)
        return one.labelled(query=words[:-1], key=words[:-1])

    return Recording([named(one) for one in recording.records()])


def _explained(model: TextModel, sentence: Sentence, evidence: bool, seed: int) -> TextExplanation:
    answer, shares = _answer(model, sentence)
    attention = mean_cross_attention(_recorded(model, sentence, answer))
    written = [model.target.words[number] for number in answer[0, 1:].tolist()]
    complete = written[-1] == SPECIAL[EOS]
    tokens = written[:-1] if complete else written
    ways: list[tuple[str, Checked]] = []
    if evidence and tokens:
        ablations = Ablations(model.network, model.numbers([sentence.tokens]), answer)
        ways = [
            (way, check(ablations, way, attention, sentence.tokens, tokens, seed=seed))
            for way in WAYS
        ]
    sizes = model.network.sizes
    return TextExplanation(
        Explained(model.name, model.sha256, model.parameters, sizes.width, sizes.base),
        Read(sentence.text, sentence.tokens, sentence.unknown, sizes.source_length),
        Answer(
            joined(tokens),
            complete,
            tuple(
                _token(model, token, shares[place], attention[place])
                for place, token in enumerate(written)
            ),
        ),
        evidence=tuple(claim for _, checked in ways for claim in checked.claims),
        overall=tuple(_overall(way, checked) for way, checked in ways),
        most_telling=tuple(
            _most_telling(way, checked, token, sentence)
            for way, checked in ways
            for token in range(len(tokens))
        ),
    )


def _token(model: TextModel, token: str, shares: Tensor, attention: Floats) -> Token:
    """One place of the answer, of the probabilities ``(vocabulary,)`` and weights ``(word,)``."""
    order = [model.target.words[number] for number in shares.argsort(descending=True).tolist()]

    def probability(word: str) -> float:
        return float(shares[model.target.number(word)])

    others = [word for word in order if word != token][:RUNNERS_UP]
    return Token(
        token,
        probability(token),
        tuple(Likely(word, probability(word)) for word in others),
        tuple(attention.tolist()),
    )


def _overall(way: str, checked: Checked) -> Overall:
    tested = [claim for claim in checked.claims if claim.p is not None]
    return Overall(
        way,
        len(tested),
        sum(claim.verdict == "supported" for claim in tested),
        checked.strongest,
        checked.by_chance,
        checked.p,
    )


def _most_telling(way: str, checked: Checked, token: int, sentence: Sentence) -> MostTelling:
    column = checked.singles[:, token]
    least = int(column.argmin())
    return MostTelling(token, way, sentence.tokens[least], least, float(column[least]))


def _rounded(value: Any) -> Any:
    """Plain data with every number to six decimals."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return round(value, _DECIMALS) if isinstance(value, float) else value

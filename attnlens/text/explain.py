"""An answer of a text model explained: how sure, what it looked at, and whether that holds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.models.seq2seq import BOS, EOS, SPECIAL
from attnlens.recorder import record
from attnlens.records import AttentionRecord, Recording
from attnlens.text.checks import WAYS, Ablations, Checked, check
from attnlens.text.tokens import joined
from attnlens.text.trained import Sentence, TextModel, one_thread

Floats = NDArray[np.float64]

RUNNERS_UP: Final = 3
_DECIMALS: Final = 6


def explain_text(
    model: TextModel, text: str, *, evidence: bool = True, seed: int = 0
) -> dict[str, Any]:
    """What the model answers to a sentence, and which words that came from, as plain data.

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


def _explained(model: TextModel, sentence: Sentence, evidence: bool, seed: int) -> dict[str, Any]:
    answer, shares = _answer(model, sentence)
    recording = _recorded(model, sentence, answer)
    attention = mean_cross_attention(recording)
    written = [model.target.words[number] for number in answer[0, 1:].tolist()]
    complete = written[-1] == SPECIAL[EOS]
    tokens = written[:-1] if complete else written
    told = []
    for place, token in enumerate(written):
        order = shares[place].argsort(descending=True).tolist()
        others = [number for number in order if model.target.words[number] != token]
        told.append(
            {
                "token": token,
                "probability": _rounded(shares[place, model.target.number(token)]),
                "runners_up": [
                    {
                        "token": model.target.words[number],
                        "probability": _rounded(shares[place, number]),
                    }
                    for number in others[:RUNNERS_UP]
                ],
                "cross_attention": [_rounded(weight) for weight in attention[place]],
            }
        )
    data: dict[str, Any] = {
        "model": {
            "name": model.name,
            "sha256": model.sha256,
            "parameters": model.parameters,
            "width": model.network.sizes.width,
            "base": model.network.sizes.base,
        },
        "input": {
            "text": sentence.text,
            "tokens": list(sentence.tokens),
            "unknown": list(sentence.unknown),
            "most_tokens": model.network.sizes.source_length,
        },
        "output": {"text": joined(tokens), "complete": complete, "tokens": told},
        "evidence": [],
        "overall": [],
        "most_telling": [],
    }
    if evidence and tokens:
        ablations = Ablations(model.network, model.numbers([sentence.tokens]), answer)
        for way in WAYS:
            _add(data, way, check(ablations, way, attention, len(tokens), seed=seed), sentence)
    return data


def _add(data: dict[str, Any], way: str, checked: Checked, sentence: Sentence) -> None:
    """One way's claims, its joint test, and the words that did most."""
    tokens = data["output"]["tokens"]
    for claim in checked.claims:
        words = [sentence.tokens[place] for place in claim["removed"]]
        data["evidence"].append(
            {
                "claim": f"{tokens[claim['token']]['token']!r} came from {', '.join(words)}",
                "words": words,
                **{
                    name: _rounded(value) if isinstance(value, float) else value
                    for name, value in claim.items()
                },
            }
        )
        column = checked.singles[:, claim["token"]]
        least = int(column.argmin())
        data["most_telling"].append(
            {
                "token": claim["token"],
                "removed_from": way,
                "word": sentence.tokens[least],
                "position": least,
                "without": _rounded(column[least]),
            }
        )
    tested = [claim for claim in checked.claims if claim["p"] is not None]
    data["overall"].append(
        {
            "removed_from": way,
            "claims": len(tested),
            "supported": sum(claim["verdict"] == "supported" for claim in tested),
            "strongest": checked.strongest,
            "strongest_by_chance": _rounded(checked.by_chance),
            # Of many tokens it may be far below what six decimals show.
            "p": None if checked.p is None else float(f"{checked.p:.3g}"),
        }
    )


def _rounded(value: float | Tensor) -> float:
    return round(float(value), _DECIMALS)

"""What a model's word vectors say: which words lie close, and which way leads from one to another.

Words are compared by cosine. What a cosine is worth depends on the vectors, so beside it stands
how far two words drawn at random lie from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.errors import InputError
from attnlens.models.seq2seq import SPECIAL
from attnlens.text.tokens import Vocabulary, tokenise
from attnlens.text.trained import TextModel

SIDES: Final = ("input", "output")
LISTED: Final = 10


def neighbours(
    model: TextModel, word: str, *, side: str = "input", count: int = LISTED
) -> dict[str, Any]:
    """The words whose vectors point most nearly the same way, as plain data.

    Args:
        side: ``input`` for the vectors of the words read, ``output`` for those written.
        count: how many to list.

    Raises:
        InputError: the word is not in the vocabulary, or is several.
    """
    words, vectors = _vectors(model, side)
    (place,) = _places(words, [word], model, side)
    cosines = vectors @ vectors[place]
    return {
        "word": words.words[place],
        "side": side,
        "vocabulary": len(words) - len(SPECIAL),
        "neighbours": _closest(words, cosines, {place}, count),
        "random_pair": random_pair(vectors),
    }


def analogy(
    model: TextModel,
    first: str,
    second: str,
    third: str,
    *,
    side: str = "input",
    count: int = LISTED,
) -> dict[str, Any]:
    """The words that lie where ``first - second + third`` points, as plain data.

    The three words themselves are left out, as is the custom; ``nearest_of_all`` says which word
    would be first with them, since it is often one of them.

    Raises:
        InputError: as `neighbours`.
    """
    words, vectors = _vectors(model, side)
    places = _places(words, [first, second, third], model, side)
    sought = vectors[places[0]] - vectors[places[1]] + vectors[places[2]]
    norm = sought.norm()
    if float(norm) == 0:
        raise InputError("the three words cancel each other", remedy="give other words")
    cosines = vectors @ (sought / norm)
    return {
        "words": [words.words[place] for place in places],
        "side": side,
        "vocabulary": len(words) - len(SPECIAL),
        "neighbours": _closest(words, cosines, set(places), count),
        "nearest_of_all": _closest(words, cosines, set(), 1)[0],
        "random_pair": random_pair(vectors),
    }


def random_pair(vectors: Tensor) -> dict[str, float]:
    """The cosines of all pairs of different words: mean, and the ends of the middle 90%.

    Args:
        vectors: ``(word, d)``, of length 1, the special tokens first.
    """
    known = vectors[len(SPECIAL) :]
    pairs = torch.triu_indices(len(known), len(known), 1)
    cosines = (known @ known.T)[pairs[0], pairs[1]].numpy()
    low, high = np.quantile(cosines, [0.05, 0.95])
    return {
        "mean": round(float(cosines.mean()), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
    }


def _vectors(model: TextModel, side: str) -> tuple[Vocabulary, Tensor]:
    """The vocabulary, and its vectors ``(word, d)``, each of length 1."""
    source = side == SIDES[0]
    words = model.source if source else model.target
    vectors = (model.network.E_source if source else model.network.E_target).detach().double()
    if len(words) < len(SPECIAL) + 2:
        raise InputError(f"{model.name} knows one {side} word", remedy="train on more sentences")
    return words, vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)


def _places(words: Vocabulary, asked: Sequence[str], model: TextModel, side: str) -> list[int]:
    places = []
    for one in asked:
        tokens = tokenise(one)
        if len(tokens) != 1:
            raise InputError(f"{one!r} is {len(tokens)} words", remedy="give one word")
        if tokens[0] not in words:
            close = get_close_matches(tokens[0], words.words[len(SPECIAL) :], n=3)
            raise InputError(
                f"{one!r} is not among the {side} words of {model.name}",
                remedy=f"close to it: {', '.join(close)}" if close else "give another word",
            )
        places.append(words.number(tokens[0]))
    return places


def _closest(
    words: Vocabulary, cosines: Tensor, without: set[int], count: int
) -> list[dict[str, Any]]:
    order = cosines.argsort(descending=True, stable=True).tolist()
    kept = [place for place in order if place not in without and place >= len(SPECIAL)]
    return [
        {"word": words.words[place], "cosine": round(float(cosines[place]), 4)}
        for place in kept[:count]
    ]

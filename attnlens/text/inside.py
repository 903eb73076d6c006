"""The encoder-decoder of text as a reference model: a sentence, and the answer it gives to it."""

from __future__ import annotations

from pathlib import Path

import torch

from attnlens.models.catalogue import Loaded, Reading
from attnlens.models.seq2seq import BOS
from attnlens.text.trained import KIND, TextModel


def loaded(path: Path | None = None) -> Loaded:
    """The model that comes with attnlens, or a checkpoint's."""
    model = TextModel.load(KIND if path is None else path)
    return Loaded(model.network, model)


def read_sentence(model: Loaded, text: str | None) -> Reading:
    """A sentence, and what the model has written once its answer is complete.

    Raises:
        InputError: it is empty, or longer than the model reads.
    """
    words = model.beside
    assert isinstance(words, TextModel)
    sentence = words.sentence("four" if text is None else text)
    numbers = words.numbers([sentence.tokens])
    answer = words.network.written(numbers).tokens
    target = torch.cat((torch.full((1, 1), BOS), answer), 1)[:, :-1]
    written = tuple(words.target.words[number] for number in target[0].tolist())
    unknown = f"; read as <unk>: {', '.join(sentence.unknown)}" if sentence.unknown else ""
    return Reading(
        inputs=(numbers, target),
        names=("x", "y"),
        axes={
            "x": ("batch", "word"),
            "y": ("batch", "written"),
            "E_source": ("vocabulary", None),
            "E_target": ("target vocabulary", None),
            "W_out": (None, "target vocabulary"),
            "b_out": ("target vocabulary",),
        },
        labels={
            "word": sentence.tokens,
            "written": written,
            "vocabulary": words.source.words,
            "target vocabulary": words.target.words,
        },
        about=f"{' '.join(sentence.text.split())}{unknown}",
    )

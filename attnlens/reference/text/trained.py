"""A trained encoder-decoder with its vocabularies: from a file, to a file, and asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from attnlens.errors import CheckpointError, InputError
from attnlens.files import Json
from attnlens.reference.catalogue import Loaded, Reading
from attnlens.reference.checkpoint import read_checkpoint, shipped, write_checkpoint
from attnlens.reference.text.tokens import Vocabulary, padded, tokenise
from attnlens.reference.transformer import BOS, Seq2Seq, Seq2SeqSizes, Written

KIND: Final = "seq2seq"
"""What the checkpoint says it is, and the name of the one that comes with attnlens."""

_LARGEST_SIZE: Final = 1_000_000
_REMEDY: Final = f"give a file that `attnlens text train` wrote, or the name {KIND}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """An input.

    Attributes:
        text: as given.
        tokens: its words and signs.
        unknown: those of them that the vocabulary has not, in order, each once.
    """

    text: str
    tokens: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TextModel:
    """A `Seq2Seq` that reads and writes words.

    Attributes:
        source, target: the vocabularies.
        about: what the checkpoint says of itself: data, rule of what was held out, recipe, figures.
        sha256: of the checkpoint's bytes; empty for a model that was never saved.
    """

    network: Seq2Seq
    source: Vocabulary
    target: Vocabulary
    about: Json
    name: str = KIND
    sha256: str = ""

    @classmethod
    def load(cls, model: str | os.PathLike[str] = KIND) -> TextModel:
        """A checkpoint.

        Args:
            model: ``seq2seq`` for the one that comes with attnlens, or a file.

        Raises:
            CheckpointError: there is none, or it is no checkpoint of a text model.
        """
        path = shipped(KIND) if str(model) == KIND else Path(model)
        try:
            found = read_checkpoint(path, KIND)
        except CheckpointError as error:
            raise CheckpointError(error.problem, path=error.path, remedy=_REMEDY) from None
        try:
            sizes = Seq2SeqSizes(**found.about["sizes"])
            if any(isinstance(n, int) and n > _LARGEST_SIZE for n in asdict(sizes).values()):
                raise ValueError("sizes beyond reason")
            source = Vocabulary(tuple(found.about["source_words"]))
            target = Vocabulary(tuple(found.about["target_words"]))
            if (len(source), len(target)) != (sizes.source_words, sizes.target_words):
                raise ValueError("vocabularies of another size")
            with torch.random.fork_rng(devices=()):
                network = Seq2Seq(sizes)
            network.load_state_dict(found.tensors)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            told = str(error).splitlines()[0]
            raise CheckpointError(f"is damaged ({told})", path=path, remedy=_REMEDY) from None
        return cls(network.eval(), source, target, found.about, path.stem, found.sha256)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, vocabularies and `about` to one file.

        Raises:
            InputError: it cannot be written.
        """
        about = {
            **self.about,
            "kind": KIND,
            "sizes": asdict(self.network.sizes),
            "source_words": list(self.source.words),
            "target_words": list(self.target.words),
        }
        write_checkpoint(path, self.network.state_dict(), about)

    def sentence(self, text: str) -> Sentence:
        """A text as this model reads it.

        Raises:
            InputError: it is empty, or longer than the model reads.
        """
        tokens = tuple(tokenise(text))
        most = self.network.sizes.source_length
        if not tokens:
            raise InputError("the sentence is empty", remedy="give at least one word")
        if len(tokens) > most:
            raise InputError(
                f"the sentence has {len(tokens)} tokens, and {self.name} reads at most {most}",
                remedy="shorten it",
            )
        unknown = tuple(dict.fromkeys(word for word in tokens if word not in self.source))
        return Sentence(text, tokens, unknown)

    def numbers(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Inputs of tokens as ``(batch, longest)``, padded."""
        return padded(map(self.source.numbers, sentences))

    def written(self, sentences: Sequence[Sequence[str]]) -> Written:
        """What the model answers to inputs of tokens."""
        return self.network.written(self.numbers(sentences))

    def answers(self, sentences: Sequence[Sequence[str]], at_once: int = 256) -> list[list[str]]:
        """The answers to inputs of tokens, as tokens."""
        answers: list[list[str]] = []
        for start in range(0, len(sentences), at_once):
            tokens = self.written(sentences[start : start + at_once]).tokens
            answers += [self.target.read(row) for row in tokens.tolist()]
        return answers

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(parameter.numel() for parameter in self.network.parameters())


def loaded(path: Path | None = None) -> Loaded:
    """`TextModel.load` for the catalogue."""
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

"""The text model ``seq2seq``: sentence pairs and vocabularies, training, saving and answering."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from attnlens.errors import CheckpointError, InputError, count
from attnlens.evidence.scores import wilson
from attnlens.files import Json, read_whole
from attnlens.reference import one_thread
from attnlens.reference.catalogue import LoadedModel, ModelInput
from attnlens.reference.checkpoint import read_checkpoint, shipped, write_checkpoint
from attnlens.reference.transformer import (
    BOS,
    EOS,
    PAD,
    SPECIAL,
    UNK,
    GeneratedAnswer,
    Seq2Seq,
    Seq2SeqSizes,
)

_TOKEN: Final = re.compile(
    r"\d+(?:[.,]\d+)*(?!\w)"  # 7, 7.4, 1,000
    r"|\w+(?:['\-]\w+)*"  # words with apostrophes and hyphens: O'Tarrigan's, mid-off
    r"|\S"
)
_ONE_SIGN: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-"})
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Cn"})
_CLOSE_UP: Final = re.compile(r" ([,.;:!?)])")


def tokenise(text: str) -> list[str]:
    """Convert a text to lower case, and split the text into words, numbers and single characters.

    Hyphens and apostrophes stay inside words, and variants of these characters are unified. The
    text is normalised (NFC). Invisible characters are removed. No text can produce a special token:
    ``<pad>`` becomes three tokens.
    """
    visible = "".join(
        character
        for character in text
        if character.isspace() or unicodedata.category(character) not in _UNSEEN
    )
    plain = unicodedata.normalize("NFC", visible).translate(_ONE_SIGN).lower()
    return _TOKEN.findall(plain)


def join_tokens(tokens: Iterable[str]) -> str:
    """Join tokens into a line of text, without a space before a punctuation mark."""
    return _CLOSE_UP.sub(r"\1", " ".join(tokens))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens that a model knows. The number of a token is the token's index in ``words``.

    Raises:
        ValueError: ``words`` does not begin with `SPECIAL`, or it contains a token twice.
    """

    words: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {word: number for number, word in enumerate(self.words)}
        if self.words[: len(SPECIAL)] != SPECIAL or len(numbers) != len(self.words):
            raise ValueError(
                f"a vocabulary must begin with {' '.join(SPECIAL)} and must not repeat a word"
            )
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], min_count: int = 1) -> Vocabulary:
        """Return a vocabulary of the tokens that occur at least ``min_count`` times.

        After `SPECIAL`, the tokens are ordered by decreasing frequency.
        """
        counts = Counter(token for tokens in sentences for token in tokens)
        words = [word for word in counts if counts[word] >= min_count]
        return cls((*SPECIAL, *sorted(words, key=lambda word: (-counts[word], word))))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def number(self, word: str) -> int:
        """Return the number of a word, or `UNK` if the word is unknown."""
        return self._numbers.get(word, UNK)

    def numbers(self, tokens: Sequence[str]) -> Tensor:
        """Return the token numbers, ``(word,)``."""
        return torch.tensor([self.number(token) for token in tokens])

    def target(self, tokens: Sequence[str]) -> Tensor:
        """Return the token numbers, preceded by ``<bos>`` and followed by ``<eos>``."""
        return torch.tensor([BOS, *map(self.number, tokens), EOS])

    def read(self, numbers: Iterable[int]) -> list[str]:
        """Return the tokens before the first ``<eos>`` or ``<pad>``."""
        before_end = takewhile(lambda number: number not in (EOS, PAD), numbers)
        return [self.words[number] for number in before_end]


def pad_batch(rows: Iterable[Tensor]) -> Tensor:
    return pad_sequence(list(rows), batch_first=True, padding_value=PAD)


_MAX_FILE_BYTES: Final = 256 * 2**20
_MAX_SENTENCE_TOKENS: Final = 256
"""The memory for attention grows with the square of this number."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """The tokens of two sentences, and the line number in the file."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Sentence pairs from a file, the names of two columns, and the SHA-256 of the file."""

    pairs: tuple[SentencePair, ...]
    columns: tuple[str, str]
    sha256: str
    path: str


def read_pairs(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    separator: str = ",",
) -> SentencePairs:
    """Read pairs of sentences from a CSV file in UTF-8, with or without a byte order mark.

    The first row contains the column names. Empty rows are skipped.

    Args:
        columns: the names of two columns; by default the first two columns.
        separator: the character between two columns.

    Raises:
        InputError: the file, a row or a sentence is invalid.
    """
    content = read_whole(path, _MAX_FILE_BYTES, remedy="give a CSV file of sentence pairs")
    pairs: list[SentencePair] = []
    try:
        rows = _rows(content, separator)
        line, header = next(rows, (1, []))
        if not header:
            raise InputError("is empty", remedy="give a CSV file of sentence pairs")
        names = [name.strip() for name in header]
        chosen = _chosen(names, columns, line)
        for line, row in rows:
            if len(row) != len(names):
                raise InputError(
                    f"has {count(len(row), 'column')} instead of {len(names)}",
                    line=line,
                    remedy="put quotes around a sentence that contains the separator",
                )
            source, target = (_sentence(row[names.index(name)], name, line) for name in chosen)
            pairs.append(SentencePair(source, target, line))
        if not pairs:
            raise InputError("has no row below its header", remedy="add sentence pairs")
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line, remedy=error.remedy) from None
    return SentencePairs(tuple(pairs), chosen, hashlib.sha256(content).hexdigest(), str(path))


def _sentence(text: str, name: str, line: int) -> tuple[str, ...]:
    tokens = tuple(tokenise(text))
    if not tokens:
        raise InputError(f"the {name!r} is empty", line=line, remedy="fill in or remove the row")
    if len(tokens) > _MAX_SENTENCE_TOKENS:
        raise InputError(
            f"the {name!r} has {len(tokens)} tokens, more than {_MAX_SENTENCE_TOKENS}",
            line=line,
            remedy="shorten or remove the row",
        )
    return tokens


def _chosen(names: Sequence[str], columns: Sequence[str] | None, line: int) -> tuple[str, str]:
    if len(names) < 2:
        raise InputError(
            "has only one column, but a pair needs two",
            line=line,
            remedy="give an input column and an output column; if the separator is not a comma, "
            "give --separator",
        )
    source, target = names[:2] if columns is None else columns
    for name in (source, target):
        if names.count(name) != 1:
            problem = f"has no column {name!r}" if name not in names else f"has {name!r} twice"
            raise InputError(problem, line=line, remedy=f"the columns are {', '.join(names)}")
    return source, target


def _rows(content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number where a row begins, and the row; empty rows are skipped."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", line=line, remedy="save it as UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begins = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"is not CSV ({error})", line=begins, remedy="correct its quotes"
        ) from None


@dataclass(frozen=True, slots=True)
class HeldOutRule:
    """The rule that decides which pairs are held out from training.

    A hash of the input selects the pairs, so the choice is the same in every file. In addition,
    pairs with certain *combinations* of tokens are held out. The combination of a pair is the
    answer without the first ``leading`` tokens.

    Attributes:
        share: the share of held-out inputs, from 0 to 1.
        leading: the number of tokens to skip at the start of an answer, such as names.
        combinations: the held-out combinations, as tokens separated by spaces.
    """

    share: float = 0.1
    leading: int = 0
    combinations: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, pairs: Sequence[SentencePair], share: float = 0.1, leading: int = 0, new: float = 0.05
    ) -> HeldOutRule:
        """Return a rule that holds out at most about the fraction ``new`` of all combinations.

        Each token of a held-out combination occurs in at least two that are not held out.
        """
        combinations = {pair.target[leading:] for pair in pairs}
        chosen = {tokens for tokens in combinations if _point("combination", tokens) < new}
        counts = Counter(token for tokens in combinations - chosen for token in set(tokens))
        recombined = (tokens for tokens in chosen if all(counts[token] > 1 for token in tokens))
        return cls(share, leading, frozenset(" ".join(tokens) for tokens in recombined if tokens))

    def split(
        self, pairs: Sequence[SentencePair]
    ) -> tuple[list[SentencePair], list[SentencePair], list[SentencePair]]:
        """Split pairs into training pairs, held-out pairs, and pairs with held-out combinations."""
        train: list[SentencePair] = []
        held_out: list[SentencePair] = []
        new: list[SentencePair] = []
        for pair in pairs:
            if " ".join(pair.target[self.leading :]) in self.combinations:
                new.append(pair)
            else:
                (held_out if _point("input", pair.source) < self.share else train).append(pair)
        return train, held_out, new


def _point(purpose: str, tokens: Sequence[str]) -> float:
    digest = hashlib.sha256(" ".join((purpose, *tokens)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


_KIND: Final = "seq2seq"
"""The ``kind`` in checkpoints, and the name of the included checkpoint."""

_MAX_SIZE: Final = 1_000_000
_REMEDY: Final = f"give a file that `attnlens lab text-train` wrote, or the name {_KIND}"


@dataclass(frozen=True, slots=True)
class TextInput:
    """An input sentence and its tokens.

    Attributes:
        text: the unchanged text.
        unknown: the distinct tokens outside the vocabulary, in order of occurrence.
        most_tokens: the maximum number of input tokens.
    """

    text: str
    tokens: tuple[str, ...]
    unknown: tuple[str, ...]
    most_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class TextModel:
    """A `Seq2Seq` network with its vocabularies.

    Attributes:
        source, target: the vocabularies of the input and of the answer.
        metadata: JSON data about the training, such as the accuracy.
        sha256: the SHA-256 of the checkpoint file; empty without a file.
    """

    network: Seq2Seq
    source: Vocabulary
    target: Vocabulary
    metadata: Json
    name: str = _KIND
    sha256: str = ""

    @classmethod
    def load(cls, model: str | os.PathLike[str] = _KIND) -> TextModel:
        """Load a checkpoint file, or the included checkpoint if ``model`` is ``"seq2seq"``.

        Raises:
            CheckpointError: the file cannot be read, is damaged, or is not a text model.
        """
        path = shipped(_KIND) if str(model) == _KIND else Path(model)
        try:
            checkpoint = read_checkpoint(path, _KIND)
        except CheckpointError as error:
            raise CheckpointError(error.problem, path=error.path, remedy=_REMEDY) from None
        try:
            sizes = Seq2SeqSizes(**checkpoint.metadata["sizes"])
            if any(isinstance(n, int) and n > _MAX_SIZE for n in asdict(sizes).values()):
                raise ValueError("its sizes are too large")
            source = Vocabulary(tuple(checkpoint.metadata["source_words"]))
            target = Vocabulary(tuple(checkpoint.metadata["target_words"]))
            if (len(source), len(target)) != (sizes.source_words, sizes.target_words):
                raise ValueError("the sizes of its vocabularies do not match its network")
            with torch.random.fork_rng(devices=()):
                network = Seq2Seq(sizes)
            network.load_state_dict(checkpoint.tensors)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            message = str(error).splitlines()[0]
            raise CheckpointError(f"is damaged ({message})", path=path, remedy=_REMEDY) from None
        return cls(
            network.eval(), source, target, checkpoint.metadata, path.stem, checkpoint.sha256
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file.

        Raises:
            InputError: the file cannot be written.
        """
        metadata = {
            **self.metadata,
            "kind": _KIND,
            "sizes": asdict(self.network.sizes),
            "source_words": list(self.source.words),
            "target_words": list(self.target.words),
        }
        write_checkpoint(path, self.network.state_dict(), metadata)

    def sentence(self, text: str) -> TextInput:
        """Split a text into the tokens that this model reads.

        Raises:
            InputError: the text is empty, or it has more tokens than the model reads.
        """
        tokens = tuple(tokenise(text))
        max_tokens = self.network.sizes.source_length
        if not tokens:
            raise InputError("the sentence is empty", remedy="give at least one word")
        if len(tokens) > max_tokens:
            raise InputError(
                f"the sentence has {len(tokens)} tokens, but {self.name} reads at most "
                f"{max_tokens}",
                remedy="shorten the sentence",
            )
        unknown = tuple(dict.fromkeys(word for word in tokens if word not in self.source))
        return TextInput(text, tokens, unknown, max_tokens)

    def numbers(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Return the token numbers of sentences, padded to ``(batch, longest)``."""
        return pad_batch(map(self.source.numbers, sentences))

    def generate(self, sentences: Sequence[Sequence[str]]) -> GeneratedAnswer:
        return self.network.generate(self.numbers(sentences))

    def answers(self, sentences: Sequence[Sequence[str]], at_once: int = 256) -> list[list[str]]:
        answers: list[list[str]] = []
        for start in range(0, len(sentences), at_once):
            tokens = self.generate(sentences[start : start + at_once]).tokens
            answers += [self.target.read(row) for row in tokens.tolist()]
        return answers

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())


def load_text(path: Path | None = None) -> LoadedModel:
    model = TextModel.load(_KIND if path is None else path)
    return LoadedModel(model.network, model)


def read_sentence(model: LoadedModel, text: str | None) -> ModelInput:
    """Return the token numbers of a sentence and of the model's answer.

    Raises:
        InputError: the text is empty, or it has more tokens than the model reads.
    """
    words = model.context
    assert isinstance(words, TextModel)
    sentence = words.sentence("four" if text is None else text)
    numbers = words.numbers([sentence.tokens])
    answer = words.network.generate(numbers).tokens
    target = torch.cat((torch.full((1, 1), BOS), answer), 1)[:, :-1]
    written = tuple(words.target.words[number] for number in target[0].tolist())
    unknown = f"; read as <unk>: {', '.join(sentence.unknown)}" if sentence.unknown else ""
    return ModelInput(
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
        caption=f"{' '.join(sentence.text.split())}{unknown}",
    )


_MIN_TRAINING_PAIRS: Final = 10


@dataclass(frozen=True, slots=True)
class TextRecipe:
    """The hyperparameters of training.

    Attributes:
        epochs: the number of passes over the training pairs.
        batch: the number of pairs per step.
        learning_rate: the highest learning rate.
        warm_up: the fraction of the steps in which the learning rate increases. Afterwards, the
            learning rate decreases to zero along a cosine.
        word_dropout: the share of input words replaced with ``<unk>`` in half of the pairs.
        least_count: rarer input words are unknown to the model.
        seed: the random seed.
    """

    epochs: int = 30
    batch: int = 64
    learning_rate: float = 3e-3
    warm_up: float = 0.1
    word_dropout: float = 0.15
    least_count: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TextSizes:
    """The model sizes that can be chosen. All other sizes follow from the training data."""

    width: int = 64
    heads: int = 4
    d_ff: int = 128
    encoder_layers: int = 1
    decoder_layers: int = 1
    dropout: float = 0.1


@dataclass(frozen=True, slots=True)
class AnswerAccuracy:
    """The accuracy of a model's answers; the shares are ``None`` if there are no pairs.

    Attributes:
        pairs: the number of evaluated pairs.
        exact, exact_ci: the share of answers without any error, and Wilson's 95% interval.
        tokens: the share of correct tokens.
    """

    pairs: int
    exact: float | None = None
    exact_ci: tuple[float, float] | None = None
    tokens: float | None = None

    def summary(self, pairs_name: str) -> str:
        """Return the accuracy as one line; ``pairs_name`` says which pairs were evaluated."""
        if self.exact is None or self.exact_ci is None:
            return f"{pairs_name}: none"
        low, high = self.exact_ci
        share = f"{self.exact:.1%} of answers correct [{low:.1%}, {high:.1%}]"
        return f"{self.pairs:,} {pairs_name}: {share}, {self.tokens:.1%} of tokens correct"


def answer_accuracy(model: TextModel, pairs: Sequence[SentencePair]) -> AnswerAccuracy:
    """Measure the accuracy of a model's answers on ``pairs``.

    A token is correct if it equals the expected token at the same position. All positions of the
    longer answer are counted. Expected words outside the vocabulary are never correct.
    """
    if not pairs:
        return AnswerAccuracy(0)
    answers = model.answers([pair.source for pair in pairs])
    exact = hits = places = 0
    for pair, answer in zip(pairs, answers, strict=True):
        exact += tuple(answer) == pair.target
        hits += sum(token == expected for token, expected in zip(answer, pair.target, strict=False))
        places += max(len(answer), len(pair.target))
    low, high = wilson(exact, len(pairs))
    interval = round(low, 6), round(high, 6)
    return AnswerAccuracy(
        len(pairs), round(exact / len(pairs), 6), interval, round(hits / places, 6)
    )


def train_text(
    data: SentencePairs,
    *,
    recipe: TextRecipe | None = None,
    sizes: TextSizes | None = None,
    rule: HeldOutRule | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> TextModel:
    """Train a model on the training pairs of ``rule``, and measure its accuracy on the other pairs.

    On one machine with one version of torch, the same pairs and seed give the same weights.

    Args:
        report: a function that is called with each line of progress.

    Raises:
        InputError: there are too few pairs, the sizes do not fit together, or training diverges.
    """
    recipe, sizes, rule = (
        recipe or TextRecipe(),
        sizes or TextSizes(),
        rule or HeldOutRule.of(data.pairs),
    )
    train, held_out, new = rule.split(data.pairs)
    if len(train) < _MIN_TRAINING_PAIRS:
        raise InputError(
            f"leaves only {count(len(train), 'pair')} for training, but at least "
            f"{_MIN_TRAINING_PAIRS} are needed",
            path=data.path,
            remedy="give more pairs",
        )
    source = Vocabulary.of((pair.source for pair in train), recipe.least_count)
    target = Vocabulary.of(pair.target for pair in train)
    lengths = {
        "source_length": max(len(pair.source) for pair in data.pairs),
        "target_length": max(len(pair.target) for pair in data.pairs) + 1,  # plus <eos>
    }
    with one_thread(), torch.random.fork_rng(devices=()):
        torch.manual_seed(recipe.seed)
        try:
            network = Seq2Seq(Seq2SeqSizes(len(source), len(target), **asdict(sizes), **lengths))
        except ValueError as error:
            problem = str(error).partition(";")[0]
            raise InputError(problem, remedy="give other values of --width and --heads") from None
        inputs = pad_batch(source.numbers(pair.source) for pair in train)
        outputs = pad_batch(target.target(pair.target) for pair in train)
        _fit(network, inputs, outputs, recipe, report)
        model = TextModel(network.eval(), source, target, {})
        accuracies = {
            "held_out": answer_accuracy(model, held_out),
            "new_combinations": answer_accuracy(model, new),
        }
    report(accuracies["held_out"].summary("held-out pairs"))
    new_pairs = "held-out pairs with combinations never seen in training"
    report(accuracies["new_combinations"].summary(new_pairs))
    metadata = {
        "rule": {**asdict(rule), "combinations": sorted(rule.combinations)},
        "data": {
            "columns": list(data.columns),
            "sha256": data.sha256,
            "pairs": len(data.pairs),
            "trained_on": len(train),
        },
        "recipe": asdict(recipe),
        "figures": {name: asdict(accuracy) for name, accuracy in accuracies.items()},
    }
    return replace(model, metadata=metadata)


def _fit(
    network: Seq2Seq,
    inputs: Tensor,
    outputs: Tensor,
    recipe: TextRecipe,
    report: Callable[[str], None],
) -> None:
    optimiser = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.98))
    per_epoch = math.ceil(len(inputs) / recipe.batch)
    steps = per_epoch * recipe.epochs
    warm = max(1, round(recipe.warm_up * steps))
    network.train()
    step = 0
    for epoch in range(1, recipe.epochs + 1):
        total = torch.zeros(())
        for places in torch.split(torch.randperm(len(inputs)), recipe.batch):
            rate = min((step + 1) / warm, 0.5 * (1 + math.cos(math.pi * step / steps)))
            for group in optimiser.param_groups:
                group["lr"] = recipe.learning_rate * rate
            source, target = _trimmed(inputs[places]), _trimmed(outputs[places])
            logits = network(_thinned(source, recipe.word_dropout), target[:, :-1])
            loss = functional.cross_entropy(
                logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
            )
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            total += loss.detach()
            step += 1
        if not all(bool(tensor.isfinite().all()) for tensor in (total, *network.parameters())):
            raise InputError(
                f"the training diverged in epoch {epoch}: a loss or weight is NaN or infinite",
                remedy="give a smaller --learning-rate",
            )
        report(f"epoch {epoch} of {recipe.epochs}: loss {total.item() / per_epoch:.4f} nats")


def _trimmed(tokens: Tensor) -> Tensor:
    return tokens[:, : int((tokens != PAD).sum(1).max())]


def _thinned(source: Tensor, share: float) -> Tensor:
    lost = torch.rand(source.shape) < share
    lost &= torch.rand(len(source), 1) < 0.5
    return source.masked_fill(lost & (source >= len(SPECIAL)), UNK)

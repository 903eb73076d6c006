"""Training an encoder-decoder on pairs of sentences, the same each time on one machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from attnlens.errors import InputError
from attnlens.evidence.scores import wilson
from attnlens.reference import one_thread
from attnlens.reference.text.pairs import Pair, Pairs, Rule
from attnlens.reference.text.tokens import Vocabulary, padded
from attnlens.reference.text.trained import TextModel
from attnlens.reference.transformer import PAD, SPECIAL, UNK, Seq2Seq, Seq2SeqSizes

FEWEST: Final = 10
"""Pairs to train on, at the least."""


@dataclass(frozen=True, slots=True)
class TextRecipe:
    """How a model is trained.

    Attributes:
        epochs: passes over the pairs.
        batch: pairs per step.
        learning_rate: at its highest, after ``warm_up`` of all steps; then it falls along a
            cosine to nothing.
        word_dropout: share of the input words that are read as ``<unk>``, in half of the
            pairs. So the model knows what to do with words that it does not know, and a word
            taken away to see what it did is nothing strange to it.
        least_count: words of the training pairs that occur less often are unknown.
        seed: of everything random.
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
    """Sizes that are chosen; the rest follows from the pairs."""

    width: int = 64
    heads: int = 4
    d_ff: int = 128
    encoder_layers: int = 1
    decoder_layers: int = 1
    dropout: float = 0.1


@dataclass(frozen=True, slots=True)
class Figures:
    """Whole answers right and tokens right; ``None`` where there is no pair.

    Attributes:
        exact, exact_ci: the share of whole answers right, and Wilson's 95% interval.
        tokens: the share of tokens right.
    """

    pairs: int
    exact: float | None = None
    exact_ci: tuple[float, float] | None = None
    tokens: float | None = None

    def told(self, of: str) -> str:
        """A line; ``of`` says which pairs these are."""
        if self.exact is None or self.exact_ci is None:
            return f"{of}: none"
        low, high = self.exact_ci
        share = f"{self.exact:.1%} of the answers right [{low:.1%}, {high:.1%}]"
        return f"{self.pairs:,} {of}: {share}, {self.tokens:.1%} of the tokens"


def figures(model: TextModel, pairs: Sequence[Pair]) -> Figures:
    """Whole answers right and tokens right among ``pairs``.

    A token is right where the answer written has it at the same place; the places are those of
    the longer of the two answers. An expected word that the vocabulary has not is never right.
    """
    if not pairs:
        return Figures(0)
    answers = model.answers([pair.source for pair in pairs])
    exact = hits = places = 0
    for pair, answer in zip(pairs, answers, strict=True):
        exact += tuple(answer) == pair.target
        hits += sum(one == other for one, other in zip(answer, pair.target, strict=False))
        places += max(len(answer), len(pair.target))
    low, high = wilson(exact, len(pairs))
    interval = round(low, 6), round(high, 6)
    return Figures(len(pairs), round(exact / len(pairs), 6), interval, round(hits / places, 6))


def train_text(
    data: Pairs,
    *,
    recipe: TextRecipe | None = None,
    sizes: TextSizes | None = None,
    rule: Rule | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> TextModel:
    """A model of the pairs that `Rule` gives to training, with its figures on those held out.

    Training takes one thread, whatever torch is set to: so the same pairs and the same seed give
    the same weights to the last bit (on one machine and one version of torch).

    Raises:
        InputError: too few pairs, or sizes that do not fit each other.
    """
    recipe, sizes, rule = recipe or TextRecipe(), sizes or TextSizes(), rule or Rule.of(data.pairs)
    train, held_out, new = rule.split(data.pairs)
    if len(train) < FEWEST:
        raise InputError(
            f"leaves {len(train)} pairs to train on, fewer than {FEWEST}",
            path=data.path,
            remedy="give more pairs",
        )
    source = Vocabulary.of((pair.source for pair in train), recipe.least_count)
    target = Vocabulary.of(pair.target for pair in train)
    lengths = {
        "source_length": max(len(pair.source) for pair in data.pairs),
        "target_length": max(len(pair.target) for pair in data.pairs) + 1,  # and <eos>
    }
    with one_thread(), torch.random.fork_rng(devices=()):
        torch.manual_seed(recipe.seed)
        try:
            network = Seq2Seq(Seq2SeqSizes(len(source), len(target), **asdict(sizes), **lengths))
        except ValueError as error:
            problem = str(error).partition(";")[0]
            raise InputError(problem, remedy="give other --width and --heads") from None
        inputs = padded(source.numbers(pair.source) for pair in train)
        outputs = padded(target.target(pair.target) for pair in train)
        _fit(network, inputs, outputs, recipe, report)
        model = TextModel(network.eval(), source, target, {})
        told = {"held_out": figures(model, held_out), "new_combinations": figures(model, new)}
    report(told["held_out"].told("held-out pairs"))
    new_pairs = "held-out pairs of combinations never trained on"
    report(told["new_combinations"].told(new_pairs))
    about = {
        "rule": {**asdict(rule), "combinations": sorted(rule.combinations)},
        "data": {
            "columns": list(data.columns),
            "sha256": data.sha256,
            "pairs": len(data.pairs),
            "trained_on": len(train),
        },
        "recipe": asdict(recipe),
        "figures": {name: asdict(one) for name, one in told.items()},
    }
    return replace(model, about=about)


def _fit(
    network: Seq2Seq,
    inputs: Tensor,
    outputs: Tensor,
    recipe: TextRecipe,
    report: Callable[[str], None],
) -> None:
    """Train on inputs ``(pair, source_length)`` and outputs ``(pair, target_length + 1)``."""
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
        if not all(bool(one.isfinite().all()) for one in (total, *network.parameters())):
            raise InputError(
                f"training went astray in epoch {epoch}: a weight is no finite number",
                remedy="give a smaller --learning-rate",
            )
        report(f"epoch {epoch} of {recipe.epochs}: loss {total.item() / per_epoch:.4f} nats")


def _trimmed(tokens: Tensor) -> Tensor:
    """Without the places that are padding in every row: hidden, so they change nothing."""
    return tokens[:, : int((tokens != PAD).sum(1).max())]


def _thinned(source: Tensor, share: float) -> Tensor:
    """Half of the rows with a share of their words unknown."""
    lost = torch.rand(source.shape) < share
    lost &= torch.rand(len(source), 1) < 0.5
    return source.masked_fill(lost & (source >= len(SPECIAL)), UNK)

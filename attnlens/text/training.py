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
from attnlens.models.seq2seq import PAD, SPECIAL, UNK, Seq2Seq, Seq2SeqSizes
from attnlens.text.evaluation import figures
from attnlens.text.pairs import Pair, Pairs, Rule
from attnlens.text.tokens import Vocabulary
from attnlens.text.trained import TextModel, one_thread

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
    """Sizes that are chosen; the rest follows from the pairs.

    Attributes:
        source_length, target_length: most tokens; those of the longest pair unless given.
    """

    width: int = 64
    heads: int = 4
    d_ff: int = 128
    encoder_layers: int = 1
    decoder_layers: int = 1
    dropout: float = 0.1
    source_length: int | None = None
    target_length: int | None = None


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
        InputError: too few pairs, sizes that do not fit each other, or a pair that is longer
            than the sizes allow.
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
    whole = _sizes(sizes, len(source), len(target), data)
    with one_thread(), torch.random.fork_rng(devices=()):
        torch.manual_seed(recipe.seed)
        try:
            network = Seq2Seq(whole)
        except ValueError as error:
            problem = str(error).partition(";")[0]
            raise InputError(problem, remedy="give other --width and --heads") from None
        _fit(network, *_tensors(train, source, target, whole), recipe, report)
        network.eval()
        model = TextModel(network, source, target, rule, {})
        told = {
            "held_out": asdict(figures(model, held_out)),
            "new_combinations": asdict(figures(model, new)),
        }
    about = {
        "data": {
            "columns": list(data.columns),
            "sha256": data.sha256,
            "pairs": len(data.pairs),
            "trained_on": len(train),
        },
        "recipe": asdict(recipe),
        "figures": told,
    }
    return replace(model, about=about)


def _sizes(sizes: TextSizes, source: int, target: int, data: Pairs) -> Seq2SeqSizes:
    chosen = asdict(sizes)
    for name, ends, column in (
        ("source_length", 0, data.columns[0]),
        ("target_length", 1, data.columns[1]),  # and <eos>
    ):
        side = "target" if ends else "source"
        longest = max(data.pairs, key=lambda pair: len(getattr(pair, side)))
        tokens = len(getattr(longest, side)) + ends
        if chosen[name] is None:
            chosen[name] = tokens
        elif tokens > chosen[name]:
            raise InputError(
                f"the {column!r} has {tokens - ends} tokens, more than fit into "
                f"{chosen[name]}{' with <eos>' if ends else ''}",
                path=data.path,
                line=longest.line,
                remedy=f"give a larger --{name.replace('_', '-')}, or remove the row",
            )
    return Seq2SeqSizes(source, target, **chosen)


def _tensors(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary, sizes: Seq2SeqSizes
) -> tuple[Tensor, Tensor]:
    """Inputs ``(pair, source_length)`` and outputs ``(pair, target_length + 1)``, padded."""
    return (
        torch.tensor([source.source(pair.source, sizes.source_length) for pair in pairs]),
        torch.tensor([target.target(pair.target, sizes.target_length) for pair in pairs]),
    )


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

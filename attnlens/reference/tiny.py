"""The reference model ``tiny``: a transformer so small that every number can be inspected.

The model has 260 parameters, one block with one head, no position vectors and no mask. Only the
layer norm has a bias.

The model is trained on a task with a known answer. Two tokens are *partners* if their sum is nine.
If the input contains a token's partner, the correct output is the partner. If the partner is
missing, the correct output is the token itself. Every token only has to attend to its partner.
"""

from __future__ import annotations

import os
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.errors import CheckpointError, InputError, count
from attnlens.recording.probe import step
from attnlens.reference import one_thread
from attnlens.reference.attention import MultiHeadAttention, matrix
from attnlens.reference.catalogue import LoadedModel, ModelInput
from attnlens.reference.checkpoint import read_checkpoint, shipped, write_checkpoint

_KIND: Final = "tiny"
_EXAMPLE_TOKENS: Final = (3, 1, 4, 1, 5)

AXES: Final = {
    "x": ("batch", "token"),
    "E": ("vocabulary", "width"),
    **{f"attention.W_{letter}": ("width", "d_k") for letter in "QKV"},
    "attention.W_O": ("d_k", "width"),
    "norm.weight": ("width",),
    "norm.bias": ("width",),
    "W_1": ("width", "d_ff"),
    "W_2": ("d_ff", "width"),
    "W_out": ("width", "vocabulary"),
}
"""The names of the axes. Most axes have the size 5."""

_MAX_TOKEN_CHARACTERS: Final = 40

_PARTNER_SUM: Final = 9

_SEED: Final = 1
_TRAINING_STEPS: Final = 6000
_BATCH: Final = 1024
_LEARNING_RATE: Final = 0.02


class TinyTransformer(nn.Module):
    """A transformer block that returns logits for the output token at each position.

    ::

        h0 = E[x];  Q, K, V = h0 W_Q, h0 W_K, h0 W_V;  S = Q Kᵀ / √d_k;  A = softmax(S)
        h_attn = (A V) W_O;  h1 = LN(h0 + h_attn)
        h_ff = GELU(h1 W_1) W_2;  h2 = h1 + h_ff;  logits = h2 W_out;  y = argmax(logits)

    Args:
        vocabulary: the number of tokens, which are 0 to ``vocabulary - 1``.
        width: the width of every vector.
        context: the number of input tokens.
        d_ff: the width inside the feed-forward network.
        heads: the number of attention heads, a divisor of ``width``.
    """

    def __init__(
        self,
        vocabulary: int = 10,
        width: int = 5,
        context: int = 5,
        d_ff: int = 5,
        heads: int = 1,
    ) -> None:
        super().__init__()
        self.context = context
        self.E = nn.Parameter(torch.randn(vocabulary, width))
        self.attention = MultiHeadAttention(width, heads)
        self.norm = nn.LayerNorm(width)
        self.W_1 = matrix(width, d_ff)
        self.activation = nn.GELU()
        self.W_2 = matrix(d_ff, width)
        self.W_out = matrix(width, vocabulary)

    @property
    def sizes(self) -> dict[str, int]:
        """The current sizes of the model."""
        return {
            "vocabulary": self.E.shape[0],
            "width": self.E.shape[1],
            "context": self.context,
            "heads": self.attention.heads,
            "d_k": self.attention.d_k,
            "d_ff": self.W_1.shape[1],
        }

    def forward(self, x: Tensor) -> Tensor:
        """Return logits ``(batch, position, vocabulary)`` for tokens ``(batch, position)``."""
        h_0 = step("h_0", self.E[x], "the tokens' vectors")
        h_attn = step("h_{attn}", self.attention(h_0), "what attention adds")
        h_1 = step("h_1", self.norm(h_0 + h_attn), "after attention")
        inner = self.activation(h_1 @ self.W_1)
        h_ff = step("h_{ff}", inner @ self.W_2, "what the feed-forward network adds")
        h_2 = step("h_2", h_1 + h_ff, "after the feed-forward network")
        logits = step("logits", h_2 @ self.W_out, "a score for every token")
        step("y", logits.argmax(-1), "the answer")
        return logits


def save_tiny(
    path: str | os.PathLike[str], model: TinyTransformer, card: dict[str, object]
) -> None:
    metadata = {"kind": _KIND, "sizes": model.sizes, "card": card}
    write_checkpoint(path, dict(model.state_dict()), metadata)


def load_tiny(path: str | os.PathLike[str] | None = None) -> TinyTransformer:
    """Load a checkpoint; by default, load the included checkpoint.

    Raises:
        CheckpointError: the file cannot be read, is damaged, or is of another kind.
    """
    path = shipped(_KIND) if path is None else path
    checkpoint = read_checkpoint(path, _KIND)
    try:
        sizes = {name: int(size) for name, size in checkpoint.metadata["sizes"].items()}
        del sizes["d_k"]
        model = TinyTransformer(**sizes)
        model.load_state_dict(checkpoint.tensors)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"is damaged ({' '.join(str(error).split())[:120]})",
            path=path,
            remedy="train it again",
        ) from error
    return model.eval()


def load_for_catalogue(path: Path | None = None) -> LoadedModel:
    return LoadedModel(load_tiny(path))


def read_tokens(model: LoadedModel, text: str | None) -> ModelInput:
    """Read tokens such as ``3,1,4,1,5``; if ``text`` is None, return an example input.

    Raises:
        InputError: the text is not a list of integers, a token is out of range, or the number of
            tokens is wrong.
    """
    module = model.module
    assert isinstance(module, TinyTransformer)
    vocabulary, context = module.E.shape[0], module.context
    example = (token % vocabulary for token in islice(cycle(_EXAMPLE_TOKENS), context))
    such = ",".join(map(str, example))
    remedy = f"give {context} tokens from 0 to {vocabulary - 1}, such as {such}"
    text = such if text is None else text
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.removeprefix("-").isdigit() for word in words):
        raise InputError(f"{text[:_MAX_TOKEN_CHARACTERS]!r} is not a list of tokens", remedy=remedy)
    # Python raises ValueError for a number with thousands of digits.
    tokens = [int(word[:_MAX_TOKEN_CHARACTERS]) for word in words]
    for index, token in enumerate(tokens, 1):
        if not 0 <= token < vocabulary:
            raise InputError(f"token {token} in position {index} is out of range", remedy=remedy)
    if len(tokens) != context:
        raise InputError(f"{count(len(tokens), 'token')} were given", remedy=remedy)
    return ModelInput(
        inputs=(torch.tensor([tokens]),),
        axes=AXES,
        labels={
            "token": tuple(map(str, tokens)),
            "vocabulary": tuple(str(token) for token in range(vocabulary)),
        },
        caption=",".join(map(str, tokens)),
    )


def answers(tokens: Tensor) -> Tensor:
    """Return the correct outputs for tokens ``(batch, position)``, with the same shape."""
    return torch.where(partners(tokens).any(-1), _PARTNER_SUM - tokens, tokens)


def partners(tokens: Tensor) -> Tensor:
    """Return a mask ``(batch, position, position)`` that is true for pairs of partners."""
    return tokens[:, None, :] == _PARTNER_SUM - tokens[:, :, None]


def train_tiny(seed: int = _SEED, steps: int = _TRAINING_STEPS) -> TinyTransformer:
    """Train a model on random tokens. On one machine, the same seed gives the same weights."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TinyTransformer()
        vocabulary, context = model.E.shape[0], model.context
        optimiser = torch.optim.Adam(model.parameters(), _LEARNING_RATE)
        slope = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, _LEARNING_RATE, total_steps=steps, pct_start=0.1
        )
        for _ in range(steps):
            tokens = torch.randint(vocabulary, (_BATCH, context))
            logits = model(tokens).flatten(0, 1)
            loss = nn.functional.cross_entropy(logits, answers(tokens).flatten())
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            slope.step()
    return model.eval()

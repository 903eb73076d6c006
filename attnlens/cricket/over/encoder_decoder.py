"""The reference model ``cricket``, an encoder-decoder that generates an over one token at a time.

An encoder reads up to `OverSizes.history` past balls, and a decoder generates the over. Both have
one post-norm layer (Vaswani et al. 2017, "Attention Is All You Need", section 3)::

    H_0 = drop(X W_in √d + P)                      past balls, oldest first, padded on the left
    H_1 = norm(H_0 + attention(H_0, H_0))
    M   = norm(H_1 + ReLU(H_1 W_1 + b_1) W_2 + b_2)   the memory
    Y_0 = E[tokens] √d + P + c W_ctx               c W_ctx at the first position only
    Y_1 = norm(Y_0 + causal attention(Y_0, Y_0))
    Y_2 = norm(Y_1 + attention(Y_1, M))            the cross-attention
    Y_3 = norm(Y_2 + ReLU(Y_2 W_1 + b_1) W_2 + b_2)
    logits = Y_3 W_out + b

Padding is masked. If there are no past balls, the cross-attention is zero.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.files import Json
from attnlens.recording.probe import step
from attnlens.reference.attention import MultiHeadAttention, matrix
from attnlens.reference.transformer import FeedForward, sinusoids

PAD: Final = 0
START: Final = 1
END: Final = 2
_MAX_SIZE: Final = 8192


@dataclass(frozen=True, slots=True)
class OverSizes:
    """The sizes of the model. The defaults are the sizes of the reference model.

    Attributes:
        history: the maximum number of past balls.
        features: the number of features of a past ball.
        context: the number of features of the match.
        length: the maximum number of tokens in an over.
        dropout: the dropout rate of the encoder's input.
    """

    history: int = 128
    features: int = 18
    d: int = 512
    heads: int = 8
    d_k: int = 64
    ff: int = 2048
    context: int = 20
    tokens: int = 24
    length: int = 6
    dropout: float = 0.1

    def to_dict(self) -> Json:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Json) -> OverSizes:
        """Build the sizes from the result of `to_dict`.

        Raises:
            TypeError, ValueError: a field is unknown, or a size is invalid.
        """
        sizes = cls(**data)
        for name, value in data.items():
            fits = (
                isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_SIZE
            )
            if name == "dropout":
                fits = isinstance(value, int | float) and 0 <= value < 1
            if not fits:
                raise ValueError(f"{name} is {value!r}")
        return sizes

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        with torch.device("meta"):
            return sum(weight.numel() for weight in OverModel(self).parameters())


class HistoryEncoder(nn.Module):
    """The encoder, which computes the memory from past balls."""

    P: Tensor

    def __init__(self, sizes: OverSizes) -> None:
        super().__init__()
        self.d = sizes.d
        self.W_in = matrix(sizes.features, sizes.d)
        self.register_buffer("P", sinusoids(sizes.history, sizes.d), persistent=False)
        self.dropout = nn.Dropout(sizes.dropout)
        self.attention = MultiHeadAttention(sizes.d, sizes.heads, d_k=sizes.d_k)
        self.norm_1 = nn.LayerNorm(sizes.d)
        self.feed_forward = FeedForward(sizes.d, sizes.ff)
        self.norm_2 = nn.LayerNorm(sizes.d)

    def forward(self, history: Tensor, padded: Tensor) -> Tensor:
        """Encode past balls ``(batch, balls, features)`` as the memory ``(batch, balls, d)``.

        The most recent ball comes last. ``padded`` is true for padding, ``(batch, balls)``. Padding
        that all rows share can be removed.
        """
        places = self.P[len(self.P) - history.shape[-2] :]
        h_0 = self.dropout(history @ self.W_in * math.sqrt(self.d) + places)
        step("H_0", h_0, "past balls plus positional encoding")
        attended = self.attention(h_0, hidden=padded[:, None, None, :])
        h_1 = step("H_1", self.norm_1(h_0 + attended), "after the encoder's attention")
        memory: Tensor = self.norm_2(h_1 + self.feed_forward(h_1))
        return step("M", memory, "the memory")


class OverDecoder(nn.Module):
    """The decoder, which predicts the next token from earlier tokens, match and memory."""

    P: Tensor

    def __init__(self, sizes: OverSizes) -> None:
        super().__init__()
        self.d = sizes.d
        self.E = nn.Parameter(torch.randn(sizes.tokens, sizes.d) / math.sqrt(sizes.d))
        self.register_buffer("P", sinusoids(sizes.length, sizes.d), persistent=False)
        self.W_ctx = matrix(sizes.context, sizes.d)
        self.self_attention = MultiHeadAttention(sizes.d, sizes.heads, d_k=sizes.d_k, causal=True)
        self.norm_1 = nn.LayerNorm(sizes.d)
        self.cross_attention = MultiHeadAttention(sizes.d, sizes.heads, d_k=sizes.d_k)
        self.norm_2 = nn.LayerNorm(sizes.d)
        self.feed_forward = FeedForward(sizes.d, sizes.ff)
        self.norm_3 = nn.LayerNorm(sizes.d)
        self.W_out = matrix(sizes.d, sizes.tokens)
        self.b = nn.Parameter(torch.zeros(sizes.tokens))

    def logits(self, tokens: Tensor, memory: Tensor, padded: Tensor, context: Tensor) -> Tensor:
        """Return next-token logits for every position, ``(batch * samples, position, token)``."""
        keys, values = self.cross_attention.keys_and_values(memory)
        context = context.repeat_interleave(len(tokens) // len(context), 0)
        y = self.E[tokens] * math.sqrt(self.d) + self.P[: tokens.shape[-1]]
        step("Y_E", y, "tokens so far plus positional encoding")
        y = torch.cat([y[:, :1] + (context @ self.W_ctx)[:, None], y[:, 1:]], 1)
        y_0 = step("Y_0", y, "match features added to position 0")
        y_1 = self.norm_1(y_0 + self.self_attention(y_0))
        y_1 = step("Y_1", y_1, "after the decoder's self-attention")
        # All samples of an over share one memory, so keys and values are computed only once.
        queries = self.cross_attention.queries(y_1.reshape(len(memory), -1, self.d))
        hidden = padded[:, None, None, :]
        attended = self.cross_attention.attend(queries, keys, values, hidden=hidden)
        y_2 = step("Y_2", self.norm_2(y_1 + attended.view_as(y_1)), "after the cross-attention")
        y_3 = step("Y_3", self.norm_3(y_2 + self.feed_forward(y_2)), "the decoder's output")
        return step("L", y_3 @ self.W_out + self.b, "logits of the next token")


class OverModel(nn.Module):
    """The encoder-decoder. The default of ``sizes`` is ``OverSizes()``."""

    def __init__(self, sizes: OverSizes | None = None) -> None:
        super().__init__()
        self.sizes = OverSizes() if sizes is None else sizes
        self.encoder = HistoryEncoder(self.sizes)
        self.decoder = OverDecoder(self.sizes)

    def forward(self, history: Tensor, padded: Tensor, context: Tensor, tokens: Tensor) -> Tensor:
        """Return next-token logits for every position, ``(batch, position, token)``.

        Args:
            history: ``(batch, balls, features)``.
            padded: true for a position without a ball, ``(batch, balls)``.
            context: ``(batch, context)``.
            tokens: token numbers, ``(batch, position)``. Each row starts with `START` and has at
                most `OverSizes.length` tokens.
        """
        memory = self.encoder(history, padded)
        return self.decoder.logits(tokens, memory, padded, context)


@dataclass(frozen=True, slots=True)
class Choice:
    """The rule for choosing the next token.

    Attributes:
        greedy: true to choose the most likely token; false to sample a token.
        temperature: the divisor of the logits before sampling.
        top_k: the number of most likely tokens that may be sampled; ``None`` for all tokens.
    """

    greedy: bool = True
    temperature: float = 1.0
    top_k: int | None = None


@torch.no_grad()
def decode(
    model: OverModel,
    history: Tensor,
    padded: Tensor,
    context: Tensor,
    choice: Choice,
    *,
    samples: int = 1,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Generate overs token by token; for the inputs, see `OverModel.forward`.

    Returns:
        Token numbers, ``(batch * samples, length)``. The samples of one over are in adjacent rows.
        Each over ends at `END` or after `OverSizes.length` tokens. After `END`, a row contains
        `PAD`.
    """
    memory = model.encoder(history, padded)
    tokens = torch.full((len(context) * samples, 1), START)
    over = torch.zeros(len(tokens), dtype=torch.bool)
    while tokens.shape[1] <= model.sizes.length and not bool(over.all()):
        logits = model.decoder.logits(tokens, memory, padded, context)[:, -1]
        following = _chosen(logits, choice, generator).masked_fill(over, PAD)
        tokens = torch.cat([tokens, following[:, None]], 1)
        over = over | (following == END)
    left = model.sizes.length + 1 - tokens.shape[1]
    return nn.functional.pad(tokens[:, 1:], (0, left), value=PAD)


def _chosen(logits: Tensor, choice: Choice, generator: torch.Generator | None) -> Tensor:
    logits = logits.clone()
    logits[:, [PAD, START]] = -math.inf
    if choice.greedy:
        return logits.argmax(-1)
    if choice.top_k is not None and choice.top_k < logits.shape[-1]:
        threshold = logits.topk(choice.top_k, -1).values[:, -1:]
        logits = logits.masked_fill(logits < threshold, -math.inf)
    # In single precision, division by a small temperature would overflow.
    chances = (logits.double() / choice.temperature).softmax(-1)
    return torch.multinomial(chances, 1, generator=generator)[:, 0]

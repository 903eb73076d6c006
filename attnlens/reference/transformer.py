"""The network of the reference model ``seq2seq``: an encoder-decoder, and its blocks.

The encoder converts a sentence to the *memory*, which contains one vector per word. The decoder
writes the answer token by token. The decoder attends to earlier tokens of the answer (causal
self-attention) and to the memory (cross-attention). Padding is hidden in every attention layer.

An attention layer has no output matrix if the joined heads are as wide as the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.recording.probe import step
from attnlens.reference.attention import MultiHeadAttention, matrix

_POSITION_BASE = 10_000.0


def sinusoids(length: int, width: int, n: float = _POSITION_BASE) -> Tensor:
    """Return the sinusoidal position vectors ``P``.

    ``P[k, 2i] = sin(k / n^(2i/d))`` and ``P[k, 2i+1] = cos(k / n^(2i/d))``, for ``0 <= i < d/2``.

    Args:
        length: the number of positions ``k``, which are counted from 0.
        width: the width ``d``. If ``d`` is odd, the last column is a sine.
        n: the base of the wavelengths.

    Returns:
        a tensor ``(length, width)``, rounded from double precision to torch's default precision.

    Raises:
        ValueError: ``length`` is negative or ``width`` is not positive.

    Reference:
        Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
    """
    if length < 0 or width < 1:
        raise ValueError(f"cannot compute {length} position vectors of width {width}")
    places = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = places / n ** (even / width)
    waves = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return waves[:, :width].to(torch.get_default_dtype())


@dataclass(frozen=True, slots=True)
class Seq2SeqSizes:
    """The sizes of an encoder-decoder.

    Attributes:
        source_words, target_words: the sizes of the input vocabulary and the output vocabulary.
        source_length: the maximum number of input tokens.
        target_length: the maximum number of output tokens, including ``<eos>``.
        width: the width ``d`` of the model's vectors.
        heads: the number of heads of each attention layer.
        d_ff: the width inside the feed-forward networks.
        d_k, d_v: the width of one head's keys and values; by default ``d / heads`` and ``d_k``.
        encoder_layers, decoder_layers: the number of blocks.
        dropout: the dropout rate of embeddings and of sub-layer outputs during training.
        eps: the ``ε`` of the layer norms.
        base: the base ``n`` of `sinusoids`.
    """

    source_words: int
    target_words: int
    source_length: int
    target_length: int
    width: int = 64
    heads: int = 4
    d_ff: int = 128
    d_k: int | None = None
    d_v: int | None = None
    encoder_layers: int = 1
    decoder_layers: int = 1
    dropout: float = 0.1
    eps: float = 1e-5
    base: float = _POSITION_BASE


class FeedForward(nn.Module):
    """The feed-forward network ``ReLU(X W_1 + b_1) W_2 + b_2``."""

    def __init__(self, d: int, d_ff: int) -> None:
        super().__init__()
        self.W_1 = matrix(d, d_ff)
        self.b_1 = nn.Parameter(torch.zeros(d_ff))
        self.W_2 = matrix(d_ff, d)
        self.b_2 = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network to the last axis: ``(..., d) -> (..., d)``."""
        inner = step("F", torch.relu(x @ self.W_1 + self.b_1), "inside the feed-forward network")
        return inner @ self.W_2 + self.b_2


class AddAndNorm(nn.Module):
    """The layer ``LN(ΔX + X)``, where ``LN(y) = γ (y - mean) / √(variance + ε) + β``."""

    def __init__(self, sizes: Seq2SeqSizes) -> None:
        super().__init__()
        self.dropout = nn.Dropout(sizes.dropout)
        self.norm = nn.LayerNorm(sizes.width, eps=sizes.eps)

    def forward(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the layer norm of ``change + x``, with shape ``(..., d)``."""
        change = step(r"\Delta X", self.dropout(change), "what the sub-layer adds")
        added = step("Y", change + x, "the sum")
        normed: Tensor = self.norm(added)
        return normed


class EncoderBlock(nn.Module):
    """Self-attention and a feed-forward network, each followed by `AddAndNorm`."""

    def __init__(self, sizes: Seq2SeqSizes) -> None:
        super().__init__()
        self.self_attention = _attention(sizes)
        self.add_attention = AddAndNorm(sizes)
        self.feed_forward = FeedForward(sizes.width, sizes.d_ff)
        self.add_feed_forward = AddAndNorm(sizes)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """Apply the block to ``x``; the result has the same shape.

        Args:
            x: ``(batch, length, d)``.
            hidden: a mask, broadcastable to ``(batch, head, query, key)``; true hides keys.
        """
        x = self.add_attention(x, self.self_attention(x, hidden=hidden))
        x = step("X'", x, "after self-attention")
        normed: Tensor = self.add_feed_forward(x, self.feed_forward(x))
        return normed


class DecoderBlock(nn.Module):
    """Causal self-attention, cross-attention to the memory, and a feed-forward network."""

    def __init__(self, sizes: Seq2SeqSizes) -> None:
        super().__init__()
        self.self_attention = _attention(sizes, causal=True)
        self.add_self = AddAndNorm(sizes)
        self.cross_attention = _attention(sizes)
        self.add_cross = AddAndNorm(sizes)
        self.feed_forward = FeedForward(sizes.width, sizes.d_ff)
        self.add_feed_forward = AddAndNorm(sizes)

    def forward(self, x: Tensor, hidden: Tensor, memory: Tensor, memory_hidden: Tensor) -> Tensor:
        """Apply the block to ``x``; the result has the same shape.

        Args:
            x: ``(batch, length, d)``.
            hidden: a mask ``(batch, 1, 1, length)``, true at hidden positions of ``x``.
            memory: ``(batch, key, d)``.
            memory_hidden: a mask ``(batch, 1, 1, key)``, true at hidden positions of ``memory``.
        """
        x = self.add_self(x, self.self_attention(x, hidden=hidden))
        x = step("U'", x, "after self-attention")
        read = self.cross_attention(x, memory, hidden=memory_hidden)
        x = step("U''", self.add_cross(x, read), "after attention to the memory")
        normed: Tensor = self.add_feed_forward(x, self.feed_forward(x))
        return normed


def _attention(sizes: Seq2SeqSizes, *, causal: bool = False) -> MultiHeadAttention:
    d_k = sizes.width // sizes.heads if sizes.d_k is None else sizes.d_k
    d_v = d_k if sizes.d_v is None else sizes.d_v
    return MultiHeadAttention(
        sizes.width,
        sizes.heads,
        d_k=sizes.d_k,
        d_v=d_v,
        causal=causal,
        project=sizes.heads * d_v != sizes.width,
    )


SPECIAL: Final = ("<unk>", "<pad>", "<bos>", "<eos>")
"""The first tokens of every vocabulary: unknown word, padding, beginning and end."""

UNK, PAD, BOS, EOS = range(len(SPECIAL))


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedAnswer:
    """A batch of generated answers.

    Attributes:
        tokens: the token ids, ``(batch, step)``, padded with ``<pad>`` after ``<eos>``.
        probabilities: the probability of each word at each step, ``(batch, step, word)``.
    """

    tokens: Tensor
    probabilities: Tensor


class Seq2Seq(nn.Module):
    """An encoder-decoder that maps a sentence to an answer.

    Raises:
        ValueError: ``d_k`` is not given, and the width is not divisible by the number of heads.
    """

    def __init__(self, sizes: Seq2SeqSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.E_source = _vectors(sizes.source_words, sizes.width)
        self.E_target = _vectors(sizes.target_words, sizes.width)
        longest = max(sizes.source_length, sizes.target_length)
        self.register_buffer(
            "positions", sinusoids(longest, sizes.width, sizes.base), persistent=False
        )
        self.dropout = nn.Dropout(sizes.dropout)
        self.encoder = nn.ModuleList(EncoderBlock(sizes) for _ in range(sizes.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(sizes) for _ in range(sizes.decoder_layers))
        self.W_out = matrix(sizes.width, sizes.target_words)
        self.b_out = nn.Parameter(torch.zeros(sizes.target_words))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the logits of the next token at each position, ``(batch, target, target_words)``.

        Args:
            source: tokens ``(batch, source)``, padded at the end.
            target: tokens ``(batch, target)`` that begin with ``<bos>``, padded at the end.
        """
        return self.decode(target, self.encode(source), source)

    def encode(self, source: Tensor) -> Tensor:
        """Return the memory ``(batch, source, d)`` for input tokens ``(batch, source)``."""
        places: Tensor = self.get_buffer("positions")[: source.shape[1]]
        x = step("X", self.dropout(self.E_source[source] + places), "words and their places")
        for block in self.encoder:
            x = block(x, _padding(source))
        return step("M", x, "the memory")

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Return the logits of `forward` from the memory that `encode` returned."""
        places: Tensor = self.get_buffer("positions")[: target.shape[1]]
        x = step("U", self.dropout(self.E_target[target] + places), "the answer so far")
        for block in self.decoder:
            x = block(x, _padding(target), memory, _padding(source))
        x = step("H", x, "what the decoder ends with")
        return step(r"\mathrm{logits}", x @ self.W_out + self.b_out, "of the next token")

    @torch.no_grad()
    def generate(self, source: Tensor) -> GeneratedAnswer:
        """Answer the inputs ``(batch, source)`` with the most probable token at each step.

        An answer ends with ``<eos>`` or after ``target_length`` tokens.
        """
        memory, batch = self.encode(source), source.shape[0]
        begun = torch.full((batch, 1), BOS, device=source.device)
        done = torch.zeros(batch, dtype=torch.bool, device=source.device)
        probabilities = []
        for _ in range(self.sizes.target_length):
            shares = self.decode(begun, memory, source)[:, -1].softmax(-1)
            best = shares.clone()
            best[:, [PAD, BOS]] = -1.0  # never written in an answer
            last = best.argmax(-1, keepdim=True).masked_fill(done[:, None], PAD)
            begun = torch.cat((begun, last), 1)
            probabilities.append(shares)
            done = done | (last[:, 0] == EOS)
            if bool(done.all()):
                break
        return GeneratedAnswer(begun[:, 1:], torch.stack(probabilities, 1))


def _padding(tokens: Tensor) -> Tensor:
    return (tokens == PAD)[:, None, None, :]


def _vectors(words: int, width: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(words, width) * width**-0.5)

"""The reference model ``seq2seq``: one sentence in, another out.

Words become vectors, places are added as waves (`attnlens.models.transformer`), the encoder
rewrites the words as a memory, and the decoder writes the answer token by token, each time
looking at what it has written (causal self-attention) and at the memory (cross-attention).
Padding is hidden from every attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.models.attention import matrix
from attnlens.models.transformer import DecoderBlock, EncoderBlock, Seq2SeqSizes, sinusoids
from attnlens.recording.probe import step

SPECIAL: Final = ("<unk>", "<pad>", "<bos>", "<eos>")
"""Tokens that every vocabulary begins with: unknown, padding, beginning, end."""

UNK, PAD, BOS, EOS = range(len(SPECIAL))


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Answers written token by token.

    Attributes:
        tokens: ``(batch, steps)``, ``<eos>`` where an answer ends and ``<pad>`` after it.
        probabilities: of every word of the vocabulary at each step, ``(batch, steps, words)``.
    """

    tokens: Tensor
    probabilities: Tensor


class Seq2Seq(nn.Module):
    """An encoder and a decoder.

    Raises:
        ValueError: ``d_k`` is not given and the heads do not divide the width.
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
        """What follows each token of an answer that is known.

        Args:
            source: tokens ``(batch, source)``, padded at the end.
            target: tokens ``(batch, target)`` that begin with ``<bos>``, padded at the end.

        Returns:
            logits ``(batch, target, target_words)``.
        """
        return self.decoded(target, self.encoded(source), source)

    def encoded(self, source: Tensor) -> Tensor:
        """The memory ``(batch, source, d)`` of an input, tokens ``(batch, source)``."""
        places: Tensor = self.get_buffer("positions")[: source.shape[1]]
        x = step("X", self.dropout(self.E_source[source] + places), "words and their places")
        for block in self.encoder:
            x = block(x, _padding(source))
        return step("M", x, "the memory")

    def decoded(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """`forward`, with the memory of ``source`` worked out before."""
        places: Tensor = self.get_buffer("positions")[: target.shape[1]]
        x = step("U", self.dropout(self.E_target[target] + places), "the answer so far")
        for block in self.decoder:
            x = block(x, _padding(target), memory, _padding(source))
        x = step("H", x, "what the decoder ends with")
        return step(r"\mathrm{logits}", x @ self.W_out + self.b_out, "of the next token")

    @torch.no_grad()
    def written(self, source: Tensor) -> Written:
        """The likeliest token again and again, until ``<eos>``.

        Args:
            source: tokens ``(batch, source)``.
        """
        memory, batch = self.encoded(source), source.shape[0]
        begun = torch.full((batch, 1), BOS, device=source.device)
        done = torch.zeros(batch, dtype=torch.bool, device=source.device)
        probabilities = []
        for _ in range(self.sizes.target_length):
            shares = self.decoded(begun, memory, source)[:, -1].softmax(-1)
            best = shares.clone()
            best[:, [PAD, BOS]] = -1.0  # nobody writes these
            last = best.argmax(-1, keepdim=True).masked_fill(done[:, None], PAD)
            begun = torch.cat((begun, last), 1)
            probabilities.append(shares)
            done = done | (last[:, 0] == EOS)
            if bool(done.all()):
                break
        return Written(begun[:, 1:], torch.stack(probabilities, 1))


def _padding(tokens: Tensor) -> Tensor:
    """``(batch, 1, 1, key)``: what is hidden from every head and query."""
    return (tokens == PAD)[:, None, None, :]


def _vectors(words: int, width: int) -> nn.Parameter:
    """Word vectors to begin with: short, so that training soon has more to say than chance."""
    return nn.Parameter(torch.randn(words, width) * width**-0.5)

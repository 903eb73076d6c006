"""Torch's own layers with the weights of ours, to compare what they compute."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from attnlens.reference.attention import MultiHeadAttention


def give_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    """Without an output matrix of ours, theirs is the identity."""
    output = torch.eye(ours.d) if ours.W_O is None else ours.W_O.T
    theirs.in_proj_weight.copy_(torch.cat([ours.W_Q, ours.W_K, ours.W_V], 1).T)
    theirs.out_proj.weight.copy_(output)
    if theirs.in_proj_bias is not None:
        theirs.in_proj_bias.zero_()
        theirs.out_proj.bias.zero_()


def give_feed_forward(
    theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, ours: Any
) -> None:
    theirs.linear1.weight.copy_(ours.W_1.T)
    theirs.linear1.bias.copy_(ours.b_1)
    theirs.linear2.weight.copy_(ours.W_2.T)
    theirs.linear2.bias.copy_(ours.b_2)

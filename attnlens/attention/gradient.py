"""Attribution by gradients, of a whole predictive distribution and not of one class."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlens.files import Floats


def kl_jacobian(logits: Tensor, items: Tensor) -> Floats:
    """How far the whole prediction moves as each item fades: the KL-matched Jacobian, in nats.

    ``½ Σ_o p_o (∂ log p_o / ∂x_i · x_i)²``: gradient times input of every class at once,
    measured by Fisher's metric. It is ``KL(p ‖ p with x_i at nothing)`` to second order.

    Args:
        logits: of the classes ``(class,)``, worked out from ``items``.
        items: ``(item, width)``, or with a batch of one before; needs a gradient.

    Returns:
        ``(item,)``, never negative; the graph of ``logits`` is kept.

    Reference:
        Kullback 1959, "Information Theory and Statistics", section 2.6, for the expansion;
        Shrikumar et al. 2016 (arXiv 1605.01713) for gradient times input.
    """
    logs = logits.log_softmax(-1)
    moves = [
        (torch.autograd.grad(log, items, retain_graph=True)[0] * items).sum(-1).flatten()
        for log in logs
    ]
    chances = logs.detach().double().exp()
    scores: Floats = (chances @ torch.stack(moves).detach().double() ** 2 / 2).numpy()
    return scores

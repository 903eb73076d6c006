"""Measure how much of the attention of the model ``tiny`` is on the tokens that an answer needs.

    python benchmarks/reference_models.py

The partners of a token are the tokens that its answer needs. For all 100,000 inputs, this script
measures the share of attention that is on the partners. It also measures the share of answers that
change if keys are hidden: the most attended key, another key, or all partners.
"""

from __future__ import annotations

import sys

import torch

import attnlens
from attnlens.reference.tiny import answers, load_tiny, partners


def main() -> int:
    """Print the table.

    To test whether an answer depends on the most attended key, this key is hidden from the token.
    As a control, another key is hidden instead.
    """
    torch.manual_seed(0)
    model = load_tiny()
    tokens = torch.cartesian_prod(*[torch.arange(model.E.shape[0])] * model.context)
    with torch.no_grad():
        right = model(tokens).argmax(-1) == answers(tokens)
    tokens_right, inputs_right = float(right.float().mean()), float(right.all(-1).float().mean())
    print(f"tiny over all {len(tokens):,} inputs: {tokens_right:.2%} of answers right,")
    print(f"{inputs_right:.2%} of inputs without an error")
    with torch.no_grad(), attnlens.record(model) as recording:
        answer = model(tokens).argmax(-1)
    weights = recording["attention"].weights[:, 0]
    partner = partners(tokens)
    largest = weights == weights.amax(-1, keepdim=True)
    largest &= largest.cumsum(-1) == 1  # if several weights are largest, the first one
    other = torch.rand(weights.shape).masked_fill(largest, -1).argmax(-1, keepdim=True)
    other = torch.zeros_like(largest).scatter(-1, other, True)

    def changed(hidden: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), attnlens.intervene(model, hide=hidden[:, None]):
            return model(tokens).argmax(-1) != answer

    hide_most, hide_other, hide_all = changed(largest), changed(other), changed(partner)
    count = partner.sum(-1)
    print("  partners  places   weight on  most weight  answers changed by hiding ...")
    print("                     partners   on partner   most weight  another key  all partners")
    for name, chosen in (("none", count == 0), ("one", count == 1), ("several", count > 1)):
        share = (weights * partner).sum(-1)[chosen].mean()
        top = (largest & partner).any(-1)[chosen].float().mean()
        shares = [flags[chosen].float().mean() for flags in (hide_most, hide_other, hide_all)]
        print(
            f"  {name:<9} {int(chosen.sum()):>7,}  {share:>9.1%}  {top:>11.1%}"
            f"  {shares[0]:>11.1%}  {shares[1]:>11.1%}  {shares[2]:>12.1%}"
        )
    own = weights.diagonal(dim1=1, dim2=2)[count == 0].mean()
    print(f"  a token without a partner gives itself {own:.1%} of its attention")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""CPU of ``describe tiny`` and ``trace tiny``, cold, beside importing torch; and what tiny learnt.

::

    python benchmarks/reference_models.py [--runs 7] [--skip-times]

Each round runs every command once, so that a busy machine is busy for all of them alike. CPU
is user and system time of the child process; a ratio is taken within its round, and the table
gives the median of the rounds and their range. Then, over all 100,000 inputs, how much of a
token's attention lies on its partner, and what hiding it does. Exit 1 where a median is over
its budget.
"""

from __future__ import annotations

import argparse
import sys

from cold_explain import within_budgets

BUDGET = 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="rounds, at least 5")
    parser.add_argument("--skip-times", action="store_true", help="only what tiny learnt")
    options = parser.parse_args()
    if options.runs < 5:
        parser.error("fewer than 5 rounds tell nothing")
    passed = options.skip_times or times(options.runs)
    learnt()
    return 0 if passed else 1


def times(runs: int) -> bool:
    """Whether each command is within its budget, with a table."""
    attnlens = [sys.executable, "-m", "attnlens"]
    commands = {
        "import torch": [sys.executable, "-c", "import torch"],
        "describe tiny": [*attnlens, "describe", "tiny"],
        "trace tiny 3,1,4,1,5": [*attnlens, "trace", "tiny", "3,1,4,1,5"],
    }
    base, *ours = commands
    return within_budgets(commands, [(name, base, BUDGET) for name in ours], runs)


def learnt() -> None:
    """What tiny's attention does over every input, and what hiding keys does to its answers.

    The claim of an attention weight is that the answer rests on the key it points at. So the
    key with the most weight is hidden from each token, and beside it, as chance, another one.
    """
    import torch

    import attnlens
    from attnlens.reference.tiny import answers, load_tiny, partners

    torch.manual_seed(0)
    model = load_tiny()
    tokens = torch.cartesian_prod(*[torch.arange(model.E.shape[0])] * model.context)
    with torch.no_grad():
        right = model(tokens).argmax(-1) == answers(tokens)
    places, inputs = float(right.float().mean()), float(right.all(-1).float().mean())
    print(f"tiny over all {len(tokens):,} inputs: {places:.2%} of answers right, {inputs:.2%} of")
    print("inputs without an error")
    with torch.no_grad(), attnlens.record(model) as recording:
        answer = model(tokens).argmax(-1)
    weights = recording["attention"].weights[:, 0]
    partner = partners(tokens)
    most = weights == weights.amax(-1, keepdim=True)
    most &= most.cumsum(-1) == 1  # of equal ones the first
    other = torch.rand(weights.shape).masked_fill(most, -1).argmax(-1, keepdim=True)
    other = torch.zeros_like(most).scatter(-1, other, True)

    def changed(hidden: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), attnlens.intervene(model, hide=hidden[:, None]):
            return model(tokens).argmax(-1) != answer

    hide_most, hide_other, hide_all = changed(most), changed(other), changed(partner)
    count = partner.sum(-1)
    print("  partners  places   weight on  most weight  answers changed by hiding ...")
    print("                     partners   on partner   most weight  another key  all partners")
    for name, chosen in (("none", count == 0), ("one", count == 1), ("several", count > 1)):
        share = (weights * partner).sum(-1)[chosen].mean()
        top = (most & partner).any(-1)[chosen].float().mean()
        told = [one[chosen].float().mean() for one in (hide_most, hide_other, hide_all)]
        print(
            f"  {name:<9} {int(chosen.sum()):>7,}  {share:>9.1%}  {top:>11.1%}"
            f"  {told[0]:>11.1%}  {told[1]:>11.1%}  {told[2]:>12.1%}"
        )
    own = weights.diagonal(dim1=1, dim2=2)[count == 0].mean()
    print(f"  a token without a partner gives itself {own:.1%} of its attention")


if __name__ == "__main__":
    sys.exit(main())

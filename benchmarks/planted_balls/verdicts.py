"""Measure the false alarms and the power of attnlens's verdicts on the examples of PlantedBalls.

::

    python benchmarks/planted_balls/verdicts.py [--balls 150] [--outcome story]

This script prints two tables in Markdown, with 95% intervals over matches. The first table shows
how often claims are supported about lists of balls that no rule counts
(`attnlens.cricket.lab.planted_truth`). The second table is about the claim that is tested first: it
says that the most attended ball matters.
"""

from __future__ import annotations

import argparse

from make import PLANS, frozen, innings_of

from attnlens.cricket.lab.planted_truth import Share, lists_and_first_claims, verdict_shares


def percent_text(share: Share) -> str:
    """Format a share with its interval, such as ``5.0% [1.2, 8.8]``."""
    if share.share is None or share.ci is None:
        return "none"
    low, high = share.ci
    return f"{share.share:.1%} [{100 * low:.1f}, {100 * high:.1f}]"


def main() -> None:
    """Test the claims of both frozen models, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--balls", type=int, default=150, help="of each model; default 150, all")
    parser.add_argument(
        "--outcome",
        choices=("all", "story"),
        default="all",
        help="what is asked about: the whole distribution, or what each ball's story is about",
    )
    options = parser.parse_args()
    outcome = None if options.outcome == "story" else options.outcome
    lists, firsts = [], []
    for name, plan in PLANS.items():
        asked = lists_and_first_claims(
            frozen(name), innings_of(name), balls=options.balls, seed=plan.seed, outcome=outcome
        )
        lists += asked[0]
        firsts += asked[1]
    document = verdict_shares(lists, firsts, seed=5)
    print("| lists | made | supported | balls with one | contradicted | surely |")
    print("|---|---|---|---|---|---|")
    for source, shares in document["sources"].items():
        cells = " | ".join(map(percent_text, shares.values()))
        print(f"| {source} | {shares['supported'].claims} | {cells} |")
    even = document["uniform"]
    print(f"\np of random lists: {even['distance']:.3f} from even, p {even['p']:.2f}\n")
    print("| the ball attended most | claims | supported |\n|---|---|---|")
    for words, share in document["first"].items():
        print(f"| {words} | {share.claims} | {percent_text(share)} |")


if __name__ == "__main__":
    main()

"""How often each kind of claim holds on real balls, by kind of cricket.

    python benchmarks/verdicts.py t20s_male_json.zip t20_leagues_male_json.zip \
        --from 2024-10-24 --history t20s_male_json.zip t20_leagues_male_json.zip --balls 300

Balls with at least 36 before them, as many of each kind of cricket as of any other, drawn with a
fixed seed. For every kind of claim: how many were made, and of how many each verdict was given,
with a 95% interval over matches. A picture is a head that carries too little of what its balls do,
or looked at all alike: nothing is claimed of it. The last balls, which anybody would guess, are
there for comparison. Then lists of balls that nobody should be able to say anything of
(`attnlens.cricket.lab.placebos`) are put to the same test.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import sys
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from attnlens.cricket.lab.placebos import (
    Share,
    TestedList,
    evenness,
    share_of,
    source_shares,
    tested_lists,
    with_shuffled_heads,
)
from attnlens.cricket.match.competition import KINDS, table_of
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.heads import SCALES
from attnlens.cricket.predictor.window import one_thread, window_for
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session

VERDICTS = ("supported", "not better than chance", "contradicted", "cannot be told")
PICTURE = "picture only"
ALL = "all kinds"


@dataclass(frozen=True, slots=True)
class Told:
    """A claim of some match, of what kind it is and how it fared."""

    match_id: str
    kind: str
    verdict: str


def sample(matches: list[Match], balls: int, seed: int) -> list[tuple[Match, BallReference]]:
    """Balls to ask about in order of date, evenly from the kinds of cricket there are."""
    generator = np.random.default_rng(seed)
    found: dict[int, list[tuple[Match, BallReference]]] = defaultdict(list)
    for match in matches:
        found[table_of(match)] += [
            (match, BallReference(side.number, ball.index))
            for side in match.innings
            if not side.super_over
            for ball in side.deliveries[SCALES["medium"] :]
        ]
    chosen = []
    for _, some in sorted(found.items()):
        share = min(balls // len(found), len(some))
        chosen += [some[pick] for pick in generator.choice(len(some), share, replace=False)]
    return sorted(chosen, key=lambda pair: (pair[0].dates, pair[0].match_id))


def gather(session: Session, chosen: list[tuple[Match, BallReference]]) -> dict[str, list[Told]]:
    """Every claim by kind of cricket."""
    claims: dict[str, list[Told]] = {kind: [] for kind in KINDS}
    for number, (match, reference) in enumerate(chosen, 1):
        for one in session.explain(match, ball=reference).evidence:
            kind = f"{one.kind} (for comparison)" if one.reference else one.kind
            claims[KINDS[table_of(match)]].append(
                Told(match.match_id, kind, one.verdict or PICTURE)
            )
        if sys.stderr.isatty():
            print(f"\rball {number} of {len(chosen)}", end="", file=sys.stderr)
    return claims


@one_thread()
def placebos(
    session: Session, chosen: list[tuple[Match, BallReference]], seed: int
) -> list[TestedList]:
    """Lists that nothing is true of, with the ratings as the checkpoint has them."""
    predictor = session.predictor
    shuffled = replace(predictor, model=with_shuffled_heads(predictor, seed))
    generator = np.random.default_rng(seed)
    return [
        one
        for match, reference in chosen
        for one in tested_lists(
            predictor,
            window_for(match, reference, predictor),
            shuffled,
            generator,
            outcome=None,
        )
    ]


def in_percent(one: Share) -> str:
    """A share and its interval."""
    if one.share is None or one.ci is None:
        return "-"
    return f"{100 * one.share:.1f}% [{100 * one.ci[0]:.1f}, {100 * one.ci[1]:.1f}]"


def table_of_lists(lists: list[TestedList], seed: int) -> str:
    """One line per source of lists."""
    columns = ("supported", "balls with one", "contradicted", "p at most 0.005")
    lines = [f"| lists | made | {' | '.join(columns)} |", f"|---{'|---:' * (1 + len(columns))}|"]
    for source, shares in source_shares(lists, seed).items():
        cells = map(in_percent, shares.values())
        lines.append(f"| {source} | {shares['supported'].claims} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table(claims: list[Told], seed: int) -> str:
    """One line per kind of claim."""
    by_kind: dict[str, list[Told]] = defaultdict(list)
    for one in claims:
        by_kind[one.kind].append(one)
    columns = (*VERDICTS, PICTURE)
    lines = [f"| claim | made | {' | '.join(columns)} |", f"|---{'|---:' * (1 + len(columns))}|"]
    for kind, some in by_kind.items():
        cells = [in_percent(share_of(some, verdict, seed)) for verdict in columns]
        lines.append(f"| {kind} | {len(some)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat)
    parser.add_argument("--model")
    parser.add_argument("--history", nargs="+", default=[])
    parser.add_argument("--balls", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()

    def read(sources: list[str]) -> itertools.chain[Match]:
        return itertools.chain.from_iterable(
            read_matches(source, on_error="skip") for source in sources
        )

    matches = [
        match
        for match in read(options.sources)
        if options.first is None or (match.date is not None and match.date >= options.first)
    ]
    session = Session(options.model, read(options.history) if options.history else None)
    chosen = sample(matches, options.balls, options.seed)
    claims = gather(session, chosen)
    claims[ALL] = [one for some in claims.values() for one in some]
    for kind, some in claims.items():
        if some:
            met = len({one.match_id for one in some})
            print(f"\n### {kind}: {met} matches\n\n{table(some, options.seed)}")
    lists = placebos(session, chosen, options.seed)
    print(f"\n### Lists that nothing is true of\n\n{table_of_lists(lists, options.seed)}")
    even = evenness([one.p for one in lists if one.source == "random"])
    print(f"\np of random lists: {even['distance']:.3f} from even (p {even['p']:.2f})")
    print(f"\n{len(chosen)} balls, checkpoint {session.predictor.sha256[:12]}")


if __name__ == "__main__":
    main()

"""Measure how often claims of each kind, and placebos, are supported on real balls.

    python benchmarks/verdicts.py t20s_male_json.zip t20_leagues_male_json.zip \
        --from 2024-10-24 --history t20s_male_json.zip t20_leagues_male_json.zip --balls 300

The balls have at least 36 balls before them. They are drawn with a fixed seed, and each kind of
cricket has the same number of balls. The tables show these figures, with 95% intervals over
matches:

- for each kind of claim, the number of claims and the share with each verdict. "Picture only" means
  that no claim is made about a head, because its share of the effect is too small or its attention
  is uniform.
- the share of pages that have a finding about past balls
- how often the placebos of `attnlens.cricket.lab.planted_truth` are supported
- how often it is supported that the events on the players' own balls matter, with the events in
  their real order and shuffled
- how often the rating of a random player has a p-value of at most 0.05
"""

from __future__ import annotations

import argparse
import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attnlens.cricket.explain.claims import (
    OF_PLAYERS,
    compare_knowledge,
    gather_evidence,
    matters_by_itself,
    trial_of,
)
from attnlens.cricket.explain.reading import read_ball, subject_of
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.lab.planted_truth import (
    Share,
    TestedList,
    evenness,
    share_of,
    source_shares,
    tested_lists,
    with_shuffled_heads,
)
from attnlens.cricket.lab.sampling import scrambled
from attnlens.cricket.match.competition import table_of
from attnlens.cricket.match.match import OUTCOME_INDEX, Match, Player
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.scales import SCALES
from attnlens.cricket.predictor.window import BallWindow, one_thread, window_for
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session

PICTURE = "picture only"
HAPPENED = "what happened on them supported"
FOUND, PASSES = "pages with it", "p at most 0.05"
RARITIES, ALPHA = (0.1, 0.01), 0.05
RECORDS = (("striker's record", "batter", "striker"), ("bowler's record", "bowler", "bowler"))
"""For each claim about a player's record: its kind, the field of a delivery that has the player,
and the table of ratings."""

VERDICTS = ("supported", "not better than chance", "contradicted", "cannot be told", PICTURE)

Ball = tuple[Match, BallReference]


@dataclass(frozen=True, slots=True)
class KindOfClaim:
    """A claim about a match, with its kind and its verdict."""

    match_id: str
    kind: str
    verdict: str


def sample(matches: Sequence[Match], balls: int, seed: int) -> list[Ball]:
    """Return random balls in order of date. Each kind of cricket has the same number of balls."""
    generator = np.random.default_rng(seed)
    pools: dict[int, list[Ball]] = defaultdict(list)
    for match in matches:
        pools[table_of(match)] += [
            (match, BallReference(side.number, ball.index))
            for side in match.innings
            if not side.super_over
            for ball in side.deliveries[SCALES["medium"] :]
        ]
    chosen = []
    for _, pool in sorted(pools.items()):
        share = min(balls // len(pools), len(pool))
        chosen += [pool[pick] for pick in generator.choice(len(pool), share, replace=False)]
    return sorted(chosen, key=lambda pair: (pair[0].dates, pair[0].match_id))


def claims_of(explanations: Iterable[Explanation]) -> Iterator[KindOfClaim]:
    for explanation in explanations:
        for claim in explanation.evidence:
            kind = f"{claim.kind} (for comparison)" if claim.reference else claim.kind
            yield KindOfClaim(explanation.match.match_id, kind, claim.verdict or PICTURE)


def findings_of(explanations: Iterable[Explanation]) -> Iterator[KindOfClaim]:
    """Yield, for every page, which kinds of findings about past balls it has."""
    for explanation in explanations:
        supported, of_head = (
            any(
                claim.verdict == "supported" and claim.removed and not claim.reference
                for claim in explanation.evidence
                if claim.removed_from == site
            )
            for site in ("model", "head")
        )
        done = [ball for ball in explanation.past_balls if ball.effect_log_odds is not None]
        most = max(done, key=lambda ball: abs(ball.effect_log_odds or 0.0))
        kinds = {"a supported set": supported, "a head's balls, hidden from that head": of_head}
        for rarity in RARITIES:
            rare = most.rarity is not None and most.rarity <= rarity
            kinds[f"the ball that did most is rarer than {rarity:.0%}"] = rare
            kinds[f"either of the two ({rarity:.0%})"] = rare or supported
        for kind, found in kinds.items():
            yield KindOfClaim(explanation.match.match_id, kind, FOUND if found else "none")


def with_shuffled_outcomes(window: BallWindow, generator: np.random.Generator) -> BallWindow:
    """Return the window of a ball in which the outcomes of the past balls are in another order."""
    order = generator.permutation(len(window.past))
    names = ("outcome", "runs", "runs_batter", "boundary")
    past = tuple(
        ball._replace(**{name: getattr(window.past[source], name) for name in names})
        for ball, source in zip(window.past, order.tolist(), strict=True)
    )
    batch = scrambled(window.arrays, [len(window.past)], [order[None]])
    return replace(window, batch=batch, past=past)


@one_thread()
def random_records(session: Session, balls: Sequence[Ball], seed: int) -> list[KindOfClaim]:
    """Replace the batter or the bowler by a random player, and test the rating of this player.

    As in an explanation, the rating is compared with those of players who have a similar number of
    balls.
    """
    predictor, generator = session.predictor, np.random.default_rng(seed)
    results = []
    for match, reference in balls:
        for kind, role, table in RECORDS:
            players = predictor.ratings.tables[table]
            keys = [key for key, row in players.keys.items() if players.balls[row] > 0]
            key = keys[int(generator.integers(len(keys)))]
            other = with_player(match, reference, role, Player(name=key, id=key))
            window = window_for(other, reference, predictor)
            reading = read_ball(predictor, window)
            trial = trial_of(predictor, window, reading)
            choose = partial(subject_of, window)
            tests, _ = compare_knowledge(predictor, window, reading.probabilities, trial, choose)
            results += [
                KindOfClaim(match.match_id, kind, PASSES if test.p <= ALPHA else "none")
                for test in tests
                if test.claim.kind == kind and test.p is not None
            ]
    return results


def with_player(match: Match, reference: BallReference, role: str, player: Player) -> Match:
    """Return the match in which one ball has another batter or bowler."""
    side = match.innings[reference.innings - 1]
    deliveries = list(side.deliveries)
    at = reference.index - 1
    deliveries[at] = deliveries[at]._replace(**{role: player})
    innings = list(match.innings)
    innings[reference.innings - 1] = replace(side, deliveries=tuple(deliveries))
    return replace(match, innings=tuple(innings))


@one_thread()
def placebos(session: Session, balls: Sequence[Ball], seed: int) -> list[TestedList]:
    """Test the placebos of `tested_lists`. The ratings are those of the checkpoint."""
    predictor = session.predictor
    shuffled = replace(predictor, model=with_shuffled_heads(predictor, seed))
    generator = np.random.default_rng(seed)
    lists: list[TestedList] = []
    another = None
    for match, reference in balls:
        window = window_for(match, reference, predictor)
        lists += tested_lists(predictor, window, shuffled, another, generator, outcome=None)
        another = window
    return lists


@one_thread()
def about_what_happened(
    session: Session, balls: Sequence[Ball], seed: int, *, shuffle: bool
) -> list[KindOfClaim]:
    """Test whether the events on the players' own balls matter, and return these claims.

    If ``shuffle`` is true, the events of the past balls are in random order.
    """
    predictor, generator = session.predictor, np.random.default_rng(seed)
    claims = []
    for match, reference in balls:
        window = window_for(match, reference, predictor)
        if shuffle:
            window = with_shuffled_outcomes(window, generator)
        reading = read_ball(predictor, window)
        subject, _ = subject_of(window, reading.probabilities)
        outcome = None if subject is None else OUTCOME_INDEX[subject]
        for test in gather_evidence(predictor, window, reading).tests:
            if test.claim.kind in OF_PLAYERS:
                verdict = HAPPENED if matters_by_itself(test, outcome) else test.verdict or PICTURE
                claims.append(KindOfClaim(match.match_id, test.claim.kind, verdict))
    return claims


def share_text(share: Share) -> str:
    """Format a share with its interval, such as ``5.0% [1.2, 8.8]``."""
    if share.share is None or share.ci is None:
        return "-"
    return f"{share.share:.1%} [{100 * share.ci[0]:.1f}, {100 * share.ci[1]:.1f}]"


def print_table(heads: Sequence[str], rows: Mapping[str, Sequence[Share]]) -> None:
    """Print a row for each kind of claim or source of lists. It has the number and the shares."""
    print(f"| {' | '.join(heads)} |\n|---{'|---:' * (len(heads) - 1)}|")
    for name, shares in rows.items():
        print(f"| {name} | {shares[0].claims} | {' | '.join(map(share_text, shares))} |")


def print_by_kind(
    title: str, claims: Sequence[KindOfClaim], verdicts: Sequence[str], seed: int
) -> None:
    rows = {
        kind: [
            share_of([claim for claim in claims if claim.kind == kind], verdict, seed)
            for verdict in verdicts
        ]
        for kind in dict.fromkeys(claim.kind for claim in claims)
    }
    print_table((title, "made", *verdicts), rows)
    print()


def print_placebos(lists: Sequence[TestedList], seed: int) -> None:
    heads = ("lists", "made", "supported", "balls with one", "contradicted", "p at most 0.005")
    rows = {name: [*shares.values()] for name, shares in source_shares(lists, seed).items()}
    print_table(heads, rows)
    even = evenness([tested.p for tested in lists if tested.source == "random"])
    print(f"\np of random lists: {even['distance']:.3f} from even (p {even['p']:.2f})\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat)
    parser.add_argument("--model")
    parser.add_argument("--history", nargs="+", default=[])
    parser.add_argument("--balls", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()

    def read(sources: list[str]) -> Iterator[Match]:
        for source in sources:
            yield from read_matches(source, on_error="skip")

    first = options.first or datetime.date.min
    matches = [
        match for match in read(options.sources) if (match.date or datetime.date.min) >= first
    ]
    session = Session(options.model, read(options.history) if options.history else None)
    balls = sample(matches, options.balls, options.seed)
    explanations = [session.explain(match, ball=reference) for match, reference in balls]
    print_by_kind("claim", list(claims_of(explanations)), VERDICTS, options.seed)
    print_by_kind(
        "finding about past balls", list(findings_of(explanations)), [FOUND], options.seed
    )
    print_placebos(placebos(session, balls, options.seed), options.seed)
    by_order = {
        words: about_what_happened(session, balls, options.seed, shuffle=shuffle)
        for words, shuffle in (("as it happened", False), ("in another order", True))
    }
    players = {}
    for order, made in by_order.items():
        happened = share_of(made, HAPPENED, options.seed)
        either = [
            replace(claim, verdict=claim.verdict.replace(HAPPENED, "supported")) for claim in made
        ]
        players[order] = [share_of(either, "supported", options.seed), happened]
    print_table(("balls of this batter or bowler", "made", "supported", HAPPENED), players)
    print()
    records = random_records(session, balls, options.seed)
    print_by_kind("of a random player", records, [PASSES], options.seed)
    print(f"{len(balls)} balls, checkpoint {session.predictor.sha256[:12]}")


if __name__ == "__main__":
    main()

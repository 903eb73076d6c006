"""Testing what an explanation says of a ball: take it away, and see what chance would have named.

Claims that balls mattered are tested with them hidden from the whole model, a head's claim with
them hidden from that head alone. A ball's effect is taken beside what hiding a ball in its place
does usually (`attnlens.cricket.model.usual`): that the ball before matters more than one of an hour
ago needs no telling. The balls attended most are compared with others of which as many were bowled
to this batter: that a batter's own balls matter more is a claim by itself. How claims are judged is
`attnlens.claims.trial`'s.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.shapley import Contributions, contributions
from attnlens.arrays import Floats
from attnlens.claims import claim as generic
from attnlens.claims import evidence
from attnlens.claims.claim import MODEL, Place
from attnlens.claims.trial import Trial
from attnlens.cricket.explain.ablation import OneBall, Replacement, under_knowledge, under_masks
from attnlens.cricket.explain.claims import Claim, claims_of, compare_knowledge, place_of
from attnlens.cricket.explain.heatmap import ScaleAttention
from attnlens.cricket.explain.reading import Reading
from attnlens.cricket.explain.story import ALL, asked
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.model.heads import RECENT
from attnlens.cricket.model.predictor import KNOWLEDGE
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.usual import places
from attnlens.cricket.model.window import BallWindow

Tested: TypeAlias = generic.Tested[Claim]
Evidence: TypeAlias = evidence.Evidence[Claim]

BALLS: Final = "balls"


def groups_of(window: BallWindow) -> dict[str, list[int]]:
    """Past balls by group, positions on the key axis; each under the first that fits."""
    tests = {
        "this over": "same_over",
        "this bowler to this batter": "same_matchup",
        "this bowler's earlier balls": "same_bowler",
        "this batter's earlier balls": "same_batsman",
    }
    others = ("other recent balls", "earlier balls")
    groups: dict[str, list[int]] = {name: [] for name in (*tests, *others)}
    for place, ball in enumerate(window.past):
        late = others[place < len(window.past) - RECENT]
        fitting = (name for name, relation in tests.items() if relation in ball.relations)
        groups[next(fitting, late)].append(place)
    return groups


def contributions_of(predictor: TrainedPredictor, window: BallWindow) -> Contributions:
    """Exact Shapley values of ten groups: four of knowledge, six of past balls.

    They are in probability and sum to the full prediction minus the baseline. A group without a
    ball is not played, and its part is zero.
    """
    past = len(window.past)

    def predict(masks: NDArray[np.bool_]) -> Floats:
        known = {group: masks[:, past + number] for number, group in enumerate(KNOWLEDGE)}
        return under_knowledge(predictor.model, window.batch, masks[:, :past], known)

    groups = {group: [past + number] for number, group in enumerate(KNOWLEDGE)}
    return contributions(predict, groups | groups_of(window), range(past + len(KNOWLEDGE)))


def baseline_only(predictor: TrainedPredictor, window: BallWindow) -> Floats:
    """The prediction with every group taken away, ``(11,)``."""
    nothing = {group: np.zeros(1, bool) for group in KNOWLEDGE}
    visible = np.zeros((1, len(window.past)), bool)
    result: Floats = under_knowledge(predictor.model, window.batch, visible, nothing)[0]
    return result


def gather_evidence(
    predictor: TrainedPredictor,
    window: BallWindow,
    reading: Reading,
    *,
    outcome: str | None = None,
) -> Evidence:
    """Run every intervention on one ball: groups, single balls, claims.

    Draws are from a seed that depends on the match, the innings and the ball only, so the same
    question has the same answer.

    Args:
        outcome: the outcome to explain, else the story's: effects are nats between its chance
            and that of any other, before and after. Of ``all`` the whole distribution.
    """
    shared_out = contributions_of(predictor, window)
    trial = trial_of(predictor, window, reading, outcome=outcome)
    whole = outcome == ALL
    compared = trial.compare(claims_of(window, reading.scales, reading.total, whole=whole))
    hidden = trial.hidden(MODEL)
    known, masks = compare_knowledge(predictor, window, hidden.full, trial)
    return evidence.Evidence(
        hidden=hidden,
        shared=shared_out,
        tested=trial.judge([*compared, *known]),
        spent={"contributions": shared_out.masks, "knowledge": masks, **trial.spent},
    )


def trial_of(
    predictor: TrainedPredictor,
    window: BallWindow,
    reading: Reading,
    *,
    outcome: str | None = None,
) -> Trial[Claim]:
    """The test that claims about a ball are put to; ``outcome`` as for `gather_evidence`."""
    about, lowers = asked(window, reading.probabilities, outcome)
    key = f"{window.match.match_id}/{window.innings.number}/{window.delivery.index}"
    seed = zlib.crc32(key.encode())
    return Trial(
        _places(predictor, window, reading.scales, seed),
        seed=seed,
        kinds={ball.index: "same_batsman" in ball.relations for ball in window.past},
        usual=usual_effects(predictor, window),
        outcome=None if about is None else OUTCOME_INDEX[about],
        lowers=lowers,
        items=BALLS,
    )


def usual_effects(predictor: TrainedPredictor, window: BallWindow) -> dict[int, float]:
    """What hiding a ball in the place of each past ball costs usually, nats, by its index."""
    now = window.delivery.index
    index, batter, bowler = (
        np.array([told(ball) for ball in window.past])
        for told in (
            attrgetter("index"),
            lambda ball: "same_batsman" in ball.relations,
            lambda ball: "same_bowler" in ball.relations,
        )
    )
    table = predictor.model.usual_effects.double().numpy()
    usual = table[places(now - index, batter, bowler)] if len(index) else np.zeros(0)
    return dict(zip(index.tolist(), usual.tolist(), strict=True))


def _places(
    predictor: TrainedPredictor,
    window: BallWindow,
    scales: Mapping[str, ScaleAttention],
    seed: int,
) -> dict[str, Place]:
    """The whole model, and every head."""
    ball = OneBall(predictor.model, window.batch)
    swap = Replacement(ball, seed)
    past = tuple(one.index for one in window.past)
    whole = partial(under_masks, predictor.model, window.batch)
    found = {MODEL: Place(whole, past, swap.everywhere)}
    for scale, attention in scales.items():
        keys = ball.scales[scale].keys
        for number in range(len(attention.patterns)):
            # The long scale's keys are overs: hidden one by one, and not replaced.
            over = scale == "long"
            found[place_of(scale, number)] = Place(
                partial(ball.under_masks, scale, number),
                tuple(range(keys)) if over else past[len(past) - keys :],
                None if over else partial(swap.for_head, scale, number),
                partial(_by_overs, attention) if over else None,
            )
    return found


def _by_overs(attention: ScaleAttention, claim: generic.Claim) -> generic.Claim:
    """A claim about balls as the long scale's head sees it, whose keys are overs."""
    over_of = {ball.index: ball.over for ball in attention.balls}
    return replace(
        claim,
        removed=(over_of[claim.removed[0]],),
        window=tuple(dict.fromkeys(over_of[index] for index in claim.window)),
    )

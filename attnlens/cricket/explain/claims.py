"""What an explanation of a ball claims: of past balls, of its heads' looks, of what is known.

*These balls mattered* is tested by hiding them from the whole model: the ball it attended to most,
over all paths; the four of them; this over's; the bowler's; the batter's; the last boundaries; and,
for comparison, the last four, which anybody would guess. *This head's look mattered* is tested by
hiding what the head looked at from that head alone. A ball's effect is taken beside what hiding a
ball in its place does usually (`attnlens.cricket.predictor.predictor`): that the ball before
matters more than one of an hour ago needs no telling. The balls attended most are compared with
others of which as many were bowled to this batter: that a batter's own balls matter more is a
claim by itself. How claims are judged is `attnlens.evidence.trial`'s.

What was known beside the balls before it (players, scoreboard, ground) is tested here. The effect
is KL(full ‖ with that knowledge at its null), the past as it was: a player's record is taken from
this ball, not from the past balls that player played in. The controls put another of its kind in
its place and take that away: the records of other players of whom the ratings have seen half to
twice as many balls, or the scoreboards of the `_BOARDS` balls before. So the question is whether
*this* record, or scoreboard, says more than another would.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.cricket.explain.ablation import (
    OneBall,
    Replacement,
    ask,
    under_knowledge,
    under_masks,
)
from attnlens.cricket.explain.reading import ALL, LISTED, Reading, ScaleAttention, asked, ranked
from attnlens.cricket.explain.types import ClaimKind
from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.predictor.predictor import KNOWLEDGE, places
from attnlens.cricket.predictor.relations import Batch, take
from attnlens.cricket.predictor.scales import RECENT, Scale, WindowBall, head_key, head_words
from attnlens.cricket.predictor.tensors import RATING_SCALE, SCOREBOARD_NODES
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, to_tensor
from attnlens.evidence import claim as generic
from attnlens.evidence.claim import MODEL, AblationSite, ClaimTest
from attnlens.evidence.gather import GatheredEvidence
from attnlens.evidence.null import NullDistribution
from attnlens.evidence.shapley import Contributions, contributions
from attnlens.evidence.trial import Trial
from attnlens.evidence.verdict import TOO_FEW_LIKE_IT, Judgement

_BOUNDARY: Final = (OUTCOME_INDEX["4"], OUTCOME_INDEX["6"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(generic.Claim):
    """Something the explanation says, and the balls to hide to test it.

    ``removed`` and ``window`` are indices of balls in the innings, both empty for a claim
    about what was known.
    """

    kind: ClaimKind
    scale: Scale | None = None
    head: str | None = None


def names_of(balls: Sequence[WindowBall]) -> str:
    """``ball 7.1`` or ``balls 6.2, 7.1``, oldest first."""
    labels = [ball.label for ball in sorted(balls, key=lambda ball: ball.index)]
    return f"ball{'s' * (len(labels) > 1)} {', '.join(labels)}"


def claims_of(
    window: BallWindow,
    scales: Mapping[str, ScaleAttention],
    total: Floats,
    *,
    whole: bool = False,
) -> list[Claim]:
    """What is said of past balls: first of the balls themselves, then of each head's look.

    ``total`` is attention over all paths to each past ball ``(past,)``; ``whole`` claims are about
    the whole distribution, and not about one outcome.
    """
    return [*_of_balls(window, total, whole), *_of_heads(scales)]


def _of_balls(window: BallWindow, total: Floats, whole: bool) -> Iterator[Claim]:
    recent = window.past[-RECENT:]
    inside = tuple(ball.index for ball in recent)

    def claim(kind: ClaimKind, what: str, balls: Sequence[WindowBall]) -> Claim:
        return Claim(
            text=f"{what} ({names_of(balls)})",
            kind=kind,
            removed=tuple(ball.index for ball in balls),
            window=inside,
            first=kind == "attended most",
            matched=kind == "attended",
        )

    order = np.argsort(-total[-RECENT:], kind="stable")
    attended = [recent[index] for index in order[:LISTED] if total[-RECENT:][index] > 0]
    if attended:
        yield claim("attended most", "the ball it attended to most", attended[:1])
    if len(attended) > 1:
        what = f"the {len(attended)} balls it attended to most"
        yield claim("attended", what, sorted(attended, key=lambda ball: ball.index))
    relations: dict[ClaimKind, tuple[str, str]] = {
        "this over": ("same_over", "this over so far"),
        "this bowler": ("same_bowler", f"{window.delivery.bowler.name}'s balls"),
        "this batter": ("same_batsman", f"{window.delivery.batter.name}'s balls"),
    }
    for kind, (relation, what) in relations.items():
        balls = [ball for ball in recent if relation in ball.relations]
        if balls:
            yield claim(kind, what, balls)
    boundaries = [ball for ball in recent if ball.boundary][-LISTED:]
    if boundaries:
        one = len(boundaries) == 1
        last = claim("boundaries", f"the last {'boundary' if one else 'boundaries'}", boundaries)
        if whole:
            text = f"{last.text} {'raises' if one else 'raise'} the chance of another"
            last = replace(last, text=text, raises=_BOUNDARY)
        yield last
    before = recent[-LISTED:]
    if before:
        what = f"the last {len(before)} balls" if before[1:] else "the ball before"
        yield claim("last balls", what, before)


def _of_heads(scales: Mapping[str, ScaleAttention]) -> Iterator[Claim]:
    """That the balls a head looked at most mattered to what that head said."""
    for scale, attention in scales.items():
        inside = tuple(ball.index for ball in attention.balls)
        for number, pattern in enumerate(attention.patterns):
            row = attention.rows[number]
            listed = [attention.balls[index] for index in ranked(attention.balls, row)[:LISTED]]
            if not listed:
                continue
            looked_at, keys, named = names_of(listed), len(attention.balls), len(listed)
            if scale == "long":
                # The head saw one summary of the over: its balls cannot be told apart.
                over = listed[0].over
                listed = [ball for ball in attention.balls if ball.over == over]
                looked_at = f"over {over} ({names_of(listed)})"
                keys, named = len({ball.over for ball in attention.balls}), 1
            weights = dict(zip(inside, row, strict=True))
            share = sum(weights[ball.index] for ball in listed) / sum(weights.values())
            whose = head_words(number, attention.earned[number])
            yield Claim(
                text=f"on the {scale} scale, {whose} looked most at {looked_at}",
                kind="head",
                removed=tuple(ball.index for ball in listed),
                window=inside,
                lift=share * keys / named,
                scale=attention.scale,
                head=head_key(number, pattern),
                site=site_of(scale, number),
            )


def site_of(scale: str, number: int) -> str:
    return f"{scale}/{number}"


MOST: Final = 199
"""Alternatives tried at most."""

FEWEST: Final = 20
"""With fewer alternatives than this a share of them says nothing."""

_BOARDS: Final = 60
"""How far back a scoreboard still is one of a similar situation."""

ONE_GROUND: Final = "no other ground and teams were tried"
NEVER_MET: Final = "the model has never seen this player: there is nothing to take away"

_PLAYERS: Final = {
    "striker's record": ("striker", "batsman_identity"),
    "bowler's record": ("bowler", "bowler_identity"),
}


def knowledge_claims(window: BallWindow) -> dict[str, Claim]:
    innings, ball = window.innings, window.delivery
    board: ClaimKind = "the scoreboard"
    told = f"the scoreboard ({ball.score_before}/{ball.wickets_before}, over {ball.over})"
    if innings.target is not None:
        board = "the chase"
        needed = max(innings.target - ball.score_before, 0)
        down = f"{ball.wickets_before} down, over {ball.over}"
        told = f"the chase ({needed} more to win, {down})"
    where = window.match.venue or "the ground"
    texts: dict[ClaimKind, str] = {
        "venue and teams": f"what is known of {where} and of the two sides",
        "striker's record": f"{ball.batter.name}'s record as a batter",
        "bowler's record": f"{ball.bowler.name}'s record as a bowler",
        board: told,
    }
    claims = (Claim(text=text, kind=kind, removed=(), window=()) for kind, text in texts.items())
    return dict(zip(KNOWLEDGE, claims, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The knowledge of one ball, to take away or to put another's in its place."""

    predictor: TrainedPredictor
    window: BallWindow

    def tried(self, others: Mapping[str, NDArray[np.int64]]) -> tuple[Floats, dict[str, Floats]]:
        """What the model says without each group of `KNOWLEDGE`, and with others in its place.

        ``others`` are alternatives by group. Probabilities ``(group, outcome)``, and by group
        ``(other, outcome)``.
        """
        rows = len(KNOWLEDGE) + sum(map(len, others.values()))
        graph: Batch = take(self.window.batch["graph_data"], [0] * rows)
        graph["known"] = {group: torch.ones(1, rows, dtype=torch.bool) for group in KNOWLEDGE}
        for number, group in enumerate(KNOWLEDGE):
            graph["known"][group][0, number] = False
        places: dict[str, slice] = {}
        end = len(KNOWLEDGE)
        for group, which in others.items():
            places[group] = slice(end, end + len(which))
            end += len(which)
            self._put(graph, places[group], group, which)
        sequence = self.window.batch["sequence"]
        everything: Tensor = sequence["visible"].expand(1, rows, -1)
        sequence = {**sequence, "now": take(sequence["now"], [0] * rows), "visible": everything}
        told = ask(self.predictor.model, graph, sequence)
        return told[: len(KNOWLEDGE)], {group: told[index] for group, index in places.items()}

    def others(self, group: str, generator: np.random.Generator) -> NDArray[np.int64]:
        """The alternatives for a group, in the order in which they are tried."""
        if group == "scoreboard":
            past = len(self.window.past)
            return generator.permutation(np.arange(max(0, past - _BOARDS), past))
        if group not in _PLAYERS or not self._met(group):
            return np.zeros(0, np.int64)
        table = self.predictor.ratings.tables[_PLAYERS[group][0]]
        ball, ratings = self.window.delivery, self.predictor.ratings
        player = ball.batter if group == "striker's record" else ball.bowler
        own = table.row(ratings.player_key(player))
        seen = float(table.balls[own]) if own >= 0 else 0.0
        balls = table.balls[: len(table.keys)]
        alike = (balls >= seen / 2) & (balls <= 2 * seen) & (balls > 0)
        rows = np.flatnonzero(alike)
        return generator.permutation(rows[rows != own])[:MOST]

    def why_no_others(self, group: str) -> str:
        """Why there is nothing to compare a group with, where there is not."""
        if group in _PLAYERS and not self._met(group):
            return NEVER_MET
        return ONE_GROUND if group == "venue and teams" else TOO_FEW_LIKE_IT

    def _met(self, group: str) -> bool:
        return bool(self.window.arrays.met[_PLAYERS[group][0]][self.window.delivery.index - 1])

    def _put(self, graph: Batch, rows: slice, group: str, others: NDArray[np.int64]) -> None:
        if group == "scoreboard":
            arrays = self.window.arrays
            for node in SCOREBOARD_NODES:
                graph["nodes"][node][0, rows] = to_tensor(arrays.nodes[node][others])
            graph["base"][0, rows] = to_tensor(arrays.base[others])
            return
        kind, node = _PLAYERS[group]
        tables = self.predictor.ratings.tables
        names = list(tables[kind].keys)
        ball = self.window.delivery
        phase = phase_of(ball.legal_balls_before, quota_of(self.window.match, self.window.innings))
        by_phase = tables[f"{kind}_phase"]
        places = np.array([by_phase.row(f"{names[other]}#{phase}") for other in others], np.int64)
        rating, balls = tables[kind].look_up(others)
        rating = rating + by_phase.look_up(places)[0]
        features = graph["nodes"][node][0, rows]
        told = np.concatenate([RATING_SCALE * rating, np.log1p(balls)[:, None] / 6], axis=1)
        features[:, : told.shape[1]] = torch.from_numpy(told)
        features[:, -1] = 0
        graph["ratings"][kind][0, rows] = to_tensor(rating)


def compare_knowledge(
    predictor: TrainedPredictor, window: BallWindow, full: Floats, trial: Trial[Claim]
) -> tuple[list[ClaimTest[Claim]], int]:
    """What each group of `KNOWLEDGE` would leave if taken away, and what others like it would have
    told.

    With it goes how many masks were asked about.
    """
    known = Known(predictor, window)
    alternatives = {
        group: known.others(group, np.random.default_rng([trial.seed, number]))
        for number, group in enumerate(KNOWLEDGE)
    }
    enough = {group: which for group, which in alternatives.items() if len(which) >= FEWEST}
    without, instead = known.tried(enough)
    tests = []
    for number, (group, claim) in enumerate(knowledge_claims(window).items()):
        after, others = without[number], instead.get(group)
        statistic = float(trial.change(full, after))
        changes = np.zeros(0) if others is None else trial.change(others, after)
        null = NullDistribution(changes, exhaustive=False)
        tests.append(
            ClaimTest(
                claim=claim,
                removed=(),
                probabilities=after,
                effect=float(trial.effect(full, after)),
                points=100 * (after - full),
                singles=np.zeros(0),
                null_effects=np.zeros(0) if others is None else trial.effect(others, after),
                statistic=statistic,
                null_statistics=null.values,
                p=None if others is None else null.p_high(statistic),
                p_best=1 / (len(null.values) + 1),
                untested=Judgement("cannot be told", known.why_no_others(group))
                if others is None
                else None,
            )
        )
    return tests, len(KNOWLEDGE) + sum(map(len, enough.values()))


BallClaimTest: TypeAlias = ClaimTest[Claim]
BallEvidence: TypeAlias = GatheredEvidence[Claim]

_BALLS: Final = "balls"


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
    for index, ball in enumerate(window.past):
        late = others[index < len(window.past) - RECENT]
        fitting = (name for name, relation in tests.items() if relation in ball.relations)
        groups[next(fitting, late)].append(index)
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
) -> BallEvidence:
    """Run every intervention on one ball: groups, single balls, claims.

    Draws are from a seed that depends on the match, the innings and the ball only, so the same
    question has the same answer. Effects are nats between the chance of ``outcome``, else the
    story's, and that of any other, before and after; of ``all`` the whole distribution.
    """
    shapley = contributions_of(predictor, window)
    trial = trial_of(predictor, window, reading, outcome=outcome)
    whole = outcome == ALL
    tests = trial.compare(claims_of(window, reading.scales, reading.total, whole=whole))
    leave_one_out = trial.leave_one_out(MODEL)
    of_knowledge, masks = compare_knowledge(predictor, window, leave_one_out.full, trial)
    return GatheredEvidence(
        leave_one_out=leave_one_out,
        contributions=shapley,
        tests=trial.judge([*tests, *of_knowledge]),
        n_evaluations={"contributions": shapley.masks, "knowledge": masks, **trial.n_evaluations},
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
        _sites(predictor, window, reading.scales, seed),
        seed=seed,
        kinds={ball.index: "same_batsman" in ball.relations for ball in window.past},
        usual=usual_effects(predictor, window),
        outcome=None if about is None else OUTCOME_INDEX[about],
        lowers=lowers,
        items=_BALLS,
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


def _sites(
    predictor: TrainedPredictor,
    window: BallWindow,
    scales: Mapping[str, ScaleAttention],
    seed: int,
) -> dict[str, AblationSite]:
    """The whole model, and every head."""
    ball = OneBall(predictor.model, window.batch)
    swap = Replacement(ball, seed)
    past = tuple(one.index for one in window.past)
    whole = partial(under_masks, predictor.model, window.batch)
    found = {MODEL: AblationSite(whole, past, swap.everywhere)}
    for scale, attention in scales.items():
        keys = ball.scales[scale].keys
        for number in range(len(attention.patterns)):
            # The long scale's keys are overs: hidden one by one, and not replaced.
            over = scale == "long"
            found[site_of(scale, number)] = AblationSite(
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

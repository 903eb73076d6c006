"""Test the claims of an explanation: about past balls, about heads, and about other inputs.

To test whether past balls mattered, the balls are hidden from the whole model. To test whether a
head's attention mattered, the balls are hidden from that head only. The effect is compared with the
effects of hiding comparable balls (`attnlens.cricket.predictor.predictor.places`). For a set of
balls, the test first subtracts the part of the effect that distance and players explain. For the
set of a player's balls, the test subtracts only the part that distance explains.

For other inputs (the groups of `KNOWLEDGE`), the effect is KL(full prediction ‖ prediction with the
input hidden). The null distribution contains the effects of hiding alternatives to the input. The
alternatives to a player's record are the records of players with between half and twice as many
rated balls. The alternatives to the scoreboard are the scoreboards of earlier balls.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.explain.ablation import (
    ExpectedOutcomes,
    OneBall,
    ask,
    under_knowledge,
    under_masks,
)
from attnlens.cricket.explain.reading import (
    ALL,
    MAX_LISTED_BALLS,
    Reading,
    ScaleAttention,
    ranked,
    subject_of,
)
from attnlens.cricket.explain.types import ClaimKind
from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.match import OUTCOME_INDEX, Outcome
from attnlens.cricket.predictor.predictor import EFFECT_LEVELS, KNOWLEDGE, places
from attnlens.cricket.predictor.relations import Batch, take
from attnlens.cricket.predictor.scales import RECENT, Scale, WindowBall, head_key, head_words
from attnlens.cricket.predictor.tensors import RATING_SCALE, SCOREBOARD_NODES
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, to_tensor
from attnlens.evidence import claim as generic
from attnlens.evidence.claim import (
    MODEL,
    AblationSite,
    ClaimTest,
    NullDistribution,
    ReferenceDistribution,
)
from attnlens.evidence.scores import divergence, log_odds
from attnlens.evidence.shapley import Contributions, contributions
from attnlens.evidence.trial import GatheredEvidence, Trial
from attnlens.evidence.verdict import Q_LEVEL, TOO_FEW_LIKE_IT, Judgement, noticeable
from attnlens.files import Floats

_MIN_CARRIED: Final = 0.05
"""A head with a smaller share of the past balls' effect is not tested."""

OF_PLAYERS: Final[tuple[ClaimKind, ...]] = ("this bowler", "this batter")
BY_DISTANCE, BY_STRUCTURE = (0,), (0, 1, 2)
"""Columns of `_structure` whose effects the test subtracts."""

_BOUNDARY: Final = (OUTCOME_INDEX["4"], OUTCOME_INDEX["6"])


@dataclass(frozen=True, slots=True, kw_only=True)
class BallClaim(generic.Claim):
    """A claim in the explanation.

    ``removed`` contains the indices of the hidden balls. Control sets are drawn from the balls with
    the indices in ``window``. ``removed`` and ``window`` are empty for a claim about other inputs.
    """

    kind: ClaimKind
    scale: Scale | None = None
    head: str | None = None

    @property
    def family(self) -> str:
        """The p-values of all claims with the same family are corrected together."""
        return "page"


def names_of(balls: Sequence[WindowBall]) -> str:
    """Return text such as ``ball 7.1`` or ``balls 6.2, 7.1``."""
    labels = [ball.label for ball in sorted(balls, key=lambda ball: ball.index)]
    return f"ball{'s' * (len(labels) > 1)} {', '.join(labels)}"


def claims_of(
    window: BallWindow,
    scales: Mapping[str, ScaleAttention],
    total: Floats,
    *,
    all_outcomes: bool = False,
) -> list[BallClaim]:
    """Return the claims about past balls, and then the claims about heads.

    Args:
        total: each past ball's share of the attention over all heads, shape ``(past,)``.
        all_outcomes: whether the claims are about the whole distribution.
    """
    return [*_of_balls(window, total, all_outcomes), *_of_heads(scales)]


def _of_balls(window: BallWindow, total: Floats, all_outcomes: bool) -> Iterator[BallClaim]:
    recent = window.past[-RECENT:]
    inside = tuple(ball.index for ball in recent)

    def claim(kind: ClaimKind, words: str, balls: Sequence[WindowBall]) -> BallClaim:
        return BallClaim(
            text=f"{words} ({names_of(balls)})",
            kind=kind,
            removed=tuple(ball.index for ball in balls),
            window=inside,
            first=kind == "attended most",
            beyond=BY_DISTANCE if kind in OF_PLAYERS else BY_STRUCTURE,
        )

    order = np.argsort(-total[-RECENT:], kind="stable")
    attended = [recent[index] for index in order[:MAX_LISTED_BALLS] if total[-RECENT:][index] > 0]
    if attended:
        yield claim("attended most", "the most attended ball", attended[:1])
    if len(attended) > 1:
        words = f"the {len(attended)} most attended balls"
        yield claim("attended", words, sorted(attended, key=lambda ball: ball.index))
    relations: dict[ClaimKind, tuple[str, str]] = {
        "this over": ("same_over", "this over so far"),
        "this bowler": ("same_bowler", f"{window.delivery.bowler.name}'s balls"),
        "this batter": ("same_batsman", f"{window.delivery.batter.name}'s balls"),
    }
    for kind, (relation, words) in relations.items():
        balls = [ball for ball in recent if relation in ball.relations]
        if balls:
            yield claim(kind, words, balls)
    boundaries = [ball for ball in recent if ball.boundary][-MAX_LISTED_BALLS:]
    if boundaries:
        noun, verb = ("boundary", "raises") if len(boundaries) == 1 else ("boundaries", "raise")
        last = claim("boundaries", f"the last {noun}", boundaries)
        if all_outcomes:
            text = f"{last.text} {verb} the probability of another"
            last = replace(last, text=text, raises=_BOUNDARY)
        yield last
    before = recent[-MAX_LISTED_BALLS:]
    if before:
        words = f"the last {len(before)} balls" if before[1:] else "the ball before"
        yield claim("last balls", words, before)


def _of_heads(scales: Mapping[str, ScaleAttention]) -> Iterator[BallClaim]:
    for scale, attention in scales.items():
        for number, pattern in enumerate(attention.patterns):
            if attention.carries[number] < _MIN_CARRIED:
                continue
            row = attention.rows[number]
            order = ranked(attention.balls, row)[:MAX_LISTED_BALLS]
            balls = [attention.balls[index] for index in order]
            if not balls:
                continue
            looked_at, claimed = names_of(balls), len(balls)
            keys = sum(weight > 0 for weight in row)
            if scale == "long":
                # The head sees one summary of each over, so only whole overs can be hidden.
                over = balls[0].over
                balls = [ball for ball in attention.balls if ball.over == over]
                looked_at = f"over {over} ({names_of(balls)})"
                keys, claimed = len({ball.over for ball in attention.balls}), 1
            weights = {ball.index: row[at] for at, ball in enumerate(attention.balls)}
            inside = tuple(index for index, weight in weights.items() if weight > 0)
            share = sum(weights[ball.index] for ball in balls) / sum(weights.values())
            whose = head_words(number, attention.earned[number])
            yield BallClaim(
                text=f"on the {scale} scale, {whose} looked most at {looked_at}",
                kind="head",
                removed=tuple(ball.index for ball in balls),
                window=inside,
                lift=share * keys / claimed,
                scale=attention.scale,
                head=head_key(number, pattern),
                site=site_of(scale, number),
            )


def site_of(scale: str, number: int) -> str:
    return f"{scale}/{number}"


MAX_ALTERNATIVES: Final = 199
MIN_ALTERNATIVES: Final = 20
"""With fewer alternatives, no p-value is computed."""

_SCOREBOARD_BALLS: Final = 60
"""The maximum number of previous balls whose scoreboards are alternatives."""

ONE_GROUND: Final = "not compared with other grounds and teams"

_PLAYERS: Final = {
    "striker's record": ("striker", "batsman_identity"),
    "bowler's record": ("bowler", "bowler_identity"),
}


def has_record(window: BallWindow, group: str) -> bool:
    """Return whether a record group's player has a rating; for other groups, return true."""
    if group not in _PLAYERS:
        return True
    return bool(window.arrays.met[_PLAYERS[group][0]][window.delivery.index - 1])


def knowledge_claims(window: BallWindow) -> dict[str, BallClaim]:
    """Return the claim about each group of `KNOWLEDGE`, except for players without a rating."""
    innings, ball = window.innings, window.delivery
    board: ClaimKind = "the scoreboard"
    score = f"the scoreboard ({ball.score_before}/{ball.wickets_before}, over {ball.over})"
    if innings.target is not None:
        board = "the chase"
        needed = max(innings.target - ball.score_before, 0)
        down = f"{ball.wickets_before} down, over {ball.over}"
        score = f"the chase ({needed} more to win, {down})"
    ground = window.match.venue or "the ground"
    texts: dict[ClaimKind, str] = {
        "venue and teams": f"what the model knows about {ground} and the two sides",
        "striker's record": f"{ball.batter.name}'s record as a batter",
        "bowler's record": f"{ball.bowler.name}'s record as a bowler",
        board: score,
    }
    claims = (
        BallClaim(text=text, kind=kind, removed=(), window=()) for kind, text in texts.items()
    )
    by_group = dict(zip(KNOWLEDGE, claims, strict=True))
    return {group: claim for group, claim in by_group.items() if has_record(window, group)}


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """The inputs for one ball, except past balls, that can be hidden or replaced."""

    predictor: TrainedPredictor
    window: BallWindow

    def predict(
        self, alternatives: Mapping[str, NDArray[np.int64]]
    ) -> tuple[Floats, dict[str, Floats]]:
        """Return predictions with each group of `KNOWLEDGE` hidden, and with groups replaced.

        Args:
            alternatives: for each group to replace, the indices of its alternatives.

        Returns:
            The probabilities with each group hidden, shape ``(group, outcome)``.
            For each replaced group, the probabilities, shape ``(alternative, outcome)``.
        """
        rows = len(KNOWLEDGE) + sum(map(len, alternatives.values()))
        graph: Batch = take(self.window.batch["graph_data"], [0] * rows)
        graph["known"] = {group: torch.ones(1, rows, dtype=torch.bool) for group in KNOWLEDGE}
        for number, group in enumerate(KNOWLEDGE):
            graph["known"][group][0, number] = False
        slices: dict[str, slice] = {}
        end = len(KNOWLEDGE)
        for group, indices in alternatives.items():
            slices[group] = slice(end, end + len(indices))
            end += len(indices)
            self._replace(graph, slices[group], group, indices)
        sequence = self.window.batch["sequence"]
        visible: Tensor = sequence["visible"].expand(1, rows, -1)
        sequence = {**sequence, "now": take(sequence["now"], [0] * rows), "visible": visible}
        probs = ask(self.predictor.model, graph, sequence)
        return probs[: len(KNOWLEDGE)], {group: probs[index] for group, index in slices.items()}

    def alternatives(self, group: str, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the indices of the alternatives for a group, in random order.

        For a player's record, the indices are rows of a rating table. For the scoreboard, the
        indices are positions of earlier balls. Other groups have no alternatives.
        """
        if group == "scoreboard":
            past = len(self.window.past)
            return generator.permutation(np.arange(max(0, past - _SCOREBOARD_BALLS), past))
        if group not in _PLAYERS or not has_record(self.window, group):
            return np.zeros(0, np.int64)
        table = self.predictor.ratings.tables[_PLAYERS[group][0]]
        ball, ratings = self.window.delivery, self.predictor.ratings
        player = ball.batter if group == "striker's record" else ball.bowler
        own = table.row(ratings.player_key(player))
        own_balls = float(table.balls[own]) if own >= 0 else 0.0
        balls = table.balls[: len(table.keys)]
        alike = (balls >= own_balls / 2) & (balls <= 2 * own_balls) & (balls > 0)
        rows = np.flatnonzero(alike)
        return generator.permutation(rows[rows != own])[:MAX_ALTERNATIVES]

    def _replace(
        self, graph: Batch, rows: slice, group: str, alternatives: NDArray[np.int64]
    ) -> None:
        if group == "scoreboard":
            arrays = self.window.arrays
            for node in SCOREBOARD_NODES:
                graph["nodes"][node][0, rows] = to_tensor(arrays.nodes[node][alternatives])
            graph["base"][0, rows] = to_tensor(arrays.base[alternatives])
            return
        kind, node = _PLAYERS[group]
        tables = self.predictor.ratings.tables
        names = list(tables[kind].keys)
        ball = self.window.delivery
        phase = phase_of(ball.legal_balls_before, quota_of(self.window.match, self.window.innings))
        by_phase = tables[f"{kind}_phase"]
        keys = [by_phase.row(f"{names[index]}#{phase}") for index in alternatives]
        rating, balls = tables[kind].look_up(alternatives)
        rating = rating + by_phase.look_up(np.array(keys, np.int64))[0]
        features = graph["nodes"][node][0, rows]
        record = np.concatenate([RATING_SCALE * rating, np.log1p(balls)[:, None] / 6], axis=1)
        features[:, : record.shape[1]] = torch.from_numpy(record)
        features[:, -1] = 0
        graph["ratings"][kind][0, rows] = to_tensor(rating)


def compare_knowledge(
    predictor: TrainedPredictor,
    window: BallWindow,
    full: Floats,
    trial: Trial[BallClaim],
    choose: Callable[[Floats], tuple[Outcome | None, bool]],
) -> tuple[list[ClaimTest[BallClaim]], int]:
    """Compare each group of `KNOWLEDGE` with its alternatives, to test the claim about the group.

    For each alternative, the explained outcome is chosen again.

    Args:
        choose: `subject_of` as a function of the probabilities ``(11,)`` only.

    Returns:
        The tests, and the number of evaluated masks.
    """
    knowledge = Knowledge(predictor, window)
    alternatives = {
        group: knowledge.alternatives(group, np.random.default_rng([trial.seed, number]))
        for number, group in enumerate(KNOWLEDGE)
    }
    enough = {group: rows for group, rows in alternatives.items() if len(rows) >= MIN_ALTERNATIVES}
    predicted, replaced = knowledge.predict(enough)
    hidden = dict(zip(KNOWLEDGE, predicted, strict=True))
    tests = []
    for group, claim in knowledge_claims(window).items():
        after, controls = hidden[group], replaced.get(group)
        rows = np.zeros((0, len(full))) if controls is None else controls
        statistic, *changes = (_change_of(choose, before, after) for before in (full, *rows))
        null = NullDistribution(np.array(changes), exhaustive=False)
        reason = ONE_GROUND if group == "venue and teams" else TOO_FEW_LIKE_IT
        tests.append(
            ClaimTest(
                claim=claim,
                removed=(),
                full=full,
                probabilities=after,
                effect=float(trial.effect(full, after)),
                singles=np.zeros(0),
                null_effects=np.zeros(0) if controls is None else trial.effect(controls, after),
                statistic=statistic,
                null_statistics=null.values,
                p=None if controls is None else null.p_high(statistic),
                p_best=1 / (len(null.values) + 1),
                untested=Judgement("cannot be told", reason) if controls is None else None,
            )
        )
    return tests, len(KNOWLEDGE) + sum(map(len, enough.values()))


def _change_of(
    choose: Callable[[Floats], tuple[Outcome | None, bool]], before: Floats, after: Floats
) -> float:
    """Return how much hiding an input lowers the explained outcome's log-odds.

    The sign is reversed for an outcome that is less likely than usual. Without an explained
    outcome, the result is the KL divergence in nats.
    """
    subject, lowers = choose(before)
    if subject is None:
        return float(divergence(before, after))
    at = [OUTCOME_INDEX[subject]]
    change = float(log_odds(before, at) - log_odds(after, at))
    return -change if lowers else change


BallClaimTest: TypeAlias = ClaimTest[BallClaim]
BallEvidence: TypeAlias = GatheredEvidence[BallClaim]

_BALLS: Final = "balls"


def groups_of(window: BallWindow) -> dict[str, list[int]]:
    """Return the positions of each group's balls. A ball belongs to the first matching group."""
    tests = {
        "this over": "same_over",
        "this bowler to this batter": "same_matchup",
        "this bowler's earlier balls": "same_bowler",
        "this batter's earlier balls": "same_batsman",
    }
    by_age = ("other recent balls", "earlier balls")
    groups: dict[str, list[int]] = {name: [] for name in (*tests, *by_age)}
    for index, ball in enumerate(window.past):
        rest = by_age[index < len(window.past) - RECENT]
        fitting = (name for name, relation in tests.items() if relation in ball.relations)
        groups[next(fitting, rest)].append(index)
    return groups


def contributions_of(predictor: TrainedPredictor, window: BallWindow) -> Contributions:
    """Return exact Shapley values for six groups of past balls and four groups of other inputs.

    The values are differences of probabilities. The sum of all values is the prediction minus the
    baseline. A group without balls has the value zero.
    """
    past = len(window.past)

    def predict(masks: NDArray[np.bool_]) -> Floats:
        knowledge = {group: masks[:, past + n] for n, group in enumerate(KNOWLEDGE)}
        return under_knowledge(predictor.model, window.batch, masks[:, :past], knowledge)

    groups = {group: [past + number] for number, group in enumerate(KNOWLEDGE)}
    return contributions(predict, groups | groups_of(window), range(past + len(KNOWLEDGE)))


def baseline_only(predictor: TrainedPredictor, window: BallWindow) -> Floats:
    """Return the prediction with every group hidden, shape ``(11,)``."""
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
    """Hide groups of inputs, single past balls, and the balls of claims.

    Random draws are seeded by the match, the innings and the ball.

    Args:
        outcome: the explained outcome, or ``all`` for the whole distribution. By default,
            `subject_of` chooses the outcome. Effects (in nats) are about the event that this
            outcome happens.
    """
    shapley = contributions_of(predictor, window)
    trial = trial_of(predictor, window, reading, outcome=outcome)
    claims = claims_of(window, reading.scales, reading.total, all_outcomes=outcome == ALL)
    tests = trial.compare(claims)
    leave_one_out = trial.leave_one_out(MODEL)
    choose = partial(subject_of, window, outcome=outcome)
    of_knowledge, masks = compare_knowledge(predictor, window, leave_one_out.full, trial, choose)
    judged = with_controls(
        trial, with_outcomes_replaced(trial, trial.judge([*tests, *of_knowledge]))
    )
    return GatheredEvidence(
        leave_one_out=leave_one_out,
        contributions=shapley,
        tests=judged,
        rarity=rarity_of(predictor, window, trial, choose(leave_one_out.full)[0]),
        n_evaluations={"contributions": shapley.masks, "knowledge": masks, **trial.n_evaluations},
    )


def with_outcomes_replaced(
    trial: Trial[BallClaim], tests: Sequence[BallClaimTest]
) -> list[BallClaimTest]:
    """Test each supported claim about past balls again, with `ExpectedOutcomes`.

    The significance level is the same as in the first test.
    """
    supported = [
        number
        for number, test in enumerate(tests)
        if test.verdict == "supported" and test.removed and test.removed_from == MODEL
    ]
    results = list(tests)
    claims = [replace(tests[number].claim, site=_AS_EXPECTED, first=False) for number in supported]
    for number, test in zip(supported, trial.compare(claims) if claims else (), strict=True):
        results[number] = replace(tests[number], outcomes_replaced=test)
    return results


def matters_by_itself(test: BallClaimTest, outcome: int | None) -> bool:
    """Return whether the second test shows that the outcomes of the balls matter."""
    second = test.outcomes_replaced
    if second is None or second.p is None or second.p > Q_LEVEL:
        return False
    points = second.points if outcome is None else second.points[[outcome]]
    return second.statistic > 0 and noticeable(second.effect, points)


def with_controls(trial: Trial[BallClaim], tests: Sequence[BallClaimTest]) -> list[BallClaimTest]:
    """Return the tests. Tests of claims about past balls get ``control_probs``."""
    claims = [
        number
        for number, test in enumerate(tests)
        if test.removed and test.removed_from == MODEL and test.control_sets
    ]
    sets = [items for number in claims for items in tests[number].control_sets]
    results = list(tests)
    if sets:
        probs = np.split(trial.probs_without(MODEL, sets), len(claims))
        for number, rows in zip(claims, probs, strict=True):
            results[number] = replace(tests[number], control_probs=rows)
    return results


def trial_of(
    predictor: TrainedPredictor,
    window: BallWindow,
    reading: Reading,
    *,
    outcome: str | None = None,
) -> Trial[BallClaim]:
    """Return the `Trial` for a ball. For ``outcome``, see `gather_evidence`."""
    subject, lowers = subject_of(window, reading.probabilities, outcome)
    rule, _ = subject_of(window, reading.probabilities)
    key = f"{window.match.match_id}/{window.innings.number}/{window.delivery.index}"
    seed = zlib.crc32(key.encode())
    usual, reference = usual_changes(predictor, window, subject, lowers, by_rule=subject == rule)
    # The usual mean was measured by hiding balls. It does not apply to replaced outcomes, so it is
    # set to 0.
    replaced = {index: (0.0, deviation) for index, (_, deviation) in usual.items()}
    return Trial(
        _sites(predictor, window, reading),
        seed=seed,
        usual={MODEL: usual, _AS_EXPECTED: replaced},
        reference=reference,
        structure=_structure(window),
        outcome=None if subject is None else OUTCOME_INDEX[subject],
        lowers=lowers,
        items=_BALLS,
    )


def _structure(window: BallWindow) -> dict[int, tuple[float, ...]]:
    return {
        ball.index: (
            math.log(window.delivery.index - ball.index),
            float("same_batsman" in ball.relations),
            float("same_bowler" in ball.relations),
        )
        for ball in window.past
    }


def usual_changes(
    predictor: TrainedPredictor,
    window: BallWindow,
    subject: Outcome | None,
    lowers: bool,
    *,
    by_rule: bool,
) -> tuple[dict[int, tuple[float, float]], ReferenceDistribution | None]:
    """Return the usual effect of hiding each past ball, measured on similar balls in other innings.

    Similar balls have a similar distance and the same relations to the current batter and bowler.
    An effect in the claimed direction is positive.

    Args:
        subject: the explained outcome, or ``None`` for the whole distribution.
        lowers: whether the claims say that balls lower the probability of ``subject``.
        by_rule: true for effects on the outcomes that `subject_outcome` chose; false for effects on
            ``subject``.

    Returns:
        A mapping from each past ball's index to the mean and the standard deviation of the effect.
        The distribution of standardised effects; ``None`` if not measured or without past balls.
    """
    if not window.past:
        return {}, None
    model = predictor.model
    index = np.array([ball.index for ball in window.past])
    batter, bowler = (
        np.array([name in ball.relations for ball in window.past])
        for name in ("same_batsman", "same_bowler")
    )
    where = places(window.delivery.index - index, batter, bowler)
    table, quantiles = (
        part.double().numpy() for part in (model.usual_effects, model.effect_quantiles)
    )
    row = _NATS_ROW if subject is None else OUTCOME_INDEX[subject]
    mean, deviation = table[row, where].T
    reference = ReferenceDistribution(quantiles[row], np.array(EFFECT_LEVELS))
    if lowers:
        mean, reference = -mean, reference.mirrored()
    if by_rule and subject is not None:
        claimed_mean, claimed_deviation = table[_CLAIMED_ROW, where].T
        mean, deviation = deviation * claimed_mean, deviation * claimed_deviation
        reference = ReferenceDistribution(quantiles[_CLAIMED_ROW], np.array(EFFECT_LEVELS))
    usual = zip(mean.tolist(), deviation.tolist(), strict=True)
    measured = bool(quantiles.any())
    return dict(zip(index.tolist(), usual, strict=True)), reference if measured else None


_NATS_ROW, _CLAIMED_ROW = -2, -1
"""Rows of the model's tables: effects on the whole distribution, and on the explained outcome."""


def rarity_of(
    predictor: TrainedPredictor,
    window: BallWindow,
    trial: Trial[BallClaim],
    subject: Outcome | None,
) -> dict[int, float | None]:
    """Return the rarity of each past ball's effect, by the index of the ball.

    The rarity is the share of similar balls in other innings whose effect is at least as large, in
    either direction. Without a measured distribution, every rarity is ``None``.
    """
    usual, reference = usual_changes(predictor, window, subject, trial.lowers, by_rule=False)
    loo = trial.leave_one_out(MODEL)
    rarity: dict[int, float | None] = dict.fromkeys(usual)
    if reference is not None:
        changes = trial.change(loo.full, np.array(list(loo.loo_probs.values())))
        for index, change in zip(loo.loo_probs, changes.tolist(), strict=True):
            mean, deviation = usual[index]
            rarity[index] = reference.rarity((change - mean) / deviation)
    return rarity


_AS_EXPECTED: Final = "happened"


def _sites(
    predictor: TrainedPredictor, window: BallWindow, reading: Reading
) -> dict[str, AblationSite]:
    ball = OneBall(predictor.model, window.batch)
    past = tuple(earlier.index for earlier in window.past)
    model = partial(under_masks, predictor.model, window.batch)
    as_expected = ExpectedOutcomes(predictor.model, window.batch)
    sites = {
        MODEL: AblationSite(model, past),
        _AS_EXPECTED: AblationSite(as_expected.under_masks, past),
    }
    for scale, attention in reading.scales.items():
        keys = ball.scales[scale].keys
        for number in range(len(attention.patterns)):
            # The keys of the long scale are overs, so whole overs are hidden.
            over = scale == "long"
            sites[site_of(scale, number)] = AblationSite(
                partial(ball.under_masks, scale, number),
                tuple(range(keys)) if over else past[len(past) - keys :],
                translate=partial(_by_overs, attention) if over else None,
            )
    return sites


def _by_overs(attention: ScaleAttention, claim: generic.Claim) -> generic.Claim:
    over_of = {ball.index: ball.over for ball in attention.balls}
    return replace(
        claim,
        removed=(over_of[claim.removed[0]],),
        window=tuple(dict.fromkeys(over_of[index] for index in claim.window)),
    )

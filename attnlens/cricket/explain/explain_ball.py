"""Explain one ball: read the attention, test the claims, and build the explanation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from pydantic import BaseModel

from attnlens.cricket.explain import types
from attnlens.cricket.explain.claims import (
    OF_PLAYERS,
    BallClaimTest,
    BallEvidence,
    baseline_only,
    gather_evidence,
    groups_of,
    has_record,
    matters_by_itself,
)
from attnlens.cricket.explain.reading import (
    ALL,
    NATS_DIGITS,
    Reading,
    chosen_subject,
    heat_map,
    read_ball,
    scoreboard_baseline,
)
from attnlens.cricket.match.competition import venue_key
from attnlens.cricket.match.ledger import (
    Phase,
    ScorebookEntry,
    phase_before,
    progress_before,
    result_sentence,
    scorebook_before,
)
from attnlens.cricket.match.match import (
    OUTCOME_INDEX,
    OUTCOMES,
    Delivery,
    Innings,
    Match,
    Outcome,
    Player,
    match_particulars,
    parse_outcome,
)
from attnlens.cricket.match.naming import BallReference, echo
from attnlens.cricket.predictor.calibration import CalibrationTable
from attnlens.cricket.predictor.kinds import cautions, few_before, mid_over
from attnlens.cricket.predictor.predictor import FUSED
from attnlens.cricket.predictor.tensors import NODES, InningsArrays
from attnlens.cricket.predictor.trained import TrainedPredictor, sides_of
from attnlens.cricket.predictor.win import win_chances
from attnlens.cricket.predictor.window import DIGITS, BallWindow, one_thread, window_for
from attnlens.errors import InputError
from attnlens.evidence.result import claim_fields
from attnlens.evidence.scores import log_odds
from attnlens.files import Floats
from attnlens.render.numbers import rounded

_UNCALIBRATED_FLAGS: Final = frozenset(
    {"super_over", "other_format", "other_gender", "other_balls_per_over"}
)
_SCOREBOARD: Final = "scoreboard"
_KNOWN_BEFORE_THE_MATCH: Final = ("venue and teams", "striker's record", "bowler's record")
_NEVER_MET: Final[Mapping[str, str]] = {
    "striker's record": "unknown striker",
    "bowler's record": "unknown bowler",
}
"""Group names for players who are new to the model."""

_KNOWLEDGE_CONTROLS: Final[Mapping[types.ClaimKind, types.Control | None]] = {
    "striker's record": "records of other players",
    "bowler's record": "records of other players",
    "the scoreboard": "scoreboards of earlier balls",
    "the chase": "scoreboards of earlier balls",
    "venue and teams": None,
}
_MAX_GROUP_BALLS: Final = 3


@one_thread()
def explain_ball(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    *,
    evidence: bool = True,
    history: bool = False,
    outcome: str | None = None,
) -> types.Explanation:
    """Return the explanation of one ball.

    `attnlens.cricket.words.narrative.in_words` adds the summary and the narrative.

    Args:
        evidence: whether to run the interventions, which test the attention.
        history: whether the predictor's ratings were computed for the match's date.
        outcome: the outcome to explain, or ``all`` for the whole distribution. The default is the
            choice of `attnlens.cricket.explain.reading.subject_outcome`. Effects, p-values and
            verdicts are about the event that this outcome happens.

    Raises:
        InputError: ``outcome`` is not the name of an outcome.
    """
    outcome = None if outcome is None else parse_outcome(outcome)
    if outcome not in (None, ALL, *OUTCOMES):
        names = " ".join((*OUTCOMES, ALL))
        raise InputError(f"{outcome!r} is not an outcome", remedy=f"choose one of {names}")
    explained = None if outcome == ALL else _outcome(outcome)
    window = window_for(match, reference, predictor)
    reading = read_ball(predictor, window)
    usual = scoreboard_baseline(window)
    actual = _outcome(window.delivery.outcome or None)
    subject, lowers = chosen_subject(reading.probabilities, usual, actual, explained)
    tested_on = None if outcome == ALL else subject
    direction: types.Direction = "lower" if lowers else "raise"
    flags = flags_of(window, predictor, evidence=evidence, history=history)
    uncounted = _UNCALIBRATED_FLAGS.intersection(caution.flag for caution in flags)
    calibration = None if uncounted else predictor.calibration
    if evidence:
        tested = gather_evidence(predictor, window, reading, outcome=outcome)
        full, baseline = tested.leave_one_out.full, tested.contributions.baseline
        contributions = _contributions(window, tested, usual, calibration)
        claims = tuple(_claim(test, full, tested_on, direction) for test in tested.tests)
    else:
        tested, contributions, claims = None, (), ()
        full, baseline = reading.probabilities, baseline_only(predictor, window)
    gates = reading.prediction.gates[0, 0]
    return types.Explanation(
        schema_version=types.SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=match_facts(match, window),
        ball=ball_facts(window, reference),
        prediction=prediction(
            full,
            baseline,
            actual,
            explained,
            _calibration(calibration, full),
            usual=usual,
            subject=subject,
        ),
        win_probability=_win_probability(window, predictor, full),
        contributions=contributions,
        records=tuple(_records(window, predictor)),
        within_ball=_within_ball(reading),
        across_balls=_across_balls(window, reading, tested),
        fusion_weights=types.FusionWeights(
            **{source: rounded(gate) for source, gate in zip(FUSED, gates.tolist(), strict=True)}
        ),
        past_balls=tuple(_past_balls(window, reading, tested, subject)),
        evidence=claims,
        flags=flags,
        summary="",
        narrative=(),
    )


def _outcome(name: str | None) -> Outcome | None:
    return None if name is None else OUTCOMES[OUTCOME_INDEX[name]]


def prediction(
    full: Floats,
    baseline: Floats,
    actual: Outcome | None,
    explained: Outcome | None = None,
    calibration: types.Calibration | None = None,
    *,
    usual: Floats,
    subject: Outcome,
) -> types.BallPrediction:
    """Build the part of an explanation about the prediction and the actual outcome.

    Args:
        full, baseline, usual: the predicted, the baseline and the usual probabilities ``(11,)``.
        calibration: how often similar predictions came true on held-out matches.
        subject: the outcome that the explanation is about.
    """
    at = OUTCOME_INDEX[subject]
    figures_by_outcome = zip(OUTCOMES, *map(_rounded_all, (full, baseline, usual)), strict=True)
    return types.BallPrediction(
        outcomes=tuple(
            types.OutcomeProbability(
                outcome=outcome, probability=prob, baseline=base, usual=usually
            )
            for outcome, prob, base, usually in figures_by_outcome
        ),
        top=OUTCOMES[int(full.argmax())],
        explained=explained,
        actual=actual,
        surprise_bits=None if actual is None else rounded(-math.log2(full[OUTCOME_INDEX[actual]])),
        calibration=calibration,
        subject=subject,
        story_times=rounded(full[at] / usual[at]),
    )


def copy_fields(model: type[BaseModel], source: object) -> dict[str, Any]:
    """Return the attributes of ``source`` that are also fields of ``model``."""
    return {name: getattr(source, name) for name in model.model_fields if hasattr(source, name)}


def _rounded_all(values: Floats) -> list[float]:
    return [rounded(value) for value in values.tolist()]


def _win_probability(
    window: BallWindow, predictor: TrainedPredictor, full: Floats
) -> types.WinProbability | None:
    innings, at = window.innings, window.delivery.index - 1
    probs = np.broadcast_to(_rounded_all(full), (len(innings.deliveries), len(full)))
    form = predictor.ratings.form
    winning = win_chances(predictor.win, form, window.match, innings, probs)
    if winning is None:
        return None
    projected = None
    if winning.projected is not None:
        ends = copy_fields(types.ProjectedTotal, winning.projected)
        projected = types.ProjectedTotal(
            **{name: float(end[at].round(1)) for name, end in ends.items()}
        )
    after = winning.after[at].round(DIGITS).tolist()
    return types.WinProbability(
        team=innings.batting_team,
        before=float(winning.before[at].round(DIGITS)),
        expected=float(winning.expected[at].round(DIGITS)),
        after=dict(zip(OUTCOMES, after, strict=True)),
        happened=float(winning.actual[at].round(DIGITS)) if window.delivery.outcome else None,
        projected=projected,
    )


def _calibration(table: CalibrationTable | None, full: Floats) -> types.Calibration | None:
    if table is None:
        return None
    calls = []
    for outcome, prob in zip(OUTCOMES, full, strict=True):
        level = copy_fields(types.CallsLikeThis, table.like(outcome, prob))
        calls.append(types.CallsLikeThis(outcome=outcome, **level))
    return types.Calibration(outcomes=tuple(calls), **copy_fields(types.Calibration, table))


def _across_balls(
    window: BallWindow, reading: Reading, tested: BallEvidence | None
) -> types.AcrossBalls:
    maps: dict[str, types.HeatMap | types.LongHeatMap] = {
        scale: heat_map(
            attention,
            bowler=window.delivery.bowler.name,
            batter=window.delivery.batter.name,
            effects=None if tested is None else tested.leave_one_out.effects,
        )
        for scale, attention in reading.scales.items()
    }
    return types.AcrossBalls.model_validate(maps)


def _within_ball(reading: Reading) -> types.WithinBall:
    within = reading.prediction.within
    shares = within["layers"][0, 0].tolist()
    layers = []
    for share, (layer, names) in zip(shares, NODES.items(), strict=True):
        weights = zip(names, within[layer][0, 0].tolist(), strict=True)
        nodes = [{"node": node, "weight": rounded(weight)} for node, weight in weights]
        layers.append({"layer": layer, "weight": rounded(share), "nodes": nodes})
    return types.WithinBall.model_validate({"layers": layers})


def outcome_points(points: Floats) -> tuple[types.OutcomePoints, ...]:
    """Convert percentage points, shape ``(11,)``, to one `OutcomePoints` for each outcome."""
    return tuple(
        types.OutcomePoints(outcome=outcome, points=rounded(value))
        for outcome, value in zip(OUTCOMES, points.tolist(), strict=True)
    )


def _contributions(
    window: BallWindow,
    tested: BallEvidence,
    usual: Floats,
    calibration: CalibrationTable | None,
) -> tuple[types.Contribution, ...]:
    groups, shared = groups_of(window), tested.contributions
    loo = tested.leave_one_out

    def by_itself(index: int) -> types.BallContribution:
        points = outcome_points(100 * (loo.full - loo.loo_probs[index]))
        return types.BallContribution(index=index, points=points)

    board, beyond = shared.beyond(_SCOREBOARD)
    beyond[shared.groups.index(_SCOREBOARD)] = board - usual
    results = []
    for group, parts, more in zip(shared.groups, shared.table, beyond, strict=True):
        balls = sorted(
            (window.past[position].index for position in groups.get(group, ())),
            key=lambda index: (-loo.effects[index], -index),
        )
        name = group if has_record(window, group) else _NEVER_MET[group]
        slope = None if calibration is None else calibration.reasons.get(name)
        results.append(
            types.Contribution(
                group=name,
                points=outcome_points(100 * parts),
                when="before the match" if group in _KNOWN_BEFORE_THE_MATCH else "in the match",
                from_usual=outcome_points(100 * more),
                balls=tuple(map(by_itself, balls[:_MAX_GROUP_BALLS])),
                comes_true=None
                if slope is None
                else types.ComesTrue(**copy_fields(types.ComesTrue, slope)),
            )
        )
    return tuple(results)


def _records(window: BallWindow, predictor: TrainedPredictor) -> Iterator[types.PlayerRecord]:
    ratings, ball = predictor.ratings, window.delivery
    players: tuple[tuple[types.Role, str, Player], ...] = (
        ("batter", "striker", ball.batter),
        ("bowler", "bowler", ball.bowler),
    )
    for role, kind, player in players:
        record = ratings.record_of(kind, player)
        if record is not None:
            counts = zip(OUTCOMES, record.counts.tolist(), strict=True)
            yield types.PlayerRecord(
                role=role,
                player=player.name,
                deliveries=record.deliveries,
                last_day=record.last_day.isoformat(),
                outcomes=tuple(
                    types.OutcomeCount(
                        outcome=outcome, count=count, share=rounded(count / record.deliveries)
                    )
                    for outcome, count in counts
                ),
            )


def _past_balls(
    window: BallWindow, reading: Reading, tested: BallEvidence | None, subject: Outcome
) -> Iterator[types.PastBall]:
    at = OUTCOME_INDEX[subject]
    for ball, attention in zip(window.past, reading.total.tolist(), strict=True):
        log_odds_change = points = nats = rarity = None
        if tested is not None:
            loo = tested.leave_one_out
            full, without = loo.full, loo.loo_probs[ball.index]
            log_odds_change = rounded(float(log_odds(full, [at]) - log_odds(without, [at])))
            points = rounded(100 * float(full[at] - without[at]))
            nats = rounded(loo.effects[ball.index], NATS_DIGITS)
            share = tested.rarity[ball.index]
            rarity = None if share is None else rounded(share)
        yield types.PastBall(
            **copy_fields(types.PastBall, ball),
            attention=rounded(attention),
            effect_log_odds=log_odds_change,
            effect_points=points,
            effect_nats=nats,
            rarity=rarity,
        )


def _claim(
    test: BallClaimTest,
    full: Floats,
    explained: Outcome | None,
    direction: types.Direction,
) -> types.Evidence:
    claim = test.claim
    at = None if explained is None else OUTCOME_INDEX[explained]
    subjects = claim.raises or (() if at is None else (at,))
    opposing = test.singles * test.log_odds_change(subjects) < 0 if subjects else np.zeros(0)
    return types.Evidence(
        scale=claim.scale,
        head=claim.head,
        kind=claim.kind,
        reference=claim.kind == "last balls",
        outcome=explained,
        direction=None if explained is None else direction,
        changes=outcome_points(test.points),
        top_change=top_change(full, test.probabilities, subjects),
        control=_control_of(test),
        opposing=int(opposing.sum()),
        controls=_control_range(test, at),
        about=_aspect(test, at),
        replaced=_replaced(test, at),
        **claim_fields(test, at, nats=partial(rounded, digits=NATS_DIGITS), share=rounded),
    )


def top_change(before: Floats, after: Floats, subjects: Sequence[int] = ()) -> types.TopChange:
    """Return the outcome whose probability changes most, and the size of the change.

    Args:
        before, after: probabilities, shape ``(11,)``.
        subjects: indices of the outcomes to choose from; by default, all outcomes.
    """
    moves = after - before
    largest = max(subjects or range(len(moves)), key=lambda at: abs(float(moves[at])))
    return types.TopChange(
        outcome=OUTCOMES[largest],
        points=rounded(100 * float(moves[largest])),
        before=rounded(float(before[largest])),
        after=rounded(float(after[largest])),
    )


def _control_of(test: BallClaimTest) -> types.Control | None:
    if test.claim.kind in _KNOWLEDGE_CONTROLS:
        return _KNOWLEDGE_CONTROLS[test.claim.kind]
    if test.removed_from == "head":
        return "other sets of as many balls, hidden from the same head"
    if len(test.removed) == 1:
        return "balls of other innings, alike in distance and players"
    if test.claim.kind in OF_PLAYERS:
        return "other sets of as many balls, beyond what distance explains"
    return "other sets of as many balls, beyond what distance and players explain"


def _replaced(test: BallClaimTest, outcome: int | None) -> types.ReplacedOutcomes | None:
    second = test.outcomes_replaced
    if second is None:
        return None
    log_odds_change = None if outcome is None else second.log_odds_change([outcome])
    return types.ReplacedOutcomes(
        effect_nats=rounded(second.effect, NATS_DIGITS),
        effect_log_odds=None if log_odds_change is None else rounded(log_odds_change, NATS_DIGITS),
        p=None if second.p is None else rounded(second.p),
    )


def _control_range(test: BallClaimTest, outcome: int | None) -> types.ControlRange | None:
    if outcome is None or test.control_probs is None:
        return None
    values = np.quantile(test.control_probs[:, outcome], (0.025, 0.5, 0.975))
    low, median, high = _rounded_all(values)
    return types.ControlRange(low=low, median=median, high=high)


def _aspect(test: BallClaimTest, outcome: int | None) -> types.BallAspect | None:
    if test.outcomes_replaced is None:
        return None
    return "happened" if matters_by_itself(test, outcome) else "played"


def model_particulars(predictor: TrainedPredictor) -> types.Model:
    """Return the name, the digest and the training dates of the checkpoint."""
    until = predictor.ratings.until
    return types.Model(
        name=predictor.name,
        sha256=predictor.sha256,
        trained_from=predictor.card.get("trained_from"),
        trained_until=predictor.card.get("trained_until"),
        ratings_until=None if until is None else until.isoformat(),
        match_types=tuple(predictor.card.get("match_types", ())),
    )


def match_facts(match: Match, window: BallWindow) -> types.MatchFacts:
    name = match.event.get("name")
    return types.MatchFacts.model_validate(
        {
            **match_particulars(match, window.innings),
            "season": match.season,
            "event": None if name is None else str(name),
            "city": match.city,
            "result": result_sentence(match),
            "notes": match.notes,
        }
    )


def ball_facts(window: BallWindow, reference: BallReference) -> types.BallFacts:
    """Return the facts of the ball, and the scoreboard before the ball."""
    innings, ball = window.innings, window.delivery
    progress, entry = progress_before(window.match, innings, ball), scorebook_before(innings, ball)
    rates = {"required_rate": progress.required_rate, "run_rate": progress.run_rate}
    return types.BallFacts(
        innings=innings.number,
        index=ball.index,
        deliveries=sum(bool(delivery.outcome) for delivery in innings.deliveries),
        over=ball.over,
        label=ball.label,
        actual_delivery=ball.actual_delivery,
        legal_number=ball.legal_balls_before + 1,
        is_legal=ball.is_legal if ball.outcome else None,
        batter=ball.batter.name,
        non_striker=ball.non_striker.name,
        bowler=ball.bowler.name,
        score=ball.score_before,
        wickets=ball.wickets_before,
        target=innings.target,
        balls_left=progress.left,
        runs_required=progress.required,
        **{name: None if rate is None else rounded(rate) for name, rate in rates.items()},
        free_hit=entry.free_hit,
        super_over=innings.super_over,
        balls_per_over=innings.balls_per_over,
        echo=echo(window.match, reference),
        standing=_standing(entry, phase_before(window.match, innings, ball)),
        happened=_what_happened(ball) if ball.outcome else None,
    )


def _standing(entry: ScorebookEntry, phase: Phase | None) -> types.BallStanding:
    return types.BallStanding(
        phase=phase,
        batter_runs=entry.batting.runs,
        batter_balls=entry.batting.balls,
        bowler_overs=entry.bowling.overs,
        bowler_balls=entry.bowling.legal_balls,
        bowler_runs=entry.bowling.runs,
        bowler_wickets=entry.bowling.wickets,
        **copy_fields(types.BallStanding, entry),
    )


def _what_happened(ball: Delivery) -> types.BallResult:
    wicket = next((wicket for wicket in ball.wickets if wicket.counts), None)
    return types.BallResult(
        runs=ball.runs_total,
        runs_batter=ball.runs_batter,
        out=None if wicket is None else wicket.player_out.name,
        how=None if wicket is None else wicket.kind,
        fielders=() if wicket is None else tuple(wicket.fielders),
    )


def flags_of(
    window: BallWindow, predictor: TrainedPredictor, *, evidence: bool, history: bool = False
) -> tuple[types.Caution, ...]:
    """Return the cautions for a ball. For the arguments, see `explain_ball`."""
    flags = [
        *_about_ball(window.match, window.innings, window.arrays, window.delivery),
        *cautions(window.match, window.innings, predictor, evidence=evidence, history=history),
    ]
    return tuple(types.Caution.model_validate({"flag": name, "text": text}) for name, text in flags)


def _about_ball(
    match: Match, innings: Innings, arrays: InningsArrays, ball: Delivery
) -> Iterator[tuple[str, str]]:
    yield from few_before(ball.index - 1)
    yield from _unseen(match, arrays, ball)
    if not ball.outcome:
        yield from mid_over(innings, ball)
        for player in (ball.batter, ball.bowler):
            if match.players and not sides_of(match, player):
                yield "not_in_match", f"{player.name} is in neither squad of the file"


def _unseen(match: Match, arrays: InningsArrays, ball: Delivery) -> Iterator[tuple[str, str]]:
    met = {name: bool(flags[ball.index - 1]) for name, flags in arrays.met.items()}
    for role, flag, player, did in (
        ("striker", "unseen_batter", ball.batter, "bat"),
        ("bowler", "unseen_bowler", ball.bowler, "bowl"),
    ):
        if not met[role]:
            yield (
                flag,
                (
                    f"the model has never seen {player.name} {did}, so it uses an average "
                    "player's rating"
                ),
            )
    if not met["venue"]:
        ground = venue_key(match) or "the ground"
        yield (
            "unseen_venue",
            f"the model has never seen a match at {ground}, so it uses an average rating",
        )

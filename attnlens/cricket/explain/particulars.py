"""What a page tells of a ball beside its explanation: model, match, scorebook, cautions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attnlens.cricket.explain import types
from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.match import Delivery, Innings, Match, match_particulars
from attnlens.cricket.match.naming import BallReference, echo
from attnlens.cricket.match.scorecard import result_sentence, standing_before
from attnlens.cricket.predictor.kinds import cautions, few_before, mid_over
from attnlens.cricket.predictor.ratings import venue_key
from attnlens.cricket.predictor.tensors import InningsArrays, free_hits
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow
from attnlens.render.numbers import rounded

TWENTY, SIX = 120, 6
"""Balls of an innings, and of its overs, that has the phases of T20."""

PHASES: Final = ("powerplay", "middle overs", "death overs")
"""As `phase_of` numbers them."""


def model_particulars(predictor: TrainedPredictor) -> types.Model:
    """Which weights answered, and what they had seen."""
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
    """The match, as the file tells it."""
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
    """The ball, and the scoreboard as it stood before it."""
    innings, ball = window.innings, window.delivery
    bowled, quota, target = ball.legal_balls_before, quota_of(window.match, innings), innings.target
    left = None if quota is None else max(quota - bowled, 0)
    required = None if target is None else max(target - ball.score_before, 0)
    return types.BallFacts(
        innings=innings.number,
        index=ball.index,
        deliveries=sum(bool(delivery.outcome) for delivery in innings.deliveries),
        over=ball.over,
        label=ball.label,
        actual_delivery=ball.actual_delivery,
        legal_number=bowled + 1,
        is_legal=ball.is_legal if ball.outcome else None,
        batter=ball.batter.name,
        non_striker=ball.non_striker.name,
        bowler=ball.bowler.name,
        score=ball.score_before,
        wickets=ball.wickets_before,
        target=target,
        balls_left=left,
        runs_required=required,
        required_rate=rounded(6 * required / left) if required is not None and left else None,
        run_rate=rounded(6 * ball.score_before / bowled) if bowled else None,
        free_hit=free_hits(innings.deliveries)[ball.index - 1],
        super_over=innings.super_over,
        echo=echo(window.match, reference),
        standing=_standing(innings, ball, quota),
        happened=_happened(ball) if ball.outcome else None,
    )


def _standing(innings: Innings, ball: Delivery, quota: int | None) -> types.Standing:
    standing = standing_before(innings, ball)
    batting, bowling = standing.batting, standing.bowling
    # Six overs, nine and five of twenty, or as many of a shortened match: no other has them.
    twenty = quota is not None and quota <= TWENTY and innings.balls_per_over == SIX
    told = twenty and not innings.super_over
    return types.Standing(
        phase=PHASES[phase_of(ball.legal_balls_before, quota)] if told else None,
        batter_runs=batting.runs,
        batter_balls=batting.balls,
        bowler_overs=bowling.overs,
        bowler_runs=bowling.runs,
        bowler_wickets=bowling.wickets,
        partnership_runs=standing.partnership_runs,
        partnership_balls=standing.partnership_balls,
        over_runs=standing.over_runs,
        latest=standing.latest,
        hat_trick=standing.hat_trick,
    )


def _happened(ball: Delivery) -> types.Happened:
    gone = next((wicket for wicket in ball.wickets if wicket.counts), None)
    return types.Happened(
        runs=ball.runs_total,
        runs_batter=ball.runs_batter,
        out=None if gone is None else gone.player_out.name,
        how=None if gone is None else gone.kind,
    )


def flags_of(
    window: BallWindow, predictor: TrainedPredictor, *, evidence: bool, history: bool = False
) -> tuple[types.Caution, ...]:
    """Cautions, each a name and a sentence.

    ``evidence``: whether interventions were run; ``history``: whether the match's own history
    brought the ratings to its date.
    """
    flags = [
        *_about_ball(window.match, window.innings, window.arrays, window.delivery),
        *cautions(window.match, window.innings, predictor, evidence=evidence, history=history),
    ]
    return tuple(types.Caution.model_validate({"flag": name, "text": text}) for name, text in flags)


def cautions_by_ball(
    match: Match,
    innings: Innings,
    arrays: InningsArrays,
    predictor: TrainedPredictor,
    *,
    history: bool = False,
) -> list[list[str]]:
    """The sentences of `flags_of` for every ball of an innings, where interventions are run."""
    usual = [*cautions(match, innings, predictor, evidence=True, history=history)]
    return [
        [text for _, text in (*_about_ball(match, innings, arrays, ball), *usual)]
        for ball in innings.deliveries
    ]


def _about_ball(
    match: Match, innings: Innings, arrays: InningsArrays, ball: Delivery
) -> Iterator[tuple[str, str]]:
    yield from few_before(ball.index - 1)
    yield from _unseen(match, arrays, ball)
    if not ball.outcome:
        yield from mid_over(innings, ball)


def _unseen(match: Match, arrays: InningsArrays, ball: Delivery) -> Iterator[tuple[str, str]]:
    """Players and the ground that the model has not met."""
    met = {name: bool(flags[ball.index - 1]) for name, flags in arrays.met.items()}
    for role, flag, player, did in (
        ("striker", "unseen_batter", ball.batter, "bat"),
        ("bowler", "unseen_bowler", ball.bowler, "bowl"),
    ):
        if not met[role]:
            yield flag, f"the model has never seen {player.name} {did}: an average is used"
    if not met["venue"]:
        ground = venue_key(match) or "the ground"
        yield "unseen_venue", f"the model has never seen a match at {ground}"

"""Which model answered of which match, and how things stood before the ball."""

from __future__ import annotations

from typing import Any

from attnlens.cricket.match import Innings, Match
from attnlens.cricket.ratings import quota_of
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import BallWindow
from attnlens.explanation.heatmap import rounded


def model_particulars(predictor: TrainedPredictor) -> dict[str, Any]:
    """Which weights answered, and what they had seen."""
    until = predictor.ratings.until
    return {
        "name": predictor.name,
        "sha256": predictor.sha256,
        "trained_from": predictor.card.get("trained_from"),
        "trained_until": predictor.card.get("trained_until"),
        "ratings_until": None if until is None else until.isoformat(),
        "match_types": list(predictor.card.get("match_types", [])),
    }


def match_particulars(match: Match, innings: Innings) -> dict[str, Any]:
    """Which match it was, and whose innings."""
    return {
        "match_id": match.match_id,
        "match_type": match.match_type,
        "gender": match.gender,
        "dates": [day.isoformat() for day in match.dates],
        "venue": match.venue,
        "teams": list(match.teams),
        "batting_team": innings.batting_team,
        "bowling_team": innings.bowling_team,
    }


def standing(window: BallWindow) -> dict[str, Any]:
    """Who plays the ball, and the score before it."""
    ball = window.delivery
    return {
        "batter": ball.batter.name,
        "non_striker": ball.non_striker.name,
        "bowler": ball.bowler.name,
        "score": ball.score_before,
        "wickets": ball.wickets_before,
    }


def chase(window: BallWindow) -> dict[str, Any]:
    """What is left of the innings, in balls and in runs, as far as that is known."""
    innings, ball = window.innings, window.delivery
    quota, target = quota_of(window.match, innings), innings.target
    left = None if quota is None else max(quota - ball.legal_balls_before, 0)
    required = None if target is None else max(target - ball.score_before, 0)
    return {
        "target": target,
        "balls_left": left,
        "runs_required": required,
        "required_rate": rounded(6 * required / left) if required is not None and left else None,
    }

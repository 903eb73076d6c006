"""A ball of a match's story in one sentence: who did what, when, and how likely that was."""

from __future__ import annotations

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Delivery, Innings
from attnlens.cricket.match.outcomes import Outcome
from attnlens.cricket.match.scorecard import how_out, standing_before
from attnlens.cricket.words.facts import Source, outcome_words
from attnlens.cricket.words.story import place_of


def event_of(innings: Innings, ball: Delivery, balls_left: int | None) -> str:
    """``Khan hit Nabi for six with 44 wanted from 34``, ``Khan (24) c Smith b Nabi at 60/2``.

    Args:
        balls_left: legal balls left to a chase whose target is known.
    """
    out = next((wicket for wicket in ball.wickets if wicket.counts), None)
    if out is not None:
        scored = standing_before(innings, ball).batting.runs + ball.runs_batter
        score = f" ({scored})" if out.player_out.key == ball.batter.key else ""
        what = f"{out.player_out}{score} {how_out(out, ball.bowler)}"
    elif ball.boundary and ball.outcome in ("4", "6"):
        what = (
            f"{ball.batter} hit {ball.bowler} for {outcome_words(ball.outcome).removeprefix('a ')}"
        )
    else:
        cost = f" that cost {ball.runs_total}" if ball.extras and ball.runs_total > 1 else ""
        what = f"{ball.bowler} to {ball.batter}: {outcome_words(ball.outcome)}{cost}"
    if innings.target is None or not balls_left:
        return f"{what} at {ball.score_before}/{ball.wickets_before}"
    return f"{what} with {innings.target - ball.score_before} wanted from {balls_left}"


def odds_of(explanation: Explanation, outcome: Outcome) -> str:
    """``that was 6% likely, usually 4%``."""
    source, place = Source(explanation), place_of(explanation.prediction, outcome)
    names = ("probability", "usual")
    chance, usual = (source.visible(f"/prediction/outcomes/{place}/{name}").text for name in names)
    thing = "a wicket" if outcome == "W" else "that"
    told = "as usual" if chance == usual else f"usually {usual}"
    return f"{thing} was {chance} likely, {told}"

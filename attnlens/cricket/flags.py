"""What a reader should know before trusting an answer."""

from __future__ import annotations

from attnlens.cricket.kinds import differences, like_training
from attnlens.cricket.match import Match
from attnlens.cricket.ratings import LIMITED, quota_of, venue_key
from attnlens.cricket.seen import identity_of
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import BallWindow

SHORT_HISTORY = 12


def flags_of(
    window: BallWindow, predictor: TrainedPredictor, *, evidence: bool, history: bool = False
) -> list[dict[str, str]]:
    """Cautions, each a name and a sentence.

    Args:
        evidence: whether interventions were run.
        history: whether the ratings were brought to the match's date by its own history.
    """
    found: list[tuple[str, str]] = []
    match, innings, ball = window.match, window.innings, window.delivery
    before = len(window.past)
    if before == 0:
        found.append(("no_history", "no ball was bowled before it in this innings"))
    elif before < SHORT_HISTORY:
        balls = "1 ball was" if before == 1 else f"{before} balls were"
        found.append(("short_history", f"only {balls} bowled before it in this innings"))
    met = {name: bool(flags[ball.index - 1]) for name, flags in window.arrays.met.items()}
    if not met["striker"]:
        found.append(
            (
                "unseen_batter",
                f"the model has never seen {ball.batter.name} bat: an average is used",
            )
        )
    if not met["bowler"]:
        found.append(
            (
                "unseen_bowler",
                f"the model has never seen {ball.bowler.name} bowl: an average is used",
            )
        )
    if not met["venue"]:
        name = venue_key(match) or "the ground"
        found.append(("unseen_venue", f"the model has never seen a match at {name}"))
    if innings.super_over:
        found.append(("super_over", "super overs were not in the training data"))
    found += _format_flags(window, predictor)
    found += _date_flags(window, predictor, history)
    if innings.number % 2 == 0 and innings.target is None and quota_of(match, innings):
        found.append(("no_target", "the file gives no target for this chase"))
    if not evidence:
        found.append(
            ("evidence_skipped", "no intervention was run: attention is shown, not tested")
        )
    return [{"flag": name, "text": text} for name, text in found]


def _format_flags(window: BallWindow, predictor: TrainedPredictor) -> list[tuple[str, str]]:
    match, innings = window.match, window.innings
    found = differences(match, predictor)
    quota = quota_of(match, innings)
    usual = LIMITED.get(match.match_type or "", 0) * match.balls_per_over
    if quota is not None and quota < usual and not innings.super_over:
        found.append(("reduced_match", f"a shortened innings of {quota} balls"))
    return found


def _date_flags(
    window: BallWindow, predictor: TrainedPredictor, history: bool
) -> list[tuple[str, str]]:
    match = window.match
    if match.date is None:
        return []
    found = []
    said = in_training(match, predictor)
    if said is not None:
        found.append(("in_training", said))
    until = predictor.ratings.until
    if not history and until is not None and match.date <= until:
        found.append(
            (
                "ratings_from_later",
                f"player and venue ratings run to {until}, later than this match; "
                "--history gives those of its date",
            )
        )
    return found


def in_training(match: Match, predictor: TrainedPredictor) -> str | None:
    """Why the model may look better on a match than it is; ``None`` where it does not."""
    better = "it looks better than it is"
    if predictor.seen is not None:
        if identity_of(match) not in predictor.seen:
            return None
        weights = predictor.date("weights_until")
        if weights is not None and match.dates and max(match.dates) > weights:
            return f"the length of the model's training was chosen on this match: {better}"
        return f"the model was trained on this match: {better}"
    # A checkpoint that does not tell its matches: only dates and kind are known.
    first, last = predictor.date("trained_from"), predictor.date("trained_until")
    if first is None or last is None or match.date is None or not first <= match.date <= last:
        return None
    if not like_training(match, predictor):
        return None
    return (
        f"played within the model's training dates ({first} to {last}): if it was "
        f"trained on this match, {better}"
    )

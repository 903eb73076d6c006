"""Compare a match with a predictor's training matches, and write cautions for the reader.

Facts that the match file or the checkpoint lacks are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attnlens.cricket.match.competition import ALL_OUT, OVERS_BY_TYPE, competition_of, quota_of
from attnlens.cricket.match.ledger import innings_length
from attnlens.cricket.match.match import Delivery, Innings, Match
from attnlens.cricket.predictor.scales import SHORT_HISTORY
from attnlens.cricket.predictor.trained import Trained, identity_of
from attnlens.files import Json

_MIN_COMPETITIONS: Final = 5
"""With at least this number of training competitions, new teams cause no caution."""

_MAX_DOUBTS: Final = 2

MAX_RATINGS_AGE: Final = 120
"""Ratings that are older than this number of days cause a caution."""

_USUAL_BALLS: Final = (6,)


def kind_card(matches: Sequence[Match]) -> Json:
    """Describe the kinds of training matches for a checkpoint's model card."""
    genders = {match.gender for match in matches}
    return {
        "match_types": sorted({match.match_type for match in matches if match.match_type}),
        "gender": genders.pop() if len(genders) == 1 else None,
        "overs": sorted({match.overs for match in matches if match.overs}),
        "balls_per_over": sorted({match.balls_per_over for match in matches}),
        "competitions": len({competition_of(match) for match in matches}),
        "teams": sorted({team for match in matches for team in match.teams}),
    }


def differences(match: Match, predictor: Trained) -> list[tuple[str, str]]:
    """List the differences from the training matches, as pairs of a flag and a sentence."""
    card = predictor.card
    results = []
    types = card.get("match_types") or []
    overs = _overs(predictor)
    problem = None
    if types and match.match_type not in (None, *types):
        problem = (
            f"the model was trained on {' and '.join(types)}, but this match is {match.match_type}"
        )
    elif overs and match.overs not in (None, *overs):
        sides = _numbers(overs)
        problem = (
            f"the model was trained on matches of {sides} overs a side, but this match "
            f"has {match.overs}"
        )
    if problem:
        results.append(("other_format", f"{problem}; the results are only a rough guide"))
    gender = card.get("gender")
    if gender is not None and match.gender not in (None, gender):
        text = f"the model was trained on {gender} cricket, but this match is {match.gender}"
        results.append(("other_gender", text))
    broad = (card.get("competitions") or 0) >= _MIN_COMPETITIONS
    if not broad and not predictor.knows_a_team(match.teams):
        teams = " or ".join(match.teams)
        text = f"no training match involves {teams}, so this competition may be new to the model"
        results.append(("other_teams", text))
    balls = card.get("balls_per_over") or _USUAL_BALLS
    if match.balls_per_over not in balls:
        words = "six" if tuple(balls) == _USUAL_BALLS else _numbers(balls)
        text = (
            f"this match has overs of {match.balls_per_over} balls, but the training "
            f"data has overs of {words}"
        )
        results.append(("other_balls_per_over", text))
    return results


def cautions(
    match: Match, innings: Innings, predictor: Trained, *, evidence: bool, history: bool
) -> Iterator[tuple[str, str]]:
    """Yield the cautions about an innings, as pairs of a flag and a sentence.

    Args:
        evidence: whether the effects of interventions were measured.
        history: whether the ratings include only earlier matches.
    """
    if match.doubts:
        doubts = "; ".join(map(str, match.doubts[:_MAX_DOUBTS]))
        rest = len(match.doubts) - _MAX_DOUBTS
        more = f"; and {rest} more (run `attnlens match --check`)" if rest > 0 else ""
        yield "doubted", f"the file contains doubtful values: {doubts}{more}"
    if innings.super_over:
        yield "super_over", "super overs were not in the training data"
    yield from differences(match, predictor)
    quota = quota_of(match, innings)
    usual = OVERS_BY_TYPE.get(match.match_type or "", 0) * match.balls_per_over
    if quota is not None and quota < usual and not innings.super_over:
        yield "reduced_match", f"this is a shortened innings of {quota} balls"
    elif quota is not None and innings.number == 1 and _cut_short(match, innings, quota):
        yield "reduced_match", f"this innings was cut short after {innings_length(innings)}"
    reason = in_training(match, predictor)
    if reason is not None:
        yield "in_training", reason
    until = predictor.ratings.until
    if not history and until is not None and match.date is not None and match.date <= until:
        yield (
            "ratings_from_later",
            f"ratings include later matches (up to {until}); --history omits them",
        )
    age = None if until is None or match.date is None else (match.date - until).days
    if age is not None and age > MAX_RATINGS_AGE:
        yield (
            "stale_ratings",
            f"the ratings of players and competitions are from {until}, {age} days "
            "before this match; to update the ratings, give the matches since then as history",
        )
    if innings.set_later:
        yield (
            "target_set_later",
            f"the file's target of {innings.set_later['runs']} was set after the chase "
            f"began, so the target during the chase is unknown; {innings.target} is "
            "used, and no win probability is given",
        )
    elif innings.number % 2 == 0 and innings.target is None and quota:
        yield "no_target", "the file gives no target for this chase"
    if match.gender is None and not competition_of(match):
        assumed = innings.number == 2 and innings.target is not None and not match.outcome
        target = f"; a target of {innings.target} is assumed, but rain may have changed it"
        yield (
            "unknown_kind",
            "the file does not say which competition this is, so the averages of men's "
            f"leagues are used{(target if assumed else '')}",
        )
    if not evidence:
        yield (
            "evidence_skipped",
            (
                "no ball was hidden: the attention weights are shown, but claims about the "
                "weights are not tested"
            ),
        )


def _cut_short(match: Match, innings: Innings, quota: int) -> bool:
    went_on = any(side.deliveries for side in match.innings if side.number > innings.number)
    down = sum(len(ball.wickets) for ball in innings.deliveries)
    # Nine wickets may also end an innings, because the last batter may be unable to bat.
    return went_on and innings.legal_balls < quota and down < ALL_OUT - 1 and not innings.declared


def few_before(balls: int) -> Iterator[tuple[str, str]]:
    """Yield a caution if a ball has few or no earlier balls in its innings."""
    if not balls:
        yield "no_history", "no ball was bowled before this ball in the innings"
    elif balls < SHORT_HISTORY:
        words = "1 ball was" if balls == 1 else f"{balls} balls were"
        yield "short_history", f"only {words} bowled before this ball in the innings"


def mid_over(innings: Innings, ball: Delivery) -> Iterator[tuple[str, str]]:
    """Yield a caution if another bowler bowled the previous ball of the same over."""
    for last in innings.deliveries[: ball.index - 1][-1:]:
        if last.over == ball.over and last.bowler.key != ball.bowler.key:
            yield "bowler_mid_over", f"{last.bowler} bowled the earlier balls of this over"


def in_training(match: Match, predictor: Trained) -> str | None:
    """Return a caution if the match may have been used in training, otherwise ``None``."""
    better = "the predictions look better than they are"
    if match.date is None:
        return None
    if predictor.trained_on is not None:
        if identity_of(match) not in predictor.trained_on:
            return None
        weights = predictor.date("weights_until")
        if weights is not None and match.dates and max(match.dates) > weights:
            return f"this match was used to choose the length of training, so {better}"
        return f"the model was trained on this match, so {better}"
    # The checkpoint does not list its training matches: only dates and kinds can be compared.
    first, last = predictor.date("trained_from"), predictor.date("trained_until")
    is_dated = first is not None and last is not None and first <= match.date <= last
    if not is_dated or differences(match, predictor):
        return None
    return (
        f"the match was played within the model's training dates ({first} to "
        f"{last}): if the model was trained on this match, {better}"
    )


def kinds_unlike(matches: Iterable[Match], predictor: Trained) -> dict[str, int]:
    """Count the matches that differ from the training matches, grouped by kind of match."""
    counts: dict[str, int] = {}
    for match in matches:
        flags = {flag for flag, _ in differences(match, predictor)}
        if not flags:
            continue
        kind = f"{match.match_type or 'unknown type'} {match.gender or 'unknown gender'}"
        usual = OVERS_BY_TYPE.get(match.match_type or "")
        if "other_format" in flags and match.overs not in (None, usual):
            kind += f" of {match.overs} overs"
        if "other_balls_per_over" in flags:
            kind += f" of {match.balls_per_over} balls an over"
        if "other_teams" in flags:
            kind += " of other teams"
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def _overs(predictor: Trained) -> list[int]:
    """Innings lengths in the training matches, in overs; empty if unknown."""
    types = predictor.card.get("match_types") or []
    limits = {OVERS_BY_TYPE[name] for name in types if name in OVERS_BY_TYPE}
    all_known = OVERS_BY_TYPE.keys() >= set(types)
    return list(predictor.card.get("overs", sorted(limits) if all_known else []))


def _numbers(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))

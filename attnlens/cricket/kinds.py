"""Whether a match is of the kind a predictor was trained on.

One rule, so that a flag in an explanation, the count beside an evaluation and the warning
after new ratings never disagree. What a file, or a checkpoint, does not tell is no
difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from attnlens.cricket.match import Match
from attnlens.cricket.ratings import LIMITED
from attnlens.cricket.trained import Trained

USUAL_BALLS: Final = (6,)
"""Balls in an over where a checkpoint does not say."""


def kind_card(matches: Sequence[Match]) -> dict[str, Any]:
    """What a checkpoint's card tells of the kind of match it was trained on."""
    genders = {match.gender for match in matches}
    return {
        "match_types": sorted({match.match_type for match in matches if match.match_type}),
        "gender": genders.pop() if len(genders) == 1 else None,
        "overs": sorted({match.overs for match in matches if match.overs}),
        "balls_per_over": sorted({match.balls_per_over for match in matches}),
        "teams": sorted({team for match in matches for team in match.teams}),
    }


def differences(match: Match, predictor: Trained) -> list[tuple[str, str]]:
    """How a match differs in kind from those of the training: flags and their sentences."""
    card = predictor.card
    found = []
    types = card.get("match_types") or []
    other_type = bool(types) and match.match_type not in (None, *types)
    if other_type:
        found.append(
            (
                "other_format",
                f"trained on {' and '.join(types)}, this is {match.match_type}: "
                "take the figures as a sketch",
            )
        )
    overs = _overs(predictor)
    if overs and not other_type and match.overs not in (None, *overs):
        found.append(
            (
                "other_format",
                f"trained on matches of {_numbers(overs)} overs a side, this is one of "
                f"{match.overs}: take the figures as a sketch",
            )
        )
    gender = card.get("gender")
    if gender is not None and match.gender not in (None, gender):
        found.append(("other_gender", f"trained on {gender} cricket, this match is {match.gender}"))
    if not predictor.knows_a_team(match.teams):
        teams = " nor ".join(match.teams)
        found.append(("other_teams", f"trained on matches of neither {teams}: another competition"))
    balls = card.get("balls_per_over") or USUAL_BALLS
    if match.balls_per_over not in balls:
        words = "six" if tuple(balls) == USUAL_BALLS else _numbers(balls)
        found.append(
            (
                "other_balls_per_over",
                f"overs of {match.balls_per_over} balls, the training data has {words}",
            )
        )
    return found


def like_training(match: Match, predictor: Trained) -> bool:
    """Whether the match differs in nothing from those of the training."""
    return not differences(match, predictor)


def kinds_unlike(matches: Iterable[Match], predictor: Trained) -> dict[str, int]:
    """Matches unlike those of the training, counted by what they are."""
    counts: dict[str, int] = {}
    for match in matches:
        flags = {flag for flag, _ in differences(match, predictor)}
        if not flags:
            continue
        kind = f"{match.match_type or 'unknown type'} {match.gender or 'unknown gender'}"
        usual = LIMITED.get(match.match_type or "")
        if "other_format" in flags and match.overs not in (None, usual):
            kind += f" of {match.overs} overs"
        if "other_balls_per_over" in flags:
            kind += f" of {match.balls_per_over} balls an over"
        if "other_teams" in flags:
            kind += " of other teams"
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def _overs(predictor: Trained) -> list[int]:
    """Overs a side in the training; from the types of match where the card does not say."""
    told = predictor.card.get("overs")
    if told is not None:
        return list(told)
    types = predictor.card.get("match_types") or []
    if not all(name in LIMITED for name in types):
        return []
    return sorted({LIMITED[name] for name in types})


def _numbers(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))

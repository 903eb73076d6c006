"""What the model would have expected of a ball, had something been different.

Five worlds are asked about. In the *recorded* one everything is as the file says. In the
*base* one others play or another target is chased. On top of that, past balls may be told
otherwise: in the *told* world they tell their new outcomes and every scoreboard is held, so
only attention can notice; in the *scored* world they tell what they told and the scoreboard
follows; in the *changed* world both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.analysis.verdicts import divergence
from attnlens.cricket.match import Delivery, Innings, Match, Player
from attnlens.cricket.naming import BallReference, echo, innings_numbered
from attnlens.cricket.next_ball import at_the_crease, over_ended, with_next_ball
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.particulars import chase, match_particulars, model_particulars, standing
from attnlens.cricket.people import person_called, refuse_wrong_side
from attnlens.cricket.question import Question
from attnlens.cricket.retelling import (
    Crease,
    Retold,
    balls_with,
    crease_after,
    refuse_finished,
    retold_balls,
    scored_again,
)
from attnlens.cricket.tensors import free_hits
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.what_if_flags import NEW_BATTER, UNNAMED_BOWLER, refuse_target, what_if_flags
from attnlens.cricket.window import BallWindow, one_thread, window_for
from attnlens.errors import InputError
from attnlens.explanation import build
from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.explanation.heatmap import rounded
from attnlens.explanation.what_if_words import narrate_what_if

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Worlds:
    """The match in each world (see the module), what changed, and the balls told otherwise."""

    recorded: Match
    base: Match
    told: Match
    scored: Match
    changed: Match
    changes: list[dict[str, Any]]
    balls: tuple[Retold, ...]


@one_thread()
def what_if(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    question: Question,
    *,
    history: bool = False,
) -> dict[str, Any]:
    """The answer as plain data (see `attnlens.explanation.what_if_types`).

    Args:
        reference: the ball asked about; the one after the last is the ball not yet bowled.
        history: whether the predictor's ratings are those of the match's date.

    Raises:
        InputError: a name, an outcome or a change that is not possible; one line says why.
    """
    worlds = _worlds(with_unbowled(match, reference), reference, predictor, question)
    recorded = window_for(worlds.recorded, reference, predictor)
    before = _probabilities(predictor, recorded)
    base = changed = recorded
    at_base = after = before
    if worlds.base is not worlds.recorded:
        base = changed = window_for(worlds.base, reference, predictor)
        at_base = after = _probabilities(predictor, base)
    parts = None
    moved = tuple(one.before.index for one in worlds.balls if one.before is not one.after)
    if moved:
        changed = window_for(worlds.changed, reference, predictor)
        after = _probabilities(predictor, changed)
        told = window_for(worlds.told, reference, predictor)
        scored = window_for(worlds.scored, reference, predictor)
        attention = _probabilities(predictor, base, past=told)
        scoreboard = _probabilities(predictor, changed, past=scored)
        parts = {
            "balls": list(moved),
            "others": None if base is recorded else _part(before, at_base),
            "attention": _part(at_base, attention),
            "scoreboard": _part(at_base, scoreboard),
            "together": {"points": _points(attention - at_base, after - scoreboard)},
        }
    data = {
        "schema_version": "1.0",
        "model": model_particulars(predictor),
        "match": match_particulars(worlds.recorded, recorded.innings),
        "ball": {
            "innings": recorded.innings.number,
            "index": recorded.delivery.index,
            "label": recorded.delivery.label,
            "super_over": recorded.innings.super_over,
            "actual": recorded.delivery.outcome or None,
        },
        "changes": worlds.changes,
        "before": _state(recorded, reference),
        "after": _state(changed, reference),
        "outcomes": [
            {
                "outcome": outcome,
                "before": rounded(float(then)),
                "after": rounded(float(now)),
                "points": rounded(100 * float(now - then)),
            }
            for outcome, then, now in zip(OUTCOMES, before, after, strict=True)
        ],
        "top_change": build.top_change(OUTCOMES, before.tolist(), after.tolist()),
        "effect_nats": _nats(before, after),
        "parts": parts,
        "flags": what_if_flags(worlds.recorded, recorded, changed, predictor, history=history),
    }
    data["narrative"] = narrate_what_if(data)
    return data


def with_unbowled(match: Match, reference: BallReference) -> Match:
    """The match, with the ball not yet bowled where that is the one asked about.

    Whom the file cannot tell (a new batter, the next over's bowler) is somebody without a
    record, whom the question may replace.
    """
    innings = innings_numbered(match, reference.innings)
    if reference.index <= len(innings.deliveries):
        return match
    last = innings.deliveries[-1] if innings.deliveries else None
    new_batter = last is None or at_the_crease(innings, last)[0] is None
    new_over = last is None or over_ended(innings, last)
    return with_next_ball(
        match,
        reference.innings,
        batter=NEW_BATTER if new_batter else None,
        bowler=UNNAMED_BOWLER if new_over else None,
    )


def _worlds(
    match: Match, reference: BallReference, predictor: TrainedPredictor, question: Question
) -> _Worlds:
    innings = innings_numbered(match, reference.innings)
    current = innings.deliveries[reference.index - 1]
    balls = tuple(retold_balls(match, innings.number, current.index, question.balls))
    changes = [_ball_change(one) for one in balls]
    played, players = _players(match, innings, current, balls, predictor, question)
    changes += players
    target = innings.target if question.target is None else question.target
    if question.target is not None:
        refuse_target(match, innings, question.target)
        was = None if innings.target is None else str(innings.target)
        text = f"the target was {target}" + ("" if was is None else f", not {was}")
        changes.append(_change("target", was, str(target), text))

    deliveries = innings.deliveries
    if played != current:
        deliveries = tuple(played if ball is current else ball for ball in deliveries)
    base = innings
    if played != current or target != innings.target:
        base = replace(innings, deliveries=deliveries, target=target)
    new = {one.before.index: one.after for one in balls}
    followed = scored_again(deliveries, new)
    changed = replace(base, deliveries=_scores_of(followed, balls_with(deliveries, balls)))
    refuse_finished(match, innings, changed, current.index)
    return _Worlds(
        recorded=match,
        base=_with(match, innings, base),
        told=_with(match, innings, replace(base, deliveries=balls_with(deliveries, balls))),
        scored=_with(match, innings, replace(base, deliveries=followed)),
        changed=_with(match, innings, changed),
        changes=changes,
        balls=balls,
    )


def _with(match: Match, old: Innings, new: Innings) -> Match:
    if new is old:
        return match
    return replace(match, innings=tuple(new if side is old else side for side in match.innings))


def _scores_of(scores: Sequence[Delivery], balls: Sequence[Delivery]) -> tuple[Delivery, ...]:
    """The balls, each with the scoreboard before it from ``scores``."""
    return tuple(
        replace(
            ball,
            score_before=score.score_before,
            wickets_before=score.wickets_before,
            legal_balls_before=score.legal_balls_before,
            actual_delivery=score.actual_delivery,
        )
        for score, ball in zip(scores, balls, strict=True)
    )


def _players(
    match: Match,
    innings: Innings,
    current: Delivery,
    balls: Sequence[Retold],
    predictor: TrainedPredictor,
    question: Question,
) -> tuple[Delivery, list[dict[str, Any]]]:
    """The ball asked about with whoever plays it, and the changes that makes."""
    changes = []
    crease = crease_after(current, balls)
    newcomer = Player(NEW_BATTER)
    asked = None
    if question.batter is not None:
        asked = person_called(question.batter, match, predictor, "--batter", unseen=question.unseen)
        refuse_wrong_side(match, innings, asked, "--batter")
    striker, other = crease.striker or newcomer, crease.other or newcomer
    if asked is not None:
        striker, other = _facing(asked, crease, striker, other, current)
    bowler = current.bowler
    if question.bowler is not None:
        bowler = person_called(
            question.bowler, match, predictor, "--bowler", unseen=question.unseen
        )
        refuse_wrong_side(match, innings, bowler, "--bowler")
        changes.append(
            _change(
                "bowler",
                current.bowler.name,
                bowler.name,
                _instead(bowler, current.bowler, "bowled"),
            )
        )
    if bowler.key in (striker.key, other.key):
        raise InputError(f"{bowler} cannot bowl and bat", remedy="name two players")
    by_name = asked is not None and asked.key == striker.key
    if by_name or striker.key != current.batter.key:
        changes.append(
            _change(
                "batter",
                current.batter.name,
                striker.name,
                _instead(striker, current.batter, "faced"),
                follows=not by_name,
            )
        )
    if other.key != current.non_striker.key:
        changes.append(
            _change(
                "non_striker",
                current.non_striker.name,
                other.name,
                _instead(other, current.non_striker, "was at the other end"),
                follows=asked is None or asked.key != other.key,
            )
        )
    same = (striker.key, other.key, bowler.key) == (
        current.batter.key,
        current.non_striker.key,
        current.bowler.key,
    )
    if same:
        return current, changes
    return replace(current, batter=striker, non_striker=other, bowler=bowler), changes


def _facing(
    asked: Player, crease: Crease, striker: Player, other: Player, current: Delivery
) -> tuple[Player, Player]:
    """Striker and non-striker, where somebody is asked to face.

    Args:
        crease: who is in after the balls that went otherwise.
        striker, other: who plays at either end there, newcomers too.
        current: the ball as it was bowled.

    Raises:
        InputError: he is out, or in already, or at the other end.
    """
    if crease.out is not None:
        if asked.key in (crease.out.key, striker.key, other.key):
            where = "out" if asked.key == crease.out.key else "in already"
            raise InputError(
                f"{asked} is {where} after that wicket and cannot come in",
                remedy="name another with --batter",
            )
        return (
            asked if crease.striker is None else striker,
            asked if crease.other is None else other,
        )
    if asked.key != other.key:
        return asked, other
    if (striker.key, other.key) != (current.batter.key, current.non_striker.key):
        raise InputError(
            f"after that change {striker} faces, and {asked} is at the other end",
            remedy="leave --batter out, or name somebody else",
        )
    return other, striker


def _instead(now: Player, was: Player, did: str) -> str:
    return f"{now} {did}" + ("" if now.key == was.key else f", not {was}")


def _change(
    kind: str,
    before: str | None,
    after: str | None,
    text: str,
    *,
    ball: Delivery | None = None,
    follows: bool = False,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "ball": None if ball is None else ball.index,
        "label": None if ball is None else ball.label,
        "before": before,
        "after": after,
        "follows": follows,
        "text": text,
    }


def _ball_change(one: Retold) -> dict[str, Any]:
    was, now = one.before.outcome, one.after.outcome
    text = f"ball {one.before.index} ({one.before.label}) was {OUTCOME_WORDS[now]}"
    if was != now:
        text += f", not {OUTCOME_WORDS[was]}"
    return _change("ball", was, now, text, ball=one.before)


def _probabilities(
    predictor: TrainedPredictor, window: BallWindow, *, past: BallWindow | None = None
) -> Floats:
    """Outcome probabilities ``(11,)`` of a ball, with the past as another window tells it."""
    batch = window.batch
    if past is not None:
        batch = {**batch, "sequence": {**past.batch["sequence"], "now": batch["sequence"]["now"]}}
    with torch.no_grad():
        logits = predictor.model(batch)[0, 0]
    result: Floats = logits.double().softmax(-1).numpy()
    return result


def _nats(before: Floats, after: Floats) -> float:
    return rounded(float(divergence(before, after)), build.NATS_DIGITS)


def _points(first: Floats, second: Floats) -> list[dict[str, Any]]:
    """From one change of the probabilities to another, in points."""
    return build.outcome_points(OUTCOMES, (100 * (second - first)).tolist())


def _part(before: Floats, after: Floats) -> dict[str, Any]:
    return {"points": _points(before, after), "effect_nats": _nats(before, after)}


def _state(window: BallWindow, reference: BallReference) -> dict[str, Any]:
    ball = window.delivery
    return {
        **standing(window),
        "legal_balls": ball.legal_balls_before,
        **chase(window),
        "free_hit": free_hits(window.innings.deliveries)[ball.index - 1],
        "echo": echo(window.match, reference),
    }

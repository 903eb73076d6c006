"""Compute the forecast for a ball after a change of players, target or past outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.ablation import ask
from attnlens.cricket.explain.explain_ball import (
    ball_facts,
    flags_of,
    match_facts,
    model_particulars,
    top_change,
)
from attnlens.cricket.explain.reading import NATS_DIGITS
from attnlens.cricket.explain.types import Remark, Sentence
from attnlens.cricket.explain.what_if_types import (
    LAST,
    SCHEMA_VERSION,
    ChangeKind,
    OutcomeChange,
    WhatIf,
    WhatIfChange,
    WhatIfQuestion,
)
from attnlens.cricket.match.competition import quota_of
from attnlens.cricket.match.ledger import balls_bowled, free_hits
from attnlens.cricket.match.match import (
    OUTCOME_INDEX,
    OUTCOMES,
    Delivery,
    Facts,
    Innings,
    Match,
    Outcome,
    Player,
    Wicket,
)
from attnlens.cricket.match.naming import (
    BallReference,
    at_the_crease,
    changed_ends,
    find_ball,
    innings_numbered,
    over_ended,
    why_over,
    with_next_ball,
)
from attnlens.cricket.predictor.kinds import mid_over
from attnlens.cricket.predictor.trained import (
    TrainedPredictor,
    person_called,
    refuse_wrong_side,
    sides_of,
)
from attnlens.cricket.predictor.window import BallWindow, one_thread, window_for
from attnlens.cricket.words.facts import OUTCOME_WORDS, quote_change, sentence, text_of
from attnlens.cricket.words.narrative import MIN_GROUP_POINTS
from attnlens.errors import InputError
from attnlens.evidence.scores import divergence
from attnlens.files import Floats
from attnlens.render.numbers import rounded

PLAIN: Final[dict[str, tuple[int, dict[str, int]]]] = {
    **{str(runs): (runs, {}) for runs in range(7)},
    "W": (0, {}),
    "wd": (0, {"wides": 1}),
    "nb": (0, {"noballs": 1}),
    "bye": (0, {"legbyes": 1}),
}
"""The runs off the bat and the extras for each new outcome of a ball."""


@dataclass(frozen=True, slots=True)
class ChangedBall:
    """A past ball before and after a change. Both values are equal if the outcome is unchanged."""

    before: Delivery
    after: Delivery


def change_balls(
    match: Match, number: int, index: int, outcomes: Sequence[tuple[str, str]]
) -> list[ChangedBall]:
    """Return the past balls with their new outcomes, in the order of the innings.

    Args:
        number, index: the innings and the position of the predicted ball, both counted from 1.
        outcomes: pairs of a past ball's name and the new outcome. ``last`` is the ball before the
            predicted ball.

    Raises:
        InputError: an outcome does not exist, a ball was not bowled before the predicted ball, or
            two new outcomes are given for one ball.
    """
    innings = innings_numbered(match, number)
    current = innings.deliveries[index - 1]
    chosen: dict[int, str] = {}
    for name, outcome in outcomes:
        at = _index_of(match, innings, current, name)
        new_outcome = _outcome(outcome, name)
        if chosen.setdefault(at, new_outcome) != new_outcome:
            raise InputError(
                f"ball {at} is changed twice, to {chosen[at]} and to {new_outcome}",
                remedy="change each ball only once",
            )
    free = free_hits(innings.deliveries)
    balls = [innings.deliveries[at - 1] for at in sorted(chosen)]
    return [
        ChangedBall(ball, with_outcome(ball, chosen[ball.index], free_hit=free[ball.index - 1]))
        for ball in balls
    ]


def _index_of(match: Match, innings: Innings, current: Delivery, name: str) -> int:
    if name.strip().lower() == LAST:
        if current.index == 1:
            raise BallNotFoundError(
                f"no ball was bowled before the first ball of innings {innings.number}",
                remedy="choose a later ball, or leave the change out",
            )
        return current.index - 1
    reference = find_ball(match, name, None if ":" in name else innings.number)
    if reference.innings != innings.number:
        raise InputError(
            f"ball {name} is in innings {reference.innings}, but the predicted ball is "
            f"in innings {innings.number}",
            remedy="change balls of the same innings, or change the target instead",
        )
    if reference.index >= current.index:
        reason = (
            "is the predicted ball itself"
            if reference.index == current.index
            else "comes after the predicted ball"
        )
        raise InputError(
            f"ball {name} {reason} (delivery {current.index}, label {current.label})",
            remedy="change a ball that was bowled before the predicted ball",
        )
    return reference.index


def _outcome(written: str, name: str) -> str:
    names = {outcome.lower(): outcome for outcome in OUTCOMES}
    outcome_name = names.get(written.strip().lower())
    if outcome_name is None:
        raise InputError(
            f"{written!r}, the new value for ball {name}, is not an outcome",
            remedy=f"use one of {' '.join(OUTCOMES)}",
        )
    return outcome_name


def with_outcome(ball: Delivery, outcome: str, *, free_hit: bool = False) -> Delivery:
    """Return the ball with a new outcome and the runs of this outcome in `PLAIN`.

    A ball that already has the outcome is returned unchanged. Penalty runs, retirements and the
    score before the ball are kept.

    Args:
        free_hit: whether the ball is a free hit, on which a new wicket is a run out.
    """
    if ball.outcome == outcome:
        return ball
    runs, extras = PLAIN[outcome]
    if "penalty" in ball.extras:
        extras = {**extras, "penalty": ball.extras["penalty"]}
    wickets = tuple(wicket for wicket in ball.wickets if not wicket.counts)
    if outcome == "W":
        wickets = (*wickets, Wicket("run out" if free_hit else "bowled", ball.batter))
    extra = sum(extras.values())
    return ball._replace(
        is_legal=outcome not in ("wd", "nb"),
        runs_batter=runs,
        runs_extras=extra,
        runs_total=runs + extra,
        extras=Facts(extras),
        wickets=wickets,
        outcome=outcome,
        non_boundary=False,
    )


def disturbs(ball: ChangedBall, current: Delivery) -> bool:
    """Return whether a change contradicts the recorded balls after the changed ball.

    A change contradicts these balls if it changes their batters or the length of a completed over.
    The last ball before ``current`` may change the batters; see `crease_after`.
    """
    before, after = ball.before, ball.after
    if before.is_legal != after.is_legal and before.over != current.over:
        return True
    wicket_moved = (before.outcome == "W") != (after.outcome == "W")
    moved = changed_ends(before) != changed_ends(after) or wicket_moved
    return moved and before.index < current.index - 1


def rescore(
    deliveries: Sequence[Delivery], changed: Mapping[int, Delivery]
) -> tuple[Delivery, ...]:
    """Replace the deliveries whose indices are in ``changed``, and recompute all scores."""
    runs, wickets, legal, in_over = 0, 0, 0, 0
    over, scored = -1, []
    for ball in deliveries:
        if ball.over != over:
            over, in_over = ball.over, 0
        new = changed.get(ball.index, ball)
        scored.append(
            new._replace(
                score_before=ball.score_before + runs,
                wickets_before=ball.wickets_before + wickets,
                legal_balls_before=ball.legal_balls_before + legal,
                actual_delivery=_shifted(ball.actual_delivery, in_over),
            )
        )
        runs += new.runs_total - ball.runs_total
        wickets += sum(w.counts for w in new.wickets) - sum(w.counts for w in ball.wickets)
        legal += new.is_legal - ball.is_legal
        in_over += new.is_legal - ball.is_legal
    return tuple(scored)


def _shifted(actual: str | None, balls: int) -> str | None:
    if actual is None or not balls:
        return actual
    over, _, position = actual.partition(".")
    return f"{over}.{int(position) + balls}"


@dataclass(frozen=True, slots=True)
class Crease:
    """The two batters for the predicted ball. ``None`` stands for a new batter.

    Attributes:
        out: the batter whom the new batter replaces.
    """

    striker: Player | None
    other: Player | None
    out: Player | None = None


def next_to_bat(innings: Innings, current: Delivery) -> Player | None:
    """Return the first new batter in the file after a ball, or ``None`` if nobody comes in."""
    at = current.index
    before = {p.key for ball in innings.deliveries[:at] for p in (ball.batter, ball.non_striker)}
    pairs = ((ball.batter, ball.non_striker) for ball in innings.deliveries[at:])
    return next((p for pair in pairs for p in pair if p.key not in before), None)


def crease_after(current: Delivery, changed: Sequence[ChangedBall]) -> Crease:
    """Return the batters for the ball ``current`` after a change of the previous ball."""
    last = next((ball for ball in changed if ball.before.index == current.index - 1), None)
    if last is None or last.before is last.after:
        return Crease(current.batter, current.non_striker)
    ball, over_ended = last.after, current.over != last.after.over
    if ball.outcome == "W":
        # No run was made, so the new batter takes the end of the batter who is out.
        stays, newcomer = ball.non_striker, None
        ends = (stays, newcomer) if over_ended else (newcomer, stays)
        return Crease(striker=ends[0], other=ends[1], out=ball.batter)
    if last.before.outcome == "W":
        swapped = changed_ends(ball) != over_ended
        pair = (ball.non_striker, ball.batter) if swapped else (ball.batter, ball.non_striker)
        return Crease(*pair)
    if changed_ends(ball) != changed_ends(last.before):
        # The batters in the file already account for short runs, so they are swapped instead of
        # computed.
        return Crease(current.non_striker, current.batter)
    return Crease(current.batter, current.non_striker)


def refuse_finished(match: Match, before: Innings, after: Innings, index: int) -> None:
    """Raise an `InputError` if the change ends the innings before the ball at ``index``."""
    reason = why_over(match, _until(after, index))
    if reason is not None and why_over(match, _until(before, index)) is None:
        raise InputError(
            f"with this change, ball {index} would not have been bowled: {reason}",
            remedy="make a smaller change, or choose an earlier ball",
        )


def _until(innings: Innings, index: int) -> Innings:
    penalty, past = Facts(pre=innings.penalty_runs.get("pre", 0)), innings.deliveries[: index - 1]
    return replace(innings, deliveries=past, penalty_runs=penalty, declared=None)


_NEW_BATTER: Final = "a new batter"
_UNNAMED_BOWLER: Final = "an unnamed bowler"
_UNNAMED: Final = {_NEW_BATTER: "unnamed_batter", _UNNAMED_BOWLER: "unnamed_bowler"}
"""The flag for each placeholder, which stands for a player whom the file does not name."""

_BOWLERS_SHARE: Final = 5
"""A bowler may bowl at most one fifth of the overs of an innings."""

_MAX_RUNS_A_BALL: Final = 6
_MAX_TARGET: Final = 1500
"""The largest accepted target if the number of balls is unlimited. No real target was larger."""


def refuse_target(match: Match, innings: Innings, target: int) -> None:
    """Raise an `InputError` if the innings is not a chase, or if the target is out of reach."""
    quota = quota_of(match, innings)
    chases = innings.number == 4 if quota is None else innings.number % 2 == 0
    if not chases and innings.target is None:
        raise InputError(
            f"innings {innings.number} is not a chase, so it has no target",
            remedy="leave the target out",
        )
    max_target = _MAX_TARGET if quota is None else _MAX_RUNS_A_BALL * quota
    if target > max_target:
        within = "" if quota is None else f" off {quota} balls"
        raise InputError(
            f"a target of {target}{within} is too high for any side to reach",
            remedy=f"give a target of at most {max_target}",
        )


def what_if_flags(
    before: BallWindow,
    after: BallWindow,
    balls: Sequence[ChangedBall],
    predictor: TrainedPredictor,
    *,
    history: bool,
) -> tuple[Remark, ...]:
    """Return the cautions about the changes, followed by the cautions about both forecasts."""
    flags = []
    recorded, current = before.delivery, after.delivery
    pairs = (current.bowler, recorded.bowler), (current.batter, recorded.batter)
    for player, old in pairs:
        away = player.key != old.key and player.name not in _UNNAMED
        if away and not sides_of(before.match, player):
            flags.append(("not_in_match", f"{player} is not known to play in this match"))
    flags += _against_the_rules(before, after)
    for ball in balls:
        if disturbs(ball, before.delivery):
            text = (
                f"the balls after ball {ball.before.index} ({ball.before.label}) stay as "
                "recorded, although other batters would have been on strike, or an over would "
                "have had a different number of balls"
            )
            flags.append(("as_recorded", text))
    for window in (after, before):
        cautions = flags_of(window, predictor, evidence=True, history=history)
        flags += [_unnamed(caution.flag, caution.text) for caution in cautions]
    return tuple(Remark(flag=name, text=text) for name, text in dict.fromkeys(flags))


def _against_the_rules(before: BallWindow, after: BallWindow) -> Iterator[tuple[str, str]]:
    recorded, current = before.delivery, after.delivery
    balls = after.innings.deliveries[: current.index - 1]
    out = {wicket.player_out.key for ball in balls for wicket in ball.wickets if wicket.counts}
    if current.batter.key != recorded.batter.key and current.batter.key in out:
        yield "already_out", f"{current.batter} is already out"
    if current.bowler.key == recorded.bowler.key:
        return
    quota, size = quota_of(after.match, after.innings), after.innings.balls_per_over
    bowled = [ball for ball in balls if ball.bowler.key == current.bowler.key]
    if quota is not None and not after.innings.super_over:
        overs = math.ceil(quota / size / _BOWLERS_SHARE)
        if balls_bowled(after.innings, current.bowler, current.index) >= overs * size:
            yield "bowler_quota", f"{current.bowler} has already bowled the {overs} overs allowed"
    if any(ball.over == current.over - 1 for ball in bowled):
        yield (
            "bowled_last_over",
            f"{current.bowler} bowled the previous over, and nobody may bowl two overs in a row",
        )
    yield from mid_over(after.innings, current)


def _unnamed(flag: str, text: str) -> tuple[str, str]:
    for name, instead in _UNNAMED.items():
        if flag in ("unseen_batter", "unseen_bowler") and name in text:
            role = "batter" if name == _NEW_BATTER else "bowler"
            return instead, f"no {role} is named, so an average player is used"
    return flag, text


@one_thread()
def what_if(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    question: WhatIfQuestion,
    *,
    history: bool = False,
) -> WhatIf:
    """Answer a what-if question about one ball.

    Args:
        reference: the predicted ball. The position after the last ball means the next ball.
        history: whether the predictor's ratings were computed for the date of the match.

    Raises:
        InputError: a name, an outcome or a change is not possible.
    """
    match = with_unbowled(match, reference)
    balls = change_balls(match, reference.innings, reference.index, question.balls)
    changed, changes = _apply(match, reference, balls, predictor, question)
    recorded = window_for(match, reference, predictor)
    changed_window = window_for(changed, reference, predictor)
    before, after = _probabilities(predictor, recorded), _probabilities(predictor, changed_window)
    actual = recorded.delivery.outcome
    answer = WhatIf(
        schema_version=SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=match_facts(match, recorded),
        changes=tuple(changes),
        before=ball_facts(recorded, reference),
        after=ball_facts(changed_window, reference),
        actual=OUTCOMES[OUTCOME_INDEX[actual]] if actual else None,
        outcomes=tuple(map(_outcome_change, OUTCOMES, before, after)),
        top_change=top_change(before, after),
        effect_nats=rounded(divergence(before, after), NATS_DIGITS),
        flags=what_if_flags(recorded, changed_window, balls, predictor, history=history),
        narrative=(),
    )
    return answer.model_copy(update={"narrative": narrate_what_if(answer)})


def _outcome_change(outcome: Outcome, before: float, after: float) -> OutcomeChange:
    before, after, points = rounded(before), rounded(after), rounded(100 * (after - before))
    return OutcomeChange(outcome=outcome, before=before, after=after, points=points)


def with_unbowled(match: Match, reference: BallReference) -> Match:
    """Return the match, with the next ball added if ``reference`` refers to it.

    Placeholders without a record stand for a new batter and for the bowler of a new over.
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
        batter=Player(_NEW_BATTER) if new_batter else None,
        bowler=Player(_UNNAMED_BOWLER) if new_over else None,
    )


def _apply(
    match: Match,
    reference: BallReference,
    balls: Sequence[ChangedBall],
    predictor: TrainedPredictor,
    question: WhatIfQuestion,
) -> tuple[Match, list[WhatIfChange]]:
    innings = innings_numbered(match, reference.innings)
    current = innings.deliveries[reference.index - 1]
    changes = [_ball_change(ball) for ball in balls]
    played, players = _players(match, innings, current, balls, predictor, question)
    changes += players
    target = innings.target
    if question.target is not None:
        refuse_target(match, innings, question.target)
        was, target = None if target is None else str(target), question.target
        text = f"the target was {target}" + ("" if was is None else f", not {was}")
        changes.append(WhatIfChange(kind="target", before=was, after=str(target), text=text))
    replaced = {ball.before.index: ball.after for ball in balls} | {current.index: played}
    changed = replace(innings, deliveries=rescore(innings.deliveries, replaced), target=target)
    refuse_finished(match, innings, changed, current.index)
    sides = tuple(changed if side is innings else side for side in match.innings)
    return replace(match, innings=sides), changes


def _players(
    match: Match,
    innings: Innings,
    current: Delivery,
    balls: Sequence[ChangedBall],
    predictor: TrainedPredictor,
    question: WhatIfQuestion,
) -> tuple[Delivery, list[WhatIfChange]]:

    def find_player(name: str, option: str) -> Player:
        player = person_called(name, match, predictor, option)
        refuse_wrong_side(match, innings, player, option)
        return player

    crease = crease_after(current, balls)
    newcomer = next_to_bat(innings, current) or Player(_NEW_BATTER)
    new_batter = None if question.batter is None else find_player(question.batter, "batter")
    striker, other = crease.striker or newcomer, crease.other or newcomer
    if new_batter is not None:
        striker, other = _facing(new_batter, crease, striker, other)
    changes, bowler = [], current.bowler
    if question.bowler is not None:
        bowler = find_player(question.bowler, "bowler")
        changes.append(_player_change("bowler", current.bowler, bowler, "bowled"))
    if bowler.key in (striker.key, other.key):
        raise InputError(
            f"{bowler} cannot bowl and bat at the same time", remedy="name two different players"
        )
    by_name = None if new_batter is None else new_batter.key
    if striker.key == by_name or striker.key != current.batter.key:
        faced = _player_change("batter", current.batter, striker, "faced")
        changes.append(faced.model_copy(update={"follows": striker.key != by_name}))
    if other.key != current.non_striker.key:
        did, follows = "was at the other end", other.key != by_name
        stood = _player_change("non_striker", current.non_striker, other, did)
        changes.append(stood.model_copy(update={"follows": follows}))
    return current._replace(batter=striker, non_striker=other, bowler=bowler), changes


def _facing(
    player: Player, crease: Crease, striker: Player, other: Player
) -> tuple[Player, Player]:
    """Return the striker and the non-striker after ``player`` becomes the batter."""
    if crease.out is not None:
        stays = crease.striker or crease.other
        if player.key in (crease.out.key, stays and stays.key):
            where = "out" if player.key == crease.out.key else "already batting"
            raise InputError(
                f"{player} is {where} after that wicket and cannot come in",
                remedy="name another batter",
            )
        return (
            player if crease.striker is None else striker,
            player if crease.other is None else other,
        )
    return (other, striker) if player.key == other.key else (player, other)


def _player_change(kind: ChangeKind, was: Player, player: Player, did: str) -> WhatIfChange:
    text = f"{player} {did}" + ("" if player.key == was.key else f", not {was}")
    return WhatIfChange(kind=kind, before=was.name, after=player.name, text=text)


def _ball_change(changed: ChangedBall) -> WhatIfChange:
    ball, before, after = changed.before, changed.before.outcome, changed.after.outcome
    text = f"ball {ball.index} ({ball.label}) was {OUTCOME_WORDS[after]}"
    if before != after:
        text += f", not {OUTCOME_WORDS[before]}"
    index, label = ball.index, ball.label
    return WhatIfChange(kind="ball", ball=index, label=label, before=before, after=after, text=text)


def _probabilities(predictor: TrainedPredictor, window: BallWindow) -> Floats:
    batch = window.batch
    result: Floats = ask(predictor.model, batch["graph_data"], batch["sequence"])[0]
    return result


def narrate_what_if(answer: WhatIf) -> tuple[Sentence, ...]:
    """Write up to three sentences about an answer, each with its facts in reading order."""
    if not answer.effect_nats and not any(change.differs for change in answer.changes):
        text = "The question changes nothing, so the two forecasts are the same."
        return (sentence(answer, text),)
    ranked = sorted(range(len(answer.outcomes)), key=lambda at: -abs(answer.outcomes[at].points))
    first, second = ranked[:2]
    templates = [f"Suppose {_changes(answer)}: {_moved(answer, first)}."]
    if abs(answer.outcomes[second].points) >= MIN_GROUP_POINTS:
        templates.append(f"Also, {_moved(answer, second)}.")
    templates.append(
        "The two forecasts differ by [/effect_nats significant] nats; forecasts say what the model "
        "expects, not what would have happened."
    )
    return tuple(sentence(answer, template) for template in templates)


def _changes(answer: WhatIf) -> str:
    text = ""
    alike = not any(change.differs for change in answer.changes)
    faced = [change.before for change in answer.changes if change.kind == "batter"]
    for index, change in enumerate(answer.changes):
        swapped = change.kind == "non_striker" and change.after in faced
        # If a player is replaced by a player of the same name, no change differs in words. All
        # changes are then listed.
        if swapped or not (change.differs or alike):
            continue
        if text:
            text += ", so " if change.follows else ", and "
        text += f"[/changes/{index}/text]"
    return text


def _moved(answer: WhatIf, index: int) -> str:
    pointer = f"/outcomes/{index}"
    outcome = f"the probability of [{pointer}/outcome outcome]"
    before, after = quote_change(answer, f"{pointer}/before", f"{pointer}/after")
    if text_of(answer, before) == text_of(answer, after):
        return f"{outcome} stays at {before}"
    verb = "falls" if answer.outcomes[index].points < 0 else "rises"
    return f"{outcome} {verb} from {before} to {after} ([{pointer}/points signed] points)"

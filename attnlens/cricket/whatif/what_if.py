"""What the model would have expected of a ball, had something been different.

Five worlds are asked about. In the *recorded* one everything is as the file says. In the
*base* one others play or another target is chased. On top of that, past balls may be told
otherwise: in the *told* world they tell their new outcomes and every scoreboard is held, so
only attention can notice; in the *scored* world they tell what they told and the scoreboard
follows; in the *changed* world both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from attnlens.analysis.scores import divergence
from attnlens.arrays import Floats
from attnlens.cricket.explain.ablation import ask
from attnlens.cricket.explain.explain_ball import outcome_points, top_change
from attnlens.cricket.explain.heatmap import NATS_DIGITS
from attnlens.cricket.explain.particulars import chase, free_hit, model_particulars
from attnlens.cricket.explain.types import OutcomePoints
from attnlens.cricket.match.match import Delivery, Innings, Match, Player, match_particulars
from attnlens.cricket.match.naming import BallReference, echo, innings_numbered, over_ended
from attnlens.cricket.match.next_ball import at_the_crease, with_next_ball
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.model.people import person_called, refuse_wrong_side
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow, one_thread, window_for
from attnlens.cricket.whatif.flags import NEW_BATTER, UNNAMED_BOWLER, refuse_target, what_if_flags
from attnlens.cricket.whatif.question import Question
from attnlens.cricket.whatif.retelling import (
    Crease,
    Retold,
    balls_with,
    crease_after,
    refuse_finished,
    retold_balls,
    scored_again,
)
from attnlens.cricket.whatif.types import (
    SCHEMA_VERSION,
    Change,
    ChangeKind,
    OutcomeChange,
    Part,
    Parts,
    Remainder,
    State,
    WhatIf,
    WhatIfBall,
    WhatIfMatch,
)
from attnlens.cricket.whatif.words import narrate_what_if
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.errors import InputError
from attnlens.show.numbers import rounded


@dataclass(frozen=True, slots=True)
class _Worlds:
    """The match in each world (see the module), what changed, and the balls told otherwise."""

    recorded: Match
    base: Match
    told: Match
    scored: Match
    changed: Match
    changes: list[Change]
    balls: tuple[Retold, ...]


@one_thread()
def what_if(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    question: Question,
    *,
    history: bool = False,
) -> WhatIf:
    """The answer to a question about one ball.

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
    moved = tuple(ball.before.index for ball in worlds.balls if ball.before is not ball.after)
    if moved:
        changed = window_for(worlds.changed, reference, predictor)
        after = _probabilities(predictor, changed)
        told = window_for(worlds.told, reference, predictor)
        scored = window_for(worlds.scored, reference, predictor)
        attention = _probabilities(predictor, base, past=told)
        scoreboard = _probabilities(predictor, changed, past=scored)
        parts = Parts(
            balls=moved,
            others=None if base is recorded else _part(before, at_base),
            attention=_part(at_base, attention),
            scoreboard=_part(at_base, scoreboard),
            together=Remainder(points=_points(attention - at_base, after - scoreboard)),
        )
    answer = WhatIf(
        schema_version=SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=WhatIfMatch.model_validate(
            asdict(match_particulars(worlds.recorded, recorded.innings))
        ),
        ball=_ball(recorded),
        changes=tuple(worlds.changes),
        before=_state(recorded, reference),
        after=_state(changed, reference),
        outcomes=tuple(
            OutcomeChange(
                outcome=outcome,
                before=rounded(then),
                after=rounded(now),
                points=rounded(100 * (now - then)),
            )
            for outcome, then, now in zip(OUTCOMES, before, after, strict=True)
        ),
        top_change=top_change(before, after),
        effect_nats=_nats(before, after),
        parts=parts,
        flags=what_if_flags(worlds.recorded, recorded, changed, predictor, history=history),
        narrative=(),
    )
    return answer.model_copy(update={"narrative": narrate_what_if(answer)})


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
    changes = [_ball_change(ball) for ball in balls]
    played, players = _players(match, innings, current, balls, predictor, question)
    changes += players
    target = innings.target
    if question.target is not None:
        refuse_target(match, innings, question.target)
        was, target = None if target is None else str(target), question.target
        text = f"the target was {target}" + ("" if was is None else f", not {was}")
        changes.append(_change("target", was, str(target), text))

    base = innings
    if played != current or target != innings.target:
        deliveries = tuple(played if ball is current else ball for ball in innings.deliveries)
        base = replace(innings, deliveries=deliveries, target=target)
    new = {ball.before.index: ball.after for ball in balls}
    changed = replace(base, deliveries=scored_again(base.deliveries, new, retold=True))
    refuse_finished(match, innings, changed, current.index)
    return _Worlds(
        recorded=match,
        base=_with(match, innings, base),
        told=_with(match, innings, replace(base, deliveries=balls_with(base.deliveries, balls))),
        scored=_with(match, innings, replace(base, deliveries=scored_again(base.deliveries, new))),
        changed=_with(match, innings, changed),
        changes=changes,
        balls=balls,
    )


def _with(match: Match, old: Innings, new: Innings) -> Match:
    if new is old:
        return match
    return replace(match, innings=tuple(new if side is old else side for side in match.innings))


def _players(
    match: Match,
    innings: Innings,
    current: Delivery,
    balls: Sequence[Retold],
    predictor: TrainedPredictor,
    question: Question,
) -> tuple[Delivery, list[Change]]:
    """The ball asked about with whoever plays it, and the changes that makes."""

    def named(name: str, option: str) -> Player:
        player = person_called(name, match, predictor, option)
        refuse_wrong_side(match, innings, player, option)
        return player

    crease = crease_after(current, balls)
    newcomer = Player(NEW_BATTER)
    asked = None if question.batter is None else named(question.batter, "--set batter")
    striker, other = crease.striker or newcomer, crease.other or newcomer
    if asked is not None:
        striker, other = _facing(asked, crease, striker, other, current)
    changes, bowler = [], current.bowler
    if question.bowler is not None:
        bowler = named(question.bowler, "--set bowler")
        changes.append(_player_change("bowler", current.bowler, bowler, "bowled"))
    if bowler.key in (striker.key, other.key):
        raise InputError(f"{bowler} cannot bowl and bat", remedy="name two players")
    by_name = None if asked is None else asked.key
    if striker.key == by_name or striker.key != current.batter.key:
        changes.append(
            _player_change(
                "batter", current.batter, striker, "faced", follows=striker.key != by_name
            )
        )
    if other.key != current.non_striker.key:
        changes.append(
            _player_change(
                "non_striker",
                current.non_striker,
                other,
                "was at the other end",
                follows=other.key != by_name,
            )
        )
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
                remedy="name another batter",
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
            remedy="leave the batter out, or name somebody else",
        )
    return other, striker


def _player_change(
    kind: ChangeKind, was: Player, now: Player, did: str, *, follows: bool = False
) -> Change:
    text = f"{now} {did}" + ("" if now.key == was.key else f", not {was}")
    return _change(kind, was.name, now.name, text, follows=follows)


def _change(
    kind: ChangeKind,
    before: str | None,
    after: str | None,
    text: str,
    *,
    ball: Delivery | None = None,
    follows: bool = False,
) -> Change:
    return Change(
        kind=kind,
        ball=None if ball is None else ball.index,
        label=None if ball is None else ball.label,
        before=before,
        after=after,
        follows=follows,
        text=text,
    )


def _ball_change(one: Retold) -> Change:
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
    result: Floats = ask(predictor.model, batch["graph_data"], batch["sequence"])[0]
    return result


def _nats(before: Floats, after: Floats) -> float:
    return rounded(divergence(before, after), NATS_DIGITS)


def _points(first: Floats, second: Floats) -> tuple[OutcomePoints, ...]:
    """From one change of the probabilities to another, in points."""
    return outcome_points(100 * (second - first))


def _part(before: Floats, after: Floats) -> Part:
    return Part(points=_points(before, after), effect_nats=_nats(before, after))


def _ball(window: BallWindow) -> WhatIfBall:
    """The ball asked about, as it was bowled."""
    ball = window.delivery
    return WhatIfBall(
        innings=window.innings.number,
        index=ball.index,
        label=ball.label,
        super_over=window.innings.super_over,
        actual=OUTCOMES[OUTCOME_INDEX[ball.outcome]] if ball.outcome else None,
    )


def _state(window: BallWindow, reference: BallReference) -> State:
    """Who plays the ball, and the scoreboard before it."""
    ball, left = window.delivery, chase(window)
    return State(
        batter=ball.batter.name,
        non_striker=ball.non_striker.name,
        bowler=ball.bowler.name,
        score=ball.score_before,
        wickets=ball.wickets_before,
        legal_balls=ball.legal_balls_before,
        target=left.target,
        balls_left=left.balls_left,
        runs_required=left.runs_required,
        required_rate=left.required_rate,
        free_hit=free_hit(window),
        echo=echo(window.match, reference),
    )

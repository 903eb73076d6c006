"""What the model would have expected of a ball, had something been different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attnlens.arrays import Floats
from attnlens.cricket.explain.ablation import ask
from attnlens.cricket.explain.explain_ball import top_change
from attnlens.cricket.explain.heatmap import NATS_DIGITS
from attnlens.cricket.explain.particulars import ball_facts, match_facts, model_particulars
from attnlens.cricket.explain.types import SCHEMA_VERSION, Sentence
from attnlens.cricket.match.match import Delivery, Innings, Match, Player
from attnlens.cricket.match.naming import BallReference, innings_numbered, over_ended
from attnlens.cricket.match.next_ball import at_the_crease, with_next_ball
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.trained import TrainedPredictor, person_called, refuse_wrong_side
from attnlens.cricket.predictor.window import BallWindow, one_thread, window_for
from attnlens.cricket.whatif.flags import NEW_BATTER, UNNAMED_BOWLER, refuse_target, what_if_flags
from attnlens.cricket.whatif.question import Question
from attnlens.cricket.whatif.retelling import (
    Crease,
    Retold,
    crease_after,
    refuse_finished,
    retold_balls,
    scored_again,
)
from attnlens.cricket.whatif.types import (
    Change,
    ChangeKind,
    OutcomeChange,
    WhatIf,
)
from attnlens.cricket.words.facts import (
    OUTCOME_WORDS,
    Part,
    Source,
    outcome_words,
    sentence,
    significant,
)
from attnlens.cricket.words.narrative import FELT
from attnlens.errors import InputError
from attnlens.evidence.scores import divergence
from attnlens.render.numbers import rounded, signed_points


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
    match = with_unbowled(match, reference)
    balls = retold_balls(match, reference.innings, reference.index, question.balls)
    changed, changes = _otherwise(match, reference, balls, predictor, question)
    recorded = window_for(match, reference, predictor)
    told = window_for(changed, reference, predictor)
    before, after = _probabilities(predictor, recorded), _probabilities(predictor, told)
    actual = recorded.delivery.outcome
    answer = WhatIf(
        schema_version=SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=match_facts(match, recorded),
        changes=tuple(changes),
        before=ball_facts(recorded, reference),
        after=ball_facts(told, reference),
        actual=OUTCOMES[OUTCOME_INDEX[actual]] if actual else None,
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
        effect_nats=rounded(divergence(before, after), NATS_DIGITS),
        flags=what_if_flags(recorded, told, balls, predictor, history=history),
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


def _otherwise(
    match: Match,
    reference: BallReference,
    balls: Sequence[Retold],
    predictor: TrainedPredictor,
    question: Question,
) -> tuple[Match, list[Change]]:
    """The match as it is told now, and what is different in it."""
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
        changes.append(Change(kind="target", before=was, after=str(target), text=text))
    told = {ball.before.index: ball.after for ball in balls} | {current.index: played}
    changed = replace(innings, deliveries=scored_again(innings.deliveries, told), target=target)
    refuse_finished(match, innings, changed, current.index)
    sides = tuple(changed if side is innings else side for side in match.innings)
    return replace(match, innings=sides), changes


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
    asked = None if question.batter is None else named(question.batter, "batter")
    striker, other = crease.striker or newcomer, crease.other or newcomer
    if asked is not None:
        striker, other = _facing(asked, crease, striker, other)
    changes, bowler = [], current.bowler
    if question.bowler is not None:
        bowler = named(question.bowler, "bowler")
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
    return current._replace(batter=striker, non_striker=other, bowler=bowler), changes


def _facing(asked: Player, crease: Crease, striker: Player, other: Player) -> tuple[Player, Player]:
    """Striker and non-striker, where somebody is asked to face.

    Args:
        crease: who is in after the balls that went otherwise.
        striker, other: who plays at either end there, newcomers too.

    Raises:
        InputError: he is out, or in already.
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
    return (other, striker) if asked.key == other.key else (asked, other)


def _player_change(
    kind: ChangeKind, was: Player, now: Player, did: str, *, follows: bool = False
) -> Change:
    text = f"{now} {did}" + ("" if now.key == was.key else f", not {was}")
    return Change(kind=kind, before=was.name, after=now.name, text=text, follows=follows)


def _ball_change(one: Retold) -> Change:
    ball, was, now = one.before, one.before.outcome, one.after.outcome
    text = f"ball {ball.index} ({ball.label}) was {OUTCOME_WORDS[now]}"
    if was != now:
        text += f", not {OUTCOME_WORDS[was]}"
    label = ball.label
    return Change(kind="ball", ball=ball.index, label=label, before=was, after=now, text=text)


def _probabilities(predictor: TrainedPredictor, window: BallWindow) -> Floats:
    """Outcome probabilities of a ball ``(11,)``."""
    batch = window.batch
    result: Floats = ask(predictor.model, batch["graph_data"], batch["sequence"])[0]
    return result


def narrate_what_if(answer: WhatIf) -> tuple[Sentence, ...]:
    """Two or three sentences about an answer (its own ``narrative`` is not read).

    Every number and name in a sentence is inside a fact, in the order of reading.
    """
    source = Source(answer)
    if not answer.effect_nats and not any(change.differs for change in answer.changes):
        return (sentence(["That is how it was: nothing is different, and nothing changes."]),)
    ranked = sorted(
        range(len(answer.outcomes)), key=lambda place: -abs(answer.outcomes[place].points)
    )
    first, second = ranked[:2]
    changes = _changes(answer, source)
    sentences = [sentence(["Suppose ", *changes, ": ", *_moved(answer, source, first), "."])]
    if abs(answer.outcomes[second].points) >= FELT:
        sentences.append(sentence(["Next, ", *_moved(answer, source, second), "."]))
    sentences.append(
        sentence(
            [
                "The two answers are ",
                source.quote("/effect_nats", significant),
                " nats apart; this is what the model expects, not what would have happened.",
            ]
        )
    )
    return tuple(sentences)


def _changes(answer: WhatIf, source: Source[WhatIf]) -> list[Part]:
    """What is different, one clause each; all that was asked, where nothing is."""
    clauses: list[Part] = []
    alike = not any(change.differs for change in answer.changes)
    faced = [change.before for change in answer.changes if change.kind == "batter"]
    for place, change in enumerate(answer.changes):
        swapped = change.kind == "non_striker" and change.after in faced
        # Two people may have one name.
        if swapped or not (change.differs or alike):
            continue
        if clauses:
            clauses.append(", so " if change.follows else ", and ")
        clauses.append(source.quote(f"/changes/{place}/text"))
    return clauses


def _moved(answer: WhatIf, source: Source[WhatIf], place: int) -> list[Part]:
    """How the chance of an outcome changes, with as few decimals as show it."""
    pointer = f"/outcomes/{place}"
    outcome = source.quote(f"{pointer}/outcome", outcome_words)
    before, after = source.change(f"{pointer}/before", f"{pointer}/after")
    if before.text == after.text:
        return ["the chance of ", outcome, " stays at ", before]
    verb = "falls" if answer.outcomes[place].points < 0 else "rises"
    points = source.quote(f"{pointer}/points", signed_points)
    return [
        *("the chance of ", outcome, f" {verb} from ", before),
        *(" to ", after, " (", points, " points)"),
    ]

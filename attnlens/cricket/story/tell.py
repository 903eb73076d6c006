"""The story of a match, from one pass over its balls and tests of the few that it tells.

Every figure is a sum or a difference of what the model expected of single balls. What is said to
have been a reason was tested: `attnlens.cricket.explain`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from attnlens.arrays import Floats
from attnlens.claims.trial import q_over
from attnlens.claims.verdict import Q_LEVEL, Verdict
from attnlens.cricket.explain.particulars import model_particulars
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Delivery, Innings, Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES, Outcome
from attnlens.cricket.match.scorecard import charged_runs, result_sentence
from attnlens.cricket.model.kinds import cautions
from attnlens.cricket.model.match_states import RUNS, contest_of
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import DIGITS, Foretold, foretell
from attnlens.cricket.story import types
from attnlens.cricket.story.words import event_of, moment_sentence
from attnlens.cricket.words.facts import Source, sentence
from attnlens.cricket.words.story import NOT_TOLD, changed, supported
from attnlens.show.numbers import rounded

TURNS: Final = (5, 8)
"""Turning points: so many, and up to so many where those swing the match by `LARGE`."""

LARGE: Final = 0.1
LEAST: Final = 0.01
"""Swings of the chance to win: of a sixth turning point, and of any at all."""

SURPRISES: Final = (4, 8)
"""The most surprising balls that are told: beside turning points, and where there are none."""

EXTRAS: Final = ("wd", "nb", "bye")

NAMED: Final = 3
"""Unseen players that a note names."""

Explain: TypeAlias = Callable[[BallReference, Outcome], Explanation]
Report: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Bowled:
    """A ball that was bowled, with the chance of what happened and who was winning.

    Attributes:
        before, after: the chance of the story's team; ``None`` where none can be told.
    """

    innings: Innings
    ball: Delivery
    chance: float
    before: float | None
    after: float | None

    @property
    def swing(self) -> float:
        """What the ball did to the chance to win."""
        return 0.0 if self.before is None or self.after is None else self.after - self.before

    @property
    def reference(self) -> BallReference:
        """Its innings and place."""
        return BallReference(self.innings.number, self.ball.index)


def tell(
    match: Match,
    predictor: TrainedPredictor,
    explain: Explain,
    *,
    evidence: bool = True,
    history: bool = False,
    report: Report | None = None,
) -> types.MatchStory:
    """The story of a match.

    Args:
        explain: the explanation of a ball about one outcome, as the story's predictor has it.
        evidence: whether `explain` runs the interventions.
        history: whether the predictor's ratings are those of the match's date.
        report: is told how many of the balls that are tested are done, and of how many.
    """
    told = [one for one in foretell(match, predictor) if not one.innings.super_over]
    team = _team(match, told)
    balls = [ball for one in told for ball in _bowled(one, team)]
    turning = turning_points(balls)
    surprising = surprises(balls, SURPRISES[0 if turning else 1])
    chosen = sorted({*turning, *surprising}, key=balls.index)
    explained: dict[BallReference, Explanation] = {}
    for done, bowled in enumerate(chosen):
        if report is not None:
            report(done, len(chosen))
        explained[bowled.reference] = explain(bowled.reference, _outcome(bowled.ball))
    moments = {one: _moment(one, explained[one.reference]) for one in chosen}
    claims, tested = _claims([explained[one.reference] for one in chosen])
    return types.MatchStory(
        schema_version=types.SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=_played(match),
        result=_result(match),
        team=team,
        win_probability=tuple(_win_point(one) for one in balls if one.before is not None),
        turning_points=tuple(moments[one] for one in turning),
        surprises=tuple(moments[one] for one in surprising),
        claims=claims,
        tested=tested,
        expected=_expected(told),
        notes=_notes(match, predictor, told, evidence=evidence, history=history),
    )


def _outcome(ball: Delivery) -> Outcome:
    return OUTCOMES[OUTCOME_INDEX[ball.outcome]]


def _team(match: Match, told: Sequence[Foretold]) -> str | None:
    """Whose chance is told: the winner's, else that of the side that bats first."""
    if not any(one.winning is not None for one in told):
        return None
    winners = (match.outcome.get(name) for name in ("winner", "eliminator", "bowl_out"))
    sides = [match.innings[0].batting_team, match.innings[0].bowling_team]
    return next((name for name in winners if name in sides), sides[0])


def _bowled(told: Foretold, team: str | None) -> Iterator[Bowled]:
    """The balls of an innings in order."""
    winning = told.winning
    for row, ball in enumerate(told.innings.deliveries):
        chance = float(told.chances[row, OUTCOME_INDEX[ball.outcome]])
        if winning is None:
            yield Bowled(told.innings, ball, chance, None, None)
            continue
        ends = [float(winning.before[row]), float(winning.happened[row])]
        if told.innings.batting_team != team:
            ends = [1 - end for end in ends]
        before, after = (rounded(end, DIGITS) for end in ends)
        yield Bowled(told.innings, ball, chance, before, after)


def turning_points(balls: Iterable[Bowled]) -> list[Bowled]:
    """The balls that swung the match most, in the order in which they were bowled."""
    moved = [ball for ball in balls if abs(ball.swing) >= LEAST]
    ranked = sorted(moved, key=lambda ball: -abs(ball.swing))
    large = sum(abs(ball.swing) >= LARGE for ball in ranked)
    chosen = ranked[: min(max(large, TURNS[0]), TURNS[1])]
    return [ball for ball in moved if ball in chosen]


def surprises(balls: Iterable[Bowled], most: int) -> list[Bowled]:
    """The balls of which what happened was least expected, the most surprising first.

    Of runs off the bat and of wickets: extras are always unlikely, and nobody talks of them.
    """
    spoken_of = (ball for ball in balls if ball.ball.outcome not in EXTRAS)
    return sorted(spoken_of, key=lambda ball: ball.chance)[:most]


def _win_point(bowled: Bowled) -> types.WinPoint:
    assert bowled.before is not None
    assert bowled.after is not None
    ball = bowled.ball
    return types.WinPoint(
        innings=bowled.innings.number,
        index=ball.index,
        label=ball.label,
        before=bowled.before,
        after=bowled.after,
    )


def _moment(bowled: Bowled, explanation: Explanation) -> types.Moment:
    ball, prediction = explanation.ball, explanation.prediction
    entry = prediction.outcomes[OUTCOME_INDEX[bowled.ball.outcome]]
    held = supported(explanation)
    return types.Moment(
        innings=ball.innings,
        index=ball.index,
        label=bowled.ball.label,
        batter=ball.batter,
        bowler=ball.bowler,
        outcome=entry.outcome,
        probability=entry.probability,
        usual=entry.usual,
        surprise_bits=rounded(-math.log2(max(entry.probability, 1e-9))),
        swing=None if bowled.before is None else rounded(bowled.swing, DIGITS),
        event=event_of(explanation),
        sentence=moment_sentence(explanation),
        verdict=_verdict(explanation),
        finding=_finding(explanation, held[0]) if held else None,
    )


def _finding(explanation: Explanation, at: int) -> str:
    return sentence([*changed(Source(explanation), at), "."]).text


def _about_the_model(explanation: Explanation) -> list[int]:
    """The places of claims that say why: about past balls or records, for the whole model."""
    return [
        at
        for at, claim in enumerate(explanation.evidence)
        if claim.removed_from == "model"
        and not claim.reference
        and claim.kind not in NOT_TOLD
        and claim.verdict is not None
    ]


def _verdict(explanation: Explanation) -> Verdict | None:
    """Whether any of them is supported; else whether any could have been."""
    verdicts = {explanation.evidence[at].verdict for at in _about_the_model(explanation)}
    if not verdicts:
        return None
    if "supported" in verdicts:
        return "supported"
    return "cannot be told" if verdicts == {"cannot be told"} else "not better than chance"


def _claims(
    explanations: Sequence[Explanation],
) -> tuple[tuple[types.MatchClaim, ...], types.Tested]:
    """The claims that hold among all that were tested, the surest first; and how many were."""
    places = [
        (one, at)
        for one in explanations
        for at in _about_the_model(one)
        if one.evidence[at].p is not None
    ]
    over_match = q_over([one.evidence[at] for one, at in places])
    held = [
        _claim(one, at, q)
        for (one, at), q in zip(places, over_match, strict=True)
        if q is not None and q <= Q_LEVEL and one.evidence[at].verdict == "supported"
    ]
    tested = types.Tested(
        balls=len({id(one) for one, _ in places}),
        claims=len(places),
        held=sum(one.evidence[at].verdict == "supported" for one, at in places),
    )
    return tuple(sorted(held, key=lambda claim: (claim.q_match, claim.p))), tested


def _claim(explanation: Explanation, at: int, over_match: float) -> types.MatchClaim:
    claim, ball = explanation.evidence[at], explanation.ball
    change = claim.top_change
    assert claim.p is not None
    assert claim.q is not None
    return types.MatchClaim(
        innings=ball.innings,
        index=ball.index,
        label=ball.label or "",
        sentence=_finding(explanation, at),
        outcome=change.outcome,
        before=change.before,
        after=change.after,
        p=claim.p,
        q=claim.q,
        q_match=rounded(over_match),
    )


# ---- expected and actual

Role: TypeAlias = Literal["batter", "bowler", "over"]

WORTH: Final[Mapping[Role, Floats]] = {
    "batter": RUNS * [name.isdigit() for name in OUTCOMES],
    "bowler": RUNS * [name != "bye" for name in OUTCOMES],
    "over": RUNS,
}
"""Runs that each outcome counts for whom, by `OUTCOMES`."""


def _expected(told: Sequence[Foretold]) -> types.Expected:
    batters, bowlers, overs = (
        tuple(tally for one in told for tally in _tallies(one, role)) for role in get_args(Role)
    )
    return types.Expected(batters=batters, bowlers=bowlers, overs=overs)


def _tallies(told: Foretold, role: Role) -> Iterator[types.Tally]:
    """A tally for each player or over of an innings, in order of appearance."""
    runs: Floats = told.chances @ WORTH[role]
    wickets: Floats = told.chances[:, OUTCOME_INDEX["W"]]
    rows: dict[tuple[str, str], list[int]] = {}
    for row, ball in enumerate(told.innings.deliveries):
        rows.setdefault(_whose(ball, role), []).append(row)
    for (_, name), mine in rows.items():
        balls = [told.innings.deliveries[row] for row in mine]
        yield types.Tally(
            innings=told.innings.number,
            name=name,
            balls=sum(_counts(ball, role) for ball in balls),
            runs=sum(_runs(ball, role) for ball in balls),
            expected_runs=rounded(runs[mine].sum()),
            wickets=sum(ball.outcome == "W" for ball in balls),
            expected_wickets=rounded(wickets[mine].sum()),
        )


def _whose(ball: Delivery, role: Role) -> tuple[str, str]:
    """What tells players or overs apart, and the name."""
    if role == "over":
        return str(ball.over), f"over {ball.over}"
    player = ball.batter if role == "batter" else ball.bowler
    return player.key, player.name


def _counts(ball: Delivery, role: Role) -> bool:
    """Whether a scorecard counts the ball: faced by a batter, or legal."""
    return "wides" not in ball.extras if role == "batter" else ball.is_legal


def _runs(ball: Delivery, role: Role) -> int:
    if role == "over":
        return ball.runs_total
    return ball.runs_batter if role == "batter" else charged_runs(ball)


# ---- the match, and what to know of it


def _played(match: Match) -> types.Played:
    name = match.event.get("name")
    return types.Played(
        match_id=match.match_id,
        match_type=match.match_type,
        gender=match.gender,
        dates=tuple(day.isoformat() for day in match.dates),
        event=None if name is None else str(name),
        venue=match.venue,
        city=match.city,
        teams=match.teams,
        innings=tuple(
            types.Side(
                innings=side.number,
                batting_team=side.batting_team,
                runs=side.total,
                wickets=side.wickets,
                overs=side.overs_display,
                deliveries=len(side.deliveries),
                target=None if side.set_later else side.target,
                super_over=side.super_over,
            )
            for side in match.innings
        ),
    )


def _result(match: Match) -> str:
    said = result_sentence(match) or "the file tells no result"
    return said[:1].upper() + said[1:]


def _notes(
    match: Match,
    predictor: TrainedPredictor,
    told: Sequence[Foretold],
    *,
    evidence: bool,
    history: bool,
) -> tuple[types.Note, ...]:
    """What to know, each once."""
    found = [*_untold(match, told, values=predictor.win is not None)]
    for one in told:
        found += cautions(match, one.innings, predictor, evidence=evidence, history=history)
    found += [*_unseen(told), *(("file", note) for note in match.notes)]
    return tuple(types.Note(flag=flag, text=text) for flag, text in dict.fromkeys(found))


def _untold(match: Match, told: Sequence[Foretold], *, values: bool) -> Iterator[tuple[str, str]]:
    """What of the match the story does not hold.

    Args:
        values: whether the checkpoint values states.
    """
    winning = any(one.winning is not None for one in told)
    if not told:
        yield "no_ball", "no ball is in the file: there is nothing to tell but the result"
    elif not winning and all(contest_of(match, one.innings) is None for one in told):
        yield (
            "no_win_probability",
            "who was winning is told of innings of up to 20 overs alone: here what surprised is",
        )
    elif not values:
        yield "no_win_probability", "this checkpoint does not tell who is winning"
    if any(side.super_over for side in match.innings):
        yield "super_over", "of the super over only the result is told"
    if winning and match.outcome.get("method"):
        how = match.outcome["method"]
        yield "method", f"decided by {how}: the chance to win knows nothing of that"


def _unseen(told: Sequence[Foretold]) -> Iterator[tuple[str, str]]:
    """Players whom the model has not met."""
    met: dict[str, tuple[str, bool]] = {}
    for one in told:
        for row, ball in enumerate(one.innings.deliveries):
            for player, role in ((ball.batter, "striker"), (ball.bowler, "bowler")):
                before = met.get(player.key, ("", False))[1]
                met[player.key] = player.name, before or bool(one.arrays.met[role][row])
    new = [name for name, known in met.values() if not known]
    if new:
        more = f" and {len(new) - NAMED} more" if len(new) > NAMED else ""
        yield (
            "unseen_players",
            f"{len(new)} of {len(met)} players are new to the model: {', '.join(new[:NAMED])}"
            f"{more}; an average stands for each",
        )

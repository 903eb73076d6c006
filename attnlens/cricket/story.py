"""Build the story of a match: forecast each innings in one pass, and test claims about a few balls.

Expected figures are sums or differences of forecasts for single balls. The story states a reason
only if a test supports the claim, as in `attnlens.cricket.explain`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain import story_types as types
from attnlens.cricket.explain.explain_ball import model_particulars
from attnlens.cricket.explain.reading import TALKED_OF
from attnlens.cricket.explain.types import Explanation, Remark
from attnlens.cricket.match.competition import quota_of
from attnlens.cricket.match.ledger import (
    TotalsBy,
    balls_left,
    how_out,
    outcome_of,
    result_sentence,
    scorebook_before,
    totals,
)
from attnlens.cricket.match.match import (
    BOWLERS_SHARE_OF_WICKETS,
    OUTCOME_INDEX,
    OUTCOMES,
    Delivery,
    Innings,
    Match,
    Outcome,
)
from attnlens.cricket.match.naming import BallReference, innings_numbered
from attnlens.cricket.predictor.kinds import cautions
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.win import LONGEST, RUNS, players_added, win_ledger
from attnlens.cricket.predictor.window import DIGITS, InningsForecast, forecast_innings
from attnlens.cricket.words.facts import OUTCOME_WORDS, capitalized, sentence, text_of
from attnlens.cricket.words.narrative import (
    effect_of_hiding,
    group_note,
    model_claims,
    noted,
    outcome_index,
    supported,
)
from attnlens.errors import count
from attnlens.evidence.trial import q_over
from attnlens.evidence.verdict import Q_LEVEL, Verdict
from attnlens.files import Floats, Json
from attnlens.render.numbers import percent_seen, rounded


def event_of(innings: Innings, ball: Delivery, balls_left: int | None) -> str:
    """Describe a ball, such as ``Khan hit Nabi for six with 44 needed from 34``.

    Args:
        balls_left: the number of legal balls left in a chase.
    """
    out = next((wicket for wicket in ball.wickets if wicket.counts), None)
    if out is not None:
        scored = scorebook_before(innings, ball).batting.runs + ball.runs_batter
        score = f" ({scored})" if out.player_out.key == ball.batter.key else ""
        event = f"{out.player_out}{score} {how_out(out, ball.bowler)}"
    elif ball.boundary and ball.outcome in ("4", "6"):
        event = (
            f"{ball.batter} hit {ball.bowler} for {OUTCOME_WORDS[ball.outcome].removeprefix('a ')}"
        )
    else:
        cost = f" that cost {ball.runs_total}" if ball.extras and ball.runs_total > 1 else ""
        event = f"{ball.bowler} to {ball.batter}: {OUTCOME_WORDS[ball.outcome]}{cost}"
    if innings.target is None or not balls_left:
        return f"{event} at {ball.score_before}/{ball.wickets_before}"
    return f"{event} with {innings.target - ball.score_before} needed from {balls_left}"


def odds_of(explanation: Explanation, outcome: Outcome) -> str:
    """Return the outcome's probability in words, such as ``that was 6% likely (usual: 4%)``."""
    index = outcome_index(explanation.prediction, outcome)
    names = ("probability", "usual")
    prob, usual = (
        text_of(explanation, f"[/prediction/outcomes/{index}/{name} visible]") for name in names
    )
    return f"{'a wicket' if outcome == 'W' else 'that'} was {prob} likely (usual: {usual})"


MAX_TURNS: Final = 8
MIN_SWING: Final = 0.1
"""The smallest change of the win probability at a turning point."""

_MIN_SHARE_OF_SWING: Final = 0.05
"""The smallest effect on the actual outcome's probability that can be a reason for a swing."""

_MIN_MOVED_POINTS: Final = 0.05
_SURPRISES: Final = (4, 8)
"""The number of surprising balls: in a story with turning points, in a story without them."""

Explain: TypeAlias = Callable[[BallReference, Outcome], Explanation]
Report: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Bowled:
    """A ball that was bowled, with the probability of its outcome and the win probabilities.

    Attributes:
        chance: the predicted probability of the actual outcome.
        sign: 1 if the win probability is the batting team's, -1 if it is the bowling team's.
    """

    innings: Innings
    ball: Delivery
    chance: float
    balls_left: int | None
    win: types.WinPoint | None = None
    sign: int = 1

    @property
    def swing(self) -> float:
        return 0.0 if self.win is None else rounded(self.win.after - self.win.before, DIGITS)

    @property
    def outcome(self) -> Outcome:
        return OUTCOMES[OUTCOME_INDEX[self.ball.outcome]]

    @property
    def reference(self) -> Json:
        """The fields of `types.BallOfMatch`, which identify the ball."""
        ball = self.ball
        return {"innings": self.innings.number, "index": ball.index, "label": ball.label}


def tell(
    match: Match,
    predictor: TrainedPredictor,
    explain: Explain,
    *,
    history: bool = False,
    report: Report | None = None,
) -> types.MatchStory:
    """Return the story of a match.

    Args:
        explain: a function that explains one outcome of a ball with ``predictor``.
        history: whether the predictor's ratings were computed for the date of the match.
        report: receives the number of tested balls and the number of balls to test.
    """
    sides = [side for side in forecast_innings(match, predictor) if not side.innings.super_over]
    team, balls = _team_and_balls(match, sides)
    turning = turning_points(balls)
    surprising = surprises(balls, _SURPRISES[0 if turning else 1])
    explained: dict[Bowled, Explanation] = {}
    chosen = dict.fromkeys([*turning, *surprising])
    for done, ball in enumerate(chosen):
        if report is not None:
            report(done, len(chosen))
        reference = BallReference(ball.innings.number, ball.ball.index)
        explained[ball] = explain(reference, ball.outcome)
    claims, tested = _claims(explained)
    ledger_fields = _ledger(match, sides, team)
    return types.MatchStory(
        schema_version=types.SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=_played(match),
        result=capitalized(result_sentence(match) or "the file has no result"),
        team=team,
        win_probability=tuple(ball.win for ball in balls if ball.win is not None),
        turning_points=tuple(_moment(ball, explained[ball]) for ball in turning),
        surprises=tuple(_moment(ball, explained[ball]) for ball in surprising),
        claims=claims,
        tested=tested,
        expected=_expected([side for side in sides if _is_short(match, side.innings)]),
        notes=_notes(match, predictor, sides, ledger_fields.get("ledger", ()), history=history),
        **ledger_fields,
    )


def _ledger(match: Match, sides: Sequence[InningsForecast], team: str | None) -> dict[str, Any]:
    valued = [(side.innings, side.winning) for side in sides if side.winning is not None]
    ledger = None if team is None else win_ledger(match, valued, team)
    if ledger is None:
        return {}
    # The points are differences of rounded probabilities. If the points were rounded instead, they
    # would not sum to the result.
    values = list(accumulate((entry.points for entry in ledger.entries), initial=ledger.before))
    rounded_values = [round(value, DIGITS) for value in values]
    moves = [after - before for before, after in pairwise(rounded_values)]
    return {
        "ledger": tuple(
            types.LedgerEntry(
                innings=entry.innings,
                index=entry.index,
                kind=entry.kind,
                points=round(100 * move, DIGITS),
            )
            for entry, move in zip(ledger.entries, moves, strict=True)
        ),
        "players": tuple(
            types.PlayerAdded(name=row.name, side=row.side, added=rounded(100 * row.added))
            for row in players_added(match, ledger)
        ),
    }


def _team(match: Match) -> str:
    sides = match.innings[0].batting_team, match.innings[0].bowling_team
    outcome = outcome_of(match)
    winners = (outcome.get(name) for name in ("winner", "eliminator", "bowl_out"))
    return next((name for name in winners if name in sides), sides[0])


def _is_short(match: Match, innings: Innings) -> bool:
    """Return whether forecasts were evaluated for innings of this length."""
    return 0 < (quota_of(match, innings) or 0) <= LONGEST


def _team_and_balls(
    match: Match, sides: Sequence[InningsForecast]
) -> tuple[str | None, list[Bowled]]:
    """Return the team for the win probabilities (``None`` if unknown), and all balls."""
    team = _team(match) if any(side.winning is not None for side in sides) else None
    return team, [ball for side in sides for ball in _bowled(match, side, team)]


def _bowled(match: Match, side: InningsForecast, team: str | None) -> Iterator[Bowled]:
    for row, ball in enumerate(side.innings.deliveries):
        chance = float(side.chances[row, OUTCOME_INDEX[ball.outcome]])
        left = None if side.innings.set_later else balls_left(match, side.innings, ball)
        bowled = Bowled(side.innings, ball, chance, left)
        if side.winning is not None:
            ends = float(side.winning.before[row]), float(side.winning.actual[row])
            sign = 1 if side.innings.batting_team == team else -1
            if sign < 0:
                ends = 1 - ends[0], 1 - ends[1]
            before, after = (rounded(end, DIGITS) for end in ends)
            win = types.WinPoint(**bowled.reference, before=before, after=after)
            bowled = replace(bowled, win=win, sign=sign)
        yield bowled


def turning_points(balls: Iterable[Bowled]) -> list[Bowled]:
    """Return the balls that changed the win probability most, in the order of play."""
    moved = [ball for ball in balls if abs(ball.swing) >= MIN_SWING]
    chosen = sorted(moved, key=lambda ball: -abs(ball.swing))[:MAX_TURNS]
    return [ball for ball in moved if ball in chosen]


def decisive_ball(
    match: Match, predictor: TrainedPredictor, innings: int | None = None
) -> tuple[BallReference, str]:
    """Return the ball that changed the win probability most, and a sentence about the choice.

    If no win probability is known, return the least expected ball.

    Args:
        innings: the innings to search, counted from 1; ``None`` for all innings.

    Raises:
        BallNotFoundError: no ball was bowled in the innings.
    """
    sides = forecast_innings(match, predictor)
    team, balls = _team_and_balls(
        match, [side for side in sides if innings in (None, side.innings.number)]
    )
    if not balls:
        raise BallNotFoundError("no ball was bowled", remedy="use --ball next for the next ball")
    moved = [ball for ball in balls if ball.win is not None]
    unlikely = (surprises(balls, 1) or balls)[0]
    chosen = max(moved, key=lambda ball: abs(ball.swing), default=unlikely)
    name = f"{chosen.innings.number}:{chosen.ball.label}"
    if chosen.win is None:
        text = f"{name} was the least expected ball ({percent_seen(chosen.chance)})"
    else:
        ends = f"{percent_seen(chosen.win.before)} to {percent_seen(chosen.win.after)}"
        text = f"{name} changed the win probability most ({team}: {ends})"
    return BallReference(
        chosen.innings.number, chosen.ball.index
    ), f"no --ball was given, so one was chosen: ball {text}"


def surprises(balls: Iterable[Bowled], max_balls: int) -> list[Bowled]:
    """Return the least expected dots, singles, fours, sixes and wickets, the least likely first."""
    return sorted((b for b in balls if b.outcome in TALKED_OF), key=lambda b: b.chance)[:max_balls]


def _moment(bowled: Bowled, explanation: Explanation) -> types.Moment:
    entry = explanation.prediction.outcomes[OUTCOME_INDEX[bowled.outcome]]
    event = event_of(bowled.innings, bowled.ball, bowled.balls_left)
    held = [at for at in supported(explanation) if _explains_the_swing(explanation, at, bowled)]
    return types.Moment(
        **bowled.reference,
        outcome=bowled.outcome,
        probability=entry.probability,
        usual=entry.usual,
        surprise_bits=rounded(-math.log2(max(entry.probability, 1e-9))),
        swing=None if bowled.win is None else bowled.swing,
        event=event,
        sentence=f"{event}; {odds_of(explanation, bowled.outcome)}.",
        verdict=_verdict(explanation),
        finding=_finding(explanation, held[0]) if held else None,
        expected=_expected_points(explanation, bowled),
        moved_by=_moved_by(explanation, bowled),
    )


def _explains_the_swing(explanation: Explanation, index: int, bowled: Bowled) -> bool:
    if bowled.win is None:
        return True
    change = explanation.evidence[index].top_change
    return abs(change.points) / 100 >= _MIN_SHARE_OF_SWING


def _expected_points(explanation: Explanation, bowled: Bowled) -> float | None:
    win = explanation.win_probability
    if bowled.win is None or win is None or win.expected is None:
        return None
    return rounded(100 * bowled.sign * (win.expected - win.before))


def _moved_by(explanation: Explanation, bowled: Bowled) -> tuple[types.MovedBy, ...]:
    win = explanation.win_probability
    if bowled.win is None or win is None:
        return ()
    moves = {
        group.group: bowled.sign
        * sum(part.points * win.after[part.outcome] for part in group.from_usual)
        for group in explanation.contributions
    }
    ranked = sorted(moves.items(), key=lambda entry: -abs(entry[1]))
    return tuple(
        types.MovedBy(group=group, points=rounded(points), record=group_note(explanation, group))
        for group, points in ranked
        if abs(points) >= _MIN_MOVED_POINTS
    )


def _verdict(explanation: Explanation) -> Verdict | None:
    if supported(explanation):
        return "supported"
    if model_claims(explanation):
        return "not better than chance"
    return "cannot be told" if explanation.evidence else None


def _finding(explanation: Explanation, index: int, start: str = "") -> str:
    template = f"{start}{effect_of_hiding(explanation, index)}."
    return sentence(explanation, noted(explanation, template)).text


def _claims(
    explained: Mapping[Bowled, Explanation],
) -> tuple[tuple[types.MatchClaim, ...], types.Tested]:
    tested = [
        (ball, at) for ball, explanation in explained.items() for at in model_claims(explanation)
    ]
    evidence = [explained[ball].evidence[at] for ball, at in tested]
    held = [
        types.MatchClaim(
            **ball.reference,
            outcome=ball.outcome,
            sentence=_finding(explained[ball], at, f"{capitalized(OUTCOME_WORDS[ball.outcome])}: "),
            q=claim.q or 0.0,
            q_match=rounded(q),
        )
        for (ball, at), claim, q in zip(tested, evidence, q_over(evidence), strict=True)
        if claim.verdict == "supported" and q is not None and q <= Q_LEVEL
    ]
    counts = types.Tested(
        balls=len({ball for ball, _ in tested}),
        claims=len(tested),
        supported=sum(claim.verdict == "supported" for claim in evidence),
    )
    return tuple(sorted(held, key=lambda claim: claim.q_match)), counts


_EXPECTED: Final[Mapping[TotalsBy, tuple[Floats, float]]] = {
    "batter": (RUNS * [outcome.isdigit() for outcome in OUTCOMES], 1.0),
    "bowler": (RUNS * [outcome != "bye" for outcome in OUTCOMES], BOWLERS_SHARE_OF_WICKETS),
    "over": (RUNS, 1.0),
}
"""For each tally: the counted runs of each outcome, and the fraction of wickets that is counted."""


def _expected(sides: Sequence[InningsForecast]) -> types.Expected:
    batters, bowlers, overs = (
        tuple(tally for side in sides for tally in _tallies(side, by)) for by in _EXPECTED
    )
    return types.Expected(batters=batters, bowlers=bowlers, overs=overs)


def _tallies(side: InningsForecast, by: TotalsBy) -> Iterator[types.Tally]:
    worth, share = _EXPECTED[by]
    runs, wicket_probs = side.chances @ worth, share * side.chances[:, OUTCOME_INDEX["W"]]
    for total in totals(side.innings, by):
        rows = list(total.rows)
        yield types.Tally(
            innings=side.innings.number,
            name=total.name,
            deliveries=len(rows),
            runs=total.runs,
            expected_runs=rounded(runs[rows].sum()),
            wickets=total.wickets,
            expected_wickets=rounded(wicket_probs[rows].sum()),
        )


def _played(match: Match) -> types.Played:
    names = ("match_id", "match_type", "gender", "venue", "city", "teams")
    event = match.event.get("name")
    return types.Played(
        **{name: getattr(match, name) for name in names},
        dates=tuple(day.isoformat() for day in match.dates),
        event=None if event is None else str(event),
        innings=tuple(
            types.InningsScore(
                innings=side.number,
                batting_team=side.batting_team,
                runs=side.total,
                wickets=side.wickets,
                overs=side.overs_display,
                super_over=side.super_over,
            )
            for side in match.innings
        ),
    )


def _notes(
    match: Match,
    predictor: TrainedPredictor,
    sides: Sequence[InningsForecast],
    ledger: Sequence[types.LedgerEntry],
    *,
    history: bool,
) -> tuple[Remark, ...]:
    remarks = [*_untold(match, sides, ledger)]
    for side in sides:
        remarks += cautions(match, side.innings, predictor, evidence=True, history=history)
    remarks += (("file", note) for note in match.notes)
    return tuple(Remark(flag=flag, text=text) for flag, text in dict.fromkeys(remarks))


def _revised(match: Match, ledger: Sequence[types.LedgerEntry]) -> Iterator[tuple[str, str]]:
    for entry in ledger:
        if entry.kind == "revised target":
            chase = innings_numbered(match, entry.innings)
            quota = chase.target_balls
            balls = "" if quota is None else f" from {count(quota, 'ball')}"
            text = (
                f"the target was revised to {chase.target}{balls}: {entry.points:+.0f} points of "
                f"win probability for {_team(match)}"
            )
            yield "revised_target", text.replace("-", "−")


def _untold(
    match: Match, sides: Sequence[InningsForecast], ledger: Sequence[types.LedgerEntry]
) -> Iterator[tuple[str, str]]:
    winning = any(side.winning is not None for side in sides)
    if not sides:
        yield "no_ball", "the file contains no ball, so only the result is known"
    elif not any(_is_short(match, side.innings) for side in sides):
        text = "win probabilities and expected figures require a match of up to 20 overs a side"
        yield "no_win_probability", f"{text}; this story lists only surprising balls"
    elif not winning:
        yield "no_win_probability", "the win probability is unknown"
    if any(side.super_over for side in match.innings):
        yield "super_over", "the story gives only the result of the super over"
    if winning and match.outcome.get("method"):
        how = match.outcome["method"]
        yield (
            "method",
            f"the match was decided by {how}; win probabilities use the target in the file",
        )
    yield from _revised(match, ledger)
    new, played = _unseen_players(sides)
    if new:
        players = count(played, "player")
        yield (
            "unseen_players",
            f"{new} of {players} are new to the model; averages are used",
        )


def _unseen_players(sides: Sequence[InningsForecast]) -> tuple[int, int]:
    """Return the number of players without any rating, and the number of all players."""
    rated: dict[str, bool] = {}
    for side in sides:
        for row, ball in enumerate(side.innings.deliveries):
            for player, role in ((ball.batter, "striker"), (ball.bowler, "bowler")):
                rated[player.key] = rated.get(player.key, False) | bool(side.arrays.met[role][row])
    return list(rated.values()).count(False), len(rated)

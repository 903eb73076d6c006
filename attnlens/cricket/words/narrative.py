"""An explanation in the sentences of a match report, each number and name tied to its data.

How a sentence is worded follows from the data, never from a random choice. What was hidden is
reported with its effect; it made a difference only if the claim is supported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attnlens.cricket.explain.types import BallFacts, BallPrediction, Explanation, Role, Sentence
from attnlens.cricket.match.ledger import counts_balls, rate_unit
from attnlens.cricket.words.facts import (
    OUTCOME_WORDS,
    claims_in_order,
    quote_change,
    sentence,
    text_of,
)
from attnlens.cricket.words.summary import summary_of

BATTING, BOWLING = "[/match/batting_team]", "[/match/bowling_team]"
BATTER, BOWLER = "[/ball/batter]", "[/ball/bowler]"
SCORE: Final = "[/ball/score] for [/ball/wickets]"
BATTER_SCORE: Final = "[/ball/standing/batter_runs] from [/ball/standing/batter_balls]"

RECORDS: Final[Mapping[Role, str]] = {
    "batter": f"{BATTER}'s record",
    "bowler": f"{BOWLER}'s record",
}
"""What to call a player's rating as a reason."""

RECORD_ROLES: Final[Mapping[str, Role]] = {
    "striker's record": "batter",
    "bowler's record": "bowler",
}
"""Whose record a group of contributions is."""

GROUPS: Final[Mapping[str, str]] = {
    "venue and teams": "the ground and the teams",
    "striker's record": RECORDS["batter"],
    "bowler's record": RECORDS["bowler"],
    "unknown striker": f"{BATTER}, new to the model",
    "unknown bowler": f"{BOWLER}, new to the model",
    "scoreboard": "the scoreboard",
    "this over": "this over so far",
    "this bowler to this batter": f"{BOWLER} to {BATTER} in earlier overs",
    "this bowler's earlier balls": f"{BOWLER} to others in earlier overs",
    "this batter's earlier balls": f"{BATTER} against others in earlier overs",
    "other recent balls": "the other recent balls",
    "earlier balls": "the balls long past",
}
"""What to call the groups of contributions."""

_MAX_LABELS: Final = 4
"""Of more balls than this the number, the first and the last are named."""

_SCOREBOARD_KINDS: Final = ("the scoreboard", "the chase")
"""Kinds of claims that are no findings: what the scoreboard says is what is usual."""

_USUAL_RATIOS: Final = (0.9, 1.12)
"""Between these ratios to what is usual nothing stands out."""

_RATIO_WORDS: Final = (
    (0.17, "a tenth as likely as"),
    (0.22, "a fifth as likely as"),
    (0.29, "a quarter as likely as"),
    (0.42, "a third as likely as"),
    (0.58, "half as likely as"),
    (0.72, "much less likely than"),
    (1.0, "less likely than"),
    (1.4, "likelier than"),
    (1.75, "much likelier than"),
    (2.3, "twice as likely as"),
    (2.75, "two and a half times as likely as"),
    (3.5, "three times as likely as"),
    (4.5, "four times as likely as"),
    (5.5, "five times as likely as"),
    (7.5, "six times as likely as"),
)
"""What to say below each ratio to what is usual; above them all it is many times."""

_MAX_WORDS: Final = 110
"""Of a longer narrative some sentences are shortened or left out."""

MIN_GROUP_POINTS: Final = 0.5
"""Points below which a contribution is not mentioned."""

_MIN_CAME_SHARE: Final = 0.1
"""Below this slope of what came on what was said, nothing came true."""

_MIN_MOVED_POINTS: Final = 1.0
"""Points from which hiding something has done something, whatever the verdict."""

_MIN_SWING: Final = 0.04
"""Change of the probability of winning from which it is mentioned."""

_MIN_MISCALIBRATION: Final = 0.02
"""Difference of forecast and frequency, outside the interval, from which it is mentioned."""

_MIN_SET_RUNS, _MIN_STAND_RUNS, _MIN_COSTLY_RUNS, _MIN_STEEP_RUNS_A_BALL = 30, 50, 12, 11 / 6
_MIN_LONG_CHASE_BALLS, _MIN_HAUL_WICKETS, _MAX_NEW_STAND_BALLS, _MAX_NEW_BATTER_BALLS = 61, 2, 5, 3


def figures(ball: BallFacts) -> str:
    """The bowler's wickets, runs, and overs; balls in The Hundred."""
    spell = "[/ball/standing/bowler_overs] overs"
    if counts_balls(ball.balls_per_over) and ball.standing.bowler_balls is not None:
        spell = "[/ball/standing/bowler_balls] balls"
    return f"[/ball/standing/bowler_wickets] for [/ball/standing/bowler_runs] from {spell}"


def per_over(ball: BallFacts) -> str:
    """What a rate of runs is counted by."""
    return rate_unit(ball.balls_per_over)


def outcome_index(prediction: BallPrediction, outcome: str) -> int:
    """An outcome's index among those of the prediction."""
    return [str(entry.outcome) for entry in prediction.outcomes].index(outcome)


def plural(number: int) -> str:
    return "" if number == 1 else "s"


def in_words(explanation: Explanation) -> Explanation:
    """The explanation with its summary and its narrative."""
    words = {"summary": summary_of(explanation), "narrative": narrate(explanation)}
    return explanation.model_copy(update=words)


def narrate(explanation: Explanation) -> tuple[Sentence, ...]:
    """Five to eight sentences about an explanation (its own ``narrative`` is not read).

    Returns:
        Every number and name in a sentence is one of its facts, in the order of reading.
    """
    templates = [
        _score(explanation),
        _special(explanation),
        _headline(explanation),
        _likeliest(explanation),
        _contributions(explanation),
        _tested(explanation),
        _calibration(explanation),
        _came(explanation),
        _swing(explanation),
    ]
    for index, shorter in ((3, None), (8, None), (4, _contributions(explanation, 1))):
        texts = [text_of(explanation, template) for template in templates if template]
        if len(" ".join(texts).split()) > _MAX_WORDS:
            templates[index] = shorter
    sentences = []
    roles = list(RECORDS)
    for template in filter(None, templates):
        sentences.append(sentence(explanation, noted(explanation, template, roles)))
        roles = [role for role in roles if RECORDS[role] not in template]
    return tuple(sentences)


def noted(explanation: Explanation, template: str, roles: Iterable[Role] = tuple(RECORDS)) -> str:
    """A template with what is known of each record of ``roles`` where it first names it."""
    for role in roles:
        note = record_note(explanation, role)
        if note is not None:
            template = template.replace(RECORDS[role], f"{RECORDS[role]} ({note})", 1)
    return template


def group_note(explanation: Explanation, group: str) -> str | None:
    """`record_note` of a group of contributions that is a player's record, as text."""
    note = record_note(explanation, RECORD_ROLES[group]) if group in RECORD_ROLES else None
    return None if note is None else text_of(explanation, note)


def came_note(explanation: Explanation, number: int) -> str:
    """`` (45% of such points came true)``: of a contribution that does not come as said."""
    group = explanation.contributions[number]
    if group.comes_true is None or group.holds:
        return ""
    slope = f"/contributions/{number}/comes_true/slope"
    if group.comes_true.slope < _MIN_CAME_SHARE:
        return " (such points did not come true)"
    if group.comes_true.slope > 1:
        return f" (such points came [{slope} tenths] times as large)"
    return f" ([{slope} percent] of such points came true)"


def record_note(explanation: Explanation, role: Role) -> str | None:
    """``a six on 8.9% of 812 balls to 2025-10-31``; nothing of a player without a record."""
    index = outcome_index(explanation.prediction, explanation.prediction.subject)
    for number, record in enumerate(explanation.records):
        if record.role == role:
            pointer = f"/records/{number}"
            outcome = f"{pointer}/outcomes/{index}"
            return (
                f"[{outcome}/outcome outcome] on [{outcome}/share percent1] of "
                f"[{pointer}/deliveries thousands] balls to [{pointer}/last_day]"
            )
    return None


# -- the opening of a page -----------------------------------------------------------------------


def headline(explanation: Explanation) -> Sentence:
    """How likely the outcome is, beside what is usual at this scoreboard."""
    return sentence(explanation, _headline(explanation))


def _headline(explanation: Explanation) -> str:
    prediction = explanation.prediction
    index = outcome_index(prediction, prediction.subject)
    pointer, entry = f"/prediction/outcomes/{index}", prediction.outcomes[index]
    verb = "is" if OUTCOME_WORDS[entry.outcome].startswith("a ") else "are"
    subject, ratio = f"[{pointer}/outcome Outcome] {verb}", prediction.story_times
    probability, usual = quote_change(explanation, f"{pointer}/probability", f"{pointer}/usual")
    if _USUAL_RATIOS[0] <= ratio <= _USUAL_RATIOS[1]:
        return f"{subject} about as likely as usual, {probability} where {usual} is usual."
    words = next((text for limit, text in _RATIO_WORDS if ratio < limit), "many times as likely as")
    return f"{subject} {words} usual here: {probability}, not {usual}."


def model_claims(explanation: Explanation) -> list[int]:
    """The indices of claims about the whole model that are findings, in order.

    Claims for comparison, such as the last balls, are not among them, nor what the scoreboard says.
    """
    return [
        index
        for index in claims_in_order(explanation)
        if (claim := explanation.evidence[index]).removed_from == "model"
        and not claim.reference
        and claim.kind not in _SCOREBOARD_KINDS
        and claim.verdict not in (None, "cannot be told")
    ]


def supported(explanation: Explanation) -> list[int]:
    """The indices of the supported ones."""
    return _with_verdict(explanation, "supported")


def _with_verdict(explanation: Explanation, verdict: str) -> list[int]:
    claims = explanation.evidence
    return [index for index in model_claims(explanation) if claims[index].verdict == verdict]


def tested(explanation: Explanation) -> Sentence:
    """What hiding does, from supported claims; else why nothing can be said."""
    if not explanation.evidence:
        return sentence(explanation, "Nothing was tested.")
    findings = supported(explanation) or _with_verdict(explanation, "contradicted")
    if findings:
        return without(explanation, findings[0])
    reason = inconclusive_reason(explanation)
    if reason is not None:
        return sentence(explanation, f"Tested, and nothing can be told: {reason}.")
    subject = "what it looked at" if explanation.past_balls else "what it knew"
    chance = "is not shown to matter more than chance would have it"
    return sentence(explanation, f"Tested: {subject} {chance}.")


def inconclusive_reason(explanation: Explanation) -> str | None:
    """A quote of the reason why every claim about past balls is inconclusive, if it is."""
    claims = {
        index: claim.verdict
        for index, claim in enumerate(explanation.evidence)
        if claim.removed_from == "model" and claim.removed and not claim.reference
    }
    if set(claims.values()) != {"cannot be told"}:
        return None
    return f"[/evidence/{min(claims)}/reason]"


def aim(explanation: Explanation) -> str | None:
    """What claims say that their balls do, such as ``raise``; nothing of a whole distribution."""
    directions = (claim.direction for claim in explanation.evidence)
    return next((direction for direction in directions if direction is not None), None)


def without(explanation: Explanation, index: int) -> Sentence:
    """What the outcome's probability is without what a claim names, its verdict, and q."""
    claim = explanation.evidence[index]
    has_q = claim.q is not None and claim.verdict != "contradicted"
    q = f", q [/evidence/{index}/q q]" if has_q else ""
    verdict = f"[/evidence/{index}/verdict]{q}"
    return sentence(explanation, f"Tested: {effect_of_hiding(explanation, index)} ({verdict}).")


def effect_of_hiding(explanation: Explanation, index: int) -> str:
    """``without ball 2.6 it would be 9%, not 15%``: the effect of hiding what a claim names."""
    pointer = f"/evidence/{index}/top_change"
    before, after = quote_change(explanation, f"{pointer}/before", f"{pointer}/after")
    same = explanation.evidence[index].top_change.outcome == explanation.prediction.subject
    outcome = "it" if same else f"[{pointer}/outcome outcome]"
    return f"without {claim_subject(explanation, index)} {outcome} would be {after}, not {before}"


def claim_subject(explanation: Explanation, index: int) -> str:
    """What a claim about the whole model names."""
    claim = explanation.evidence[index]
    if not claim.removed:
        return {
            "striker's record": RECORDS["batter"],
            "bowler's record": RECORDS["bowler"],
            "venue and teams": "what is known of the ground and the teams",
        }[claim.kind]
    labels = _labels(explanation, index)
    whose = {
        "this over": "of this over",
        "this bowler": f"of {BOWLER}",
        "this batter": f"to {BATTER}",
    }.get(claim.kind)
    if whose is not None:
        several = f"the last [/evidence/{index}/removed count] balls"
        return f"{several if len(claim.removed) > 1 else labels} {whose}"
    if claim.kind != "boundaries":
        return labels
    return f"the {'boundary' if len(claim.removed) == 1 else 'last boundaries,'} of {labels}"


def _labels(explanation: Explanation, index: int) -> str:
    """The labels of a claim's balls, oldest first; of many their number, the first and the last."""
    removed = explanation.evidence[index].removed
    rows = {past.index: row for row, past in enumerate(explanation.past_balls)}
    labels = [f"[/past_balls/{rows[ball]}/label]" for ball in sorted(removed)]
    if len(labels) == 1:
        return f"ball {labels[0]}"
    if len(labels) > _MAX_LABELS:
        return f"[/evidence/{index}/removed count] balls from {labels[0]} to {labels[-1]}"
    return f"balls {', '.join(labels[:-1])} and {labels[-1]}"


def then(explanation: Explanation) -> Sentence | None:
    """What the ball brought, and what the model had given it; nothing of a ball to come."""
    prediction = explanation.prediction
    if prediction.actual is None:
        return None
    index = outcome_index(prediction, prediction.actual)
    brought = f"[/prediction/actual outcome] ([/prediction/outcomes/{index}/probability visible])"
    dismissed = dismissal(explanation)
    return sentence(explanation, f"Then: {brought}{f', {dismissed}' if dismissed else ''}.")


def dismissal(explanation: Explanation) -> str | None:
    """Who was out, and how; of a batter who did not face, that he was at the other end."""
    ball = explanation.ball
    if ball.happened is None or ball.happened.out is None:
        return None
    end = " at the other end" if ball.happened.out == ball.non_striker else ""
    return f"[/ball/happened/out] [/ball/happened/how]{end}"


def winning(explanation: Explanation) -> Sentence | None:
    """The batting side's probability of winning before the ball, and after what happened."""
    win = explanation.win_probability
    if win is None:
        return None
    after = "" if win.happened is None else " → [/win_probability/happened percent]"
    before = "[/win_probability/team] to win: [/win_probability/before percent]"
    return sentence(explanation, f"{before}{after}.")


def projected(explanation: Explanation) -> Sentence | None:
    """The total that a first innings may come to, before the ball; nothing in its last over."""
    win, left = explanation.win_probability, explanation.ball.balls_left
    if win is None or win.projected is None or (left or 0) <= explanation.ball.balls_per_over:
        return None
    total = "/win_probability/projected"
    ends = f"[{total}/mean whole] ([{total}/low whole] to [{total}/high whole])"
    return sentence(explanation, f"Projected total before the ball: {ends}.")


# -- the narrative -------------------------------------------------------------------------------


def _score(explanation: Explanation) -> str:
    """The sides, the score, and how far the innings is."""
    ball, standing = explanation.ball, explanation.ball.standing
    if not ball.score and not standing.latest:
        end = " in a super over." if ball.super_over else "."
        if ball.target is None:
            return f"{BATTING} begin against {BOWLING}{end}"
        return f"{BATTING} set out to make [/ball/target] against {BOWLING}{end}"
    if ball.super_over:
        return f"{BATTING} are {SCORE} in a super over against {BOWLING}."
    balls_left = f"[/ball/balls_left] ball{plural(ball.balls_left or 0)}"
    rate = f"[/ball/required_rate tenths] {per_over(ball)}"
    if ball.runs_required is not None and ball.balls_left:
        if ball.balls_left >= _MIN_LONG_CHASE_BALLS:
            chase = f"chasing [/ball/target] against {BOWLING}"
            return f"{BATTING}, {chase}, are {SCORE} and want {rate}."
        runs_a_ball = (ball.required_rate or 0.0) / ball.balls_per_over
        steep = runs_a_ball >= _MIN_STEEP_RUNS_A_BALL and ball.balls_left > 6
        need = f"[/ball/runs_required] run{plural(ball.runs_required)} from {balls_left}"
        end = f"{BOWLING}, at {rate}" if steep else BOWLING
        return f"{BATTING}, {SCORE}, need {need} against {end}."
    phase = standing.phase
    if phase == "powerplay" and ball.run_rate is not None:
        pace = f"at [/ball/run_rate tenths] {per_over(ball)} in the powerplay"
        return f"{BATTING} go {pace} against {BOWLING} and are {SCORE}."
    if phase == "death overs" and ball.balls_left:
        return f"{BATTING} are {SCORE} with {balls_left} left against {BOWLING}."
    return f"{BATTING} have made {SCORE} against {BOWLING}."


def _special(explanation: Explanation) -> str:
    """Who bowls to whom, and what is special about it: the first thing that is."""
    ball, standing = explanation.ball, explanation.ball.standing
    last = len(explanation.past_balls) - 1
    previous = explanation.past_balls[last] if explanation.past_balls else None
    hit = previous is not None and previous.boundary and previous.batter == ball.batter
    new_bowler = standing.bowler_overs == "0.0" and not standing.bowler_runs
    unfaced, stand = not standing.batter_balls, standing.partnership_balls
    has, bowls = f"who has {BATTER_SCORE}", f"{BOWLER}, {figures(ball)}, bowls"
    figure = "[/ball/standing/"
    candidates = (
        (standing.hat_trick, f"{BOWLER} is on a hat-trick, with {BATTER} to face."),
        (ball.free_hit, f"It is a free hit for {BATTER}, {BATTER_SCORE}, off {BOWLER}."),
        (
            new_bowler and unfaced,
            f"{BATTER} has yet to face a ball, and {BOWLER} to bowl one.",
        ),
        (unfaced, f"{BATTER} has yet to face a ball; {bowls}."),
        (new_bowler, f"{BOWLER} comes on to bowl to {BATTER}, {has}."),
        (
            standing.batter_balls <= _MAX_NEW_BATTER_BALLS,
            f"{BATTER} has just come in ({BATTER_SCORE}); {bowls}.",
        ),
        (
            standing.over_runs >= _MIN_COSTLY_RUNS,
            f"{BOWLER}'s over has cost {figure}over_runs] already, and {BATTER} has "
            f"{BATTER_SCORE}.",
        ),
        (
            hit,
            f"{BATTER}, {BATTER_SCORE}, hit [/past_balls/{last}/outcome outcome] off the ball "
            f"before; {BOWLER} bowls.",
        ),
        (
            standing.partnership_runs >= _MIN_STAND_RUNS,
            f"{BATTER} ({BATTER_SCORE}) and [/ball/non_striker] have put on "
            f"{figure}partnership_runs]; {BOWLER} bowls.",
        ),
        (
            0 < stand <= _MAX_NEW_STAND_BALLS and ball.wickets,
            f"{figure}partnership_balls] ball{plural(stand)} after the last wicket {BOWLER} bowls "
            f"to {BATTER}, {has}.",
        ),
        (
            standing.latest[-3:] == ("0", "0", "0"),
            f"Three dot balls have gone by as {BOWLER} bowls to {BATTER}, {has}.",
        ),
        (
            standing.batter_runs >= _MIN_SET_RUNS,
            f"{BATTER} is set, with {BATTER_SCORE}; {bowls}.",
        ),
        (
            standing.bowler_wickets >= _MIN_HAUL_WICKETS,
            f"{BOWLER}, with {figure}bowler_wickets] wickets, bowls to {BATTER}, {BATTER_SCORE}.",
        ),
        (True, f"{bowls} at {BATTER}, {has}."),
    )
    return next(template for applies, template in candidates if applies)


def _likeliest(explanation: Explanation) -> str | None:
    """The likeliest outcome, if the narrative is about one that is less likely than usual."""
    prediction = explanation.prediction
    if prediction.top in (prediction.subject, prediction.actual) or prediction.story_times >= 1:
        return None
    pointer = f"/prediction/outcomes/{outcome_index(prediction, prediction.top)}"
    return f"[{pointer}/outcome Outcome] is likeliest, at [{pointer}/probability percent]."


def _contributions(explanation: Explanation, max_groups: int = 2) -> str | None:
    """What raises the outcome's probability and what lowers it, from what is usual."""
    groups, prediction = explanation.contributions, explanation.prediction
    index = outcome_index(prediction, prediction.subject)
    if not groups:
        return None
    points = [group.from_usual[index].points for group in groups]
    order = sorted(range(len(points)), key=lambda number: -abs(points[number]))
    noticeable = [number for number in order if abs(points[number]) >= MIN_GROUP_POINTS]
    if not noticeable:
        return "Nothing that the model knows moves that from usual by much."
    text = "The model"
    for rank, number in enumerate(noticeable[:max_groups]):
        verb = "adds" if points[number] > 0 else "takes off"
        alike = points[number] * points[order[0]] > 0
        text += f" {verb}" if not rank else " and" if alike else f", but {verb}"
        text += f" [/contributions/{number}/from_usual/{index}/points size]"
        text += f"{'' if rank else ' points'} for {GROUPS[groups[number].group]}"
        text += came_note(explanation, number)
    return f"{text}."


def _tested(explanation: Explanation) -> str:
    """What hiding did: of a supported claim, else of what moved the outcome most."""
    if not explanation.evidence:
        return "Nothing was tested."
    findings = supported(explanation)
    indices = [i for i in model_claims(explanation) if explanation.evidence[i].removed]
    if not indices and not findings:
        past = explanation.past_balls
        none = "nothing is claimed of other balls" if past else "no ball came before it"
        return f"No finding can be told: {inconclusive_reason(explanation) or none}."
    index = (findings or indices)[0]
    claim, pointer = explanation.evidence[index], f"/evidence/{index}/top_change"
    subject, verdict = claim_subject(explanation, index), f"[/evidence/{index}/verdict]"
    outcome = f"the chance of [{pointer}/outcome outcome]"
    before, after = quote_change(explanation, f"{pointer}/before", f"{pointer}/after")
    if findings:
        verb = "rises" if claim.top_change.after > claim.top_change.before else "falls"
        moves = f"{verb} from {before} to {after}"
        if text_of(explanation, before) == text_of(explanation, after):
            moves = f"stays at {before}"
        return f"Without {subject} {outcome} {moves}, which is {verdict}."
    moved = abs(claim.top_change.points) >= _MIN_MOVED_POINTS
    hiding = "Hiding" if moved else "Nothing tested decides it: hiding"
    which = ", which is"
    if claim.verdict == "contradicted":
        effect = "matter" if claim.direction is None else f"{claim.direction} it"
        which = f": that they {effect} is"
    return f"{hiding} {subject} takes {outcome} from {before} to {after}{which} {verdict}."


def _calibration(explanation: Explanation) -> str | None:
    """That forecasts like this one did not come true as often as they said, if they did not."""
    prediction = explanation.prediction
    if prediction.calibration is None:
        return None
    index = outcome_index(prediction, prediction.subject)
    like = prediction.calibration.outcomes[index]
    if like.happened_ci is None or like.happened_ci[0] <= like.predicted <= like.happened_ci[1]:
        return None
    if abs(like.happened - like.predicted) < _MIN_MISCALIBRATION:
        return None
    pointer = f"/prediction/calibration/outcomes/{index}"
    forecast = f"[{pointer}/predicted percent]"
    return f"Such calls, at {forecast}, came true in [{pointer}/happened percent] of cases."


def _came(explanation: Explanation) -> str | None:
    """What the ball brought, and what the model had given it."""
    prediction, brought = explanation.prediction, "[/prediction/actual outcome]"
    if prediction.actual is None:
        return None
    index = outcome_index(prediction, prediction.actual)
    probability = f"[/prediction/outcomes/{index}/probability visible]"
    if prediction.actual == prediction.top:
        brought += f", the likeliest outcome at {probability}"
    else:
        brought += f", which the model had at {probability}"
    dismissed = dismissal(explanation)
    if dismissed:
        return f"It was {brought}: {dismissed}."
    starts = {
        **dict.fromkeys("46", f"{BATTER} hit"),
        **dict.fromkeys(("wd", "nb"), f"{BOWLER} bowled"),
        **dict.fromkeys("1235", f"{BATTER} took"),
        "0": f"{BOWLER} gave nothing away:",
    }
    return f"{starts.get(prediction.actual, 'It went for')} {brought}."


def _swing(explanation: Explanation) -> str | None:
    """How the ball changed the probability of winning, if it did by much."""
    win = explanation.win_probability
    if win is None or win.happened is None or abs(win.happened - win.before) < _MIN_SWING:
        return None
    verb = "rose" if win.happened > win.before else "fell"
    ends = "from [/win_probability/before percent] to [/win_probability/happened percent]"
    return f"The chance of [/win_probability/team] winning {verb} {ends}."

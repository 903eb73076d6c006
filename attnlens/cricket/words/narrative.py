"""Write the sentences about a ball. Every number and name is quoted from the explanation.

The same explanation always gives the same text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attnlens.cricket.explain.types import BallFacts, BallPrediction, Explanation, Role, Sentence
from attnlens.cricket.match.ledger import counts_balls, rate_unit
from attnlens.cricket.words.facts import (
    claims_in_order,
    names_in,
    quote_change,
    resolve,
    sentence,
    surname,
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
"""Names of the players' ratings in sentences."""

RECORD_ROLES: Final[Mapping[str, Role]] = {
    "striker's record": "batter",
    "bowler's record": "bowler",
}
GROUPS: Final[Mapping[str, str]] = {
    "venue and teams": "the ground and the teams",
    "striker's record": RECORDS["batter"],
    "bowler's record": RECORDS["bowler"],
    "unknown striker": f"{BATTER}, new to the model",
    "unknown bowler": f"{BOWLER}, new to the model",
    "scoreboard": "the scoreboard",
    "this over": "this over so far",
    "this bowler to this batter": f"{BOWLER}'s earlier balls to {BATTER}",
    "this bowler's earlier balls": f"{BOWLER}'s earlier balls to others",
    "this batter's earlier balls": f"{BATTER}'s earlier balls from others",
    "other recent balls": "other recent balls",
    "earlier balls": "older balls",
}
_MAX_LABELS: Final = 4
_SCOREBOARD_KINDS: Final = ("the scoreboard", "the chase")
"""These claims are no findings, because the usual probability depends on the scoreboard."""

MARKED_RATIOS: Final = (2.0, 1.25, 0.8, 0.5)
"""Limits of the ratio to the usual probability, between the marks ↑↑, ↑, none, ↓ and ↓↓."""

_MAX_DECIMAL_PROB: Final = 0.1
"""Smaller probabilities are printed with one decimal."""

_MIN_PLAIN_PROB: Final = 0.03
"""`headline` ignores an outcome if the probability and the usual probability are smaller."""

_RATIO_WORDS: Final = (
    (0.18, "less than a fifth of the usual"),
    (0.23, "about a fifth of the usual"),
    (0.29, "about a quarter of the usual"),
    (0.38, "about a third of the usual"),
    (0.45, "less than half the usual"),
    (0.55, "about half the usual"),
    (0.75, "well below the usual"),
    (0.9, "below the usual"),
    (1.12, "close to the usual"),
    (1.4, "above the usual"),
    (1.9, "well above the usual"),
    (2.1, "twice the usual"),
    (2.9, "more than twice the usual"),
    (3.1, "three times the usual"),
    (3.9, "more than three times the usual"),
    (4.1, "four times the usual"),
    (5.0, "more than four times the usual"),
)
"""Phrases for the ratio to the usual probability, each with an upper limit of the ratio."""

_MAX_WORDS: Final = 100
"""A longer narrative is shortened. A full name counts as two words, and a surname as one."""

MIN_GROUP_POINTS: Final = 0.5
_MIN_CAME_SHARE: Final = 0.1
"""With a smaller calibration slope, a note says that a group's points did not come true."""

_MIN_MENTIONED_SWING: Final = 0.04
_MIN_MISCALIBRATION: Final = 0.02
"""Smaller differences between a forecast and the observed share are not mentioned."""

_MIN_SET_RUNS, _MIN_STAND_RUNS, _MIN_COSTLY_RUNS = 30, 50, 12
_MIN_LONG_CHASE_BALLS, _MIN_HAUL_WICKETS, _MAX_NEW_STAND_BALLS, _MAX_NEW_BATTER_BALLS = 61, 2, 5, 3

_DISMISSALS: Final[Mapping[str, tuple[str, str]]] = {
    "caught": (f"was caught by {{fielders}} off {BOWLER}", f"was caught off {BOWLER}"),
    "caught and bowled": (f"was caught and bowled by {BOWLER}",) * 2,
    "bowled": (f"was bowled by {BOWLER}",) * 2,
    "lbw": (f"was lbw to {BOWLER}",) * 2,
    "stumped": (f"was stumped by {{fielders}} off {BOWLER}", f"was stumped off {BOWLER}"),
    "hit wicket": (f"was out hit wicket off {BOWLER}",) * 2,
    "run out": ("was run out by {fielders}", "was run out"),
}
"""Phrases with and without the fielders' names."""


def figures(ball: BallFacts) -> str:
    """Return a template for the bowler's wickets, runs and overs (or balls, in The Hundred)."""
    spell = "[/ball/standing/bowler_overs] overs"
    if counts_balls(ball.balls_per_over) and ball.standing.bowler_balls is not None:
        spell = "[/ball/standing/bowler_balls] balls"
    return f"[/ball/standing/bowler_wickets] for [/ball/standing/bowler_runs] from {spell}"


def per_over(ball: BallFacts) -> str:
    """Return the unit of run rates in words, such as ``an over``."""
    return rate_unit(ball.balls_per_over)


def outcome_index(prediction: BallPrediction, outcome: str) -> int:
    """Return the index of an outcome in the prediction."""
    return [str(entry.outcome) for entry in prediction.outcomes].index(outcome)


def plural(number: int) -> str:
    return "" if number == 1 else "s"


def in_words(explanation: Explanation) -> Explanation:
    """Return the explanation with a summary and a narrative added."""
    words = {"summary": summary_of(explanation), "narrative": narrate(explanation)}
    return explanation.model_copy(update=words)


def narrate(explanation: Explanation) -> tuple[Sentence, ...]:
    """Return the sentences of a paragraph about an explanation, usually of 60 to 105 words.

    The facts of a sentence are its numbers and names, in reading order.
    """
    expected, brought = _expected(explanation), came(explanation)
    is_subject = explanation.prediction.actual == explanation.prediction.subject
    templates = {
        "score": _score(explanation),
        "players": _players(explanation),
        "first": brought if is_subject else expected,
        "second": expected if is_subject else brought,
        "reasons": _reasons(explanation),
        "attention": _most_attention(explanation),
        "tested": _tested(explanation),
        "calibration": _calibration(explanation),
        "win": _swing(explanation),
    }
    names, notes = names_in(explanation), list(RECORDS)
    sizes = dict.fromkeys(names, "A Name") | {surname(name): "Name" for name in names}
    for shorten in ("calibration", "notes", "reasons", "attention", None):
        chosen = _with_notes(explanation, filter(None, templates.values()), notes)
        chosen = _surnames(explanation, chosen)
        if len(text_of(explanation, " ".join(chosen), sizes).split()) <= _MAX_WORDS:
            break
        if shorten == "notes":
            notes = []
        elif shorten == "reasons":
            templates["reasons"] = _reasons(explanation, 1)
        elif shorten:
            templates[shorten] = None
    for at, template in enumerate(chosen[1:], 1):
        if template.startswith("The model") and chosen[at - 1].startswith("The model"):
            chosen[at] = template.replace("The model", "It", 1)
    return tuple(sentence(explanation, template) for template in chosen)


def _with_notes(
    explanation: Explanation, templates: Iterable[str], roles: Sequence[Role]
) -> list[str]:
    chosen = []
    for template in templates:
        chosen.append(noted(explanation, template, roles))
        roles = [role for role in roles if RECORDS[role] not in template]
    return chosen


def _surnames(explanation: Explanation, templates: Iterable[str]) -> list[str]:
    """Shorten repeated names to surnames, unless two players have the same surname."""
    ball = explanation.ball
    fielders = ball.happened.fielders if ball.happened else ()
    names = {ball.batter, ball.bowler, ball.non_striker, *fielders}
    shared = Counter(map(surname, names))
    introduced: set[str] = set()

    def shorter(quote: re.Match[str]) -> str:
        name = resolve(explanation, quote[1])
        if name not in names or shared[surname(name)] > 1:
            return quote[0]
        is_known = name in introduced
        introduced.add(name)
        form = "surname" if quote.start() else "Surname"
        return f"[{quote[1]} {form}]" if is_known else quote[0]

    return [re.sub(r"\[(/ball/[^\s\]]+)\]", shorter, template) for template in templates]


def noted(explanation: Explanation, template: str, roles: Iterable[Role] = tuple(RECORDS)) -> str:
    """Add a note to the first mention of each player's record, for the given roles."""
    for role in roles:
        note = record_note(explanation, role)
        if note is not None:
            template = template.replace(RECORDS[role], f"{RECORDS[role]} ({note})", 1)
    return template


def group_note(explanation: Explanation, group: str) -> str | None:
    """Return `record_note` as text, or ``None`` for a group that is not a player's record."""
    note = record_note(explanation, RECORD_ROLES[group]) if group in RECORD_ROLES else None
    return None if note is None else text_of(explanation, note)


def came_note(explanation: Explanation, number: int) -> str:
    """Return a note such as `` (45% of such points came true)`` about a miscalibrated group.

    For other groups, the note is empty.
    """
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
    """Return a template for a text such as ``a six on 8.9% of 812 balls to 2025-10-31``.

    The result is ``None`` without a record.
    """
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


# ---- the forecast and the outcome


def headline(explanation: Explanation) -> Sentence:
    """Compare the explained outcome's probability with the usual one, in a sentence."""
    ratios = [
        entry.probability / entry.usual
        for entry in explanation.prediction.outcomes
        if entry.usual and max(entry.probability, entry.usual) >= _MIN_PLAIN_PROB
    ]
    is_plain = all(MARKED_RATIOS[2] <= ratio < MARKED_RATIOS[1] for ratio in ratios)
    plain = "No outcome is far from usual. " if is_plain else ""
    return sentence(explanation, f"{plain}{_beside_usual(explanation, 'Outcome', ':')}.")


def _expected(explanation: Explanation) -> str:
    prediction = explanation.prediction
    gave = "had given" if prediction.actual else "gives"
    beside_usual = _beside_usual(explanation, "outcome", "")
    if prediction.actual == prediction.subject:
        beside_usual = f"it {beside_usual.partition('] ')[2]}"
    return f"The model {gave} {beside_usual}."


def _beside_usual(explanation: Explanation, form: str, sign: str) -> str:
    """Return a template for text such as ``a six 5.6%, below the usual 8.1%``."""
    prediction = explanation.prediction
    index, ratio = outcome_index(prediction, prediction.subject), prediction.story_times
    pointer = f"/prediction/outcomes/{index}"
    pointers = f"{pointer}/probability", f"{pointer}/usual"
    probability, usual = quote_change(explanation, *pointers)
    if prediction.outcomes[index].probability < _MAX_DECIMAL_PROB:
        probability, usual = (f"[{value} percent1]" for value in pointers)
    words = next((text for limit, text in _RATIO_WORDS if ratio < limit), "many times the usual")
    return f"[{pointer}/outcome {form}]{sign} {probability}, {words} {usual}"


def came(explanation: Explanation) -> str | None:
    """Return a sentence about the outcome, or ``None`` if the ball has not been bowled."""
    prediction, brought = explanation.prediction, "[/prediction/actual outcome]"
    if prediction.actual is None:
        return None
    index = outcome_index(prediction, prediction.actual)
    probability = f", with probability [/prediction/outcomes/{index}/probability visible]"
    if prediction.actual == prediction.subject:
        probability = ""
    end = f"{probability}{result_of(explanation)}."
    dismissed = dismissal(explanation)
    if dismissed:
        return f"{dismissed}{end}"
    starts = {
        **dict.fromkeys("46", f"{BATTER} hit"),
        **dict.fromkeys(("wd", "nb"), f"{BOWLER} bowled"),
        **dict.fromkeys("1235", f"{BATTER} took"),
    }
    return f"{starts.get(prediction.actual, 'It was')} {brought}{end}"


def result_of(explanation: Explanation) -> str:
    """Return the match result after the last ball of a chase, otherwise an empty text."""
    ball, match = explanation.ball, explanation.match
    is_last = ball.target is not None and ball.index == ball.deliveries
    return ": [/match/result]" if is_last and match.result else ""


def dismissal(explanation: Explanation) -> str | None:
    """Return a clause about the player who was out, or ``None`` if no wicket fell."""
    ball = explanation.ball
    result = ball.happened
    if result is None or result.out is None:
        return None
    fielders = [f"[/ball/happened/fielders/{at}]" for at in range(len(result.fielders))]
    unknown = "was out ([/ball/happened/how])"
    by_fielders, without = _DISMISSALS.get(result.how or "", (unknown, unknown))
    how = by_fielders.format(fielders=" and ".join(fielders)) if fielders else without
    end = " at the other end" if result.out == ball.non_striker else ""
    return f"[/ball/happened/out] {how}{end}"


def winning(explanation: Explanation) -> Sentence | None:
    """Return a sentence with the batting side's win probability, or ``None`` if it is unknown."""
    win = explanation.win_probability
    if win is None:
        return None
    after = "" if win.happened is None else " → [/win_probability/happened percent]"
    before = "[/win_probability/team] to win: [/win_probability/before percent]"
    return sentence(explanation, f"{before}{after}.")


def projected(explanation: Explanation) -> Sentence | None:
    """Return a sentence with the projected total, or ``None`` in a chase or in the last over."""
    win, left = explanation.win_probability, explanation.ball.balls_left
    if win is None or win.projected is None or (left or 0) <= explanation.ball.balls_per_over:
        return None
    total = "/win_probability/projected"
    ends = f"[{total}/mean whole] (80%: [{total}/low whole] to [{total}/high whole])"
    return sentence(explanation, f"Projected total {ends}.")


def _swing(explanation: Explanation) -> str | None:
    win = explanation.win_probability
    if win is None or win.happened is None or abs(win.happened - win.before) < _MIN_MENTIONED_SWING:
        return None
    verb = "rose" if win.happened > win.before else "fell"
    ends = "from [/win_probability/before percent] to [/win_probability/happened percent]"
    return f"The probability that [/win_probability/team] win {verb} {ends}."


def _calibration(explanation: Explanation) -> str | None:
    """Return a sentence if similar forecasts were miscalibrated on held-out balls."""
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
    return (
        f"Forecasts like this, at {forecast}, came true [{pointer}/happened percent] of the time."
    )


# ---- attention, and the effect of hiding balls


def model_claims(explanation: Explanation) -> list[int]:
    """Return the indices of the findings, in display order.

    Findings are conclusive tests of claims about the whole model. Claims about the last balls or
    about the scoreboard do not count as findings.
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
    """Return the indices of the supported claims among `model_claims`."""
    claims = explanation.evidence
    return [i for i in model_claims(explanation) if claims[i].verdict == "supported"]


def hidden_sets(explanation: Explanation) -> list[int]:
    """Return the indices of the claims about past balls, one claim for each set of balls.

    Supported claims come first, and larger changes come before smaller ones.
    """
    claims = explanation.evidence
    indices = [
        index
        for index, claim in enumerate(claims)
        if claim.removed_from == "model" and claim.removed and not claim.reference
    ]
    indices.sort(
        key=lambda i: (claims[i].verdict != "supported", -abs(claims[i].top_change.points))
    )
    sets = {frozenset(claims[index].removed): index for index in reversed(indices)}
    return [index for index in indices if index in sets.values()]


def aim(explanation: Explanation) -> str | None:
    """Return the claims' direction, ``raise`` or ``lower``; ``None`` for the whole distribution."""
    directions = (claim.direction for claim in explanation.evidence)
    return next((direction for direction in directions if direction is not None), None)


def tested(explanation: Explanation) -> Sentence | None:
    """Return a sentence about the first supported claim, or ``None`` if no claim is supported."""
    return sentence(explanation, _tested(explanation)) if supported(explanation) else None


def effect_of_hiding(explanation: Explanation, index: int) -> str:
    """Return a template for text such as ``without ball 2.6 it would be 9%, not 15%``."""
    pointer = f"/evidence/{index}/top_change"
    before, after = quote_change(explanation, f"{pointer}/before", f"{pointer}/after")
    same = explanation.evidence[index].top_change.outcome == explanation.prediction.subject
    outcome = "it" if same else f"[{pointer}/outcome outcome]"
    return f"without {claim_subject(explanation, index)} {outcome} would be {after}, not {before}"


def claim_subject(explanation: Explanation, index: int) -> str:
    """Return a template for the hidden input of a claim about the whole model."""
    claim, ball = explanation.evidence[index], explanation.ball
    if not claim.removed:
        return {
            "striker's record": RECORDS["batter"],
            "bowler's record": RECORDS["bowler"],
            "venue and teams": "what is known about the ground and the teams",
        }.get(claim.kind, claim.kind)
    past, number = explanation.past_balls, f"[/evidence/{index}/removed count]"
    labels = _labels(explanation, index)
    if len(claim.removed) == 1:
        return f"the boundary of {labels}" if claim.kind == "boundaries" else labels
    if claim.kind == "this over":
        return f"this over's {number} balls"
    if claim.kind == "this bowler":
        is_all = sum(row.bowler == ball.bowler for row in past) == len(claim.removed)
        return f"{BOWLER}'s {'' if is_all else 'last '}{number} balls"
    if claim.kind == "this batter":
        is_all = sum(row.batter == ball.batter for row in past) == len(claim.removed)
        return f"the {'' if is_all else 'last '}{number} balls to {BATTER}"
    if claim.kind == "boundaries":
        return f"the last {number} boundaries"
    return labels


def _labels(explanation: Explanation, index: int) -> str:
    removed = explanation.evidence[index].removed
    rows = {past.index: row for row, past in enumerate(explanation.past_balls)}
    labels = [f"[/past_balls/{rows[ball]}/label]" for ball in sorted(removed)]
    if len(labels) == 1:
        return f"ball {labels[0]}"
    if len(labels) > _MAX_LABELS:
        return f"[/evidence/{index}/removed count] balls from {labels[0]} to {labels[-1]}"
    return f"balls {', '.join(labels[:-1])} and {labels[-1]}"


def _most_attention(explanation: Explanation) -> str | None:
    past = explanation.past_balls
    if not past:
        return None
    row = max(range(len(past)), key=lambda at: (past[at].attention, at))
    pointer = f"/past_balls/{row}"
    ball = f"ball [{pointer}/label], [{pointer}/outcome outcome]"
    return f"The model looked most at {ball} ([{pointer}/attention percent] of its attention)."


def _reasons(explanation: Explanation, max_groups: int = 2) -> str | None:
    groups, prediction = explanation.contributions, explanation.prediction
    index = outcome_index(prediction, prediction.subject)
    points = [group.from_usual[index].points for group in groups]
    order = sorted(range(len(points)), key=lambda number: -abs(points[number]))
    noticeable = [number for number in order if abs(points[number]) >= MIN_GROUP_POINTS]
    if not noticeable:
        return None
    text, outcome = "The model", ""
    if prediction.actual not in (None, prediction.subject):
        preposition = "to" if points[order[0]] > 0 else "from"
        outcome = f" {preposition} [/prediction/outcomes/{index}/outcome outcome]"
    for rank, number in enumerate(noticeable[:max_groups]):
        verb = "adds" if points[number] > 0 else "takes"
        verb += " off" if verb == "takes" and (rank or not outcome) else ""
        alike = points[number] * points[order[0]] > 0
        text += f" {verb}" if not rank else " and" if alike else f" and {verb}"
        text += f" [/contributions/{number}/from_usual/{index}/points size]"
        text += f"{'' if rank else f' points{outcome}'} for {GROUPS[groups[number].group]}"
        text += came_note(explanation, number)
    return f"{text}."


def _tested(explanation: Explanation) -> str:
    if not explanation.evidence:
        return "Nothing was tested."
    sets = supported(explanation) or hidden_sets(explanation)
    if not sets:
        return "No earlier ball could be hidden to test what mattered."
    index = sets[0]
    claim, pointer = explanation.evidence[index], f"/evidence/{index}/top_change"
    before, after = quote_change(explanation, f"{pointer}/before", f"{pointer}/after")
    outcome = "that probability"
    prediction = explanation.prediction
    if {claim.top_change.outcome, prediction.actual or prediction.subject} != {prediction.subject}:
        outcome = f"the probability of [{pointer}/outcome outcome]"
    verb = "raises" if claim.top_change.after > claim.top_change.before else "lowers"
    moves = f"{verb} {outcome} from {before} to {after}"
    if text_of(explanation, before) == text_of(explanation, after):
        moves = f"leaves {outcome} at {before}"
    hiding, form = ("Hiding", "verdict") if claim.removed else ("Leaving out", "record_verdict")
    verdict = f", [/evidence/{index}/verdict {form}]" if claim.verdict else ""
    return f"{hiding} {claim_subject(explanation, index)} {moves}{verdict}."


# ---- the situation


def _score(explanation: Explanation) -> str:
    ball, standing = explanation.ball, explanation.ball.standing
    if not ball.score and not standing.latest:
        end = " in a super over." if ball.super_over else "."
        if ball.target is None:
            return f"{BATTING} begin their innings against {BOWLING}{end}"
        return f"{BATTING} begin their chase of [/ball/target] against {BOWLING}{end}"
    if ball.super_over:
        return f"{BATTING} are {SCORE} in a super over against {BOWLING}."
    balls_left = f"[/ball/balls_left] ball{plural(ball.balls_left or 0)}"
    rate = f"[/ball/required_rate tenths] {per_over(ball)}"
    if ball.runs_required is not None and ball.balls_left:
        if ball.balls_left >= _MIN_LONG_CHASE_BALLS:
            chase = f"chasing [/ball/target] against {BOWLING}"
            return f"{BATTING} are {SCORE}, {chase}, and need {rate}."
        need = f"[/ball/runs_required] run{plural(ball.runs_required)} from {balls_left}"
        return f"{BATTING} are {SCORE} against {BOWLING} and need {need}."
    if standing.phase == "death overs" and ball.balls_left:
        return f"{BATTING} are {SCORE} against {BOWLING} with {balls_left} left."
    return f"{BATTING} are {SCORE} against {BOWLING} in the {standing.phase or 'innings'}."


def _players(explanation: Explanation) -> str:
    ball, standing = explanation.ball, explanation.ball.standing
    last = len(explanation.past_balls) - 1
    previous = explanation.past_balls[last] if explanation.past_balls else None
    hit = previous is not None and previous.boundary and previous.batter == ball.batter
    new_bowler = standing.bowler_overs == "0.0" and not standing.bowler_runs
    unfaced, stand = not standing.batter_balls, standing.partnership_balls
    balls = f"ball{plural(standing.batter_balls)}"
    score, bowls = f"{BATTER_SCORE} {balls}", f"{BOWLER} ({figures(ball)}) bowls"
    to_batter = f"{BOWLER} bowls to {BATTER}, who has {score}"
    figure = "[/ball/standing/"
    candidates = (
        (standing.hat_trick, f"{BOWLER} is on a hat-trick, with {BATTER} to face."),
        (ball.free_hit, f"It is a free hit: {to_batter}."),
        (
            new_bowler and unfaced,
            f"{BOWLER} comes on to bowl to {BATTER}, who has yet to face a ball.",
        ),
        (unfaced, f"{BATTER} has yet to face a ball; {bowls}."),
        (new_bowler, f"{BOWLER} comes on to bowl to {BATTER}, who has {score}."),
        (
            standing.batter_balls <= _MAX_NEW_BATTER_BALLS,
            f"{BATTER} is new at the crease, with {score}; {bowls}.",
        ),
        (
            standing.over_runs >= _MIN_COSTLY_RUNS,
            f"{BOWLER}'s over has already cost {figure}over_runs]; {BATTER} has {score}.",
        ),
        (
            hit,
            f"{BATTER} has {score} after hitting [/past_balls/{last}/outcome outcome] off the "
            f"previous ball; {bowls}.",
        ),
        (
            standing.partnership_runs >= _MIN_STAND_RUNS,
            f"{BATTER} ({BATTER_SCORE}) and [/ball/non_striker] have added "
            f"{figure}partnership_runs]; {bowls}.",
        ),
        (
            0 < stand <= _MAX_NEW_STAND_BALLS and ball.wickets,
            f"{to_batter}; the partnership is {figure}partnership_balls] ball{plural(stand)} old.",
        ),
        (
            standing.latest[-3:] == ("0", "0", "0"),
            f"After three dot balls in a row, {to_batter}.",
        ),
        (
            standing.bowler_wickets >= _MIN_HAUL_WICKETS,
            f"{BOWLER}, who has {figures(ball)}, bowls to {BATTER} ({BATTER_SCORE}).",
        ),
        (standing.batter_runs >= _MIN_SET_RUNS, f"{BATTER} is set, with {score}; {bowls}."),
        (True, f"{BOWLER} ({figures(ball)}) bowls to {BATTER}, who has {score}."),
    )
    return next(template for applies, template in candidates if applies)

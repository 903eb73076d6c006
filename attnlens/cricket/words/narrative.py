"""An explanation in the sentences of a match report, each number and name tied to its data.

The score comes first, then what is special about the ball, then one outcome: how it differs from
what is usual here, what the model counts for it, what was tested, and what came. How a sentence is
worded follows from the data, never from chance. No sentence says more than the evidence: what was
hidden is told with what that did, and made a difference only where the claim is supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Explanation, Fact, Prediction, Sentence, Standing
from attnlens.cricket.words.facts import (
    Part,
    Source,
    claims_in_order,
    counted,
    outcome_start,
    outcome_words,
    sentence,
    size,
    small_q,
    tenths,
)
from attnlens.cricket.words.summary import summary_of
from attnlens.render.numbers import percent

_LISTED: Final = 4
"""More balls than this are told by their number, the first and the last."""

_NOT_TOLD: Final = ("the scoreboard", "the chase")
"""Kinds of claims that are no findings: what the scoreboard tells is what is usual."""

_FAINT: Final = (0.9, 1.12)
"""Between so many times as likely as usual nothing stands out."""

_TIMES: Final = (
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
"""What to say below so many times as likely as usual; above them all it is many times."""


def place_of(prediction: Prediction, outcome: str) -> int:
    """An outcome's place among those of the prediction."""
    return next(at for at, entry in enumerate(prediction.outcomes) if entry.outcome == outcome)


def story_place(prediction: Prediction) -> int:
    """The place of the outcome that the story is about."""
    return place_of(prediction, prediction.about)


def times_words(times: float) -> str:
    """``twice as likely as``, before "usual"."""
    return next((words for limit, words in _TIMES if times < limit), "many times as likely as")


def headline(source: Source[Explanation]) -> Sentence:
    """How likely the outcome is, beside what is usual at this scoreboard."""
    prediction = source.document.prediction
    at = story_place(prediction)
    pointer = f"/prediction/outcomes/{at}"
    entry = prediction.outcomes[at]
    subject = source.quote(f"{pointer}/outcome", outcome_start)
    verb = "is" if outcome_words(entry.outcome).startswith("a ") else "are"
    if entry.usual is None or prediction.story_times is None:
        return sentence(
            [subject, f" {verb} at ", source.quote(f"{pointer}/probability", percent), "."]
        )
    probability, usual = source.change(f"{pointer}/probability", f"{pointer}/usual")
    times = prediction.story_times
    if _FAINT[0] <= times <= _FAINT[1]:
        return sentence(
            [
                subject,
                f" {verb} about as likely as usual, ",
                probability,
                " where ",
                usual,
                " is usual.",
            ]
        )
    return sentence(
        [subject, f" {verb} {times_words(times)} usual here: ", probability, ", not ", usual, "."]
    )


def model_claims(explanation: Explanation) -> list[int]:
    """The places of claims about the whole model that are findings, in order.

    The last balls, which anybody would guess, are not among them, nor what the scoreboard tells:
    it is what is usual.
    """
    claims = explanation.evidence
    return [
        at
        for at in claims_in_order(explanation)
        if claims[at].removed_from == "model"
        and not claims[at].reference
        and claims[at].kind not in _NOT_TOLD
        and claims[at].verdict not in (None, "cannot be told")
    ]


def supported(explanation: Explanation) -> list[int]:
    """The places of the supported ones."""
    claims = explanation.evidence
    return [at for at in model_claims(explanation) if claims[at].verdict == "supported"]


def tested(source: Source[Explanation]) -> Sentence:
    """What hiding does, from supported claims; else why nothing can be said."""
    explanation = source.document
    if not explanation.evidence:
        return sentence(["Nothing was tested."])
    places = supported(explanation)
    if places:
        return without(source, places[0])
    claims = explanation.evidence
    opposite = [at for at in model_claims(explanation) if claims[at].verdict == "contradicted"]
    if opposite:
        return without(source, opposite[0])
    untold = why_untold(source)
    if untold is not None:
        return sentence(["Tested, and nothing can be told: ", untold, "."])
    subject = "what it looked at" if explanation.history else "what it knew"
    return sentence([f"Tested: {subject} is not shown to matter more than chance would have it."])


def why_untold(source: Source[Explanation]) -> Fact | None:
    """Why no claim about past balls can be told, where none can."""
    claims = source.document.evidence
    places = [at for at, claim in enumerate(claims) if claim.removed_from == "model"]
    places = [at for at in places if claims[at].removed and not claims[at].reference]
    if not places or any(claims[at].verdict != "cannot be told" for at in places):
        return None
    return source.quote(f"/evidence/{places[0]}/reason")


def aim(explanation: Explanation) -> str | None:
    """What claims say that their balls do, such as ``raise``; nothing of a whole distribution."""
    directions = (claim.direction for claim in explanation.evidence)
    return next((direction for direction in directions if direction is not None), None)


def without(source: Source[Explanation], at: int) -> Sentence:
    """What the outcome's chance is without what a claim names, its verdict, and q."""
    claim = source.document.evidence[at]
    end: list[Part] = [" (", source.quote(f"/evidence/{at}/verdict")]
    untold = claim.q is None or claim.verdict == "contradicted"
    q: list[Part] = [] if untold else [", q ", source.quote(f"/evidence/{at}/q", small_q)]
    return sentence(["Tested: ", *changed(source, at), *end, *q, ")."])


def changed(source: Source[Explanation], at: int) -> list[Part]:
    """``without ball 2.6 it would be 9%, not 15%``: what hiding does that a claim names."""
    top = source.document.evidence[at].top_change
    change = f"/evidence/{at}/top_change"
    before, after = source.change(f"{change}/before", f"{change}/after")
    same = top.outcome == source.document.prediction.about
    of = ["it"] if same else [source.quote(f"{change}/outcome", outcome_words)]
    return ["without ", *claim_subject(source, at), " ", *of, " would be ", after, ", not ", before]


def claim_subject(source: Source[Explanation], at: int) -> list[Part]:
    """What a claim about the whole model names."""
    claim = source.document.evidence[at]
    kinds: Mapping[str, list[Part]] = {
        "striker's record": [source.quote("/ball/batter"), "'s record"],
        "bowler's record": [source.quote("/ball/bowler"), "'s record"],
        "venue and teams": ["what is known of the ground and the teams"],
        "boundaries": [f"the {'boundary' if len(claim.removed) == 1 else 'last boundaries,'} of "],
    }
    if not claim.removed:
        return kinds[claim.kind]
    whose: Mapping[str, list[Part]] = {
        "this over": ["this over"],
        "this bowler": [source.quote("/ball/bowler")],
        "this batter": [source.quote("/ball/batter")],
    }
    if claim.kind in whose:
        link = " to " if claim.kind == "this batter" else " of "
        several = ["the last ", source.quote(f"/evidence/{at}/removed", counted), " balls"]
        balls = several if len(claim.removed) > 1 else balls_of(source, at)
        return [*balls, link, *whose[claim.kind]]
    return [*kinds.get(claim.kind, []), *balls_of(source, at)]


def balls_of(source: Source[Explanation], at: int) -> list[Part]:
    """The labels of a claim's balls, oldest first; of many their number, the first and the last."""
    removed = source.document.evidence[at].removed
    where = {entry.index: row for row, entry in enumerate(source.document.history)}
    in_history = all(ball in where for ball in removed)
    labels: list[Part] = [
        source.quote(f"/history/{where[ball]}/label")
        if in_history
        else source.quote(f"/evidence/{at}/removed/{removed.index(ball)}")
        for ball in sorted(removed)
    ]
    singular, plural = ("ball ", "balls ") if in_history else ("delivery ", "deliveries ")
    if len(labels) == 1:
        return [singular, *labels]
    if len(labels) > _LISTED:
        number = source.quote(f"/evidence/{at}/removed", counted)
        return [number, f" {plural}from ", labels[0], " to ", labels[-1]]
    parts = [part for label in labels[:-1] for part in (label, ", ")][:-1]
    return [plural, *parts, " and ", labels[-1]]


def then(source: Source[Explanation]) -> Sentence | None:
    """What the ball brought, and what the model had given it; nothing of a ball to come."""
    prediction, ball = source.document.prediction, source.document.ball
    if prediction.actual is None:
        return None
    chance = f"/prediction/outcomes/{place_of(prediction, prediction.actual)}/probability"
    brought = source.quote("/prediction/actual", outcome_words)
    parts: list[Part] = ["Then: ", brought, " (", source.visible(chance), ")"]
    if ball.happened is not None and ball.happened.out is not None:
        parts += [", ", *gone(source)]
    return sentence([*parts, "."])


def gone(source: Source[Explanation]) -> list[Part]:
    """Who was out, and how; of one who did not face, that he was at the other end."""
    ball = source.document.ball
    assert ball.happened is not None
    out = source.quote("/ball/happened/out")
    end = " at the other end" if ball.happened.out == ball.non_striker else ""
    return [out, " ", source.quote("/ball/happened/how"), end]


def winning(source: Source[Explanation]) -> Sentence | None:
    """The batting side's chance of winning before the ball, and after what happened."""
    win = source.document.win_probability
    if win is None:
        return None
    team = source.quote("/win_probability/team")
    before = source.quote("/win_probability/before", percent)
    if win.happened is None:
        return sentence([team, " to win: ", before, "."])
    after = source.quote("/win_probability/happened", percent)
    return sentence([team, " to win: ", before, " → ", after, "."])


_MOST_WORDS: Final = 110
"""Of a longer story the likeliest outcome, who wins, or one of two groups is left out."""

FELT: Final = 0.5
"""Points below which what a group adds is not worth a word."""

SETTLED, STAND, COSTLY, STEEP = 30, 50, 12, 11.0
"""Runs of a batter who is set, of a stand, of an over; a required rate: from these on a word."""

_LONG_WAY: Final = 60
"""Balls left from which a chase is told by its rate."""

_TAKEN: Final = 2
"""Wickets of a bowler who is having a day."""

_DOTS: Final = ("0", "0", "0")
"""Balls that bring pressure."""

_FRESH_STAND: Final = 6
"""Balls in which a wicket is still fresh."""

_FRESH: Final = 4
"""Balls below which a batter has just come in."""

_MOVED: Final = 1.0
"""Points from which hiding something has done something, though chance does as much."""

_SWING: Final = 0.04
"""From how much a ball moves the chance of winning it is told."""

_OFF: Final = 0.02
"""How far such calls must have been off, beyond chance, to be told."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "venue and teams": ("the ground and the teams",),
    "striker's record": ("/ball/batter", "'s record"),
    "bowler's record": ("/ball/bowler", "'s record"),
    "scoreboard": ("the rest of the scoreboard",),
    "this over": ("this over so far",),
    "this bowler to this batter": ("/ball/bowler", " to ", "/ball/batter", " in earlier overs"),
    "this bowler's earlier balls": ("/ball/bowler", " to others in earlier overs"),
    "this batter's earlier balls": ("/ball/batter", " against others in earlier overs"),
    "other recent balls": ("the other recent balls",),
    "earlier balls": ("the balls long past",),
}
"""What to call the groups of contributions: words, and pointers to names."""


def in_words(explanation: Explanation) -> Explanation:
    """The explanation with its summary and its narrative."""
    return with_narrative(explanation.model_copy(update={"summary": summary_of(explanation)}))


def with_narrative(explanation: Explanation) -> Explanation:
    """The explanation with its narrative."""
    return explanation.model_copy(update={"narrative": narrate(explanation)})


def narrate(explanation: Explanation) -> tuple[Sentence, ...]:
    """Five to eight sentences about an explanation (its own ``narrative`` is not read).

    Returns:
        Every number and name in a sentence is one of its facts, in the order of reading.
    """
    source = Source(explanation)
    sentences = [
        _score(source),
        _special(source),
        headline(source),
        _likeliest(source),
        _counted(source),
        _tested(source),
        _calls(source),
        _came(source),
        _swing(source),
    ]
    for at, shorter in ((3, None), (8, None), (4, _counted(source, most=1))):
        if sum(len(entry.text.split()) for entry in sentences if entry is not None) > _MOST_WORDS:
            sentences[at] = shorter
    return tuple(entry for entry in sentences if entry is not None)


def _score(source: Source[Explanation]) -> Sentence:
    """The sides, the score, and how far the innings is."""
    ball = source.document.ball
    batting, bowling = source.quote("/match/batting_team"), source.quote("/match/bowling_team")
    if ball.standing is not None and not ball.score and not ball.standing.latest:
        start: list[Part] = [batting, " begin against ", bowling]
        if ball.target is not None:
            start = [
                batting,
                " set out to make ",
                source.quote("/ball/target"),
                " against ",
                bowling,
            ]
        return sentence([*start, " in a super over." if ball.super_over else "."])
    score: list[Part] = [source.quote("/ball/score"), " for ", source.quote("/ball/wickets")]
    if ball.super_over:
        return sentence([batting, " are ", *score, " in a super over against ", bowling, "."])
    if ball.runs_required is not None and ball.balls_left:
        if ball.balls_left > _LONG_WAY:
            rate_needed: Part = source.quote("/ball/required_rate", tenths)
            chase: list[Part] = [", chasing ", source.quote("/ball/target"), " against ", bowling]
            return sentence(
                [batting, *chase, ", are ", *score, " and want ", rate_needed, " an over."]
            )
        runs = " run" if ball.runs_required == 1 else " runs"
        left = " ball" if ball.balls_left == 1 else " balls"
        need: list[Part] = [source.quote("/ball/runs_required"), f"{runs} from "]
        need += [source.quote("/ball/balls_left"), f"{left} against ", bowling]
        steep = (ball.required_rate or 0.0) >= STEEP and ball.balls_left > 6
        rate: list[Part] = (
            [", at ", source.quote("/ball/required_rate", tenths), " an over"] if steep else []
        )
        return sentence([batting, ", ", *score, ", need ", *need, *rate, "."])
    phase = None if ball.standing is None else ball.standing.phase
    if phase == "powerplay" and ball.run_rate is not None:
        rate = ["at ", source.quote("/ball/run_rate", tenths), " an over in the powerplay"]
        return sentence([batting, " go ", *rate, " against ", bowling, " and are ", *score, "."])
    if phase == "death overs" and ball.balls_left:
        left = " ball" if ball.balls_left == 1 else " balls"
        end: list[Part] = [" with ", source.quote("/ball/balls_left"), f"{left} left against "]
        return sentence([batting, " are ", *score, *end, bowling, "."])
    return sentence([batting, " have made ", *score, " against ", bowling, "."])


def _special(source: Source[Explanation]) -> Sentence:
    """Who bowls to whom, and what is special about it: the first thing that is."""
    ball, standing = source.document.ball, source.document.ball.standing
    batter, bowler = source.quote("/ball/batter"), source.quote("/ball/bowler")
    if standing is None:
        return sentence([bowler, " bowls to ", batter, "."])
    runs = source.quote("/ball/standing/batter_runs")
    balls = source.quote("/ball/standing/batter_balls")
    score: list[Part] = [runs, " from ", balls]
    if standing.hat_trick:
        return sentence([bowler, " is on a hat-trick, with ", batter, " to face."])
    if ball.free_hit:
        return sentence(["It is a free hit for ", batter, ", ", *score, ", off ", bowler, "."])
    fresh = standing.bowler_overs == "0.0" and not standing.bowler_runs
    if fresh and not standing.batter_balls:
        return sentence([batter, " has yet to face a ball, and ", bowler, " to bowl one."])
    if not standing.batter_balls:
        return sentence([batter, " has yet to face a ball; ", bowler, *_figures(source), "."])
    if fresh:
        return sentence([bowler, " comes on to bowl to ", batter, ", who has ", *score, "."])
    if standing.batter_balls < _FRESH:
        return sentence(
            [batter, " has just come in (", *score, "); ", bowler, *_figures(source), "."]
        )
    parts = _over_and_stand(source, standing, batter, bowler, score)
    if parts:
        return sentence(parts)
    if 0 < standing.partnership_balls < _FRESH_STAND and source.document.ball.wickets:
        since = source.quote("/ball/standing/partnership_balls")
        ago = " ball" if standing.partnership_balls == 1 else " balls"
        return sentence(
            [
                since,
                f"{ago} after the last wicket ",
                bowler,
                " bowls to ",
                batter,
                ", who has ",
                *score,
                ".",
            ]
        )
    if standing.latest[-3:] == _DOTS:
        dots = "Three dot balls have gone by as "
        return sentence([dots, bowler, " bowls to ", batter, ", who has ", *score, "."])
    if standing.batter_runs >= SETTLED:
        return sentence([batter, " is set, with ", *score, "; ", bowler, *_figures(source), "."])
    if standing.bowler_wickets >= _TAKEN:
        haul = source.quote("/ball/standing/bowler_wickets")
        return sentence([bowler, ", with ", haul, " wickets, bowls to ", batter, ", ", *score, "."])
    return sentence([bowler, *_figures(source), " at ", batter, ", who has ", *score, "."])


def _over_and_stand(
    source: Source[Explanation], standing: Standing, batter: Part, bowler: Part, score: list[Part]
) -> list[Part]:
    """A costly over, what went before, or a long stand; empty where there is none."""
    if standing.over_runs >= COSTLY:
        cost = source.quote("/ball/standing/over_runs")
        return [bowler, "'s over has cost ", cost, " already, and ", batter, " has ", *score, "."]
    before = source.document.history[-1] if source.document.history else None
    if before is not None and before.boundary and before.batter == source.document.ball.batter:
        last = source.quote(f"/history/{len(source.document.history) - 1}/outcome", outcome_words)
        return [batter, ", ", *score, ", hit ", last, " off the ball before; ", bowler, " bowls."]
    if standing.partnership_runs >= STAND:
        stand = source.quote("/ball/standing/partnership_runs")
        other = source.quote("/ball/non_striker")
        return [
            batter,
            " (",
            *score,
            ") and ",
            other,
            " have put on ",
            stand,
            "; ",
            bowler,
            " bowls.",
        ]
    return []


def _figures(source: Source[Explanation]) -> list[Part]:
    """``, 1 for 23 from 2.4 overs, bowls``."""
    wickets = source.quote("/ball/standing/bowler_wickets")
    runs = source.quote("/ball/standing/bowler_runs")
    overs = source.quote("/ball/standing/bowler_overs")
    return [", ", wickets, " for ", runs, " from ", overs, " overs, bowls"]


def _likeliest(source: Source[Explanation]) -> Sentence | None:
    """The likeliest outcome, where the story is about one that is less likely than usual."""
    prediction = source.document.prediction
    top = place_of(prediction, prediction.top)
    less = prediction.story_times is not None and prediction.story_times < 1
    if top == story_place(prediction) or prediction.actual == prediction.top or not less:
        return None
    pointer = f"/prediction/outcomes/{top}"
    chance = source.quote(f"{pointer}/probability", percent)
    return sentence(
        [source.quote(f"{pointer}/outcome", outcome_start), " is likeliest, at ", chance, "."]
    )


def _counted(source: Source[Explanation], most: int = 2) -> Sentence | None:
    """What the model counts for the outcome and against it, from what is usual."""
    groups = source.document.contributions
    place = story_place(source.document.prediction)
    if not groups or not groups[0].from_usual:
        return None
    points = [group.from_usual[place].points for group in groups]
    order = sorted(range(len(points)), key=lambda at: -abs(points[at]))
    noticeable = [at for at in order if abs(points[at]) >= FELT][:most]
    if not noticeable:
        return sentence(["Nothing that the model knows moves that from usual by much."])

    def what(at: int) -> list[Part]:
        words = [
            source.quote(group) if group.startswith("/") else group
            for group in GROUPS[groups[at].group]
        ]
        return list(words)

    def much(at: int) -> Part:
        return source.quote(f"/contributions/{at}/from_usual/{place}/points", size)

    def does(at: int) -> str:
        return "adds " if points[at] > 0 else "takes off "

    first, *rest = noticeable
    parts: list[Part] = ["The model ", does(first), much(first), " points for ", *what(first)]
    for at in rest:
        alike = points[at] * points[first] > 0
        parts += [" and ", much(at)] if alike else [", but ", does(at), much(at)]
        parts += [" for ", *what(at)]
    return sentence([*parts, "."])


def _tested(source: Source[Explanation]) -> Sentence:
    """What hiding did: of a supported claim, else of what moved the outcome most."""
    explanation = source.document
    if not explanation.evidence:
        return sentence(["Nothing was tested."])
    places = [at for at in model_claims(explanation) if explanation.evidence[at].removed]
    held = supported(explanation)
    if not places and not held:
        none = (
            "nothing is claimed of other balls" if explanation.history else "no ball came before it"
        )
        reason: Part = why_untold(source) or none
        return sentence(["No finding can be told: ", reason, "."])
    at = held[0] if held else places[0]
    claim = explanation.evidence[at]
    change = f"/evidence/{at}/top_change"
    outcome = source.quote(f"{change}/outcome", outcome_words)
    before, after = source.change(f"{change}/before", f"{change}/after")
    rises = claim.top_change.after > claim.top_change.before
    verdict = source.quote(f"/evidence/{at}/verdict")
    if not held:
        moved = abs(claim.top_change.points) >= _MOVED
        start = "Hiding " if moved else "Nothing tested decides it: hiding "
        change_told: list[Part] = [
            " takes the chance of ",
            outcome,
            " from ",
            before,
            " to ",
            after,
        ]
        so = ", which is "
        if claim.verdict == "contradicted":
            does = "matter" if claim.direction is None else f"{claim.direction} it"
            so = f": that they {does} is "
        return sentence([start, *claim_subject(source, at), *change_told, so, verdict, "."])
    if before.text == after.text:
        moves: list[Part] = [" the chance of ", outcome, " stays at ", before]
    else:
        verb = "rises" if rises else "falls"
        moves = [" the chance of ", outcome, f" {verb} from ", before, " to ", after]
    return sentence(["Without ", *claim_subject(source, at), *moves, ", which is ", verdict, "."])


def _calls(source: Source[Explanation]) -> Sentence | None:
    """That such calls did not hold up, where they did not."""
    prediction = source.document.prediction
    if prediction.calibration is None:
        return None
    at = story_place(prediction)
    like = prediction.calibration.outcomes[at]
    if like.happened_ci is None or like.happened_ci[0] <= like.predicted <= like.happened_ci[1]:
        return None
    if abs(like.happened - like.predicted) < _OFF:
        return None
    pointer = f"/prediction/calibration/outcomes/{at}"
    forecast = source.quote(f"{pointer}/predicted", percent)
    came = source.quote(f"{pointer}/happened", percent)
    return sentence(["Such calls, at ", forecast, ", came true in ", came, " of cases."])


def _came(source: Source[Explanation]) -> Sentence | None:
    """What the ball brought, and what the model had given it."""
    prediction, ball = source.document.prediction, source.document.ball
    if prediction.actual is None:
        return None
    pointer = f"/prediction/outcomes/{place_of(prediction, prediction.actual)}/probability"
    brought = source.quote("/prediction/actual", outcome_words)
    chance: Part = source.visible(pointer)
    batter, bowler = source.quote("/ball/batter"), source.quote("/ball/bowler")
    if prediction.actual == prediction.top:
        expected: list[Part] = [", the likeliest outcome at ", chance]
    else:
        expected = [", which the model had at ", chance]
    if ball.happened is not None and ball.happened.out is not None:
        return sentence(["It was ", brought, *expected, ": ", *gone(source), "."])
    if prediction.actual in ("4", "6"):
        return sentence([batter, " hit ", brought, *expected, "."])
    if prediction.actual in ("wd", "nb"):
        return sentence([bowler, " bowled ", brought, *expected, "."])
    if prediction.actual in ("1", "2", "3", "5"):
        return sentence([batter, " took ", brought, *expected, "."])
    if prediction.actual == "0":
        return sentence([bowler, " gave nothing away: ", brought, *expected, "."])
    return sentence(["It went for ", brought, *expected, "."])


def _swing(source: Source[Explanation]) -> Sentence | None:
    """What the ball did to who wins, where it did something."""
    win = source.document.win_probability
    if win is None or win.happened is None or abs(win.happened - win.before) < _SWING:
        return None
    team = source.quote("/win_probability/team")
    before = source.quote("/win_probability/before", percent)
    after = source.quote("/win_probability/happened", percent)
    verb = "rose" if win.happened > win.before else "fell"
    return sentence(["The chance of ", team, f" winning {verb} from ", before, " to ", after, "."])

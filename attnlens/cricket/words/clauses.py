"""The clause bank of an explanation, and the prompt that offers it to a language model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation, Sentence
from attnlens.cricket.words.facts import (
    Part,
    Source,
    claims_in_order,
    outcome_words,
    sentence,
    size,
    tenths,
)
from attnlens.cricket.words.narrative import GROUPS, gone, place_of
from attnlens.llm.clauses import Clause, RenderedText, clauses_from, parsed_json, render_clauses
from attnlens.render.prompt_template import Prompt, fenced, new_nonce, render
from attnlens.render.safe import visible

_MIN_PROBABILITY: Final = 0.005
"""Outcomes less likely than this have a clause only if the explanation is about them."""

_MIN_POINTS: Final = 0.05
"""Percentage points below which a contribution prints as 0.0."""


def render_text(facts: object, ids: object) -> RenderedText:
    """The clauses with these ids, in this order; cautions always stand in the text.

    Args:
        facts: an explanation, the same as plain data or as JSON, its clauses, or a mapping of ids
            to sentences.
        ids: a list of ids, a mapping with such a list under ``ids``, or JSON of either.

    Returns:
        the text, and each id that was dropped with the reason.

    Raises:
        InputError: they are something else.
    """
    data: Any = parsed_json(facts, "the facts")
    if isinstance(data, Mapping) and "schema_version" in data:
        data = Explanation.from_dict(data)
    if isinstance(data, Explanation):
        return render_clauses(explanation_clauses(data), ids)
    return render_clauses(clauses_from(data), ids)


def explanation_clauses(explanation: Explanation) -> tuple[Clause, ...]:
    """Every clause of an explanation, no sentence twice.

    Returns:
        ``sentence1`` ... the narrative; ``fact1`` ... the scorebook, the chances and what came;
        ``claim1`` ... the tested claims with their verdicts, supported ones first; ``caution1``
        ..., which are required.
    """
    source = Source(explanation)
    kinds: Mapping[str, Iterator[Sentence]] = {
        "sentence": iter(explanation.narrative),
        "fact": _facts(source),
        "claim": _claims(source),
        "caution": _cautions(source),
    }
    clauses: dict[str, Clause] = {}
    for kind, sentences in kinds.items():
        number = 0
        for written in sentences:
            text = visible(written.text)
            if text not in clauses:
                number += 1
                pointers = tuple(fact.pointer for fact in written.facts)
                clauses[text] = Clause(f"{kind}{number}", text, pointers, kind == "caution")
    return tuple(clauses.values())


def clauses_prompt(
    explanation: Explanation, *, template: str | Path | None = None, nonce: str | None = None
) -> Prompt:
    """The prompt that asks for the ids of clauses.

    Args:
        template: a Jinja file in place of ``templates/cricket/clauses.j2``.
        nonce: the part of the fence's name that is random otherwise.

    Raises:
        InputError: the template cannot be read or rendered; one line says where.
    """
    clauses = {clause.id: clause.text for clause in explanation_clauses(explanation)}
    context = {
        **fenced(clauses, nonce or new_nonce()),
        "clauses": clauses,
        "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
    }
    return render("cricket/clauses.j2", context, template)


def _facts(source: Source[Explanation]) -> Iterator[Sentence]:
    yield from _scoreboard(source)
    yield from _scorebook(source)
    yield from _chances(source)
    yield from _contributions(source)
    yield from _after(source)


def _scoreboard(source: Source[Explanation]) -> Iterator[Sentence]:
    """The sides, the score, and what is left of the innings."""
    ball, match, quote = source.document.ball, source.document.match, source.quote
    batting, bowling = quote("/match/batting_team"), quote("/match/bowling_team")
    ground: list[Part] = [] if match.venue is None else [" at ", quote("/match/venue")]
    yield sentence([batting, " bat against ", bowling, *ground, "."])
    score: list[Part] = [quote("/ball/score"), " for ", quote("/ball/wickets")]
    overs: list[Part] = [" in a super over"] if ball.super_over else []
    yield sentence(["The score is ", *score, *overs, "."])
    if ball.target is not None:
        yield sentence(["The target is ", quote("/ball/target"), "."])
    if ball.balls_left:
        balls: list[Part] = [quote("/ball/balls_left"), f" ball{'s' * (ball.balls_left != 1)}"]
        if ball.runs_required is None:
            yield sentence(["There ", _be(ball.balls_left), *balls, " left in the innings."])
        else:
            runs = f" run{'s' * (ball.runs_required != 1)} from "
            yield sentence([batting, " need ", quote("/ball/runs_required"), runs, *balls, "."])
    if ball.required_rate is not None:
        rate = quote("/ball/required_rate", tenths)
        yield sentence(["The required rate is ", rate, " an over."])
    if ball.run_rate is not None:
        yield sentence(["The run rate is ", quote("/ball/run_rate", tenths), " an over."])
    if ball.free_hit:
        yield sentence(["The ball is a free hit."])


def _be(count: int) -> str:
    return "is " if count == 1 else "are "


def _scorebook(source: Source[Explanation]) -> Iterator[Sentence]:
    """The players of the ball, with their figures."""
    standing, quote = source.document.ball.standing, source.quote
    batter, bowler = quote("/ball/batter"), quote("/ball/bowler")
    other = quote("/ball/non_striker")
    yield sentence([bowler, " bowls to ", batter, "; ", other, " is the non-striker."])
    if standing is None:
        return

    def figure(name: str) -> Part:
        return quote(f"/ball/standing/{name}")

    yield sentence(["This ball is in the ", figure("phase"), "."])
    yield sentence([batter, " has ", figure("batter_runs"), " from ", figure("batter_balls"), "."])
    conceded: list[Part] = [figure("bowler_wickets"), " for ", figure("bowler_runs")]
    yield sentence([bowler, " has ", *conceded, " from ", figure("bowler_overs"), " overs."])
    stand: list[Part] = [figure("partnership_runs"), " from ", figure("partnership_balls")]
    yield sentence(["The partnership is ", *stand, " balls."])
    yield sentence(["Runs from this over so far: ", figure("over_runs"), "."])
    if standing.hat_trick:
        yield sentence([bowler, " is on a hat-trick."])


def _chances(source: Source[Explanation]) -> Iterator[Sentence]:
    """The probability of each outcome, beside what is usual."""
    prediction = source.document.prediction
    for number, entry in enumerate(prediction.outcomes):
        pointer = f"/prediction/outcomes/{number}"
        required = entry.outcome in (prediction.about, prediction.actual)
        if entry.probability < _MIN_PROBABILITY and not required:
            continue
        of: list[Part] = ["The chance of ", source.quote(f"{pointer}/outcome", outcome_words)]
        if entry.usual is None:
            yield sentence([*of, " is ", source.visible(f"{pointer}/probability"), "."])
        else:
            probability, usual = source.change(f"{pointer}/probability", f"{pointer}/usual")
            yield sentence([*of, " is ", probability, "; ", usual, " is usual."])


def _contributions(source: Source[Explanation]) -> Iterator[Sentence]:
    """What each group of inputs adds to the chance of the explanation's outcome, or takes off."""
    prediction = source.document.prediction
    position = place_of(prediction, prediction.about)
    outcome = source.quote(f"/prediction/outcomes/{position}/outcome", outcome_words)
    for number, group in enumerate(source.document.contributions):
        field = "from_usual" if group.from_usual else "points"
        points = getattr(group, field)[position].points
        if abs(points) < _MIN_POINTS:
            continue
        names = [
            source.quote(name) if name.startswith("/") else name for name in GROUPS[group.group]
        ]
        amount = source.quote(f"/contributions/{number}/{field}/{position}/points", size)
        verb, preposition = ("adds ", " points to") if points > 0 else ("takes ", " points off")
        change: list[Part] = [verb, amount, preposition, " the chance of ", outcome]
        yield sentence(["The model ", *change, " for ", *names, "."])


def _after(source: Source[Explanation]) -> Iterator[Sentence]:
    """What came, and the chance of winning."""
    explanation = source.document
    actual, win = explanation.prediction.actual, explanation.win_probability
    if actual is not None:
        chance = f"/prediction/outcomes/{place_of(explanation.prediction, actual)}/probability"
        came = source.quote("/prediction/actual", outcome_words)
        yield sentence(["It was ", came, ", which the model had at ", source.visible(chance), "."])
    if explanation.ball.happened is not None and explanation.ball.happened.out is not None:
        yield sentence([*gone(source), "."])
    if win is not None:
        team: list[Part] = ["The chance that ", source.quote("/win_probability/team"), " win is "]
        if win.happened is None:
            yield sentence([*team, source.visible("/win_probability/before"), "."])
        else:
            before, after = source.change("/win_probability/before", "/win_probability/happened")
            yield sentence([*team, before, " before the ball and ", after, " after it."])


def _claims(source: Source[Explanation]) -> Iterator[Sentence]:
    """Each claim that has a verdict: what hiding did to an outcome, and the verdict."""
    for number in claims_in_order(source.document):
        claim, pointer = source.document.evidence[number], f"/evidence/{number}"
        if claim.verdict is None:
            continue
        verdict: list[Part] = [source.quote(f"{pointer}/verdict")]
        if claim.reason is not None:
            verdict += [" (", source.quote(f"{pointer}/reason"), ")"]
        if claim.reference:
            verdict += [", for comparison only"]
        change = _hidden_change(source, number)
        if claim.removed_from == "head":
            start: list[Part] = [source.quote(f"{pointer}/claim", _capitalized)]
            start += ["; with that hidden from this head, "]
        else:
            start = ["Without ", source.quote(f"{pointer}/claim", _with_model), ", "]
        yield sentence([*start, *change, "; verdict: ", *verdict, "."])


def _hidden_change(source: Source[Explanation], number: int) -> list[Part]:
    """``the chance of a four would be 9%, not 15%``."""
    change = f"/evidence/{number}/top_change"
    outcome = source.quote(f"{change}/outcome", outcome_words)
    before, after = source.change(f"{change}/before", f"{change}/after")
    if before.text == after.text:
        return ["the chance of ", outcome, " stays at ", after]
    return ["the chance of ", outcome, " would be ", after, ", not ", before]


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _with_model(claim: str) -> str:
    return claim.replace("it attended to", "the model attended to")


def _cautions(source: Source[Explanation]) -> Iterator[Sentence]:
    for number, _ in enumerate(source.document.flags):
        yield sentence(["Caution: ", source.quote(f"/flags/{number}/text"), "."])

"""The clauses of an explanation, and a prompt that asks a language model to choose clauses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation, Sentence
from attnlens.cricket.words.facts import claims_in_order, quote_change, sentence, text_of
from attnlens.cricket.words.narrative import (
    BATTER,
    BATTER_SCORE,
    BATTING,
    BOWLER,
    BOWLING,
    GROUPS,
    SCORE,
    came_note,
    dismissal,
    figures,
    noted,
    outcome_index,
    per_over,
    plural,
)
from attnlens.llm.clause_bank import Clause, RenderedText, clauses_from, parsed_json, render_clauses
from attnlens.render.prompt_template import Prompt, fence, new_nonce, render
from attnlens.render.safe import visible

_MIN_PROBABILITY: Final = 0.005

_MIN_POINTS: Final = 0.05
"""Smaller contributions, in percentage points, would be printed as 0.0."""


def render_text(facts: object, ids: object) -> RenderedText:
    """Return the clauses with the given ids as one text, in the order of the ids.

    Missing cautions are added at the end.

    Args:
        facts: an explanation (as an object, plain data or JSON), its clauses, or a mapping of ids
            to sentences.
        ids: a list of ids, a mapping with a list of ids under ``ids``, or JSON of either.

    Returns:
        The text, and the reason for each id that was dropped.

    Raises:
        InputError: ``facts`` or ``ids`` has another form.
    """
    data: Any = parsed_json(facts, "the facts")
    if isinstance(data, Mapping) and "schema_version" in data:
        data = Explanation.from_dict(data)
    if isinstance(data, Explanation):
        return render_clauses(explanation_clauses(data), ids)
    return render_clauses(clauses_from(data), ids)


def explanation_clauses(explanation: Explanation) -> tuple[Clause, ...]:
    """Return all clauses of an explanation, without repeated sentences.

    The ids of the clauses start with one of four words:

    - ``sentence``: the sentences of the narrative;
    - ``fact``: the scorebook, the probabilities and the outcome;
    - ``claim``: the tested claims with verdicts, supported claims first;
    - ``caution``: the cautions, which a text must contain.
    """
    kinds: Mapping[str, Iterable[Sentence]] = {
        "sentence": explanation.narrative,
        "fact": (sentence(explanation, template) for template in _facts(explanation)),
        "claim": (sentence(explanation, template) for template in _claims(explanation)),
        "caution": (
            sentence(explanation, f"Caution: [/flags/{number}/text].")
            for number in range(len(explanation.flags))
        ),
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
    """Build the prompt that asks a language model for the ids of clauses.

    Args:
        template: a Jinja file to use instead of ``templates/cricket/clauses.j2``.
        nonce: the random part of the tag around the clauses; by default, a new nonce.

    Raises:
        InputError: the template cannot be read or rendered. The message gives the line, if known.
    """
    clauses = {clause.id: clause.text for clause in explanation_clauses(explanation)}
    context = {
        **fence(clauses, nonce or new_nonce()),
        "clauses": clauses,
        "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
    }
    return render("cricket/clauses.j2", context, template)


def _facts(explanation: Explanation) -> Iterator[str]:
    yield from _scoreboard(explanation)
    yield from _scorebook(explanation)
    yield from _probabilities(explanation)
    yield from _contributions(explanation)
    yield from _after(explanation)


def _scoreboard(explanation: Explanation) -> Iterator[str]:
    ball = explanation.ball
    ground = "" if explanation.match.venue is None else " at [/match/venue]"
    yield f"{BATTING} bat against {BOWLING}{ground}."
    yield f"The score is {SCORE}{' in a super over' if ball.super_over else ''}."
    if ball.target is not None:
        yield "The target is [/ball/target]."
    if ball.balls_left:
        balls = f"[/ball/balls_left] ball{plural(ball.balls_left)}"
        if ball.runs_required is None:
            verb = "is" if ball.balls_left == 1 else "are"
            yield f"There {verb} {balls} left in the innings."
        else:
            runs = f"[/ball/runs_required] run{plural(ball.runs_required)}"
            yield f"{BATTING} need {runs} from {balls}."
    if ball.required_rate is not None:
        yield f"The required rate is [/ball/required_rate tenths] {per_over(ball)}."
    if ball.run_rate is not None:
        yield f"The run rate is [/ball/run_rate tenths] {per_over(ball)}."
    if ball.free_hit:
        yield "The ball is a free hit."


def _scorebook(explanation: Explanation) -> Iterator[str]:
    standing = explanation.ball.standing
    yield f"{BOWLER} bowls to {BATTER}; [/ball/non_striker] is the non-striker."
    yield "This ball is in the [/ball/standing/phase]."
    yield f"{BATTER} has {BATTER_SCORE}."
    yield f"{BOWLER} has {figures(explanation.ball)}."
    stand = "[/ball/standing/partnership_runs] from [/ball/standing/partnership_balls] balls"
    yield f"The partnership is {stand}."
    yield "Runs from this over so far: [/ball/standing/over_runs]."
    if standing.hat_trick:
        yield f"{BOWLER} is on a hat-trick."


def _probabilities(explanation: Explanation) -> Iterator[str]:
    prediction = explanation.prediction
    for number, entry in enumerate(prediction.outcomes):
        required = entry.outcome in (prediction.subject, prediction.actual)
        if entry.probability < _MIN_PROBABILITY and not required:
            continue
        pointer = f"/prediction/outcomes/{number}"
        subject = f"The probability of [{pointer}/outcome outcome] is"
        ends = quote_change(explanation, f"{pointer}/probability", f"{pointer}/usual")
        yield f"{subject} {ends[0]}; {ends[1]} is usual."


def _contributions(explanation: Explanation) -> Iterator[str]:
    prediction = explanation.prediction
    index = outcome_index(prediction, prediction.subject)
    outcome = f"the probability of [/prediction/outcomes/{index}/outcome outcome]"
    for number, group in enumerate(explanation.contributions):
        points = group.from_usual[index].points
        if abs(points) < _MIN_POINTS:
            continue
        verb, preposition = ("adds", "to") if points > 0 else ("takes", "off")
        size = f"[/contributions/{number}/from_usual/{index}/points size] points"
        text = f"The model {verb} {size} {preposition} {outcome} for {GROUPS[group.group]}"
        yield noted(explanation, f"{text}{came_note(explanation, number)}.")


def _after(explanation: Explanation) -> Iterator[str]:
    actual, win = explanation.prediction.actual, explanation.win_probability
    if actual is not None:
        index = outcome_index(explanation.prediction, actual)
        probability = f"[/prediction/outcomes/{index}/probability visible]"
        yield f"It was [/prediction/actual outcome]; the model had given it {probability}."
    if dismissed := dismissal(explanation):
        yield f"{dismissed}."
    if win is not None:
        subject = "The probability that [/win_probability/team] win is"
        if win.happened is None:
            yield f"{subject} [/win_probability/before visible]."
        else:
            pointers = "/win_probability/before", "/win_probability/happened"
            before, after = quote_change(explanation, *pointers)
            yield f"{subject} {before} before the ball and {after} after it."


def _claims(explanation: Explanation) -> Iterator[str]:
    for number in claims_in_order(explanation):
        claim, pointer = explanation.evidence[number], f"/evidence/{number}"
        if claim.verdict is None:
            continue
        reason = "" if claim.reason is None else f" ([{pointer}/reason])"
        comparison = ", for comparison only" if claim.reference else ""
        verdict = f"verdict: [{pointer}/verdict]{reason}{comparison}"
        start = f"Without [{pointer}/claim claim],"
        if claim.removed_from == "head":
            start = f"[{pointer}/claim capital]; with these balls hidden from this head,"
        yield f"{start} {_effect_of_hiding(explanation, number)}; {verdict}."


def _effect_of_hiding(explanation: Explanation, number: int) -> str:
    """Return a template for ``the probability of a four would be 9%, not 15%``."""
    pointer = f"/evidence/{number}/top_change"
    outcome = f"the probability of [{pointer}/outcome outcome]"
    before, after = quote_change(explanation, f"{pointer}/before", f"{pointer}/after")
    if text_of(explanation, before) == text_of(explanation, after):
        return f"{outcome} stays at {after}"
    return f"{outcome} would be {after}, not {before}"

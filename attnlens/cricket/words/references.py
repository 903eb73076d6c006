"""What a language model may refer to in an explanation, and the prompt that offers it.

`attnlens.llm.references` fills sentences in, and says why it drops one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.explain.document import Document
from attnlens.cricket.explain.types import Evidence, Explanation
from attnlens.cricket.words.facts import (
    NUMBERS,
    Source,
    head_number,
    outcome_words,
    spaced,
    tenths,
)
from attnlens.errors import InputError
from attnlens.llm.references import References, Rendered, parsed
from attnlens.show.numbers import signed_points
from attnlens.show.page import inert
from attnlens.show.prompt_template import Prompt, render_default, render_file
from attnlens.show.safe import visible, visible_name

DEFAULT: Final = "cricket/references.j2"
MOST_FACTS: Final = 1 << 26
THINGS: Final[Mapping[str, str]] = {
    "0": "dot", "1": "single", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six",
    "W": "wicket", "wd": "wide", "nb": "no_ball", "bye": "bye",
}  # fmt: skip
"""Outcomes as ids name them."""

RARE: Final = 0.005
"""Outcomes less likely than this have an id only where they are the story's or happened."""

ORDER: Final = ("supported", "not better than chance", "cannot be told", "contradicted")
LISTED: Final = 4
"""Balls of a claim that are told one by one; of more the first and the last."""

MOST_CLAIMS: Final = 6
FELT: Final = 0.05
"""Points below which a contribution prints as 0.0."""

TERMS: Final = ("powerplay", "middle overs", "death", "free hit", "hat-trick", "super over")
"""What is said only of a ball that it is true of."""


def references_of(explanation: Explanation) -> References:
    """The ids of an explanation and what they print, with the names no sentence may write."""
    match, ball = explanation.match, explanation.ball
    names = {ball.batter, ball.non_striker, ball.bowler, *match.teams}
    names |= {name for past in explanation.history for name in (past.batter, past.bowler)}
    places = (match.venue, match.city, match.event, match.batting_team, match.bowling_team)
    texts: dict[str, str] = {}
    for part in (_ball, _chances, _claims, _contributions, _after):
        texts |= {name: text for name, text in part(Source(explanation)) if text}
    rare = (thing.replace("_", sign) for thing in THINGS.values() for sign in " -")
    terms = {*TERMS, *(one for one in rare if f"p.{re.sub('[ -]', '_', one)}" not in texts)}
    return References(texts, names | set(filter(None, places)), sorted(terms))


def render_text(facts: object, sentences: object) -> Rendered:
    """Sentences with ``{id}`` references, filled in; what the data does not bear is dropped.

    Args:
        facts: an explanation, the same as plain data or as JSON, or a mapping of ids to texts.
        sentences: a list of texts, a mapping with such a list ``sentences``, or JSON of either.

    Returns:
        the text, and each sentence that was dropped with its faults.

    Raises:
        InputError: they are something else.
    """
    return _references(facts).render(sentences)


def references_prompt(
    explanation: Explanation, *, template: str | Path | None = None, nonce: str | None = None
) -> Prompt:
    """The prompt that asks for sentences with references.

    Args:
        template: a Jinja file in place of the one that comes along.
        nonce: the part of the fence's name that is random otherwise.

    Raises:
        InputError: the template cannot be read or rendered; one line says where.
    """
    texts = references_of(explanation).texts
    tag = f"data-{nonce or secrets.token_hex(8)}"
    supported = [name[:-8] for name, text in texts.items() if text == "supported"]
    context = {
        "data": f"<{tag}>\n{inert(texts, ascii_only=False)}\n</{tag}>",
        "tag": tag,
        "references": texts,
        "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
        "story": THINGS[_story(explanation)],
        "supported": supported,
        "tested": any(name.endswith(".verdict") for name in texts),
        "happened": "happened" in texts,
        "asked": explanation.prediction.explained,
    }
    return render_default(DEFAULT, context) if template is None else render_file(template, context)


def _references(facts: object) -> References:
    given: Any = facts
    remedy = "give an explanation, its JSON, or a mapping of ids to texts"
    if isinstance(given, str | bytes):
        given = parsed(given, "the facts", remedy, MOST_FACTS)
    if isinstance(given, Mapping) and "schema_version" in given:
        given = Explanation.from_dict(given)
    if isinstance(given, Explanation):
        return references_of(given)
    if not isinstance(given, Mapping) or isinstance(given, Document):
        raise InputError("the facts are neither an explanation nor a mapping", remedy=remedy)
    strange = [str(name) for name, text in given.items() if not isinstance(text, str)]
    if strange or not given:
        problem = f"the fact {visible_name(strange[0])} is no text" if strange else "no facts"
        raise InputError(problem, remedy=remedy)
    return References({str(name): visible(text) for name, text in given.items()})


def _story(explanation: Explanation) -> str:
    prediction = explanation.prediction
    return prediction.story_outcome or prediction.explained or prediction.top


Texts = Iterator[tuple[str, str | None]]


def _ball(source: Source[Explanation]) -> Texts:
    """Who, where, and how the match stands."""
    ball, match = source.document.ball, source.document.match
    for name in ("batter", "non_striker", "bowler"):
        yield name, visible_name(getattr(ball, name))
    for name in ("batting_team", "bowling_team", "venue", "city", "event"):
        told = getattr(match, name)
        yield name, told and visible_name(told)
    yield "ball", ball.label and f"ball {ball.label}"
    yield "over", f"over {ball.over + 1}"
    if not ball.super_over and ball.innings < 3:
        yield "innings", f"the {('first', 'second')[ball.innings - 1]} innings"
    yield "score", f"{ball.score}/{ball.wickets}"
    yield "wickets", str(ball.wickets)
    for name in ("target", "runs_required", "balls_left"):
        told = getattr(ball, name)
        yield name, None if told is None else str(told)
    for name in ("required_rate", "run_rate"):
        told = getattr(ball, name)
        yield name, None if told is None else tenths(told)
    yield "free_hit", "a free hit" if ball.free_hit else None
    yield "super_over", "a super over" if ball.super_over else None
    for at, flag in enumerate(source.document.flags[:3], start=1):
        yield f"note{at}", visible(flag.text)
    standing = ball.standing
    if standing is None:
        return
    yield "phase", standing.phase
    yield "batter.figures", f"{standing.batter_runs} ({standing.batter_balls})"
    yield "batter.runs", str(standing.batter_runs)
    yield "batter.balls", str(standing.batter_balls)
    wickets, runs = standing.bowler_wickets, standing.bowler_runs
    yield "bowler.figures", f"{wickets}-{runs} ({standing.bowler_overs})"
    yield "partnership", f"{standing.partnership_runs} ({standing.partnership_balls})"
    yield "over_runs", str(standing.over_runs)
    yield "latest", " ".join(standing.latest)
    yield "hat_trick", "a hat-trick ball" if standing.hat_trick else None


def _chances(source: Source[Explanation]) -> Texts:
    """The chance of each outcome, and what is usual; of the story's, how many times that is."""
    prediction = source.document.prediction
    story = _story(source.document)
    yield "outcome", outcome_words(story)
    yield "likeliest", outcome_words(prediction.top)
    times = _times(prediction.story_times)
    yield "times", times
    for at, entry in enumerate(prediction.outcomes):
        if entry.probability < RARE and entry.outcome not in (story, prediction.actual):
            continue
        pointer, thing = f"/prediction/outcomes/{at}", f"p.{THINGS[entry.outcome]}"
        if entry.usual is None:
            yield thing, source.visible(f"{pointer}/probability").text
            continue
        here, usual = source.change(f"{pointer}/probability", f"{pointer}/usual")
        yield thing, here.text
        yield f"{thing}.usual", usual.text
        if entry.outcome == story:
            yield f"{thing}.times", times


def _times(times: float | None) -> str | None:
    """``five times``, ``2.4 times``, ``twice``, ``a third``; nothing for as much as usual."""
    if times is None or times <= 0 or 0.95 < times < 1.05:
        return None
    whole, part = round(times), round(1 / times)
    if times < 1:
        near = abs(part * times - 1) < 0.05
        words = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}
        return words[part] if near and part in words else f"{times:.1f} times"
    if abs(times - whole) > 0.05 * whole or whole >= len(NUMBERS):
        return f"{times:.1f} times"
    return "twice" if whole == 2 else f"{NUMBERS[whole]} times"


def _claims(source: Source[Explanation]) -> Texts:
    """``c1``, ``c2`` ...: claims about past balls, by verdict, of one verdict the greatest first."""
    story = _story(source.document)
    tested = [
        (at, claim)
        for at, claim in enumerate(source.document.evidence)
        if claim.verdict is not None
        and not claim.reference
        and (claim.removed_from == "model" or claim.verdict == "supported")
    ]
    tested.sort(key=lambda one: (ORDER.index(one[1].verdict or ""), -abs(one[1].top_change.points)))
    for number, (at, claim) in enumerate(tested[:MOST_CLAIMS], start=1):
        name, change = f"c{number}", f"/evidence/{at}/top_change"
        before, after = source.change(f"{change}/before", f"{change}/after")
        yield f"{name}.what", _what(claim)
        yield f"{name}.balls", _balls(source.document, claim)
        if claim.top_change.outcome != story:
            yield f"{name}.outcome", outcome_words(claim.top_change.outcome)
        yield f"{name}.before", before.text
        yield f"{name}.after", after.text
        verb = "falls" if claim.top_change.points < 0 else "rises"
        same = before.text == after.text
        told = f"stays at {before.text}" if same else f"{verb} from {before.text} to {after.text}"
        yield f"{name}.move", told
        yield f"{name}.verdict", claim.verdict


def _what(claim: Evidence) -> str:
    if claim.head is not None:
        return f"head {head_number(claim.head)} of the {claim.scale} scale"
    told = visible(claim.claim).replace("it attended to most", "the model looked at most")
    return told.rpartition(" (")[0] if told.endswith(")") else told


def _balls(explanation: Explanation, claim: Evidence) -> str | None:
    labels = {past.index: past.label for past in explanation.history}
    told = [labels.get(ball, f"number {ball}") for ball in sorted(claim.removed)]
    if not told:
        return None
    if len(told) > LISTED:
        in_a_row = max(claim.removed) - min(claim.removed) == len(told) - 1
        return f"{'' if in_a_row else f'{len(told)} '}balls from {told[0]} to {told[-1]}"
    *others, last = told
    return f"balls {', '.join(others)} and {last}" if others else f"ball {last}"


def _contributions(source: Source[Explanation]) -> Texts:
    """``g1``, ``g2`` ...: what adds to the story's chance, or takes from it, from what is usual."""
    story = _story(source.document)
    groups = []
    for group in source.document.contributions:
        (points,) = (p.points for p in group.from_usual or group.points if p.outcome == story)
        if abs(points) >= FELT:
            groups.append((points, spaced(group.group)))
    groups.sort(key=lambda one: -abs(one[0]))
    for number, (points, group) in enumerate(groups[:6], start=1):
        article = "" if group.startswith("this") else "the "
        yield f"g{number}.what", article + group
        yield f"g{number}.points", f"{signed_points(points)} points"


def _after(source: Source[Explanation]) -> Texts:
    """What the ball brought, and who is winning."""
    explanation = source.document
    actual, happened = explanation.prediction.actual, explanation.ball.happened
    if actual is not None:
        outcomes = [entry.outcome for entry in explanation.prediction.outcomes]
        pointer = f"/prediction/outcomes/{outcomes.index(actual)}/probability"
        yield "happened", outcome_words(actual)
        yield "p.happened", source.visible(pointer).text
    if happened is not None and happened.out is not None:
        yield "out", visible_name(happened.out)
        yield "how", happened.how and visible(happened.how)
    win = explanation.win_probability
    if win is not None:
        before, after = ("/win_probability/before", "/win_probability/happened")
        yield "win.before", source.visible(before).text
        if win.happened is not None:
            told = source.change(before, after)
            yield from zip(("win.before", "win.after"), (one.text for one in told), strict=True)

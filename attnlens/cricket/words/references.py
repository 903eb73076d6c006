"""What a language model may refer to in an explanation, and the prompt that offers it.

`attnlens.llm.references` fills sentences in, and says why it drops one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.explain.types import Evidence, Explanation
from attnlens.cricket.match.outcomes import TOLD
from attnlens.cricket.words.facts import (
    Source,
    claims_in_order,
    head_number,
    names_in,
    outcome_words,
    plain,
    tenths,
)
from attnlens.cricket.words.places import places_of
from attnlens.cricket.words.story import balls_of, place_of, times_words
from attnlens.errors import InputError
from attnlens.llm.references import References, Rendered, parsed
from attnlens.render.numbers import signed_points
from attnlens.render.prompt_template import Prompt, fenced, new_nonce, render
from attnlens.render.safe import visible, visible_name

THINGS: Final = {outcome: told.thing for outcome, told in TOLD.items()}
"""Outcomes as ids name them."""

TERMS: Final = (
    *("powerplay", "middle overs", "death", "free hit", "hat-trick", "super over"),
    *("rain", "toss", "captain", "debut", "injur", "dropped"),
)
"""What is said only of a ball that it is true of."""

NAMES: Final = (
    *("batter", "non_striker", "bowler", "batting_team", "bowling_team", "venue", "city", "event"),
)
COUNTS: Final = ("wickets", "target", "runs_required", "balls_left")
INNINGS: Final = {1: "the first innings", 2: "the second innings"}
RARE: Final = 0.005
"""Outcomes less likely than this have an id only where they are the story's or happened."""

FELT: Final = 0.05
"""Points below which a contribution prints as 0.0."""

MOST: Final = 6
"""Claims, and contributions, that have ids."""


def render_text(facts: object, sentences: object) -> Rendered:
    """Sentences with ``{id}`` references, filled in; what the data does not bear out is dropped.

    Args:
        facts: an explanation, the same as plain data or as JSON, or a mapping of ids to texts.
        sentences: a list of texts, a mapping with such a list ``sentences``, or JSON of either.

    Returns:
        the text, and each sentence that was dropped with its faults.

    Raises:
        InputError: they are something else.
    """
    given: Any = parsed(facts, "the facts")
    if isinstance(given, Mapping) and "schema_version" in given:
        given = Explanation.from_dict(given)
    if isinstance(given, Explanation):
        return references_of(given).render(sentences)
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            "the facts are neither an explanation nor a mapping of ids to texts",
            remedy='give an explanation, its JSON, or {"id": "text"}',
        )
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise InputError(f"the fact {visible_name(str(name))} is no text", remedy="give texts")
    return References({name: visible(text) for name, text in given.items()}).render(sentences)


def references_of(explanation: Explanation) -> References:
    """The ids of an explanation and what they print, with the names no sentence may write."""
    parts = (_ball, _chances, _claims, _contributions, _after)
    told = chain(*(part(explanation).items() for part in parts))
    texts = {name: visible(str(text)) for name, text in told if text not in (None, "")}
    rare = (thing for thing in THINGS.values() if f"p.{thing}" not in texts)
    terms = {*TERMS, *(thing.replace("_", sign) for thing in rare for sign in " -")}
    if "target" not in texts:
        terms |= {"chase", "chasing"}
    places = places_of(texts, THINGS[explanation.prediction.about])
    return References(texts, names_in(explanation), sorted(terms), places)


def references_prompt(
    explanation: Explanation, *, template: str | Path | None = None, nonce: str | None = None
) -> Prompt:
    """The prompt that asks for sentences with references.

    Args:
        template: a Jinja file in place of ``templates/cricket/references.j2``.
        nonce: the part of the fence's name that is random otherwise.

    Raises:
        InputError: the template cannot be read or rendered; one line says where.
    """
    texts = references_of(explanation).texts
    context = {
        **fenced(texts, nonce or new_nonce()),
        "references": texts,
        "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
        "story": THINGS[explanation.prediction.about],
        "supported": [
            name.removesuffix(".verdict") for name, text in texts.items() if text == "supported"
        ],
    }
    return render("cricket/references.j2", context, template)


Texts = dict[str, object]
"""What ids print; nothing of what is ``None``."""


def _ball(explanation: Explanation) -> Texts:
    """Who, where, and how the match stands."""
    ball, standing = explanation.ball, explanation.ball.standing
    given = {**explanation.match.model_dump(), **ball.model_dump()}
    told: Texts = {name: given[name] and visible_name(given[name]) for name in NAMES}
    told |= {name: given[name] for name in COUNTS}
    told |= {name: given[name] and tenths(given[name]) for name in ("required_rate", "run_rate")}
    told |= {
        "ball": ball.label and f"ball {ball.label}",
        "over": f"over {ball.over + 1}",
        "innings": INNINGS.get(ball.innings),
        "score": f"{ball.score}/{ball.wickets}",
        "free_hit": "a free hit" if ball.free_hit else None,
        "super_over": "a super over" if ball.super_over else None,
    }
    told |= {f"note{at}": flag.text for at, flag in enumerate(explanation.flags[:3], start=1)}
    if standing is None:
        return told
    bowled = f"{standing.bowler_wickets}-{standing.bowler_runs} ({standing.bowler_overs})"
    return told | {
        "phase": standing.phase,
        "batter.figures": f"{standing.batter_runs} ({standing.batter_balls})",
        "batter.runs": standing.batter_runs,
        "batter.balls": standing.batter_balls,
        "bowler.figures": bowled,
        "partnership": f"{standing.partnership_runs} ({standing.partnership_balls})",
        "over_runs": standing.over_runs,
        "latest": " ".join(standing.latest),
        "hat_trick": "a hat-trick ball" if standing.hat_trick else None,
    }


def _chances(explanation: Explanation) -> Texts:
    """The chance of each outcome, and what is usual; of the story's, how many times that is."""
    source, prediction = Source(explanation), explanation.prediction
    times, as_likely, _ = times_words(prediction.story_times or 1.0).partition(" as likely as")
    told: Texts = {
        "outcome": outcome_words(prediction.about),
        "likeliest": outcome_words(prediction.top),
        "times": as_likely and times,
        f"p.{THINGS[prediction.about]}.times": as_likely and times,
    }
    for at, entry in enumerate(prediction.outcomes):
        pointer, thing = f"/prediction/outcomes/{at}", f"p.{THINGS[entry.outcome]}"
        if entry.probability < RARE and entry.outcome not in (prediction.about, prediction.actual):
            continue
        if entry.usual is None:
            told[thing] = source.visible(f"{pointer}/probability").text
            continue
        here, usual = source.change(f"{pointer}/probability", f"{pointer}/usual")
        told |= {thing: here.text, f"{thing}.usual": usual.text}
    return told


def _claims(explanation: Explanation) -> Texts:
    """``c1``, ``c2`` ...: what was tested, of heads only what is supported."""
    source, told = Source(explanation), Texts()
    tested = [
        (at, claim)
        for at, claim in ((at, explanation.evidence[at]) for at in claims_in_order(explanation))
        if not (claim.reference or claim.verdict is None)
        and (claim.removed_from == "model" or claim.verdict == "supported")
    ]
    for number, (at, claim) in enumerate(tested[:MOST], start=1):
        change, outcome = f"/evidence/{at}/top_change", claim.top_change.outcome
        before, after = (one.text for one in source.change(f"{change}/before", f"{change}/after"))
        verb = "falls" if claim.top_change.points < 0 else "rises"
        own = outcome == explanation.prediction.about
        texts = {
            "what": _what(claim),
            "balls": plain(balls_of(source, at)) if claim.removed else None,
            "outcome": None if own else outcome_words(outcome),
            "before": before,
            "after": after,
            "move": f"{verb} from {before} to {after}" if before != after else f"stays at {before}",
            "verdict": claim.verdict,
        }
        told |= {f"c{number}.{name}": text for name, text in texts.items()}
    return told


def _what(claim: Evidence) -> str:
    if claim.head is not None:
        return f"head {head_number(claim.head)} of the {claim.scale} scale"
    told = claim.claim.replace("it attended to most", "the model looked at most")
    return told.rpartition(" (")[0] if told.endswith(")") else told


def _contributions(explanation: Explanation) -> Texts:
    """``g1``, ``g2`` ...: what adds to the story's chance, or takes from it, beside usual."""
    moves = [
        (points.points, group.group)
        for group in explanation.contributions
        for points in group.from_usual or group.points
        if points.outcome == explanation.prediction.about and abs(points.points) >= FELT
    ]
    told = Texts()
    moves.sort(key=lambda move: -abs(move[0]))
    for number, (points, group) in enumerate(moves[:MOST], start=1):
        told[f"g{number}.what"] = group if group.startswith("this") else f"the {group}"
        told[f"g{number}.points"] = f"{signed_points(points)} points"
    return told


def _after(explanation: Explanation) -> Texts:
    """What the ball brought, and who is winning."""
    source, actual, told = Source(explanation), explanation.prediction.actual, Texts()
    win, happened = explanation.win_probability, explanation.ball.happened
    if actual is not None:
        at = place_of(explanation.prediction, actual)
        chance = source.visible(f"/prediction/outcomes/{at}/probability")
        told |= {"happened": outcome_words(actual), "p.happened": chance.text}
    if happened is not None and happened.out is not None:
        told |= {"out": visible_name(happened.out), "how": happened.how}
    if win is not None and win.happened is None:
        told["win.before"] = source.visible("/win_probability/before").text
    elif win is not None:
        before, after = source.change("/win_probability/before", "/win_probability/happened")
        told |= {"win.before": before.text, "win.after": after.text}
    return told

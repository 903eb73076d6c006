"""Shares of attention in a text: of a kind of past ball, of balls, of a scale."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attnlens.explanation.attention_types import SCALES
from attnlens.explanation.grounding_clause import ONE_HEAD, Reading
from attnlens.explanation.grounding_facts import Facts, Known
from attnlens.explanation.grounding_units import Number

EARLIER_PERCENT: Final = re.compile(r"\d ?(?:%|per ?cent)", re.IGNORECASE)
EVEN: Final = re.compile(
    r"\b(?:even (?:attention|share|spread|split|look)|uniform\w*|(?:spread )?evenly|equal(?:ly)?|"
    r"flat|by chance|no preference|fair share|proportion\w*|alike|indifferent\w*|impartial\w*"
    r"|unbiased|neutral\w*|no favou?rites?|(?:the )?same (?:weight|attention|share|amount)|pro rata"
    r"|by numbers alone|on numbers alone|by headcount|even-handed\w*|at random|random\w* (?:gaze"
    r"|attention)|their number|even split|without favou?r|democratic\w*|no (?:bias|leaning))\b",
    re.IGNORECASE,
)
RELATIONS: Final = (
    ("same_over", r"(?:current|this|last) over(?!s)|over so far"),
    ("same_matchup", r"(?:this|the) bowler'?s? (?:\w+ )?(?:balls? )?to this batter"),
    ("same_bowler", r"(?:this|the) bowler'?s?\b|same[- ]bowler"),
    ("same_batsman", r"(?:this|the) (?:batter|striker|batsman)'?s?\b|same[- ]bats?(?:man|ter)"),
    ("boundary_cluster", r"clusters? of boundaries"),
    ("over_boundary", r"first and last balls of (?:an |the )?overs?"),
    ("wicket_adjacent", r"wickets and the balls (?:beside|next to)"),
    ("boundary", r"boundar(?:y|ies)\b"),
)
_AGGREGATES: Final = {
    "same_over": "last_over",
    "same_bowler": "same_bowler",
    "same_batsman": "same_batsman",
    "boundary": "boundaries",
}


_SCALE: Final = re.compile(r"\b(?:micro|short|medium|long)\b", re.IGNORECASE)
_FUSED: Final = re.compile(
    r"\b(?:prediction|fus\w+|combin\w+|blend\w*|merg\w+|mix(?:es|ed|ture)?|pool(?:s|ed|ing)?"
    r"|weigh\w+ up"
    r"|final (?:answer|figure|forecast|word|say|verdict)|of the (?:forecast|answer|output))\b",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"\b(?:micro|short|medium|long)(?:[- ](?:scale|range|term|memory|one))*(?:'s)? (?:has|had"
    r"|gets?|got|holds?"
    r"|carries|carried|contributes?|contributed|suppl(?:y|ies|ied)|accounts? for|provides?|provided"
    r"|receives?|received|commands?|claims?|enjoys?|takes?|took|is given|was given|has been given"
    r"|weighs? in|share|weight|makes? up|made up)\b",
    re.IGNORECASE,
)
_PAST_BALLS: Final = re.compile(
    r"\b(?:balls?|deliver\w+|heads?|over|boundar\w+|wickets?|attention|attends?|gaze)\b",
    re.IGNORECASE,
)


def relation_in(text: str) -> bool:
    """Whether a clause names a kind of past ball as something attention goes to."""
    return any(
        re.search(rf"\b(?:{pattern})", text, re.IGNORECASE)
        for relation, pattern in RELATIONS
        if relation != "boundary"
    )


def of_prediction(text: str) -> bool:
    """Whether a clause tells what share of the prediction comes from a scale."""
    if not _SCALE.search(text):
        return False
    if _FUSED.search(text):
        return True
    return bool(_SUBJECT.search(text)) and not _PAST_BALLS.search(text)


def shares_of_attention(
    facts: Facts, reading: Reading, before: str, after: str, number: Number
) -> list[Known]:
    """Shares of attention: of the relation that is named, of the balls, or of the "
    "prediction."""
    data, text = facts.data, reading.text
    if of_prediction(text) or re.search(r"\b(?:prediction|fusion|ball itself|carries)\b", text):
        weights = data["fusion_weights"].items()
        told = {name for name, _ in weights if re.search(rf"\b{name}\b", text)}
        return [
            Known(value, f"/fusion_weights/{name}")
            for name, value in weights
            if name in told or not told or "ball itself" in text
        ]
    scales = [scale for scale in SCALES if re.search(rf"\b{scale}\b", text)] or ["medium"]
    named = _relation(text, number) or reading.relation
    reading.relation = named
    last = not EARLIER_PERCENT.search(text[number.end :])
    if EVEN.search(before) or (last and EVEN.search(after)):
        keys = ["uniform"]
    else:
        keys = ["share"]
        if EARLIER_PERCENT.search(text[: number.start]):
            keys.append("uniform")
    known: list[Known] = []
    for scale in scales:
        pointer = f"/across_balls/{scale}"
        heat = data["across_balls"][scale]
        for at, share in enumerate(heat["shares"]):
            if share["relation"] == named or named is None:
                known += [Known(share[key], f"{pointer}/shares/{at}/{key}") for key in keys]
        for name, value in heat["aggregate_attention"].items() if "share" in keys else ():
            if named is None or _AGGREGATES.get(named) == name:
                known.append(Known(value, f"{pointer}/aggregate_attention/{name}"))
    if named is None or reading.named or ONE_HEAD.search(text):
        for scale in SCALES:
            known += _heads(facts, scale, reading)
    return known


def _relation(text: str, number: Number) -> str | None:
    """The kind of past ball that is named nearest."""
    best: tuple[int, str] | None = None
    for relation, pattern in RELATIONS:
        for match in re.finditer(rf"\b(?:{pattern})", text, re.IGNORECASE):
            gap = min(abs(match.start() - number.end), abs(number.start - match.end()))
            if best is None or gap < best[0]:
                best = gap, relation
    return None if best is None else best[1]


def _heads(facts: Facts, scale: str, reading: Reading) -> Iterator[Known]:
    heads = facts.data["across_balls"][scale]["attention_by_head"]
    wanted = {facts.history[at]["index"] for at in reading.places} if reading.named else set()
    for name, head in heads.items():
        pointer = f"/across_balls/{scale}/attention_by_head/{name}"
        for balls, weights in (("top_balls", "weights"), ("top_any", "top_any_weights")):
            chosen = [at for at, ball in enumerate(head[balls]) if not wanted or ball in wanted]
            for at in chosen:
                yield Known(head[weights][at], f"{pointer}/{weights}/{at}")
            if chosen:
                yield Known(sum(head[weights][at] for at in chosen), f"{pointer}/{weights}")
        for key in ("self_attention", "past_attention"):
            yield Known(head[key], f"{pointer}/{key}")

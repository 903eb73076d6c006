"""A "what if" in a few sentences, each number and name tied to its place in the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from attnlens.explanation.facts import (
    fine_percent,
    finest_percent,
    outcome_words,
    percent,
    resolve,
    significant,
)
from attnlens.explanation.narrative_changes import FELT

Fact = dict[str, str]
Piece = str | Fact

PATHS: Final[Mapping[str, str]] = {
    "attention": "through attention (the past balls tell their new outcomes, every scoreboard "
    "held)",
    "scoreboard": "through the scoreboard (the past balls tell what they told)",
    "together": "from the two together",
    "others": "from who plays and what is chased",
}


ALWAYS: Final = ("attention", "scoreboard")
"""The ways that are told where they gave nothing, too."""


def points(value: float) -> str:
    """``+4.9``, ``-3.6``, and ``0.0`` for what rounds to it."""
    text = f"{value:+.1f}"
    return text[1:] if text[1:] == "0.0" else text


def narrate_what_if(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Two to four sentences about an answer (its own ``narrative`` is not read).

    Returns:
        ``[{"text": sentence, "facts": [{"text": "17%", "pointer": "/outcomes/4/before"}]}]``;
        every number and name in a sentence is inside a fact, in the order of reading.
    """
    if not data["effect_nats"] and not any(map(_differs, data["changes"])):
        return [_sentence(["That is how it was: nothing is different, and nothing changes."])]
    ranked = sorted(
        range(len(data["outcomes"])), key=lambda at: -abs(data["outcomes"][at]["points"])
    )
    sentences = [_main(data, ranked[0])]
    second = ranked[1]
    if abs(data["outcomes"][second]["points"]) >= FELT:
        sentences.append(_sentence(["Next, ", *_moved(data, second), "."]))
    if data["parts"] is not None:
        sentences.append(_paths(data, ranked[0]))
    sentences.append(
        _sentence(
            [
                "The two answers are ",
                _fact(data, "/effect_nats", significant),
                " nats apart; this is what the model expects, not what would have happened.",
            ]
        )
    )
    return sentences


def _fact(data: Mapping[str, Any], pointer: str, form: Callable[[Any], str] = str) -> Fact:
    return {"text": form(resolve(data, pointer)), "pointer": pointer}


def _sentence(pieces: list[Piece]) -> dict[str, Any]:
    return {
        "text": "".join(piece if isinstance(piece, str) else piece["text"] for piece in pieces),
        "facts": [piece for piece in pieces if not isinstance(piece, str)],
    }


def _main(data: Mapping[str, Any], place: int) -> dict[str, Any]:
    clauses: list[Piece] = []
    alike = not any(map(_differs, data["changes"]))
    faced = [change["before"] for change in data["changes"] if change["kind"] == "batter"]
    for at, change in enumerate(data["changes"]):
        swapped = change["kind"] == "non_striker" and change["after"] in faced
        # Two people may have one name.
        if swapped or not (_differs(change) or alike):
            continue
        if clauses:
            clauses.append(", so " if change["follows"] else ", and ")
        clauses.append(_fact(data, f"/changes/{at}/text"))
    return _sentence(["Suppose ", *clauses, ": ", *_moved(data, place), "."])


def _differs(change: Mapping[str, Any]) -> bool:
    return bool(change["before"] != change["after"])


def _moved(data: Mapping[str, Any], place: int) -> list[Piece]:
    entry = data["outcomes"][place]
    pointer = f"/outcomes/{place}"
    outcome = _fact(data, f"{pointer}/outcome", outcome_words)
    before, after = f"{pointer}/before", f"{pointer}/after"
    for form in (percent, fine_percent, finest_percent):
        told = _fact(data, before, form), _fact(data, after, form)
        if told[0]["text"] != told[1]["text"]:
            break
    else:
        return ["the chance of ", outcome, " stays at ", _fact(data, before, fine_percent)]
    verb = "falls" if entry["points"] < 0 else "rises"
    return [
        "the chance of ",
        outcome,
        f" {verb} from ",
        told[0],
        " to ",
        told[1],
        " (",
        _fact(data, f"{pointer}/points", points),
        " points)",
    ]


def _paths(data: Mapping[str, Any], place: int) -> dict[str, Any]:
    pieces: list[Piece] = [
        "Of these ",
        _fact(data, f"/outcomes/{place}/points", points),
        " points, ",
    ]
    told = [name for name in PATHS if name in ALWAYS or _felt(data, name, place)]
    for number, name in enumerate(told):
        if number:
            pieces.append(" and " if number == len(told) - 1 else ", ")
        part = _fact(data, f"/parts/{name}/points/{place}/points", points)
        pieces += [part, " came " if not number else " ", PATHS[name]]
    return _sentence([*pieces, "."])


def _felt(data: Mapping[str, Any], name: str, place: int) -> bool:
    part = data["parts"][name]
    return part is not None and abs(part["points"][place]["points"]) >= FELT

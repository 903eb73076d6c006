"""A "what if" in a few sentences, each number and name tied to its place in the data."""

from __future__ import annotations

from attnlens.cricket.explain.types import Sentence
from attnlens.cricket.whatif.types import WhatIf
from attnlens.cricket.words.facts import (
    Part,
    Source,
    outcome_words,
    sentence,
    significant,
)
from attnlens.cricket.words.narrative import FELT
from attnlens.show.numbers import signed_points


def narrate_what_if(answer: WhatIf) -> tuple[Sentence, ...]:
    """Two or three sentences about an answer (its own ``narrative`` is not read).

    Every number and name in a sentence is inside a fact, in the order of reading.
    """
    source = Source(answer)
    if not answer.effect_nats and not any(change.differs for change in answer.changes):
        return (sentence(["That is how it was: nothing is different, and nothing changes."]),)
    ranked = sorted(
        range(len(answer.outcomes)), key=lambda place: -abs(answer.outcomes[place].points)
    )
    first, second = ranked[:2]
    changes = _changes(answer, source)
    sentences = [sentence(["Suppose ", *changes, ": ", *_moved(answer, source, first), "."])]
    if abs(answer.outcomes[second].points) >= FELT:
        sentences.append(sentence(["Next, ", *_moved(answer, source, second), "."]))
    sentences.append(
        sentence(
            [
                "The two answers are ",
                source.quote("/effect_nats", significant),
                " nats apart; this is what the model expects, not what would have happened.",
            ]
        )
    )
    return tuple(sentences)


def _changes(answer: WhatIf, source: Source[WhatIf]) -> list[Part]:
    """What is different, one clause each; all that was asked, where nothing is."""
    clauses: list[Part] = []
    alike = not any(change.differs for change in answer.changes)
    faced = [change.before for change in answer.changes if change.kind == "batter"]
    for place, change in enumerate(answer.changes):
        swapped = change.kind == "non_striker" and change.after in faced
        # Two people may have one name.
        if swapped or not (change.differs or alike):
            continue
        if clauses:
            clauses.append(", so " if change.follows else ", and ")
        clauses.append(source.quote(f"/changes/{place}/text"))
    return clauses


def _moved(answer: WhatIf, source: Source[WhatIf], place: int) -> list[Part]:
    """How the chance of an outcome changes, with as few decimals as show it."""
    pointer = f"/outcomes/{place}"
    outcome = source.quote(f"{pointer}/outcome", outcome_words)
    before, after = source.change(f"{pointer}/before", f"{pointer}/after")
    if before.text == after.text:
        return ["the chance of ", outcome, " stays at ", before]
    verb = "falls" if answer.outcomes[place].points < 0 else "rises"
    points = source.quote(f"{pointer}/points", signed_points)
    return [
        *("the chance of ", outcome, f" {verb} from ", before),
        *(" to ", after, " (", points, " points)"),
    ]

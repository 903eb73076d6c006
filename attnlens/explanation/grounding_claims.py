"""Whether a clause says of the claims it speaks of what their tests say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.grounding_clause import Reading
from attnlens.explanation.grounding_facts import Claim, Facts, Unsupported
from attnlens.explanation.grounding_verdicts import DENIED, NOT, PICTURE, SUPPORTED

CAUSE: Final = re.compile(
    r"\b(?:because|due to|thanks to|owing to|caused by|causes?|as a result of|driven by|drove"
    r"|drives|"
    r"led the model|leads the model|the reason (?:for|why|that)|which is why|that is why"
    r"|explains? why|"
    r"informing|informs?|informed|makes the model|made the model|on account of)\b",
    re.IGNORECASE,
)


# Points that groups of inputs add are how a sum is split, whatever word stands between.
_SPLIT: Final = re.compile(r"\d(?: percentage| per cent)?[ -]?p(?:oints?|p)\b", re.IGNORECASE)


def check_claims(
    reading: Reading, facts: Facts, verdicts: Sequence[tuple[str, str]], plain: str
) -> Iterator[Unsupported]:
    """Verdict words and words of cause against the verdicts of the claims."""
    for verdict, words in verdicts:
        held = reading.claims
        if verdict == NOT and any(claim.is_positive() for claim in held):
            held = [claim for claim in held if claim.verdict is not None]
        if not any(_has(claim, verdict) for claim in held) and not (
            verdict == PICTURE and not facts.claims
        ):
            yield _wrong_verdict(reading, words, plain, "verdict")
    for match in CAUSE.finditer(reading.text):
        if DENIED.search(reading.text[: match.start()]):
            continue
        claims = reading.claims
        if reading.groups and not reading.named and _SPLIT.search(reading.text):
            continue
        if reading.groups and not reading.named:
            claims = _claims_of_groups(reading, facts)
        if not any(claim.is_positive() for claim in claims):
            yield _wrong_verdict(reading, match.group(), plain, "cause", claims)


def _has(claim: Claim, verdict: str) -> bool:
    if verdict == PICTURE:
        return claim.verdict is None
    return claim.verdict != SUPPORTED if verdict == NOT else claim.verdict == verdict


def _claims_of_groups(reading: Reading, facts: Facts) -> list[Claim]:
    """The claims about what groups of contributions hold."""
    kinds: set[str] = set()
    heads: set[str] = set()
    for at in reading.groups:
        group = facts.data["contributions"][at]["group"]
        kinds |= {group} if group != "scoreboard" else {"the scoreboard", "the chase"}
        if group.startswith("this bowler"):
            heads.add("same bowler")
        if group.startswith("this batter"):
            heads.add("same batsman")
    return [claim for claim in facts.claims if claim.data["kind"] in kinds or heads & claim.names]


def _wrong_verdict(
    reading: Reading, words: str, plain: str, kind: str, claims: Sequence[Claim] | None = None
) -> Unsupported:
    held = list(reading.claims if claims is None else claims)
    # Of several the one that was tested says most.
    first = next((claim for claim in held if claim.verdict is not None), held[0] if held else None)
    nearest, pointer, problem = None, None, "no claim was tested"
    if first is not None:
        nearest = first.verdict or first.data["reason"] or "a picture, not tested"
        pointer = f"{first.pointer}/{'reason' if first.verdict is None else 'verdict'}"
        problem = "is not the verdict of its claim"
        if kind == "cause":
            problem = "tells a cause where no claim is supported"
    return Unsupported(plain, words, kind, problem, nearest, pointer)

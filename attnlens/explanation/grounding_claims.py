"""Whether a clause says of the claims it speaks of what their tests say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.grounding_clause import Reading
from attnlens.explanation.grounding_facts import Claim, Facts, Unsupported

SUPPORTED, CHANCE, CONTRADICTED = "supported", "not better than chance", "contradicted"
NOT, PICTURE = "not supported", "a picture"
_NO: Final = r"(?:not|never|n't|no|nor|neither|hardly|without|cannot)"
_VERDICTS: Final = (
    (
        CHANCE,
        rf"\b(?:{_NO}|nothing)(?: \w+){{0,3}}? (?:better|more|greater|clearer|further|beyond|above)"
        r"(?: \w+)?(?: than)?(?: \w+)? (?:chance|random|luck)\b|\b(?:could|may|might"
        r"|can) (?:\w+ )?be "
        r"(?:\w+ )?(?:chance|luck|noise)\b|\bwithin (?:chance|noise)\b|\bat chance\b|"
        r"\b(?:in|no )?distinguish\w* from (?:chance|luck|noise|random)\b|"
        r"\b(?:down to|put down to|as good as) (?:chance|luck|noise)\b"
        r"|(?<!more than )(?<!better than )\bchance (?:alone )?(?:does|would|could)\b"
        rf"|\b(?:fail(?:s|ed)?|{_NO}(?: \w+)?) (?:to )?beat (?:chance|luck)"
        r"|\b(?:possibly|mere|just|pure|perhaps|probably|likely)(?: a)? coincidence\b",
    ),
    (
        NOT,
        rf"\b(?:{_NO})(?: \w+){{0,2}}? (?:supported|support|borne out|backed|upheld|confirm\w*"
        rf"|prove[dn]?|"
        r"held up|hold up|holds up|stand up|stood up|survive|pass|bear it out|significant)\b|"
        r"\bunsupported\b|\bunproven\b|\bfail(?:s|ed)?(?: the| its| that)? (?:test|check)\b"
        r"|\bno proof\b",
    ),
    (CONTRADICTED, r"\bcontradict\w*\b|\bthe opposite of what\b"),
    (
        PICTURE,
        r"\b(?:a|only a|just a|no more than a) picture\b|\b(?:was|were|is|are)? ?(?:not|never"
        r"|un)[ -]?tested\b",
    ),
    (
        SUPPORTED,
        r"\bsupported\b|\bsupports?\b(?! act)|\bborne out\b|\bbacked (?:up|by (?:the )?(?:test"
        r"|evidence))\b|"
        r"\bback(?:s|ed)? (?:that|it|this|them) up\b|\bmore than (?:a )?coincidence\b|"
        r"\bupheld\b|\b(?:holds?|held|stands?|stood) up\b|\bsurvive[sd]?\b|"
        r"\bpass(?:es|ed)(?: the| its)? (?:test|check)\b|\b(?:better|more) than (?:chance|luck"
        r"|random)\b|"
        r"\b(?:beats?|beyond|above) (?:chance|luck)\b|\bconfirm(?:s|ed)?\b|\bprove[sdn]?\b"
        r"|\bproof\b|"
        r"\b(?:statistically )?significant\b|\bclearly matter(?:s|ed)?\b|\breally matter(?:s"
        r"|ed)?\b|"
        r"\bundoubtedly\b|\bwithout (?:a )?doubt\b|\bmade (?:a|any|the) (?:\w+ )?difference\b",
    ),
)
CAUSE: Final = re.compile(
    r"\b(?:because|due to|thanks to|owing to|caused by|causes?|as a result of|driven by|drove"
    r"|drives|"
    r"led the model|leads the model|the reason (?:for|why|that)|which is why|that is why"
    r"|explains? why|"
    r"informing|informs?|informed|makes the model|made the model|on account of)\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    rf"\b{_NO}(?: \w+){{0,2}} ?$|\bwhether(?: \w+){{0,3}} ?$|\b(?:far from|rather than|instead"
    rf" of) ?$",
    re.IGNORECASE,
)
_CANNOT: Final = re.compile(rf"\b{_NO} (?:say|tell|claim|conclude|be sure)\b", re.IGNORECASE)
_SUPPOSED: Final = re.compile(
    r"\b(?:ideas?|claims?|suggest\w*|whether|notion|hypothes[ie]s|thought|believ\w+|did|do|does|if"
    r"|evidence)\b",
    re.IGNORECASE,
)
_CALLS: Final = re.compile(
    r"\b(?:such calls?|calls? (?:like|of|at|near|by|on|hold|held|run|ran)"
    r"|where it said|came true|calibrat\w+)\b",
    re.IGNORECASE,
)


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
        if _DENIED.search(reading.text[: match.start()]):
            continue
        claims = reading.claims
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


def verdicts_in(text: str) -> list[tuple[str, str]]:
    """Verdicts that a clause gives, each with its words."""
    if _CALLS.search(text):
        return []
    found: list[tuple[int, str, str]] = []
    taken: list[tuple[int, int]] = []
    for verdict, pattern in _VERDICTS:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append((match.start(), match.end()))
            if re.search(r"\b(?:it|that|this) prove[sd]$", text[: match.end()]):
                continue  # what the ball proved to be
            if re.search(
                r"\b(?:whether|if|would be|only if|unless)(?: \w+){0,3} ?$", text[: match.start()]
            ) or ("difference" in match.group() and _SUPPOSED.search(text[: match.start()])):
                continue
            if verdict == SUPPORTED and (
                _DENIED.search(text[: match.start()])
                or ("difference" in match.group() and _CANNOT.search(text[: match.start()]))
            ):
                found.append((match.start(), NOT, match.group()))
                continue
            found.append((match.start(), verdict, match.group()))
    return [(verdict, words) for _, verdict, words in sorted(found)]

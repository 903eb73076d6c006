"""What a clause of a text speaks of: balls, claims, groups, and what it leaves unsaid."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from attnlens.explanation.grounding_facts import Claim, Facts
from attnlens.explanation.grounding_text import LABEL, NAME, Outcome, outcomes_in

HIDING: Final = re.compile(
    r"\b(?:hid(?:e|es|ing|den)|remov(?:e|es|ed|ing)|without(?! (?:any |a |the |more )?(?:context|"
    r"knowledge|information|history|clue|doubt|question|exception|support))"
    r"|tak(?:e|es|en|ing) (?!most|the most|\w+ points)[^.;,%\d]{1,40} (?:away|out)|eras\w+"
    r"|blot(?:s|ted|ting)?\b"
    r"|out of (?:view|sight)|wip(?:e|es|ed|ing)|tak(?:e|es|en|ing) (?:it|them|that|"
    r"those|these|away|out)|took (?:it|them)|mask(?:s|ed|ing)?|knock(?:ed|ing)? out|delet\w+|"
    r"strip(?:ped|ping)?|knowing nothing|kn(?:ows?|ew) nothing (?:of|about) (?!it\b|a ball|the"
    r" ball|this ball)|forget\w*|blank(?:ed|ing)?|dropp?(?:ing|ed) (?:it|them|"
    r"those|these|ball)|absent|gone(?! up| down| for| to)|cover(?:s|ed|ing)? (?:\w+ )?up|cover(?:s"
    r"|ed|ing)? (?:balls?|deliver\w+|them"
    r"|those|these|it|\d+\.\d)|removal"
    r"|absence|exclud\w*"
    r"|omit\w*|(?:left|leav\w+) (?:\w+ )?out|lose them|losing them|withh\w+|conceal\w*|obscur\w+"
    r"|(?:struck|strik(?:e|es|ing)) (?:[^;.%]{0,40} )?(?:from|off) the (?:record|book|card|list)"
    r"|blind(?:ed|ing|s)?(?: the model| it)? to|blindfold\w*|censor\w*|redact\w*|screen(?:ed"
    r"|ing)? off"
    r"|shield(?:ed|ing)? from|shut(?:s|ting)? out|black(?:ed|ing|s)? out|cross(?:ed|ing|es)? out"
    r"|rub(?:s|bed|bing)? out|(?:set|put|leav\w+|left|push\w*) aside|disregard\w*|discard\w*"
    r"|ignor\w+"
    r"|eliminat\w+|suppress(?:ing|es|ed)? (?:balls?|them|those|these|it)\b|unaware of|depriv\w+"
    r"|den(?:y|ied|ying) (?:it|them|(?:the model )?(?:sight|"
    r"knowledge|access))|denied|(?:los[et]|losing) sight of|tak(?:e|es|ing|en) (?:the )?(?:balls?"
    r"|deliver\w+)"
    r" [\d., and]+ (?:away|out)|unsee\w*|never (?:saw|seen|happened)|cut(?:s|ting)? out|edit(?:ed"
    r"|ing)? out"
    r"|scrub(?:bed|bing)?|kept (?:from|out of)|keep(?:s|ing)? back|held back|lack(?:s|ed|ing)"
    r"|tak(?:e|es|ing) out|out of the (?:picture|reckoning|equation|way)|discount(?:ed|ing|s)"
    r"|deduct\w*)\b",
    re.IGNORECASE,
)

REFERS: Final = re.compile(
    r"\b(?:it|them|they|those|these|that|this|which|hidden)\b", re.IGNORECASE
)

LOOKED: Final = re.compile(
    r"\b(?:look(?:s|ed|ing)?(?: back)?(?: most)? (?:at|to)|focus(?:es|ed|ing|sed)?|attend(?:s|ed|"
    r"ing)?|attention|point(?:s|ed)? (?:at|to)|watch(?:es|ed)|turn(?:s|ed) to|dwel(?:ls|t)|eyes?|"
    r"drew on|draws on|leans? on|leaned on|test was|weight)\b",
    re.IGNORECASE,
)

ONE_HEAD: Final = re.compile(
    r"\b(?:(?:that|this|the|one|single|its) head(?: of the model)?(?:'s)?(?: alone| only)?|head "
    r"alone|from (?:that|the|its|one) head)\b",
    re.IGNORECASE,
)

_IT: Final = re.compile(r"\W*(?:and )?(?:it|this|that|they|these|which)\b", re.IGNORECASE)

_ALONE: Final = re.compile(
    r"head alone|(?:from|in) (?:that|the|its|one|this) (?:one )?head\b|^one head|that head only|"
    r"just (?:that|this|the|one) head|single head",
    re.IGNORECASE,
)

_SCALE: Final = re.compile(
    r"\b(micro|short|medium|long)(?:[- ](?:scale|range|term|head|same|recency|window|free))"
    r"|\bscale (micro|short|medium|long)\b",
    re.IGNORECASE,
)

_HEAD: Final = re.compile(
    r"\b(recency)\b|\b(same)[- ](bowler|batsman|batter)\b|\bhead (?:number )?(\d)\b", re.IGNORECASE
)

_KINDS: Final = (
    (
        "this over",
        r"\bthis over(?:'s)?(?: so far)?(?: earlier)? ?(?:balls?)?\b|\bthe over so far\b",
    ),
    ("boundaries", r"\bthe (?:last |recent |latest )?boundar(?:y|ies)(?: at| off|,| in)"),
    ("the scoreboard", r"\b(?:scoreboard|state of (?:the )?(?:play|game|match))\b"),
    ("the chase", r"\b(?:the chase|scoreboard|state of (?:the )?(?:play|game|match))\b"),
    (
        "striker's record",
        rf"\b(?:striker|batter|batsman)'s (?:\w+ )?record\b|{NAME}'s? (?:\w+ )?record\b",
    ),
    ("bowler's record", rf"\bbowler's (?:\w+ )?record\b|{NAME}'s? (?:\w+ )?record\b"),
    ("venue and teams", r"\b(?:venue|ground) and (?:the )?(?:teams|sides)\b"),
)

GROUPS: Final = (
    ("venue and teams", r"(?:the )?(?:venue|ground)(?: and (?:the )?(?:teams|sides))?"),
    (
        "striker's record",
        rf"(?:striker|batter|batsman)'s (?:\w+ )?record|{NAME}'s? (?:\w+ )?record",
    ),
    ("bowler's record", rf"bowler's (?:\w+ )?record|{NAME}'s? (?:\w+ )?record"),
    ("scoreboard", r"scoreboard|state of (?:the )?(?:play|game|match)|match situation"),
    ("this over", r"this over(?:'s)?(?: so far)?(?: (?:earlier )?balls)?"),
    (
        "this bowler to this batter",
        rf"this bowler(?:'s)?(?: \w+)?(?: balls)? to this batter|{NAME}'s? (?:\w+ )?balls to {NAME}"
        rf"|{NAME} to {NAME}",
    ),
    (
        "this bowler's earlier balls",
        rf"(?:this|the) bowler's (?:\w+ )?(?:balls|deliveries)|{NAME}'s? (?:\w+ )?(?:balls"
        rf"|deliveries)",
    ),
    (
        "this batter's earlier balls",
        rf"(?:this|the) (?:batter|striker|batsman)'s (?:\w+ )?(?:balls|deliveries)"
        rf"|{NAME}'s? (?:\w+ )?(?:balls|deliveries)",
    ),
    ("other recent balls", r"other recent balls|(?:the )?rest of the recent balls"),
    ("earlier balls", r"\b(?:the )?(?:earlier balls|balls long past|older balls|distant past)"),
)


@dataclass
class Reading:
    """What a clause speaks of; what it leaves unsaid comes from the clause before.

    Attributes:
        places: past balls, as places in ``history``, named here or before.
        named: whether they are named here; ``twice``, those that one list has twice.
        claims: the claims it can be about.
        pinned: whether balls, a head or a kind say which.
        groups: places in ``contributions`` named here.
        relation: the kind of past ball that attention was last said to go to.
        story: every claim that was said to be of what the model looked at.
    """

    text: str
    sentence: str
    outcomes: list[Outcome] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    named: bool = False
    labels: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    pinned: bool = False
    hiding: bool = False
    looked: bool = False
    groups: list[int] = field(default_factory=list)
    outcome: str | None = None
    story: list[Claim] = field(default_factory=list)
    relation: str | None = None


def labels_in(text: str, facts: Facts) -> list[tuple[str, int, int]]:
    """Balls named by label, and where; a range from one to another as every ball between."""
    found = []
    for match in re.finditer(LABEL, text):
        before, after = text[: match.start()], text[match.end() :]
        if re.match(
            r"\s*(?:bits?|nats?|points?|percent|per cent|times|overs?\b|runs?\b|(?:an|per) over)",
            after,
        ):
            continue
        if re.search(
            r"(?:\brate(?: of| is| at|:| \w+ \w+| \w+ \w+ \w+)?|\bq|\bp|=|times|surprise(?: of)?"
            r"|[≤<>]) ?$",
            before,
        ):
            continue
        if "(" in before[-2:] and re.match(r"\s*(?:bits?|nats?|points?)", after):
            continue
        found.append((match.group(), match.start(), match.end()))
    spread = []
    for at, (label, start, end) in enumerate(found):
        spread.append((label, start, end))
        if at + 1 < len(found) and re.fullmatch(
            r" (?:to|through|up to|until) ", text[end : found[at + 1][1]]
        ):
            between = _between(label, found[at + 1][0], facts)
            spread += [(one, start, end) for one in between]
    return spread


def labels_in_lists(text: str, found: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Those of the labels in a text that stand in one list with the one before or after."""
    kept = []
    for at, one in enumerate(found):
        beside = [found[place] for place in (at - 1, at + 1) if 0 <= place < len(found)]
        gaps = [text[min(one[2], other[2]) : max(one[1], other[1])] for other in beside]
        if any(re.fullmatch(r",? ?(?:and |or )?", gap) for gap in gaps):
            kept.append(one)
    return kept


def _between(first: str, last: str, facts: Facts) -> list[str]:
    places = [facts.labels.get(label, [None])[0] for label in (first, last)]
    if None in places or places[0] >= places[1]:  # type: ignore[operator]
        return []
    return [facts.history[at]["label"] for at in range(places[0] + 1, places[1])]  # type: ignore[operator,arg-type]


def read_clause(text: str, sentence: str, facts: Facts, last: Reading | None) -> Reading:
    """What a clause speaks of, given the clause before."""
    reading = Reading(text, sentence, outcomes_in(text))
    found = labels_in(text, facts)
    reading.labels = list(dict.fromkeys(label for label, _, _ in found))
    told = [label for label, start, end in labels_in_lists(text, found)]
    reading.twice = [label for label in reading.labels if told.count(label) > 1]
    reading.named = bool(found)
    if found:
        reading.places = [at for label in reading.labels for at in facts.labels.get(label, ())]
    elif last is not None:
        reading.places = last.places
    reading.looked = bool(LOOKED.search(text))
    reading.hiding = bool(HIDING.search(text))
    reading.groups = groups_in(text, facts)
    claims, pinned = claims_in(text, reading, facts)
    if not pinned and last is not None and not reading.groups:
        claims, pinned = last.claims, last.pinned
        goes_on = last.sentence is sentence or REFERS.search(text)
        reading.hiding = reading.hiding or (last.hiding and bool(goes_on))
    reading.claims, reading.pinned = claims, pinned
    if not reading.groups and last is not None and last.sentence is sentence and _IT.match(text):
        reading.groups = last.groups
    reading.outcome = _topic(reading, last)
    reading.story = [] if last is None else list(last.story)
    reading.relation = None if last is None else last.relation
    if reading.looked and pinned:
        reading.story += claims
    return reading


def _topic(reading: Reading, last: Reading | None) -> str | None:
    expected = [one.outcome for one in reading.outcomes if one.expected]
    if expected:
        return expected[-1]
    if reading.outcomes:
        return reading.outcomes[-1].outcome
    return None if last is None else last.outcome


def groups_in(text: str, facts: Facts) -> list[int]:
    """Groups of contributions that are named; a name tells the batter's from the bowler's."""
    where = {group["group"]: at for at, group in enumerate(facts.data["contributions"])}
    found: list[int] = []
    taken: list[tuple[int, int]] = []
    # A name's owner tells the batter's from the bowler's; longer patterns go first.
    order = sorted(GROUPS, key=lambda entry: entry[0] != "this bowler to this batter")
    for group, pattern in order:
        for match in re.finditer(rf"(?:{pattern})", text, re.IGNORECASE):
            if any(match.start() < end and start < match.end() for start, end in taken) and not (
                re.search(NAME, match.group())
            ):
                continue
            owner = re.match(NAME, match.group())
            if owner and not _owns(owner.group(), group, facts):
                continue
            if group == "earlier balls" and any(s <= match.start() < e for s, e in taken):
                continue
            if group in where and where[group] not in found:
                found.append(where[group])
                taken.append((match.start(), match.end()))
    return found


def _owns(sign: str, group: str, facts: Facts) -> bool:
    """Whether a group that somebody is named for is his: the bowler's, or the batter's."""
    if group in ("bowler's record", "this bowler's earlier balls"):
        return sign in facts.signs["bowler"] or sign not in facts.signs["batter"]
    if group in ("striker's record", "this batter's earlier balls"):
        return sign in facts.signs["batter"] or sign not in facts.signs["bowler"]
    return True


def claims_in(text: str, reading: Reading, facts: Facts) -> tuple[list[Claim], bool]:
    """Claims that fit what a clause names, and whether it names anything that tells them."""
    chosen, pinned = facts.claims, False

    def narrowed(fits: list[Claim]) -> None:
        nonlocal chosen, pinned
        if fits:
            chosen, pinned = fits, True

    if reading.named:
        places = set(reading.places)
        same = [claim for claim in chosen if set(claim.balls) == places]
        narrowed(same or [claim for claim in chosen if places and places <= set(claim.balls)])
        if not pinned and len(places) > 1:
            most = max((len(places & set(claim.balls)) for claim in chosen), default=0)
            if 2 * most >= len(places):
                narrowed([claim for claim in chosen if len(places & set(claim.balls)) == most])
    scales = {(match[1] or match[2]).lower() for match in _SCALE.finditer(text)}
    if scales:
        narrowed([claim for claim in chosen if claim.data["scale"] in scales])
    heads = {
        f"head {match[4]}" if match[4] else "recency" if match[1] else f"same {match[3].lower()}"
        for match in _HEAD.finditer(text)
    }
    heads = {"same batsman" if name == "same batter" else name for name in heads}
    if heads:
        narrowed([claim for claim in chosen if heads & claim.names])
    if not reading.named and not heads:
        kinds = [kind for kind, pattern in _KINDS if re.search(pattern, text, re.IGNORECASE)]
        owners = set(re.findall(rf"({NAME})'s? (?:\w+ )?record", text))
        for kind, role in (("striker's record", "batter"), ("bowler's record", "bowler")):
            if owners and kind in kinds and not owners & facts.signs[role]:
                kinds.remove(kind)
        if kinds:
            narrowed([claim for claim in chosen if claim.data["kind"] in kinds])
    if pinned:
        alone = [claim for claim in chosen if claim.of_head]
        others = [claim for claim in chosen if not claim.of_head]
        only = _ALONE.search(text) and "from the model" not in reading.sentence
        chosen = (alone or others) if only else (others or alone)
    return chosen, pinned

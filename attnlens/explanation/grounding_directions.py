"""Words of direction in a text: does what is said to raise a chance raise it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attnlens.explanation.grounding_clause import HIDING, Reading, groups_in
from attnlens.explanation.grounding_compared import check_compared
from attnlens.explanation.grounding_facts import Facts, Known, Unsupported
from attnlens.explanation.grounding_points import groups_beside
from attnlens.explanation.grounding_units import numbers_in

_UP: Final = re.compile(
    r"\b(?:rais(?:e|es|ed|ing)|lift(?:s|ed|ing)?|increas(?:e|es|ed|ing)|boost(?:s|ed|ing)?"
    r"|rises?|rose|"
    r"rising|climb(?:s|ed|ing)?|grow(?:s|ing)?|grew|goes up|went up|jump(?:s|ed)?|push(?:es|ed"
    r"|ing)? up|"
    r"adds?|added|adding|helps?|bolster(?:s|ed)?|inflat(?:es?|ed)|swells?|strengthens?|nudg(?:es?"
    r"|ed)"
    r" up|gain(?:s|ed|ing)?(?= (?:of )?(?:about |around |some )?\d)|warm(?:s|ed|ing)? to(?:wards)?"
    r"|points? (?:are|is|were|was|have been|has been|get|gets) (?:put|added|piled|heaped|tacked"
    r"|stuck"
    r"|loaded) (?:on|onto|to)|(?:puts?|putting|piles?|heaps?|tacks?|sticks?|loads?) (?:another "
    r"|an extra"
    r" |some |about )?[\d.]+ (?:percentage )?points? (?:on|onto|to)|enlarg(?:es?|ed)|widens"
    r"|advances?"
    r"|points? (?:towards?|onto) (?=an? |the )|shorten(?:s|ed)|contribut(?:es?|ed)(?= \d)"
    r"|improv(?:es?|ed|ing)|soar(?:s|ed)?|surg(?:es?|ed)|leap(?:s|t|ed)?|buoy(?:s|ed)|enhanc(?:es?"
    r"|ed)"
    r"|(?:bump|nudge|jolt|uptick|upswing|swell|fillip|premium|surplus)(?= of \d)|augment(?:s|ed)"
    r"|up)\b",
    re.IGNORECASE,
)
_DOWN: Final = re.compile(
    r"\b(?:lower(?:s|ed|ing)|lower (?=the|its|a)|cuts?|cutting|reduc(?:e|es|ed|ing)|drop(?:s|ped"
    r"|ping)?|"
    r"falls?|fell|falling|decreas(?:e|es|ed|ing)|shrinks?|shrank|trim(?:s|med)?"
    r"|takes? (?:\w+ )?away|"
    r"took away|hold(?:s|ing)? (?:\w+ ){0,3}down|held (?:\w+ ){0,3}down|pull(?:s|ed"
    r"|ing)? (?:\w+ ){0,3}down|"
    r"drag(?:s|ged)?(?: \w+){0,3} down|dent(?:s|ed)?|erod(?:es?|ed)|depress(?:es|ed)?|suppress(?:es"
    r"|ed)?|damp(?:s|ens|ened)|hurts?|curbs?|weakens?|diminish(?:es|ed)?|eats? into|ate into"
    r"|shav(?:es?|ed)|goes down|went down|slip(?:s|ped)?|sinks?|dips?|costs?"
    r"|(?:loss|los(?:es?|ing)|lost|sheds?|shedding|forfeits?|surrenders?)(?= (?:of )?(?:about "
    r"|around"
    r" |some )?\d+(?:\.\d+)?[ -]?(?:%|p))|cool(?:s|ed|ing)? (?:on|towards)|rob(?:s"
    r"|bed)?(?= (?:\w+ ){1,3}of)"
    r"|points? (?:are|is|were|was|have been|has been|get|gets) (?:taken|knocked|shaved|lopped"
    r"|trimmed"
    r"|cut|docked|chopped|subtracted|deducted|removed|clipped|sliced|stripped|lost|shed) (?:off"
    r"|from"
    r"|away)|(?:takes?|taking|knocks?|lops?|docks?|chops?|subtracts?|deducts?|clips?|slices?"
    r"|strips?"
    r"|saps?) (?:another |an extra |some |about )?[\d.]+ (?:percentage )?points? (?:off|from|away"
    r"|out"
    r" of)|points? (?:away from|off|out of)(?! (?:the |its )?(?:norm|baseline|usual|average|pace"
    r"|target|lead))"
    r"|drift(?:s|ed)?(?: out)?(?= to| from)|declin(?:es?|ed|ing)|tumbl(?:es?|ed)|plung(?:es?|ed)"
    r"|plummet(?:s|ed)?|slid(?:es?)?|reced(?:es?"
    r"|ed)|dwindl(?:es?|ed)|deflat(?:es?|ed)|squeez(?:es?|ed)|subdu(?:es?|ed)|wan(?:es|ed)|ebb(?:s"
    r"|ed)"
    r"|(?:slide|slump|shortfall|deficit|discount|hit)(?= of \d)|lessens?|lessened"
    r"|down)\b",
    re.IGNORECASE,
)
_OTHER_WAY: Final = re.compile(
    r"\b(?:the other way|the opposite way|in the (?:opposite|other) direction|in reverse|to the"
    r" contrary|the opposite direction)\b",
    re.IGNORECASE,
)
_BY_ITSELF: Final = re.compile(
    r"^ (?:of |by )?(?:about |around |some )?\d+(?:\.\d+)? ?(?:%|per ?cent"
    r"|(?:percentage )?points?\b)(?! (?:on"
    r"|onto|to|off|from|for)\b)",
    re.IGNORECASE,
)
_BEFORE_IT: Final = re.compile(r"(?P<number>[\d.]+) (?:percentage )?points? $", re.IGNORECASE)
_SPOKE: Final = re.compile(
    r"\b(?:spoke|speaks?|argued?|argues|pointed|(?<!\d )points) (for|against|towards?)\b",
    re.IGNORECASE,
)
_LIKELIER: Final = re.compile(
    r"\b(more|less) (?:likely|probable|prone|inclined|apt|expected|common|frequent|bullish"
    r"|optimistic|confident|hopeful|keen)\b"
    r"|\b(likelier|commoner|scarcer|rarer)\b|\b(high|higher|raised|low|lower|reduced) chance\b|"
    r"\b(above|below|over|under|up on|down on|ahead of|short of|shy of|north of|south of|in"
    r" excess of"
    r"|beyond|clear of) (?:the |its |their |that |what (?:is|was) )?(?:baseline|usual|average|norm"
    r"|default)|\b(over-represented|under-represented)\b|"
    r"\b(outstrips|exceeds|tops|beats|surpasses|trails|undershoots|lags behind|lags) (?:the |its "
    r"|that )?"
    r"(?:baseline|usual|average|norm|default)|"
    r"\b(higher|lower|more|less|greater|smaller)[ -]than\b",
    re.IGNORECASE,
)
_UP_WORDS: Final = frozenset(
    [
        *(
            "more",
            "likelier",
            "commoner",
            "high",
            "higher",
            "raised",
            "above",
            "over",
            "greater",
            "up on",
        ),
        *("ahead of", "north of", "in excess of", "beyond", "clear of", "over-represented"),
        *("outstrips", "exceeds", "tops", "beats", "surpasses"),
    ]
)
_THAN_USUAL: Final = re.compile(
    r"\b(?:usual(?:ly)?|baseline|average|normal(?:ly)?|norm|default|knows nothing|historical"
    r"|customary|than most|stands? out"
    r"|otherwise)\b",
    re.IGNORECASE,
)
_NOT: Final = re.compile(
    r"\b(?:not|never|n't|nothing|neither|nor|hardly|no)(?: \w+){0,3} ?$", re.IGNORECASE
)
_IDLE: Final = re.compile(
    r"^up (?:to|until|against|from \d|for)(?! \d)|^over\b|^down (?:to luck|to chance|for)|^added"
    r"|^adding",
    re.IGNORECASE,
)
_TAKEN: Final = re.compile(
    r"^(?:takes?|took|drop(?:s|ped|ping)?|cuts?|cutting) (?:\w+ )?(?:away |out )?(?:the |those "
    r"|these )?"
    r"(?:balls?\b|deliver\w+|them\b|it\b|that\b|\d+\.\d(?![\d%]| (?:percentage )?points?)|$)",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(r"^up from [\d.]+ ?(?:%|per ?cent)? to\b", re.IGNORECASE)
_PHRASE: Final = re.compile(
    r"\b(?:end(?:s|ed)?|turn(?:s|ed)?|lin(?:es?|ed)|sets?|back(?:s|ed)?|sum(?:s|med)?|ma[dk]es?"
    r"|open(?:s"
    r"|ed)?|follow(?:s|ed)?|steps?|stepped|shows?|showed|giv(?:es?|en)|gave|picks?|picked"
    r"|catch(?:es)?"
    r"|caught|keeps?|kept|look(?:s|ed)?|settl(?:es?|ed)|sen[dt]s?|slow(?:s|ed)?|boil(?:s|ed)?"
    r"|tak(?:es|en)"
    r"|took|com(?:es?|ing)|came|put|has|had|have|that|this|it|them) (?:up|down)$",
    re.IGNORECASE,
)
_FROM_BASE: Final = re.compile(
    r"(?:(?: of| by)? [\d.]+ ?(?:percentage )?points?)? (?:from|on|against|over) (?:an? |its |the"
    r" |their )?(?:baseline|usual"
    r"|average|norm\b|normal)",
    re.IGNORECASE,
)
_MOVE: Final = re.compile(r" (?:by |to |from )?(?:about |around |some )?\d")
_HIDDEN_UP: Final = re.compile(r"\bcover(?:s|ed|ing)? (?:\w+ )?up$", re.IGNORECASE)
_EITHER_WAY: Final = re.compile(r"\b(?:up or down|down or up)\b", re.IGNORECASE)
_MOST: Final = re.compile(
    r"\b(?:most|biggest|largest|greatest|strongest|the main)\b", re.IGNORECASE
)


class Directions:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def check(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        for up, match in self._directions(reading.text):
            yield from self._one(reading, up, match, plain)
        yield from self._likelier(reading, plain)
        yield from self._spoken(reading, plain)
        yield from check_compared(reading, self._facts, plain)

    def _directions(self, text: str) -> list[tuple[bool, re.Match[str]]]:
        found = [(True, match) for match in _UP.finditer(text)]
        found += [(False, match) for match in _DOWN.finditer(text)]
        kept: list[tuple[bool, re.Match[str]]] = []
        for up, match in sorted(found, key=lambda one: one[1].start()):
            if match.group().lower() == "up" and _HIDDEN_UP.search(text[: match.end()]):
                continue
            if _EITHER_WAY.search(text[max(0, match.start() - 9) : match.end() + 9]):
                continue
            after = text[match.start() :]
            if _NOT.search(text[: match.start()]) or (
                _IDLE.match(after) and not _SPAN.match(after)
            ):
                continue
            if _PHRASE.search(text[: match.end()]) and not _MOVE.match(text[match.end() :]):
                continue
            if re.match(
                r"(?:wickets? |\d+ |\w+ wickets? )?down\b", match.group(), re.IGNORECASE
            ) and re.search(
                r"(?:\d|wickets?|two|three|four|five|six|seven|eight|nine) $", text[: match.start()]
            ):
                continue
            if _TAKEN.match(text[match.start() :]):
                continue
            # "Holds a single down" is one direction, not two.
            if kept and match.start() < kept[-1][1].end():
                continue
            kept.append((up, match))
        for match in _OTHER_WAY.finditer(text):
            earlier = [one for one in kept if one[1].end() <= match.start()]
            if earlier:
                kept.append((not earlier[-1][0], match))
        return kept

    def _one(
        self, reading: Reading, up: bool, match: re.Match[str], plain: str
    ) -> Iterator[Unsupported]:
        text = reading.text
        pair = [number for number in numbers_in(text[match.end() :]) if number.unit == "%"][:2]
        joined = re.search(r"\bfrom\b[^.;]*\bto\b|\bto\b[^.;]*\bfrom\b", text[match.end() :])
        if len(pair) == 2 and joined:
            first, second = (one.value for one in pair)
            if joined.group().startswith("to"):
                first, second = second, first
            if first != second and (second > first) != up:
                yield self._wrong(match.group(), plain, up, None)
            return
        outcome = self._outcome(reading, match)
        if outcome is None:
            return
        known = self._change(reading, outcome, text, match) or self._since(reading, outcome, match)
        if known and not any(_goes(one.value, up) for one in known):
            yield self._wrong(match.group(), plain, up, known[0])
        elif _MOST.search(text[match.start() :]) and reading.groups and not reading.hiding:
            yield from self._most(reading, up, match, outcome, plain)

    def _outcome(self, reading: Reading, match: re.Match[str]) -> str | None:
        """The outcome that is moved: named after the word, else before it, else before that."""
        after = [one for one in reading.outcomes if one.start >= match.start()]
        before = [one for one in reading.outcomes if one.end <= match.start()]
        if before and (
            _BY_ITSELF.match(reading.text[match.end() :]) or _OTHER_WAY.fullmatch(match.group())
        ):
            return before[-1].outcome
        expected = [one for one in (*after, *reversed(before)) if one.expected]
        chosen = (after or list(reversed(before)))[:1] or expected
        if chosen:
            return chosen[0].outcome
        return reading.outcome

    def _change(
        self, reading: Reading, outcome: str, text: str, match: re.Match[str]
    ) -> list[Known]:
        """The changes that are meant, in points; none where nothing tells which."""
        hidden = HIDING.search(text) or (
            HIDING.search(reading.sentence) and not reading.groups and reading.pinned
        )
        if reading.hiding and hidden and (reading.pinned or reading.named):
            known = [
                Known(claim.change(outcome), f"{claim.pointer}/changes") for claim in reading.claims
            ]
            places = set(reading.places)
            if reading.named and len(places) == 1 and outcome != "boundary":
                place = next(iter(places))
                entries = self._facts.history[place]["changes"]
                known += [
                    Known(entry["points"], f"/history/{place}/changes")
                    for entry in entries
                    if entry["outcome"] == outcome
                ]
            return known
        groups = groups_in(text[: match.start()], self._facts)
        after = groups_in(text[match.start() :], self._facts)
        beside = groups_beside(self._facts, text, match.start())
        groups = beside or groups[-2:] or after[:2] or reading.groups
        if groups and not HIDING.search(text):
            return [self._facts.points(at, outcome) for at in groups]
        if reading.pinned and reading.named and not reading.hiding:
            return [
                Known(-claim.change(outcome), f"{claim.pointer}/changes")
                for claim in reading.claims
            ]
        return []

    def _since(self, reading: Reading, outcome: str, match: re.Match[str]) -> list[Known]:
        """The change from the baseline, where a chance is said to have come to what it is."""
        if reading.hiding or reading.pinned:
            return []
        now, base = self._facts.chance(outcome), self._facts.chance(outcome, "baseline")
        came = re.match(
            r"(?: \w+ly)? (?:to|at) (?:about |around )?(?=[\d.]+ ?(?:%|per))",
            reading.text[match.end() :],
        )
        by = re.match(
            r"(?: by| of)? (?:about |around )?(?=[\d.]+ ?-?(?:p|per))", reading.text[match.end() :]
        )
        after = numbers_in(reading.text[match.end() :])
        if _FROM_BASE.match(reading.text[match.end() :]):
            return [Known(100 * (now.value - base.value), now.pointer)]
        if not after or not (came or by):
            return []
        told = 100 * now.value if after[0].unit == "%" else 100 * (now.value - base.value)
        if not after[0].fits(told):
            return []
        return [Known(100 * (now.value - base.value), now.pointer)]

    def _most(
        self, reading: Reading, up: bool, match: re.Match[str], outcome: str, plain: str
    ) -> Iterator[Unsupported]:
        count = len(self._facts.data["contributions"])
        every = [self._facts.points(at, outcome).value for at in range(count)]
        best = every.index(max(every) if up else min(every))
        # Of several groups only the one beside the word is said to do most.
        near = groups_in(reading.text[: match.start()], self._facts) or reading.groups
        if best not in near and best not in reading.groups[:2]:
            group = self._facts.data["contributions"][best]["group"]
            yield Unsupported(
                plain,
                match.group(),
                "direction",
                f"is not what {'adds' if up else 'takes away'} most",
                group,
                f"/contributions/{best}/group",
            )

    def _likelier(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        for match in _LIKELIER.finditer(reading.text):
            if _NOT.search(reading.text[: match.start()]):
                continue
            word = next(part for part in match.groups() if part).lower()
            up = word in _UP_WORDS
            if reading.hiding or reading.groups:
                continue
            if not _THAN_USUAL.search(reading.text) and not match[3]:
                continue
            outcome = self._outcome(reading, match)
            if outcome is None:
                continue
            now, base = self._facts.chance(outcome), self._facts.chance(outcome, "baseline")
            if not _goes(now.value - base.value, up):
                known = Known(100 * (now.value - base.value), now.pointer)
                yield self._wrong(match.group(), plain, up, known)

    def _spoken(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        for match in _SPOKE.finditer(reading.text):
            story = reading.story or (reading.claims if reading.pinned else [])
            claims = [claim for claim in story if claim.is_positive()] or story
            if _NOT.search(reading.text[: match.start()]):
                continue
            up = match[1].lower() != "against"
            after = [one.outcome for one in reading.outcomes if one.start >= match.end()]
            before = [one.outcome for one in reading.outcomes if one.end <= match.start()]
            named = [*after[:1], *before[-1:]]
            outcome = named[0] if named else reading.outcome
            if outcome is None:
                continue
            known = [Known(-claim.change(outcome), f"{claim.pointer}/changes") for claim in claims]
            if known and not any(_goes(one.value, up) for one in known):
                yield self._wrong(match.group(), plain, up, known[0])

    def _wrong(self, words: str, plain: str, up: bool, known: Known | None) -> Unsupported:
        nearest = None
        if known is not None:
            nearest = f"{known.value:+.1f} points"
        problem = f"is the wrong way: it goes {'down' if up else 'up'}"
        return Unsupported(
            plain, words, "direction", problem, nearest, None if known is None else known.pointer
        )


def _goes(value: float, up: bool) -> bool:
    """Whether a change goes that way; one that is next to nothing goes either way."""
    return abs(value) < 5e-4 or (value > 0) == up

"""Counts in a text of balls, runs and wickets, against the balls that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.grounding_clause import Reading, labels_in
from attnlens.explanation.grounding_facts import BOUNDARY, Facts, Unsupported
from attnlens.explanation.grounding_happened import NOUNS
from attnlens.explanation.grounding_text import COUNT, LABEL, LABELS, whole

_SOME: Final = re.compile(
    rf"\b({COUNT}) (wickets|boundaries|fours|sixes|dots|dot balls|singles)\b(?! (?:down|in hand"
    rf"|left))",
    re.IGNORECASE,
)
_OF: Final = re.compile(
    rf"\b({COUNT}|all|both|none|each|every one|half) of (?:the|those|these|its|his|her|them)?"
    rf" ?(?:last |past |earlier )?({COUNT})?\b",
    re.IGNORECASE,
)
_SLASH: Final = re.compile(
    r"(?<![\d.])(\d{1,2})/(\d{1,2})(?= (?:were|was|of|balls|boundar|went|fours|sixes|dots))"
)
_OFF_THE: Final = re.compile(
    rf"\b({COUNT}) (runs?|wickets?|boundar(?:y|ies)|fours|sixes|dots?|dot balls?|singles) "
    rf"(?:off|from|in|came off|scored off|among) (?:the|those|these|his|its|her|last"
    rf"|them)?(?: last)? ?"
    rf"({COUNT})?(?![\d.%])",
    re.IGNORECASE,
)
_THESE: Final = re.compile(rf"{LABEL}|\b(?:these|those|them|which)\b", re.IGNORECASE)
_SMALL: Final = re.compile(
    r"(?<!last )(?<!head )\b(zero|two|three|four|five|six|none|one (?=of|went|was|brought"
    r"|boundary))"
    r"\b(?! (?:runs?|overs?|points?|percent|wickets? down|bits?|nats?|heads?|claims?|scales?"
    r"|times))",
    re.IGNORECASE,
)
_REST: Final = re.compile(
    r"\b(?:not|no|never|others?|rest|remaining|neither|didn't|wasn't|weren't|without|except|but"
    r"|only)"
    r"\b",
    re.IGNORECASE,
)
_THE_BALLS: Final = re.compile(
    rf"\b(?!one\b|1\b)({COUNT}) (?:(?!of\b|heads?\b|claims?\b|scales?\b)\w+ ){{0,3}}(?:balls"
    rf"|deliveries)"
    rf"(?:(?: (?!of\b|off\b|from\b|before\b|after\b|until\b|since\b|to\b"
    rf"|ago\b)[a-z']+){{0,6}}[,:(-]?"
    rf" ?(?:\(|at |namely |were |are )?) ?\(?(?P<list>{LABELS})",
    re.IGNORECASE,
)
_ALL: Final = re.compile(rf"\ball ({COUNT})\b(?! (?:of|runs|wickets|heads|scales))", re.IGNORECASE)
_FURTHER: Final = re.compile(r",? (?:and|to|through)\b")
_MOMENTUM: Final = re.compile(
    rf"({COUNT}) runs? in (?:the )?last ({COUNT}) attended", re.IGNORECASE
)
_WICKETS: Final = re.compile(
    rf"\b({COUNT})(?: \w+)? (?:wickets? (?:(?:are|were|have) )?(?:down|fallen|lost|gone|already)"
    rf"|down\b)|"
    rf"\b(?:lost|for the loss of) ({COUNT}) wickets?|\b({COUNT}) wickets? (?:in hand|left"
    rf"|remaining|standing)",
    re.IGNORECASE,
)


class Tallies:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def check(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """Every count of a clause; ``told`` takes in the outcomes that were counted."""
        text = reading.text
        for match in _MOMENTUM.finditer(text):
            if match.group().lower() not in self._facts.data["summary"].lower():
                yield Unsupported(
                    plain, match.group(), "count", "is not in the summary",
                    self._facts.data["summary"] or None, "/summary",
                )  # fmt: skip
            return
        for match in _SLASH.finditer(text):
            if f"{match.group()} were" not in self._facts.data["summary"]:
                yield from self._count(
                    reading, plain, match.group(), int(match[1]), int(match[2]), BOUNDARY
                )
            told.update(range(len(reading.outcomes)))
        yield from self._all(reading, plain)
        yield from self._listed(reading, plain)
        yield from self._of_them(reading, plain, told)
        yield from self._off_them(reading, plain, told)
        yield from self._some(reading, plain, told)
        yield from self._wickets(text, plain, reading, told)
        yield from self._loose(reading, plain, told)

    def _listed(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """ "The three balls 6.1, 6.2 and 6.4"."""
        text = reading.text
        for match in _THE_BALLS.finditer(text):
            listed = {label for label, _, _ in labels_in(match["list"], self._facts)}
            if whole(match[1]) != len(listed) > 0 and not _FURTHER.match(text[match.end() :]):
                yield Unsupported(
                    plain, match.group(), "count", "is not how many balls there are",
                    str(len(listed)), None,
                )  # fmt: skip

    def _of_them(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """ "Two of the four were dots"."""
        for match in _OF.finditer(reading.text):
            kind = self._kind_beside(reading, match.start(), match.end(), told)
            if match[1].lower() in ("each", "half") or (kind is None and match[2] is None):
                continue
            size = whole(match[2]) if match[2] else None
            number = self._number(match[1], size, reading)
            if number is not None:
                yield from self._count(reading, plain, match.group().strip(), number, size, kind)

    def _off_them(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """ "Seven runs off the last four"."""
        for match in _OFF_THE.finditer(reading.text):
            noun = match[2].lower()
            size = whole(match[3]) if match[3] else None
            told |= self._outcomes_in(match, reading)
            if size is None and not reading.places:
                continue
            if noun.startswith("run"):
                yield from self._runs(reading, plain, match.group(), whole(match[1]), size)
            else:
                kind = self._kind_of(noun)
                yield from self._count(reading, plain, match.group(), whole(match[1]), size, kind)

    def _some(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """ "Two boundaries", in a clause that names several balls."""
        if not reading.named or len(set(reading.places)) < 2:
            return
        for match in _SOME.finditer(reading.text):
            told_here = self._outcomes_in(match, reading)
            if told_here and not told_here & told:
                told |= told_here
                kind = self._kind_of(match[2].lower())
                yield from self._count(reading, plain, match.group(), whole(match[1]), None, kind)

    def _outcomes_in(self, match: re.Match[str], reading: Reading) -> set[int]:
        """Which of a clause's outcomes begin in a match."""
        return {
            rank
            for rank, one in enumerate(reading.outcomes)
            if match.start() <= one.start < match.end()
        }

    def _all(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """ "Hiding all four" of the balls that a text is about."""
        size = len(set(reading.places))
        for match in _ALL.finditer(reading.text) if reading.hiding and size else ():
            if whole(match[1]) != size:
                problem = "is not how many balls there are"
                yield Unsupported(plain, match.group(), "count", problem, str(size), None)

    def _loose(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """Small counts in other words, in a clause about several balls and what came of them.

        Whatever its words, a count there is of the balls, or of those that brought one of the
        outcomes named, or did not.
        """
        sets = [one for one in self._sets(reading, None) if len(one) > 1]
        kinds = {
            rank: one.outcome
            for rank, one in enumerate(reading.outcomes)
            if not one.expected and rank not in told
        }
        listed = re.search(LABEL, reading.sentence)
        about = bool(listed or _THESE.search(reading.text)) and len(set(reading.places)) > 1
        if not kinds or not sets or not about:
            return
        known = {len(one) for one in sets}
        for one in sets:
            for kind in kinds.values():
                count = sum(self._facts.is_outcome(at, kind) for at in one)
                known.add(count)
                if _REST.search(reading.text):
                    known.add(len(one) - count)
        for match in _SMALL.finditer(reading.text):
            if any(one.start <= match.start() < one.end for one in reading.outcomes):
                continue
            told.update(kinds)
            number = 0 if match[1].lower() == "none" else whole(match[1].strip())
            if number not in known:
                true = sum(self._facts.is_outcome(at, next(iter(kinds.values()))) for at in sets[0])
                yield Unsupported(
                    plain, match[1], "count", "is not how many of these balls", str(true),
                    f"/history/{sets[0][0]}/outcome",
                )  # fmt: skip

    def _kind_of(self, noun: str) -> str:
        """The outcome that a noun counts."""
        kind = {"w": "W", "b": BOUNDARY, "f": "4", "d": "0"}.get(noun[0])
        return kind or ("6" if noun.startswith("six") else "1")

    def _number(self, text: str, size: int | None, reading: Reading) -> int | None:
        low = text.lower()
        if low in ("all", "both", "every one"):
            return size if size is not None else len(set(reading.places)) or None
        return 0 if low == "none" else whole(low)

    def _kind_beside(self, reading: Reading, start: int, end: int, told: set[int]) -> str | None:
        """The outcome that a count is of: "boundaries off two of the three", "two of four were "
        "dots"."""
        best: tuple[int, int] | None = None
        for rank, one in enumerate(reading.outcomes):
            if one.expected:
                continue
            gap = one.start - end if one.start >= end else start - one.end
            between = reading.text[min(one.end, end) : max(one.start, start)]
            if (
                0 <= gap <= 24
                and not re.search(r"[;.]|\d", between)
                and (best is None or gap < best[0])
            ):
                best = gap, rank
        if best is None:
            return None
        told.add(best[1])
        return reading.outcomes[best[1]].outcome

    def _sets(self, reading: Reading, size: int | None) -> list[Sequence[int]]:
        """The sets of balls that a count can be of."""
        sets: list[Sequence[int]] = []
        if reading.places:
            sets.append(list(dict.fromkeys(reading.places)))
        if not reading.named:
            sets += [claim.balls for claim in reading.claims if claim.balls and reading.pinned]
        if not sets:
            sets += [sorted(one) for one in self._facts.looked_at]
        return [one for one in sets if size is None or len(one) == size]

    def _count(
        self,
        reading: Reading,
        plain: str,
        said: str,
        number: int,
        size: int | None,
        kind: str | None,
    ) -> Iterator[Unsupported]:
        sets = self._sets(reading, size)
        if re.search(r"\b(?:claims?|tests?|heads?|groups?|cautions?)\b", reading.text) and not kind:
            return
        if not sets:
            true = len(set(reading.places)) or None
            yield Unsupported(
                plain, said, "count", "is not how many balls there are",
                None if true is None else str(true),
                None if not reading.claims else f"{reading.claims[0].pointer}/removed",
            )  # fmt: skip
            return
        if kind is None:
            if size is not None and number > size:
                yield Unsupported(plain, said, "count", "is more than there are", str(size), None)
            return
        counts = [sum(self._facts.is_outcome(at, kind) for at in one) for one in sets]
        if number not in counts:
            place = sets[0][0]
            yield Unsupported(
                plain, said, "count", f"is not how many were {NOUNS[kind].removeprefix('a ')}",
                str(counts[0]), f"/history/{place}/outcome",
            )  # fmt: skip

    def _runs(
        self, reading: Reading, plain: str, said: str, number: int, size: int | None
    ) -> Iterator[Unsupported]:
        sets = self._sets(reading, size)
        sums = [sum(self._facts.history[at]["runs"] for at in one) for one in sets]
        needed = self._facts.ball["runs_required"]
        if number in sums or (number == needed and size == self._facts.ball["balls_left"]):
            return
        pointer = f"/history/{sets[0][0]}/runs" if sets else None
        nearest = str(sums[0]) if sums else None
        yield Unsupported(plain, said, "count", "is not how many runs came", nearest, pointer)

    def _wickets(
        self, text: str, plain: str, reading: Reading, told: set[int]
    ) -> Iterator[Unsupported]:
        down = self._facts.ball["wickets"]
        for match in _WICKETS.finditer(text):
            if any(one.start <= match.start(1) < one.end for one in reading.outcomes):
                continue  # "holds a four down"
            number = whole(match[1] or match[2] or match[3])
            told |= self._outcomes_in(match, reading)
            true = 10 - down if match[3] else down
            if number != true:
                yield Unsupported(
                    plain,
                    match.group(),
                    "count",
                    "is not how many wickets",
                    str(true),
                    "/ball/wickets",
                )

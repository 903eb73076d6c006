"""Past balls in a text: do they exist, are they the ones looked at, did they bring what is said?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.grounding_claims import CAUSE
from attnlens.explanation.grounding_clause import Reading, labels_in
from attnlens.explanation.grounding_facts import BOUNDARY, Facts, Unsupported
from attnlens.explanation.grounding_happened import AMONG, EVERY, NOUNS, Happened, not_so
from attnlens.explanation.grounding_text import COUNT, LABEL, NAME, Outcome, whole

_LIST: Final = rf"{LABEL}(?:(?:,| and|, and| or)(?: balls?)? ?{LABEL})*"
_AT: Final = re.compile(
    rf"^(?: ball)?(?:,? (?:off |from |by |to |for |against )?{NAME})*,? (?:at|off|on|from|in"
    rf"|with|came (?:at|off|on)|fell (?:at|on|off|to))"
    rf"(?: the)?(?: balls?| deliver(?:y|ies))? ?({_LIST})",
    re.IGNORECASE,
)
_WAS: Final = re.compile(
    rf"({_LIST})(?: balls?)?(?:,| \(| -|:| were| was| both| all| brought| went for| yielded"
    rf"| produced| "
    rf"saw| is| are| gave| had| cost|,? which (?:was|were|brought|went for)|,? each"
    rf"|,? {NAME}(?: (?:conceded|bowled|hit|struck|took|got|gave(?: up)?|made|faced|had|saw))?"
    rf"| to)*"
    r"(?: (?:both|all|each|every one))*(?: a| an| the)? ?$",
    re.IGNORECASE,
)
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
HIDES: Final = re.compile(
    rf"\b(?:hid(?:e|es|ing)|remov(?:e|es|ing)|without|tak(?:e|ing) away|mask(?:s|ing)?|hidden)"
    rf"(?: away)?(?: the)?(?: balls?| deliveries)? {LABEL}",
    re.IGNORECASE,
)
LABEL_OR_THESE: Final = re.compile(rf"{LABEL}|\b(?:these|those|them|which)\b", re.IGNORECASE)
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
    rf"\bthe ({COUNT}) (?:\w+ )?(?:balls|deliveries)(?: at|,|:| were| \()? ?(?P<list>{_LIST})",
    re.IGNORECASE,
)
_ALL: Final = re.compile(rf"\ball ({COUNT})\b(?! (?:of|runs|wickets|heads|scales))", re.IGNORECASE)
_FURTHER: Final = re.compile(r",? (?:and|to|through)\b")
_CHANCE: Final = re.compile(r" (?:at |about |around )?[\d.]+ ?(?:%|per ?cent)")
_MOMENTUM: Final = re.compile(
    rf"({COUNT}) runs? in (?:the )?last ({COUNT}) attended", re.IGNORECASE
)
_COUNTED: Final = re.compile(
    rf"\b{COUNT}(?: of (?:the|those|these) {COUNT}(?: were| was)?)? ?$", re.IGNORECASE
)
_OFF_SOME: Final = re.compile(rf"^ (?:off|from|in) {COUNT} of\b", re.IGNORECASE)
_WICKETS: Final = re.compile(
    rf"\b({COUNT})(?: \w+)? (?:wickets? (?:(?:are|were|have) )?(?:down|fallen|lost|gone|already)"
    rf"|down\b)|"
    rf"\b(?:lost|for the loss of) ({COUNT}) wickets?|\b({COUNT}) wickets? (?:in hand|left"
    rf"|remaining|standing)",
    re.IGNORECASE,
)


class Balls:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._happened = Happened(facts)

    def check(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """Everything that a clause says of balls; ``plain`` is its sentence as it was written."""
        told: set[int] = set()
        yield from self._events(reading, plain, told)
        yield from self._labels(reading, plain, bool(told))
        yield from self._counts(reading, plain, told)
        yield from self._happened.check(reading, plain, told)

    # -- which balls ---------------------------------------------------------------------------

    def _labels(self, reading: Reading, plain: str, events: bool) -> Iterator[Unsupported]:
        unknown = [
            label
            for label in reading.labels
            if label not in self._facts.labels and label != self._facts.ball["label"]
        ]
        for label in unknown:
            near = self._nearest(label)
            yield Unsupported(
                plain,
                label,
                "ball",
                "is no ball before this one",
                None if near is None else self._facts.history[near]["label"],
                None if near is None else f"/history/{near}/label",
            )
        for label in reading.twice:
            at = self._facts.labels.get(label, [None])[0]
            pointer = None if at is None else f"/history/{at}/label"
            yield Unsupported(plain, label, "ball", "is named twice in one list", None, pointer)
        if reading.named and reading.places and not unknown:
            yield from self._together(reading, plain, events)

    def _together(self, reading: Reading, plain: str, events: bool) -> Iterator[Unsupported]:
        """Whether the balls named are among those that something was found out about."""
        several = len(reading.labels) > 2 and not events
        if not (reading.looked or reading.hiding or CAUSE.search(reading.text) or several):
            return
        places = frozenset(reading.places)
        if len(places) == 1 and self._facts.history[next(iter(places))]["changes"]:
            return  # each of these was hidden alone
        pinned = [frozenset(claim.balls) for claim in reading.claims] if reading.pinned else []
        allowed = pinned or self._facts.looked_at
        if any(places <= one for one in allowed) or any(
            places <= one for one in self._facts.looked_at
        ):
            fits = not pinned or any(places <= one for one in pinned) or len(places) == 1
            # Only what was hidden together can be told of hiding it together.
            apart = len(places) > 1 and bool(HIDES.search(reading.text)) and places not in pinned
            if fits and not apart:
                return
        best = max(allowed, key=lambda one: (len(one & places), -len(one)), default=frozenset())
        strange = sorted(places - best)
        if not strange:
            told = [self._facts.history[at]["label"] for at in sorted(places)]
            claim = next((one for one in reading.claims if frozenset(one.balls) == best), None)
            yield Unsupported(
                plain,
                ", ".join(told),
                "ball",
                "were not hidden without others",
                ", ".join(self._facts.history[at]["label"] for at in sorted(best)),
                None if claim is None else f"{claim.pointer}/removed",
            )
            return
        spare = sorted(best - places, key=lambda at: abs(at - strange[0]))
        near = spare[0] if spare else None
        yield Unsupported(
            plain,
            ", ".join(self._facts.history[at]["label"] for at in strange),
            "ball",
            "is not among the balls that this was about",
            None if near is None else self._facts.history[near]["label"],
            None if near is None else f"/history/{near}/label",
        )

    def _nearest(self, label: str) -> int | None:
        """The past ball whose label is nearest."""

        def number(text: str) -> float:
            over, _, ball = text.partition(".")
            return float(over) + float(ball or 0) / 100 if (over + ball).isdigit() else 0.0

        history = self._facts.history
        if not history:
            return None
        return min(
            range(len(history)), key=lambda at: abs(number(history[at]["label"]) - number(label))
        )

    # -- what came of them ---------------------------------------------------------------------

    def _events(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        text = reading.text
        for rank, one in enumerate(reading.outcomes):
            after = _AT.match(text[one.end :])
            before = _WAS.search(text[: one.start])
            if (one.expected and not after) or _CHANCE.match(text[one.end :]):
                continue
            if after and not re.match(r"\s?%", text[one.end + after.end() :]):
                labels = after[1]
            elif before and self._of_each(text, before, one):
                labels = before[1]
            else:
                continue
            told.add(rank)
            for label, _, _ in labels_in(labels, self._facts):
                places = self._facts.labels.get(label, [])
                if places and not any(self._facts.is_outcome(at, one.outcome) for at in places):
                    yield not_so(self._facts, places[0], label, one, text, plain)

    def _of_each(self, text: str, before: re.Match[str], one: Outcome) -> bool:
        """Whether an outcome is said of every ball before it, and not counted among them."""
        if AMONG.match(text[one.end :]) or _OFF_SOME.match(text[one.end :]):
            return False
        if _COUNTED.search(text[: one.start]):
            return False
        several = len(labels_in(before[1], self._facts)) > 1
        return not several or one.plural or bool(EVERY.search(text[: one.start]))

    # -- how many ------------------------------------------------------------------------------

    def _counts(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
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
        for match in _THE_BALLS.finditer(text):
            listed = {label for label, _, _ in labels_in(match["list"], self._facts)}
            if whole(match[1]) != len(listed) > 0 and not _FURTHER.match(text[match.end() :]):
                yield Unsupported(
                    plain, match.group(), "count", "is not how many balls there are",
                    str(len(listed)), None,
                )  # fmt: skip
        for match in _OF.finditer(text):
            kind = self._kind_beside(reading, match.start(), match.end(), told)
            if match[1].lower() in ("each", "half") or (kind is None and match[2] is None):
                continue
            size = whole(match[2]) if match[2] else None
            number = self._number(match[1], size, reading)
            if number is not None:
                yield from self._count(reading, plain, match.group().strip(), number, size, kind)
        for match in _OFF_THE.finditer(text):
            noun = match[2].lower()
            size = whole(match[3]) if match[3] else None
            for rank, one in enumerate(reading.outcomes):
                if match.start() <= one.start < match.end():
                    told.add(rank)
            if size is None and not reading.places:
                continue
            if noun.startswith("run"):
                yield from self._runs(reading, plain, match.group(), whole(match[1]), size)
            else:
                kind = self._kind_of(noun)
                yield from self._count(reading, plain, match.group(), whole(match[1]), size, kind)
        for match in _SOME.finditer(text) if len(set(reading.places)) > 1 and reading.named else ():
            told_here = {
                rank
                for rank, one in enumerate(reading.outcomes)
                if match.start() <= one.start < match.end()
            }
            if told_here and not told_here & told:
                told |= told_here
                kind = self._kind_of(match[2].lower())
                yield from self._count(reading, plain, match.group(), whole(match[1]), None, kind)
        yield from self._wickets(text, plain, reading, told)
        yield from self._loose(reading, plain, told)

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
        about = bool(listed or LABEL_OR_THESE.search(reading.text)) and len(set(reading.places)) > 1
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
            for rank, one in enumerate(reading.outcomes):
                if match.start() <= one.start < match.end():
                    told.add(rank)
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

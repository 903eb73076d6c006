"""Past balls in a text: do they exist, are they the ones looked at, did they bring what is said?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attnlens.explanation.grounding_claims import CAUSE
from attnlens.explanation.grounding_clause import Reading, labels_in
from attnlens.explanation.grounding_facts import Facts, Unsupported
from attnlens.explanation.grounding_happened import AMONG, EVERY, Happened, not_so
from attnlens.explanation.grounding_tallies import Tallies
from attnlens.explanation.grounding_text import COUNT, LABEL, LABELS, NAME, Outcome

_AT: Final = re.compile(
    rf"^(?: ball)?(?:,? (?:off |from |by |to |for |against )?{NAME})*,? (?:at|off|on|from|in"
    rf"|with|came (?:at|off|on)|fell (?:at|on|off|to))"
    rf"(?: the)?(?: balls?| deliver(?:y|ies))? ?({LABELS})",
    re.IGNORECASE,
)
_WAS: Final = re.compile(
    rf"({LABELS})(?: balls?)?(?:,| \(| -|:| were| was| both| all| brought| went for| yielded"
    rf"| produced| "
    rf"saw| is| are| gave| had| cost|,? which (?:was|were|brought|went for)|,? each"
    rf"|,? {NAME}(?: (?:conceded|bowled|hit|struck|took|got|gave(?: up)?|made|faced|had|saw))?"
    rf"| to)*"
    r"(?: (?:both|all|each|every one))*(?: a| an| the)? ?$",
    re.IGNORECASE,
)
HIDES: Final = re.compile(
    rf"\b(?:hid(?:e|es|ing)|remov(?:e|es|ing)|without|tak(?:e|ing) away|mask(?:s|ing)?|hidden)"
    rf"(?: away)?(?: the)?(?: balls?| deliveries)? {LABEL}",
    re.IGNORECASE,
)
_CHANCE: Final = re.compile(r" (?:at |about |around )?[\d.]+ ?(?:%|per ?cent)")
_COUNTED: Final = re.compile(
    rf"\b{COUNT}(?: of (?:the|those|these) {COUNT}(?: were| was)?)? ?$", re.IGNORECASE
)
_OFF_SOME: Final = re.compile(rf"^ (?:off|from|in) {COUNT} of\b", re.IGNORECASE)


class Balls:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._tallies = Tallies(facts)
        self._happened = Happened(facts)

    def check(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """Everything that a clause says of balls; ``plain`` is its sentence as it was written."""
        told: set[int] = set()
        yield from self._events(reading, plain, told)
        yield from self._labels(reading, plain, bool(told))
        yield from self._tallies.check(reading, plain, told)
        yield from self._happened.check(reading, plain, told)

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

"""What balls brought, in a text: this one, a past one, all of several; and the likeliest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.attention_types import OUTCOMES
from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.explanation.grounding_clause import Reading
from attnlens.explanation.grounding_facts import BOUNDARY, Facts, Unsupported
from attnlens.explanation.grounding_text import LABEL, NAME, Outcome

_BROUGHT: Final = re.compile(
    r"(?:(?:\b(?:the ball|it|this ball|this one|the delivery|s?he|they|"
    r"what (?:came|happened|followed)|reality|history|fate|real life|the (?:scorer|scorebook|book"
    r"|truth"
    r"|upshot|next ball|game|match|umpire)|"
    rf"the (?:result|outcome|answer))|{NAME})(?: in the end| in fact| actually| then| duly"
    rf"| itself)? "
    r"(?:brought|was|went|delivered|served up|threw up|handed over|recorded|entered|noted|showed"
    r"|finished (?:as|in)|fetched|cost|turned out(?: to be)?|ended (?:in|as|up as|with)"
    r"|resulted in|went for"
    r"|produced|"
    r"yielded|came(?: out)? as|proved(?: to be)?|became|gave|hit|struck|took|got|made|played out)"
    r"|\bin (?:the event|fact|reality),?|\bwhat happened (?:was|:)|\bactually(?:,| was)?|"
    r"\bin the end(?:,| it was)?|\bas it (?:was|turned out|happened),?(?: it was)?|"
    r"\bhappened:)(?: just| only| indeed| out)?(?: an?)? ?$",
    re.IGNORECASE,
)
_CAME: Final = re.compile(
    r"^,? (?:is|was|were|are) what (?:came|happened|followed|we got|it was|it brought)\b",
    re.IGNORECASE,
)
_TOP_BEFORE: Final = re.compile(
    r"\b(?:likeliest|most likely|most probable|favou?rite|likeliest single|top|(?:nothing|no other "
    r"outcome|no outcome|none)(?: \w+){0,3} (?:likelier|more (?:likely|probable))|best bet|safest"
    r" bet"
    r"|first choice|money (?:is|goes) on|nod goes to|vote goes to|plumps? for|front-?runner"
    r"|(?:main|chief|first|leading) (?:expectation|call|pick|outcome"
    r"|candidate))\b[^.;,()]{0,40}$",
    re.IGNORECASE,
)
_TOP_AFTER: Final = re.compile(
    r"^(?: \([^)]*\)| at [\d.]+ ?%|, at [\d.]+ ?%,?)*(?: is| was| remains| as| seems)?(?: still)?"
    r"(?: the| its)? ?(?:likeliest|most likely|most probable|favou?rite|top (?:outcome|call"
    r"|pick)|best bet|safest bet|first choice|front-?runner|leads? the (?:list|way|field|pack)"
    r"|tops? "
    r"(?:the|its) (?:list|table|chart)|heads the (?:list|table)|(?:main|chief|first|leading) "
    r"(?:expectation|call|pick|outcome|candidate))\b",
    re.IGNORECASE,
)
_NONE: Final = re.compile(
    r"\b(?:no|none(?: of them)?(?: was| were)?(?: an?)?|not one|without an?) ?$", re.IGNORECASE
)
EVERY: Final = re.compile(
    r"\b(?:all|both|each|every one|every)(?: of (?:them|these|those|which))?(?: were| was| are"
    r"| being)?"
    r"(?: of them)?(?: an?)? ?$",
    re.IGNORECASE,
)
AMONG: Final = re.compile(r"^ (?:among|amongst|in) (?:them|these|those|it)\b", re.IGNORECASE)
_ALONE_AFTER: Final = re.compile(
    r"\b(?:in the (?:event|end)|as it (?:turned out|happened|was)|what (?:came|happened|followed)"
    r"|the"
    r" (?:result|outcome|upshot|answer)|came next|sure enough|duly|in (?:fact|reality)|actually)\b",
    re.IGNORECASE,
)
_ONLY_IT: Final = re.compile(r"\b(?:only|nothing but|none but)(?: an?| the)? ?$", re.IGNORECASE)
_IS_ABOVE: Final = re.compile(
    r"^ (?:is|was|gets?|ranks?|rates?|has|stands|sits|comes?|being"
    r"|rated)\b[^.;,]{0,24}\b(?:likelier|more"
    r" (?:likely|probable)|higher|ahead|above|better|bigger|larger)\b",
    re.IGNORECASE,
)
_BUT_ONE: Final = re.compile(
    r"^ (?:outranks|beats|heads|leads|tops|is ahead of|is likelier than|outstrips) (?:everything"
    r"|all|the"
    r" (?:rest|field)|every(?: other)? \w+|the others) (?:but|except|bar|save)\b|^ (?:trails?"
    r"|follows?|is behind"
    r"|ranks? behind|sits behind) (?:only|just)\b|^ (?:comes (?:in )?(?:a \w+ )?|is "
    r"|ranks )second\b",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(r"\W*(?:an?|the|just|only)?\s*", re.IGNORECASE)
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|n't|nothing|without|instead|unlike|expect\w*|after|before|since|until)\b",
    re.IGNORECASE,
)
_THIS: Final = re.compile(r"\b(?:this|the|today's) (?:ball|one|time|delivery)\b", re.IGNORECASE)
_ALIKE: Final = 0.005
_ALTERNATIVE: Final = re.compile(
    r"\b(?:alternatives?|rivals?|challengers?|competitors?|other than|apart from|aside from|besides"
    r"|bar (?:an?|the)|setting aside|next[- ]best|next likeliest|next most likely|runner-?up"
    r"|second[- ](?:likeliest|favou?rite|most|choice|best)|closest (?:to|challenger|rival))\b",
    re.IGNORECASE,
)
_RIVAL: Final = re.compile(
    r"\b(?:(?:alternative|rival|challenger|competitor|runner-?up|second|closest|next) (?:to|of"
    r"|behind"
    r"|after)|other than|apart from|aside from|besides|bar|setting aside|behind|after)(?: an?"
    r"| the)?"
    r" ?$",
    re.IGNORECASE,
)

NOUNS: Final = {**OUTCOME_WORDS, BOUNDARY: "a boundary"}


class Happened:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def check(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        text = reading.text
        prediction = self._facts.data["prediction"]
        for rank, one in enumerate(reading.outcomes):
            before, after = text[: one.start], text[one.end :]
            if _TOP_BEFORE.search(before) or _TOP_AFTER.match(after):
                top = prediction["top"]
                if not self._ranked(one.outcome, text, before):
                    yield Unsupported(
                        plain, text[one.start : one.end], "outcome", "is not the likeliest outcome",
                        NOUNS[top], "/prediction/top",
                    )  # fmt: skip
                continue
            if _ONLY_IT.search(before) and _IS_ABOVE.match(after):
                yield from self._not_first(one, text, plain, 0)
                continue
            if _BUT_ONE.match(after):
                yield from self._not_first(one, text, plain, 1)
                continue
            if rank in told or one.expected:
                continue
            if self._alone(reading, one):
                before = "in the end, "
            came = _BROUGHT.search(before) and not re.match(
                r" of the time|'s| (?:about |around |a |an )?[\d.]+ ?(?:%|per)", after
            )
            if came and re.search(LABEL, before) and len(set(reading.places)) == 1:
                continue  # told of that ball
            if came or _CAME.match(after):
                actual = prediction["actual"]
                if self._of_one(reading, one):
                    continue
                if actual is None or not _same(one.outcome, actual):
                    yield Unsupported(
                        plain, text[one.start : one.end], "outcome",
                        "is not what happened" if actual else "has not happened: no ball was "
                        "bowled",
                        None if actual is None else NOUNS[actual], "/prediction/actual",
                    )  # fmt: skip
                continue
            places = list(dict.fromkeys(reading.places))
            if not places and reading.pinned:
                places = list(reading.claims[0].balls)
            if not places:
                continue
            wrong = self._wrong_one(one, places, before, after)
            if wrong is not None:
                label = self._facts.history[wrong]["label"]
                yield not_so(self._facts, wrong, label, one, text, plain)
        yield from self._lone(reading, plain, told)
        yield from self._surprising(reading, plain, told)

    def _wrong_one(
        self, one: Outcome, places: Sequence[int], before: str, after: str
    ) -> int | None:
        """The ball of which an outcome is said wrongly: of every one, of none, of one of them."""
        were = [at for at in places if self._facts.is_outcome(at, one.outcome)]
        if EVERY.search(before):
            return next((at for at in places if at not in were), None)
        if _NONE.search(before):
            return were[0] if were else None
        return places[0] if AMONG.match(after) and not were else None

    def _lone(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """One past ball and one outcome in a clause that tells of neither chances nor tests."""
        text, places = reading.text, list(dict.fromkeys(reading.places))
        past = [one for rank, one in enumerate(reading.outcomes) if not one.expected]
        if len(places) != 1 or len(past) != 1 or len(reading.outcomes) != 1 or 0 in told:
            return
        alone = bool(_ONLY.fullmatch(text[: past[0].start])) and text[past[0].end :] in (
            "",
            ".",
            "!",
        )
        if not (reading.named or alone) or reading.hiding or reading.looked or _DENIED.search(text):
            return
        if re.search(r"\d ?(?:%|per ?cent|points?)|\b(?:chance|likel\w+|because|due)\b", text):
            return
        if self._facts.is_outcome(places[0], past[0].outcome):
            return
        actual = self._facts.data["prediction"]["actual"] or ""
        if _THIS.search(text) and _same(past[0].outcome, actual):
            return
        label = self._facts.history[places[0]]["label"]
        yield not_so(self._facts, places[0], label, past[0], text, plain)

    def _surprising(self, reading: Reading, plain: str, told: set[int]) -> Iterator[Unsupported]:
        """A surprise is at what happened: that is among the outcomes told beside it."""
        actual = self._facts.data["prediction"]["actual"]
        beside = [
            one
            for rank, one in enumerate(reading.outcomes)
            if rank not in told and not one.expected
        ]
        if (
            not beside
            or reading.named
            or actual is None
            or not re.search(r"\bbits?\b", reading.text)
        ):
            return
        if any(_same(one.outcome, actual) for one in reading.outcomes):
            return
        said = reading.text[beside[0].start : beside[0].end].strip()
        yield Unsupported(
            plain, said, "outcome", "is not what happened", NOUNS[actual], "/prediction/actual"
        )

    def _of_one(self, reading: Reading, one: Outcome) -> bool:
        """Whether the one past ball that a sentence names brought an outcome."""
        places = set(reading.places)
        if len(places) != 1:
            return False
        place = next(iter(places))
        named = self._facts.history[place]["label"] in reading.sentence
        return named and self._facts.is_outcome(place, one.outcome)

    def _alone(self, reading: Reading, one: Outcome) -> bool:
        """Whether an outcome is all that a clause says, after one that leads up to it."""
        alone = _ONLY.fullmatch(reading.text[: one.start]) and not reading.text[one.end :].strip(
            " .!"
        )
        at = reading.sentence.rfind(reading.text)
        return bool(alone and at > 0 and not reading.places) and bool(
            _ALONE_AFTER.search(reading.sentence[:at])
        )

    def _not_first(self, one: Outcome, text: str, plain: str, rank: int) -> Iterator[Unsupported]:
        """An outcome that is said to be the likeliest, or the second, and is not."""
        chances = sorted((self._facts.chance(each).value for each in OUTCOMES), reverse=True)
        if abs(self._facts.chance(one.outcome).value - chances[rank]) <= _ALIKE:
            return
        problem = f"is not the {'second ' if rank else ''}likeliest outcome"
        top = self._facts.data["prediction"]["top"]
        nearest = None if rank else NOUNS[top]
        pointer = None if rank else "/prediction/top"
        yield Unsupported(plain, text[one.start : one.end], "outcome", problem, nearest, pointer)

    def _ranked(self, outcome: str, text: str, before: str) -> bool:
        """Whether an outcome has the rank it is given: "the likeliest alternative to a single"."""
        if _RIVAL.search(before):
            return self._leads(outcome, "")
        if _ALTERNATIVE.search(text):
            chances = sorted((self._facts.chance(one).value for one in OUTCOMES), reverse=True)
            return abs(self._facts.chance(outcome).value - chances[1]) <= _ALIKE
        return self._leads(outcome, text)

    def _leads(self, outcome: str, text: str) -> bool:
        """Whether an outcome is the likeliest, or whatever a sentence says it is among them.

        Two that print alike lead together.
        """
        if re.search(r"\b(?:third|less|fourth|last|one of)\b", text, re.IGNORECASE):
            return True
        chances = sorted((self._facts.chance(one).value for one in OUTCOMES), reverse=True)
        second = re.search(r"\b(?:second|next|runner)\b", text, re.IGNORECASE)
        told = self._facts.chance(outcome).value
        first = told >= chances[0] - _ALIKE
        return first or bool(second and told >= chances[1] - _ALIKE)


def not_so(
    facts: Facts, place: int, label: str, one: Outcome, text: str, plain: str
) -> Unsupported:
    """A past ball did not bring what is said of it."""
    said = f"{text[one.start : one.end].strip()} at {label}"
    true = facts.history[place]["outcome"]
    return Unsupported(
        plain,
        said,
        "outcome",
        "is not what that ball brought",
        NOUNS[true],
        f"/history/{place}/outcome",
    )


def _same(said: str, true: str) -> bool:
    return said == true or (said == BOUNDARY and true in ("4", "6"))

"""Numbers in a text, each with its unit, against the values that its words can mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attnlens.explanation.attention_types import OUTCOMES, SCALES
from attnlens.explanation.grounding_attention import (
    EARLIER_PERCENT,
    EVEN,
    of_prediction,
    relation_in,
    shares_of_attention,
)
from attnlens.explanation.grounding_clause import Reading
from attnlens.explanation.grounding_facts import BOUNDARY, Facts, Known, Unsupported
from attnlens.explanation.grounding_fractions import HEDGE, Fraction, fractions_in
from attnlens.explanation.grounding_lists import in_turn
from attnlens.explanation.grounding_points import points_of
from attnlens.explanation.grounding_rounded import fits
from attnlens.explanation.grounding_units import (
    NATS,
    NUMERAL,
    ODDS,
    PERCENT,
    POINTS,
    TIMES,
    Number,
    number_of,
    numbers_in,
    written,
)

_ODDS: Final = re.compile(
    rf"\b(?P<name>q|p)(?:[- ]value)?(?: of| was| is| at"
    rf"|:)? ?(?P<sign>[=<≤~]?) ?(?P<number>{NUMERAL})(?![%\d])"
)
_BASE_WORDS: Final = (
    r"start(?:ed|s) (?:out )?(?:at|from|on)|open(?:ed|ing) (?:at|price)|historical(?:ly)?"
    r"|customar(?:y|ily)|going rate"
    r"|long-run|background rate|stock (?:figure|price)|as a rule|"
    r"baseline|usual(?:ly)?|normal(?:ly)?|typical(?:ly)?|ordinar(?:y|ily)|average|norm|default|"
    r"par|starting (?:point|from)|in general|generally|otherwise|knowing nothing|knows nothing|"
    r"nothing known|known nothing|told nothing|no knowledge|blank|prior|would have (?:said|given"
    r"|been)|without (?:any |a |the |more )?(?:context|knowledge|information|history|clue)"
)
_AGAINST: Final = re.compile(
    rf"\b(?:against|versus|vs\.?|than|compared (?:with|to)|base(?: of)?|instead of|rather than|not|"
    rf"(?:up|down) from|from an?|{_BASE_WORDS})\b(?:(?!\b(?:now|here)\b)[^.;:]){{0,44}}$",
    re.IGNORECASE,
)
_AFTER_BASE: Final = re.compile(
    rf"^[^.;,\d]{{0,32}}\b(?:for a ball (?:about|of) which|expected|{_BASE_WORDS})\b", re.IGNORECASE
)
_CALLS: Final = re.compile(
    r"\b(?:such calls?|calls? (?:like|of|at|near|by|on|hold|held|run|ran|are|were|came)"
    r"|(?:forecasts?|predictions?|calls?|estimates?|probabilities|figures|quotes) (?:in"
    r"|within) (?:this"
    r"|that|the same) (?:range|band|region|bracket|neighbourhood|bin|bucket|zone|class)"
    r"|(?:forecasts?|predictions?|estimates?|figures) (?:like|such as) (?:this|that|these)"
    r"|come[s]? true|comes? off|came off|come to pass|materialis\w+|prov(?:ed|en|es) (?:right"
    r"|correct)"
    r"|on (?:such|similar|comparable|like) occasions|of (?:cases|occasions)|reliab\w+|came true"
    r"|of the time|calibrat\w+|where it said|on record|"
    r"track record|observed|in practice|forecasts? (?:of|at|near|like)|when (?:it|the model) "
    r"(?:says?|said|gives?|gave)|such (?:a )?(?:balls?|forecasts?|predictions?))\b",
    re.IGNORECASE,
)
_ATTENTION: Final = re.compile(
    r"\b(?:attention|attend\w*|weights?|weighs?|focus\w*|share|looked|looking|carries|carried"
    r"|gaze)\b",
    re.IGNORECASE,
)
_CHANCE_WORDS: Final = re.compile(
    r"\b(?:chances?|probabilit\w+|likel\w+|odds|P\(|risk|expects?|hid\w*|removing|without them"
    r"|baseline)",
    re.IGNORECASE,
)
_BASE: Final = re.compile(rf"\b(?:{_BASE_WORDS})\b", re.IGNORECASE)
_PLAIN_BASE: Final = re.compile(
    r"\b(?:baseline|usual|normal|typical|average|norm|default|context|prior)", re.IGNORECASE
)
_SETTLED: Final = re.compile(
    rf"\b(?:(?:against|versus|vs\.?)(?: an?| the| about| some)?|(?:{_BASE_WORDS})"
    rf"(?: of| is| was| at| being|:)*) ?$",
    re.IGNORECASE,
)
_SUPPOSED: Final = re.compile(
    r"\b(?:would|could|might|where|but|though|whereas|while|only|just|than|from)\b[^.;:%]{0,44}$",
    re.IGNORECASE,
)
_REMOVED: Final = re.compile(
    r"\b(?:hid\w*|remov\w+|mask\w*|it|them|they|those|these|that|which|balls|deliveries)\b",
    re.IGNORECASE,
)
_NOTICE: Final = re.compile(r"\b(?:attention|attend\w*|weights?|focus\w*|gaze)\b", re.IGNORECASE)
_SCALE: Final = re.compile(r"\b(?:micro|short|medium|long)\b", re.IGNORECASE)
_OF_TOP: Final = re.compile(
    r"\b(?:favou?rite|leader|front-?runner|likeliest|top (?:outcome|call|pick))'s ?$", re.IGNORECASE
)
_TOGETHER: Final = re.compile(
    r"\b(?:between them|together|combined|jointly|in total|put together|add(?:s|ed|ing)? up"
    r"|the two of them"
    r"|the pair|taken as one)\b",
    re.IGNORECASE,
)
_ON_AVERAGE: Final = re.compile(r"\bon average|\bmean\b|\baverag", re.IGNORECASE)
_OF_CHANCE: Final = re.compile(
    r"^ ?(?:of|in) (?:(?:all|the|total|overall|whole) ){0,2}(?:probabilit|chances?\b|likelihood"
    r"|distribution)",
    re.IGNORECASE,
)
_OF_ATTENTION: Final = re.compile(
    r"^ ?(?:of|in) (?:(?:all|its|the|that|this|model's|total|overall) ){0,3}(?:attention|weight"
    r"|focus|gaze)\b",
    re.IGNORECASE,
)
_INTERVAL: Final = re.compile(
    r"95[ -]?(?:%|per ?cent) (?:interval|confidence|CI)|95% ci", re.IGNORECASE
)


_SURPRISE: Final = re.compile(r"\bsurpris|\binformation\b", re.IGNORECASE)
_RATED: Final = re.compile(r"(?:,? ?(?:at|is|was|to|from|stands at|comes? out at|had|:|\()? ?)")
_NEXT_BASE: Final = re.compile(
    rf"\b(?:{_BASE_WORDS})(?: of| is| was| at| being|:)? ?$", re.IGNORECASE
)
_MOVED: Final = re.compile(
    r"\b(?:from|to|at|not|rather than|instead of)\b[^.;]{0,30}$", re.IGNORECASE
)
_INSTEAD: Final = re.compile(
    r"\b(?:rather than|instead of|as opposed to|in place of|not|against|compared (?:with|to)|down"
    r" from|up from|from|than|"
    r"(?:having|had) (?:earlier |previously )?(?:been|stood|sat)(?: on| at)?|previously|formerly"
    r"|originally|beforehand|it (?:was|had been|stood at)|where (?:it|there) (?:was|had been)"
    r"|(?<!% )with (?:it|them|those|that|which)(?: in)?,?)(?: the)? ?$",
    re.IGNORECASE,
)
_BECOMES: Final = re.compile(
    r"\b(?:to|would be|becomes?|(?<!% )without (?:it|them|those|that|which),?|(?:leaves?|left"
    r"|leaving"
    r"|put(?:s|ting)?)(?: \w+){1,8} (?:on|at)) ?$",
    re.IGNORECASE,
)
_WITH: Final = re.compile(
    r"^ with (?:it|them|those|that)\b(?! (?:hidden|out|gone|remov|mask|taken|away|left|absent"
    r"|cover))|^ with [^,;%]{3,60}? (?:in (?:the (?:picture|mix|frame|reckoning|equation)|view|play"
    r"|sight|place)|included|known|visible|available|(?:taken )?into account|there|present|left in"
    r"|kept(?: in)?|to go on)\b",
    re.IGNORECASE,
)
_WITHOUT: Final = re.compile(
    r"^ without\b|"
    r"^ (?:without|once|when|if|after|with (?:it|them|those|that)) ",
    re.IGNORECASE,
)
_BEFORE, _AFTER, _EITHER = "before", "after", "either"


def _role(number: Number, reading: Reading, against: bool) -> str:
    """Whether a chance in a clause about hiding is that before it or after."""
    left, right = reading.text[: number.start], reading.text[number.end :]
    if re.match(r" without\b", right):
        return _AFTER
    if _INSTEAD.search(left) or _WITH.match(right):
        return _BEFORE
    if _BECOMES.search(left) or _WITHOUT.match(right):
        return _AFTER
    return _BEFORE if against else _EITHER


class Numbers:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def check(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """Numbers with a unit, p and q; those without one are for `check_plain_numbers`."""
        text = reading.text
        numbers = numbers_in(text)
        for rank, number in enumerate(numbers):
            before = text[numbers[rank - 1].end if rank else 0 : number.start]
            after = text[number.end : numbers[rank + 1].start if rank + 1 < len(numbers) else None]
            if _INTERVAL.match(text[number.start :]):
                continue
            yield from self._one(number, reading, before, after, plain)
        for match in _ODDS.finditer(text):
            yield from self._odds(match, reading, plain)
        for fraction in fractions_in(text):
            yield from self._fraction(fraction, reading, plain)

    def _fraction(self, fraction: Fraction, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """ "One in six": of a chance that has been named, and of the whole numbers the nearest."""
        if not 0 < fraction.some < fraction.many <= 100 or reading.looked or reading.named:
            return
        told = number_of("0", PERCENT, "", fraction.start, fraction.end)
        outcome = self._outcome_of(told, reading)
        if outcome is None:
            return
        hedged = reading.text[: fraction.start]
        against = _AGAINST.search(HEDGE.sub("", hedged))
        known = [self._facts.chance(outcome, "baseline" if against else "probability")]
        if reading.pinned:
            known += self._hidden(outcome, reading, _EITHER)
        if not any(fraction.fits(one.value, hedged) for one in known):
            yield Unsupported(
                plain, fraction.text, "number", "is not what this is",
                f"{known[0].value:.0%}", known[0].pointer,
            )  # fmt: skip

    def _one(
        self, number: Number, reading: Reading, before: str, after: str, plain: str
    ) -> Iterator[Unsupported]:
        known: list[Known]
        signed = False
        if number.unit == PERCENT:
            known = self._percent(number, reading, before, after)
            values = [100 * one.value for one in known]
        elif number.unit == POINTS:
            known, signed = points_of(self._facts, number, reading), True
            values = [one.value for one in known]
        elif number.unit == TIMES:
            known = self._ratios()
            values = [one.value for one in known]
        else:
            known = self._nats(reading) if number.unit == NATS else self._bits()
            if number.sign or (reading.groups and not _SURPRISE.search(reading.text)):
                known = []  # neither has a direction, and groups add points
            values = [one.value for one in known]
        if any(fits(number, value, before, after, signed=signed) for value in values):
            return
        if number.unit == PERCENT and any(
            fits(number, 100 * one.value, before, after)
            for one in self._otherwise(number, reading, before, after)
        ):
            return
        said = reading.text[number.start - len(number.sign) : number.end]
        problem = "is not in the explanation" if not known else "is not what this is"
        near = min(range(len(known)), key=lambda at: abs(values[at] - number.value), default=None)
        yield Unsupported(
            plain,
            said.strip(),
            "number",
            problem,
            None if near is None else written(known[near], number),
            None if near is None else known[near].pointer,
        )

    # -- percentages ----------------------------------------------------------------------------

    def _percent(self, number: Number, reading: Reading, before: str, after: str) -> list[Known]:
        outcome = self._outcome_of(number, reading)
        near_chance = _CHANCE_WORDS.search(before) or any(
            one.start >= number.start - len(before) and one.end <= number.end + 24
            for one in reading.outcomes
            if one.expected or _RATED.fullmatch(reading.text[one.end : number.start])
        )
        told = list(dict.fromkeys(one.outcome for one in reading.outcomes))
        if len(told) > 1 and _TOGETHER.search(reading.text) and not reading.hiding:
            both = sum(self._facts.chance(one).value for one in told)
            return [Known(both, "/prediction/outcomes"), *self._chances(outcome, "probability")]
        if of_prediction(reading.text):
            return shares_of_attention(self._facts, reading, before, after, number)
        if _CALLS.search(reading.text) or (
            _ON_AVERAGE.search(reading.text) and _CALLS.search(reading.sentence)
        ):
            return self._calibration(outcome, reading, before, after)
        near_chance = near_chance or (
            reading.hiding and any(one.expected for one in reading.outcomes)
        )
        told_after = reading.text[number.end :]
        goes_on = reading.relation is not None and bool(EVEN.search(reading.text))
        even = EVEN.search(before[-48:]) or EVEN.search(after)
        kind = relation_in(reading.text)
        if reading.relation is not None and _NOTICE.search(reading.sentence):
            goes_on = goes_on or not (reading.hiding or _CHANCE_WORDS.search(reading.text))
        if (
            (goes_on and not reading.outcomes)
            or (even and (kind or _NOTICE.search(reading.text)))
            or (kind and EVEN.search(reading.sentence))
            or (
                _ATTENTION.search(reading.text)
                and (not near_chance or _OF_ATTENTION.search(told_after))
                and not _OF_CHANCE.match(told_after)
            )
        ):
            return shares_of_attention(self._facts, reading, before, after, number)
        against = _AGAINST.search(before)
        if not against and _AFTER_BASE.match(after):
            # "28% (baseline 38%)": the word goes with the number after it.
            against = None if _NEXT_BASE.search(after) else _AFTER_BASE.match(after)
        if reading.hiding:
            return self._hidden(outcome, reading, _role(number, reading, bool(against)))
        if reading.pinned and reading.named and _MOVED.search(before):
            return [*self._hidden(outcome, reading, _EITHER), *self._chances(outcome, "baseline")]
        if against:
            return self._chances(outcome, "baseline")
        known = self._chances(outcome, "probability")
        if EARLIER_PERCENT.search(reading.text[: number.start]):
            # Of two chances without a word that tells them apart, the second may be the baseline.
            known += self._chances(outcome, "baseline")
        return known

    def _otherwise(
        self, number: Number, reading: Reading, before: str, after: str
    ) -> Iterator[Known]:
        """What a percentage can be too, where no word settles what it is.

        A word that compares ("than", "from", "against" further off) can stand between the model's
        chance and another's; "without" and "would" can tell of a ball of which nothing is known.
        Where the sentence names the baseline by its name, no other number is that.
        """
        text = reading.text
        if _OF_ATTENTION.match(text[number.end :]) or (
            EVEN.search(reading.sentence) and reading.relation is not None
        ):
            return
        outcome = self._outcome_of(number, reading)
        yield from self._in_order(number, reading)
        several = len(EARLIER_PERCENT.findall(reading.sentence)) > 1
        if several and _ATTENTION.search(reading.sentence) and not reading.hiding:
            shares = shares_of_attention(self._facts, reading, before, after, number)
            yield from shares if reading.relation is not None else ()
        if reading.pinned and not (reading.hiding or _PLAIN_BASE.search(text)):
            # Of balls or of knowledge that a test was about: with them, and without.
            yield from self._hidden(outcome, reading, _EITHER)
        if _ATTENTION.search(text) and not _NOTICE.search(text):
            yield from self._chances(
                outcome, "baseline" if _AGAINST.search(before) else "probability"
            )
        if _SCALE.search(text):
            weights = self._facts.data["fusion_weights"].items()
            yield from (
                Known(value, f"/fusion_weights/{name}") for name, value in weights if name in text
            )
        if _SETTLED.search(before) or _AFTER_BASE.match(after):
            if reading.hiding and not _CALLS.search(text):
                yield from self._chances(outcome, "baseline")
            return
        loose = reading.hiding and not (reading.named or _REMOVED.search(text))
        if _AGAINST.search(before) or loose:
            yield from self._chances(outcome, "probability")
        if _BASE.search(reading.sentence):
            return
        if loose or ((several or _SUPPOSED.search(before)) and not reading.hiding):
            yield from self._chances(outcome, "baseline")

    def _outcome_of(self, number: Number, reading: Reading) -> str | None:
        """The outcome whose chance a percentage is: named right after it, else before it."""
        after = reading.text[number.end :]
        if _OF_TOP.search(reading.text[: number.start]):
            top: str = self._facts.data["prediction"]["top"]
            return top
        listed = in_turn(
            reading.text[: number.start], reading.text[number.start :], reading.sentence
        )
        if listed is not None:
            return listed
        for one in reading.outcomes:
            gap = reading.text[number.end : one.start] if one.start >= number.end else None
            if gap is not None and re.fullmatch(
                r" ?(?:(?:chances?|probabilit(?:y|ies)|likelihood) ?)?(?:(?:quoted|given|assigned"
                r"|allotted"
                r"|offered|forecast|predicted|reserved|attached|awarded|set aside) )?(?:of|for"
                r"|that it is|on"
                r"|to)?(?: an?| the)? ?",
                gap,
            ):
                return one.outcome
        before = [one for one in reading.outcomes if one.end <= number.start]
        asked = [one for one in before if one.expected] or before
        if (
            before
            and before[-1] not in asked
            and re.search(r"[(:]\s*$|\bat $", reading.text[before[-1].end : number.start])
        ):
            return before[-1].outcome
        if asked:
            # What is nearest counts, unless it is only told of a past ball.
            return asked[-1].outcome
        later = [one for one in reading.outcomes if one.expected and one.start >= number.end]
        if later and not re.match(r"[^.;]*\b(?:and|,)", after[: later[0].start - number.end]):
            return later[0].outcome
        return reading.outcome

    def _in_order(self, number: Number, reading: Reading) -> Iterator[Known]:
        """Of two outcomes and, after both, two chances: the one that stands in the same place."""
        told = list(dict.fromkeys(one.outcome for one in reading.outcomes))
        percents = [one for one in numbers_in(reading.text) if one.unit == PERCENT]
        if len(told) != 2 or len(percents) != 2 or reading.hiding:
            return
        if all(one.end <= percents[0].start for one in reading.outcomes):
            rank = [one.start for one in percents].index(number.start)
            yield self._facts.chance(told[rank])

    def _chances(self, outcome: str | None, key: str) -> list[Known]:
        wanted = OUTCOMES if outcome is None else (outcome,)
        return [self._facts.chance(one, key) for one in wanted]

    def _hidden(self, outcome: str | None, reading: Reading, role: str) -> list[Known]:
        """Before and after; without an outcome that is told, each claim's own."""
        before, after = [], []
        for claim in reading.claims:
            own = claim.data["top_change"]["outcome"] if outcome is None else outcome
            before.append(self._facts.chance(own))
            after.append(self._facts.after(claim, own))
        own = outcome or self._facts.moved
        places = set(reading.places) if reading.named else set()
        if len(places) == 1:
            alone = self._facts.after_ball(next(iter(places)), own)
            after += [] if alone is None else [alone]
        before.append(self._facts.chance(own))
        return {_BEFORE: before, _AFTER: after}.get(role) or [*before, *after]

    def _calibration(
        self, outcome: str | None, reading: Reading, before: str, after: str
    ) -> list[Known]:
        """What was said of such calls, or how often they came true, as the words have it."""
        table = self._facts.data["prediction"].get("calibration")
        keys, known = ["predicted", "happened"], self._chances(outcome, "probability")
        spread = re.search(r"\b(?:between|interval|range|95)\b", reading.text)
        if re.search(
            r"\b(?:came|comes?|happened|happens|true|right|correct|in fact|really|actually)\b",
            before,
        ) or re.match(r" (?:of the time|observed|in practice|seen|in fact)", after):
            keys, known = ["happened"], []
        elif re.search(
            r"\b(?:said|says|gave|gives|predicted|calls? (?:of|at|near))\b", before
        ) or re.match(r" (?:predicted|forecast|called)", after):
            keys = ["predicted"]
        for at, entry in enumerate(table["outcomes"] if table else ()):
            if outcome is None or outcome in (entry["outcome"], BOUNDARY):
                pointer = f"/prediction/calibration/outcomes/{at}"
                known += [Known(entry[key], f"{pointer}/{key}") for key in keys]
                for end, value in enumerate((entry["happened_ci"] or ()) if spread else ()):
                    known.append(Known(value, f"{pointer}/happened_ci/{end}"))
        if _AGAINST.search(reading.text):
            known += self._chances(outcome, "baseline")
        return known

    # -- points, nats, bits, odds ----------------------------------------------------------------

    def _nats(self, reading: Reading) -> list[Known]:
        known = []
        for claim in reading.claims or self._facts.claims:
            known.append(Known(claim.data["effect_nats"], f"{claim.pointer}/effect_nats"))
            if claim.data["control_median_nats"] is not None:
                pointer = f"{claim.pointer}/control_median_nats"
                known.append(Known(claim.data["control_median_nats"], pointer))
        for at in reading.places if reading.named else ():
            if self._facts.history[at]["effect_nats"] is not None:
                known.append(
                    Known(self._facts.history[at]["effect_nats"], f"/history/{at}/effect_nats")
                )
        return known

    def _bits(self) -> list[Known]:
        bits = self._facts.data["prediction"]["surprise_bits"]
        return [] if bits is None else [Known(bits, "/prediction/surprise_bits")]

    def _ratios(self) -> list[Known]:
        found = []
        for scale in SCALES:
            for at, share in enumerate(self._facts.data["across_balls"][scale]["shares"]):
                if share["ratio"] is not None:
                    pointer = f"/across_balls/{scale}/shares/{at}/ratio"
                    found.append(Known(share["ratio"], pointer))
        return found

    def _odds(self, match: re.Match[str], reading: Reading, plain: str) -> Iterator[Unsupported]:
        number = number_of(match["number"], ODDS, "", match.start("number"), match.end())
        key = match["name"]
        known = [
            Known(claim.data[key], f"{claim.pointer}/{key}")
            for claim in (reading.claims or self._facts.claims)
            if claim.data[key] is not None
        ]
        below = match["sign"] in ("<", "≤")
        if any(number.fits(one.value) or (below and one.value <= number.value) for one in known):
            return
        near = min(known, key=lambda one: abs(one.value - number.value), default=None)
        yield Unsupported(
            plain,
            match.group(),
            "number",
            f"is not the {key} of its claim",
            None if near is None else f"{near.value:.2g}",
            None if near is None else near.pointer,
        )

"""Numbers in a text, each with its unit, against the values that its words can mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.attention_types import OUTCOMES, SCALES
from attnlens.explanation.grounding_claims import ONE_HEAD, Reading
from attnlens.explanation.grounding_facts import BOUNDARY, Facts, Known, Unsupported
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
    r"baseline|usual(?:ly)?|normal(?:ly)?|typical(?:ly)?|ordinar(?:y|ily)|average|norm|default|"
    r"starting (?:point|from)|in general|generally|otherwise|knowing nothing|knows nothing|"
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
    r"|came true|of the time|calibrat\w+|where it said|on record|when (?:it|the model) "
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
_OF_ATTENTION: Final = re.compile(
    r"^ ?(?:of|in) (?:(?:all|its|the|that|this|model's|total|overall) ){0,3}(?:attention|weight"
    r"|focus|gaze)\b",
    re.IGNORECASE,
)
_INTERVAL: Final = re.compile(
    r"95[ -]?(?:%|per ?cent) (?:interval|confidence|CI)|95% ci", re.IGNORECASE
)
_ROUGH: Final = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|some|close to|approximately|just (?:over|under)"
    r"|~) ?$",
    re.IGNORECASE,
)
_LESS: Final = re.compile(r"(?:\b(?:less than|under|below)|<) ?$", re.IGNORECASE)
_EVEN: Final = re.compile(
    r"\b(?:even (?:attention|share|spread|split|look)|uniform\w*|(?:spread )?evenly|equal(?:ly)?|"
    r"flat|by chance|no preference|fair share|proportion\w*)\b",
    re.IGNORECASE,
)

RELATIONS: Final = (
    ("same_over", r"(?:current|this|last) over(?!s)|over so far"),
    ("same_matchup", r"(?:this|the) bowler'?s? (?:\w+ )?(?:balls? )?to this batter"),
    ("same_bowler", r"(?:this|the) bowler'?s?\b|same[- ]bowler"),
    ("same_batsman", r"(?:this|the) (?:batter|striker|batsman)'?s?\b|same[- ]bats?(?:man|ter)"),
    ("boundary_cluster", r"clusters? of boundaries"),
    ("over_boundary", r"first and last balls of (?:an |the )?overs?"),
    ("wicket_adjacent", r"wickets and the balls (?:beside|next to)"),
    ("boundary", r"boundar(?:y|ies)\b"),
)
_AGGREGATES: Final = {
    "same_over": "last_over",
    "same_bowler": "same_bowler",
    "same_batsman": "same_batsman",
    "boundary": "boundaries",
}


_SURPRISE: Final = re.compile(r"\bsurpris|\binformation\b", re.IGNORECASE)
_EARLIER_PERCENT: Final = re.compile(r"\d ?(?:%|per ?cent)", re.IGNORECASE)
_RATED: Final = re.compile(r"(?:,? ?(?:at|is|was|to|from|stands at|comes? out at|had|:|\()? ?)")
_NEXT_BASE: Final = re.compile(
    rf"\b(?:{_BASE_WORDS})(?: of| is| was| at| being|:)? ?$", re.IGNORECASE
)
_MOVED: Final = re.compile(
    r"\b(?:from|to|at|not|rather than|instead of)\b[^.;]{0,30}$", re.IGNORECASE
)
_INSTEAD: Final = re.compile(
    r"\b(?:rather than|instead of|not|against|compared (?:with|to)|down from|up from|from|than|"
    r"(?<!% )with (?:it|them|those|that)(?: in)?,?)(?: the)? ?$",
    re.IGNORECASE,
)
_BECOMES: Final = re.compile(
    r"\b(?:to|would be|becomes?|(?<!% )without (?:it|them|those|that),?) ?$", re.IGNORECASE
)
_WITH: Final = re.compile(r"^ with (?:it|them|those|that)\b", re.IGNORECASE)
_WITHOUT: Final = re.compile(r"^ (?:without|once|when|if|after) ", re.IGNORECASE)
_BEFORE, _AFTER, _EITHER = "before", "after", "either"


def _role(number: Number, reading: Reading, against: bool) -> str:
    """Whether a chance in a clause about hiding is that before it or after."""
    left, right = reading.text[: number.start], reading.text[number.end :]
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

    def _one(
        self, number: Number, reading: Reading, before: str, after: str, plain: str
    ) -> Iterator[Unsupported]:
        known: list[Known]
        signed = False
        if number.unit == PERCENT:
            known = self._percent(number, reading, before, after)
            values = [100 * one.value for one in known]
        elif number.unit == POINTS:
            known, signed = self._points(number, reading), True
            values = [one.value for one in known]
        elif number.unit == TIMES:
            known = self._ratios()
            values = [one.value for one in known]
        else:
            known = self._nats(reading) if number.unit == NATS else self._bits()
            if number.sign or (reading.groups and not _SURPRISE.search(reading.text)):
                known = []  # neither has a direction, and groups add points
            values = [one.value for one in known]
        if (
            number.unit == PERCENT
            and _LESS.search(before)
            and any(v < number.value for v in values)
        ):
            return
        rough = bool(_ROUGH.search(before))
        if any(number.fits(value, rough=rough, signed=signed) for value in values):
            return
        if number.unit == PERCENT and any(
            number.fits(100 * one.value, rough=rough)
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
        if _CALLS.search(reading.text):
            return self._calibration(outcome, reading, before, after)
        if _ATTENTION.search(reading.text) and (
            not near_chance or _OF_ATTENTION.search(reading.text[number.end :])
        ):
            return self._attention(reading, before, after, number)
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
        if _EARLIER_PERCENT.search(reading.text[: number.start]):
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
        outcome = self._outcome_of(number, reading)
        if _SETTLED.search(before) or _AFTER_BASE.match(after):
            if reading.hiding and not _CALLS.search(text):
                yield from self._chances(outcome, "baseline")
            return
        loose = reading.hiding and not (reading.named or _REMOVED.search(text))
        if _AGAINST.search(before) or loose:
            yield from self._chances(outcome, "probability")
        if _BASE.search(reading.sentence):
            return
        if loose or (_SUPPOSED.search(before) and not reading.hiding):
            yield from self._chances(outcome, "baseline")

    def _outcome_of(self, number: Number, reading: Reading) -> str | None:
        """The outcome whose chance a percentage is: named right after it, else before it."""
        after = reading.text[number.end :]
        for one in reading.outcomes:
            gap = reading.text[number.end : one.start] if one.start >= number.end else None
            if gap is not None and re.fullmatch(
                r" ?(?:(?:chances?|probabilit(?:y|ies)|likelihood) ?)?(?:of|for|that it is|on"
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
            r"\b(?:came|comes?|happened|happens|true|in fact|really|actually)\b", before
        ) or (re.match(r" of the time", after)):
            keys, known = ["happened"], []
        elif re.search(r"\b(?:said|says|gave|gives|predicted|calls? (?:of|at|near))\b", before):
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

    def _attention(self, reading: Reading, before: str, after: str, number: Number) -> list[Known]:
        """Shares of attention: of the relation that is named, of the balls, or of the "
        "prediction."""
        data, text = self._facts.data, reading.text
        if re.search(r"\b(?:prediction|fusion|ball itself|carries)\b", text):
            weights = data["fusion_weights"].items()
            return [Known(value, f"/fusion_weights/{name}") for name, value in weights]
        scales = [scale for scale in SCALES if re.search(rf"\b{scale}\b", text)] or ["medium"]
        named = self._relation(text, number) or reading.relation
        reading.relation = named
        last = not _EARLIER_PERCENT.search(text[number.end :])
        if _EVEN.search(before) or (last and _EVEN.search(after)):
            keys = ["uniform"]
        else:
            keys = ["share"]
            if _EARLIER_PERCENT.search(text[: number.start]):
                keys.append("uniform")
        known: list[Known] = []
        for scale in scales:
            pointer = f"/across_balls/{scale}"
            heat = data["across_balls"][scale]
            for at, share in enumerate(heat["shares"]):
                if share["relation"] == named or named is None:
                    known += [Known(share[key], f"{pointer}/shares/{at}/{key}") for key in keys]
            for name, value in heat["aggregate_attention"].items() if "share" in keys else ():
                if named is None or _AGGREGATES.get(named) == name:
                    known.append(Known(value, f"{pointer}/aggregate_attention/{name}"))
        if named is None or reading.named or ONE_HEAD.search(text):
            for scale in SCALES:
                known += self._heads(scale, reading)
        return known

    def _relation(self, text: str, number: Number) -> str | None:
        """The kind of past ball that is named nearest."""
        best: tuple[int, str] | None = None
        for relation, pattern in RELATIONS:
            for match in re.finditer(rf"\b(?:{pattern})", text, re.IGNORECASE):
                gap = min(abs(match.start() - number.end), abs(number.start - match.end()))
                if best is None or gap < best[0]:
                    best = gap, relation
        return None if best is None else best[1]

    def _heads(self, scale: str, reading: Reading) -> Iterator[Known]:
        heads = self._facts.data["across_balls"][scale]["attention_by_head"]
        wanted = (
            {self._facts.history[at]["index"] for at in reading.places} if reading.named else set()
        )
        for name, head in heads.items():
            pointer = f"/across_balls/{scale}/attention_by_head/{name}"
            for balls, weights in (("top_balls", "weights"), ("top_any", "top_any_weights")):
                chosen = [at for at, ball in enumerate(head[balls]) if not wanted or ball in wanted]
                for at in chosen:
                    yield Known(head[weights][at], f"{pointer}/{weights}/{at}")
                if chosen:
                    yield Known(sum(head[weights][at] for at in chosen), f"{pointer}/{weights}")
            for key in ("self_attention", "past_attention"):
                yield Known(head[key], f"{pointer}/{key}")

    # -- points, nats, bits, odds ----------------------------------------------------------------

    def _points(self, number: Number, reading: Reading) -> list[Known]:
        outcome = self._points_outcome(number, reading)
        groups = self._groups_near(number, reading)
        wanted = (
            [outcome] if outcome else [self._facts.moved, self._facts.data["prediction"]["top"]]
        )
        known: list[Known] = []
        if groups and not reading.hiding:
            return [self._facts.points(at, one) for at in groups for one in wanted]
        if reading.hiding or reading.pinned:
            for claim in reading.claims:
                own = [outcome] if outcome else [claim.data["top_change"]["outcome"]]
                for one in own:
                    at = OUTCOMES.index("4" if one == BOUNDARY else one)
                    known.append(Known(claim.change(one), f"{claim.pointer}/changes/{at}/points"))
            known += self._ball_points(reading, wanted)
            if known:
                return known
        for one in wanted:
            base, now = self._facts.chance(one, "baseline"), self._facts.chance(one)
            known.append(Known(100 * (now.value - base.value), now.pointer))
        if not reading.looked:
            count = len(self._facts.data["contributions"])
            known += [self._facts.points(at, one) for at in range(count) for one in wanted]
        return known

    def _points_outcome(self, number: Number, reading: Reading) -> str | None:
        before = [one for one in reading.outcomes if one.end <= number.start]
        if before:
            return before[-1].outcome
        return reading.outcomes[0].outcome if reading.outcomes else reading.outcome

    def _groups_near(self, number: Number, reading: Reading) -> Sequence[int]:
        if len(reading.groups) < 2:
            return reading.groups
        from attnlens.explanation.grounding_claims import groups_in

        # Of several groups that one goes with a number that stands right before it.
        parts = re.split(r"[;,)]| and ", reading.text[: number.start])
        for part in reversed(parts):
            near = groups_in(part, self._facts)
            if near:
                return near
        return reading.groups

    def _ball_points(self, reading: Reading, wanted: Sequence[str]) -> Iterator[Known]:
        places = set(reading.places)
        if not reading.named or len(places) != 1:
            return
        place = next(iter(places))
        for at, entry in enumerate(self._facts.history[place]["changes"]):
            if entry["outcome"] in wanted:
                yield Known(entry["points"], f"/history/{place}/changes/{at}/points")
        index = self._facts.history[place]["index"]
        for rank, group in enumerate(self._facts.data["contributions"]):
            for row, ball in enumerate(group["balls"]):
                for at, entry in enumerate(ball["points"]):
                    if ball["index"] == index and entry["outcome"] in wanted:
                        pointer = f"/contributions/{rank}/balls/{row}/points/{at}/points"
                        yield Known(entry["points"], pointer)

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

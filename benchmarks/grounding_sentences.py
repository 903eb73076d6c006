"""Sentences about an explanation that are true, and the same ones spoilt in one place.

A sentence is a template with slots; a slot's true text comes from the explanation, and spoiling
it means putting a text there that is not true.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from attnlens.explanation.facts import OUTCOME_WORDS

GROUPS = {
    "venue and teams": "the venue and teams",
    "striker's record": "the striker's record",
    "bowler's record": "the bowler's record",
    "scoreboard": "the scoreboard",
    "this over": "this over",
    "this bowler to this batter": "this bowler to this batter",
    "this bowler's earlier balls": "this bowler's earlier balls",
    "this batter's earlier balls": "this batter's earlier balls",
    "other recent balls": "the other recent balls",
    "earlier balls": "the earlier balls",
}
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

RELATIONS = {
    "same_over": "the current over",
    "same_bowler": "this bowler's balls",
    "same_batsman": "this batter's balls",
    "boundary": "boundaries",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence, what it is about, and what was spoilt in it (``None`` where it is true)."""

    text: str
    about: str
    spoilt: str | None


def percent(value: float) -> str:
    """Whole percents, with more decimals where there would be none."""
    return f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"


def listed(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


class Story:
    """The slots of one explanation, and ways to spoil each."""

    def __init__(self, data: Mapping[str, Any], chance: random.Random) -> None:
        self.data = data
        self.chance = chance
        self.chances = {one["outcome"]: one for one in data["prediction"]["outcomes"]}
        self.history = {row["index"]: row for row in data["history"]}

    def slots(self, about: str) -> dict[str, str] | None:
        """True texts for a kind of sentence; ``None`` where the explanation has nothing of it."""
        made: dict[str, str] | None = getattr(self, f"_{about}")()
        return made

    def _expected(self) -> dict[str, str] | None:
        ball, prediction = self.data["ball"], self.data["prediction"]
        moved = max(
            self.chances.values(), key=lambda one: abs(one["probability"] - one["baseline"])
        )
        now, base = moved["probability"], moved["baseline"]
        if percent(now) == percent(base) or moved["outcome"] == "bye":
            return None
        return {
            "bowler": ball["bowler"],
            "batter": ball["batter"],
            "score": f"{ball['score']}/{ball['wickets']}",
            "moved": OUTCOME_WORDS[moved["outcome"]],
            "moved_code": moved["outcome"],
            "now": percent(now),
            "base": percent(base),
            "way": "higher" if now > base else "lower",
            "top": OUTCOME_WORDS[prediction["top"]],
            "top_now": percent(self.chances[prediction["top"]]["probability"]),
        }

    def _claims(self) -> list[Mapping[str, Any]]:
        return [
            claim
            for claim in self.data["evidence"]
            if claim["removed_from"] == "model"
            and 1 < len(claim["removed"]) <= 4
            and claim["verdict"] is not None
            and percent(claim["top_change"]["before"]) != percent(claim["top_change"]["after"])
        ]

    def _claim(self, supported: bool = False) -> dict[str, str] | None:
        claims = [
            claim for claim in self._claims() if claim["verdict"] == "supported" or not supported
        ]
        if not claims:
            return None
        # As many supported as not: most claims are not.
        held = [claim for claim in claims if claim["verdict"] == "supported"]
        claim = self.chance.choice(held if held and self.chance.random() < 0.5 else claims)
        self.removed = claim["removed"]
        # One set of balls is one story: it must not have another verdict elsewhere.
        same = [one for one in self._claims() if set(one["removed"]) == set(self.removed)]
        if {one["verdict"] for one in same} != {claim["verdict"]}:
            return None
        change = claim["top_change"]
        up = change["after"] > change["before"]
        return {
            "labels": listed([self.history[ball]["label"] for ball in self.removed]),
            "hit": OUTCOME_WORDS[change["outcome"]],
            "hit_code": change["outcome"],
            "before": percent(change["before"]),
            "after": percent(change["after"]),
            "verb": "raises" if up else "lowers",
            "verb_third": "rises" if up else "falls",
            "verdict": claim["verdict"],
        }

    def _cause(self) -> dict[str, str] | None:
        slots = self._claim(supported=True)
        return slots if slots is not None and slots["verdict"] == "supported" else None

    def _counted(self) -> dict[str, str] | None:
        slots = self._claim()
        if slots is None:
            return None
        count = sum(self.history[ball]["boundary"] for ball in self.removed)
        if count == 0:
            return None
        return {**slots, "some": NUMBERS[count], "many": NUMBERS[len(self.removed)]}

    def _group(self) -> dict[str, str] | None:
        slots = self._expected()
        if slots is None or not self.data["contributions"]:
            return None
        place = list(OUTCOME_WORDS).index(slots["moved_code"])
        groups = self.data["contributions"]
        values = [group["points"][place]["points"] for group in groups]
        best = max(range(len(groups)), key=lambda at: abs(values[at]))
        extreme = values[best] in (max(values), min(values))
        if not extreme or abs(values[best]) < 0.3:
            return None
        up = values[best] > 0
        name = GROUPS[groups[best]["group"]]
        return {
            **slots,
            "group": name,
            "Group": name[0].upper() + name[1:],
            "points": f"{values[best]:+.1f}",
            "size": f"{abs(values[best]):.1f}",
            "adds": "adds most to" if up else "takes most away from",
            "moves": "raises" if up else "lowers",
            "pushes": "pushes up" if up else "pulls down",
        }

    def _happened(self) -> dict[str, str] | None:
        prediction = self.data["prediction"]
        if prediction["actual"] is None:
            return None
        return {
            "batter": self.data["ball"]["batter"],
            "actual": OUTCOME_WORDS[prediction["actual"]],
            "actual_now": percent(self.chances[prediction["actual"]]["probability"]),
            "bits": f"{prediction['surprise_bits']:.1f}",
        }

    def _event(self) -> dict[str, str] | None:
        if not self.data["history"]:
            return None
        told = [row for row in self.data["history"] if row["outcome"] in ("4", "6", "W")]
        row = self.chance.choice(told or self.data["history"])
        name = OUTCOME_WORDS[row["outcome"]]
        self.event = row
        return {
            "event": name,
            "Event": name[0].upper() + name[1:],
            "event_ball": row["label"],
            "event_bowler": row["bowler"],
            "event_batter": row["batter"],
        }

    def _attention(self) -> dict[str, str] | None:
        shares = {one["relation"]: one for one in self.data["across_balls"]["medium"]["shares"]}
        known = [name for name in RELATIONS if name in shares and shares[name]["uniform"]]
        if not known:
            return None
        name = self.chance.choice(known)
        return {
            "relation": RELATIONS[name],
            "share": percent(shares[name]["share"]),
            "uniform": percent(shares[name]["uniform"]),
        }

    def _chase(self) -> dict[str, str] | None:
        ball = self.data["ball"]
        if not ball["runs_required"] or not ball["balls_left"] or ball["target"] is None:
            return None
        return {
            "score": f"{ball['score']}/{ball['wickets']}",
            "runs": str(ball["runs_required"]),
            "left": str(ball["balls_left"]),
            "target": str(ball["target"]),
        }

    # -- spoiling --------------------------------------------------------------------------------

    def spoilt(
        self, slots: Mapping[str, str], used: set[str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        """Each way to make a sentence false: its kind, and the slots then."""
        for name in sorted(used & NUMERIC):
            yield "number off by one digit", {**slots, name: self._digit(slots[name])}
        yield from self._names(slots, used)
        if used & {"event", "Event"} and self.event["outcome"] != "W":
            yield "invented wicket", {**slots, "event": "a wicket", "Event": "A wicket"}
        if "labels" in used:
            other = self._other_label(self.removed)
            if other is not None:
                labels = slots["labels"]
                old = self.chance.choice(re.findall(r"\d+\.\d+", labels))
                wrong = re.sub(rf"(?<![\d.]){re.escape(old)}(?![\d.])", other, labels, count=1)
                yield "wrong ball", {**slots, "labels": wrong}
        if "event_ball" in used:
            yield "wrong ball", {**slots, "event_ball": self._ball_without()}
        if "verdict" in used and slots["verdict"] != "supported":
            for told in ("supported", "confirmed", "proved beyond doubt"):
                yield "verdict overstated", {**slots, "verdict": told}
        if "verdict" in used and slots["verdict"] == "supported":
            yield "verdict denied", {**slots, "verdict": "not better than chance"}
        yield from self._wrong_outcomes(slots, used)
        flips = {"raises": "lowers", "rises": "falls", "higher": "lower", "pushes up": "pulls down",
                 "adds most to": "takes most away from"}  # fmt: skip
        flips |= {after: before for before, after in flips.items()}
        for name in sorted(used & {"way", "verb", "verb_third", "adds", "moves", "pushes"}):
            yield "flipped direction", {**slots, name: flips[slots[name]]}
        if "some" in used:
            wrong = (NUMBERS.index(slots["some"]) + 1) % (len(self.removed) + 1)
            yield "wrong count", {**slots, "some": NUMBERS[wrong]}

    def _digit(self, text: str) -> str:
        """The number with one digit changed, so that it is another."""
        places = [at for at, sign in enumerate(text) if sign.isdigit()]
        while True:
            at = self.chance.choice(places)
            digit = self.chance.choice([one for one in "0123456789" if one != text[at]])
            new = text[:at] + digit + text[at + 1 :]
            if not re.search(r"(?<!\d)0\d", new):
                return new

    def _names(
        self, slots: Mapping[str, str], used: set[str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        ball = self.data["ball"]
        if {"bowler", "batter"} <= used and ball["bowler"] != ball["batter"]:
            yield "swapped names", {**slots, "bowler": ball["batter"], "batter": ball["bowler"]}
        if {"event_bowler", "event_batter"} <= used:
            swapped = {"event_bowler": self.event["batter"], "event_batter": self.event["bowler"]}
            yield "swapped names", {**slots, **swapped}
        for name in sorted(used & {"bowler", "event_bowler"}):
            yield (
                "unknown name",
                {**slots, name: self.chance.choice(("RG Sharma", "J Bumrah", "Wasim"))},
            )
        if "bowler" in used:
            others = {row["bowler"] for row in self.history.values()} - {ball["bowler"]}
            if others:
                yield "another player", {**slots, "bowler": self.chance.choice(sorted(others))}

    def _other_label(self, removed: list[int]) -> str | None:
        """A past ball that the model did not look at together with most of these."""
        sets = [set(claim["removed"]) for claim in self.data["evidence"]]
        free = [
            row["label"]
            for index, row in self.history.items()
            if not any(index in one and len(one & set(removed)) >= len(removed) - 1 for one in sets)
        ]
        return self.chance.choice(free) if free else None

    def _ball_without(self) -> str:
        others = [
            row["label"]
            for row in self.history.values()
            if row["outcome"] != self.event["outcome"] and row["boundary"] != self.event["boundary"]
        ]
        return self.chance.choice(others) if others else "98.7"

    def _wrong_outcomes(
        self, slots: Mapping[str, str], used: set[str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        pairs = (("moved", "now"), ("top", "top_now"), ("hit", "before"), ("actual", "actual_now"))
        for name, number in pairs:
            if not used & {name, f"{name}_code"}:
                continue
            others = [
                outcome
                for outcome, entry in self.chances.items()
                if OUTCOME_WORDS[outcome] != slots[name]
                and percent(entry["probability"]) != slots[number]
                and outcome not in ("5", "bye")
            ]
            other = self.chance.choice(others)
            yield "wrong outcome", {**slots, name: OUTCOME_WORDS[other], f"{name}_code": other}
        if used & {"event", "Event"}:
            options = [one for one in ("4", "6", "1", "0") if one != self.event["outcome"]]
            other = OUTCOME_WORDS[self.chance.choice(options)]
            yield "wrong outcome", {**slots, "event": other, "Event": other[0].upper() + other[1:]}


_NUMERIC_TEXT = """
now base top_now before after actual_now share uniform points size bits score runs left target
"""
NUMERIC = frozenset(_NUMERIC_TEXT.split())
COMMON = ("a dot ball", "a single", "a four", "a wicket", "a six")
UNITS = ((" points", " bits"), (" points", "%"), (" bits", " nats"), ("%", " points"))


def sentences_about(
    data: Mapping[str, Any], templates: Mapping[str, tuple[str, ...]], chance: random.Random
) -> Iterator[Sentence]:
    """True sentences, and each spoilt in one place in every way that fits it."""
    for about, texts in templates.items():
        for template in texts:
            story = Story(data, chance)
            slots = story.slots(about)
            if slots is None:
                continue
            used = {name for _, name, _, _ in Formatter().parse(template) if name}
            true = template.format(**slots)
            yield Sentence(true, about, None)
            for kind, wrong in story.spoilt(slots, used):
                text = template.format(**wrong)
                if text != true:
                    yield Sentence(text, about, kind)
            for unit, other in UNITS:
                if unit in true and not (unit == "%" and about == "attention"):
                    yield Sentence(true.replace(unit, other, 1), about, "wrong unit")
                    break


def spoilt_facts(data: Mapping[str, Any], chance: random.Random) -> Iterator[tuple[int, str, str]]:
    """Our own narrative with one fact of one sentence spoilt: place, new text, kind."""
    labels = [row["label"] for row in data["history"]]
    people = sorted({row[role] for row in data["history"] for role in ("bowler", "batter")})
    verdicts = ("supported", "not better than chance", "contradicted")
    for place, sentence in enumerate(data["narrative"]):
        for fact in sentence["facts"]:
            pointer, text = fact["pointer"], fact["text"]
            wrong: str | None = None
            if pointer.endswith("/label"):
                others = [one for one in labels if one != text]
                kind, wrong = "wrong ball", chance.choice(others) if others else None
            elif pointer in ("/ball/bowler", "/ball/batter"):
                others = [
                    one
                    for one in people
                    if one not in (data["ball"]["bowler"], data["ball"]["batter"])
                ]
                kind, wrong = "another player", chance.choice(others) if others else None
            elif pointer.endswith("/verdict") and text in verdicts:
                kind = "verdict denied" if text == "supported" else "verdict overstated"
                wrong = "not better than chance" if text == "supported" else "supported"
            elif pointer.endswith("outcome") or pointer == "/prediction/actual":
                kind = "wrong outcome"
                wrong = chance.choice([one for one in COMMON if one != text])
            elif re.fullmatch(r"[+-]?[\d.,]+%?", text):
                kind = "number off by one digit"
                wrong = Story(data, chance)._digit(text)
            else:
                continue
            if wrong is None or wrong == text:
                continue
            at = sentence["text"].find(text)
            if at >= 0:
                new = sentence["text"][:at] + wrong + sentence["text"][at + len(text) :]
                yield place, new, kind

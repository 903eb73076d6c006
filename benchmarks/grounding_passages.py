"""Passages about an explanation as a language model would write them, true and spoilt in one place.

Besides slots, a passage has pairs: ``<<rises|falls>>``, the first where the chance goes up, and
``[[held up|did not hold up]]``, the first where the claim is supported. Spoiling a pair turns it
round. ``{bowler.last}`` is a surname (more such in `grounding_words`). A passage is drawn for a
ball once, and spoilt once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from grounding_sentences import GROUPS, NUMERIC, Story, percent
from grounding_words import Figure, in_words

from attnlens.explanation.facts import OUTCOME_WORDS

UP_PAIR = re.compile(r"<<([^|>]*)\|([^>]*)>>")
HELD_PAIR = re.compile(r"\[\[([^|\]]*)\|([^\]]*)\]\]")
UNORDERED = re.compile(r"\bvs?\b|\bversus\b|\bbetween\b")
ORDINALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Passage:
    """A true passage, the same one spoilt, and how; ``wrong`` is ``None`` where nothing can be."""

    about: str
    true: str
    wrong: str | None
    kind: str | None


class Told(Story):
    """The slots of one explanation, those of `Story` and more."""

    up = held = True

    def _expected(self) -> dict[str, str] | None:
        slots = super()._expected()
        if slots is None:
            return None
        entry = self.chances[slots["moved_code"]]
        self.up = entry["probability"] > entry["baseline"]
        match = self.data["match"]
        return {
            **slots,
            "diff": f"{abs(100 * (entry['probability'] - entry['baseline'])):.1f}",
            "batting": match["batting_team"],
            "fielding": match["bowling_team"],
            "down": ORDINALS[self.data["ball"]["wickets"]],
            "runs_so_far": str(self.data["ball"]["score"]),
        }

    def _odds(self) -> dict[str, str] | None:
        slots = self._expected()
        if slots is None:
            return None
        for name, entry in self.chances.items():
            times = 1 / entry["probability"] if entry["probability"] else 99
            nearest = round(times)
            near = 3 <= nearest <= 9 and abs(times - nearest) <= 0.06 * nearest
            if near and name not in ("5", "bye", "3"):
                return {**slots, "thing": OUTCOME_WORDS[name], "in": ORDINALS[nearest]}
        return None

    def _ranked(self) -> dict[str, str] | None:
        slots = self._expected()
        order = sorted(self.chances.values(), key=lambda one: -one["probability"])[:4]
        shown = [percent(one["probability"]) for one in order]
        if slots is None or len(set(shown)) < 4:
            return None
        extra = {}
        for rank, one in zip(("first", "second", "third"), order, strict=False):
            extra[rank] = OUTCOME_WORDS[one["outcome"]]
            extra[f"{rank}_now"] = percent(one["probability"])
        return {**slots, **extra}

    def _claim(self, supported: bool = False) -> dict[str, str] | None:
        slots = super()._claim(supported)
        if slots is None:
            return None
        self.up = slots["verb"] == "raises"
        self.held = slots["verdict"] == "supported"
        return {**slots, "number": ORDINALS[len(self.removed)]}

    def _told_verdict(self) -> dict[str, str] | None:
        slots = self._claim()
        known = slots is not None and slots["verdict"] != "contradicted"
        return slots if known else None

    def _record(self) -> dict[str, str] | None:
        ball = self.data["ball"]
        names = {
            "striker's record": f"{ball['batter']}'s record",
            "bowler's record": f"{ball['bowler']}'s record",
            "the chase": "the chase",
            "the scoreboard": "the scoreboard",
        }
        claims = [
            claim
            for claim in self.data["evidence"]
            if claim["kind"] in names
            and claim["verdict"] in ("supported", "not better than chance")
            and percent(claim["top_change"]["before"]) != percent(claim["top_change"]["after"])
        ]
        if not claims:
            return None
        claim = self.chance.choice(claims)
        change = claim["top_change"]
        self.up = change["after"] > change["before"]
        self.held = claim["verdict"] == "supported"
        return {
            "what": names[claim["kind"]],
            "hit": OUTCOME_WORDS[change["outcome"]],
            "hit_code": change["outcome"],
            "before": percent(change["before"]),
            "after": percent(change["after"]),
            "verdict": claim["verdict"],
        }

    def _group(self) -> dict[str, str] | None:
        slots = super()._group()
        if slots is None:
            return None
        place = list(OUTCOME_WORDS).index(slots["moved_code"])
        groups = self.data["contributions"]
        values = [group["points"][place]["points"] for group in groups]
        self.up = slots["moves"] == "raises"
        other = min(range(len(groups)), key=lambda at: values[at] * (1 if self.up else -1))
        if abs(values[other]) < 0.1 or (values[other] > 0) == self.up:
            return None
        return {
            **slots,
            "other": GROUPS[groups[other]["group"]],
            "other_points": f"{values[other]:+.1f}",
            "other_size": f"{abs(values[other]):.1f}",
        }

    def _calls(self) -> dict[str, str] | None:
        table, slots = self.data["prediction"].get("calibration"), self._expected()
        if not table or slots is None:
            return None
        entry = next(
            (one for one in table["outcomes"] if one["outcome"] == slots["moved_code"]), None
        )
        if entry is None or percent(entry["predicted"]) == percent(entry["happened"]):
            return None
        return {
            **slots,
            "said": percent(entry["predicted"]),
            "came": percent(entry["happened"]),
            "cases": f"{entry['balls']:,}",
        }

    def _weights(self) -> dict[str, str] | None:
        weights = self.data["fusion_weights"]
        names = {"micro": "micro", "short": "short", "medium": "medium", "long": "long"}
        known = [name for name in names if name in weights]
        if not known or len({percent(value) for value in weights.values()}) < len(weights):
            return None
        name = max(known, key=lambda one: weights[one])
        return {"scale": name, "weight": percent(weights[name])}

    def _rate(self) -> dict[str, str] | None:
        ball = self.data["ball"]
        if not ball["run_rate"]:
            return None
        return {
            "rate": f"{ball['run_rate']:.2f}",
            "delivery": str(ball["index"]),
            "fielding": self.data["match"]["bowling_team"],
            "batting": self.data["match"]["batting_team"],
            "score": f"{ball['score']}/{ball['wickets']}",
        }

    def _nothing(self) -> dict[str, str] | None:
        ball = self.data["ball"]
        return {"bowler": ball["bowler"], "batter": ball["batter"]}

    def spoilt(
        self, slots: Mapping[str, str], used: set[str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        yield from super().spoilt(slots, used)
        for name in sorted(used & (MORE_NUMERIC - NUMERIC)):
            yield "number off by one digit", {**slots, name: self._digit(slots[name])}
        for name in sorted(used & {"down", "in", "number"}):
            at = ORDINALS.index(slots[name])
            yield "wrong count", {**slots, name: ORDINALS[at + 2 if at < 9 else at - 2]}
        if used & {"batting", "fielding"}:
            yield "swapped sides", {
                **slots, "batting": slots["fielding"], "fielding": slots["batting"]
            }  # fmt: skip
        if "first" in used and "second" in used:
            swapped = {"first": slots["second"], "second": slots["first"]}
            yield "wrong outcome", {**slots, **swapped}
        if "thing" in used:
            times = ORDINALS.index(slots["in"])
            wrong = [
                OUTCOME_WORDS[name]
                for name, entry in self.chances.items()
                if abs(entry["probability"] - 1 / times) > 0.08 and name not in ("5", "bye", "3")
            ]
            yield "wrong outcome", {**slots, "thing": self.chance.choice(wrong)}


_MORE_NUMERIC_TEXT = """
diff runs_so_far first_now second_now third_now other_points other_size said came cases weight rate
delivery
"""
MORE_NUMERIC = NUMERIC | frozenset(_MORE_NUMERIC_TEXT.split())


def passage_of(
    data: Mapping[str, Any], about: str, template: str, chance: random.Random
) -> Passage | None:
    """A passage about an explanation, and the same spoilt; ``None`` where it tells nothing."""
    told = Told(data, chance)
    slots = told.slots(about)
    fields = {name for _, name, _, _ in Formatter().parse(_bare(template)) if name}
    used = {name.partition(".")[0] for name in fields}
    if slots is None or not used <= set(slots):
        return None
    surnames = [name.partition(".")[0] for name in fields if name.endswith(".last")]
    if any(not _alone(data, slots[name]) for name in surnames):
        return None

    def written(values: Mapping[str, str], up: bool, held: bool) -> str:
        text = UP_PAIR.sub(lambda match: match[1 if up else 2], template)
        text = HELD_PAIR.sub(lambda match: match[1 if held else 2], text)
        return text.format(**{key: in_words(key, value) for key, value in values.items()})

    true = written(slots, told.up, told.held)
    rounded = [name.partition(".")[0] for name in fields if ".near" in name]
    ways = [
        (kind, written(wrong, told.up, told.held))
        for kind, wrong in told.spoilt(slots, used)
        # A rounded figure that is nearly right is no untruth.
        if all(wrong[n] == slots[n] or Figure(slots[n]).far(wrong[n]) for n in rounded)
    ]
    if UP_PAIR.search(template):
        ways.append(("flipped direction", written(slots, not told.up, told.held)))
    if HELD_PAIR.search(template):
        kind = "verdict denied" if told.held else "verdict overstated"
        ways.append((kind, written(slots, told.up, not told.held)))
    if about == "nothing":
        ways = []
    if UNORDERED.search(template):
        ways = [(kind, text) for kind, text in ways if kind != "swapped names"]
    kinds = sorted({kind for kind, text in ways if text != true})
    if not kinds:
        return Passage(about, true, None, None)
    kind = chance.choice(kinds)
    return Passage(
        about, true, chance.choice([text for k, text in ways if k == kind and text != true]), kind
    )


def _bare(template: str) -> str:
    return HELD_PAIR.sub(r"\1\2", UP_PAIR.sub(r"\1\2", template))


def _alone(data: Mapping[str, Any], name: str) -> bool:
    """Whether a surname is one player's, and no initial or number."""
    ball = data["ball"]
    people = {ball["bowler"], ball["batter"], ball["non_striker"]}
    people |= {row[role] for row in data["history"] for role in ("bowler", "batter")}
    same = [one for one in people if one and one.split()[-1] == name.split()[-1]]
    return len(same) == 1 and len(name.split()) > 1 and len(name.split()[-1]) > 3


def drawn(
    sample: list[Mapping[str, Any]],
    passages: Mapping[str, tuple[str, ...]],
    chance: random.Random,
    each: int,
) -> Iterator[tuple[Mapping[str, Any], Passage]]:
    """Some passages about every explanation of a sample, every template about as often."""
    templates = [(about, text) for about, texts in passages.items() for text in texts]
    queue: list[tuple[str, str]] = []
    for data in sample:
        told = 0
        for _ in range(3 * each):
            if not queue:
                queue = chance.sample(templates, len(templates))
            about, text = queue.pop()
            passage = passage_of(data, about, text, chance)
            if passage is not None:
                yield data, passage
                told += 1
            if told == each:
                break

"""What an explanation holds, in the order in which a text would ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from attnlens.explanation.attention_types import OUTCOMES, SCALES
from attnlens.explanation.heatmap import UNNAMED, UNSPECIALISED

BOUNDARY: Final = "boundary"


@dataclass(frozen=True, slots=True)
class Known:
    """A true value: its JSON pointer, and how it is written."""

    value: float
    pointer: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something a text says that the explanation does not.

    Attributes:
        sentence: where it is said.
        text: the words in question.
        kind: ``number``, ``name``, ``ball``, ``outcome``, ``count``, ``verdict``, ``cause`` or
            ``direction``.
        problem: what is wrong, in a few words.
        nearest: the nearest true value as it would be written; ``None`` where there is none.
        pointer: where in the explanation that stands (RFC 6901).
    """

    sentence: str
    text: str
    kind: str
    problem: str
    nearest: str | None = None
    pointer: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The same as plain data."""
        return {
            "sentence": self.sentence,
            "text": self.text,
            "kind": self.kind,
            "problem": self.problem,
            "nearest": self.nearest,
            "pointer": self.pointer,
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of ``evidence``; ``balls`` are places in ``history``."""

    at: int
    data: Mapping[str, Any]
    balls: tuple[int, ...]
    names: frozenset[str]

    @property
    def pointer(self) -> str:
        return f"/evidence/{self.at}"

    @property
    def verdict(self) -> str | None:
        told: str | None = self.data["verdict"]
        return told

    @property
    def of_head(self) -> bool:
        return bool(self.data["removed_from"] == "head")

    def change(self, outcome: str) -> float:
        """Points by which hiding moves an outcome; fours and sixes together for a boundary."""
        moved = {entry["outcome"]: entry["points"] for entry in self.data["changes"]}
        if outcome == BOUNDARY:
            return float(moved["4"] + moved["6"])
        return float(moved[outcome])

    def is_positive(self) -> bool:
        return self.verdict == "supported"


class Facts:
    """An explanation as plain data, indexed.

    Attributes:
        signs: the signs that stand for the bowler and the batter in a marked text (see
            `attnlens.explanation.grounding_names`).
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.ball = data["ball"]
        self.history: list[Mapping[str, Any]] = data["history"]
        self.outcomes = data["prediction"]["outcomes"]
        self.signs: dict[str, set[str]] = {"bowler": set(), "batter": set()}
        self.place = {ball["index"]: at for at, ball in enumerate(self.history)}

    @cached_property
    def labels(self) -> dict[str, list[int]]:
        """Places in ``history`` by label; a damaged file can give two balls the same."""
        found: dict[str, list[int]] = {}
        for at, ball in enumerate(self.history):
            found.setdefault(ball["label"], []).append(at)
        return found

    @cached_property
    def claims(self) -> list[Claim]:
        found = []
        for at, claim in enumerate(self.data["evidence"]):
            balls = tuple(self.place[ball] for ball in claim["removed"] if ball in self.place)
            found.append(Claim(at, claim, balls, frozenset(self._names_of(claim))))
        return found

    def _names_of(self, claim: Mapping[str, Any]) -> Iterator[str]:
        """What a text may call the head of a claim."""
        if claim["head"] is None or claim["scale"] is None:
            return
        yield f"head {claim['head'].split('_')[1]}"
        head = self.data["across_balls"][claim["scale"]]["attention_by_head"].get(claim["head"])
        if head is not None:
            for name in (head["pattern"], head["earned"]):
                if name not in (UNNAMED, UNSPECIALISED):
                    yield name.replace("_", " ")

    @cached_property
    def looked_at(self) -> list[frozenset[int]]:
        """Sets of past balls that stand together: those of claims, heads and contributions."""
        sets = [frozenset(claim.balls) for claim in self.claims]
        for scale in SCALES:
            for head in self.data["across_balls"][scale]["attention_by_head"].values():
                for name in ("top_balls", "top_any"):
                    sets.append(self._places(head[name]))
        for group in self.data["contributions"]:
            sets.append(self._places(ball["index"] for ball in group["balls"]))
        ranked = sorted(range(len(self.history)), key=lambda at: -self.history[at]["attention"])
        sets.append(frozenset(ranked[:6]))
        return [one for one in dict.fromkeys(sets) if one]

    def _places(self, balls: Iterable[int]) -> frozenset[int]:
        return frozenset(self.place[ball] for ball in balls if ball in self.place)

    def chance(self, outcome: str, key: str = "probability") -> Known:
        """The probability of an outcome, or its baseline."""
        if outcome == BOUNDARY:
            four, six = self.chance("4", key), self.chance("6", key)
            return Known(four.value + six.value, four.pointer)
        at = OUTCOMES.index(outcome)
        return Known(self.outcomes[at][key], f"/prediction/outcomes/{at}/{key}")

    def after(self, claim: Claim, outcome: str) -> Known:
        """The probability of an outcome with a claim's balls hidden."""
        top = claim.data["top_change"]
        if top["outcome"] == outcome:
            return Known(top["after"], f"{claim.pointer}/top_change/after")
        value = self.chance(outcome).value + claim.change(outcome) / 100
        at = OUTCOMES.index("4" if outcome == BOUNDARY else outcome)
        return Known(value, f"{claim.pointer}/changes/{at}/points")

    def after_ball(self, place: int, outcome: str) -> Known | None:
        """The probability of an outcome with one past ball hidden."""
        moved = {entry["outcome"]: entry["points"] for entry in self.history[place]["changes"]}
        if not moved or outcome == BOUNDARY:
            return None
        at = OUTCOMES.index(outcome)
        value = self.chance(outcome).value + moved[outcome] / 100
        return Known(value, f"/history/{place}/changes/{at}/points")

    def points(self, group: int, outcome: str) -> Known:
        """What a group of inputs adds to an outcome, in points."""
        entries = self.data["contributions"][group]["points"]
        if outcome == BOUNDARY:
            four, six = self.points(group, "4"), self.points(group, "6")
            return Known(four.value + six.value, four.pointer)
        at = OUTCOMES.index(outcome)
        return Known(entries[at]["points"], f"/contributions/{group}/points/{at}/points")

    @cached_property
    def moved(self) -> str:
        """The outcome that the story is about: the one asked about, else the most moved."""
        explained: str | None = self.data["prediction"]["explained"]
        if explained is not None:
            return explained
        entry = max(self.outcomes, key=lambda one: abs(one["probability"] - one["baseline"]))
        return str(entry["outcome"])

    def is_outcome(self, place: int, outcome: str) -> bool:
        """Whether a past ball brought an outcome."""
        ball = self.history[place]
        if outcome == BOUNDARY:
            return bool(ball["boundary"])
        if outcome == "W":
            return bool(ball["wicket"])
        if outcome in ("4", "6") and ball["boundary"] and ball["runs_batter"] == int(outcome):
            return True
        return bool(ball["outcome"] == outcome)

    @cached_property
    def strings(self) -> list[str]:
        """Texts that may be quoted as they are, the longest first."""
        match, ball = self.data["match"], self.ball
        told = [ball["echo"], match["result"], match["event"], *match["notes"]]
        told += [flag["text"] for flag in self.data["flags"]]
        told += [claim["reason"] for claim in self.data["evidence"]]
        texts = {text for text in told if text and len(text.split()) > 2}
        return sorted(texts, key=len, reverse=True)

    @cached_property
    def dates(self) -> dict[str, str]:
        """Days of the match and of the model, and where they stand."""
        found = {day: f"/match/dates/{at}" for at, day in enumerate(self.data["match"]["dates"])}
        for name in ("trained_from", "trained_until", "ratings_until"):
            if self.data["model"][name]:
                found.setdefault(self.data["model"][name], f"/model/{name}")
        calibration = self.data["prediction"].get("calibration")
        for name in ("first", "last"):
            if calibration and calibration.get(name):
                found.setdefault(calibration[name], f"/prediction/calibration/{name}")
        return found


def as_data(explanation: Any) -> Mapping[str, Any]:
    """An explanation as plain data, whatever it is given as: itself, plain data or JSON.

    Raises:
        InputError: it is no explanation.
    """
    from attnlens.explanation.types import Explanation

    if isinstance(explanation, Explanation):
        return explanation.to_dict()
    if isinstance(explanation, str | bytes):
        return Explanation.from_json(explanation).to_dict()
    return Explanation.from_dict(explanation).to_dict()

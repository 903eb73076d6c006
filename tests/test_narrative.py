"""The narrative: every number and name traced to the data, no claim beyond its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import explanation_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words import facts
from attnlens.cricket.words.facts import OUTCOME_WORDS, resolve
from attnlens.cricket.words.narrative import GROUPS
from attnlens.errors import InputError

Data = dict[str, Any]
Change = Callable[[Data], object]


def ways_to_write(value: Any) -> set[str]:
    texts = set()
    for form in facts.FORMS.values():
        try:
            texts.add(form(value))
        except (TypeError, ValueError, LookupError, AttributeError):
            continue
    return texts


def check(data: Data) -> list[str]:
    """Every fact holds, is in its sentence, and leaves no number or name untold."""
    sentences = explanation_cases.narrated(data)
    names = {data["ball"][role] for role in ("batter", "bowler", "non_striker")}
    names |= {entry[role] for entry in data["past_balls"] for role in ("batter", "bowler")}
    names |= set((data["ball"]["happened"] or {}).get("fielders", ()))
    untold = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten) (?:of|runs|off)\b")
    for sentence in sentences:
        rest = sentence["text"]
        for fact in sentence["facts"]:
            assert fact["text"] in ways_to_write(resolve(data, fact["pointer"])), fact
            before, found, rest_after = rest.partition(fact["text"])
            assert found, fact
            assert not untold.search(before), before
            assert not any(name in before for name in names), before
            assert not any(words in before for words in OUTCOME_WORDS.values()), before
            rest = rest_after
        assert not untold.search(rest), rest
        assert not any(name in rest for name in names), rest
        assert not any(words in rest for words in OUTCOME_WORDS.values()), rest
        assert sentence["text"].endswith(".")
        assert "because" not in sentence["text"].lower()
        assert not re.search(r"\b1 (?:balls|runs|bits)|,,| ,|  |\.\.", sentence["text"])
    assert 2 <= len(sentences) <= 9
    return [sentence["text"] for sentence in sentences]


def ball(**facts: Any) -> Change:
    return lambda data: data["ball"].update(facts)


def standing(**facts: Any) -> Change:
    return lambda data: data["ball"]["standing"].update({"partnership_balls": 20} | facts)


def times_usual(times: float, data: Data) -> None:
    data["prediction"]["story_times"] = times
    data["prediction"]["outcomes"][4]["usual"] = round(0.169 / times, 6)


def first_claim(data: Data, **facts: Any) -> None:
    data["evidence"][0] |= facts


def change_of_first_claim(before: float, after: float) -> Change:
    change = {"outcome": "4", "points": 1.0, "before": before, "after": after}
    return partial(first_claim, top_change=change)


def every_verdict(data: Data, *, verdict: str, points: float | None = None) -> None:
    for claim in data["evidence"]:
        claim |= {"verdict": verdict, "reason": "random sets do as much"}
        claim["top_change"]["points"] = points or claim["top_change"]["points"]


def only_comparisons_and_heads_supported(data: Data) -> None:
    for claim in data["evidence"]:
        claim["verdict"] = "supported" if claim["reference"] or claim["share"] else None


def contributions(data: Data, **points: float) -> None:
    for group in data["contributions"]:
        for entry in group["from_usual"]:
            four = entry["outcome"] == "4"
            entry["points"] = points.get(group["group"].replace(" ", "_"), 0.0) if four else 0.0


def poor_calibration(data: Data) -> None:
    like = data["prediction"]["calibration"]["outcomes"][4]
    like |= {"predicted": 0.17, "happened": 0.12, "happened_ci": [0.1, 0.14]}


CHASE = {"target": 160, "runs_required": 84, "balls_left": 76, "required_rate": 6.6}
OPENING = {"bowler_overs": "0.0", "bowler_runs": 0}
LATE = {"runs_required": 24, "balls_left": 11, "required_rate": 13.1}
VARIANTS: dict[str, Change] = {
    **{f"{n} times usual": partial(times_usual, n) for n in (0.3, 0.65, 1.05, 1.2, 5, 9)},
    "likelier elsewhere": lambda data: data["prediction"].update(story_times=0.5),
    "chase": ball(**CHASE),
    "late chase": ball(**CHASE | LATE),
    "last ball of a chase": ball(**CHASE | LATE | {"runs_required": 1, "balls_left": 1}),
    "hat-trick": standing(hat_trick=True),
    "new batter": standing(batter_balls=0),
    "new batter and bowler": standing(batter_balls=0, **OPENING),
    "new bowler": standing(**OPENING),
    "recent batter": standing(batter_balls=3),
    "expensive over": standing(over_runs=14),
    "partnership": standing(partnership_runs=61),
    "dot balls": standing(latest=["4", "0", "0", "0"]),
    "bowler's wickets": standing(bowler_wickets=2),
    "set batter": standing(batter_runs=44),
    "powerplay": standing(partnership_balls=29, phase="powerplay"),
    "death overs": standing(partnership_balls=29, phase="death overs"),
    "free hit": ball(free_hit=True),
    "only comparisons and heads supported": only_comparisons_and_heads_supported,
    **{
        f"every claim {verdict}, points {points}": partial(
            every_verdict, verdict=verdict, points=points
        )
        for verdict in ("not better than chance", "contradicted")
        for points in (None, 0.2)
    },
    **{
        f"claim: {kind}": partial(first_claim, kind=kind, removed=removed)
        for kind, removed in {
            "this over": [45, 46],
            "boundaries": [40],
            "this bowler": [*range(30, 37)],
            "this batter": [20, *range(30, 36)],
            "attended": [40, 44, 46],
            "striker's record": [],
        }.items()
    },
    **{
        f"from {before} to {after}": change_of_first_claim(before, after)
        for before, after in (
            (0.169, 0.1702), (0.174, 0.176), (0.164, 0.176), (0.16, 0.1802), (0.169, 0.169),
            (0.0004, 0.0006),
        )
    },
    "no contributions": contributions,
    "one negative contribution": partial(contributions, scoreboard=-1.25),
    "both signs": partial(contributions, scoreboard=-1.25, this_over=0.5),
    "poor calibration": poor_calibration,
}  # fmt: skip


def test_stories(snapshot: SnapshotAssertion) -> None:
    """Ball 47 and variants of it; a sentence of the first story is its number in brackets."""
    story = check(explanation_cases.explanation(47))
    stories = {"ball 47": story}
    for name, change in VARIANTS.items():
        data = explanation_cases.explanation(47)
        change(data)
        stories[name] = [
            f"({story.index(text) + 1})" if text in story else text for text in check(data)
        ]
    wicket = explanation_cases.explanation(39)
    stories["wicket"] = check(wicket)
    happened = {"out": wicket["ball"]["non_striker"], "how": "run out"}
    wicket["ball"]["happened"] |= happened
    stories["non-striker run out"] = check(wicket)[-1:]
    first = explanation_cases.explanation(1)
    first["ball"] |= {"target": 160, "runs_required": 160, "balls_left": 120}
    stories["first ball of a chase"] = check(first)
    assert stories == snapshot


def came(data: Data, outcome: str, **happened: Any) -> None:
    data["prediction"]["actual"] = outcome
    if outcome in ("4", "6", "W"):
        data["prediction"]["subject"] = outcome
        row = next(row for row in data["prediction"]["outcomes"] if row["outcome"] == outcome)
        data["prediction"]["story_times"] = row["probability"] / row["usual"]
    data["ball"]["happened"] |= {"out": None, "how": None, "fielders": []} | happened


def dismissed(how: str, *fielders: str, end: str = "batter") -> Change:
    def change(data: Data) -> None:
        came(data, "W", out=data["ball"][end], how=how, fielders=list(fielders))

    return change


def last_ball(data: Data) -> None:
    data["ball"] |= CHASE | {"runs_required": 4, "balls_left": 1, "deliveries": 47}
    data["match"]["result"] = "Harbour Kings won by 7 wickets"
    came(data, "4")


KINDS: dict[str, Change] = {
    **{name: partial(came, outcome=name) for name in ("0", "1", "2", "4", "6", "wd", "nb", "bye")},
    "caught": dismissed("caught", "D Fenwick"),
    "caught by a substitute the file does not name": dismissed("caught"),
    "caught and bowled": dismissed("caught and bowled", "N Brandt"),
    "bowled": dismissed("bowled"),
    "lbw": dismissed("lbw"),
    "stumped": dismissed("stumped", "R Varela"),
    "hit wicket": dismissed("hit wicket"),
    "run out by two": dismissed("run out", "R Varela", "K Osei-Lund"),
    "run out at the other end": dismissed("run out", "R Varela", end="non_striker"),
    "obstructing the field": dismissed("obstructing the field"),
    "the last ball of a chase": last_ball,
    "The Hundred": ball(balls_per_over=5),
    "a chase of The Hundred": ball(**CHASE, balls_per_over=5),
}
"""What can come of a ball, and competitions that count otherwise."""


def test_paragraphs(snapshot: SnapshotAssertion) -> None:
    """A paragraph for every kind of ball, as a report would print it."""
    paragraphs = {}
    for name, change in KINDS.items():
        data = explanation_cases.explanation(47)
        change(data)
        paragraphs[name] = " ".join(check(data))
        assert 60 <= len(paragraphs[name].split()) <= 100
    assert paragraphs == snapshot


@pytest.mark.parametrize("part", ["usual", "standing"])
def test_an_explanation_of_before_0_2_0_is_refused(part: str) -> None:
    data = explanation_cases.explanation(47)
    for entry in data["prediction"]["outcomes"] if part == "usual" else [data["ball"]]:
        del entry[part]
    pointer = {"usual": "/prediction/outcomes/0/usual", "standing": "/ball/standing"}[part]
    with pytest.raises(
        InputError, match=f"^not an explanation: {pointer} Field required"
    ) as caught:
        Explanation.from_dict(data)
    assert "\n" not in str(caught.value)


@given(
    ball=st.integers(1, 60),
    evidence=st.booleans(),
    super_over=st.booleans(),
    bowled=st.booleans(),
)
def test_any_ball_is_told_with_its_facts(
    ball: int, evidence: bool, super_over: bool, bowled: bool
) -> None:
    data = explanation_cases.explanation(
        ball, evidence=evidence, super_over=super_over, bowled=bowled
    )
    texts = check(data)
    verdicts = [claim["verdict"] for claim in data["evidence"] if not claim["share"]]
    assert any(", more than comparable" in text for text in texts) == ("supported" in verdicts)
    assert not any("started" in text or "momentum" in text for text in texts)
    assert any(text.startswith("The model had given") for text in texts) == bowled
    words = " ".join(texts).split()
    assert (60 if bowled and evidence and ball > 1 else 30) <= len(words) <= 105
    assert ("in a super over" in texts[0]) == super_over
    assert ("Nothing was tested." in texts) == (not data["evidence"])


def test_a_surname_in_small_letters_begins_a_sentence_with_a_capital() -> None:
    text = json.dumps(explanation_cases.explanation(47)).replace("J Marchetti", "AB de Villiers")
    sentences = [sentence["text"] for sentence in explanation_cases.narrated(json.loads(text))]
    assert "De Villiers hit a four." in sentences
    assert any("for de Villiers's record" in sentence for sentence in sentences)


def test_every_group_of_contributions_has_words() -> None:
    assert {*GROUPS} == {*explanation_cases.GROUPS, "unknown striker", "unknown bowler"}

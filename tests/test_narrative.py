"""The narrative: every number and name traced to the data, no claim beyond its verdict."""

from __future__ import annotations

import copy
import re
from typing import Any

import explanation_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlens.cricket.words import facts
from attnlens.cricket.words.facts import OUTCOME_WORDS, resolve
from attnlens.cricket.words.narrative import GROUPS
from attnlens.show.numbers import percent, signed_points

FORMS: tuple[Any, ...] = (
    *(str, facts.counted, facts.outcome_words, facts.tenths, signed_points),
    *(percent, facts.fine_percent, facts.finest_percent, facts.head_number, facts.spaced),
)


def ways_to_write(value: Any) -> set[str]:
    texts = set()
    for form in FORMS:
        try:
            texts.add(form(value))
        except (TypeError, ValueError, LookupError, AttributeError):
            continue
    return texts


def check(data: dict[str, Any]) -> list[str]:
    """Every fact holds, is in its sentence, and leaves no number or name untold."""
    sentences = explanation_cases.narrated(data)
    names = {data["ball"][role] for role in ("batter", "bowler", "non_striker")}
    names |= {entry[role] for entry in data["history"] for role in ("batter", "bowler")}
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
        informs = "informing" in sentence["text"]
        assert informs == ("which is supported" in sentence["text"])
    assert 2 <= len(sentences) <= 5
    return [sentence["text"] for sentence in sentences]


def told(data: dict[str, Any], words: str) -> str:
    """The one sentence that holds these words."""
    (found,) = [text for text in check(data) if words in text]
    return found


def test_the_whole_story_of_a_ball() -> None:
    data = explanation_cases.explanation(47)
    assert check(data) == [
        "N Brandt to J Marchetti at 76/3: the model makes a single likeliest (34%), but what "
        "stands out is a high chance of a four: 17%, against 12% for a ball of which it knows "
        "nothing.",
        "The model looked most at ball 7.1, informing the chance of a four; hide it and that "
        "chance falls from 17% to 14%, which is supported.",
        "One test was also of the last boundaries, balls 6.6, 6.2, 5.1 and 4.7; hide them and the "
        "chance of a four rises from 16.9% to 17.6%, which is contradicted (other balls do more).",
        "J Marchetti's record lifts a four most (+4.1 points); N Brandt's earlier balls to other "
        "batters pull the other way (-1.3 points).",
        "The ball brought a four, which the model had at 17%: a mild surprise (2.6 bits).",
    ]


def test_an_explained_outcome_is_the_one_the_story_is_about() -> None:
    data = explanation_cases.explanation(47)
    data["prediction"]["explained"] = "6"
    assert "(34%); asked about is a six: 5%, against 4% for a ball" in check(data)[0]
    assert "record lifts a six most" in told(data, "lifts")
    data["prediction"]["explained"] = data["prediction"]["top"]
    assert "a single likeliest, at 34%, against 33% for a ball" in check(data)[0]


def test_a_chase_is_told_as_one() -> None:
    data = explanation_cases.explanation(47)
    data["ball"] |= {"target": 90, "runs_required": 14, "balls_left": 11}
    assert check(data)[0].startswith(
        "N Brandt to J Marchetti, with 14 runs needed from 11 balls: the model"
    )
    data["ball"] |= {"runs_required": 1, "balls_left": 1}
    assert ", with 1 run needed from 1 ball: the model" in check(data)[0]


def test_a_head_is_named_where_its_own_look_is_supported_and_with_its_share() -> None:
    data = explanation_cases.explanation(47)
    by_kind = {claim["kind"]: claim for claim in data["evidence"]}
    text = told(data, "supported")
    assert text.startswith("The model looked most at ball")
    assert "head" not in text
    del by_kind["boundaries"]["removed"][:]
    by_kind["attended most"] |= {"verdict": "not better than chance"}
    leading, other = [text for text in check(data) if ", which is " in text]
    assert leading.endswith("from 17% to 14%, which is not better than chance.")
    assert other.startswith("Head 2 (same batsman) of the medium scale looked most at balls 7.1, ")
    assert "; hide them from that head alone and it falls from 17% to 16%, which is" in other
    assert other.endswith("supported: 34% of what hiding them from the whole model does.")
    for one in data["evidence"]:
        one["share"] = one["share"] and 1.0  # cut there
    least = "supported: at least 100% of what hiding them from the whole model does."
    assert any(text.endswith(least) for text in check(data))
    data["across_balls"]["medium"]["attention_by_head"]["head_2_same_batsman"]["earned"] = None
    assert "Head 2 of the medium scale looked" in told(data, "supported")


def test_what_anybody_would_guess_is_no_finding_and_a_picture_no_sentence() -> None:
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim["verdict"] = "supported" if claim["reference"] else None
        claim["removed"] = claim["removed"] if claim["reference"] or claim["share"] else []
    assert not any(words in text for text in check(data) for words in ("supported", "looked most"))


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
    verdicts = [claim["verdict"] for claim in data["evidence"]]
    assert any("which is supported" in text for text in texts) == ("supported" in verdicts)
    assert not any("started" in text or "momentum" in text for text in texts)
    assert any(text.startswith("The ball brought") for text in texts) == bowled
    assert ("in a super over" in texts[0]) == super_over


def test_without_a_past_there_is_nothing_to_focus_on() -> None:
    texts = check(explanation_cases.explanation(1))
    assert "to open the innings: the model" in texts[0]
    assert texts[1].startswith("There is no earlier ball of this innings to look at")
    assert not any("looked most" in text for text in texts)


def test_one_ball_of_history_is_one_ball() -> None:
    data = explanation_cases.explanation(2)
    assert data["evidence"][0]["verdict"] == "cannot be told"
    assert told(data, "looked") == (
        "The model looked most at ball 0.1; whether it mattered cannot be told (too few other "
        "balls to compare with)."
    )


def test_without_evidence_there_is_a_picture_only() -> None:
    expected, picture = check(explanation_cases.explanation(47, bowled=False, evidence=False))
    assert "a high chance of a four" in expected
    assert picture.endswith("the heat maps are a picture only.")


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("not better than chance", "too small to matter"),
        ("not better than chance", "chance does as much"),
        ("contradicted", "other balls do more"),
    ],
)
def test_an_unsupported_picture_is_told_as_unsupported(verdict: str, reason: str) -> None:
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim |= {"verdict": verdict, "reason": reason}
    why = "" if reason == "chance does as much" else f" ({reason})"
    assert told(data, "looked most").endswith(f"from 17% to 14%, which is {verdict}{why}.")
    assert not any("informing" in text for text in check(data))


def test_other_kinds_of_claim_have_their_words() -> None:
    data = explanation_cases.explanation(47)
    claim = data["evidence"][0]
    claim |= {"kind": "this over", "removed": [45, 46]}
    assert told(data, "supported").startswith(
        "One test was of this over so far, balls 7.2 and 7.1, informing"
    )
    claim |= {"kind": "boundaries", "removed": [40]}
    assert "of the last boundary, ball 6.2, informing the chance of a four; hide it and that" in (
        told(data, "supported")
    )
    claim |= {"kind": "this bowler", "removed": list(range(30, 37))}
    labels = {entry["index"]: entry["label"] for entry in data["history"]}
    assert told(data, "supported").startswith(
        f"One test was of N Brandt's earlier balls, balls {labels[30]} to {labels[36]}, informing"
    )
    claim |= {"kind": "this batter", "removed": [20, *range(30, 36)]}
    assert "of J Marchetti's earlier balls, 7 balls, informing" in told(data, "supported")


@pytest.mark.parametrize(
    ("bits", "words"),
    [(0.4, "no surprise"), (2.9, "a mild surprise"), (2.96, "a surprise"), (6.0, "a great")],
)
def test_how_surprising(bits: float, words: str) -> None:
    data = explanation_cases.explanation(47)
    data["prediction"]["surprise_bits"] = bits
    assert f": {words}" in told(data, "The ball brought")


def test_a_change_too_small_for_whole_percent_shows_its_decimals() -> None:
    data = explanation_cases.explanation(47)
    claim = data["evidence"][0]
    for before, after, words in (
        (0.169, 0.1702, "rises from 16.9% to 17.0%"),
        (0.174, 0.176, "rises from 17.4% to 17.6%"),
        (0.164, 0.176, "rises from 16.4% to 17.6%"),
        (0.16, 0.1802, "rises from 16% to 18%"),
        (0.169, 0.169, "stays at 16.9%"),
        (0.0004, 0.0006, "rises from 0.04% to 0.06%"),
    ):
        claim["top_change"] = {"outcome": "4", "points": 1.0, "before": before, "after": after}
        assert words in told(data, "supported")


def test_contributions_one_way_or_none() -> None:
    flat = explanation_cases.explanation(47)
    for group in flat["contributions"]:
        for entry in group["points"]:
            entry["points"] = 0.0
    assert "Nothing known about this ball moves a four by much." in check(flat)
    down = copy.deepcopy(flat)
    down["contributions"][3]["points"][4]["points"] = -1.25
    assert "The scoreboard holds a four down most (-1.2 points)." in check(down)
    down["contributions"][4]["points"][4]["points"] = 0.5
    assert (
        "The scoreboard holds a four down most (-1.2 points); this over so far pulls the other "
        "way (+0.5 points)." in check(down)
    )
    up = copy.deepcopy(flat)
    up["contributions"][9]["points"][4]["points"] = 1.26
    assert "The balls long past lift a four most (+1.3 points)." in check(up)


def test_every_group_of_contributions_has_words() -> None:
    assert tuple(GROUPS) == explanation_cases.GROUPS

"""The narrative: every number and name traced to the data, no claim beyond its verdict."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import explanation_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlens.cricket.outcomes import OUTCOMES
from attnlens.explanation import heatmap, narrate
from attnlens.explanation.narrative import FORMATS, OUTCOME_WORDS, RELATION_WORDS, resolve


def ways_to_write(value: Any) -> set[str]:
    texts = set()
    for form in FORMATS:
        try:
            texts.add(form(value))
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
    return texts


def check(data: dict[str, Any]) -> list[str]:
    """Every fact holds, is in its sentence, and leaves no number or name untold."""
    sentences = narrate(data)
    names = {data["ball"][role] for role in ("batter", "bowler", "non_striker")}
    names |= {entry[role] for entry in data["history"] for role in ("batter", "bowler")}
    for sentence in sentences:
        rest = sentence["text"]
        for fact in sentence["facts"]:
            assert fact["text"] in ways_to_write(resolve(data, fact["pointer"])), fact
            before, found, rest_after = rest.partition(fact["text"])
            assert found, fact
            assert not re.search(r"\d", before), before
            assert not any(name in before for name in names), before
            rest = rest_after
        assert not re.search(r"\d", rest), rest
        assert not any(name in rest for name in names), rest
        assert sentence["text"].endswith(".")
        assert "because" not in sentence["text"].lower()
    assert 3 <= len(sentences) <= 6
    return [sentence["text"] for sentence in sentences]


def test_the_example_is_the_explanation_of_ball_47_with_its_narrative() -> None:
    example = json.loads(Path(__file__).with_name("explanation_example.json").read_text("utf-8"))
    data = explanation_cases.explanation(47)
    assert example == data | {"narrative": narrate(data)}


def test_the_whole_story_of_a_ball() -> None:
    data = explanation_cases.explanation(47)
    assert check(data) == [
        "For N Brandt to J Marchetti, the model's likeliest outcome is a single at 34%; what "
        "stands out is a four at 17%, against 12% for a ball about which it knows nothing.",
        "On the medium scale, its same-batsman head focused on J Marchetti's earlier balls 7.1, "
        "6.4, 5.5 and 5.4; hiding them from the whole model (the scoreboard stays) lowers the "
        "chance of a four from 17% to 14%, which is supported (q 0.02).",
        "On the medium scale, the head that started as same-bowler focused on N Brandt's earlier "
        "balls 7.2, 7.1, 5.6 and 5.4, but hiding them from the whole model (the scoreboard stays) "
        "lowers the chance of a four from 17% to 16%, which is not better than chance (q 0.31; "
        "controls do as much).",
        "What adds most to a four is the striker's record (+4.1 points); what takes most away are "
        "this bowler's earlier balls (-1.3 points).",
        "The ball brought a four, to which the model had given 17%, a surprise of 2.6 bits.",
    ]


def test_an_explained_outcome_is_the_one_the_story_is_about() -> None:
    data = explanation_cases.explanation(47)
    data["prediction"]["explained"] = "6"
    told = check(data)
    assert "; asked about is a six at 5%, against 4% for a ball" in told[0]
    assert "adds most to a six " in told[3]
    data["prediction"]["explained"] = data["prediction"]["top"]
    assert "likeliest outcome is a single at 34%, against 33% for a ball" in check(data)[0]


def test_what_the_whole_model_lost_is_told_before_what_one_head_lost() -> None:
    data = explanation_cases.explanation(47)
    first = data["evidence"][0]
    data["evidence"].insert(0, first | {"removed_from": "head", "effect_nats": 9.0})
    assert "hiding them from the whole model" in check(data)[1]


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
    told = check(data)
    verdicts = [claim["verdict"] for claim in data["evidence"]]
    assert any("which is supported" in text for text in told) == ("supported" in verdicts)
    assert any(text.startswith("The ball brought") for text in told) == bowled
    assert any("super over" in text for text in told) == super_over


def test_without_a_past_there_is_nothing_to_focus_on() -> None:
    told = check(explanation_cases.explanation(1))
    assert told[1].startswith("There is no earlier ball of this innings to look at")
    assert not any("focused" in text for text in told)
    assert "No ball of this innings has been bowled yet." in told[-1]


def test_one_ball_of_history_is_one_ball() -> None:
    data = explanation_cases.explanation(2)
    told = check(data)
    assert data["evidence"][0]["verdict"] is None
    assert told[1].startswith("On the ")
    assert "earlier ball 0.1, which is a picture and not a claim: too few other sets" in told[1]
    assert "hiding" not in told[1]


def test_skipped_evidence_leaves_a_picture() -> None:
    data = explanation_cases.explanation(47, evidence=False)
    told = check(data)
    assert told[1].endswith("no claim was tested, so this is a picture and not a reason.")
    assert not any("hiding" in text or "adds most" in text for text in told)


def test_a_ball_not_yet_bowled_has_no_aftermath() -> None:
    told = check(explanation_cases.explanation(47, bowled=False, evidence=False))
    assert not any("surprise" in text for text in told)


def test_without_flags_or_contributions_three_sentences_remain() -> None:
    data = explanation_cases.explanation(47, bowled=False, evidence=False)
    data["flags"] = []
    told = check(data)
    assert told[2] == (
        "What is known of the ball itself carries 41% of the weight in the prediction, "
        "earlier balls the rest."
    )


@pytest.mark.parametrize("verdict", ["not better than chance", "contradicted"])
def test_an_unsupported_picture_is_told_as_unsupported(verdict: str) -> None:
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim["verdict"] = verdict
    told = check(data)
    focused = [text for text in told if "focused on" in text]
    assert len(focused) == 1
    assert ", but hiding them from the whole model" in focused[0]
    assert f"which is {verdict} (q " in focused[0]


def test_other_kinds_of_claim_have_their_words() -> None:
    data = explanation_cases.explanation(47)
    claim = data["evidence"][0]
    claim |= {"kind": "this over", "head": None, "removed": [45, 46], "removed_from": "model"}
    assert (
        "The model focused on this over's earlier balls 7.1 and 7.2; hiding them" in check(data)[1]
    )
    claim |= {"kind": "boundaries", "removed": [40]}
    assert "The model focused on the boundary at 6.2; hiding it from" in check(data)[1]
    claim |= {"removed": list(range(12, 47)), "removed_from": "head", "scale": None}
    assert "focused on the boundaries at (35 in all); hiding them from that head" in check(data)[1]
    claim |= {"kind": "head", "scale": "medium", "head": "head_3_free", "removed": [40]}
    assert (
        "On the medium scale, the head that earned the name boundary focused on ball 6.2"
        in check(data)[1]
    )


def test_a_change_too_small_for_whole_percent_shows_its_decimals() -> None:
    data = explanation_cases.explanation(47)
    claim = data["evidence"][0]
    claim["top_change"] |= {"points": 0.12, "before": 0.169, "after": 0.1702}
    assert "raises the chance of a four from 16.9% to 17.0%" in check(data)[1]
    claim["top_change"] |= {"points": 0.0, "after": 0.169}
    assert "leaves a four at 16.9%" in check(data)[1]


def test_every_outcome_has_words_and_a_tiny_chance_is_not_zero() -> None:
    assert tuple(OUTCOME_WORDS) == OUTCOMES
    data = explanation_cases.explanation(47)
    data["prediction"] |= {"actual": "3", "surprise_bits": 1.0}
    data["prediction"]["outcomes"][3]["probability"] = 0.0041
    assert check(data)[-1] == (
        "The ball brought three runs, to which the model had given 0.4%, a surprise of 1.0 bit."
    )


def test_contributions_one_way_or_none() -> None:
    flat = explanation_cases.explanation(47)
    for group in flat["contributions"]:
        for entry in group["points"]:
            entry["points"] = 0.0
    assert "Nothing known about this ball moves a four by much." in check(flat)
    down = copy.deepcopy(flat)
    down["contributions"][3]["points"][4]["points"] = -1.25
    assert "What takes most away from a four is the scoreboard (-1.2 points)." in check(down)
    up = copy.deepcopy(flat)
    up["contributions"][4]["points"][4]["points"] = 1.26
    assert "What adds most to a four is this over (+1.3 points)." in check(up)


def test_every_relation_whose_share_is_told_has_words() -> None:
    assert sorted(RELATION_WORDS) == sorted(heatmap.SHARES)

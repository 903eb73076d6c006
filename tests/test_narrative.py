"""The narrative: every number and name traced to the data, no claim beyond its verdict."""

from __future__ import annotations

import copy
import re
from typing import Any

import explanation_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words import facts
from attnlens.cricket.words.facts import OUTCOME_WORDS, resolve
from attnlens.cricket.words.narrative import GROUPS


def ways_to_write(value: Any) -> set[str]:
    texts = set()
    for form in facts.FORMS.values():
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
    assert 2 <= len(sentences) <= 9
    return [sentence["text"] for sentence in sentences]


def told(data: dict[str, Any], words: str) -> str:
    """The one sentence that holds these words."""
    (found,) = [text for text in check(data) if words in text]
    return found


def test_the_whole_story_of_a_ball() -> None:
    assert check(explanation_cases.explanation(47)) == [
        "Harbour Kings have made 76 for 3 against Valley Riders.",
        "N Brandt, 0 for 9 from 1.2 overs, bowls at J Marchetti, who has 25 from 12.",
        "A four is twice as likely as usual here: 17%, not 8%.",
        "The model adds 7.2 points for J Marchetti's record, but takes off 2.3 for N Brandt to "
        "others in earlier overs.",
        "Without ball 7.1 the chance of a four falls from 17% to 14%, which is supported.",
        "J Marchetti hit a four, which the model had at 17%.",
    ]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (0.3, "is a third as likely as usual here: 17%, not "),
        (0.65, "is much less likely than usual here: 17%, not "),
        (1.05, "is about as likely as usual, 17% where "),
        (1.2, "is likelier than usual here: 17%, not "),
        (5.0, "is five times as likely as usual here: 17%, not "),
        (9.0, "is many times as likely as usual here: 17%, not "),
    ],
)
def test_how_far_from_usual(times: float, words: str) -> None:
    data = explanation_cases.explanation(47)
    data["prediction"]["story_times"] = times
    data["prediction"]["outcomes"][4]["usual"] = round(0.169 / times, 6)
    assert words in told(data, "A four")


def test_an_explanation_of_before_there_was_a_usual_is_told_without() -> None:
    data = explanation_cases.explanation(47)
    prediction = data["prediction"]
    prediction |= {"story_outcome": None, "story_times": None, "explained": "6"}
    for entry in prediction["outcomes"]:
        del entry["usual"]
    for group in data["contributions"]:
        del group["from_usual"]
    del data["ball"]["standing"], data["ball"]["happened"]
    read = check(Explanation.from_dict(data).to_dict())
    assert "A six is at 5%." in read
    assert "N Brandt bowls to J Marchetti." in read


def test_a_chase_is_told_as_one() -> None:
    data = explanation_cases.explanation(47)
    chased = {"target": 160, "runs_required": 84, "balls_left": 76, "required_rate": 6.6}
    data["ball"] |= chased
    assert check(data)[0] == (
        "Harbour Kings, chasing 160 against Valley Riders, are 76 for 3 and want 6.6 an over."
    )
    data["ball"] |= {"target": 160, "runs_required": 24, "balls_left": 11, "required_rate": 13.1}
    assert check(data)[0] == (
        "Harbour Kings, 76 for 3, need 24 runs from 11 balls against Valley Riders, at 13.1 an "
        "over."
    )
    data["ball"] |= {"runs_required": 1, "balls_left": 1}
    assert "need 1 run from 1 ball against Valley Riders." in check(data)[0]
    first = explanation_cases.explanation(1)
    first["ball"] |= {"target": 160, "runs_required": 160, "balls_left": 120}
    assert check(first)[0] == "Harbour Kings set out to make 160 against Valley Riders."


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        ({"hat_trick": True}, "N Brandt is on a hat-trick, with J Marchetti to face."),
        ({"batter_balls": 0}, "J Marchetti has yet to face a ball; N Brandt, 0 for 9 from"),
        (
            {"batter_balls": 0, "bowler_overs": "0.0", "bowler_runs": 0},
            ", and N Brandt to bowl one.",
        ),
        (
            {"bowler_overs": "0.0", "bowler_runs": 0},
            "N Brandt comes on to bowl to J Marchetti, who",
        ),
        ({"batter_balls": 3}, "J Marchetti has just come in (25 from 3); N Brandt, 0 for 9"),
        ({"over_runs": 14}, "N Brandt's over has cost 14 already, and J Marchetti has 25"),
        (
            {"partnership_runs": 61},
            "J Marchetti (25 from 12) and D Fenwick have put on 61; N Brandt",
        ),
        (
            {"latest": ["4", "0", "0", "0"]},
            "Three dot balls have gone by as N Brandt bowls to J Marchetti,",
        ),
        ({"bowler_wickets": 2}, "N Brandt, with 2 wickets, bowls to J Marchetti, 25 from 12."),
        ({"batter_runs": 44}, "J Marchetti is set, with 44 from 12; N Brandt, 0 for 9"),
    ],
)
def test_what_is_special_comes_second(standing: dict[str, Any], words: str) -> None:
    data = explanation_cases.explanation(47)
    data["ball"]["standing"] |= {"partnership_balls": 20} | standing
    assert words in check(data)[1]


def test_the_phase_is_told_by_what_matters_in_it() -> None:
    data = explanation_cases.explanation(47)
    data["ball"]["standing"]["phase"] = "powerplay"
    assert check(data)[0] == (
        "Harbour Kings go at 10.4 an over in the powerplay against Valley Riders and are 76 for 3."
    )
    data["ball"]["standing"]["phase"] = "death overs"
    assert check(data)[0] == "Harbour Kings are 76 for 3 with 76 balls left against Valley Riders."


def test_the_likeliest_is_told_where_the_story_is_of_what_is_not_likely() -> None:
    data = explanation_cases.explanation(47)
    data["prediction"]["story_times"] = 0.5
    assert "A single is likeliest, at 34%." in check(data)


def test_a_free_hit_is_told() -> None:
    data = explanation_cases.explanation(47)
    data["ball"]["free_hit"] = True
    assert check(data)[1] == "It is a free hit for J Marchetti, 25 from 12, off N Brandt."


def test_who_was_out_is_said_also_where_he_did_not_face() -> None:
    data = explanation_cases.explanation(39)
    out, other = data["ball"]["batter"], data["ball"]["non_striker"]
    assert told(data, "It was a wicket").endswith(f": {out} bowled.")
    data["ball"]["happened"] |= {"out": other, "how": "run out"}
    assert told(data, "It was a wicket").endswith(f": {other} run out at the other end.")


def test_what_anybody_would_guess_is_no_finding_nor_is_a_picture_or_a_head() -> None:
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim["verdict"] = "supported" if claim["reference"] or claim["share"] else None
    assert "No finding can be told: nothing is claimed of other balls." in check(data)
    assert not any("supported" in text or "head" in text for text in check(data))


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
    assert any("which is supported" in text for text in texts) == ("supported" in verdicts)
    assert not any("started" in text or "momentum" in text for text in texts)
    assert any(
        "which the model had at" in text or "likeliest outcome" in text for text in texts
    ) == (bowled)
    assert ("in a super over" in texts[0]) == super_over
    assert ("Nothing was tested." in texts) == (not data["evidence"])


@pytest.mark.parametrize("verdict", ["not better than chance", "contradicted"])
def test_what_is_not_supported_is_told_as_that(verdict: str) -> None:
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim |= {"verdict": verdict, "reason": "chance does as much"}
    told_first = told(data, "iding")
    assert told_first.startswith("Hiding ball 7.1 takes the chance of a four from 17% to 14%")
    said = ": that they matter is" if verdict == "contradicted" else ", which is"
    assert told_first.endswith(f"{said} {verdict}.")
    for claim in data["evidence"]:
        claim["top_change"]["points"] = 0.2
    assert told(data, "iding").startswith("Nothing tested decides it: hiding ")


def test_other_kinds_of_claim_have_their_words() -> None:
    data = explanation_cases.explanation(47)
    claim = data["evidence"][0]
    for kind, removed, words in (
        ("this over", [45, 46], "Without the last 2 balls of this over the chance of a four"),
        ("boundaries", [40], "Without the boundary of ball 6.2 the chance of a four"),
        ("this bowler", [*range(30, 37)], "Without the last 7 balls of N Brandt the chance"),
        ("this batter", [20, *range(30, 36)], "Without the last 7 balls to J Marchetti the chance"),
        ("attended", [40, 44, 46], "Without balls 6.2, 6.6 and 7.2 the chance of a four"),
        ("striker's record", [], "Without J Marchetti's record the chance of a four"),
    ):
        claim |= {"kind": kind, "removed": removed}
        assert told(data, "supported").startswith(words)


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
        for entry in group["from_usual"]:
            entry["points"] = 0.0
    assert "Nothing that the model knows moves that from usual by much." in check(flat)
    down = copy.deepcopy(flat)
    down["contributions"][3]["from_usual"][4]["points"] = -1.25
    assert "The model takes off 1.2 points for the rest of the scoreboard." in check(down)
    down["contributions"][4]["from_usual"][4]["points"] = 0.5
    assert (
        "The model takes off 1.2 points for the rest of the scoreboard, but adds 0.5 for "
        "this over so far." in check(down)
    )


def test_calls_that_do_not_hold_up_are_told() -> None:
    data = explanation_cases.explanation(47)
    assert not any("Such calls" in text for text in check(data))
    like = data["prediction"]["calibration"]["outcomes"][4]
    like |= {"predicted": 0.17, "happened": 0.12, "happened_ci": [0.1, 0.14]}
    assert "Such calls, at 17%, came true in 12% of cases." in check(data)


def test_every_group_of_contributions_has_words() -> None:
    assert tuple(GROUPS) == explanation_cases.GROUPS

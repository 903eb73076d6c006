"""The clause bank of an explanation, and texts that are put together from it by id."""

from __future__ import annotations

import json

import pytest
from explanation_cases import explanation
from hypothesis import given
from hypothesis import strategies as st

import attnlens
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.clauses import clauses_prompt, explanation_clauses
from attnlens.cricket.words.facts import resolve
from attnlens.errors import InputError
from attnlens.llm.clause_bank import Clause, ids_in

BANK = (
    Clause("sentence1", "Gold is at 15%."),
    Clause("claim1", "Without the news it would be 9%; verdict: supported.", ("/claims/0",)),
    Clause("claim2", "Without the weather it would be 16%; verdict: not better than chance."),
    Clause("caution1", "Caution: prices of May are missing.", required=True),
)
TEXTS = {clause.id: clause.text for clause in BANK}


def test_chosen_clauses_stand_in_their_order_and_cautions_always() -> None:
    rendered = attnlens.render_text(BANK, ["claim1", "sentence1"])
    assert rendered.text == str(rendered)
    assert rendered.to_dict() == {
        "text": f"{TEXTS['claim1']} {TEXTS['sentence1']} {TEXTS['caution1']}",
        "ids": ["claim1", "sentence1", "caution1"],
        "dropped": [],
    }
    assert attnlens.render_text(BANK, ["caution1", "claim2"]).clauses == (BANK[3], BANK[2])
    assert attnlens.render_text(BANK, []).clauses == (BANK[3],)


def test_an_id_that_chooses_nothing_is_dropped_with_the_reason() -> None:
    rendered = attnlens.render_text(BANK, ["claim7", "claim1", "claim1", "\x1b[31mx" * 99])
    assert [clause.id for clause in rendered.clauses] == ["claim1", "caution1"]
    reasons = [entry.reason for entry in rendered.dropped]
    assert reasons[0].startswith("there is no such id; nearest: claim")
    assert reasons[1:] == ["it is repeated", "there is no such id"]
    assert "\x1b" not in rendered.dropped[2].id
    assert len(rendered.dropped[2].id) < 70


@pytest.mark.parametrize("facts", [BANK, list(BANK), [one.to_dict() for one in BANK], TEXTS,
                                   json.dumps(TEXTS)])  # fmt: skip
def test_facts_and_ids_come_in_several_forms(facts: object) -> None:
    ids = ["claim1"]
    for form in (ids, {"ids": ids}, json.dumps(ids), json.dumps({"ids": ids})):
        assert attnlens.render_text(facts, form).text.startswith(TEXTS["claim1"])


@pytest.mark.parametrize(
    "ids", ["no JSON", {"text": "a"}, [1], 3, None, '{"ids": "a"}', "[[" * 99999]
)
def test_what_is_no_list_of_ids_is_an_error(ids: object) -> None:
    with pytest.raises(InputError, match="the ids"):
        attnlens.render_text(BANK, ids)


@pytest.mark.parametrize("facts", [[], {}, [{"id": "a"}], [3], "[1]", "nothing", {"a": 1}, None, 3])
def test_what_holds_no_clauses_is_an_error(facts: object) -> None:
    with pytest.raises(InputError, match=r"the facts"):
        attnlens.render_text(facts, ["a"])
    with pytest.raises(InputError, match="not an explanation"):
        attnlens.render_text({"schema_version": "2.0"}, ["a"])


def test_an_explanation_offers_its_sentences_claims_facts_and_cautions() -> None:
    typed = Explanation.from_dict(explanation())
    clauses = typed.clauses()
    texts = {clause.id: clause.text for clause in clauses}
    assert len(set(texts.values())) == len(clauses) == len(texts)
    narrative = [text for name, text in texts.items() if name.startswith("sentence")]
    assert narrative == [sentence.text for sentence in typed.narrative]
    cautions = [clause for clause in clauses if clause.required]
    assert [clause.text for clause in cautions] == [f"Caution: {f.text}." for f in typed.flags]
    assert {clause.id.rstrip("0123456789") for clause in cautions} <= {"caution"}
    standing = typed.ball.standing
    figures = f"{standing.bowler_wickets} for {standing.bowler_runs} from {standing.bowler_overs}"
    stand = f"{standing.partnership_runs} from {standing.partnership_balls}"
    for sentence in (
        f"{typed.ball.batter} has {standing.batter_runs} from {standing.batter_balls}.",
        f"{typed.ball.bowler} has {figures} overs.",
        f"The partnership is {stand} balls.",
        "This ball is in the middle overs.",
    ):
        assert sentence in texts.values()
    for facts in (typed, typed.to_dict(), typed.to_json(), clauses):
        assert attnlens.render_text(facts, ["fact1"]).text.startswith(texts["fact1"])


def test_every_claim_with_a_verdict_has_one_clause_that_states_it() -> None:
    typed = Explanation.from_dict(explanation())
    claims = [clause for clause in typed.clauses() if clause.id.startswith("claim")]
    tested = [claim for claim in typed.evidence if claim.verdict is not None]
    assert len(claims) == len(tested) > 5
    for clause in claims:
        (pointer,) = [one for one in clause.pointers if one.endswith("/verdict")]
        assert f"; verdict: {resolve(typed, pointer)}" in clause.text
    order = ["supported", "not better than chance", "cannot be told", "contradicted"]
    verdicts = [
        clause.text.partition("; verdict: ")[2].partition(" (")[0].rstrip(".")
        for clause in claims
        if not clause.text.endswith("for comparison only.")
    ]
    assert verdicts == sorted(verdicts, key=order.index)
    assert verdicts[0] == "supported"


def test_every_pointer_leads_to_a_value() -> None:
    for options in ({}, {"evidence": False, "bowled": False}):
        typed = Explanation.from_dict(explanation(**options))
        for clause in explanation_clauses(typed):
            for pointer in clause.pointers:
                assert resolve(typed, pointer) is not None


def test_a_ball_offers_nothing_that_it_lacks() -> None:
    bare = Explanation.from_dict(explanation(evidence=False, bowled=False))
    texts = [clause.text for clause in bare.clauses()]
    assert not any(clause.id.startswith("claim") for clause in bare.clauses())
    assert not any(text.startswith(("It was", "The target")) for text in texts)
    assert any(text.startswith("The probability of a dot ball is") for text in texts)


def test_the_prompt_holds_the_bank_inside_its_fence() -> None:
    typed = Explanation.from_dict(explanation())
    prompt = clauses_prompt(typed, nonce="0")
    fenced = prompt.user.split("<data-0>\n")[1].split("\n</data-0>")[0]
    assert json.loads(fenced) == {clause.id: clause.text for clause in typed.clauses()}
    assert "reference" not in prompt.text.replace(fenced, "")


@pytest.mark.parametrize(
    ("answer", "ids"),
    [
        ('{"ids": ["claim1", "sentence1"]}', ["claim1", "sentence1"]),
        ('Here:\n```json\n[\n "claim1",\n "claim9"]\n```\nEnjoy [it].', ["claim1", "claim9"]),
        ('<think>["claim2"]</think>{"ids": ["claim1"]}', ["claim1"]),
        ('claim2 </think>["claim1"]', ["claim1"]),
        ("1. claim1\n2. sentence1: Gold is at 15%.\n3. claim9", ["claim1", "sentence1", "claim9"]),
        ('{"ids": ["claim1", "sentence1", "clai', ["claim1", "sentence1"]),
        ('[{"id": "claim2"}, {"id": "claim1"}]', ["claim2", "claim1"]),
        ("claim1, claim1 and claim2.", ["claim1", "claim2"]),
        ("[[[]]] {}\nIt is a claim of mine, since 2019.", []),
        ("[" * 20_000, []),
    ],
)  # fmt: skip
def test_ids_are_read_from_what_models_write(answer: str, ids: list[str]) -> None:
    assert ids_in(answer, TEXTS.keys()) == ids


@given(
    st.text(max_size=80) | st.lists(st.sampled_from([*TEXTS, "x9", "[", '"', "7"])).map(" ".join)
)
def test_whatever_is_answered_the_text_is_made_of_clauses(answer: str) -> None:
    rendered = attnlens.render_text(BANK, ids_in(answer, TEXTS.keys()))
    assert set(rendered.clauses) <= set(BANK)
    assert BANK[3] in rendered.clauses

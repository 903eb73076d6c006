"""Sentences with references: filled in where the data bears them out, dropped where it does not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from explanation_cases import explanation
from hypothesis import given
from hypothesis import strategies as st

import attnlens
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.references import references_prompt
from attnlens.errors import InputError
from attnlens.llm.references import References

PRICES = {
    "city": "Bergen", "metal": "Gold", "p.gold": "15%", "p.gold.usual": "3%", "p.silver": "2%",
    "p.silver.usual": "4%", "p.gold.times": "five times", "times": "five times",
    "c1.what": "the news of May", "c1.before": "15%", "c1.after": "9%",
    "c1.move": "falls from 15% to 9%", "c1.verdict": "supported",
    "c2.what": "the weather", "c2.before": "15%", "c2.after": "16%",
    "c2.verdict": "not better than chance", "g1.what": "the season", "g1.points": "-1.2 points",
}  # fmt: skip


def told(sentence: str) -> tuple[str, str]:
    """A sentence about prices as it reads, and its faults in one line."""
    (one,) = attnlens.render_text(PRICES, [sentence]).sentences
    assert bool(one.text) != bool(one.faults)
    return one.text, "; ".join(one.faults)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("Gold is {times} as likely: {p.gold}.", "Gold is five times as likely: 15%."),
        ("In {city} gold is likelier than usual, {p.gold}, not {{ p.gold.usual }}",
         "In Bergen gold is likelier than usual, 15%, not 3%."),
        ("Because of {c1.what} the chance of gold is {p.gold}.",
         "Because of the news of May the chance of gold is 15%."),
        ("Without {c1.what} it {c1.move}.", "Without the news of May it falls from 15% to 9%."),
        ("Whether {c2.what} mattered: {c2.verdict}.",
         "Whether the weather mattered: not better than chance."),
        ("{g1.what} takes away {g1.points} points.", "The season takes away -1.2 points."),
        ("Gold is at {p.gold}%, the chance of it.", "Gold is at 15%, the chance of it."),
        ("With {c1.what} gone it is {c1.after} instead of {c1.before}, {c1.verdict}.",
         "With the news of May gone it is 9% instead of 15%, supported."),
        ("Gold is at {p.gold}, usually at {p.gold.usual}.", "Gold is at 15%, usually at 3%."),
        ("{c2.what} is {c2.verdict}, {c1.what} is {c1.verdict}.",
         "The weather is not better than chance, the news of May is supported."),
        ("Silver is no likelier than usual: {p.silver}.", "Silver is no likelier than usual: 2%."),
        ("No one would bet on silver, at {p.silver}.", "No one would bet on silver, at 2%."),
    ],
)  # fmt: skip
def test_what_the_data_bears_out_is_filled_in(sentence: str, text: str) -> None:
    assert told(sentence) == (text, "")


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("{p.lead} is the chance.", "{p.lead} refers to nothing; nearest: {p.gold}"),
        ("All is well.", "refers to nothing, so nothing bears it out"),
        ("{city has {p.gold}.", "a brace is left over"),
        ("In {city} it is 15.", '"15" is a number'),
        ("In {city} it is ½.", '"½" is a number'),
        ("In {city} there are twenty-two.", '"twenty" is a number'),
        ("It is the hundredth time in {city}.", '"hundredth" is a number'),
        ("Bergen has {p.gold}.", '"Bergen" is a name'),
        ("In {city} bergen is at home.", '"bergen" is a name'),
        ("Oslo has {p.gold}.", '"Oslo" is a name'),
        ("{city} is not Oslo.", '"Oslo" is a name'),
        ("It is {p.gold}, which is supported.", '"supported" is a verdict'),
        ("Because of {g1.what} it is {p.gold}.", '"Because" tells a cause'),
        ("It is {p.gold}, so it is {city}.", '", so" tells a cause'),
        ("{c2.what} moves it.", "needs its {c2.verdict}"),
        ("Without {c2.what} and {c1.what} it falls.", "needs its {c2.verdict}"),
        ("Gold is less likely than usual at {p.gold}.", '"less likely" goes against the figures'),
        ("Silver is likelier: {p.silver}.", '"likelier" goes against the figures'),
        ("It rises from {c1.before} to {c1.after}.", '"rises" goes against the figures'),
        ("{g1.what} adds {g1.points}.", '"adds" goes against the figures'),
        ("Gold does not fall from {c1.before} to {c1.after}.", '"fall" goes against the figures'),
        ("It rises from {c1.after} to {c1.before}.", "the wrong way round"),
        ("With {c1.what} gone it is {c1.before} instead of {c1.after}.", "the wrong way round"),
        ("{c1.what} is not {c1.verdict}.", "{c1.verdict} is denied"),
        ("{c1.what} came out the opposite of {c1.verdict}.", "{c1.verdict} is denied"),
        ("{c1.what} moves it: {c2.verdict}.", "{c2} stands beside {c1}"),
        ("{c1.verdict} and {c1.verdict}, {c1.what}.", "{c1.verdict} stands twice"),
        (
            "Gold has {p.gold.usual}, where {p.gold} is normal.",
            "stands where {p.gold.usual} should",
        ),
        ("Gold is at {p.gold.usual}.", "without a word of what is usual"),
        ("Gold usually has {p.gold}.", "{p.gold} is not what is usual"),
        ("{g1.what} lends {g1.points} to it.", '"lends" goes against the points'),
        ("Silver is at {p.gold}.", '"silver" is told without {p.silver}'),
        ("Gold has {p.silver} and silver has {p.gold}.", "not stand in the order"),
        ("L'or est plus probable dans cette ville, {city}.", "common English"),
    ],
)
def test_what_it_does_not_is_dropped_and_why(sentence: str, fault: str) -> None:
    assert fault in told(sentence)[1]


def test_sentences_come_in_three_forms_and_the_rest_is_one_answer() -> None:
    sentences = ["It is {city}.", "It is 3 {city}."]
    for given_ in (sentences, {"sentences": sentences}, json.dumps(sentences),
                   json.dumps({"sentences": sentences})):  # fmt: skip
        rendered = attnlens.render_text(PRICES, given_)
        assert rendered.text == str(rendered) == "It is Bergen."
        assert [one.written for one in rendered.dropped] == [sentences[1]]
        assert rendered.to_dict()["dropped"][0]["written"] == sentences[1]
    for wrong in ("no JSON", {"text": "a"}, [1], 3, None, '{"sentences": "a"}', "[[" * 99999):
        with pytest.raises(InputError, match="the sentences"):
            attnlens.render_text(PRICES, wrong)
    for facts in ([], {}, [PRICES], "[1]", "nothing", {"a": 1}, None, 3):
        with pytest.raises(InputError, match=r"the facts?\b"):
            attnlens.render_text(facts, sentences)
    with pytest.raises(InputError, match="not an explanation"):
        attnlens.render_text({"schema_version": "1.0"}, sentences)


def data_of(**options: Any) -> dict[str, Any]:
    """An explanation that has all that references may print."""
    data = explanation(**options)
    for entry in data["prediction"]["outcomes"]:
        entry["usual"] = entry["baseline"]
    data["prediction"] |= {"story_outcome": "4", "story_times": 2.02}
    data["ball"]["standing"] = {
        "phase": "powerplay", "batter_runs": 14, "batter_balls": 16, "bowler_overs": "1.1",
        "bowler_runs": 4, "bowler_wickets": 0, "partnership_runs": 43, "partnership_balls": 29,
        "over_runs": 0, "latest": ["1", "·", "4"], "hat_trick": False,
    }  # fmt: skip
    return data


def test_an_explanation_offers_what_it_has_and_nothing_else() -> None:
    data = data_of()
    typed = Explanation.from_dict(data)
    texts = typed.references()
    assert (texts["batter"], texts["bowler"]) == (data["ball"]["batter"], data["ball"]["bowler"])
    assert texts["batter.figures"] == "14 (16)"
    assert texts["bowler.figures"] == "0-4 (1.1)"
    assert (texts["outcome"], texts["times"], texts["p.four.times"]) == ("a four", "twice", "twice")
    assert texts["latest"] == "1 · 4"
    assert not {"target", "free_hit", "hat_trick", "win.before", "out"} & texts.keys()
    verdicts = [text for name, text in texts.items() if name.endswith(".verdict")]
    order = ["supported", "not better than chance", "cannot be told", "contradicted"]
    assert verdicts == sorted(verdicts, key=order.index)
    assert verdicts[0] == "supported"
    assert all(isinstance(text, str) and text for text in texts.values())
    for facts in (typed, data, typed.to_json()):
        assert attnlens.render_text(facts, ["{batter} has {batter.figures}."]).text
    bare = Explanation.from_dict(explanation(evidence=False, bowled=False)).references()
    assert not {"c1.what", "g1.what", "happened", "p.happened", "out"} & bare.keys()
    assert "p.dot" in bare


def test_a_name_of_the_match_is_told_by_its_id_alone() -> None:
    data = data_of()
    names = {past["bowler"].split()[-1] for past in data["history"]}
    for name in names:
        (one,) = attnlens.render_text(data, [f"{name} has {{score}}."]).sentences
        assert any("is a name" in fault for fault in one.faults)
    (one,) = attnlens.render_text(data, ["It is the death, at {score}."]).sentences
    assert one.faults == ('"death" is not in the data',)


def test_the_prompt_offers_every_id_inside_its_fence() -> None:
    typed = Explanation.from_dict(data_of())
    prompt = references_prompt(typed, nonce="0")
    fenced = prompt.user.split("<data-0>\n")[1].split("\n</data-0>")[0]
    assert json.loads(fenced) == typed.references()
    offered = set(re.findall(r"\{([\w.]+)\}", prompt.user.replace(fenced, "")))
    assert offered <= typed.references().keys()
    assert prompt.tokens < 2100


WORDS = st.sampled_from(
    [*PRICES, "x", "p.", "}", "{", "7", "Oslo", "because", "gold", "□", "\x1b[31m"]
)
PIECES = st.one_of(WORDS, WORDS.map(lambda word: f"{{{word}}}"), st.text(max_size=8))


@given(st.lists(PIECES, max_size=8).map(" ".join))
def test_whatever_is_written_no_number_is_shown_that_no_reference_prints(sentence: str) -> None:
    one = References(PRICES).told(sentence)
    assert bool(one.text) != bool(one.faults)
    left = one.text
    for text in sorted(PRICES.values(), key=len, reverse=True):
        left = left.replace(text, "").replace(text[:1].upper() + text[1:], "")
    assert not any(sign.isnumeric() for sign in left)
    assert "\x1b" not in one.text


def test_sentences_by_a_fresh_hand() -> None:
    passages = Path(__file__).parent.parent / "benchmarks" / "fresh_passages"
    measure = run_path(str(passages / "measure.py"))
    counts, listed = measure["references"](measure["opened"]("A"))
    found = counts["references"]
    assert found["caught"] >= 0.99 * found["faults"] > 200, listed
    assert found["true_flagged"] <= 0.02 * found["true"] > 1, listed

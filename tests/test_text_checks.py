"""Explanations of text: what is claimed, how it is tested, and that the tests are honest."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from text_cases import toy_model, toy_rows

import attnlens
from attnlens.errors import InputError
from attnlens.models.seq2seq import BOS, UNK
from attnlens.text import TextModel, explain_text
from attnlens.text.checks import Ablations, _at_least, check, claimed
from attnlens.text.explain import TextExplanation, recorded
from attnlens.text.tokens import tokenise


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    return toy_model(tmp_path_factory.getbasetemp())


def sentence(place: int = 7) -> str:
    return toy_rows()[place][0]


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_token_claims_the_fewest_words_that_hold_half(weights: list[float]) -> None:
    shares = np.array(weights) / sum(weights)
    chosen = claimed(shares)
    assert list(chosen) == sorted(set(chosen))
    assert 1 <= len(chosen) <= min(3, len(weights))
    rest = [share for place, share in enumerate(shares) if place not in chosen]
    assert min(shares[list(chosen)]) >= max(rest, default=0) - 1e-12
    held = shares[list(chosen)].sum()
    assert held >= 0.5 - 1e-6 or len(chosen) == min(3, len(weights))
    assert held - min(shares[list(chosen)]) < 0.5 + 1e-6


def by_hand(model: TextModel, data: TextExplanation, way: str, gone: tuple[int, ...]) -> np.ndarray:
    """The answer's probabilities without some words, by plain torch and no intervention."""
    written = [one.token for one in data.output.tokens]
    source = model.numbers([data.input.tokens])
    answer = torch.tensor([[BOS, *map(model.target.number, written)]])
    network = model.network
    with torch.no_grad():
        if way == "model":
            source[0, list(gone)] = UNK
            memory = network.remember(source)
        else:
            memory = network.remember(source)
            memory.hidden[..., list(gone)] = True
        logits = network.continued(answer[:, :-1], memory)[0].double()
    shares = logits.softmax(-1)[torch.arange(len(written)), answer[0, 1:]]
    return shares.clamp(1e-12, 1 - 1e-12).numpy()


def nats(full: np.ndarray, other: np.ndarray) -> np.ndarray:
    pairs = ((full, other), (1 - full, 1 - other))
    return np.maximum(sum(p * np.log(p / q) for p, q in pairs), 0)


@pytest.mark.parametrize("way", ["cross-attention", "model"])
def test_claims_are_what_taking_words_away_by_hand_says(model: TextModel, way: str) -> None:
    data = explain_text(model, sentence())
    words = len(data.input.tokens)
    full = by_hand(model, data, way, ())
    told = [claim for claim in data.evidence if claim.removed_from == way]
    assert len(told) == len(data.output.tokens) - 1 == 2
    compared = 0
    for claim in told:
        token, size = claim.token, len(claim.removed)
        assert claim.probability == pytest.approx(full[token], abs=1e-5)
        without = by_hand(model, data, way, tuple(claim.removed))
        assert claim.without == pytest.approx(without[token], abs=1e-5)
        effect = nats(full, without)[token]
        assert claim.effect_nats == pytest.approx(effect, rel=1e-2, abs=1e-5)
        assert claim.words == tuple(data.input.tokens[place] for place in claim.removed)
        if claim.p is None or size > 2:
            continue
        sets = list(itertools.combinations(range(words), size))
        effects = [nats(full, by_hand(model, data, way, one))[token] for one in sets]
        as_much = sum(one >= effect * (1 - 1e-3) for one in effects)
        assert claim.controls == len(sets) - 1
        assert claim.p == pytest.approx(as_much / len(sets), abs=1.5 / len(sets))
        compared += 1
    assert compared
    q = stats.false_discovery_control([claim.p for claim in told if claim.p is not None])
    assert [claim.q for claim in told if claim.q is not None] == pytest.approx(q, abs=1e-5)


def test_verdicts_follow_from_q_and_size(model: TextModel) -> None:
    verdicts = set()
    for place in range(0, 60, 6):
        for claim in explain_text(model, sentence(place)).evidence:
            verdicts.add(claim.verdict)
            if claim.verdict == "supported":
                assert claim.q <= 0.05
                assert claim.points < 0
                assert claim.reason is None
            else:
                assert claim.reason
    assert "supported" in verdicts


def test_too_few_words_make_no_claim(model: TextModel) -> None:
    data = explain_text(model, "take the red box")
    single = [claim for claim in data.evidence if len(claim.removed) == 1]
    assert {(claim.verdict, claim.p) for claim in single} <= {(None, None)}
    for claim in data.evidence:
        if claim.p is None:
            assert claim.reason.startswith(("too few other words", "it looks at them"))
    for text in ("red", "?"):
        lone = explain_text(model, text).evidence
        assert {claim.reason for claim in lone} <= {"too few other words to compare with"}
    bare = explain_text(model, "take the red box", evidence=False)
    assert bare.evidence == ()
    assert bare.output == data.output


def test_the_joint_chance_is_that_of_a_sum_of_trials() -> None:
    chances = [1 / 7, 1 / 11, 1 / 13]
    sums = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}
    for hits in itertools.product((0, 1), repeat=3):
        chance = np.prod([p if hit else 1 - p for p, hit in zip(chances, hits, strict=True)])
        sums[sum(hits)] += float(chance)
    for count in range(4):
        assert _at_least(count, chances) == pytest.approx(sum(sums[n] for n in range(count, 4)))


def test_an_answer_is_told_whole(model: TextModel) -> None:
    data = explain_text(model, sentence().replace("Please", "Abracadabra").replace("one", "zyx"))
    assert "zyx" in data.input.unknown
    assert data.output.complete
    assert data.output.tokens[-1].token == "<eos>"
    for token in data.output.tokens:
        assert sum(token.cross_attention) == pytest.approx(1, abs=1e-4)
        assert len(token.cross_attention) == len(data.input.tokens)
        others = [one.probability for one in token.runners_up]
        assert len(others) == 3
        assert others == sorted(others, reverse=True)
        assert token.token not in [one.token for one in token.runners_up]
        assert token.probability + sum(others) <= 1 + 1e-5
    for text, problem in (("", "is empty"), (" \n", "is empty"), ("x " * 99, "has 99 tokens")):
        with pytest.raises(InputError, match=problem):
            explain_text(model, text)


def test_a_recording_has_three_kinds_with_words_on_them(model: TextModel, tmp_path: Path) -> None:
    recording = recorded(model, sentence())
    words, answer = tokenise(sentence()), model.answers([tokenise(sentence())])[0]
    assert [(site, [axis.labels for axis in recording[site].axes[2:]]) for site in recording] == [
        ("encoder.0.self_attention", [tuple(words), tuple(words)]),
        ("decoder.0.self_attention", [("<bos>", *answer), ("<bos>", *answer)]),
        ("decoder.0.cross_attention", [(*answer, "<eos>"), tuple(words)]),
    ]
    recording.save(tmp_path / "answer.safetensors")
    again = attnlens.load_recording(tmp_path / "answer.safetensors")
    mean = again["decoder.0.cross_attention"].weights[0].mean(0)
    told = [token.cross_attention for token in explain_text(model, sentence()).output.tokens]
    assert mean.tolist() == pytest.approx(np.array(told), abs=1e-6)
    assert not again["decoder.0.self_attention"].weights.triu(1).any()


def test_words_drawn_at_random_are_seldom_supported(model: TextModel) -> None:
    """p is honest: of tokens that claim random words, few get a small one."""
    random = np.random.default_rng(2)
    p_values, verdicts = [], []
    for place in range(0, 200, 4):
        tokens = tokenise(sentence(place))
        source = model.numbers([tokens])
        written = model.network.written(source).tokens
        answer = torch.cat((torch.full((1, 1), BOS), written), 1)
        words = ["?"] * (answer.shape[1] - 2)
        attention = np.full((answer.shape[1] - 1, len(tokens)), 0.01)
        for row in attention:
            row[random.integers(len(tokens))] = 1
        attention /= attention.sum(1, keepdims=True)
        ablations = Ablations(model.network, source, answer)
        for claim in check(ablations, "model", attention, tokens, words).claims:
            if claim.p is not None:
                p_values.append(claim.p)
                verdicts.append(claim.verdict)
    assert len(p_values) >= 40
    assert np.mean(np.array(p_values) <= 0.1) < 0.2
    assert 0.4 < np.mean(p_values) < 0.75
    assert np.mean([verdict == "supported" for verdict in verdicts]) <= 0.05

"""Text models: tokens, pairs from CSV, training, and explanations whose tests are honest."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from safetensors.torch import load_file, save_file
from scipy import stats
from syrupy.assertion import SnapshotAssertion
from text_cases import RECIPE, SIZES, toy_model, toy_rows, write_csv

import attnlens
from attnlens.errors import CheckpointError, InputError
from attnlens.reference.checkpoint import read_checkpoint, write_checkpoint
from attnlens.reference.text import (
    WAYS,
    TextExplanation,
    WordAblations,
    check_tokens,
    claimed_words,
    explain_text,
    record_answer,
)
from attnlens.reference.text_model import (
    AnswerAccuracy,
    HeldOutRule,
    SentencePair,
    TextModel,
    TextRecipe,
    TextSizes,
    Vocabulary,
    answer_accuracy,
    pad_batch,
    read_pairs,
    tokenise,
    train_text,
)
from attnlens.reference.transformer import BOS, EOS, PAD, SPECIAL, UNK


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    return toy_model(tmp_path_factory.getbasetemp())


def sentence(place: int = 7) -> str:
    return toy_rows()[place][0]


# Tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Finnbar O’Tarrigan's mid-off", ["finnbar", "o'tarrigan's", "mid-off"]),
        ("7.4 overs, 1,000 runs!", ["7.4", "overs", ",", "1,000", "runs", "!"]),
        ("<pad> a_b --", ["<", "pad", ">", "a_b", "-", "-"]),
        ("Sølve e\u0301 \u00e9 E\u0301", ["sølve", "é", "é", "é"]),
        (" \t\r\n\u00a0", []),
        ("球 🏏x", ["球", "🏏", "x"]),
        ("\x1b[31mred\x07 \u202ecut\u200bs\ud800", ["[", "31mred", "cuts"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise(text) == tokens


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_is_lost_or_read_as_a_special_token(text: str) -> None:
    tokens = tokenise(text)
    assert not set(tokens) & set(SPECIAL)
    assert all(token and not token.isspace() for token in tokens)
    assert tokenise(" ".join(tokens)) == tokens
    assert "".join(tokens).split() == ["".join(tokens)] or not tokens


def test_a_vocabulary_counts_pads_and_reads() -> None:
    words = Vocabulary.of([["b", "a"], ["b", "c"], ["b", "a"]], min_count=2)
    assert words.words == (*SPECIAL, "b", "a")
    both = pad_batch([words.numbers(["a", "b", "c"]), words.target(["a"])[:2]])
    assert both.tolist() == [[5, 4, UNK], [BOS, 5, PAD]]
    assert words.target(["a"]).tolist() == [BOS, 5, EOS]
    assert words.read([5, 4, UNK, EOS, 4]) == ["a", "b", "<unk>"]
    assert "<pad>" in words
    assert "c" not in words
    with pytest.raises(ValueError, match="must begin with"):
        Vocabulary(("a", "b"))
    with pytest.raises(ValueError, match="must not repeat a word"):
        Vocabulary((*SPECIAL, "a", "a"))


# Pairs


@pytest.mark.parametrize(
    "data",
    [
        b'in,out\nA b.,c d\n"x, y",z\n',
        b'\xef\xbb\xbfin,out\r\nA b.,c d\r\n"x, y",z\r\n',
        b'in,out\n\n  ,\nA b.,c d\n\n"x, y",z',
    ],
)
def test_pairs_are_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(data)
    pairs = read_pairs(path)
    assert pairs.columns == ("in", "out")
    assert [(pair.source, pair.target) for pair in pairs.pairs] == [
        (("a", "b", "."), ("c", "d")),
        (("x", ",", "y"), ("z",)),
    ]
    assert data.split(b"\n")[pairs.pairs[1].line - 1].startswith(b'"x')


def test_columns_are_chosen_by_name_and_separators_said(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text('number\tto\tfrom\n1\t"x\ny"\tp, q\n2\tz\tr\n', encoding="utf-8")
    pairs = read_pairs(path, columns=("from", "to"), separator="\t").pairs
    assert [(pair.source, pair.line) for pair in pairs] == [(("p", ",", "q"), 2), (("r",), 4)]
    with pytest.raises(InputError, match="has no column 'c'; the columns are number, to, from"):
        read_pairs(path, columns=("to", "c"), separator="\t")


BAD_FILES = {
    "header alone": b"a,b\n",
    "one column": b"a\nx\n",
    "empty sentence": b"a,b\nx,y\n \xc2\xa0,y\n",
    "not UTF-8": b"a,b\nx,y\nx,caf\xe9\n",
    "open quote": b'a,b\nx,y\n"x,y\nx,y\n',
    "long sentence": b"a,b\n" + b"x " * 300 + b",y\n",
}


def test_bad_files(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path, messages = tmp_path / "pairs.csv", {}
    for name, content in BAD_FILES.items():
        path.write_bytes(content)
        messages[name] = refused(InputError, read_pairs, path).replace(str(path), "pairs.csv")
        assert "; " in messages[name]
    assert messages == snapshot


@given(st.lists(st.tuples(*[st.sampled_from("abcdefgh")] * 4), min_size=1, max_size=80))
@settings(max_examples=60, deadline=None)
def test_nothing_held_out_is_trained_on(letters: list[tuple[str, ...]]) -> None:
    pairs = [
        SentencePair((x, y), (x, z, w), 2 + place) for place, (x, y, z, w) in enumerate(letters)
    ]
    rule = HeldOutRule.of(pairs, share=0.3, leading=1, new=0.3)
    train, held_out, new = rule.split(pairs)
    assert sorted((*train, *held_out, *new), key=lambda pair: pair.line) == pairs
    assert not {pair.source for pair in train} & {pair.source for pair in held_out}
    assert not {pair.target[1:] for pair in train} & {pair.target[1:] for pair in new}
    assert {" ".join(pair.target[1:]) for pair in new} == rule.combinations
    rest = {pair.target[1:] for pair in (*train, *held_out)}
    known = set(itertools.chain.from_iterable(rest))
    assert all(set(pair.target[1:]) <= known for pair in new)


# Training


def test_it_learns_what_no_single_word_gives_away(model: TextModel) -> None:
    held_out, new = (model.metadata["figures"][name] for name in ("held_out", "new_combinations"))
    chance = 1 / 25
    assert held_out["pairs"] > 40
    assert held_out["exact"] > 10 * chance
    assert held_out["exact_ci"][0] > chance
    assert new["pairs"] > 20
    assert new["tokens"] > 0.4
    unknown = model.answers([tokenise(sentence().replace("take", "grab"))])
    assert len(unknown[0]) == 2


def test_what_cannot_be_trained_on(tmp_path: Path) -> None:
    few = read_pairs(write_csv(tmp_path / "few.csv", toy_rows(8)))
    with pytest.raises(InputError, match="pairs for training, but at least 10 are needed"):
        train_text(few)
    pairs = read_pairs(write_csv(tmp_path / "toy.csv", toy_rows(60)))
    with pytest.raises(InputError, match="a width of 32 is not divisible by 5 heads"):
        train_text(pairs, sizes=TextSizes(width=32, heads=5))
    with pytest.raises(InputError, match=r"diverged in epoch [12]: .*smaller --learning-rate"):
        train_text(pairs, recipe=TextRecipe(epochs=2, learning_rate=1e30), sizes=SIZES)


def test_a_checkpoint_comes_back(model: TextModel, tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    model.save(path)
    again = TextModel.load(path)
    assert (again.name, again.source, again.target) == ("toy", model.source, model.target)
    assert again.metadata["rule"] == model.metadata["rule"]
    assert again.metadata["recipe"]["epochs"] == RECIPE.epochs
    ours, theirs = explain_text(model, sentence()), explain_text(again, sentence())
    assert ours.evidence == theirs.evidence
    found = read_checkpoint(path, "seq2seq")
    another_size, huge = ({**found.metadata["sizes"], "width": width} for width in (16, 10**9))
    for about in (
        {**found.metadata, "sizes": another_size},
        {**found.metadata, "sizes": huge},
        {**found.metadata, "source_words": ["<unk>"]},
        {"kind": "seq2seq"},
    ):
        write_checkpoint(tmp_path / "bad.safetensors", found.tensors, about)
        with pytest.raises(CheckpointError, match=r"bad.safetensors: is damaged .*text-train"):
            TextModel.load(tmp_path / "bad.safetensors")
    save_file(load_file(path), tmp_path / "plain.safetensors")
    with pytest.raises(CheckpointError, match="was not written by attnlens"):
        TextModel.load(tmp_path / "plain.safetensors")


# Figures


def test_figures_count_answers_and_tokens(model: TextModel) -> None:
    sources = [tuple(tokenise(text)) for text, _ in toy_rows(30)]
    answers = map(tuple, model.answers(sources))
    pairs = [SentencePair(*both, 2) for both in zip(sources, answers, strict=True)]
    assert (answer_accuracy(model, pairs).exact, answer_accuracy(model, pairs).tokens) == (1, 1)
    first = pairs[0]
    wrong = [SentencePair(first.source, to, 2) for to in ((*first.target, "more"), ("x", "y"))]
    found = answer_accuracy(model, [*pairs[:8], *wrong])
    places = sum(len(pair.target) for pair in pairs[:8]) + len(first.target) + 1 + 2
    assert found.exact == 0.8
    assert found.tokens == pytest.approx((places - 3) / places, abs=1e-6)
    low, high = stats.binomtest(8, 10).proportion_ci(method="wilson")
    assert found.exact_ci == pytest.approx([low, high], abs=1e-6)
    assert answer_accuracy(model, []) == AnswerAccuracy(0)


# Explanations


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_token_claims_the_fewest_words_that_hold_half(weights: list[float]) -> None:
    shares = np.array(weights) / sum(weights)
    chosen = claimed_words(shares)
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
    changed = source.clone()
    changed[0, list(gone)] = UNK if way == "model" else PAD  # which the decoder does not see
    with torch.no_grad():
        memory = model.network.encode(changed if way == "model" else source)
        logits = model.network.decode(answer[:, :-1], memory, changed)[0].double()
    shares = logits.softmax(-1)[torch.arange(len(written)), answer[0, 1:]]
    return shares.clamp(1e-12, 1 - 1e-12).numpy()


def nats(full: np.ndarray, other: np.ndarray) -> np.ndarray:
    pairs = ((full, other), (1 - full, 1 - other))
    return np.maximum(sum(p * np.log(p / q) for p, q in pairs), 0)


@pytest.mark.parametrize("way", WAYS)
def test_claims_are_what_taking_words_away_by_hand_says(model: TextModel, way: str) -> None:
    data = explain_text(model, sentence())
    words = len(data.input.tokens)
    full = by_hand(model, data, way, ())
    claims = [claim for claim in data.evidence if claim.removed_from == way]
    assert len(claims) == len(data.output.tokens) - 1 == 2
    compared = 0
    for claim in claims:
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
    q = stats.false_discovery_control([claim.p for claim in claims if claim.p is not None])
    assert [claim.q for claim in claims if claim.q is not None] == pytest.approx(q, abs=1e-5)


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
    assert {(claim.verdict, claim.p) for claim in single} <= {("cannot be told", None)}
    for claim in data.evidence:
        if claim.p is None:
            assert claim.reason.startswith(("too few other words", "it looks at them"))
    for text in ("red", "?"):
        lone = explain_text(model, text).evidence
        assert {claim.reason for claim in lone} <= {"too few other words to compare with"}
    bare = explain_text(model, "take the red box", evidence=False)
    assert bare.evidence == ()
    assert bare.output == data.output


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
    recording = record_answer(model, sentence())
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
        written = model.network.generate(source).tokens
        answer = torch.cat((torch.full((1, 1), BOS), written), 1)
        words = ["?"] * (answer.shape[1] - 2)
        attention = np.full((answer.shape[1] - 1, len(tokens)), 0.01)
        for row in attention:
            row[random.integers(len(tokens))] = 1
        attention /= attention.sum(1, keepdims=True)
        ablations = WordAblations(model.network, source, answer)
        for claim in check_tokens(ablations, "model", attention, tokens, words):
            if claim.p is not None:
                p_values.append(claim.p)
                verdicts.append(claim.verdict)
    assert len(p_values) >= 40
    assert np.mean(np.array(p_values) <= 0.1) < 0.2
    assert 0.4 < np.mean(p_values) < 0.75
    assert np.mean([verdict == "supported" for verdict in verdicts]) <= 0.05

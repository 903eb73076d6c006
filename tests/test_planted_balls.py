"""benchmarks/planted_balls: the truth is the rules', and figures are what they are called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from command_line import REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from attnlens.attention.flow import kl_jacobian
from attnlens.evidence.faithfulness import matched_auc
from attnlens.evidence.scores import divergence

FOLDER = REPOSITORY / "benchmarks" / "planted_balls"


@pytest.fixture(scope="module")
def files() -> Iterator[SimpleNamespace]:
    """The benchmark's files as modules, as a script beside them would import them."""
    sys.path.insert(0, str(FOLDER))
    names = ("make", "ask", "score", "methods")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    sys.path.remove(str(FOLDER))
    for name in names:
        del sys.modules[name]


@pytest.fixture(scope="module")
def truth(files: SimpleNamespace) -> pd.DataFrame:
    return pd.read_parquet(files.make.TRUTH)


@pytest.fixture(scope="module")
def question(files: SimpleNamespace) -> Any:
    return next(files.ask.questions(1))


def few(truth: pd.DataFrame, examples: int) -> pd.DataFrame:
    """The truth of some examples of both models."""
    every = truth["example"].unique()
    some = every[:: len(every) // examples]
    return truth[truth["example"].isin(some)].reset_index(drop=True)


def scored(truth: pd.DataFrame, score: Any) -> pd.DataFrame:
    return truth[["example", "past"]].assign(score=score)


def test_the_frozen_truth_is_made_again(files: SimpleNamespace, truth: pd.DataFrame) -> None:
    for example in files.make.examples("planted-1")[:8]:
        made = files.make.truth(*example)
        frozen = truth[truth["example"] == example[0]].reset_index(drop=True)
        pd.testing.assert_frame_equal(made, frozen, check_exact=True)
        _, one, past = example
        assert set(made["past"][made["planted"]]) == one.ruled[past].planted
        assert ((made["nats"] > 0) == made["planted"]).all()


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 30), st.booleans())
def test_matched_areas_are_scikit_learns(seed: int, count: int, grouped: bool) -> None:
    draw = np.random.default_rng(seed)
    positive, scores = draw.random(count) < 0.3, draw.integers(0, 5, count).astype(float)
    groups = draw.integers(0, 2, count)
    areas, by_place = [], []
    for at in np.flatnonzero(positive):
        others = np.flatnonzero(~positive & (groups * grouped == groups[at] * grouped))
        before, after = others[others < at], others[others > at]
        size = min(len(before), len(after), 3)
        if size:
            rows = [at, *before[-size:], *after[:size]]
            areas.append(roc_auc_score(positive[rows], scores[rows]))
            by_place.append(matched_auc(np.arange(count) ** 3.0, positive, groups * grouped))
    found = matched_auc(scores, positive, groups if grouped else None)
    assert (found is None) == (not areas)
    if areas:
        assert found == pytest.approx(np.mean(areas))
        assert by_place[0] == 0.5


def test_a_perfect_method_a_random_one_and_recency(
    files: SimpleNamespace, truth: pd.DataFrame
) -> None:
    some = few(truth, 30)
    figures: Callable[..., Any] = files.score.figures
    perfect = figures(some, scored(some, some["nats"]))
    for name in ("same distance", "same players", "same event", "any ball", "top ball"):
        assert perfect[name].mean == 1.0, name
    assert perfect["rank"].mean == pytest.approx(1.0, abs=0.5)  # two may matter alike
    recency = figures(some, scored(some, -some["distance"]))
    assert recency["same distance"].mean == 0.5
    assert recency["less recency"].mean == 0.0
    assert recency["any ball"].mean > 0.7
    chance = figures(some, scored(some, np.random.default_rng(1).random(len(some))))
    assert chance["same distance"].mean == pytest.approx(0.5, abs=0.1)
    by_hand = [
        roc_auc_score(one["planted"], -one["distance"]) for _, one in some.groupby("example")
    ]
    assert recency["any ball"].mean == pytest.approx(np.mean(by_hand))
    low, high = recency["any ball"].ci
    assert low < recency["any ball"].mean < high


DAMAGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "no column 'score'": lambda frame: frame.drop(columns="score"),
    "no number": lambda frame: frame.assign(score=frame["score"].astype(str)),
    "lacks a score": lambda frame: frame.iloc[1:],
    "a ball twice": lambda frame: pd.concat([frame, frame.iloc[:1]]),
    "not asked about": lambda frame: frame.assign(past=frame["past"] + 1000),
    "not finite": lambda frame: frame.assign(score=[*[np.nan] * 3, *frame["score"][3:]]),
}


def test_bad_files_get_a_line(
    files: SimpleNamespace, truth: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.parquet"

    def complaint() -> str:
        assert files.score.main([str(path)]) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert "mine.parquet" in line
        return line

    assert "no Parquet file" in complaint()
    path.write_text("example,past,score\n")
    assert "no Parquet file" in complaint()
    for name, damage in DAMAGES.items():
        damage(scored(truth, 1.0)).to_parquet(path)
        assert name in complaint()


def test_masks_vectors_and_the_model_say_the_same(question: Any) -> None:
    masks = np.ones((3, question.past), bool)
    masks[1, -5:] = masks[2] = False
    found = question.predict(masks)
    with torch.no_grad():
        whole = question.model(question.batch)[0].double().softmax(-1).numpy()
        again = question.logits(question.vectors.repeat(2, 1, 1)).double().softmax(-1).numpy()
    np.testing.assert_allclose(found[:1], whole, atol=1e-6)
    np.testing.assert_allclose(again, whole.repeat(2, 0), atol=1e-6)
    assert np.abs(found[1:] - found[0]).max(1).min() > 1e-4


def test_the_kl_matched_jacobian_is_what_a_small_step_costs(question: Any) -> None:
    vectors = question.vectors.requires_grad_()
    scores = kl_jacobian(question.logits(vectors[None])[0], vectors)
    step = 0.05
    with torch.no_grad():
        moved = step * torch.eye(question.past)[..., None] * vectors
        every = torch.cat([vectors[None], vectors - moved, vectors + moved])
        chances = question.logits(every).double().softmax(-1)
    # The mean over a step down and a step up has no third-order error.
    costs = divergence(chances[0].numpy(), chances[1:].numpy()).reshape(2, -1).mean(0) / step**2
    large = scores > np.quantile(scores, 0.8)
    np.testing.assert_allclose(costs[large], scores[large], rtol=0.1)


def test_every_method_and_the_readmes_write_a_file_that_can_be_scored(
    files: SimpleNamespace, truth: pd.DataFrame, question: Any, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files.methods, "PERMUTATIONS", 1)
    monkeypatch.setattr(files.ask, "questions", lambda: [question])
    captum = importlib.util.find_spec("captum") is not None
    written = files.methods.write(tmp_path, [question])
    # Structure alone is fitted on balls of other matches, and here there is one.
    missing = {files.methods.STRUCTURE, *(() if captum else files.methods.CAPTUM)}
    assert [path.stem for path in written] == [n for n in files.methods.METHODS if n not in missing]
    mine = truth[truth["example"] == question.example]
    for path in written:
        scores = files.score.read_scores(path, mine)
        assert files.score.line(path.stem, files.score.figures(mine, scores)).count("|") == 9
    _, _, rest = (FOLDER / "README.md").read_text(encoding="utf-8").partition("```python\n")
    exec(rest.partition("```")[0], {})
    hiding = next(path for path in written if path.stem == "hiding")
    scores = [files.score.read_scores(path, mine)["score"] for path in ("mine.parquet", hiding)]
    np.testing.assert_allclose(*scores, atol=1e-7)
    assert max(scores[0]) > 1e-4

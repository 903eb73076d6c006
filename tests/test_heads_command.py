"""``attnlens lab heads``: its mathematics under hypothesis, and the command itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SCALES, Here
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_predictors import small_predictor
from syrupy.assertion import SnapshotAssertion

from attnlens.attention.heads import departure
from attnlens.cricket.explain.reading import SITES
from attnlens.cricket.lab.simulator import simulate_match, write_match
from attnlens.cricket.predictor.relations import STARTING_PATTERNS
from attnlens.cricket.predictor.temporal import WHOLE_RELATIONS
from attnlens.cricket.predictor.trained import save_predictor

PREDICTOR = small_predictor()
HELD_OUT = range(6, 12)


# the generic part

share = st.floats(0.01, 1.0)


@settings(max_examples=50, deadline=None)
@given(weights=arrays(float, 8, elements=share), held=arrays(bool, 8))
def test_a_departure_is_what_the_split_explains(
    weights: np.ndarray[Any, Any], held: np.ndarray[Any, Any]
) -> None:
    """Chain rule: the divergence is the split's and what is left inside its two sides."""
    if held.all() or not held.any():
        return
    paid = weights / weights.sum()
    whole = (paid * np.log(paid * 8)).sum()
    inside = 0.0
    for side in (held, ~held):
        part = paid[side] / paid[side].sum()
        inside += paid[side].sum() * (part * np.log(part * side.sum())).sum()
    split = departure(np.array(paid[held].sum()), np.array(held.mean()))
    assert float(split) == pytest.approx(whole - inside, abs=1e-9)
    assert float(split) >= -1e-12


# the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matches before and after the small predictor's training, and its checkpoint."""
    made = tmp_path_factory.mktemp("heads")
    save_predictor(made / "one.safetensors", PREDICTOR)
    (made / "matches").mkdir()
    for seed in (4, *HELD_OUT):
        write_match(simulate_match(seed), made / "matches" / f"{seed}.json")
    return made


Heads = Callable[..., str]


@pytest.fixture
def heads(folder: Path, attnlens_here: Here) -> Heads:
    attnlens_here.patch.chdir(folder)
    return partial(attnlens_here.good, "lab", "heads", "--model", "one.safetensors")


def figures(value: Any) -> Iterator[tuple[float, list[float]]]:
    """Every figure of a document that has an interval."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name.endswith("_ci") and member is not None:
                yield value[name.removesuffix("_ci")], member
            yield from figures(member)
    elif isinstance(value, list):
        for member in value:
            yield from figures(member)


def test_the_document(heads: Heads) -> None:
    data = json.loads(heads("matches", "--balls", "20", "--json"))
    assert (data["balls"], data["seed"], data["model"]["name"]) == (20, 5, "one")
    assert data["dates"] == ["2024-01-07", "2024-01-12"]
    assert [scale["scale"] for scale in data["scales"]] == list(SCALES)
    heads = [head for scale in data["scales"] for head in scale["heads"]]
    order = sorted(heads, key=lambda head: head["importance"]["rank"])
    assert [head["importance"]["rank"] for head in order] == list(range(1, len(heads) + 1))
    nats = [head["importance"]["nats"] for head in order]
    assert nats == sorted(nats, reverse=True)
    # 20 balls are too few for any name.
    assert {head["earned"] for head in heads} == {"unspecialised"}
    for scale in data["scales"]:
        table = PREDICTOR.model.get_submodule(SITES[scale["scale"]]).bias.detach().numpy()  # type: ignore[union-attr, operator]
        values = [[bias["value"] for bias in head["biases"]] for head in scale["heads"]]
        np.testing.assert_allclose(values, table, atol=1e-6)
        whole = scale["scale"] == "whole"
        names = [head["head"].split("_", 2)[2] for head in scale["heads"]]
        assert names[:2] == list((WHOLE_RELATIONS if whole else STARTING_PATTERNS)[:2])
        sees = [head["sees"] for head in scale["heads"]]
        assert sees == list(
            WHOLE_RELATIONS if whole else (None, *STARTING_PATTERNS[1:], *[None] * 9)[: len(sees)]
        )
    assert data["scales"][0]["heads"][1]["biases"][1]["start"] == 2.0
    for head in heads:
        by_distance = head["mean_by_distance"]
        assert len(by_distance) == 24
        assert sum(by_distance) <= 1 + 1e-3
        shares = [row["share"] for row in head["strongest"]]
        assert shares == sorted(shares, reverse=True)
        assert all(row["looked_at"] < row["ball"] for row in head["strongest"])
    # The micro scale sees five past balls, and each ball's shares of them sum to 1.
    micro = data["scales"][0]["heads"][0]["mean_by_distance"]
    assert sum(micro[:5]) == pytest.approx(1, abs=1e-3)
    assert not any(micro[5:])
    assert 0 < sum(scale["weight"] for scale in data["scales"]) < 1
    found = list(figures(data))
    assert len(found) > 400
    assert all(low <= high for _, (low, high) in found)


def test_a_narrow_page_has_the_same_words(heads: Heads, attnlens_here: Here) -> None:
    pages = []
    for width in ("110", "60"):
        attnlens_here.patch.setenv("COLUMNS", width)
        pages.append(heads("matches", "--balls", "12", "--until", "2024-01-09"))
    wide, narrow = pages
    first, *lines = wide.splitlines()
    assert first == "what the heads of one do, over 12 balls of 3 matches, 2024-01-07 to 2024-01-09"
    assert sum(line.endswith("rank") for line in lines) == 5
    for words in ("head 0 ", "head 5 ", " all ", " same batter ", " over change only "):
        assert words in wide
    assert "…" not in narrow
    counts = [Counter(word.strip(",") for word in page.split()) for page in pages]
    assert counts[0] == counts[1]


def test_bad_values(folder: Path, attnlens_here: Here, snapshot: SnapshotAssertion) -> None:
    attnlens_here.patch.chdir(folder)
    bad = ("matches/4.json", "matches --from 2024-01-02", "matches --balls 0", "nowhere")
    asked = ("--model", "one.safetensors")
    refusals = [attnlens_here.refused("lab", "heads", *words.split(), *asked) for words in bad]
    assert refusals == snapshot

"""Analysis takes records of every kind, and what Hugging Face models and Captum give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from recording_cases import (
    KEY_NAMES,
    QUERIES,
    lazy_attention,
    lazy_record,
    rows_record,
    top_record,
    whole_record,
)
from scipy import stats

from attnlens.attention import (
    entropy,
    entropy_bounds,
    relation_scores,
    rollout,
    strongest_keys,
)
from attnlens.attention import focus as focus_module
from attnlens.errors import InputError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention

WHOLE = lazy_attention().weights().double().numpy()


def test_whole_rows_and_lazy_records_give_what_their_weights_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(focus_module, "_BLOCK_CELLS", 2 * 6 * 11 * 2)
    for record, expected in (
        (whole_record(), WHOLE),
        (lazy_record(), WHOLE),
        (rows_record(), WHOLE[:, :, [2, 6]]),
    ):
        np.testing.assert_allclose(entropy(record), entropy(expected), atol=1e-5)
        found, wanted = strongest_keys(record, 3), strongest_keys(expected, 3)
        np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-6)
        paid = wanted.weights > 0
        np.testing.assert_array_equal(found.positions[paid], wanted.positions[paid])
    paid = WHOLE.sum(-1) > 0
    np.testing.assert_allclose(
        entropy(lazy_record())[paid], stats.entropy(WHOLE[paid], axis=-1), atol=1e-6
    )


def test_labels_of_a_record_name_keys() -> None:
    record = lazy_record().labelled(key=KEY_NAMES)
    found = strongest_keys(record, 2)
    assert found.labels is not None
    at = found.positions[1, 3, 5]
    assert found.labels[1, 3, 5].tolist() == [KEY_NAMES[place] for place in at]


def test_a_top_k_record_has_bounds_and_no_whole_rows() -> None:
    top = top_record()
    for measure in (entropy, lambda one: rollout([one])):
        with pytest.raises(InputError) as caught:
            measure(top)
        assert "strongest keys were kept" in str(caught.value) or "rollout needs" in str(
            caught.value
        )
    low, high = entropy_bounds(top.weights, top.residual, top.key_count)
    paid = WHOLE.sum(-1) > 0
    true = entropy(WHOLE)  # residuals are rounded to single precision
    assert (low[paid] <= true[paid] + 1e-5).all()
    assert (true[paid] <= high[paid] + 1e-5).all()


def test_relations_of_all_queries_serve_a_record_of_some() -> None:
    flags = np.zeros((QUERIES, 11), bool)
    flags[:, 3] = flags[:, 0] = True
    for relation in (flags, flags[[2, 6]]):
        found = relation_scores(rows_record(), relation)
        expected = relation_scores(WHOLE[:, :, [2, 6]], flags[[2, 6]])
        np.testing.assert_allclose(found.share, expected.share, atol=1e-6)


def test_lazy_layers_roll_out() -> None:
    torch.manual_seed(1)
    axes = tuple(map(Axis, ("batch", "head", "query", "key")))
    lazy = [
        LazyAttention(torch.randn(2, 4, 9, 5), torch.randn(2, 2, 9, 5), 0.4, causal=True)
        for _ in range(3)
    ]
    records = [AttentionRecord.of_lazy(str(n), 0, one, axes) for n, one in enumerate(lazy)]
    whole = [one.weights() for one in lazy]
    np.testing.assert_allclose(rollout(records), rollout(whole), atol=1e-6)
    np.testing.assert_allclose(rollout(records, rows=[-1]), rollout(whole)[:, -1:], atol=1e-6)

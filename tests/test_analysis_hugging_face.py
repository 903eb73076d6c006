"""Analysis takes what a Hugging Face model gives for ``output_attentions``."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from attnlens.analysis import earlier_token, entropy, first_token, relation_scores, rollout


def test_attention_of_a_hugging_face_model() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = transformers.GPT2Config(
        n_layer=2, n_head=3, n_embd=12, vocab_size=31, n_positions=13, attn_implementation="eager"
    )
    model = transformers.GPT2Model(sizes).eval()
    tokens = torch.randint(31, (2, 13))
    with torch.no_grad():
        given = model(tokens, output_attentions=True).attentions
    arrays = [layer.double().numpy() for layer in given]
    np.testing.assert_allclose(rollout(given), rollout(arrays), atol=1e-12)
    np.testing.assert_allclose(entropy(given[1]), stats.entropy(arrays[1], axis=-1), atol=1e-6)
    scores = relation_scores(given[0], earlier_token(13))
    byhand = np.diagonal(arrays[0], offset=-1, axis1=2, axis2=3).mean(-1)
    np.testing.assert_allclose(scores.share, byhand)
    sinks = relation_scores(given[0], first_token(13))
    np.testing.assert_allclose(sinks.share, arrays[0][:, :, 1:, 0].mean(-1))

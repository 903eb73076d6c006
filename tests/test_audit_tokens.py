"""The first table of an audit, and the losses of `ablate`, beside the same done by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from needed import skip_without
from refused import refused
from test_audit import SMALL, Planted, gpt, review
from torch import Tensor

import attnlens
from attnlens.audits.head_table import site_places
from attnlens.errors import InputError

skip_without("transformers")
from transformers import BertConfig, BertForMaskedLM  # noqa: E402

WORDS = torch.randint(5, 100, (1, 12), generator=torch.Generator().manual_seed(2))


def answers(model: Any, **named: Tensor) -> Tensor:
    with torch.no_grad():
        return model(**named).logits[0, -1].double().log_softmax(-1)


def test_each_token_is_hidden_exactly() -> None:
    model = gpt()
    report = attnlens.audit(model, WORDS, heads=0)
    assert [token.position for token in report.tokens] == list(range(11))  # the last one answers
    whole = answers(model, input_ids=WORDS)
    answer = int(whole.argmax())
    with attnlens.record(model) as recording, torch.no_grad():
        model(WORDS)
    looks = torch.cat([one.weights[0, :, -1] for one in recording.records()]).mean(0)
    for token in report.tokens:
        with attnlens.intervene(model, hide=token.position):
            without = answers(model, input_ids=WORDS)
        before, after = math.exp(whole[answer]), math.exp(without[answer])
        assert token.before == pytest.approx(before, rel=1e-4)
        assert token.after == pytest.approx(after, rel=1e-4)
        assert token.points == pytest.approx(100 * (after - before), abs=1e-3)
        pair = np.array([before, 1 - before]), np.array([after, 1 - after])
        divergence = (pair[0] * np.log(pair[0] / pair[1])).sum()
        assert token.nats == pytest.approx(divergence, rel=1e-3, abs=1e-7)
        assert token.attention == pytest.approx(float(looks[token.position]), abs=1e-6)
    text = repr(report)
    first = max(report.tokens, key=lambda token: token.nats)
    row = text.split("effect of hiding each token alone")[1].splitlines()[2]
    assert row.endswith(f"  {first.item}")
    assert f"{first.points:+.1f}" in row


def test_a_planted_token_stands_first_and_its_size_is_told() -> None:
    report = attnlens.audit(Planted(), review(), target=1)
    first = max(report.tokens, key=lambda token: token.nats)
    assert first.position == 17
    assert report.claims[0].verdict == "supported"
    assert "✓ larger" in repr(report)
    row = repr(report).split("effect of hiding each token alone")[1].splitlines()[2]
    assert row.startswith(f"  {'large' if first.nats >= 0.5 else 'medium'}")
    assert row.endswith(f"  {first.item}")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_audit_runs_where_gradients_are_off(mode: Any) -> None:
    model = gpt()
    plain = attnlens.audit(model, WORDS, heads=1)
    with mode():
        words = WORDS.clone()
        report = attnlens.audit(model, words, heads=1)
    assert report.tokens == plain.tokens
    assert [row.importance for row in report.heads] == [row.importance for row in plain.heads]


def test_a_masked_model_is_asked_for_its_last_token() -> None:
    model = masked_model()
    report = attnlens.audit(model, "t9 t11 t20 t7 t31 t15", tokens=Tokens())
    assert report.target.startswith("masked token")
    assert report.inputs[0].items[5:8] == ("t31", "[MASK]", "[SEP]")


def test_what_is_no_number_of_heads_or_no_option() -> None:
    assert attnlens.audit(gpt(), WORDS, heads=0).claims
    message = refused(InputError, attnlens.audit, gpt(), WORDS, heads=-1)
    assert "heads=-1 is not a number of heads" in message
    message = refused(InputError, attnlens.audit, gpt(), WORDS, head=1)
    assert message.startswith(
        "audit has no option 'head'; use inputs, tokens, target, layers, heads"
    )


@pytest.mark.parametrize(
    ("sites", "names"),
    [
        (["h.0.attn", "h.1.attn"], ["L0", "L1"]),
        (
            [
                *(f"encoder.block.{n}.layer.0.SelfAttention" for n in range(2)),
                *(f"decoder.block.{n}.layer.0.SelfAttention" for n in range(2)),
                *(f"decoder.block.{n}.layer.1.EncDecAttention" for n in range(2)),
            ],
            ["encoder L0", "encoder L1", "decoder L0", "decoder L1", "decoder cross L0",
             "decoder cross L1"],
        ),
        (
            ["decoder.layers.0.self_attn", "decoder.layers.0.multihead_attn"],
            ["decoder L0", "decoder cross L0"],
        ),
        (["blocks.0.rows", "blocks.0.columns"], ["blocks.0.rows L0", "blocks.0.columns L0"]),
    ],
)  # fmt: skip
def test_every_site_has_a_name_of_its_own(sites: list[str], names: list[str]) -> None:
    places = site_places(sites)
    assert [f"{stack} L{layer}".strip() for stack, layer in places.values()] == names


class Tokens:
    """Words ``t5`` and such, with the special tokens of BERT, padded to ten."""

    mask_token, mask_token_id, unk_token_id, all_special_ids = "[MASK]", 4, 1, (0, 2, 3)

    def __call__(self, text: str, **_: Any) -> dict[str, Tensor]:
        ids = [2, *(int(word[1:]) for word in text.split()), 3]
        padded = torch.tensor([ids + [0] * (10 - len(ids))])
        return {"input_ids": padded, "attention_mask": (padded != 0).long()}

    def decode(self, ids: list[int]) -> str:
        return {0: "[PAD]", 2: "[CLS]", 3: "[SEP]", 4: "[MASK]"}.get(ids[0], f"t{ids[0]}")


def masked_model() -> Any:
    torch.manual_seed(1)
    return BertForMaskedLM(BertConfig(**SMALL)).eval()


def test_the_loss_of_a_language_model_leaves_padding_out() -> None:
    model, text = gpt(), "t9 t11 t20 t7 t31 t15"
    found = attnlens.ablate(model, [text], tokens=Tokens(), heads=["L0H0"])
    encoded = Tokens()(text)
    labels = encoded["input_ids"].masked_fill(encoded["attention_mask"] == 0, -100)
    with torch.no_grad():
        own = float(model(**encoded, labels=labels).loss)
    assert found.loss == pytest.approx(own, abs=1e-5)


def test_the_loss_of_a_masked_model_is_of_masked_tokens() -> None:
    model, text = masked_model(), "t9 t11 t20 t7 t31 t15"
    found = attnlens.ablate(model, [text], tokens=Tokens(), heads=["L0H0"])
    encoded = Tokens()(text)
    ids, labels = encoded["input_ids"], torch.full_like(encoded["input_ids"], -100)
    labels[0, 4] = ids[0, 4]  # the fourth of six words: every seventh from the fourth on
    with torch.no_grad():
        own = model(**encoded | {"input_ids": ids.clone().index_fill_(1, torch.tensor(4), 4)},
                    labels=labels).loss  # fmt: skip
    assert found.loss == pytest.approx(float(own), abs=1e-5)
    # Labels among the inputs are the model's own loss.
    named = {"input_ids": ids, "attention_mask": encoded["attention_mask"], "labels": labels}
    with torch.no_grad():
        own = model(**named).loss
    assert attnlens.ablate(model, named, heads=["L0H0"]).loss == pytest.approx(float(own), abs=1e-5)
    # The original token of a mask in the text is unknown.
    with pytest.raises(InputError, match="original tokens of the masked positions are unknown"):
        attnlens.ablate(model, {"input_ids": ids}, heads=["L0H0"])

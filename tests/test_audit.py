"""Audits: what they find where the truth is known, and what they compare with done by hand."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from attention_cases import module
from captum.attr import LayerGradientXActivation
from needed import skip_without
from refused import refused
from torch import Tensor, nn

import attnlens
from attnlens.attention.focus import sink_items
from attnlens.attention.views import maps_data
from attnlens.audits.inputs import AuditInput
from attnlens.audits.report import AuditedClaim
from attnlens.audits.screen import Target, importance, screen
from attnlens.cricket.explain.types import Evidence
from attnlens.errors import IncompleteRecordingError, InputError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.recording import Recording

skip_without("transformers")
from transformers import (  # noqa: E402
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PatchTSTConfig,
    PatchTSTForPrediction,
    T5Config,
    T5ForConditionalGeneration,
)

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "vocab_size": 100,
}  # fmt: skip
FILLER, JUDGED = 5, 7
LENGTH = 41
AXES = tuple(Axis(name) for name in ("batch", "head", "query", "key"))


class Planted(nn.Module):
    """Two heads of two places' answers; the last place's word of judgement decides the class.

    Both heads look twice as much at the word `JUDGED` as at others; ``sink`` is what is added to
    the logit of the first place, and ``used`` is how much of what is looked at reaches the answer.
    """

    def __init__(self, *, used: float = 1.0, sink: float = 0.0) -> None:
        super().__init__()
        self.probe = AttentionProbe()
        self.used, self.sink = used, sink
        generator = torch.Generator().manual_seed(0)
        self.values = nn.Parameter(0.02 * torch.randn(10, 2, generator=generator))
        with torch.no_grad():
            self.values[JUDGED] = torch.tensor([-20.0, 20.0])
        self.eval()

    def forward(self, words: Tensor) -> Tensor:
        count = words.shape[1]
        logits = (words == JUDGED).double() * 0.7
        logits[:, 0] += self.sink
        logits = logits[:, None, None].expand(-1, 2, count, -1)
        later = torch.ones(count, count, dtype=torch.bool).triu(1)
        weights = self.probe(logits.masked_fill(later, -torch.inf).softmax(-1))
        return self.used * (weights.mean(1) @ self.values[words].double())[:, -1]


def review(at: int | None = 17) -> Tensor:
    """Words of which one, if any, judges."""
    words = torch.arange(LENGTH)[None] % FILLER
    if at is not None:
        words[0, at] = JUDGED
    return words


def gpt(**more: Any) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 32, "vocab_size": 100, "n_positions": 40}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, **more)).eval()


def test_the_one_word_that_decides_is_named_and_supported() -> None:
    report = attnlens.audit(Planted(), review(), target=1)
    first = next(claim for claim in report.claims if claim.kind == "weighed most")
    assert (first.verdict, first.removed) == ("supported", (17,))
    assert first.p == pytest.approx(1 / (LENGTH - 0))
    assert first.top_change.points < -1
    attended = next(claim for claim in report.claims if claim.kind == "attended")
    assert 17 in attended.removed
    heads = [claim for claim in report.claims if claim.kind == "head"]
    assert len(heads) == 2
    # Both heads carry the same half of what both do.
    assert all(claim.share is not None and 0.1 < claim.share < 0.6 for claim in heads)
    assert {claim.scale for claim in heads} == {"probe"}


def test_where_nothing_matters_nothing_is_supported() -> None:
    for model, words in ((Planted(used=0.0), review()), (Planted(), review(None) * 0)):
        report = attnlens.audit(model, words, target=1)
        assert [claim for claim in report.claims if claim.verdict == "supported"] == []
        assert sum(one.supported for one in report.placebos) == 0


def test_no_claim_is_about_a_sink() -> None:
    report = attnlens.audit(Planted(sink=9.0), review(), target=1)
    assert report.inputs[0].sinks == ("item 0",)
    assert report.heads[0].sink == pytest.approx(1.0, abs=0.05)
    assert all(0 not in claim.removed for claim in report.claims)
    told = attnlens.audit(Planted(sink=9.0), review(), target=1, sinks=[])
    assert any(0 in claim.removed for claim in told.claims)


def test_sinks_are_special_tokens_and_what_most_heads_pay_at_the_start_or_a_separator() -> None:
    weights = np.full((1, 8, 7, 7), 0.01)
    weights[0, :2, :, 0] = weights[0, 2:4, :, 3] = weights[..., 4] = 0.5
    weights[0, 0, :, 5] = 0.9
    labels = ["The", "cat", "sat", ",", "mat", ".", "-"]
    # "mat" is paid by all heads, and is a word; "." is paid by one head of eight.
    assert sink_items([weights], labels) == (0, 3)
    assert sink_items([weights[:, :4], weights[:, 4:]], labels, special=[1]) == (0, 1, 3)
    assert sink_items([weights], None) == (0,)
    # A second share for each of two items is no more than even; nor do two queries tell.
    assert sink_items([np.full((1, 4, 7, 2), 0.5)], [",", "."]) == ()
    assert sink_items([weights[:, :, :2]], labels) == ()


def test_what_the_page_calls_a_heads_sink_is_what_audits_go_by() -> None:
    weights = np.full((1, 4, 9, 9), 0.05)
    weights[0, 1, :, 0] = 0.6
    record = AttentionRecord("a", 0, torch.tensor(weights), AXES)
    maps = maps_data(Recording([record]))["records"][0]["maps"]
    assert [one["sinks"] for one in maps] == [[], [0], [], []]
    assert sink_items([record], None) == (0,)
    assert attnlens.heads(Recording([record]))[1].sink == pytest.approx(0.6)


def test_shuffled_heads_look_where_nothing_they_learnt_sends_them() -> None:
    torch.manual_seed(0)
    question = AuditInput(gpt(), (torch.randint(1, 100, (1, 30)),))
    shown = screen(question, None, sinks=None, seed=0)
    assert shown.shuffled.keys() == shown.attention.keys()
    for site, own in shown.attention.items():
        np.testing.assert_allclose(shown.shuffled[site].sum(-1), 1, atol=1e-5)
        assert abs(shown.shuffled[site] - own).max() > 1e-3
    report = attnlens.audit(question.model, question.args[0])
    assert [(one.kind, one.tested) for one in report.placebos] == [
        ("random lists", 10), ("random heads", 5), ("shuffled heads", 5),
        ("rarest ids", 0), ("longest words", 0),
    ]  # fmt: skip
    # Of a softmax written by hand no queries and keys are seen.
    assert attnlens.audit(Planted(), review(), target=1).placebos[2].tested == 0


def test_importance_is_captums_gradient_times_activation() -> None:
    model, words = Planted(), review()
    target = Target("1", ("1", "0"), "number", lambda output, _: output[:, 1:])
    found = importance(AuditInput(model, (words,)), target, {"probe": (1, 2, LENGTH, LENGTH)})
    by_captum = LayerGradientXActivation(model, model.probe).attribute(words, target=1)
    expected = by_captum.detach().sum(2)[0].abs()
    assert expected.max() > 0.1
    np.testing.assert_allclose(found["probe"], expected, atol=1e-6)


def test_hiding_an_item_is_masking_it() -> None:
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SMALL)).eval()
    words = torch.randint(5, 100, (1, 14))
    report = attnlens.audit(model, {"input_ids": words}, target="embedding")

    def embedding(mask: Tensor) -> Tensor:
        with torch.no_grad():
            states = model(input_ids=words, attention_mask=mask).last_hidden_state.double()
        mean = (states * mask[..., None]).sum(1) / mask.sum()
        return mean[0] / mean.norm()

    full = embedding(torch.ones(1, 14, dtype=torch.long))
    checked = 0
    for claim in (claim for claim in report.claims if claim.removed_from == "model"):
        for item, effect in zip(claim.removed, claim.single_effects, strict=True):
            mask = (torch.arange(14) != item).long()[None]
            cosine = float(embedding(mask) @ full)
            assert effect == pytest.approx(-np.log((1 + cosine) / 2), rel=1e-3, abs=1e-8)
            checked += 1
    assert checked >= 8


def test_heads_of_one_layer_hidden_from_are_told_apart() -> None:
    model = gpt()
    words = torch.randint(1, 100, (1, 30), generator=torch.Generator().manual_seed(3))
    report = attnlens.audit(model, words, layers=[1], heads=4)
    assert {row.layer for row in report.heads} == {1}
    claims = [claim for claim in report.claims if claim.removed_from == "head"]
    assert {claim.head for claim in claims} == {"L1H0", "L1H1", "L1H2", "L1H3"}
    target = int(report.target.split()[-1])
    for claim in claims:
        head = int(claim.head[-1])  # type: ignore[index]
        hide = list(claim.removed)
        site = "transformer.h.1.attn"
        with torch.no_grad(), attnlens.intervene(model, hide=hide, sites=site, heads=head):
            odds = model(words).logits[0, -1].double().softmax(-1)[target]
        assert claim.top_change.after == pytest.approx(float(odds), abs=1e-6)


def test_a_report_has_the_names_that_programs_read(tmp_path: Path) -> None:
    report = attnlens.audit(gpt(), torch.randint(1, 100, (2, 20)), heads=2)
    data = json.loads(report.to_json())
    names = ["model", "inputs", "target", "tokens", "heads", "claims", "placebos", "cost"]
    assert list(data) == names
    named = {"layer", "head", "previous", "first", "duplicate", "induction", "sink", "importance"}
    assert named <= set(data["heads"][0])
    # Three fields of an explanation's claims are of past balls.
    of_balls = {"opposing", "controls", "about"}
    names = [name for name in Evidence.model_fields if name not in of_balls]
    at = names.index("removed") + 1
    assert list(data["claims"][0]) == ["input", *names[:at], "items", *names[at:]]
    assert set(data["claims"][0]) == set(AuditedClaim.model_fields)
    assert {claim["input"] for claim in data["claims"]} == {0, 1}
    assert len(report.to_pandas()) == len(data["claims"])
    assert len(repr(report).splitlines()) <= 65
    for ending in ("html", "json", "md"):
        path = tmp_path / f"audit.{ending}"
        report.save(path)
        text = path.read_text(encoding="utf-8")
        assert data["claims"][0]["items"][0] in text
    assert json.loads((tmp_path / "audit.json").read_text()) == data
    assert ".html, .json, .md" in refused(InputError, report.save, tmp_path / "audit.pdf")


def test_other_targets() -> None:
    words = torch.randint(5, 100, (1, 14))
    torch.manual_seed(0)
    judge = BertForSequenceClassification(BertConfig(**SMALL, id2label={0: "bad", 1: "good"}))
    assert attnlens.audit(judge.eval(), words, target="good").target == "class good"
    t5 = T5ForConditionalGeneration(
        T5Config(d_model=32, num_layers=1, num_heads=4, d_kv=8, d_ff=64, vocab_size=100)
    ).eval()
    report = attnlens.audit(t5, {"input_ids": words, "decoder_input_ids": words[:, :3]})
    assert report.target.startswith("next token")
    assert len(report.inputs[0].items) == 14
    t5.config.decoder_start_token_id = 0
    report = attnlens.audit(t5, {"input_ids": words})
    assert report.target.startswith("next token")
    assert {row.stack for row in report.heads} == {"encoder", "decoder cross"}
    assert len({row.name for row in report.heads}) == len(report.heads) == 8
    series = PatchTSTForPrediction(
        PatchTSTConfig(
            num_input_channels=2, context_length=96, patch_length=8, patch_stride=8,
            prediction_length=6, d_model=16, num_attention_heads=2, num_hidden_layers=2, ffn_dim=32,
        )
    ).eval()  # fmt: skip
    report = attnlens.audit(series, torch.randn(1, 96, 2), target="step 3, channel 1")
    assert report.target == "step 3, channel 1"
    assert len(report.inputs[0].items) == 12
    model = Planted()
    by_class = attnlens.audit(model, review(), target=1).claims[0]
    by_function = attnlens.audit(model, review(), target=lambda output: output).claims[0]
    assert by_function.effect_nats == pytest.approx(by_class.effect_nats, rel=1e-6)
    assert len(by_function.changes) == 2
    number = attnlens.audit(model, review(), target=lambda output: output[:, 1]).claims[0]
    assert (number.verdict, number.removed) == ("supported", (17,))


ENCODER = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2, enable_nested_tensor=False
).eval()
STATES = torch.randn(1, 12, 16)


PICK = {"target": lambda output: output[:, 0, 0]}
UNFIT: list[tuple[Any, Any, dict[str, Any]]] = [
    (gpt(), torch.ones(1, 20, dtype=torch.long), {"target": 700}),
    (Planted(), review(), {"target": "splendid"}),
    (ENCODER, STATES, {}),
    (ENCODER, STATES, {"target": lambda output: output}),
    (ENCODER, STATES, {**PICK, "layers": [7]}),
    (ENCODER, STATES, {**PICK, "sinks": [-1]}),
    (ENCODER, STATES, {"tokens": ["a"]}),
    (ENCODER, "a text", {}),
    (ENCODER, [], {}),
    (ENCODER, 3, {}),
    (ENCODER, STATES[:, :2], PICK),
    (ENCODER, STATES * torch.nan, PICK),
    (ENCODER, {"x": STATES}, {}),
    (nn.TransformerEncoderLayer(16, 4), STATES, {}),
    ("bert", STATES, {}),
    (["bert"], STATES, {}),
]


def test_what_cannot_be_audited_is_told(snapshot: Any) -> None:
    assert [
        refused(InputError, attnlens.audit, model, inputs, **options)
        for model, inputs, options in UNFIT
    ] == snapshot


def recording(weights: Tensor) -> Recording:
    return Recording([AttentionRecord("layers.3.attention", 0, weights, AXES)])


def test_a_head_of_each_kind_is_known() -> None:
    words = ["<s>", "a", "b", "c", "a", "b", "c"]
    weights = torch.zeros(1, 5, 7, 7)
    weights[:, :, :, 0] = 1.0
    for query in range(1, 7):
        for head, key in ((1, query - 1), (2, query - 3), (3, query - 2)):
            if key > 0:
                weights[0, head, query] = torch.eye(7)[key]
    weights[0, 4] = torch.ones(7, 7).tril() / torch.arange(1, 8)[:, None]
    table = attnlens.heads(recording(weights), words, sinks=[0])
    assert [row.name for row in table] == [f"L3H{head}" for head in range(5)]
    assert (table[0].sink, table[0].first) == (1.0, 1.0)
    for row, relation in zip(table[1:4], ("previous", "duplicate", "induction"), strict=True):
        assert (row.relation, getattr(row, relation)) == (relation, 1.0)
    assert table[4].lift == pytest.approx(1.0)
    assert table[4].entropy == pytest.approx(np.log(np.arange(1, 8)).mean())
    assert list(table.to_pandas()["head"]) == [0, 1, 2, 3, 4]
    assert "induction ×" in repr(table)
    message = refused(InputError, attnlens.heads, recording(weights), words[:3])
    assert "over 3 keys were recorded" in message


def test_a_head_ablated_is_its_columns_set_to_zero() -> None:
    model = gpt()
    words = torch.randint(1, 100, (4, 20), generator=torch.Generator().manual_seed(1))
    found = attnlens.ablate(model, words, lambda output: output.logits.double().square().mean())

    def loss() -> float:
        with torch.no_grad():
            return float(model(words).logits.double().square().mean())

    full, joined = loss(), model.transformer.h[1].attn.c_proj
    assert found.loss == pytest.approx(full, rel=1e-6)
    row = next(one for one in found.heads if (one.layer, one.head) == (1, 2))
    kept = joined.weight[16:24].clone()
    with torch.no_grad():
        joined.weight[16:24] = 0.0
    assert row.change == pytest.approx(loss() - full, abs=1e-8)
    with torch.no_grad():
        joined.weight[16:24] = kept
    changes = [one.change for one in found.heads]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == len(found.to_pandas()) == 8


def test_chance_of_an_ablation_is_that_of_flipped_signs() -> None:
    inputs = torch.cat([review(at) for at in (5, 9, 13, 21, 30)])
    model = Planted()

    def loss(output: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output, torch.ones(len(output), dtype=torch.long))

    found = attnlens.ablate(model, inputs, loss, heads=["L0H1"])
    # What the other head does is the same: no more, in any input.
    assert found.heads[0].beyond == pytest.approx(0.0, abs=1e-9)
    assert found.random == pytest.approx([found.heads[0].change])
    even = attnlens.ablate(model, inputs, loss, heads=["L0H1"], how="mean")
    assert even.heads[0].change > 0
    signs = list(itertools.product((1, -1), repeat=5))
    from attnlens.audits.ablate import _p

    more = np.array([0.3, 0.1, 0.2, 0.4, -0.05])
    by_hand = np.mean([np.dot(sign, more) >= more.sum() - 1e-12 for sign in signs])
    assert _p(more, np.random.default_rng(0)) == pytest.approx(by_hand)
    message = refused(InputError, attnlens.ablate, model, inputs, loss, heads=["L9H9"])
    assert "L0H0, L0H1" in message
    assert "give loss=" in refused(InputError, attnlens.ablate, model, inputs)


def test_attention_that_cannot_be_hidden_is_no_silent_audit() -> None:
    def forward(partly: Any, words: Tensor) -> Tensor:
        x = words.unsqueeze(-1).double()
        exponentials = (x @ x.mT / 100).exp()  # divided by their sum after the product
        own = exponentials @ x / exponentials.sum(-1, keepdim=True)
        return partly.seen(words) + 0 * own.sum()

    model = module("Partly", forward, seen=Planted()).eval()
    message = refused(IncompleteRecordingError, attnlens.audit, model, review(), target=1)
    assert "Partly" in message

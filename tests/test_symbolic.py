"""`describe`: equations derived from the live module, so that another module reads otherwise."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnlens
from attnlens.errors import RecordingError
from attnlens.recording.probe import step
from attnlens.reference.attention import MultiHeadAttention
from attnlens.reference.symbolic import Description, describe
from attnlens.reference.tiny import AXES, TinyTransformer
from attnlens.render.models import render_description_latex

TOKENS = torch.tensor([[3, 1, 4, 1, 5]])

TWELVE = [
    "h_0 = E[x]",
    "Q = h_0 W_Q",
    "K = h_0 W_K",
    "V = h_0 W_V",
    "S = Q Kᵀ / √5",
    "A = softmax(S)",
    "h_attn = (A V) W_O",
    "h_1 = LN(h_0 + h_attn)",
    "h_ff = GELU(h_1 W_1) W_2",
    "h_2 = h_1 + h_ff",
    "logits = h_2 W_out",
    "y = argmax(logits)",
]


def of_tiny(model: TinyTransformer, **told: Any) -> Description:
    return describe(model, TOKENS, batched=True, name="tiny", **told)


def texts(told: Description) -> list[str]:
    return [equation.text for equation in told.equations]


def changes(model: TinyTransformer) -> tuple[set[str], set[str]]:
    """Equations that go, and equations that come."""
    now = texts(of_tiny(model))
    return set(TWELVE) - set(now), set(now) - set(TWELVE)


def test_tiny_has_the_twelve_equations_of_its_definition() -> None:
    told = of_tiny(TinyTransformer())
    assert texts(told) == TWELVE
    assert told.sizes == {
        "vocabulary": 10, "width": 5, "context": 5, "heads": 1, "d_k": 5, "d_ff": 5,
        "parameters": 260,
    }  # fmt: skip
    shapes = {equation.symbol: equation.shape for equation in told.equations}
    assert shapes["S"] == (5, 5)
    assert shapes["logits"] == (5, 10)
    assert shapes["y"] == (5,)
    assert {(one.symbol, one.shape) for one in told.parameters} == {
        ("E", (10, 5)), ("W_Q", (5, 5)), ("W_K", (5, 5)), ("W_V", (5, 5)), ("W_O", (5, 5)),
        ("γ", (5,)), ("β", (5,)), ("W_1", (5, 5)), ("W_2", (5, 5)), ("W_out", (5, 10)),
    }  # fmt: skip
    assert "LN(v) = γ ⊙ (v − mean(v)) / √(var(v) + 1e-05) + β, over the last axis" in told.notation


def test_the_latex_of_the_equations() -> None:
    latex = {one.symbol: one.latex for one in of_tiny(TinyTransformer()).equations}
    assert latex["S"] == "S = Q {K}^\\top / \\sqrt{5}"
    assert latex["h_1"] == ("h_1 = \\operatorname{LN}\\left(h_0 + h_{\\mathrm{attn}}\\right)")
    assert latex["h_attn"] == "h_{\\mathrm{attn}} = \\left(A V\\right) W_O"


def test_a_changed_part_changes_its_line_and_its_notation() -> None:
    model = TinyTransformer()
    model.norm.eps = 1e-3
    assert any("√(var(v) + 0.001)" in line for line in of_tiny(model).notation)
    model.norm = nn.Identity()  # type: ignore[assignment]
    assert changes(model) == ({"h_1 = LN(h_0 + h_attn)"}, {"h_1 = h_0 + h_attn"})
    told = of_tiny(model)
    assert not any(line.startswith("LN") for line in told.notation)
    assert told.sizes["parameters"] == 250
    model = TinyTransformer()
    model.activation = nn.ReLU()  # type: ignore[assignment]
    assert changes(model) == ({"h_ff = GELU(h_1 W_1) W_2"}, {"h_ff = ReLU(h_1 W_1) W_2"})
    assert "ReLU(v) = max(v, 0)" in of_tiny(model).notation
    model.activation = nn.GELU(approximate="tanh")
    assert changes(model)[1] == {"h_ff = GELU_tanh(h_1 W_1) W_2"}
    told = of_tiny(TinyTransformer(d_ff=10))
    assert texts(told) == TWELVE
    shapes = {one.symbol: one.shape for one in told.parameters}
    assert (shapes["W_1"], shapes["W_2"]) == ((5, 10), (10, 5))
    assert (told.sizes["d_ff"], told.sizes["parameters"]) == (10, 310)


def test_several_heads_carry_an_index() -> None:
    told = of_tiny(TinyTransformer(width=6, heads=2))
    assert texts(told)[1:7] == [
        "Q_i = h_0 W_Q,i",
        "K_i = h_0 W_K,i",
        "V_i = h_0 W_V,i",
        "S_i = Q_i K_iᵀ / √3",
        "A_i = softmax(S_i)",
        "h_attn = concat_i(A_i V_i) W_O",
    ]
    assert told.equations[1].shape == (5, 3), "of one head"
    assert any(line.startswith("i: a head, 1 to 2") for line in told.notation)


def test_causal_attention_hides_what_comes_later() -> None:
    told = describe(MultiHeadAttention(4, 2, causal=True), torch.randn(1, 3, 4), batched=True)
    assert "A_i = softmax(S_i; later hidden)" in texts(told)
    assert "later: true where a key comes after the query" in told.notation


def test_plain_data_has_the_promised_fields() -> None:
    data = of_tiny(TinyTransformer()).to_dict()
    assert list(data) == ["name", "sizes", "notation", "parameters", "equations"]
    assert {tuple(one) for one in data["parameters"]} == {
        ("name", "symbol", "shape", "axes", "dtype", "description")
    }
    assert {tuple(one) for one in data["equations"]} == {
        ("symbol", "latex", "text", "shape", "axes", "description")
    }
    assert data["parameters"][0]["dtype"] == "float32"
    assert data["equations"][0]["shape"] == [5, 5]


def test_shapes_tell_their_axes_where_all_are_known() -> None:
    told = of_tiny(TinyTransformer(), axes=AXES)
    axes = {one.symbol: one.axes for one in told.equations}
    assert axes["Q"] == ("token", "d_k")
    assert axes["S"] == ("token", "token")
    assert axes["h_ff"] == ("token", "width")
    assert axes["logits"] == ("token", "vocabulary")
    assert {one.name: one.axes for one in told.parameters}["W_2"] == ("d_ff", "width")
    assert "Q = h_0 W_Q               (token 5, d_k 5) " in str(told)
    assert "(5, 5)" not in str(told)
    two = of_tiny(TinyTransformer(width=6, heads=2), axes=AXES)
    assert {one.symbol: one.axes for one in two.equations}["Q_i"] == ("token", "")
    assert "(5, 3)" in str(two), "a part of an axis has no name"


# Modules of others, which name no step.


def test_torchs_own_encoder_layer_is_written_out() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    told = describe(layer, torch.randn(1, 3, 8), batched=True)
    assert texts(told) == [
        "Q_i = x W_Q,iᵀ + b_Q,i",
        "K_i = x W_K,iᵀ + b_K,i",
        "V_i = x W_V,iᵀ + b_V,i",
        "S_i = Q_i K_iᵀ / 2",
        "A_i = softmax(S_i)",
        "h_self_attn = concat_i(A_i V_i) W_Oᵀ + b_O",
        "h_norm1 = LN_norm1(x + h_self_attn)",
        "h_linear1 = h_norm1 W_linear1ᵀ + b_linear1",
        "h_linear2 = ReLU(h_linear1) W_linear2ᵀ + b_linear2",
        "Y = LN_norm2(h_norm1 + h_linear2)",
    ]


def test_a_plain_network_is_named_by_its_modules() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 2))
    told = describe(net, torch.randn(5, 3))
    assert texts(told) == ["h_0 = x W_0ᵀ + b_0", "h_1 = ReLU(h_0)", "Y = h_1 W_3ᵀ + b_3"]
    assert told.equations[0].description == "output of 0 (Linear)"
    assert net.training, "left as it was"
    assert str(told).splitlines()[0] == "Sequential"


class Attending(nn.Module):
    """Attention by torch's one call, of one matrix that is parted, as many write it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.qkv = nn.Linear(6, 18, bias=False)
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        whole = self.qkv(x)
        if self.how == "heads":
            batch, length, _ = x.shape
            q, k, v = whole.view(batch, length, 3, 2, 3).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return mixed.transpose(1, 2).reshape(batch, length, 6)
        if self.how == "unbind":
            q, k, v = whole.unflatten(-1, (3, 6)).unbind(-2)
        else:
            q, k, v = whole.chunk(3, -1) if self.how == "chunk" else whole.split(6, dim=2)
        return nn.functional.scaled_dot_product_attention(q, k, v)


@pytest.mark.parametrize("how", ["heads", "chunk", "split", "unbind"])
def test_attention_in_one_call_is_written_out(how: str) -> None:
    steps = attnlens.trace(Attending(how), torch.randn(1, 4, 6), batched=True).steps
    assert [one.symbol for one in steps[1:3]] == ["S", "A"]
    assert steps[1].text.endswith("/ √3" if how == "heads" else "/ √6")
    assert ("later hidden" in steps[2].text) is (how == "heads")
    assert ("h_qkv[…, 0:6] h_qkv[…, 6:12]ᵀ" in steps[1].text) is (how in ("chunk", "split"))
    assert all(one.difference is not None and one.difference < 1e-5 for one in steps)


def test_what_has_no_formula_is_told_by_its_name() -> None:
    told = describe(nn.GRU(3, 4, batch_first=True), torch.randn(1, 5, 3), batched=True)
    assert [one.text.partition("(")[0] for one in told.equations] == ["Y_1 = GRU_1", "Y_2 = GRU_2"]


def test_the_module_is_left_as_it_was_and_gives_what_it_gave() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(2, 3, 8)
    before = layer(x)
    trace = attnlens.trace(layer, x)
    assert torch.backends.mha.get_fastpath_enabled()
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in layer.modules())
    assert torch.equal(layer(x), before)
    torch.testing.assert_close(trace.output, before)
    assert torch.is_grad_enabled()
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        describe(net, torch.randn(2, 3))
    assert net.training
    assert not any(one._forward_hooks for one in net.modules())
    assert torch.backends.mha.get_fastpath_enabled()


def test_nothing_to_describe_is_said() -> None:
    with pytest.raises(RecordingError, match="nothing to run it on"):
        describe(nn.Linear(2, 2))
    with pytest.raises(RecordingError, match="2 names for 1 tensors"):
        describe(nn.Linear(2, 2), torch.ones(1, 2), names=("a", "b"))

    class Fixed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ones_like(x)

    with pytest.raises(RecordingError, match="nothing that it returns depends on the input"):
        describe(Fixed(), torch.ones(1))


def test_steps_of_one_name_are_told_apart_by_where_they_are() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own = MultiHeadAttention(4, 1)
            self.cross = MultiHeadAttention(4, 1)

        def forward(self, x: Tensor, c: Tensor) -> Tensor:
            return step("h", self.cross(step("z", self.own(x)), c), "out")

    told = describe(
        Two(), torch.randn(1, 3, 4), torch.randn(1, 2, 4), names=("X", "C"), batched=True
    )
    assert texts(told)[0] == "Q^(own) = X W_Q^(own)"
    assert "K^(cross) = C W_K^(cross)" in texts(told)
    latex = told.equations[0].latex
    assert latex == "Q^{(\\mathrm{own})} = X W_Q^{(\\mathrm{own})}"


# Forms.


def test_latex_is_a_whole_document(tmp_path: Path) -> None:
    latex = shutil.which("pdflatex")
    for told in (
        of_tiny(TinyTransformer()),
        of_tiny(TinyTransformer(width=6, heads=3)),
        describe(MultiHeadAttention(4, 2, causal=True), torch.randn(1, 3, 4), batched=True),
    ):
        text = render_description_latex(told)
        assert text.startswith("\\documentclass")
        assert text.endswith("\\end{document}")
        for opened, closed in (("{", "}"), ("\\left", "\\right"), ("\\begin{", "\\end{")):
            assert text.count(opened) == text.count(closed)
        assert all(ord(sign) < 0x250 for sign in text), "inputenc knows no more"
        if latex is not None:
            (tmp_path / "a.tex").write_text(text, encoding="utf-8")
            words = [latex, "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
            assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 0


class _Changed(nn.Module):
    """Changes in place a view of what it has named."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.W = nn.Parameter(torch.eye(4))

    def forward(self, x: Tensor) -> Tensor:
        h = step("h", x @ self.W, "first")
        if self.how == "out":
            torch.mul(x, 3, out=h.view(3, 4))
        else:
            h.view(-1)[2:] = 5.0
        return step("y", 2 * h, "out")


@pytest.mark.parametrize("how", ["out", "filled"])
def test_what_is_changed_through_a_view_is_no_longer_told_as_it_was(how: str) -> None:
    told = attnlens.trace(_Changed(how), torch.randn(3, 4))
    assert told.steps[1].text != "y = 2 h", "that would be another number"
    assert "filled" in told.steps[1].text
    assert told.steps[1].difference is None, "what cannot be worked out is not said to hold"


class Rearranging(nn.Module):
    """Calls that put numbers in another order, repeat them, or choose among them."""

    def forward(self, x: Tensor) -> Tensor:
        order = x.flip(-1) + torch.roll(x, 1, 0) + x.repeat(1, 2)[:, ::2]
        pairs = x.repeat_interleave(2, -1)[:, 1::2] + torch.tile(x, (2, 1))[3:]
        kept = torch.empty_like(x)
        kept.copy_(x.index_select(1, torch.tensor([3, 1, 0, 2])))
        most = torch.maximum(x.max(-1, keepdim=True).values, torch.min(x, order))
        curved = F.softplus(x) + torch.expm1(torch.max(x, other=pairs))
        return torch.einsum("...d,...d->...d", order + kept, pairs) + most + curved


def test_numbers_in_another_order_are_worked_out_again() -> None:
    x = torch.tensor([[0.3, -1.2, 2.5, 0.7], [1.1, 0.4, -0.6, -2.0], [0.9, 1.6, -0.2, 0.1]])
    traced = attnlens.trace(Rearranging(), x)
    assert traced.unchecked == ()
    assert traced.difference is not None
    assert traced.difference < 1e-5
    assert torch.equal(traced.output, Rearranging()(x))

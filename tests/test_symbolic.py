"""`describe`: equations derived from the live module, so that another module reads otherwise."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from syrupy.assertion import SnapshotAssertion
from torch import Tensor, nn

import attnlens
from attnlens.recording.probe import step
from attnlens.reference.attention import MultiHeadAttention
from attnlens.reference.symbolic import Description, describe
from attnlens.reference.tiny import AXES, TinyTransformer

TOKENS = torch.tensor([[3, 1, 4, 1, 5]])


def of_tiny(model: TinyTransformer, **told: Any) -> Description:
    return describe(model, TOKENS, batched=True, name="tiny", **told)


def texts(told: Description) -> list[str]:
    return [equation.text for equation in told.equations]


def changes(model: TinyTransformer) -> tuple[set[str], set[str]]:
    """Equations that go, and equations that come."""
    before, after = set(texts(of_tiny(TinyTransformer()))), set(texts(of_tiny(model)))
    return before - after, after - before


class SelfThenCross(nn.Module):
    """Two layers that name their steps alike."""

    def __init__(self) -> None:
        super().__init__()
        self.own = MultiHeadAttention(4, 1)
        self.cross = MultiHeadAttention(4, 1)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        return step("h", self.cross(step("z", self.own(x)), c), "out")


def plain_network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 2))


ROWS = torch.ones(1, 3, 4)
DESCRIPTIONS: dict[str, Callable[[], Description]] = {
    "tiny": lambda: of_tiny(TinyTransformer()),
    "axes": lambda: of_tiny(TinyTransformer(), axes=AXES),
    "two heads": lambda: of_tiny(TinyTransformer(width=6, heads=2), axes=AXES),
    "causal": lambda: describe(MultiHeadAttention(4, 2, causal=True), ROWS, batched=True),
    "self and cross": lambda: describe(SelfThenCross(), ROWS, ROWS, names=("X", "C"), batched=True),
    "plain network": lambda: describe(plain_network(), torch.ones(5, 3)),
    "encoder layer of torch": lambda: describe(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.ones(1, 3, 8), batched=True
    ),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_description(name: str, snapshot: SnapshotAssertion) -> None:
    description = DESCRIPTIONS[name]()
    latex = [equation.latex for equation in description.equations]
    assert "\n".join([str(description), "", *latex]) == snapshot


def test_plain_data_has_the_promised_fields() -> None:
    data = of_tiny(TinyTransformer()).to_dict()
    assert list(data) == ["name", "sizes", "notation", "parameters", "equations"]
    assert {tuple(parameter) for parameter in data["parameters"]} == {
        ("name", "symbol", "shape", "axes", "dtype", "description")
    }
    assert {tuple(equation) for equation in data["equations"]} == {
        ("symbol", "latex", "text", "shape", "axes", "description")
    }
    assert data["parameters"][0]["dtype"] == "float32"
    assert data["equations"][0]["shape"] == [5, 5]


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
    assert texts(told) == texts(of_tiny(TinyTransformer()))
    shapes = {one.symbol: one.shape for one in told.parameters}
    assert (shapes["W_1"], shapes["W_2"]) == ((5, 10), (10, 5))
    assert (told.sizes["d_ff"], told.sizes["parameters"]) == (10, 310)


# Modules of others, which name no step.


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


# Forms.


def test_latex_is_a_whole_document(tmp_path: Path) -> None:
    latex = shutil.which("pdflatex")
    for told in (
        of_tiny(TinyTransformer()),
        of_tiny(TinyTransformer(width=6, heads=3)),
        describe(MultiHeadAttention(4, 2, causal=True), torch.randn(1, 3, 4), batched=True),
    ):
        text = told.latex()
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

"""`trace`: every number of a pass, and every equation worked out again from them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from command_line import REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import attnlens
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.reference_inputs import predictor, read_ball
from attnlens.recording.probe import step
from attnlens.reference.attention import MultiHeadAttention
from attnlens.reference.symbolic import Trace
from attnlens.reference.symbolic.expressions import difference
from attnlens.reference.symbolic.forward_pass import run

CLOSE = 1e-5


class Written(nn.Module):
    """A module whose forward pass is a function of one tensor."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.w = nn.Parameter(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)))

    def forward(self, x: Tensor) -> Tensor:
        return step("y", self.function(x @ self.w))


HALF = torch.tensor([True, False, True, False])

F = nn.functional
EMPTY = torch.tensor([])

FORMULAS: list[tuple[Callable[[Tensor], Tensor], str]] = [
    (lambda h: h + 1.5, "x w + 1.5"),
    (lambda h: 2 - (h + 1) * 3, "2 − 3 (x w + 1)"),
    (lambda h: h / 3 + h * 7**-0.5, "x w / 3 + x w / √7"),
    (lambda h: 3 / (h * h + 1), "3 / (x w ⊙ x w + 1)"),
    (lambda h: -(h**2) + h.square(), "−(x w)^2 + (x w)^2"),
    (lambda h: h.clone().add_(1).mul_(2), "2 (x w + 1)"),
    (lambda h: torch.add(torch.rsub(h, 3.0, alpha=2), h, alpha=4), "3 − 2 x w + 4 x w"),
    (lambda h: h.softmax(-1) + h.softmax(0), "softmax(x w) + softmax_1(x w)"),
    (lambda h: h.log_softmax(-1), "log softmax(x w)"),
    (
        lambda h: h.masked_fill(HALF, -math.inf).softmax(-1).masked_fill(HALF, 0),
        "softmax(x w; C_1 hidden)",
    ),
    (lambda h: h.masked_fill(HALF, 2.0), "[x w; 2 where C_1]"),
    (lambda h: torch.where(h > 0, h, -1.0), "[x w where x w > 0 else −1]"),
    (lambda h: h.sum(-1, keepdim=True) + h.mean(0), "sum(x w) + mean_1(x w)"),
    (lambda h: h.sum() + h.amax(-1), "sum_all(x w) + max(x w)"),
    (lambda h: h.argmax(0), "argmax_1(x w)"),
    (lambda h: torch.cat([h, EMPTY, h.tanh()], -1), "concat(x w, tanh(x w))"),
    (lambda h: torch.cat([h.new_empty(0, 4), h, h[:0]]), "x w"),
    (lambda h: torch.cat([EMPTY, h[:0], h[:0].exp()], -1), "concat((x w)[:0], exp((x w)[:0]))"),
    (lambda h: (h > 0).int().cumsum(0) + (h > 1).long(), "cumsum_1(x w > 0) + (x w > 1)"),
    (lambda h: h.bool() | ~(h > 0), "(x w ≠ 0) ∨ ¬(x w > 0)"),
    (lambda h: F.relu(h) + torch.erf(h).view_as(h), "ReLU(x w) + erf(x w)"),
    # Numpy's words for arguments.
    (lambda h: h.mean(axis=0, keepdims=True), "mean_1(x w)"),  # type: ignore[call-overload]
    (lambda h: h[:, [2, 0]] + h[:, 1::2], "(x w)[:, [2, 0]] + (x w)[:, 1::2]"),
    (
        lambda h: torch.baddbmm(h[None], h[None], torch.ones(1, 4, 4), beta=2, alpha=0.5),
        "2 x w + (x w) 1 / 2",
    ),
    (lambda h: torch.stack([h, h.relu()]), "stack(x w, ReLU(x w))"),
    (lambda h: h[1:, 2], "(x w)[1:, 2]"),
    (lambda h: h.t().unsqueeze(0).expand(3, 4, 3)[1], "((x w)ᵀ)[1]"),
    (lambda h: h[None].movedim(0, 1).squeeze(1).reshape(4, 3).flatten(), "x w"),
    (lambda h: F.gelu(h) + F.silu(h) + h.sigmoid(), "GELU(x w) + SiLU(x w) + σ(x w)"),
    (lambda h: F.layer_norm(h, (4,)), "LN(x w)"),
    (
        lambda h: F.layer_norm(h, (4,), h[0] + 1, h[1].exp()),
        "LN(x w) ⊙ ((x w)[0] + 1) + exp((x w)[1])",
    ),
    (lambda h: F.rms_norm(h, (4,), h[0], eps=1e-4), "RMSNorm(x w) ⊙ (x w)[0]"),
    (lambda h: torch.einsum("qd,kd->qk", h, h), "einsum_[qd,kd→qk](x w, x w)"),
    (lambda h: h.clamp(-1, 1) + h.clamp(min=0), "clamp(x w, −1, 1) + max(x w, 0)"),
    (lambda h: F.linear(h + torch.zeros_like(h), torch.ones(2, 4), torch.zeros(2)), "(x w) 1ᵀ"),
]


@pytest.mark.parametrize(("function", "text"), FORMULAS, ids=[text for _, text in FORMULAS])
def test_a_formula_reads_as_it_computes(function: Callable[[Tensor], Tensor], text: str) -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    trace = attnlens.trace(Written(function), x)
    (y,) = trace.steps
    assert y.text == f"y = {text}"
    assert y.difference is not None
    assert y.difference < CLOSE
    with torch.no_grad():
        torch.testing.assert_close(y.values, Written(function)(x), equal_nan=True)


def test_an_equation_that_says_something_else_than_the_code_is_found_out() -> None:
    told = run(Written(lambda h: h + 1.5), [torch.randn(3, 4)])
    (named,) = told.steps
    assert difference(named) == pytest.approx(0, abs=CLOSE)
    for kind in ("subtract", "multiply", "maximum"):
        original = named.expression.kind
        named.expression.kind = kind
        assert (difference(named) or 0) > 0.01
        named.expression.kind = original
    wrong = replace(named, value=named.value[:2])
    assert difference(wrong) == math.inf
    named.expression.kind = "opaque"
    assert difference(named) is None


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(st.sampled_from([6, 12]), st.sampled_from([1, 2, 3]), st.just(7)),
    ways=st.fixed_dictionaries(
        {
            "norm_first": st.booleans(),
            "batch_first": st.booleans(),
            "activation": st.sampled_from(["relu", "gelu"]),
        }
    ),
    lead=st.tuples(st.integers(1, 3), st.integers(1, 5)),
    masked=st.booleans(),
    seed=st.integers(0, 99),
)
def test_every_equation_of_torchs_encoder_layer_holds(
    sizes: tuple[int, ...],
    ways: dict[str, bool | str],
    lead: tuple[int, int],
    masked: bool,
    seed: int,
) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = nn.TransformerEncoderLayer(*sizes, **ways).eval()
        x = torch.randn(*(lead if ways["batch_first"] else lead[::-1]), sizes[0])
    length = lead[1]
    mask = torch.ones(length, length, dtype=torch.bool).triu(1) if masked else None
    inputs = (x,) if mask is None else (x, mask)
    trace = attnlens.trace(layer, *inputs)
    assert trace.unchecked == ()
    assert trace.difference is not None
    assert trace.difference < CLOSE
    assert {"Q", "A"} <= {one.symbol.partition("_")[0] for one in trace.steps}
    with torch.no_grad():
        torch.testing.assert_close(trace.output, layer(*inputs), atol=1e-5, rtol=1e-4)


def test_heads_come_first_and_axes_are_told() -> None:
    layer = MultiHeadAttention(4, 2)
    axes = {"X": ("batch", "token", None)}
    trace = attnlens.trace(
        layer, torch.randn(1, 3, 4), names=("X",), axes=axes, batched=True,
        labels={"token": ["a", "b", "c"]},
    )  # fmt: skip
    s = next(one for one in trace.steps if one.symbol == "S_i")
    assert s.axes == ("head", "token", "token")
    assert s.shape == (3, 3)
    assert s.values.shape == (2, 3, 3)
    page = trace.text()
    assert "  head 2\n" in page
    rows = [line.split() for line in page.splitlines()]
    assert ["a", "b", "c"] in rows, "the columns of S"
    with pytest.raises(KeyError):
        trace["nothing"]


def test_what_is_not_finite_is_plain_json_too() -> None:
    trace = attnlens.trace(Written(lambda h: h.masked_fill(HALF, -math.inf)), torch.ones(1, 4))
    data = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
    assert data["steps"][0]["values"][0][0] == "-inf"
    assert "−inf" in trace.text()


def test_a_value_changed_later_keeps_what_it_was() -> None:
    class Changing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            h = step("h", x * 2)
            h += 1
            return step("g", h)

    trace = attnlens.trace(Changing(), torch.ones(2))
    assert trace["h"].tolist() == [2, 2]
    assert trace["g"].tolist() == [3, 3]
    assert [one.text for one in trace.steps] == ["h = 2 x", "g = h + 1"]
    assert trace.difference == 0


def test_every_equation_of_the_predictor_holds() -> None:
    model = predictor()
    path = str(REPOSITORY / "sample_data" / "match.csv")
    reading = read_ball(model, path, ball="47")
    assert isinstance(model.module, FullModel)
    trace = attnlens.trace(
        model.module, *reading.inputs, names=reading.names, axes=reading.axes, batched=True
    )
    # These four are rules on who bowled and what happened, described in words.
    assert trace.unchecked == ("R", "R_over", "unseen", "X_long")
    assert len(trace.steps) > 100
    assert trace.difference is not None
    assert trace.difference < 1e-5
    with torch.no_grad():
        assert torch.equal(trace.output, model.module(*reading.inputs))
    attention = [one for one in trace.steps if one.symbol.startswith("A_i")]
    assert len(attention) == 5
    for one in attention:
        torch.testing.assert_close(one.values.sum(-1), torch.ones(one.values.shape[:-1]))


# The pages.


def of_tiny() -> Trace:
    from attnlens.cricket.reference_models import reference_model

    entry, _ = reference_model("tiny")
    model = entry.loaded()
    reading = entry.reading(model, "3,6,4,4,5")
    return attnlens.trace(
        model.module, *reading.inputs, name="tiny", axes=reading.axes, labels=reading.labels,
        batched=True, caption=reading.caption,
    )  # fmt: skip


def test_what_is_wide_is_cut_and_says_so() -> None:
    trace = attnlens.trace(Written(lambda h: h.repeat_interleave(30, -1).ceil()), torch.ones(40, 4))
    page = trace.text(width=80)
    assert all(len(line) <= 80 for line in page.splitlines())
    assert "more rows" in page
    assert " more" in page


def test_a_hostile_label_stays_text() -> None:
    trace = of_tiny()
    trace.labels["token"] = ("<script>alert(1)</script>", "\x1b[31m", "a", "b", "c")
    assert "\x1b" not in trace.text()


def test_what_is_cut_off_after_the_point_is_not_told_as_the_same() -> None:
    (y,) = attnlens.trace(Written(lambda h: h.long() + 1), torch.full((1, 4), 0.3)).steps
    assert y.text == "y = long(x w) + 1"
    assert y.difference is None

"""Records of every kind, of sizes that no two axes share, and what their weights are."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.recording import Recording

BATCH, HEADS, QUERIES, KEYS, DEPTH, KEPT = 2, 6, 7, 11, 5, 4
AXES = tuple(Axis(name) for name in ("batch", "head", "query", "key"))
KEY_NAMES = ("the", "cat", "sat", "on", "the", "mat", "<b>", 'quo"te', "ö|\n", "</script>", "the")
QUERY_NAMES = ("46.1", "46.2", "46.3", "46.4", "46.5", "46.6", "47.1")


def lazy_attention(seed: int = 0, **changes: object) -> LazyAttention:
    """Six heads that share three key heads, some keys hidden."""
    torch.manual_seed(seed)
    q = torch.randn(BATCH, HEADS, QUERIES, DEPTH)
    k = torch.randn(BATCH, 3, KEYS, DEPTH)
    mask = torch.rand(BATCH, 1, QUERIES, KEYS) > 0.2
    values = {"scale": 1 / math.sqrt(DEPTH), "mask": mask, "causal": True, **changes}
    return LazyAttention(q, k, **values)  # type: ignore[arg-type]


def lazy_record(site: str = "lazy", seed: int = 0, **changes: object) -> AttentionRecord:
    return AttentionRecord.of_lazy(site, 0, lazy_attention(seed, **changes), AXES)


def whole_record(site: str = "all", seed: int = 0) -> AttentionRecord:
    """The weights of the lazy record of the same seed, with logits told."""
    lazy = lazy_attention(seed)
    shape = lazy.shape
    content, bias = torch.randn(shape), torch.randn(1, HEADS, 1, KEYS)
    return AttentionRecord(site, 0, lazy.weights(), AXES, content=content, bias=bias)


def rows_record(site: str = "rows", seed: int = 0) -> AttentionRecord:
    weights = lazy_attention(seed).weights([2, 6])
    return AttentionRecord(site, 0, weights, AXES, rows=(2, 6), notes=("before dropout",))


def top_record(site: str = "top", seed: int = 0) -> AttentionRecord:
    kept, keys = lazy_attention(seed).weights().topk(KEPT, -1)
    residual = 1 - kept.sum(-1)
    return AttentionRecord(
        site, 0, kept, AXES, keys=keys.int(), residual=residual, key_count=KEYS, notes=("top 4",)
    )


def every_kind() -> Recording:
    """One record of each kind, one site with two calls, labels where they try a format most."""
    records = [
        lazy_record().labelled(query=QUERY_NAMES, key=KEY_NAMES),
        whole_record().labelled(key=KEY_NAMES),
        rows_record().labelled(query=QUERY_NAMES),
        top_record().labelled(key=KEY_NAMES),
        top_record(seed=1).replaced(call=1),
        AttentionRecord("gate", 0, torch.rand(3, 5).double(), (Axis("ball"), Axis("scale"))),
    ]
    return Recording(records)


def same(one: Any, other: Any) -> None:
    """Every part of two records is the same to the last bit."""
    assert type(one) is type(other)
    for field in fields(one):
        if field.name == "weights" and one.lazy is not None:
            continue
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, LazyAttention):
            same(left, right)
        elif isinstance(left, Tensor):
            assert left.dtype == right.dtype, field.name
            assert torch.equal(left, right), field.name
        else:
            assert (left, type(left)) == (right, type(right)), field.name


def bombs(folder: Path) -> dict[str, str]:
    """Recordings of few bytes that claim many, written to a folder, and what is said of them."""
    Recording([AttentionRecord("a", 0, torch.ones(1, 1, 1, 1), AXES)]).save(folder / "small")
    with safe_open(folder / "small", "pt") as file:
        metadata = file.metadata()
    (entry,) = json.loads(metadata["records"])
    (name,) = entry["tensors"].values()
    number, side = torch.ones(1, 1, 1, 1), 200_000
    cases: dict[str, tuple[dict[str, Any], dict[str, Tensor], str]] = {
        "expanded": (
            {**entry, "expanded": {"weights": [1, 1, side, side]}},
            {name: number.half()},
            f"1 numbers are claimed to have the shape 1 x 1 x {side} x {side}",
        ),
        "top": (
            {**entry, "key_count": side**2, "tensors": {"weights": name, "keys": "keys"}},
            {name: number, "keys": number.long()},
            f"{side**2} keys are claimed",
        ),
        "lazy": (
            {
                **entry,
                "lazy": {"scale": 1.0, "causal": False},
                "tensors": {"lazy.q": "q", "lazy.k": "q"},
            },
            {"q": torch.ones(1, 1, side, 1)},
            "takes more than 2.2 GB of memory",
        ),
    }  # fmt: skip
    for case, (claimed, tensors, _) in cases.items():
        save_file(tensors, folder / case, {**metadata, "records": json.dumps([claimed])})
    (folder / "small").unlink()
    return {case: words for case, (_, _, words) in cases.items()}

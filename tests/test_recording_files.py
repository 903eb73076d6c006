"""What a recording saves comes back to the last bit; files that lie are refused in one line."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numerics import near
from recording_cases import (
    AXES,
    every_kind,
    lazy_attention,
    lazy_record,
    same,
    top_record,
    whole_record,
)
from refused import refused
from safetensors import safe_open
from safetensors.torch import save, save_file

import attnlens
from attnlens._version import VERSION
from attnlens.errors import InputError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.recording import Recording, load_recording


def unpacked(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    with safe_open(path, framework="pt") as file:
        return dict(file.metadata()), {name: file.get_tensor(name) for name in list(file.keys())}


def test_every_kind_of_record_comes_back_exactly(tmp_path: Path) -> None:
    recording = every_kind()
    path = tmp_path / "r.safetensors"
    recording.save(path)
    back = attnlens.load_recording(path)
    assert list(back) == list(recording)
    assert [one.call for one in back.calls("top")] == [0, 1]
    for one, other in zip(recording.records(), back.records(), strict=True):
        same(one, other)
    assert back.notes == recording.notes == ("before dropout", "top 4")
    assert list(tmp_path.iterdir()) == [path]
    # To the same place, which is read from still.
    back.save(path)
    for one, other in zip(recording.records(), load_recording(path).records(), strict=True):
        same(one, other)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_precision_is_kept(tmp_path: Path, kind: torch.dtype) -> None:
    lazy = lazy_attention(mask=torch.randn(7, 11).to(kind), causal=False)
    lazy = LazyAttention(lazy.q.to(kind), lazy.k.to(kind), 0.3, lazy.mask, lse=lazy.q[..., 0])
    records = [
        AttentionRecord.of_lazy("lazy", 0, lazy, AXES),
        AttentionRecord("all", 0, torch.rand(2, 6, 7, 11).to(kind).requires_grad_(), AXES),
    ]
    path = tmp_path / "r"
    Recording(records).save(path)
    for one, other in zip(records, load_recording(path).records(), strict=True):
        same(one, other)
        if one.lazy is None:
            assert torch.equal(one.weights, other.weights)
        else:
            # Worked out from tensors that lie elsewhere in memory now.
            near(other.weights, one.weights, of=one.weights.dtype)


def test_what_is_shared_or_only_repeated_is_written_once(tmp_path: Path) -> None:
    # Queries and keys as views of one buffer, and one mask spread over heads for two layers.
    fused = torch.randn(2, 6, 11, 10)
    mask = (torch.rand(1, 1, 11, 11) > 0.2).expand(2, 6, 11, 11)
    q, k = fused[..., :5], fused[..., 5:]
    layers = [
        AttentionRecord.of_lazy(site, 0, LazyAttention(q, k, 0.4, mask), AXES) for site in "ab"
    ]
    path = tmp_path / "r"
    Recording(layers).save(path)
    _, tensors = unpacked(path)
    assert {name: tuple(value.shape) for name, value in tensors.items()} == {
        "0.lazy.q": (2, 6, 11, 5),
        "0.lazy.k": (2, 6, 11, 5),
        "0.lazy.mask": (1, 1, 11, 11),
    }
    for one, other in zip(layers, load_recording(path).records(), strict=True):
        same(one, other)
    # The same memory seen as two shapes.
    q = torch.randn(1, 1, 4, 4)
    twice = [AttentionRecord.of_lazy("a", 0, LazyAttention(q, q.transpose(2, 3), 1.0), AXES)]
    Recording(twice).save(path)
    same(twice[0], load_recording(path)["a"])


@pytest.mark.parametrize(("number", "remedy"), [(1, "record it again"), (3, "install a newer")])
def test_another_format_tells_what_is_needed(tmp_path: Path, number: int, remedy: str) -> None:
    path = tmp_path / "other"
    about = {"format": f"attnlens recording {number}", "records": "[]"}
    save_file({"a": torch.zeros(1)}, path, about)
    told = f"has format {number}, but attnlens {VERSION} reads only format 2; {remedy}"
    assert refused(InputError, load_recording, path).startswith(f"{path}: {told}")


Change = Callable[[dict[str, Any], dict[str, torch.Tensor]], None]


def put(part: str, value: Any) -> Change:
    return lambda entry, _: entry.update({part: value})


def lazy_part(part: str, value: Any) -> Change:
    return lambda entry, _: entry["lazy"].update({part: value})


def tensor(name: str, value: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    return lambda _, tensors: tensors.update({name: value(tensors[name]).contiguous()})


LIES: list[tuple[str, Change, str]] = [
    ("all", put("site", 3), "a site or a note is not text"),
    ("all", put("call", -1), "a call or row number is not one of 0, 1, 2"),
    ("all", put("axes", [["query", None]]), "the axes have sizes"),
    ("all", put("axes", [[3, None]] * 4), "the name or the labels of axis"),
    ("all", put("notes", [1]), "a site or a note is not text"),
    ("all", put("rows", [0, 1]), "2 row numbers are given for 7 rows"),
    ("all", put("key_count", 9), "there is a residual, but no keys"),
    ("all", put("tensors", {"weights": "nowhere"}), "nowhere"),
    ("all", tensor("0.weights", lambda w: w.int()), "weights have dtype torch.int32"),
    ("all", tensor("0.content", lambda w: w[:, :5]), "content does not fit"),
    ("top", put("key_count", 3), "a key number is not below the key count 3"),
    ("top", tensor("0.residual", lambda rest: rest[:1]), "the residual does not fit"),
    ("lazy", lazy_part("scale", "much"), "scale 'much' is not a number"),
    ("lazy", lazy_part("price", 3), "lazy attention has an unknown part 'price'"),
    ("lazy", put("lazy", None), "weights"),
    ("lazy", tensor("0.lazy.k", lambda k: k.repeat(1, 4, 1, 1)), "do not fit"),
    (
        "lazy",
        tensor("0.lazy.q", lambda q: q.long()),
        "queries or keys are not floating-point numbers",
    ),
    ("lazy", tensor("0.lazy.mask", lambda mask: mask[..., :3]), "the mask does not fit"),
]


@pytest.mark.parametrize(("kind", "change", "said"), LIES)
def test_a_file_that_lies_about_itself_is_one_line(
    tmp_path: Path, kind: str, change: Change, said: str
) -> None:
    path = tmp_path / "r"
    record = {"all": whole_record, "top": top_record, "lazy": lazy_record}[kind]()
    Recording([record]).save(path)
    about, tensors = unpacked(path)
    (entry,) = json.loads(about["records"])
    change(entry, tensors)
    save_file(tensors, path, about | {"records": json.dumps([entry])})
    text = refused(InputError, load_recording, path)
    assert text.startswith(f"{path}: is a damaged recording (")
    assert text.endswith("; record it again")
    assert said in text


FOREIGN = {
    "text": b"not a recording\n" * 40,
    "empty": b"",
    "other tensors": save({"a": torch.zeros(2)}),
    "no records": save({"a": torch.zeros(2)}, {"format": "attnlens recording 2"}),
    "cut off": save({"a": torch.zeros(99)}, {"format": "attnlens recording 2"})[:-9],
}
PARTS = '{"format": "attnlens recording 2", "notes": [], "parts": [{"file": "%s", "records": []}]}'
INDEXES = (
    *("{}", "[", '{"format": "attnlens recording 999"}'),
    *(PARTS % name for name in ("../x", "part-00000.safetensors")),
)
"""What ``recording.json`` may hold, and the folder is no recording."""


def test_a_file_that_is_no_recording_gives_one_line(tmp_path: Path, snapshot: Any) -> None:
    for kind, content in FOREIGN.items():
        (tmp_path / kind).write_bytes(content)
    paths = [tmp_path, *(tmp_path / kind for kind in (*FOREIGN, "missing"))]
    texts = [refused(InputError, load_recording, path) for path in paths]
    for index in INDEXES:
        (tmp_path / "recording.json").write_text(index, encoding="utf-8")
        texts.append(refused(InputError, load_recording, tmp_path).replace(VERSION, "VERSION"))
    # The library's own words, in brackets, depend on its release.
    shown = [re.sub(r"(?<=a recording) \(.*?\)(?=;)", "", text) for text in texts]
    assert [text.replace(str(tmp_path), "FOLDER") for text in shown] == snapshot


@pytest.mark.parametrize(
    "records", ["", "{}", "[3]", "[null]", '[{"site": "a"}]', "[" * 100_000, "9" * 5000, '"a"']
)
def test_an_index_that_is_none_is_one_line(tmp_path: Path, records: str) -> None:
    path = tmp_path / "r"
    about = {"format": "attnlens recording 2", "records": records}
    save_file({"0.weights": torch.zeros(2)}, path, about)
    with pytest.raises(InputError, match="is a damaged recording"):
        load_recording(path)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_bytes_changed_anywhere_never_end_in_another_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "changed"
    Recording([top_record(), lazy_record()]).save(path)
    raw = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(data.draw(st.integers(1, 3))):
        # Most of what can go wrong is in the header.
        place = data.draw(st.integers(0, data.draw(st.sampled_from([header, len(raw)])) - 1))
        raw[place] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    path.write_bytes(bytes(raw))
    with contextlib.suppress(InputError):
        assert len(load_recording(path).records()) <= 2

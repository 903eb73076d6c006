"""Queries and keys that another program captured become a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from attention_cases import reference, tensors
from command_line import Here
from safetensors.torch import save_file

from attnlens import load_recording
from attnlens.errors import InputError
from attnlens.recording.recording import recording_of_captured


def test_captured_queries_and_keys_are_a_recording(attnlens_here: Here, tmp_path: Path) -> None:
    q, k = tensors(5, 6, 8)[0], tensors(5, 2, 8, seed=1)[0]  # (position, head, d), shared keys
    whole_q, whole_k = tensors(2, 3, 4, 8)[0], tensors(2, 3, 7, 8, seed=2)[0]
    mask = torch.rand(2, 1, 4, 7) > 0.3
    file, out = tmp_path / "qk.safetensors", tmp_path / "r.safetensors"
    parts = {"layers.0.q": q, "layers.0.k": k, "cross.q": whole_q, "cross.k": whole_k}
    parts |= {"cross.mask": mask, "cross.scale": torch.tensor(0.5)}
    save_file({name: part.contiguous() for name, part in parts.items()}, file)
    attnlens_here.good("record", "--from-qk", file, "--out", out)
    recording = load_recording(out)
    four = [one.transpose(0, 1)[None] for one in (q, k.repeat_interleave(3, 1))]
    expected = reference(*four, causal=True)
    assert abs(recording["layers.0"].weights.numpy() - expected).max() < 2e-5
    expected = reference(whole_q, whole_k, mask, scale=0.5)
    assert abs(recording["cross"].weights.numpy() - expected).max() < 2e-5
    attnlens_here.good("view", out, "--out", tmp_path / "page.html")


GOOD = {"a.q": torch.ones(3, 2, 4), "a.k": torch.ones(3, 2, 4)}


@pytest.mark.parametrize(
    ("change", "metadata", "text"),
    [
        ({"a.k": None}, {}, "has queries, but no keys"),
        ({"a.q": None}, {}, "tensor 'a.k' belongs to no site"),
        ({"a.v": torch.ones(1)}, {}, "tensor 'a.v' belongs to no site"),
        ({"a.k": torch.ones(3, 2, 5)}, {}, "do not fit"),
        ({"a.k": torch.ones(3, 3, 4)}, {}, "do not fit"),
        ({"a.q": torch.ones(3, 2, 4).long()}, {}, "do not fit"),
        ({"a.q": torch.full((3, 2, 4), torch.nan)}, {}, "NaN"),
        ({"a.mask": torch.ones(4, 4)}, {}, "the mask has shape (4, 4)"),
        ({"a.scale": torch.ones(2)}, {}, "the scale is not a number"),
        ({}, {"scale": "much"}, "the scale is not a number"),
        ({}, {"causal": "perhaps"}, "causal is 'perhaps'"),
    ],
)
def test_what_is_no_capture(
    change: dict[str, Any], metadata: dict[str, str], text: str, tmp_path: Path
) -> None:
    parts = {name: part for name, part in (GOOD | change).items() if part is not None}
    save_file(parts, tmp_path / "qk.safetensors", metadata)
    with pytest.raises(InputError) as caught:
        recording_of_captured(tmp_path / "qk.safetensors")
    assert text in str(caught.value)


def test_files_that_are_none(attnlens_here: Here, tmp_path: Path) -> None:
    file = tmp_path / "qk.safetensors"
    file.write_bytes(b"no safetensors")
    for path in (file, tmp_path / "missing"):
        assert path.name in attnlens_here.refused("record", "--from-qk", path, "--out", "out")
    assert "give PATH, or --from-qk FILE" in attnlens_here.refused("record", "--out", "out")
    both = ("record", "m:f", "--from-qk", file, "--out", "out")
    assert "leave out PATH" in attnlens_here.refused(*both)
    assert not (tmp_path / "out").exists()

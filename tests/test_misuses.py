"""What goes wrong when attnlens is used wrongly: one line that has the choices or the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import attnlens
from attnlens import attention
from attnlens.errors import AttnlensError
from attnlens.recording import SoftmaxAdapter

SITES = "'layers.0.self_attn', 'layers.1.self_attn'"
X = torch.linspace(-1, 1, 48).sin().view(1, 6, 8)


def made() -> nn.Module:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=8, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


MODEL = made()


def recorded(**options: Any) -> attnlens.Recording:
    with attnlens.record(MODEL, **options) as recording, torch.no_grad():
        MODEL(X)
    return recording


RECORDING = recorded()
RECORD = RECORDING["layers.0.self_attn"]


def changed(model: Any = MODEL, **options: Any) -> None:
    with attnlens.intervene(model, **options), torch.no_grad():
        MODEL(X)


def looked_at_too_early() -> None:
    with attnlens.record(MODEL) as recording:
        recording["layers.0.self_attn"]


def twice_in_one_block() -> None:
    with attnlens.record(MODEL) as recording, torch.no_grad():
        MODEL(X)
        MODEL(X)
    recording["layers.0.self_attn"]


def two_blocks_one_of_them_empty() -> None:
    with attnlens.record(MODEL), torch.no_grad():
        MODEL(X)
        with attnlens.record(MODEL):
            pass


def outside_the_block() -> None:
    with attnlens.record(MODEL):
        pass
    MODEL(X)


def of_another_model() -> None:
    with attnlens.record(made()):
        MODEL(X)


def of_other_sizes() -> None:
    attention.rollout([RECORD, torch.rand(3, 2, 6, 6)])


def a_truncated_file(folder: Path) -> None:
    RECORDING.save(folder / "run.safetensors")
    whole = (folder / "run.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    attnlens.load_recording(folder / "cut.safetensors")


def weights_of_a_model(folder: Path) -> None:
    from safetensors.torch import save_file

    save_file({"weight": torch.ones(2, 2)}, folder / "model.safetensors")
    attnlens.load_recording(folder / "model.safetensors")


def a_picture(folder: Path) -> None:
    (folder / "cat.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    attnlens.load_recording(folder / "cat.png")


MISUSES: dict[str, tuple[Callable[..., Any], str]] = {
    # What is recorded.
    "a tensor for a model": (lambda: recorded_of(X), "not Tensor; give a model"),
    "a class for a model": (
        lambda: recorded_of(nn.Transformer),
        "not the class Transformer; give Transformer(...)",
    ),
    "a function for a model": (lambda: recorded_of(MODEL.forward), "not method; give a model"),
    "a model without attention": (
        lambda: recorded_of(nn.Linear(8, 8)),
        "no attention of Linear ran in the block; looked for:",
    ),
    "called after the block": (outside_the_block, "call the model inside the block"),
    "another model": (of_another_model, "call the model inside the block"),
    "two blocks": (two_blocks_one_of_them_empty, "call the model inside the block"),
    "include matches nothing": (
        lambda: recorded(include="decoder.*"),
        "include matched no attention of TransformerEncoder; it has: layers.0.self_attn",
    ),
    "include is a module": (
        lambda: recorded(include=MODEL.layers[0]),
        "give names, patterns such as 'encoder.*', or a function of a name",
    ),
    "include is a number": (lambda: recorded(include=0), "give names, patterns such as"),
    "rows there are not": (lambda: recorded(rows=6), "row 6 is out of range; there are 6 (0 to 5"),
    "rows is a text": (lambda: recorded(rows="first"), "give a position (0, 1, ... or -1"),
    "top_k of too many": (lambda: recorded(top_k=7), "give at most 6"),
    "top_k and lazy": (lambda: recorded(top_k=2, lazy=True), "choose one of rows="),
    "a dtype in words": (lambda: recorded(dtype="half"), "choose one of torch.float16"),
    "adapters of a text": (lambda: recorded(adapters="layers.*"), "or SoftmaxAdapter(sites)"),
    "an adapter for nothing": (
        lambda: recorded(adapters=SoftmaxAdapter("attention.*")),
        "matches no module; modules: TransformerEncoder, layers",
    ),
    "too many expected": (lambda: recorded(expected=3), "3 records expected, 2 made: layers.0"),
    # What is asked of a recording.
    "a site that is misspelt": (
        lambda: RECORDING["layer.1.self_attn"],
        "recorded: 'layers.1.self_attn', 'layers.0.self_attn'",
    ),
    "a site by number": (lambda: RECORDING[0], "records go by site: recording['layers.0"),
    "a recording in its block": (looked_at_too_early, "call the model in the block"),
    "a site that ran twice": (twice_in_one_block, "use recording.calls('layers.0.self_attn')"),
    "an empty recording saved": (
        lambda: attnlens.Recording().save("x"),
        "nothing was recorded, so there is nothing to save",
    ),
    "a head there is not": (lambda: RECORD.sel(head=2), "there are 2 (0 to 1, or -1"),
    "an axis that is misspelt": (lambda: RECORD.sel(quary=0), "axes: 'query', 'batch', 'head'"),
    "a label there is not": (
        lambda: RECORD.labelled(key=list("ABCDEF")).sel(key="a"),
        "no key is called 'a'; there are 'A', 'B'",
    ),
    "too few labels": (lambda: RECORD.labelled(key=["a", "b"]), "2 labels for 'key', which has 6"),
    "labels for no axis": (lambda: RECORDING.labelled(token=list("ABCDEF")), "'batch 1', 'head 2'"),
    # What is read from a file.
    "no file": (
        lambda folder: attnlens.load_recording(folder / "no"),
        "give a file that recording.save wrote",
    ),
    "a truncated file": (a_truncated_file, "give a file that recording.save wrote, all of it"),
    "another file": (a_picture, "give a file that recording.save wrote"),
    "weights of a model": (
        weights_of_a_model,
        "not a recording; give a file that recording.save wrote",
    ),
    "a recording loaded": (lambda: attnlens.load_recording(RECORDING), "Recording is no path"),
    # What is analysed.
    "a recording of several": (
        lambda: attention.entropy(RECORDING),
        f"such as recording.calls('layers.0.self_attn')[0] of {SITES}",
    ),
    "a model analysed": (lambda: attention.entropy(MODEL), "give a record, a tensor or an array"),
    "nothing analysed": (
        lambda: attention.entropy(None),
        "NoneType is no attention; give a record",
    ),
    "a text for a count": (lambda: attention.strongest_keys(RECORD, "3"), "ask for 1 or more"),
    "a row there is not": (
        lambda: attention.rollout(RECORDING, rows=6),
        "row 6 is out of range; there are 6 (0 to 5",
    ),
    "a record rolled out": (lambda: attention.rollout(RECORD), "give a list of attention, first"),
    "layers of other batches": (of_other_sizes, "layer 0 has shape (1, 2, 6, 6), the last (3, 2"),
    "rows of the strongest keys": (
        lambda: attention.entropy(recorded(top_k=2)["layers.0.self_attn"]),
        "record with top_k=None or lazy=True",
    ),
    # What is changed.
    "hide of another shape": (
        lambda: changed(hide=torch.ones(2, 6, dtype=torch.bool)),
        "has shape (2, 6), read as (batch, key); the weights are",
    ),
    "hide of another length": (
        lambda: changed(hide=np.ones(5, dtype=bool)),
        "it has 5 keys, and layers.0.self_attn has 6",
    ),
    "hide of numbers": (lambda: changed(hide=torch.ones(6)), "give booleans, true where hidden"),
    "a head out of range": (lambda: changed(hide=0, heads=2), "head 2 is out of range; there are"),
    "a batch there is not": (lambda: changed(hide=0, batch=1), "batch 1 is out of range; there"),
    "nothing to change": (changed, "give one of hide=, scale=, replace=, val"),
    "sites that match nothing": (
        lambda: changed(hide=0, sites="decoder.*"),
        "calls of each site: layers.0.self_attn 1",
    ),
    "a tensor changed": (lambda: changed(X, hide=0), "not Tensor; give a model"),
    "replaced by a number": (lambda: changed(replace=0.5), "give a tensor, or a function of weigh"),
    # What is described.
    "a class described": (lambda: attnlens.describe(nn.Linear, X), "not the class Linear; give Li"),
    "nothing to run on": (lambda: attnlens.describe(MODEL), "as an example of its input"),
    "axes of another input": (
        lambda: attnlens.describe(nn.Linear(8, 8), X, axes={"x": ("token",)}),
        "axes of x: ('token',), and its shape is (1, 6, 8)",
    ),
    "an array described": (
        lambda: attnlens.describe(nn.Linear(8, 8), X.numpy()),
        "give torch tensors as an example",
    ),
    "a step there is not": (lambda: attnlens.trace(nn.Linear(8, 8), X)["y"], "there are 'x', 'Y'"),
}


def recorded_of(model: Any) -> None:
    with attnlens.record(model), torch.no_grad():
        model(X)


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_is_told_in_one_line_with_the_choices(name: str, tmp_path: Path) -> None:
    misuse, told = MISUSES[name]
    with pytest.raises(AttnlensError) as error:
        misuse(tmp_path) if "folder" in misuse.__code__.co_varnames[:1] else misuse()
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None or isinstance(error.value, AttnlensError)


def test_a_name_that_is_not_there_is_a_key_error_too() -> None:
    with pytest.raises(KeyError, match="no attention recorded at 'typo'; recorded: 'layers"):
        RECORDING["typo"]
    assert RECORDING.get("typo") is None
    assert "typo" not in RECORDING
    assert ["typo"] not in RECORDING


def test_a_recording_stands_for_its_only_record_and_for_its_layers() -> None:
    one = recorded(include="layers.0.*")
    assert np.array_equal(attention.entropy(one), attention.entropy(RECORD))
    layers = [RECORDING[site] for site in RECORDING]
    assert np.array_equal(attention.rollout(RECORDING), attention.rollout(layers))


def test_the_package_lists_what_it_promises() -> None:
    assert dir(attnlens) == sorted(attnlens.__all__)

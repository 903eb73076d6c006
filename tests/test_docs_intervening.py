"""The examples of docs/intervening.md run, in their order, and do what the text says."""

from __future__ import annotations

import re
from typing import Any

import torch
from command_line import REPOSITORY

import attnlens

DOCUMENT = REPOSITORY / "docs" / "intervening.md"


def test_every_example_runs() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    examples = list(re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S))
    assert len(examples) >= 7
    for found in examples:
        # Errors then name the line of the document.
        line = text.count("\n", 0, found.start(1))
        exec(compile("\n" * line + found[1], str(DOCUMENT), "exec"), names)
    model, x, full = names["model"], names["x"], names["full"]
    assert not torch.allclose(names["ablated"], full)
    assert not torch.allclose(names["one_edge"][:, -1], full[:, -1], atol=1e-5)
    assert names["effects"].shape == (300,)
    best = int(names["effects"].argmax())
    with torch.no_grad(), attnlens.intervene(model, hide=names["strongest"]):
        torch.testing.assert_close(model(x)[0], names["outputs"][best], atol=1e-6, rtol=0)
    assert names["gates"].grad.abs().min() > 0

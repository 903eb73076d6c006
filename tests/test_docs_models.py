"""Every example of docs/models.md is complete by itself, runs, and asserts what it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch
from command_line import REPOSITORY

from attnlens.recording import capture

DOCUMENT = REPOSITORY / "docs" / "models.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
EXAMPLES = {
    found[1]: (TEXT.count("\n", 0, found.start(2)), found[2])
    for found in re.finditer(
        r"^## ([^\n]+)$(?:(?!^## ).)*?^```python\n(.*?)^```$", TEXT, re.M | re.S
    )
}


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore:The PyTorch API of nested tensors",
)
@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_runs(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line, code = EXAMPLES[title]
    assert "assert" in code
    if "transformers" in code:
        pytest.importorskip("transformers")
    if "torch.compile" in code and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("torch.compile needs a C++ compiler, and none is here")
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    # Errors then name the line of the document.
    exec(compile("\n" * line + code, str(DOCUMENT), "exec"), {"__name__": "example"})


def test_every_section_has_one_and_the_table_leads_to_it() -> None:
    titles = re.findall(r"^## (.+)$", TEXT, re.M)
    assert list(EXAMPLES) == titles
    assert len(titles) == 9
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\(#([\w-]+)\)", TEXT)) == anchors


def test_the_sizes_told_are_those_of_the_code() -> None:
    assert f"{capture.WHOLE_CALL_BYTES >> 20} MiB a call" in TEXT

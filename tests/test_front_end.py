"""The scripts of the dashboard's pages: short lines, small files, types and a linter."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ASSETS = REPOSITORY / "dashboard" / "assets"
SCRIPTS = sorted(ASSETS.glob("*.js"))
LONGEST, LARGEST = 110, 800
TOOLS = REPOSITORY / "node_modules" / ".bin"


def test_no_line_is_long_and_no_file_is_large() -> None:
    assert len(SCRIPTS) > 8
    for path in (*SCRIPTS, *ASSETS.glob("*.css")):
        lines = path.read_text("utf-8").splitlines()
        assert [line for line in lines if len(line) > LONGEST] == [], path.name
        assert len(lines) <= LARGEST, path.name


def test_each_script_says_what_it_draws_and_no_name_is_given_twice() -> None:
    """What a file gives to the others stands in one object, by a name that no other file gives."""
    shared = {"pages", "leave", "redraw", "moved", "stem"}
    defined: dict[str, str] = {}
    used: set[str] = set()
    for path in SCRIPTS:
        text = path.read_text("utf-8")
        assert re.match(r"// [A-Z].+", text), path.name
        for name in re.findall(r"^ +A\.(\w+)(?:\.\w+)? = ", text, re.M):
            assert name in shared or defined.setdefault(name, path.name) == path.name, name
        used |= set(re.findall(r"\bA\.(\w+)\b", text))
    assert used - set(defined) - shared == set()


@pytest.mark.parametrize("words", [["tsc"], ["biome", "ci"]], ids=["types", "linter"])
def test_types_and_style(words: list[str]) -> None:
    tool = TOOLS / words[0]
    if shutil.which("node") is None or not tool.exists():
        pytest.skip("node's tools are not here; where node is, run: npm install")
    done = subprocess.run(
        [tool, *words[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

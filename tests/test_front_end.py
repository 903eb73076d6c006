"""The scripts of the dashboard's pages: short lines, small files, types and a linter."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ASSETS = REPOSITORY / "dashboard" / "assets"
SCRIPTS = [*sorted(ASSETS.glob("*.js")), REPOSITORY / "templates" / "heat_maps.js"]
LONGEST, MOST_SCRIPT, MOST_STYLE, SIZES_OF_TYPE, SMALLEST = 110, 1700, 300, 6, 12
TOOLS = REPOSITORY / "node_modules" / ".bin"


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_scripts_and_style_are_short() -> None:
    assert sum(len(lines(path)) for path in SCRIPTS) <= MOST_SCRIPT
    assert len(lines(ASSETS / "app.css")) <= MOST_STYLE
    for path in SCRIPTS:
        assert [line for line in lines(path) if len(line) > LONGEST] == [], path.name
        assert re.match(r"// [A-Z].+", path.read_text("utf-8")), path.name


def test_style_has_few_sizes_of_type_and_none_is_small() -> None:
    style = (ASSETS / "app.css").read_text("utf-8")
    sizes = {16 * float(size) for size in re.findall(r"--t\d: ([\d.]+)rem", style)}
    # Words in a drawing that a phone shows at less than half its size.
    drawn = {"26px"}
    used = set(re.findall(r"font(?:-size)?: ?([^;/]+)", style)) - {"inherit"} - drawn
    assert len(sizes) == SIZES_OF_TYPE
    assert min(sizes) >= SMALLEST
    assert all(re.fullmatch(r"var\(--t\d\)", size) for size in used), used


def test_types_are_checked_strictly() -> None:
    options = json.loads((REPOSITORY / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    assert options["strict"] is True
    assert [name for name, value in options.items() if value is False] == []


def test_one_script_draws_heat_maps() -> None:
    drawing = [path.name for path in SCRIPTS if "putImageData" in path.read_text("utf-8")]
    recording = (REPOSITORY / "templates" / "recording.js").read_text("utf-8")
    assert drawing == ["heat_maps.js"]
    assert "putImageData" not in recording
    assert "heat_maps.js" in recording


@pytest.mark.parametrize("words", [["tsc"], ["biome", "ci"]], ids=["types", "linter"])
def test_types_and_style(words: list[str]) -> None:
    tool = TOOLS / words[0]
    if shutil.which("node") is None or not tool.exists():
        pytest.skip("node's tools are not here; where node is, run: npm install")
    done = subprocess.run(
        [tool, *words[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""The scripts of the dashboard and of recordings: short, with types and a linter."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from attnlens.cricket.match.match import OUTCOME_NAMES

REPOSITORY = Path(__file__).resolve().parent.parent
ASSETS = REPOSITORY / "dashboard" / "assets"
TEMPLATES = REPOSITORY / "templates"
RECORDING = TEMPLATES / "recording.js"
SCRIPTS = [*sorted(ASSETS.glob("*.js")), TEMPLATES / "heat_maps.js"]
NAMES = {"core", "innings", "timeline", "heads", "ball", "live", "main", "heat_maps"}
LONGEST, MOST_SCRIPT, MOST_STYLE, SIZES_OF_TYPE, SMALLEST = 110, 1700, 300, 6, 12
MOST_OF_RECORDING = 620
TOOLS = REPOSITORY / "node_modules" / ".bin"


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_scripts_and_style_are_short() -> None:
    assert {path.stem for path in SCRIPTS} == NAMES
    assert sum(len(lines(path)) for path in SCRIPTS) <= MOST_SCRIPT
    assert len(lines(RECORDING)) <= MOST_OF_RECORDING
    assert len(lines(ASSETS / "app.css")) <= MOST_STYLE
    for path in (*SCRIPTS, RECORDING):
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
    told = json.loads((REPOSITORY / "tsconfig.json").read_text("utf-8"))
    options = told["compilerOptions"]
    assert options["strict"] is True
    assert options["checkJs"] is True
    assert [name for name, value in options.items() if value is False] == []
    # As the dashboard serves them: beside each other.
    assert options["rootDirs"] == ["dashboard/assets", "templates"]
    places = ["dashboard/assets/*.js", "templates/*.js"]
    assert told["include"] == places
    assert json.loads((REPOSITORY / "biome.json").read_text("utf-8"))["files"]["includes"] == places
    assert [*ASSETS.glob("*.ts"), *TEMPLATES.rglob("*.ts")] == []
    for path in (*SCRIPTS, RECORDING):
        text = path.read_text("utf-8")
        assert not re.search(r"@ts-(ignore|nocheck|expect-error)|biome-ignore", text), path.name


def test_what_makes_scripts_modules_can_be_taken_out_line_by_line() -> None:
    found = set()
    for path in (TEMPLATES / "heat_maps.js", RECORDING):
        imports = [line for line in lines(path) if line.startswith("import ")]
        assert all(re.fullmatch(r'import \{ .+ \} from "\./.+";', line) for line in imports)
        found |= {line.partition(" from ")[2] for line in imports}
        assert not re.search(r"^export (\{|default)", path.read_text("utf-8"), re.M)
    assert found == {'"./heat_maps.js";'}


def test_one_script_draws_heat_maps() -> None:
    drawing = [path.name for path in SCRIPTS if "putImageData" in path.read_text("utf-8")]
    recording = RECORDING.read_text("utf-8")
    assert drawing == ["heat_maps.js"]
    assert "putImageData" not in recording
    assert "heat_maps.js" in recording


def test_scripts_call_outcomes_as_python_does() -> None:
    text = (ASSETS / "innings.js").read_text("utf-8")
    lists = re.findall(r"OUTCOME\w* = \[([^\]]+)\]", text)
    named = [re.findall(r'"([^"]+)"', part) for part in lists]
    assert named == [list(OUTCOME_NAMES), [names.noun for names in OUTCOME_NAMES.values()]]


@pytest.mark.parametrize("words", [["tsc"], ["biome", "ci"]], ids=["types", "linter"])
def test_types_and_style(words: list[str]) -> None:
    tool = TOOLS / words[0]
    if shutil.which("node") is None or not tool.exists():
        pytest.skip("node's tools are not here; where node is, run: npm install")
    done = subprocess.run(
        [tool, *words[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

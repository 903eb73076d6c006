"""Which part may know which: the import table, what is cheap, what the front door promises."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnlens

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "attnlens"

# What each part may import besides the standard library and itself. A part is a package of
# attnlens or one of its single modules; an unlisted part fails the test.
MAY_IMPORT = {
    "_version": "",
    "errors": "",
    "axes": "",
    "words": "",
    "csv_cells": "",
    "files": "errors",
    "answers": "_version errors files",
    "probe": "torch",
    "lazy": "errors torch",
    "records": "errors axes lazy recording_files recording_folder selection record_tables notebook "
    "torch",
    "notebook": "errors analysis explanation render",
    "selection": "errors axes records torch",
    "record_tables": "errors words records selection numpy torch pandas",
    "recording_files": "_version errors files axes lazy records torch safetensors",
    "recording_folder": "errors recording_files records",
    "recorder": "errors files axes lazy probe records recording_files recording_folder torch numpy",
    "models": "errors files probe torch numpy safetensors",
    "analysis": "errors numpy torch records record_tables selection axes",
    "explanation": "errors notebook pydantic",
    "render": "errors words explanation matplotlib jinja2 markupsafe",
    "cricket": "errors files axes probe records recorder models analysis explanation torch numpy",
    "symbolic": "errors notebook probe render torch numpy",
    "corpus": "_version csv_cells errors files cricket explanation models "
    "torch numpy pyarrow duckdb ray",
    "training": "_version errors files cricket explanation models "
    "torch numpy sklearn lightgbm matplotlib",
    "text": "errors models recorder analysis records torch numpy",
    "api": "errors cricket explanation pandas",
    "llm": "_version errors",
    "server": "_version errors cricket explanation render mcp pydantic",
    "cli": "_version csv_cells errors words files answers analysis corpus cricket models records "
    "render symbolic text training explanation llm server dashboard pyarrow shtab",
    "__main__": "cli",
    "__init__": "_version",
    "dashboard": "errors dash plotly flask werkzeug",
    "templates": "",
}
HEAVY = {"torch", "numpy", "pandas", "pyarrow", "pydantic", "safetensors", "dash", "plotly"}
PATH_OF_A_MACHINE = re.compile(rb"/(?:home|root|Users|work|opt)/[A-Za-z0-9_.-]|[A-Z]:\\\\?Users")


def sources() -> list[Path]:
    return sorted(
        [
            *PACKAGE.rglob("*.py"),
            *(REPOSITORY / "dashboard").rglob("*.py"),
            *(REPOSITORY / "templates").rglob("*.py"),
        ]
    )


def part_of(path: Path) -> str:
    inside = path.relative_to(REPOSITORY).parts
    if inside[0] != "attnlens":
        return inside[0]
    return inside[1].removesuffix(".py")


class RealImports(ast.NodeVisitor):
    """Names imported when the code runs; those under ``TYPE_CHECKING`` never are."""

    def __init__(self) -> None:
        self.everywhere: set[str] = set()
        self.at_once: set[str] = set()
        self._depth = 0

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for child in node.orelse:
                self.visit(child)
            return
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node: ast.Import) -> None:
        self._add(alias.name for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, "relative imports hide where a name comes from"
        assert node.module is not None
        if node.module == "attnlens":
            self._add(f"attnlens.{alias.name}" for alias in node.names)
        else:
            self._add([node.module])

    def _add(self, names: Iterator[str] | list[str]) -> None:
        for name in names:
            self.everywhere.add(name)
            if not self._depth:
                self.at_once.add(name)


def imports_of(path: Path) -> RealImports:
    found = RealImports()
    found.visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def part_or_library(name: str) -> str:
    first, _, rest = name.partition(".")
    return rest.partition(".")[0] if first == "attnlens" and rest else first


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_part_imports_only_what_it_may_know() -> None:
    broken = []
    for path in sources():
        part = part_of(path)
        allowed = {part, *MAY_IMPORT[part].split()}
        for name in sorted(imports_of(path).everywhere):
            known = part_or_library(name)
            if known not in allowed and known not in sys.stdlib_module_names:
                broken.append(f"{path.relative_to(REPOSITORY)} imports {name}")
    assert broken == []


def test_the_table_holds_what_the_design_rests_on() -> None:
    table = {part: set(known.split()) for part, known in MAY_IMPORT.items()}
    assert [part for part in ("models", "recorder") if "cricket" in table[part]] == []
    assert table["models"] & {"records", "recorder", "analysis", "explanation"} == set()
    assert table["recorder"] & {"models", "analysis", "explanation"} == set()
    assert "cricket" not in table["analysis"] | table["symbolic"]
    assert table["explanation"] & {"torch", "numpy", "cricket", "models"} == set()
    assert table["render"] & {"torch", "pydantic", "cricket", "models"} == set()
    assert set(MAY_IMPORT) == {part_of(path) for path in sources()}


def test_the_import_reader_sees_every_kind_of_import(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        "import torch.nn as nn\nfrom attnlens import errors\nfrom attnlens.cricket.match import X\n"
        "if TYPE_CHECKING:\n    import pandas\nelse:\n    import json\n"
        "class A:\n    import numpy\n    def f(self):\n        from attnlens.models import y\n",
        encoding="utf-8",
    )
    found = imports_of(path)
    assert {part_or_library(name) for name in found.everywhere} == {
        "torch",
        "errors",
        "cricket",
        "json",
        "numpy",
        "models",
    }
    assert found.everywhere - found.at_once == {"attnlens.models"}


def test_the_command_line_loads_nothing_heavy_before_a_command_runs() -> None:
    cheap = {"_version", "errors", "files", "words", "cli"}
    broken = [
        f"{path.name} imports {name} at once"
        for path in sorted((PACKAGE / "cli").glob("*.py"))
        for name in sorted(imports_of(path).at_once)
        if part_or_library(name) not in cheap | sys.stdlib_module_names
    ]
    assert broken == []


def test_the_core_needs_no_cricket() -> None:
    names = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for path in sources()
        if part_of(path)
        in (
            *("axes", "probe", "records", "recorder", "analysis", "models"),
            "explanation",
            "render",
            "symbolic",
        )
    ]
    loaded = run_python(
        "import importlib, sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'attnlens.cricket' or name.startswith('attnlens.cricket.'):\n"
        "            raise ImportError('blocked: ' + name)\n"
        "sys.meta_path.insert(0, Block())\n"
        f"names = {names!r}\n"
        "import attnlens\n"
        "for name in names: importlib.import_module(name)\n"
        "try:\n"
        "    import attnlens.cricket\n"
        "except ImportError: print(len(names), 'without cricket')\n"
    )
    assert loaded.split() == [str(len(names)), "without", "cricket"]


@pytest.mark.parametrize(
    "arguments", [None, ["--help"], ["--version"], ["schema"], ["explain", "-h"]]
)
def test_cheap_questions_load_nothing_heavy(arguments: list[str] | None) -> None:
    asked = "" if arguments is None else f"from attnlens.cli import main; main({arguments!r})"
    printed = run_python(
        "import json, sys, attnlens\n"
        "try:\n"
        f"    {asked or 'pass'}\n"
        "except SystemExit: pass\n"
        "print()\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    loaded = set(json.loads(printed.rstrip().splitlines()[-1]))
    assert "attnlens" in loaded
    assert loaded & HEAVY == set()


def test_asking_a_corpus_needs_no_torch() -> None:
    loaded = run_python(
        "import sys, attnlens.corpus.query\n"
        "print([name for name in ('torch', 'pandas', 'pyarrow') if name in sys.modules])\n"
    )
    assert loaded.strip() == "[]"


def test_the_front_door_holds_what_it_promises() -> None:
    assert attnlens.__all__ == sorted(attnlens.__all__)
    homes = {name: getattr(attnlens, name) for name in attnlens.__all__}
    assert [name for name, value in homes.items() if value is None] == []
    assert set(attnlens.__all__) <= set(dir(attnlens))
    assert set(attnlens._HOMES) | {"__version__"} == set(attnlens.__all__)
    assert not hasattr(attnlens, "nothing")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: no list of tracked files")
    paths = [REPOSITORY / name for name in listed.stdout.split("\0") if name]
    assert paths, "git knows of no file here"
    return [path for path in paths if path.is_file()]


def test_no_file_of_code_is_longer_than_it_can_be_read() -> None:
    long = {
        str(path.relative_to(REPOSITORY)): count
        for path in tracked()
        if path.suffix in (".py", ".md", ".css", ".js", ".j2")
        and (count := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert long == {}


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}: {match.group().decode()}"
        for path in tracked()
        if path.suffix != ".safetensors"
        for match in PATH_OF_A_MACHINE.finditer(path.read_bytes())
    ]
    assert found == []

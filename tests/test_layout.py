"""The house: which room may know which, what is cheap, what the front door promises."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from command_line import HANG

import attnlens

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "attnlens"
FACTS = "tests/passages/rivers.csv"

# The rooms from the ground up, with the libraries that each may name. A room imports itself and
# rooms that stand before it, nothing else; one that is not listed fails the test.
ROOMS = {
    "_version": "",
    "errors": "",
    "files": "",
    "child": "",
    "recording": "torch numpy safetensors pandas",
    "attention": "torch numpy",
    "evidence": "torch numpy pydantic",
    "templates": "",
    "render": "jinja2 markupsafe plotly",
    "reference": "torch numpy safetensors",
    "audits": "torch numpy pandas transformers",
    "llm": "numpy httpx",
    "cricket": "",
    "cricket.errors": "",
    "cricket.match": "",
    "cricket.readers": "",
    "cricket.predictor": "torch numpy",
    "cricket.over": "torch numpy",
    "cricket.explain": "torch numpy pydantic",
    "cricket.words": "pydantic",
    "cricket.what_if": "",
    "cricket.story": "numpy",
    "cricket.reference_models": "",
    "cricket.pages": "matplotlib jinja2 markupsafe",
    "cricket.session": "pandas",
    "cricket.lab": "torch numpy sklearn lightgbm matplotlib",
    "cricket.reference_inputs": "torch",
    "cricket.export": "numpy pyarrow ray",
    "cricket.mcp": "mcp pydantic",
    "dashboard": "dash plotly flask waitress",
    "cli": "pyarrow shtab",
    "__main__": "",
    "__init__": "",
}
FLOORS = list(ROOMS)
CORE = set(FLOORS[: FLOORS.index("cricket")]) | {"__main__"}
# Neighbours that could know each other by their floors, and do not.
STRANGERS = {
    "recording": "reference attention evidence",
    "render": "evidence reference",
    "dashboard": "cricket recording reference",
    "cricket.pages": "recording reference attention",
}
HEAVY = {"torch", "numpy", "pandas", "pyarrow", "pydantic", "safetensors", "dash", "plotly"}
PATH_OF_A_MACHINE = re.compile(rb"/(?:home|root|Users|work|opt)/[A-Za-z0-9_.-]|[A-Z]:\\\\?Users")
CRICKET_WORD = re.compile(
    r"(?<![a-z])(balls?|bowlers?|batters?|batsm[ae]n|innings|wickets?|deliver(?:y|ies))(?![a-z])"
)


@cache
def sources() -> list[Path]:
    folders = (PACKAGE, REPOSITORY / "dashboard", REPOSITORY / "templates")
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def module_of(path: Path) -> str:
    """The dotted name of a source, without ``attnlens.``."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    inside = parts[1:] if parts[0] == "attnlens" else parts
    return ".".join(inside[:-1] if len(inside) > 1 and inside[-1] == "__init__" else inside)


def room_of(module: str) -> str:
    """The room of a module: one of cricket's by two names, any other by one."""
    first, _, rest = module.partition(".")
    return f"cricket.{rest.partition('.')[0]}" if first == "cricket" and rest else first


class RealImports(ast.NodeVisitor):
    """Names imported when the code runs, and apart from them those for the type checker alone."""

    def __init__(self) -> None:
        self.everywhere: set[str] = set()
        self.at_once: set[str] = set()
        self.for_types: set[str] = set()
        self._depth = 0
        self._type_checking = False

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            self._type_checking = True
            for child in node.body:
                self.visit(child)
            self._type_checking = False
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
        assert node.module is not None
        if node.level:  # the dashboard, beside attnlens here and inside it when installed
            self._add(f"attnlens.dashboard.{node.module}.{alias.name}" for alias in node.names)
            return
        if node.module.partition(".")[0] == "attnlens":
            self._add(f"{node.module}.{alias.name}" for alias in node.names)
        else:
            self._add([node.module])

    def _add(self, names: Iterator[str] | list[str]) -> None:
        for name in names:
            if self._type_checking:
                self.for_types.add(name)
                continue
            self.everywhere.add(name)
            if not self._depth:
                self.at_once.add(name)


@cache
def imports_of(path: Path) -> RealImports:
    imports = RealImports()
    imports.visit(ast.parse(path.read_text(encoding="utf-8")))
    return imports


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=HANG,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def modules() -> set[str]:
    return set(map(module_of, sources()))


def known_to(path: Path, with_types: bool = False) -> set[str]:
    """What a source imports, as modules of attnlens and as libraries by their first name."""
    known = set()
    imports = imports_of(path)
    for name in imports.everywhere | (imports.for_types if with_types else set()):
        inside = name.removeprefix("attnlens.")
        if name == "attnlens" or inside == name:
            known.add(name.partition(".")[0])
        else:
            known.add(inside if inside in modules() else inside.rpartition(".")[0])
    return known


def arrows_between_files(with_types: bool = False) -> dict[str, set[str]]:
    return {module_of(path): known_to(path, with_types) - {module_of(path)} for path in sources()}


def test_every_room_imports_only_what_stands_below_it() -> None:
    broken = []
    for path in sources():
        room = room_of(module_of(path))
        below = {*FLOORS[: FLOORS.index(room) + 1], *ROOMS[room].split(), "attnlens"}
        strangers = STRANGERS.get(room, "").split()
        for name in known_to(path):
            known = room_of(name)
            stranger = known in strangers or known.partition(".")[0] in strangers
            if name not in sys.stdlib_module_names and (known not in below or stranger):
                broken.append(f"{path.relative_to(REPOSITORY)} imports {name}")
    assert broken == []
    assert {room_of(module_of(path)) for path in sources()} == set(ROOMS)


def test_no_file_and_no_room_goes_round_in_a_circle() -> None:
    files = arrows_between_files()
    rooms: dict[str, set[str]] = {}
    for name, known in files.items():
        ours = {room_of(other) for other in known} - {room_of(name)}
        rooms.setdefault(room_of(name), set()).update(ours)
    # A ring that exists for the type checker alone is a ring for a reader, too.
    for arrows in (arrows_between_files(with_types=True), files, rooms):
        TopologicalSorter(arrows).prepare()  # raises CycleError, which names the ring


def test_the_lab_is_imported_by_the_command_line_alone() -> None:
    importing = {
        room_of(module)
        for module, known in arrows_between_files().items()
        if any(room_of(name) == "cricket.lab" for name in known)
    }
    assert importing == {"cricket.lab", "cli"}


def words_of_cricket(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()
    return [match.group() for match in CRICKET_WORD.finditer(spaced)]


def test_the_core_speaks_no_cricket() -> None:
    files = [path for path in sources() if room_of(module_of(path)) in CORE]
    files += [
        path
        for folder in (PACKAGE / "render", REPOSITORY / "templates")
        for path in folder.rglob("*")
        if path.suffix in (".j2", ".css", ".js", ".html", ".toml") and "cricket" not in path.parts
    ]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert words_of_cricket(text) == [], path
        assert re.search(r"attnlens[./]cricket", text) is None, path


def test_data_is_typed_but_where_json_is_read_or_written() -> None:
    untyped = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
    count = sum(len(untyped.findall(path.read_text(encoding="utf-8"))) for path in sources())
    assert count < 60


def test_the_command_line_loads_nothing_heavy_before_a_command_runs() -> None:
    cheap = {"_version", "errors", "files", "child", "cli", "cricket.errors"}
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        rooms = {room_of(name.removeprefix("attnlens.")) for name in imports_of(path).at_once}
        assert rooms - cheap - sys.stdlib_module_names == set(), path


def test_the_core_needs_no_cricket() -> None:
    names = [
        f"attnlens.{module_of(path)}"
        for path in sources()
        if room_of(module_of(path)) in CORE - {"__main__"}
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
    "asked",
    [
        "import attnlens",
        "import attnlens.cricket.readers",
        *(
            f"from attnlens.cli import main; main({words.split()!r})"
            for words in ("--help", "--version", "schema", "explain -h", f"check {FACTS} {FACTS}")
        ),
    ],
)
def test_cheap_questions_load_nothing_heavy(asked: str) -> None:
    printed = run_python(
        "import json, sys\n"
        "try:\n"
        f"    {asked}\n"
        "except SystemExit: pass\n"
        "print()\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    loaded = set(json.loads(printed.rstrip().splitlines()[-1]))
    assert "attnlens" in loaded
    assert loaded & HEAVY == set()


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
        and (count := len(path.read_text(encoding="utf-8").splitlines())) > 800
    }
    assert long == {}


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    for path in tracked():
        if path.suffix != ".safetensors":
            assert PATH_OF_A_MACHINE.search(path.read_bytes()) is None, path

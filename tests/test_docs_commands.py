"""Every command and every example of the documentation does, as typed, what its page says.

The blocks of a page run in order, in a copy of the checkout: those of `sh` in bash, those of
`python` in this process, with the names of the blocks before. A block of `text` is what the block
before it printed. A block after the comment `<!-- needs: ... -->` needs what a checkout does not
hold: its command lines are only parsed. zsh, where it is installed, must make the same words of
every line.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import page_commands
import pytest
import torch
from command_line import HANG, REPOSITORY, SPY, clean_environment
from model_folders import small_gpt
from numerics import same_but_for_last_digits

import attnlens

PAGES = sorted(
    str(path.relative_to(REPOSITORY))
    for path in (
        REPOSITORY / "README.md",
        REPOSITORY / "attnlens" / "weights" / "README.md",
        *(REPOSITORY / "docs").glob("*.md"),
    )
)
COMPLETE = {"docs/models.md"}
"""Pages each of whose examples is complete by itself."""

GIVEN = {"a model in FOLDER": lambda: small_gpt(Path("FOLDER"))}
"""What a block needs and the test can make: such a block runs."""

FRAGMENT = "README.md"
"""The page whose example is about the reader's own ``model``, its input ``x`` and ``FOLDER``."""

MOST_THAT_NEED_MORE = 28
"""Blocks that a checkout alone cannot run. A new block should use ``sample_data`` instead."""

FENCE = re.compile(
    r"^(?:<!-- (?P<marker>[^>]+?) -->\n+)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
INSTALLS = re.compile(r"^(?:source \.venv|pip install)[^&\n]*(?:&& )?", re.M)
EXTRAS = {"attnlens dashboard": "dashboard", "attnlens mcp": "mcp"}


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line it begins on, and what it needs."""

    kind: str
    text: str
    line: int
    needs: str | None


def blocks(page: str) -> list[Block]:
    """The blocks of a page that a test can run or compare; `.ci/run` runs what installs."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        marker = fence["marker"] or ""
        needs = marker.removeprefix("needs: ") if marker.startswith("needs: ") else None
        if marker in ("run-command", "test-command") or fence["kind"] == "json":
            continue
        line = text.count("\n", 0, fence.start("text"))
        shown = fence["text"]
        if fence["kind"] == "sh":
            shown = INSTALLS.sub("", shown)
        found.append(Block(fence["kind"], shown, line, needs))
    return found


@dataclass(frozen=True)
class Shells:
    """Shells in which the commands of pages are stand-ins that a server answers."""

    tracked: Path
    log: Path
    spied: Path
    environment: dict[str, str]

    def run(self, shell: str, block: Block, mode: str) -> tuple[str, str]:
        """What a block writes to its two streams in this process's folder."""
        name, *options = ("zsh", "-f") if shell == "zsh" else ("bash",)
        signal = "ZERR" if shell == "zsh" else "ERR"
        trap = f"trap 'echo \"failed: $LINENO $?\" >&2' {signal}"
        done = subprocess.run(
            [name, *options, "-u", "-o", "pipefail", "-c", f"{trap}\n{block.text}"],
            env={**self.environment, "PAGE_MODE": mode},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=HANG,
            check=False,
        )
        return done.stdout, done.stderr

    def commands(self) -> list[list[str]]:
        """The words of each command since this was asked last, sorted."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return sorted(map(json.loads, lines))


def shorten_passages(folder: Path) -> None:
    """Leave one passage in each set, because the page's figures need a quarter of a minute."""
    passage_files = runpy.run_path(str(folder / "measure.py"))["passage_files"]
    for path in folder.glob("*.tar.xz"):
        files = passage_files(path.name.partition(".")[0])
        files["passages.json"] = json.dumps(json.loads(files["passages.json"])[:1])
        with tarfile.open(path, "w:xz") as packed:
            for name, text in files.items():
                member = tarfile.TarInfo(f"set/{name}")
                member.size = len(text.encode())
                packed.addfile(member, io.BytesIO(text.encode()))


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shells]:
    if shutil.which("bash") is None or not hasattr(os, "fork"):
        pytest.skip("the commands of the pages are for bash")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no checkout, so its files cannot be listed")
    root = tmp_path_factory.mktemp("pages")
    tracked, executables, spy = root / "tracked", root / "bin", root / "spy"
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (tracked / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, tracked / name)
    shorten_passages(tracked / "benchmarks" / "fresh_passages")
    executables.mkdir()
    page_commands.stand_ins(executables, root / "socket")
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(SPY, encoding="utf-8")
    environment = clean_environment(
        PATH=f"{executables}{os.pathsep}{os.environ['PATH']}",
        PYTHONPATH=f"{spy}{os.pathsep}{REPOSITORY}",
        PYTHONWARNINGS="",
        PYTHONDONTWRITEBYTECODE="1",
        HOME=str(root),
        XDG_CACHE_HOME=str(root / "cache"),
        PAGE_LOG=str(root / "log"),
        SPY_LOG=str(root / "spied"),
        BROWSER="true",
        OMP_NUM_THREADS="1",
    )
    server = subprocess.Popen(
        [sys.executable, page_commands.__file__, root / "socket"], env=environment, cwd=root
    )
    try:
        while not (root / "socket").exists():
            assert server.poll() is None
            time.sleep(0.05)
        yield Shells(tracked, root / "log", root / "spied", environment)
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def checkout(shells: Shells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the tracked files, the folder of this process."""
    folder = tmp_path / "checkout"
    shutil.copytree(shells.tracked, folder)
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)
    shells.commands()
    shells.spied.unlink(missing_ok=True)


def steady(text: str) -> str:
    """Without the last digits of a rounding error, which are the machine's."""
    return re.sub(r"largest difference is [\d.e+-]+\d", "largest difference", text)


def skip_without_libraries(page: str) -> None:
    """Leave out a page whose examples import what is not installed here."""
    if page == FRAGMENT or any(block.needs in GIVEN for block in blocks(page)):
        pytest.importorskip("transformers")
    for block in blocks(page):
        for node in ast.walk(ast.parse(block.text)) if block.kind == "python" else ():
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                if find_spec(name.partition(".")[0]) is None:
                    pytest.skip(f"{name} is not installed")


def statuses_as_named(block: Block, errors: str) -> None:
    """Every line of a block ends with status 0, or with the one that its comment names."""
    for line, status in re.findall(r"^failed: (\d+) (\d+)$", errors, re.M):
        text = block.text.splitlines()[int(line) - 2]
        assert f"status {status}" in text, f"{text}\n{errors}"


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore:The PyTorch API of nested tensors",
)
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_blocks_of_a_page_run_as_typed(
    page: str,
    shells: Shells,
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    skip_without_libraries(page)
    monkeypatch.setattr(socket.socket, "connect", None)
    names = readers_own() if page == FRAGMENT else {}
    printed: str | None = None
    for block in blocks(page):
        if block.needs in GIVEN:
            GIVEN[block.needs]()
        runs = block.needs is None or block.needs in GIVEN
        if block.kind == "sh":
            out, errors = shells.run("bash", block, "run" if runs else "parse")
            statuses_as_named(block, errors)
            printed = out if runs else None
        elif block.kind == "python":
            if page in COMPLETE:
                names = {}
                torch.manual_seed(0)
                assert "assert" in block.text
            code = compile("\n" * block.line + block.text, page, "exec")  # errors name its line
            capsys.readouterr()
            if runs:
                names["__name__"] = "example"
                exec(code, names)
            printed = capsys.readouterr().out if runs else None
        else:
            assert printed is not None, f"line {block.line} shows the output of what did not run"
            same_but_for_last_digits(steady(printed), steady(block.text))
    if page in AFTERWARDS:
        AFTERWARDS[page](names)
    assert not shells.spied.exists(), shells.spied.read_text(encoding="utf-8")
    nothing_is_left_that_the_page_does_not_name(page, shells.tracked, checkout)
    in_bash = shells.commands()
    if shutil.which("zsh"):
        for block in blocks(page):
            if block.kind == "sh":
                shells.run("zsh", block, "words")
        assert shells.commands() == in_bash


def readers_own() -> dict[str, Any]:
    """What `FRAGMENT` is about."""
    small_gpt(Path("FOLDER"))
    layer = torch.nn.TransformerEncoderLayer(8, 4, 16, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    return {"attnlens": attnlens, "model": model, "x": torch.randn(1, 5, 8)}


def nothing_is_left_that_the_page_does_not_name(page: str, tracked: Path, folder: Path) -> None:
    code = "".join(block.text for block in blocks(page))
    for path in folder.rglob("*"):
        place = path.relative_to(folder)
        if (tracked / place).exists():
            same = path.is_dir() or path.read_bytes() == (tracked / place).read_bytes()
            assert same, f"{place} was changed"
        else:
            named = [str(one) in code for one in (place, *place.parents[:-1])]
            assert any(named), f"{place} is left behind"


def recordings(names: dict[str, Any]) -> None:
    """The examples that change attention do what their comments say; pages are written."""
    model, x, full = names["model"], names["x"], names["full"]
    assert not torch.allclose(names["ablated"], full)
    assert not torch.allclose(names["one_edge"][:, -1], full[:, -1], atol=1e-5)
    assert names["effects"].shape == (300,)
    best = int(names["effects"].argmax())
    with torch.no_grad(), attnlens.intervene(model, hide=names["strongest"]):
        torch.testing.assert_close(model(x)[0], names["outputs"][best], atol=1e-6, rtol=0)
    assert names["gates"].grad.abs().min() > 0
    assert Path("page.html").stat().st_size > 10_000


def audits(names: dict[str, Any]) -> None:
    report = names["report"]
    assert "claims about the whole model" in str(report)
    assert len(names["table"]) == len(report.claims)
    assert Path("audit.html").stat().st_size > 10_000


AFTERWARDS: dict[str, Callable[[dict[str, Any]], None]] = {
    "docs/recordings.md": recordings,
    "docs/audit.md": audits,
}


def test_few_blocks_need_what_a_checkout_does_not_hold() -> None:
    needing = [(page, block.line) for page in PAGES for block in blocks(page) if block.needs]
    assert len(needing) <= MOST_THAT_NEED_MORE, needing


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_a_page_names_the_extras_of_its_commands(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    commands = "".join(block.text for block in blocks(page) if block.kind == "sh")
    for command, extra in EXTRAS.items():
        assert command not in commands or f"[{extra}]" in text

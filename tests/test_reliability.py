"""What may go wrong around a command: other processes, the disk, the network, odd arguments."""

from __future__ import annotations

import ast
import io
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import HANG, REPOSITORY, SPY, clean_environment, command, run_process
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlens.cli import build_parser, main

LEFT_OUT = {"dashboard", "mcp", "lab", "lab planted"}
"""Commands that stay once they have begun, or that train whatever they are given."""

LONG = {"lab train", "lab simulate", "lab evaluate", "lab faithfulness", "lab heads"}
"""Commands that would take minutes were they given matches."""

ODD = (
    *("", " ", "-", "--", "=1", "%s", "{x}", "a\nb", "ü\u202e", "\x1b[31m", "True", "9" * 40),
    *("-1", "0", "1e999", "nan", "47", "7.10", "2:47", "legal:0", "last", "next", "W"),
    *("match.csv", "match.csv::x", "nothing.csv", ".", "/dev/null", "bundled", "json", "micro"),
)


def run(folder: Path, words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of one thread in a folder."""
    options = {"cwd": folder, "env": clean_environment(OMP_NUM_THREADS="1"), **options}
    return subprocess.run(
        words, capture_output=True, text=True, timeout=HANG, check=False, **options
    )


PARSERS = build_parser().commands
PARSERS |= {f"lab {name}": parser for name, parser in PARSERS["lab"].commands.items()}


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command, any of its options, and values that fit or do not."""
    name = draw(st.sampled_from(sorted(set(PARSERS) - LEFT_OUT)))
    words = name.split()
    values = st.sampled_from([one for one in ODD if name not in LONG or one[:5] != "match"])
    values |= st.text(max_size=8).filter(lambda text: "\0" not in text)
    actions = PARSERS[name]._actions
    flags = [one for one in actions if one.option_strings and one.dest != "help"]
    for action in draw(st.lists(st.sampled_from(flags), max_size=4)) if flags else ():
        words.append(action.option_strings[-1])
        if action.nargs != 0:
            fitting = st.sampled_from(list(action.choices)) if action.choices else values
            words.append(str(draw(values | fitting)))
    words += draw(st.lists(values, max_size=3))
    if "--follow" in words:
        words += ["--idle", "0"]
    if "--no-evidence" in {option for action in actions for option in action.option_strings}:
        words.append("--no-evidence")
    if name == "lab train":
        words.append("nothing.csv")
    return words


@given(words=command_lines())
@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_command_line_is_answered_or_refused_in_one_line(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sample_match_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    (tmp_path / "match.csv").write_bytes(sample_match_path.read_bytes())
    status = main(words)
    said = capsys.readouterr()
    assert status in (0, 1, 2), words
    assert "Traceback" not in said.err
    assert "a bug in attnlens" not in said.err, words
    if status == 2:
        complaint = [line for line in said.err.splitlines() if line.startswith("attnlens: ")]
        assert complaint, said.err
        assert all(character.isprintable() for character in complaint[-1])
    leftovers = [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")]
    assert leftovers == []


CLOSED = ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-")


@pytest.mark.parametrize(
    ("closed", "words", "status"),
    [
        (CLOSED[3], "explain match.csv --ball 47 --no-evidence", 0),
        *((closed, "match match.csv", 0) for closed in CLOSED),
        *((closed, words, 2) for closed in CLOSED for words in ("check - nothing.txt", "nonsense")),
    ],
)
def test_a_closed_stream_is_an_empty_one(
    closed: str, words: str, status: int, tmp_path: Path, sample_match_path: Path
) -> None:
    """As a service manager may start us: nothing to read, nowhere to write."""
    (tmp_path / "match.csv").write_bytes(sample_match_path.read_bytes())
    shell = ["sh", "-c", f"exec {shlex.join(command())} {words} {closed}"]
    done = run(tmp_path, shell, stdin=subprocess.DEVNULL)
    assert done.returncode == status
    assert "fault of ours" not in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["match.csv"]


def test_nothing_is_asked_of_the_network(tmp_path: Path, sample_match_path: Path) -> None:
    """No telemetry, no update check, no font: the spy refuses and logs every connection."""
    spy, log = tmp_path / "spy", tmp_path / "log"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(SPY, encoding="utf-8")
    environment = {"PYTHONPATH": f"{spy}{os.pathsep}{REPOSITORY}", "SPY_LOG": str(log)}
    ball = (str(sample_match_path), "--ball", "47")
    asked = (
        ("explain", *ball, "--format", "html"),
        ("predict", str(sample_match_path)),
        ("whatif", *ball, "--set", "last=W"),
        ("lab", "simulate", "--seed", "3", "--out", "made.csv"),
    )
    code = (
        f"from attnlens.cli import main\nfor words in {asked}:\n    assert not main(words), words"
    )
    done = run(tmp_path, [sys.executable, "-c", code], env=clean_environment(**environment))
    assert done.returncode == 0, done.stderr
    assert not log.exists()
    nobody = ("--base-url", "http://127.0.0.1:9/v1", "--llm-model", "x")
    assert run_process(tmp_path, "narrate", *ball, *nobody, "--strict", **environment).status == 1
    assert "127.0.0.1" in log.read_text()  # the spy sees a command that does connect


def test_a_home_that_takes_nothing_costs_nothing(tmp_path: Path, sample_match_path: Path) -> None:
    environment = clean_environment(HOME="/proc/nowhere")
    del environment["XDG_CACHE_HOME"]
    words = command("explain", sample_match_path, "--ball", "47", "--no-evidence")
    done = run(tmp_path, words, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_several_processes_writing_one_file_leave_one_whole_file(
    tmp_path: Path, sample_match_path: Path
) -> None:
    words = command("predict", sample_match_path)
    writing = [*words, "--out", "balls.csv"]
    environment = clean_environment(OMP_NUM_THREADS="1")
    several = [subprocess.Popen(writing, cwd=tmp_path, env=environment) for _ in range(3)]
    assert [one.wait(120) for one in several] == [0, 0, 0]
    assert (tmp_path / "balls.csv").read_text("utf-8") == run(tmp_path, words).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["balls.csv"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit that Linux keeps")
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path, sample_match_path: Path) -> None:
    import resource

    target = tmp_path / "page.html"
    target.write_text("what was there\n")

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    asked = ("explain", sample_match_path, "--ball", "47", "--no-evidence")
    words = command(*asked, "--format", "html", "--out", target.name)
    environment = clean_environment(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    done = run(tmp_path, words, env=environment, preexec_fn=little_room)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "attnlens: page.html: cannot be written (File too large); "
        "raise the limit on file size (ulimit -f)"
    )
    assert target.read_text() == "what was there\n"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_no_code_comes_out_of_a_file() -> None:
    """Nothing is unpickled, evaluated or handed to a shell."""
    forbidden: list[str] = []
    paths = [path for folder in ("attnlens", "dashboard", "templates")
             for path in (REPOSITORY / folder).rglob("*.py")]  # fmt: skip
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            keywords = {one.arg: ast.unparse(one.value) for one in node.keywords}
            if (
                name in ("eval", "exec", "compile", "os.system", "os.popen")
                or name.startswith(("pickle.", "marshal.", "shelve."))
                or (name == "torch.load" and keywords.get("weights_only") != "True")
                or (name.startswith("subprocess.") and "shell" in keywords)
            ):
                forbidden.append(f"{path.relative_to(REPOSITORY)}: {name}")
    assert forbidden == []

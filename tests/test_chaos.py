"""Full disks, rights taken away, other processes, signals and odd names: one line, nothing lost.

What `test_reliability.py`, `test_kills.py`, `test_outputs.py` and `test_cli_processes.py` hold is
not tested again.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import HANG, Here, clean_environment, command, heed_interrupts
from dashboard_server import recorded, until
from model_folders import WORDS, small_gpt
from needed import skip_without

from attnlens.cli.recordings import _append
from attnlens.cricket import export
from attnlens.cricket.export import MatchEntry
from attnlens.cricket.lab.training_loop import RunState, Schedule
from attnlens.cricket.session import AnswerCache
from attnlens.errors import InputError
from attnlens.files import system_remedy, written_beside
from attnlens.reference.checkpoint import write_checkpoint

ON_LINUX = sys.platform.startswith("linux")
NO_ROOM = "cannot be written (No space left on device); free space on the disk, or write to another"
NOBODY = 65534
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, rights and mounts of Unix")


def process(*words: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process whose stderr, and whose stdout unless it is elsewhere, can be read."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = clean_environment(OMP_NUM_THREADS="1")
    return subprocess.Popen(list(map(str, words)), **{"env": environment, **pipes, **options})


def ended(one: subprocess.Popen[bytes]) -> tuple[int, str]:
    """The exit status of a process, and what it said on stderr."""
    _, said = one.communicate(timeout=HANG)
    return one.returncode, (said or b"").decode()


def parts_in(folder: Path) -> list[Path]:
    return list(folder.rglob("*.part"))


# A full disk -------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if not ON_LINUX or os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root on Linux only")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def write_run(path: Path) -> None:
    RunState.new(torch.nn.Linear(300, 300), Schedule(), 10).save(path, Schedule(), "mark")


def write_table(path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    with written_beside(path) as part:
        table = pyarrow.table({"p": np.random.default_rng(0).random(50_000)})
        pyarrow.parquet.write_table(table, part)


WRITERS: dict[str, Callable[[Path], object]] = {
    "checkpoint": lambda path: write_checkpoint(path, {"weight": torch.ones(50_000)}, {}),
    "recording": lambda path: recorded(
        path, torch.nn.MultiheadAttention(8, 8), *[torch.randn(90, 1, 8)] * 3
    ),
    "state": write_run,
    "table": write_table,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_is_named_and_leaves_the_old_file(small_disk: Path, kind: str) -> None:
    """Whatever library writes, and whatever it makes of the system's error."""
    target = small_disk / "old"
    target.write_text("what was there\n")
    with pytest.raises(InputError) as raised:
        WRITERS[kind](target)
    assert str(raised.value).startswith(f"{target}: {NO_ROOM}")
    assert target.read_text() == "what was there\n"
    assert [path.name for path in small_disk.iterdir()] == ["old"]


def test_a_line_is_appended_whole_or_not_at_all(small_disk: Path) -> None:
    path, line = small_disk / "audits.jsonl", b"x" * 9_999 + b"\n"
    with path.open("ab", buffering=0) as file:
        for _ in range(6):
            _append(file, line)
        with pytest.raises(OSError, match="No space left"):
            _append(file, line)
    assert path.read_bytes() == 6 * line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_help_that_cannot_be_printed_and_a_complaint_that_nobody_reads() -> None:
    with open("/dev/full", "wb") as full:
        for word in ("--version", "--help"):
            status, said = ended(process(*command(word), stdout=full))
            assert status == 2
            assert said.startswith("attnlens: stdout: cannot be written or read (No space left")
            assert said.count("\n") == 1
        assert ended(process(*command("nonsense"), stderr=full)) == (2, "")


# Rights, and folders that are gone ---------------------------------------------------------------


@pytest.fixture
def without_rights() -> list[str]:
    """What starts a command that only its owner's rights bind, though root runs the tests."""
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    try:
        done = subprocess.run([*words, "true"], capture_output=True, check=False).returncode
    except OSError:
        done = 1
    if not ON_LINUX or os.geteuid() or done:
        pytest.skip("rights can be given up by root, with setpriv")
    return words


def test_a_folder_that_takes_no_files_is_told_before_the_work(
    tmp_path: Path, without_rights: list[str]
) -> None:
    closed, damaged = tmp_path / "closed", tmp_path / "damaged.csv"
    closed.mkdir(mode=0o555)
    damaged.write_text("no match\n", encoding="utf-8")  # which reading it would report
    words = command("explain", "--all", damaged, "--out", closed)
    status, said = ended(process(*without_rights, *words))
    assert (status, said.count("\n")) == (2, 1)
    assert "cannot be written (Permission denied); write to another folder" in said
    assert list(closed.iterdir()) == []


def test_what_may_not_be_read_is_skipped_or_said_to_be_so(
    tmp_path: Path, without_rights: list[str], sample_match_path: Path
) -> None:
    source = tmp_path / "source"
    (source / "closed").mkdir(parents=True)
    (source / "match.csv").write_bytes(sample_match_path.read_bytes())
    recording = tmp_path / "r.safetensors"
    recorded(recording, torch.nn.MultiheadAttention(4, 2), *[torch.randn(3, 1, 4)] * 3)
    for path in (source / "closed", recording):
        path.chmod(0)
        os.chown(path, NOBODY, NOBODY)
    told = "Permission denied; check the file permissions and the disk"
    status, said = ended(process(*without_rights, *command("match", source)))
    assert (status, told in said, said.count("\n")) == (2, True, 1)
    skipping = command("match", "--on-error", "skip", source)
    status, said = ended(process(*without_rights, *skipping))
    assert (status, told in said) == (0, True)
    status, said = ended(process(*without_rights, *command("view", recording, "--no-browser")))
    assert (status, "as a recording (Permission denied)" in said) == (2, True)


def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    shell = f"cd '{tmp_path}' && mkdir gone && cd gone && rmdir ../gone && exec \"$@\""
    status, said = ended(process("sh", "-c", shell, "sh", *command("models")))
    line = (
        "attnlens: the current folder was deleted; change to another folder, "
        "and run the command again\n"
    )
    assert (status, said) == (2, line)


@pytest.mark.skipif(not ON_LINUX, reason="the memory of a process is limited on Linux only")
def test_too_little_memory_is_one_line(sample_match_path: Path) -> None:
    import resource

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    words = command("explain", sample_match_path, "--ball", "9")
    status, said = ended(process(*words, preexec_fn=little))
    assert (status, said.count("\n")) == (2, 1)
    assert said.startswith("attnlens: there is not enough memory")
    assert said.endswith("; free memory, or raise the limit (ulimit -v)\n")


@pytest.mark.skipif(not ON_LINUX, reason="another system may need other files at the start")
def test_too_few_open_files_are_one_line(sample_match_path: Path) -> None:
    import resource

    pytest.importorskip("mcp", reason="mcp is not installed")
    words = command("mcp", sample_match_path.parent)
    status, said = ended(
        process(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)))
    )
    reason = "cannot be written or read (Too many open files)"
    assert (status, said) == (2, f"attnlens: {reason}; raise the limit on open files (ulimit -n)\n")


# Other processes, and signals --------------------------------------------------------------------

HELD = """import sys, time
from pathlib import Path
from attnlens.files import sharing
with sharing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""
LOCKED = """import sys, time
from attnlens.files import lock
file = open(sys.argv[1], "ab")
print(lock(file.fileno()), flush=True)
time.sleep(600)
"""


def test_parts_are_deleted_once_nobody_else_can_be_writing_them(tmp_path: Path) -> None:
    part = tmp_path / "9.parquet.1.part"
    part.write_text("half")
    os.utime(part, (2e9, 2e9))  # the clock was set back
    holder = process(sys.executable, "-c", HELD, tmp_path)
    assert holder.stdout is not None
    holder.stdout.readline()
    with export._cleared(tmp_path):
        pass
    assert parts_in(tmp_path) == [part]
    holder.kill()
    ended(holder)
    with export._cleared(tmp_path):
        assert parts_in(tmp_path) == []


def test_a_file_of_audits_has_one_writer(attnlens_here: Here) -> None:
    skip_without("transformers")
    folder = small_gpt(attnlens_here.folder / "gpt")
    Path("texts.txt").write_text(" ".join(WORDS[:8]), encoding="utf-8")
    out = attnlens_here.folder / "audits.jsonl"
    out.write_bytes(b'{"model":')  # a line that the other process is writing
    holder = process(sys.executable, "-c", LOCKED, out)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"True\n"
    words = ("audit", folder, "--texts", "texts.txt", "--out", out)
    refusal = attnlens_here.refused(*words)
    remedy = "wait until that process has ended, or give another --out"
    assert refusal == f"attnlens: {out}: is being written by another process; {remedy}\n"
    assert out.read_bytes() == b'{"model":'
    holder.kill()
    ended(holder)
    attnlens_here.refused("audit", "nowhere", "--texts", "texts.txt", "--out", "new.jsonl")
    assert not Path("new.jsonl").exists()
    attnlens_here.good(*words)
    assert out.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_asked_to_end_takes_its_part_away(tmp_path: Path, number: int) -> None:
    out = tmp_path / "season.zip"
    out.write_text("what was there\n")
    words = command("lab", "simulate", "--matches", "5000", "--out", out)
    ours = signal.signal(number, signal.SIG_DFL)  # `nohup` ignores SIGHUP, also in children
    one = process(*words)
    signal.signal(number, ours)
    until(lambda: one.poll() is not None or parts_in(tmp_path))
    time.sleep(0.2)
    one.send_signal(number)
    assert ended(one) == (-number, "")  # as if nothing had taken it
    assert out.read_text() == "what was there\n"
    assert [path.name for path in tmp_path.iterdir()] == ["season.zip"]


DROPPED = """import os, sys, time
from attnlens.cli.signals import ending_in_order
class Freed:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
        for _ in range(1000):
            pass
with ending_in_order():
    freed = Freed()
    del freed
    print("went on", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_python_drops_comes_again(number: int) -> None:
    """An exception that is raised while an object is freed is dropped."""
    words = (sys.executable, "-c", DROPPED, str(int(number)))
    out, said = (one := process(*words, preexec_fn=heed_interrupts)).communicate(timeout=HANG)
    assert (out, one.returncode) == (b"went on\n", -number)
    assert b"Exception ignored" not in said


def test_a_run_by_ray_that_nobody_answers_is_one_line(
    tmp_path: Path, sample_match_path: Path
) -> None:
    skip_without("ray")
    words = command("explain", "--all", sample_match_path, "--out", tmp_path / "out", "--ray")
    environment = clean_environment(RAY_ADDRESS="127.0.0.1:1", PYTHONWARNINGS="ignore")
    status, said = ended(process(*words, env=environment))
    assert (status, said.count("\n")) == (2, 1)
    assert "Ray stopped (did not start: [Errno 111] Connection refused); check RAY_ADDRESS" in said


# Names, pipes and clocks -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "match_id",
    [
        *("CON", "con.x", "nul", "LPT1", "C:\\matches\\1", "..\\..\\x", "a:b", "x" * 255),
        *("new\nline", "\x1b[31m", "a\u202eb", "ünï"),
    ],
)
def test_a_match_is_a_file_of_any_system_whatever_its_id(match_id: str) -> None:
    name = MatchEntry("file", match_id, None).file_name
    assert re.fullmatch(r"[\w.-]{1,120}-[0-9a-f]{8}\.parquet", name, re.ASCII)


def test_a_name_as_long_as_they_may_be_is_written_and_a_longer_one_is_said(
    attnlens_here: Here,
) -> None:
    longest = "é" * 125 + ".json"
    attnlens_here.good("schema", "--out", longest)
    assert attnlens_here.files() == [longest]
    refusal = attnlens_here.refused("schema", "--out", "x" * 256)
    assert refusal.endswith("cannot be written (File name too long); give a shorter name\n")


def test_pipes_are_neither_waited_for_nor_replaced(attnlens_here: Here) -> None:
    os.mkfifo("pipe")
    problem = "attnlens: pipe: is a directory, a device or a pipe; "
    assert attnlens_here.refused("view", "pipe", "--no-browser").startswith(problem)
    recording = ("record", "--from-qk", "pipe", "--out", "r.safetensors")
    assert attnlens_here.refused(*recording).startswith(problem)
    if Path("/dev/stdout").exists():
        status, said = ended(process(*command("schema", "--out", "/dev/stdout")))
        words = "is a device or a pipe, which the output would replace"
        remedy = "omit --out and redirect stdout"
        assert (status, said) == (2, f"attnlens: /dev/stdout: {words}; {remedy}\n")
    assert attnlens_here.files() == ["pipe"]


def test_answers_from_the_future_are_given_and_make_room_first(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "cache", limit=100)
    cache.put("a", "first")
    for path in cache.folder.iterdir():
        os.utime(path, (4e9, 4e9))
    assert cache.get("a") == "first"
    assert all(path.stat().st_mtime < 4e9 for path in cache.folder.iterdir()), "used last now"


def test_every_remedy_is_for_what_happened() -> None:
    assert system_remedy(None, "otherwise") == "otherwise"
    assert system_remedy(13, "otherwise") == "otherwise"
    assert "ulimit -n" in system_remedy(24, "otherwise")

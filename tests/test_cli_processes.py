"""What only a process of its own shows: terminals, pipes, signals, full disks."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import clean_environment, command, heed_interrupts, run_process

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(folder: Path, *arguments: str | Path, **environment: str) -> str:
    """What attnlens writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=clean_environment(TERM="xterm-256color", **environment),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side has closed
                break
            if not part:
                break
            written += part
        os.close(ours)
        assert process.stderr is not None
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (0, b"")
    return written.decode("utf-8").replace("\r\n", "\n")


def test_colour_on_a_terminal_unless_told_not_to(tmp_path: Path, sample_match_path: Path) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--no-evidence")
    coloured = on_a_terminal(tmp_path, *asked, COLUMNS="70")
    plain = on_a_terminal(tmp_path, *asked, COLUMNS="70", NO_COLOR="1")
    assert ESCAPE.search(coloured)
    assert "\x1b" not in plain
    assert ESCAPE.sub("", coloured) == plain
    widths = [len(line) for line in plain.splitlines()]
    assert 60 < max(widths) <= 70


@pytest.mark.parametrize("ended", ["closed", "interrupted"])
def test_a_reader_that_has_seen_enough_and_an_interrupt_leave_nothing(
    tmp_path: Path, sample_match_path: Path, ended: str
) -> None:
    words = command("explain", sample_match_path, "--all", "--no-evidence", "--innings", "1")
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        if ended == "closed":
            process.stdout.close()
        else:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        complaint = process.stderr.read()
    assert json.loads(first)["ball"]["index"] == 1
    assert (process.returncode, complaint) == (0 if ended == "closed" else 130, b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("schema"),
            cwd=tmp_path,
            env=clean_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == (
        b"attnlens: stdout: cannot be written or read (No space left on device); "
        b"free space on the disk, or write to another disk\n"
    )


def test_a_terminal_without_our_characters_still_gets_a_page(
    tmp_path: Path, sample_match_path: Path
) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--no-evidence")
    answer = run_process(tmp_path, *asked, PYTHONIOENCODING="ascii")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.isascii()
    assert "innings 1, delivery 47 of 125, legal ball" in " ".join(answer.out.split())


def test_version_and_help_without_a_command(tmp_path: Path) -> None:
    version = run_process(tmp_path, "--version")
    assert re.fullmatch(r"attnlens [0-9]+\.[0-9]+\.[0-9]+\S*\n", version.out)
    assert (version.status, version.err) == (0, "")
    alone, asked = run_process(tmp_path), run_process(tmp_path, "--help")
    assert alone == asked
    assert (asked.status, asked.err) == (0, "")
    for name in ("explain", "lab"):
        assert f"\n  {name} " in asked.out
        help_text = run_process(tmp_path, name, "--help")
        assert help_text.status == 0
        assert help_text.out.startswith(f"usage: attnlens {name} ")

"""Bad input: one line that says what, where and what to do; exit 2; nothing else left behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from command_line import Here
from safetensors.torch import save_file
from syrupy.assertion import SnapshotAssertion

from attnlens.cli import GROUPS, build_parser

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def complaint(here: Here, *arguments: str | Path) -> str:
    """The one line that a command must end with, leaving no file behind."""
    before = here.files()
    answer = here(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert here.files() == before
    assert answer.err.startswith("attnlens: ")
    assert answer.err.endswith("\n")
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    assert "a bug in attnlens" not in answer.err
    assert "; " in answer.err, "says what to do"
    return answer.err.removeprefix("attnlens: ").rstrip("\n")


JSON_CUT = b'{"meta": {"data_version": "1.1.0"}, "info": {"teams": ["A", "B"]}, "innings": [{"te'
NO_MATCHES = [
    ("cut.csv", lambda sample: sample.read_bytes()[:9000] + b"\n", "cut.csv:"),
    ("cut.json", JSON_CUT, "JSON"),
    ("image.csv", PNG, "image"),
    ("page.json", b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n", "HTML"),
    ("spoilt.csv", lambda sample: sample.with_name("malformed.csv").read_bytes(), "spoilt.csv:61:"),
    (
        "returns.csv",
        lambda sample: b"\r".join(sample.read_bytes().splitlines()),
        "returns.csv:1: each line ends with only a carriage return; save the file with",
    ),
]


@pytest.mark.parametrize(("name", "content", "problem"), NO_MATCHES)
def test_a_file_that_is_no_match(
    attnlens_here: Here,
    sample_match_path: Path,
    name: str,
    content: bytes | Callable[[Path], bytes],
    problem: str,
) -> None:
    written = content if isinstance(content, bytes) else content(sample_match_path)
    Path(name).write_bytes(written)
    for words in (["explain", name, "--ball", "47"], ["predict", name, "--out", "balls.csv"]):
        line = complaint(attnlens_here, *words)
        assert line.startswith(name)
        assert problem.lower() in line.lower()


def test_a_match_that_is_not_there(attnlens_here: Here) -> None:
    Path("folder").mkdir()
    for name in ("nowhere.csv", "folder", "nowhere.zip::1.json"):
        line = complaint(attnlens_here, "explain", name, "--ball", "47")
        assert line.startswith(f"{name.partition('::')[0]}")


def test_a_ball_or_an_option_that_does_not_fit(
    attnlens_here: Here, sample_match_path: Path, snapshot: SnapshotAssertion
) -> None:
    words = (
        "--ball 129", "--ball 0", "--ball 47.5.1", "--all --innings 3",
        "--ball 1:47 --innings 2", "--all --ball 47",
        "--ball 47 --format heatmap --outcome 4", "--all --format html", "--ball 47 --colour",
        "--ball 47 --scale huge", "--ball", "--ball 47 --batter X",
    )  # fmt: skip
    problems = []
    for asked in words:
        line = attnlens_here.refused("explain", sample_match_path, *asked.split())
        line = line.replace(str(sample_match_path), "match.csv").partition(" (choose from")[0]
        problems.append(f"{asked} > {line.strip()}")
    assert problems == snapshot
    assert attnlens_here.files() == []


def test_a_command_that_does_not_exist(attnlens_here: Here) -> None:
    line = complaint(attnlens_here, "explane", "match.csv")
    assert "invalid choice: 'explane'" in line
    assert "explain" in line


def checkpoints(folder: Path) -> Iterator[Path]:
    bundled = files("attnlens.weights").joinpath("bundled.safetensors").read_bytes()
    names = ("missing", "folder", "empty", "cut", "text", "foreign", "other")
    missing, directory, empty, cut, text, foreign, other = (folder / name for name in names)
    directory.mkdir()
    empty.write_bytes(b"")
    cut.write_bytes(bundled[: len(bundled) // 2])
    text.write_text("not weights at all\n", encoding="utf-8")
    save_file({"weight": torch.ones(2, 3)}, foreign)
    about = {"about": json.dumps({"kind": "seq2seq", "format": 1})}
    save_file({"weight": torch.ones(2, 3)}, other, about)
    yield from (missing, directory, empty, cut, text, foreign, other)


def test_a_model_that_cannot_be_used(
    attnlens_here: Here, sample_match_path: Path, snapshot: SnapshotAssertion
) -> None:
    problems = []
    for path in checkpoints(attnlens_here.folder):
        asked = ("explain", sample_match_path, "--ball", "47", "--model", path)
        line = complaint(attnlens_here, *asked)
        assert line.startswith(f"{path}: ")
        problems.append(f"{path.name}{line.removeprefix(str(path)).partition('; ')[0]}")
    assert problems == snapshot


def test_a_place_that_cannot_be_written(attnlens_here: Here, sample_match_path: Path) -> None:
    Path("folder.csv").mkdir()
    for out, problem in (
        (
            "nowhere/a.csv",
            "nowhere/a.csv: cannot be created, because its folder does not exist; "
            "create the folder first",
        ),
        ("folder.csv", "folder.csv: is a directory; give the name of a file"),
    ):
        for words in (["explain", sample_match_path, "--ball", "47"], ["schema"]):
            assert complaint(attnlens_here, *words, "--out", out) == problem


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no /dev/null on this system")
def test_a_device_is_never_replaced(attnlens_here: Here) -> None:
    line = complaint(attnlens_here, "schema", "--out", "/dev/null")
    assert (
        line == "/dev/null: is a device or a pipe, which the output would replace; "
        "omit --out and redirect stdout"
    )
    assert not Path("/dev/null").is_file()


def test_a_link_stays_a_link(attnlens_here: Here) -> None:
    Path("real").mkdir()
    Path("real/schema.json").write_text("old", encoding="utf-8")
    Path("link.json").symlink_to("real/schema.json")
    attnlens_here.good("schema", "--out", "link.json")
    assert Path("link.json").is_symlink()
    assert Path("real/schema.json").read_text(encoding="utf-8") == attnlens_here.good("schema")


def test_a_link_to_nothing_in_a_folder_is_told(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    Path("season").mkdir()
    Path("season/gone.json").symlink_to("nowhere.json")
    Path("season/match.csv").write_bytes(sample_match_path.read_bytes())
    line = complaint(attnlens_here, "match", "season")
    assert line.startswith("season/gone.json: is a link to a file that does not exist; ")
    answer = attnlens_here("match", "season", "--on-error", "skip")
    assert (answer.status, "Copperfield" in answer.out, "gone.json" in answer.err) == (
        0, True, True)  # fmt: skip


def test_predict_simulate_and_train_refuse_what_they_cannot_do(
    attnlens_here: Here, sample_match_path: Path, snapshot: SnapshotAssertion
) -> None:
    Path("empty").mkdir()
    commands = (
        f"predict {sample_match_path} --out balls.xlsx",
        "lab simulate --out match.txt",
        "lab simulate --seed=-1 --out match.csv",
        "lab simulate --out nowhere/match.csv",
        "lab train empty --out mine.safetensors",
    )
    assert [complaint(attnlens_here, *words.split()) for words in commands] == snapshot


def test_control_characters_in_a_name_reach_no_terminal(attnlens_here: Here) -> None:
    line = complaint(attnlens_here, "explain", "\x1b[31mred\n\rname.csv", "--ball", "47")
    assert line.isprintable()


def test_a_command_of_an_earlier_version_says_where_it_went(
    attnlens_here: Here, snapshot: SnapshotAssertion
) -> None:
    commands = (
        "train x", "heads", "text train x.csv", "check a.json b.md --judge",
        "explain x --references", "corpus explain x", "completion bash",
    )  # fmt: skip
    assert {words: complaint(attnlens_here, *words.split()) for words in commands} == snapshot


def test_the_help_lists_every_command_once() -> None:
    listed = " ".join(GROUPS.values()).split()
    assert sorted(listed) == sorted(build_parser().commands)
    assert len(listed) <= 19

"""No command writes over what it reads, however the path is spelt, or two answers to one file."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from command_line import Here

from attnlens.cli.output import check_outputs
from attnlens.errors import InputError

READ = "is one of the matches that this command reads; write to another file"


@pytest.fixture
def place(attnlens_here: Here) -> Here:
    """A folder of matches, a zip of them, and other names for one of them."""
    for seed in range(2):
        attnlens_here.good("lab", "simulate", "--seed", seed, "--out", f"{seed}.csv")
    folder = attnlens_here.folder / "matches"
    folder.mkdir()
    for path in attnlens_here.folder.glob("*.csv"):
        path.rename(folder / path.name)
    with zipfile.ZipFile("season.zip", "w") as archive:
        archive.write(folder / "0.csv", "0.csv")
    os.symlink("matches/0.csv", "link.csv")
    os.symlink("matches", "others")
    os.link("matches/0.csv", "hard.csv")
    return attnlens_here


def words_of(command: str, source: str, out: str) -> list[str]:
    ball = ["--ball", "9"] if command in ("explain", "whatif") else []
    changed = ["--set", "ball:5=6"] if command == "whatif" else []
    return [*command.split(), source, *ball, *changed, "--out", out]


COMMANDS = (
    *("explain", "predict", "match", "whatif"),
    *("lab train", "lab ratings", "lab evaluate", "lab faithfulness", "lab heads"),
)


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("matches/0.csv", "matches/../matches//0.csv"),
        ("link.csv", "matches/0.csv"),
        ("matches/0.csv", "hard.csv"),
        ("others", "matches/1.csv"),
        ("matches", "others/1_info.csv"),
        ("season.zip::0.csv", "season.zip"),
    ],
)
def test_a_match_that_is_read_is_not_written_over(place: Here, source: str, out: str) -> None:
    before = {path: path.read_bytes() for path in place.folder.rglob("*.*") if path.is_file()}
    for command in COMMANDS:
        if command != "predict" or out.endswith(".csv"):  # it writes tables only
            answer = place(*words_of(command, source, out))
            assert (answer.status, answer.err) == (2, f"attnlens: {out}: {READ}\n"), command
    after = {path: path.read_bytes() for path in place.folder.rglob("*.*") if path.is_file()}
    assert after == before


def test_other_outputs_histories_checkpoints_and_recordings_are_kept_too(
    place: Here, snapshot: Any
) -> None:
    source, other = "matches/0.csv", "matches/1.csv"
    Path("folder").mkdir()
    for name in ("model.svg", "history.png", "r.safetensors", "folder/part.safetensors"):
        shutil.copy(source, name)
    messages = {}
    for words in (
        f"lab evaluate {source} --model model.svg --calibration-out model.svg",
        f"lab heads {source} --model model.svg --out model.svg",
        f"explain {source} --ball 9 --model model.svg --out model.svg",
        f"lab evaluate {source} --history history.png --out history.png",
        f"lab faithfulness {source} --out matches/../matches/0.csv",
        f"predict {source} --history {other} --out {other}",
        f"lab train {source} --out new --state {source}",
        f"lab train {source} --out new --state ./new",
        f"lab evaluate {source} --out x.json --calibration-out ./x.json",
        "view r.safetensors --out ./r.safetensors",
        "view folder --out folder/part.safetensors",
    ):
        answer = place(*words.split())
        assert (answer.status, answer.err.count("\n")) == (2, 1), words
        messages[words] = answer.err.strip()
    assert messages == snapshot


def test_what_is_not_read_may_be_written_over(place: Here) -> None:
    """An answer of yesterday beside the matches, and a checkpoint brought up to date in place."""
    for name in ("model.safetensors", "table.csv", "page.html", "empty.csv"):
        Path("matches", name).write_text("match_id,innings\n" if name[0] == "t" else "", "utf-8")
        check_outputs({"--out": f"matches/{name}"}, sources=("matches", "season.zip"))
    check_outputs({"--out": "matches/new.csv", "--state": None}, sources=("matches",))
    check_outputs({"--out": "matches/1.csv"}, sources=("matches/0.csv",))
    with pytest.raises(InputError, match="its folder does not exist"):
        check_outputs({"--out": "nowhere/new.csv"}, sources=("matches",))
    Path("old").write_bytes(b"nothing")
    done = place("lab", "ratings", "matches", "--model", "old", "--out", "old")
    assert done.err.startswith("attnlens: old: is not a safetensors checkpoint; ")


def test_what_is_written_may_be_read_as_any_new_file(place: Here) -> None:
    Path("plain").touch()
    said = ("text", "explain", "seq2seq", "four", "--no-evidence")
    place.good(*said, "--record", "r.safetensors", "--out", "a.txt")
    rights = {name: os.stat(name).st_mode for name in ("plain", "r.safetensors", "a.txt")}
    assert len(set(rights.values())) == 1, "safetensors alone would let nobody else read it"

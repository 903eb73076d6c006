"""`attnlens train` as its users meet it: settings, curves, what is refused before the work."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from command_line import Here

from attnlens.cricket.model.temporal import HEADS
from attnlens.cricket.model.trained import load_predictor
from attnlens.cricket.training.curves import write_curves
from attnlens.cricket.training.settings import PREDICTOR, recipe_and_sizes
from attnlens.errors import InputError


def matches(here: Here, count: int = 4) -> str:
    folder = here.folder / "matches"
    folder.mkdir()
    for seed in range(count):
        here.good("simulate", "--seed", seed, "--out", f"matches/{seed}.json", "--format", "json")
    return "matches"


QUICK = ("--hidden-dim", "12", "--epochs", "2", "--threads", "1", "--head-balls", "3")


def test_settings_reach_the_model_and_the_card(attnlens_here: Here) -> None:
    source = matches(attnlens_here)
    words = ("--set", "heads.medium=3", "--set", "null=null", "--set", "learning_rate=0.001")
    answer = attnlens_here(
        "train", source, "--out", "mine.safetensors", *QUICK, *words, "--curves", "curves.csv"
    )
    assert answer.status == 0, answer.err
    assert "balls/s" not in answer.out
    predictor = load_predictor("mine.safetensors")
    assert predictor.model.sizes.heads == {**HEADS, "medium": 3}
    assert predictor.model.sizes.null is None
    assert predictor.card["recipe"]["learning_rate"] == 0.001
    assert predictor.card["recipe"]["seed"] == 5
    rows = list(csv.reader(Path("curves.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["epoch", "train", "validation"]
    told = predictor.card["epochs"]
    assert [float(row[2]) for row in rows[1:]] == pytest.approx(
        [epoch["validation"] for epoch in told], abs=1e-6
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--set", "speed=3"), "there is no setting 'speed'; known: epochs"),
        (("--set", "dropout"), "a setting is NAME=VALUE"),
        (("--set", "dropout=high"), "'high' is not a number, true, false or null"),
        (("--set", "dropout=1.5"), "dropout is between 0 and 0.9999"),
        (("--set", "epochs=2.5"), "epochs is of the kind int"),
        (("--set", "heads.medium=0"), "heads.medium is at least 1"),
        (("--set", "heads.huge=2"), "there is no setting 'heads.huge'"),
        (("--set", "readout=1"), "readout is of the kind bool"),
        (("--set", "learning_rate=NaN"), "learning_rate is between"),
        (("--curves", "curves.txt"), "curves.txt: curves are a table or a picture; end it in .csv"),
        (("--curves", "nowhere/c.csv"), "nowhere"),
        (("--teacher", "nobody.safetensors"), "nobody.safetensors"),
        (("--state", "nowhere/run.state"), "its folder does not exist; make the folder first"),
        (("--threads", "-2"), "--threads -2 is too few; give a number from 1"),
        (("--head-balls", "0"), "--head-balls 0 is too few; give a number from 1"),
        (("--epochs", "0"), "epochs is at least 1"),
        (("--device", "cuda"), "torch finds no GPU here; use --device cpu"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(
    attnlens_here: Here, words: tuple[str, ...], complaint: str
) -> None:
    import torch

    if "cuda" in words and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    source = matches(attnlens_here, 1)
    before = attnlens_here.files()
    answer = attnlens_here("train", source, "--out", "mine.safetensors", *words)
    assert answer.status == 2
    assert complaint in answer.err
    assert "matches to train on" not in answer.err
    assert [line for line in answer.err.splitlines() if line.startswith("attnlens: ")]
    assert "Traceback" not in answer.err
    assert attnlens_here.files() == before


def test_a_state_that_cannot_be_gone_on_from_is_refused_before_the_work(
    attnlens_here: Here,
) -> None:
    import torch

    source = matches(attnlens_here)
    few = attnlens_here.folder / "few"
    few.mkdir()
    for path in sorted(Path(source).iterdir())[:2]:
        (few / path.name).write_bytes(path.read_bytes())
    state = Path("run.state")
    asked = ("--out", "mine.safetensors", *QUICK, "--epochs", "1", "--state", state)
    assert attnlens_here("train", source, *asked).status == 0
    good, before = state.read_bytes(), attnlens_here.files()
    parts = torch.load(state, weights_only=True)

    def refused(complaint: str, *words: str | Path) -> None:
        answer = attnlens_here("train", *words)
        last = f"attnlens: {complaint}"
        assert (answer.status, answer.err.splitlines()[-1]) == (2, last), answer.err
        assert "fitting" not in answer.err
        assert attnlens_here.files() == before

    settings = "run.state: a run with other settings was begun here; remove it"
    material = (
        "run.state: a run with other matches, sizes or teachers was begun here; remove it, or "
        "name another file"
    )
    refused(settings, "nowhere", *asked, "--seed", "6")
    refused(settings, "nowhere", *asked, "--hidden-dim", "24")
    refused(material, "nowhere", *asked, "--teacher", "bundled")
    days = ("--train-until", "2024-01-01", "--validate-until", "2024-01-01")
    refused(material, "few", *asked, *days)
    damaged = "run.state: is not the state of a training run; remove it"
    for name in ("kept", "optimiser", "schedule", "average", "steps", "best", "history"):
        torch.save({key: value for key, value in parts.items() if key != name}, state)
        refused(damaged, "nowhere", *asked)
    for data in (good[:3000], good[:-200], b"", b"notes\n", bytes(3000)):
        state.write_bytes(data)
        refused(damaged, "nowhere", *asked)
    state.write_bytes(good)
    kept = Path("run.state.teacher")
    kept.mkdir()
    before = attnlens_here.files()
    taught = ("--teacher", "boosted_trees")
    refused("run.state.teacher: is a directory; give a file to write", "nowhere", *asked, *taught)
    kept.rmdir()
    kept.write_bytes(b"notes\n")
    complaint = "run.state.teacher: is not what a teacher said; remove it"
    refused(complaint, "nowhere", *asked, *taught)


def test_settings_may_come_from_a_file(attnlens_here: Here) -> None:
    """Of an option that may be given often, a file or the environment gives one."""
    source = matches(attnlens_here, 1)
    Path("attnlens.toml").write_text('set = "dropout=2"\n', encoding="utf-8")
    attnlens_here.patch.setenv("ATTNLENS_TEACHER", "nobody.safetensors")
    told = attnlens_here("train", source, "--out", "mine").err
    complaint = "attnlens: --set dropout=2: dropout is between 0 and 0.9999\n"
    assert told == f"attnlens: ./attnlens.toml sets set\n{complaint}"
    told = attnlens_here("train", source, "--out", "mine", "--set", "dropout=0.1").err
    assert told.startswith("attnlens: nobody.safetensors: no such checkpoint; ")


def test_settings_and_options_mean_the_same() -> None:
    recipe, sizes = recipe_and_sizes(
        PREDICTOR, ["epochs=3", "hidden_dim=24", "null=-1"], {"seed": 9}
    )
    assert (recipe.epochs, recipe.seed) == (3, 9)
    assert sizes == {"hidden_dim": 24, "null": -1}
    # An option is stronger than a word.
    assert recipe_and_sizes(PREDICTOR, ["seed=4"], {"seed": 9})[0].seed == 9


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_curves_as_a_picture(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"curves.{suffix}"
    epochs = [
        {"epoch": 1, "train": 2.0, "validation": 1.9},
        {"epoch": 2, "train": 1.8, "validation": 1.85},
    ]
    write_curves(path, epochs)
    begins = {"svg": b"<?xml", "png": b"\x89PNG"}[suffix]
    assert path.read_bytes().startswith(begins)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="table or a picture"):
        write_curves(tmp_path / "curves.pdf", epochs)

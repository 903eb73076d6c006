"""`attnlens over`, and `train` of the encoder-decoder, at the command line."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Here, run_process
from numerics import near, same_but_for_last_digits
from syrupy.assertion import SnapshotAssertion

import attnlens
from attnlens.cricket.over.next_over import load_overs
from attnlens.cricket.pages.match_page import render_over
from attnlens.cricket.predictor.calibration import named_checkpoint
from attnlens.cricket.session import Session
from attnlens.reference.checkpoint import read_checkpoint, write_checkpoint
from attnlens.render.canvas import display_width


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Path:
    """The sample match in a folder of its own."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copy(sample_match_path, folder)
    shutil.copy(sample_match_path.with_name("match_info.csv"), folder)
    return folder / sample_match_path.name


def document(here: Here, match: Path | str, over: str | int, *more: str | int) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(here.good("over", match, "--over", over, "--json", *more))
    return data


def test_the_command_and_the_function_give_the_same_document(sample: Path) -> None:
    done = run_process(sample.parent, "over", "match.csv", "--over", "12", "--json")
    assert (done.status, done.err) == (0, "")
    told, answer = json.loads(done.out), attnlens.next_over(sample, over=12)
    for name in ("innings", "over", "actual", "bowled", "flags"):
        assert told[name] == answer[name]
    for one, other in zip(told["tokens"], answer["tokens"], strict=True):
        assert one["token"] == other["token"]
        assert one["probability"] == pytest.approx(other["probability"], abs=2e-5)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(sample: Path, width: int) -> None:
    answer = Session().over(sample, over=12, samples=1000, seed=3)
    page = render_over(answer, width=width, color=False)
    assert max(map(display_width, page.splitlines())) <= min(width, 100)
    assert answer.cross_attention.balls[0].over == 0
    heat = next(line for line in page.splitlines() if line.startswith("  past over"))
    assert heat.split()[2:] == [str(over) for over in range(12)]
    assert all(word in page for word in ("bowled", "even", "effect of hiding it", "1,000 sampled"))
    colored = render_over(answer, width=width, color=True)
    assert ("\x1b" in page, "\x1b[" in colored) == (False, True)


def test_the_first_over_a_drawn_one_and_one_without_evidence(
    attnlens_here: Here, sample: Path
) -> None:
    page = attnlens_here.good("over", sample, "--over", "0")
    assert "no attention: this innings has no earlier ball" in page
    drawn = ("--temperature", "1.5", "--top-k", "4", "--no-evidence", "--seed")
    one, again, other = (document(attnlens_here, sample, "2:19", *drawn, s) for s in (1, 1, 2))
    assert one == again
    assert one["tokens"] != other["tokens"]
    assert one["choice"] == {"greedy": False, "temperature": 1.5, "top_k": 4, "seed": 1}
    assert "target" in one["echo"]
    attnlens_here.good("over", sample, "--over", "3", "--no-evidence", "--out", "page.txt")
    assert "no ball was hidden" in Path("page.txt").read_text(encoding="utf-8")


def test_an_over_of_five_balls_has_five(sample_match_path: Path) -> None:
    match = attnlens.read_match(sample_match_path)
    innings = tuple(replace(one, balls_per_over=5) for one in match.innings)
    hundred = replace(match, balls_per_over=5, innings=innings)
    answer = attnlens.next_over(hundred, over=12, samples=300, evidence=False)
    tokens = [token["token"] for token in answer["tokens"]]
    assert len(tokens) == len(answer["cross_attention"]["weights"])
    assert sum(token != "<end>" for token in tokens) == 5
    assert answer["samples"]["unfinished"] == 0


def test_the_over_not_yet_bowled_is_foretold_from_all_that_was(
    attnlens_here: Here, sample: Path
) -> None:
    """A match that stops after an over of the first innings."""
    whole = document(attnlens_here, sample, 7)
    head, *lines = csv.reader(sample.read_text(encoding="utf-8").splitlines())
    column, side = head.index("ball"), head.index("innings")
    kept = [row for row in lines if row[side] == "1" and int(row[column].partition(".")[0]) < 7]
    shutil.copy(sample.with_name("match_info.csv"), "live_info.csv")

    def write(rows: list[list[str]]) -> None:
        with Path("live.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *rows])

    write(kept)
    for name in ("next", "7"):
        told = document(attnlens_here, "live.csv", name)
        assert (told["bowled"], told["actual"], told["over"]) == (False, [], 7)
        assert told["echo"].split(" | ")[-1] == whole["echo"].split(" | ")[-1]
        same_but_for_last_digits(json.dumps(told["tokens"]), json.dumps(whole["tokens"]))
        weights, expected = (answer["cross_attention"]["weights"] for answer in (told, whole))
        near(weights, expected, of=torch.float32)
    assert "not bowled yet" in attnlens_here.good("over", "live.csv", "--over", "next")
    write(kept[:-2])
    for name in ("next", "6"):
        under_way = document(attnlens_here, "live.csv", name)
        assert (under_way["over"], under_way["bowled"], under_way["finished"]) == (6, True, False)
        assert "unfinished_over" in {flag["flag"] for flag in under_way["flags"]}


WRONG = """
--over 40
--over 20
--over next
--over twelve
--over 3 --innings 9
--over 3 --temperature 0
--over 3 --top-k 0
--over 3 --top-k 99
--over 3 --samples 9999999
--over 3 --seed -1
--over 3 --model nowhere.safetensors
--over 3 --model bundled
--over 3 --history nowhere
--over 3 --out nowhere/page.txt
"""


def test_what_cannot_be_answered_is_said_in_one_line(
    attnlens_here: Here, sample: Path, snapshot: SnapshotAssertion
) -> None:
    questions = WRONG.rstrip("\n").split("\n")  # the first without an over
    refusals = [attnlens_here.refused("over", sample, *words.split()) for words in questions]
    names = {str(sample): "match.csv", str(named_checkpoint("bundled")[1]): "bundled.safetensors"}
    for path, name in names.items():
        refusals = [refusal.replace(path, name).rstrip("\n") for refusal in refusals]
    assert refusals == snapshot
    assert attnlens_here.files() == []


SIZES = "d=12 heads=2 d_k=5 ff=16 warm_up=2 learning_rate=0.01 average=0.5"
TINY = ("--threads", "1", *(word for size in SIZES.split() for word in ("--set", size)))


def test_train_and_ask(attnlens_here: Here) -> None:
    source = attnlens_here.matches(6)
    paths = Path(source).glob("?.json")
    days = sorted(json.loads(path.read_bytes())["info"]["dates"][0] for path in paths)
    asked = ("lab", "train", source, "--model", "cricket", "--out", "mine.safetensors", *TINY)
    asked = (*asked, "--train-until", days[3], "--validate-until", days[4])
    asked = (*asked, "--epochs", "2", "--state", "run")
    done = attnlens_here(*asked)
    assert done.status == 0, done.err
    trained = load_overs("mine.safetensors")
    assert (trained.model.sizes.d, trained.model.sizes.d_k) == (12, 5)
    assert trained.card["recipe"]["epochs"] == 2
    # Loss falls, and a run that is finished goes on to the same bytes.
    assert trained.card["epochs"][1]["train"] < trained.card["epochs"][0]["train"] < 3.3
    before = Path("mine.safetensors").read_bytes()
    assert attnlens_here(*asked).status == 0
    assert Path("mine.safetensors").read_bytes() == before
    other = attnlens_here(*asked, "--seed", "6")
    assert other.status == 2
    assert "a training run with other settings, matches" in other.err
    asked = ("over", f"{source}/1.json", "--over", "5", "--model", "mine.safetensors")
    assert "most attended" in attnlens_here.good(*asked)


def test_a_damaged_checkpoint_is_refused(attnlens_here: Here, sample: Path) -> None:
    whole = read_checkpoint(named_checkpoint("cricket")[1], "cricket")
    about, tensors = whole.metadata, whole.tensors
    less = {name: value for name, value in tensors.items() if name != "model.decoder.E"}
    wrong_sizes = ({"d": 10**9}, {"history": 10**12}, {"ff": 255})
    for complaint, weights, changes in (
        *(("is damaged", tensors, {"sizes": {**about["sizes"], **size}}) for size in wrong_sizes),
        ("is damaged", tensors, {"card": {**about["card"], "token_runs": [[1.0]]}}),
        ("trained on features that this version does not compute", tensors, {"tokens": ["x"]}),
        ("update attnlens", tensors, {"format": 9}),
        ("is damaged", less, {}),
    ):
        write_checkpoint("x.safetensors", weights, {**about, **changes})
        asked = ("over", sample, "--over", "3", "--model", "x.safetensors")
        assert complaint in attnlens_here.refused(*asked)

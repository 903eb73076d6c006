"""`attnlens over`, and `train` of the encoder-decoder, at the command line."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from command_line import Here, run_process
from numerics import near, same_but_for_last_digits

import attnlens
from attnlens.cricket.over.trained_overs import load_overs
from attnlens.cricket.pages.over_page import render_over
from attnlens.cricket.predictor.calibration import named_checkpoint
from attnlens.cricket.session import Session
from attnlens.render.canvas import display_width


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Path:
    """The sample match in a folder of its own."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copy(sample_match_path, folder)
    shutil.copy(sample_match_path.with_name("match_info.csv"), folder)
    return folder / sample_match_path.name


@pytest.fixture(scope="module")
def answer(sample: Path) -> dict[str, object]:
    return attnlens.next_over(sample, over=12)


def test_the_command_and_the_function_give_the_same_document(
    sample: Path, answer: dict[str, object]
) -> None:
    said = run_process(sample.parent, "over", "match.csv", "--over", "12", "--json")
    assert (said.status, said.err) == (0, "")
    told = json.loads(said.out)
    assert list(told)[4:6] == ["innings", "over"] or {"innings", "over"} <= set(told)
    for name in ("innings", "over", "actual", "bowled", "flags"):
        assert told[name] == answer[name]
    assert [one["token"] for one in told["tokens"]] == [one["token"] for one in answer["tokens"]]
    for one, other in zip(told["tokens"], answer["tokens"], strict=True):
        assert one["probability"] == pytest.approx(other["probability"], abs=2e-5)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(sample: Path, width: int) -> None:
    answer = Session().over(sample, over=12, samples=1000, seed=3)
    page = render_over(answer, width=width, color=False)
    assert max(map(display_width, page.splitlines())) <= min(width, 100)
    assert "\x1b" not in page
    assert answer.cross_attention.balls[0].over == 0
    heat = next(line for line in page.splitlines() if line.startswith("  past over"))
    assert heat.split()[2:] == [str(over) for over in range(12)]
    for word in ("bowled", "even", "hiding it alone", "1,000 overs"):
        assert word in page
    colored = render_over(answer, width=width, color=True)
    assert "\x1b[" in colored


def test_the_first_over_a_drawn_one_and_one_without_evidence(
    attnlens_here: Here, sample: Path
) -> None:
    page = attnlens_here.good("over", sample, "--over", "0")
    assert "it looked at nothing: no ball came before" in page
    drawn = ("over", sample, "--over", "2:19", "--temperature", "1.5", "--top-k", "4", "--json")
    one, again, other = (
        json.loads(attnlens_here.good(*drawn, "--no-evidence", "--seed", seed))
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one["tokens"] != other["tokens"]
    assert one["choice"] == {"greedy": False, "temperature": 1.5, "top_k": 4, "seed": 1}
    assert "target" in one["echo"]
    attnlens_here.good("over", sample, "--over", "3", "--no-evidence", "--out", "page.txt")
    assert "no intervention was run" in Path("page.txt").read_text(encoding="utf-8")


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
    whole = json.loads(attnlens_here.good("over", sample, "--over", "7", "--json"))
    lines = sample.read_text(encoding="utf-8").splitlines()
    head = lines[0].split(",")
    column, side = head.index("ball"), head.index("innings")
    kept = [
        row
        for row in csv.reader(lines[1:])
        if row[side] == "1" and int(row[column].partition(".")[0]) < 7
    ]
    with Path("live.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *kept])
    shutil.copy(sample.with_name("match_info.csv"), "live_info.csv")
    for name in ("next", "7"):
        told = json.loads(attnlens_here.good("over", "live.csv", "--over", name, "--json"))
        assert (told["bowled"], told["actual"], told["over"]) == (False, [], 7)
        assert told["echo"].split(" | ")[-1] == whole["echo"].split(" | ")[-1]
        same_but_for_last_digits(json.dumps(told["tokens"]), json.dumps(whole["tokens"]))
        weights, expected = (answer["cross_attention"]["weights"] for answer in (told, whole))
        near(weights, expected, of=torch.float32)
    assert "not bowled yet" in attnlens_here.good("over", "live.csv", "--over", "next")
    with Path("live.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *kept[:-2]])
    said = attnlens_here("over", "live.csv", "--over", "next")
    assert said.status == 2
    assert "over 7 cannot be foretold while over 6 is under way; ask for over 6" in said.err
    under_way = json.loads(attnlens_here.good("over", "live.csv", "--over", "6", "--json"))
    assert (under_way["bowled"], under_way["finished"]) == (True, False)
    assert "unfinished_over" in {flag["flag"] for flag in under_way["flags"]}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "say which over; give --over 12"),
        (("--over", "40"), "match.csv: there is no over 40: innings 1 has overs 0 to 19"),
        (("--over", "20"), "match.csv: innings 1 has no over 20: the side is all out"),
        (("--over", "next"), "match.csv: innings 2 has no over 20: the target"),
        (("--over", "twelve"), "match.csv: over 'twelve' is not understood; write 12"),
        (("--over", "3", "--innings", "9"), "match.csv: there is no innings 9"),
        (("--over", "3", "--temperature", "0"), "a temperature of 0 cannot be drawn with"),
        (("--over", "3", "--top-k", "0"), "the likeliest 0 of 24 tokens cannot be"),
        (("--over", "3", "--top-k", "99"), "the likeliest 99 of 24 tokens cannot be"),
        (("--over", "3", "--samples", "9999999"), "9999999 overs cannot be drawn"),
        (("--over", "3", "--seed", "-1"), "a seed of -1 is none"),
        (("--over", "3", "--model", "nowhere.safetensors"), "nowhere.safetensors: no such"),
        (("--over", "3", "--model", "bundled"), "holds a 'temporal', not a 'cricket'"),
        (("--over", "3", "--history", "nowhere"), "nowhere"),
        (("--over", "3", "--out", "nowhere/page.txt"), "nowhere/page.txt: its folder does not"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_line(
    attnlens_here: Here, sample: Path, words: tuple[str, ...], complaint: str
) -> None:
    said = attnlens_here("over", sample, *words)
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("attnlens: ")
    assert complaint in said.err
    assert attnlens_here.files() == []


SMALL_SIZES = (
    "d=12",
    "heads=2",
    "d_k=5",
    "ff=16",
    "warm_up=2",
    "learning_rate=0.01",
    "average=0.5",
)
TINY = ("--threads", "1", *(word for size in SMALL_SIZES for word in ("--set", size)))


def test_train_and_ask(attnlens_here: Here) -> None:
    source = attnlens_here.matches(6)
    asked = ("lab", "train", source, "--model", "cricket", "--out", "mine.safetensors", *TINY)
    days = sorted(
        json.loads(path.read_text(encoding="utf-8"))["info"]["dates"][0]
        for path in Path(source).glob("?.json")
    )
    until = ("--train-until", days[3], "--validate-until", days[4])
    said = attnlens_here(*asked, *until, "--epochs", "2", "--state", "run")
    assert said.status == 0, said.err
    trained = load_overs("mine.safetensors")
    assert (trained.model.sizes.d, trained.model.sizes.d_k) == (12, 5)
    assert trained.card["recipe"]["epochs"] == 2
    # Loss falls, and a run that is finished goes on to the same bytes.
    assert trained.card["epochs"][1]["train"] < trained.card["epochs"][0]["train"] < 3.3
    before = Path("mine.safetensors").read_bytes()
    assert attnlens_here(*asked, *until, "--epochs", "2", "--state", "run").status == 0
    assert Path("mine.safetensors").read_bytes() == before
    other = attnlens_here(*asked, *until, "--epochs", "2", "--state", "run", "--seed", "6")
    assert other.status == 2
    assert "a run with other settings, matches" in other.err

    asked = ("over", f"{source}/1.json", "--over", "5", "--model", "mine.safetensors")
    assert "looked at most" in attnlens_here.good(*asked)


def test_a_damaged_checkpoint_is_refused(attnlens_here: Here, sample: Path) -> None:
    from attnlens.reference.checkpoint import read_checkpoint, write_checkpoint

    whole = read_checkpoint(named_checkpoint("cricket")[1], "cricket")
    asked = ("over", sample, "--over", "3", "--model", "x.safetensors")

    def refused(complaint: str, tensors: dict[str, torch.Tensor], about: dict[str, object]) -> None:
        write_checkpoint("x.safetensors", tensors, about)
        said = attnlens_here(*asked)
        assert said.status == 2
        assert complaint in said.err
        assert said.err.count("\n") == 1

    about, tensors = whole.metadata, whole.tensors
    for size in ({"d": 10**9}, {"history": 10**12}, {"ff": 255}):
        refused("is damaged", tensors, {**about, "sizes": {**about["sizes"], **size}})
    refused("is damaged", tensors, {**about, "card": {**about["card"], "token_runs": [[1.0]]}})
    refused("trained on other features", tensors, {**about, "tokens": ["x"]})
    refused("update attnlens", tensors, {**about, "format": 9})
    less = {name: value for name, value in tensors.items() if name != "model.decoder.E"}
    refused("is damaged", less, about)

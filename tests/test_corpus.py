"""A corpus holds what predictions and explanations say of its balls, and says it only once."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from command_line import IDENTITY, OUTCOMES, REPOSITORY, SCALES, Here, run_process
from corpus_cases import EACH, MATCHES, TESTED, rows, tree
from scipy.stats import false_discovery_control

from attnlens.cricket.corpus.explain import explain_corpus
from attnlens.cricket.corpus.plan import plan_of
from attnlens.cricket.explain.claims import gather_evidence
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.heads import SHARES
from attnlens.cricket.predictor.trained import Timeline, TrainedPredictor, load_predictor
from attnlens.cricket.predictor.window import predict_match, window_for
from attnlens.cricket.readers import read_match, read_matches

CHANCES = [f"p_{outcome}" for outcome in OUTCOMES]


@pytest.fixture(scope="module")
def predictor() -> TrainedPredictor:
    return load_predictor()


@pytest.fixture(scope="module")
def matches(season_path: Path) -> dict[str, Match]:
    return {match.match_id: match for match in read_matches(season_path)}


def same_chances(balls: Any, expected: list[Any]) -> Any:
    """A table's balls in order, once it has been seen that they are those expected."""
    told = balls.sort_values(["match_id", "innings", "index"])
    frame = pandas.DataFrame(expected)
    assert len(told) == len(frame) > 1500
    for name in IDENTITY:
        assert told[name].astype(str).tolist() == frame[name].astype(str).tolist()
    # Several innings share a pass here, so the last digit may be rounded otherwise.
    assert np.abs(told[CHANCES].to_numpy() - frame[CHANCES].to_numpy()).max() <= 1.01e-6
    return told


def test_the_rows_are_those_of_predict(
    corpus: Path, matches: dict[str, Match], predictor: TrainedPredictor
) -> None:
    in_order = [matches[number] for number in sorted(matches)]
    told = same_chances(
        rows(corpus, "balls"), [row for one in in_order for row in predict_match(one, predictor)]
    )
    came = [OUTCOMES.index(one) for one in told["actual"]]
    of_actual = told[CHANCES].to_numpy()[np.arange(len(told)), came]
    assert np.allclose(told["surprise_bits"], -np.log2(of_actual), rtol=1e-3, atol=1e-4)
    entropy = -(told[CHANCES] * np.log2(told[CHANCES].clip(1e-12))).sum(axis=1)
    assert np.allclose(told["entropy_bits"], entropy, atol=1e-4)


@pytest.mark.parametrize("ball", [BallReference(1, 1), BallReference(2, 50)], ids=str)
def test_the_rows_are_those_of_explain(
    corpus: Path, matches: dict[str, Match], predictor: TrainedPredictor, ball: BallReference
) -> None:
    match = matches[min(matches)]
    data = explain_ball(match, ball, predictor, evidence=False).to_dict()
    asked = (
        f"match_id == '{match.match_id}' and innings == {ball.innings} and index == {ball.index}"
    )
    [row] = rows(corpus, "balls").reset_index(drop=True).query(asked).to_dict("records")
    heads = rows(corpus, "heads").reset_index(drop=True).query(asked)
    assert row["top"] == data["prediction"]["top"]
    for name in ("balls_left", "score", "wickets"):
        assert row[name] == data["ball"][name]
    for source, weight in data["fusion_weights"].items():
        assert row[f"fusion_{source}"] == pytest.approx(weight, abs=2e-6)
    for scale in SCALES:
        told = data["across_balls"][scale]
        for share in told["shares"]:
            name = f"{scale}_{share['relation']}"
            expected = (share["share"], share["uniform"]) if told["balls"] else (np.nan, np.nan)
            found = (row[name], row[f"{name}_uniform"])
            assert found == pytest.approx(expected, abs=2e-6, nan_ok=True)
        for key, head in told["attention_by_head"].items():
            [mine] = heads[(heads["scale"] == scale) & (heads["head"] == key)].to_dict("records")
            earned = None if pandas.isna(mine["earned"]) else mine["earned"]
            assert earned == head["earned"]
            assert mine["own"] == pytest.approx(head["self_attention"], abs=2e-6)
            if not told["balls"]:
                assert np.isnan([mine[name] for name in ("entropy", *SHARES)]).all()
                continue
            weights = np.array(head["row"])
            if not head["top_any"]:  # next to all of its weight is on the ball itself
                assert mine["own"] == pytest.approx(1, abs=1e-4)
                continue
            if scale == "long":
                assert mine["strongest_over"] == head["top_overs"][0]
                assert np.isnan(mine["strongest_index"])
            else:
                assert mine["strongest_index"] == head["top_any"][0]
                assert mine["strongest_weight"] == pytest.approx(weights.max(), abs=2e-6)
                assert mine["visible"] == len(weights)
                part = weights[weights > 0] / weights.sum()
                assert mine["entropy"] == pytest.approx(-(part * np.log(part)).sum(), abs=2e-4)


def test_the_evidence_is_that_of_explain(
    corpus: Path, matches: dict[str, Match], predictor: TrainedPredictor
) -> None:
    claims = rows(corpus, "evidence")
    keys = claims[["match_id", "innings", "index"]].drop_duplicates()
    assert len(keys) == TESTED
    match_id, innings, index = keys.iloc[0]
    reference = BallReference(int(innings), int(index))
    window = window_for(matches[match_id], reference, predictor)
    found = gather_evidence(predictor, window, read_ball(predictor, window), outcome="all")
    mine = claims[(claims["match_id"] == match_id) & (claims["index"] == index)]
    assert mine["claim"].tolist() == [one.claim.text for one in found.tested]
    verdicts = [None if pandas.isna(one) else one for one in mine["verdict"]]
    assert verdicts == [one.judged.verdict for one in found.tested]
    assert [list(one) for one in mine["removed"]] == [list(o.claim.removed) for o in found.tested]
    shares = [math.nan if one.share is None else one.share for one in found.tested]
    assert mine["share"].tolist() == pytest.approx(shares, abs=2e-6, nan_ok=True)


def test_q_over_a_match_is_scipys(corpus: Path) -> None:
    claims = rows(corpus, "evidence")
    assert claims.loc[claims["p"].isna(), "q_match"].isna().all()
    known = claims[claims["p"].notna()]
    assert known.groupby("match_id")["index"].nunique().max() > 1
    of_balls = known["removed"].map(len) > 0
    for _, family in known.groupby([known["match_id"], known["removed_from"], of_balls]):
        expected = false_discovery_control(family["p"])
        assert family["q_match"].to_numpy() == pytest.approx(expected, abs=3e-5)


def test_the_folder_tells_what_it_is_made_of(corpus: Path, season_path: Path) -> None:
    manifest = json.loads((corpus / "manifest.json").read_text("utf-8"))
    assert manifest["complete"] is True
    assert (manifest["matches"], manifest["parts"]) == (MATCHES, MATCHES // EACH)
    assert manifest["model"]["sha256"] == load_predictor().sha256
    told = rows(corpus, "matches").set_index("match_id")
    with zipfile.ZipFile(season_path) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                digest = hashlib.sha256(archive.read(name)).hexdigest()
                assert told.loc[name.removesuffix(".json"), "sha256"] == digest
    for path in (corpus / "parts").iterdir():
        part = json.loads(path.read_text("utf-8"))
        for table, about in part["tables"].items():
            data = (corpus / table / f"year={part['year']}" / f"{path.stem}.parquet").read_bytes()
            assert hashlib.sha256(data).hexdigest() == about["sha256"]


def test_a_history_gives_the_ratings_of_each_date(
    tmp_path: Path, season_path: Path, matches: dict[str, Match], predictor: TrainedPredictor
) -> None:
    options = ("--history", season_path, "--workers", "2", "--matches-per-part", "3")
    done = run_process(tmp_path, "corpus", "explain", season_path, "--out", "dated", *options)
    assert done.status == 0, done.err
    timeline = Timeline(predictor, matches.values())
    in_order = [matches[number] for number in sorted(matches)]
    same_chances(
        rows(tmp_path / "dated", "balls"),
        [row for one in in_order for row in predict_match(one, timeline.predictor_for(one))],
    )


def test_later_matches_leave_finished_parts_as_they_are(tmp_path: Path, shared_data: Path) -> None:
    folder = shared_data / "formats" / "json"
    early, late = folder / "ipl", folder / "bbl"
    explain_corpus([early], tmp_path / "c", each=4)
    before = {name: data for name, data in tree(tmp_path / "c").items() if "part-" in name}
    second = explain_corpus([early, late], tmp_path / "c", each=4)
    after = tree(tmp_path / "c")
    years = {one.date.year for one in map(read_match, late.glob("*.json")) if one.date}
    kept = {name for name in before if not any(f"part-{year}" in name for year in years)}
    assert kept
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert second.here < second.parts
    explain_corpus([early, late], tmp_path / "fresh", each=4)
    assert tree(tmp_path / "fresh") == after


def passed_over(folder: Path) -> dict[str, str]:
    """Why each file was passed over."""
    lines = (folder / "skipped.jsonl").read_text("utf-8").splitlines()
    return {Path(one["file"]).name: one["problem"] for one in map(json.loads, lines)}


def test_bad_matches_are_listed_and_not_fatal(attnlens_here: Here, season_path: Path) -> None:
    with zipfile.ZipFile(season_path) as whole, zipfile.ZipFile("mixed.zip", "w") as mixed:
        names = [name for name in whole.namelist() if name.endswith(".json")]
        mixed.writestr(names[0], whole.read(names[0]))
        mixed.writestr("cut.json", whole.read(names[2])[:4000])
        mixed.writestr("none.json", b"[1, 2")
        mixed.writestr("README.txt", b"hello")
    answer = attnlens_here("corpus", "explain", "mixed.zip", "mixed.zip", "--out", "c")
    lines = answer.err.splitlines()
    assert answer.status == 0
    assert lines[-1].startswith("attnlens: c: 2 parts, 1 match, ")
    assert passed_over(Path("c")).keys() == {"mixed.zip::cut.json", "mixed.zip::none.json"}
    assert rows(Path("c"), "matches")["match_id"].tolist() == [names[0].removesuffix(".json")]


def test_a_file_that_cannot_be_read_hides_no_other_of_its_match(attnlens_here: Here) -> None:
    # In order of name malformed.csv comes first, and both are of the same match.
    asked = ("corpus", "explain", REPOSITORY / "sample_data", "--out", "c")
    assert attnlens_here(*asked).status == 0
    [match] = rows(Path("c"), "matches").to_dict("records")
    assert Path(match["source"]).name == "match.csv"
    assert passed_over(Path("c"))["malformed.csv"].startswith("line 61: ")
    before = tree(Path("c"))
    assert "0 of 1 part, 0 matches" in attnlens_here(*asked).err
    assert tree(Path("c")) == before


def refused(here: Here, *words: str | Path | int) -> str:
    answer = here("corpus", "explain", *words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), answer.err
    return answer.err.removeprefix("attnlens: ").rstrip("\n")


def test_what_does_not_fit_is_refused_in_one_line(attnlens_here: Here, season_path: Path) -> None:
    here = attnlens_here
    assert here("corpus", "explain", season_path, "--out", "c", "--matches-per-part", 4).status == 0
    before = tree(Path("c"))
    same = (season_path, "--out", "c", "--matches-per-part")
    for other, words in {
        "matches_per_part": (2,),
        "model": (4, "--model", "measured"),
        "evidence": (4, "--evidence", 2),
        "history": (4, "--history", season_path),
    }.items():
        assert refused(here, *same, *words).startswith(f"c: was begun with another {other}; ")
    with zipfile.ZipFile(season_path) as whole, zipfile.ZipFile("one.zip", "w") as one:
        name = next(name for name in whole.namelist() if name.endswith(".json"))
        one.writestr(name, whole.read(name))
    said = refused(here, "one.zip", "--out", "c", "--matches-per-part", 4)
    assert said.startswith(f"c: was begun with other matches: {MATCHES - 1} of its {MATCHES} files")
    assert tree(Path("c")) == before
    Path("other").mkdir()
    Path("other/diary.txt").write_text("mine")
    assert refused(here, "one.zip", "--out", "other").startswith("other: is not empty, and holds")
    assert Path("other/diary.txt").read_text() == "mine"
    assert refused(here, "one.zip", "--out", "no/where").startswith("no/where: cannot be written")
    Path("folder").mkdir()
    Path("one.zip").rename("folder/one.zip")
    assert "lies in a folder of matches" in refused(here, "folder", "--out", "folder/c")
    assert "no such file" in refused(here, "nothing.zip", "--out", "d")
    assert "add --engine ray" in refused(here, "folder", "--out", "d", "--address", "x:1")
    assert not Path("d").exists()


def test_ids_that_come_again_are_told_where_they_differ(tmp_path: Path, season_path: Path) -> None:
    with zipfile.ZipFile(season_path) as whole:
        name = next(name for name in whole.namelist() if name.endswith(".json"))
        for folder, text in (("a", whole.read(name)), ("b", whole.read(name) + b"\n")):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / name).write_bytes(text)
    same = plan_of([str(tmp_path / "a"), str(tmp_path / "a")])
    assert (same.matches, same.skipped) == (1, ())
    other = plan_of([str(tmp_path / "a"), str(tmp_path / "b")])
    assert (other.matches, len(other.skipped)) == (1, 1)
    assert "came before" in other.skipped[0].problem

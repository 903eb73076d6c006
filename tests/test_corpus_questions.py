"""SQL over a corpus that can only read it; its report."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.stats
from command_line import OUTCOMES, REPOSITORY, Here
from corpus_cases import EACH, rows, tree
from hostile import save_hostile
from needed import skip_without

from attnlens.cricket.corpus.explain import explain_corpus
from attnlens.cricket.corpus.folder import sealed
from attnlens.cricket.corpus.questions import query
from attnlens.cricket.corpus.report import Least, report_data
from attnlens.cricket.pages.corpus_page import render_corpus
from attnlens.evidence.scores import ratio_interval, wilson

skip_without("duckdb")

FEW = Least(claims=5, bin=10, balls=40, matches=2)


def test_answers_as_csv_and_as_json_lines(attnlens_here: Here, corpus: Path) -> None:
    asked = (
        "select match_id, count(*) as balls, max(date) as day, null as none from balls "
        "group by 1 order by 1"
    )
    told = list(csv.DictReader(io.StringIO(attnlens_here.good("corpus", "query", corpus, asked))))
    lines = attnlens_here.good("corpus", "query", corpus, asked, "--json").splitlines()
    balls = rows(corpus, "balls")
    counts = balls.groupby(balls["match_id"].astype(str)).size().sort_index()
    assert [row["match_id"] for row in told] == counts.index.tolist()
    assert [int(row["balls"]) for row in told] == counts.tolist()
    assert {row["none"] for row in told} == {""}
    assert [json.loads(line) for line in lines] == [
        {**row, "balls": int(row["balls"]), "none": None} for row in told
    ]
    wanted = "select removed from evidence where len(removed) > 1 limit 1"
    removed = attnlens_here.good("corpus", "query", corpus, wanted)
    assert re.fullmatch(r'removed\n"\[\d+(, \d+)+\]"\n', removed)
    assert attnlens_here.good("corpus", "query", corpus, asked, "--out", "a.csv") == ""
    assert Path("a.csv").read_text("utf-8").startswith("match_id,balls,day,none\n")


def test_an_answer_keeps_every_column_and_the_digits_there_are(
    attnlens_here: Here, corpus: Path
) -> None:
    asked = "select 1 as a, 2 as a, 'x' as a_1, 0.5 as half, 0.1::float as tenth, null::float as no"
    said = attnlens_here.good("corpus", "query", corpus, asked, "--format", "json")
    columns = ("a", "a_1", "a_1_1", "half", "tenth", "no")
    assert json.loads(said) == dict(zip(columns, (1, 2, "x", 0.5, 0.1, None), strict=True))
    said = attnlens_here.good("corpus", "query", corpus, asked, "--format", "csv")
    assert said == "a,a_1,a_1_1,half,tenth,no\n1,2,x,0.5,0.1,\n"


def test_hostile_names_are_only_names(attnlens_here: Here, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for number in (4, 5):
        save_hostile(tmp_path / "source" / f"{number}.json", number)
    explain_corpus([tmp_path / "source"], tmp_path / "c")
    asked = "select distinct batter as n from balls union select bowler from balls"
    names = {row["n"] for row in query(tmp_path / "c", asked)}
    assert {"=cmd()", "\x1b[31mred\x1b[0m\x07"} <= names
    said = attnlens_here.good("corpus", "query", "c", asked)
    assert not {"\x1b", "\x07"} & set(said)
    cells = {value for row in csv.reader(io.StringIO(said)) for value in row}
    assert "'=cmd()" in cells
    assert not [one for one in cells if re.match(r"[=+@\t\r]|-(?![0-9])", one)]
    page = render_corpus(report_data(tmp_path / "c", Least(balls=2, matches=1)))
    for harm in ("<script", "<img", "<b>ground", "\u202e", "\u200b", "\x1b"):
        assert harm not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_corpus_without_a_ball_and_a_damaged_one_are_one_line(
    attnlens_here: Here, corpus: Path
) -> None:
    sample = REPOSITORY / "sample_data"
    assert attnlens_here("corpus", "explain", sample / "malformed.csv", "--out", "none").status == 0
    shutil.copytree(corpus, "lost")
    part = sorted(Path("lost").rglob("balls/*/*.parquet"))[-1]
    assert part.name != min(Path("lost").rglob("balls/*/*.parquet")).name
    part.write_bytes(bytes(part.stat().st_size))
    shutil.copytree(corpus, "untold")
    Path("untold/manifest.json").write_text('{"kind": "attnlens corpus"}', "utf-8")
    for folder, said in (
        ("none", "holds no ball yet"),
        ("lost", f"{part}: is damaged: its bytes are not those written; run `attnlens corpus"),
        ("untold", "manifest.json: is damaged, or of an older version; explain anew"),
    ):
        for words in (("report", folder), ("query", folder, "select * from balls")):
            answer = attnlens_here("corpus", *words)
            assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
            assert said in answer.err


@pytest.mark.parametrize(
    "question",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_parquet('{corpus}/balls/*/*.parquet.copy')",
        "copy balls to '{here}/x.csv'",
        "explain analyze copy (select 1) to '{part}'",
        "attach '{here}/x.db'",
        "set enable_external_access = true",
        "select * from enable_logging('QueryLog', storage = 'file', storage_path = '{here}/x')",
        "select 1; copy balls to '{here}/x.csv'",
        "select getenv('HOME')",
        "select * from frame",
        "select nope from balls",
        "select cast('x' as integer) from balls",
        "",
    ],
)
def test_a_corpus_is_only_read(
    attnlens_here: Here, corpus: Path, tmp_path: Path, question: str
) -> None:
    before = tree(corpus)
    part = next((corpus / "balls").rglob("*.parquet"))
    frame = pandas.DataFrame({"a": [1]})  # DuckDB looks for tables among Python's variables
    asked = question.format(corpus=corpus, here=tmp_path, part=part)
    answer = attnlens_here("corpus", "query", corpus, asked)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("attnlens: ")
    assert answer.err.count("\n") == 1
    assert attnlens_here.files() == []
    assert tree(corpus) == before
    assert len(frame) == 1


def test_a_corpus_on_its_way_answers_with_what_is_finished(
    attnlens_here: Here, corpus: Path, tmp_path: Path
) -> None:
    half = tmp_path / "half"
    shutil.copytree(corpus, half)
    for path in sorted((half / "parts").iterdir())[1:]:
        path.unlink()
    manifest = json.loads((half / "manifest.json").read_text("utf-8"))
    del manifest["seal"]
    (half / "manifest.json").write_bytes(sealed({**manifest, "complete": False}))
    asked = "select count(distinct match_id) as n from balls"
    answer = attnlens_here("corpus", "query", half, asked)
    assert (answer.status, answer.out) == (0, f"n\n{EACH}\n")
    assert answer.err == f"attnlens: {half}: 1 of 4 parts are finished; the answer is of those\n"
    missing = attnlens_here("corpus", "query", tmp_path / "none", "select 1")
    assert (missing.status, missing.err.count("holds no corpus")) == (2, 1)


@pytest.fixture(scope="module")
def report(corpus: Path) -> dict[str, Any]:
    return report_data(corpus, FEW)


def test_the_reports_figures_are_those_of_the_tables(corpus: Path, report: dict[str, Any]) -> None:
    balls, heads = rows(corpus, "balls"), rows(corpus, "heads")
    assert report["figures"]["balls"] == len(balls)
    mean = balls["surprise_bits"].mean() * math.log(2)
    assert report["figures"]["log_loss"]["value"] == pytest.approx(mean, abs=1e-6)
    hits = (balls["top"].astype(str) == balls["actual"].astype(str)).mean()
    assert report["figures"]["accuracy"]["value"] == pytest.approx(hits, abs=1e-6)
    for row in report["fusion"]:
        of_phase = balls[balls["phase"] == row["phase"]]
        assert row["balls"] == len(of_phase)
        assert sum(row["weights"].values()) == pytest.approx(1, abs=1e-4)
        assert row["weights"]["medium"] == pytest.approx(of_phase["fusion_medium"].mean(), abs=1e-5)
    assert len(report["attention"]) == 13 * len(report["fusion"])
    for row in report["attention"][::7]:
        mine = heads[(heads["scale"] == row["scale"]) & (heads["head"] == row["head"])]
        mine = mine[mine["phase"] == row["phase"]]
        for entry in row["relations"]:
            if entry["share"] is not None:
                assert entry["share"] == pytest.approx(mine[entry["relation"]].mean(), abs=1e-5)
    for one in report["calibration"]:
        assert one["happened"] == (balls["actual"] == one["outcome"]).sum()
        for entry in one["bins"]:
            assert entry["low"] <= entry["observed"] <= entry["high"]
    four = report["calibration"][OUTCOMES.index("4")]["bins"]
    assert sum(one["balls"] for one in four) == len(balls)
    weighed = sum(one["balls"] * one["predicted"] for one in four)
    assert weighed == pytest.approx(balls["p_4"].sum(), rel=1e-4)


def test_the_reports_claims_players_and_surprises(corpus: Path, report: dict[str, Any]) -> None:
    balls, claims = rows(corpus, "balls"), rows(corpus, "evidence")
    told = claims[claims["verdict"].notna()]
    judged = told[told["verdict"] != "cannot be told"]
    assert report["claims"]["tested"] == len(judged)
    for row in report["claims"]["phase"]:
        mine = told.query("removed_from == 'model' and kind != 'last balls'")
        mine = mine[mine["phase"] == row["name"]]
        untold = (mine["verdict"] == "cannot be told").sum()
        assert (row["claims"], row["untold"]) == (len(mine) - untold, untold)
        mine = mine[mine["verdict"] != "cannot be told"]
        assert row["supported"] == (mine["verdict"] == "supported").sum()
        ends = wilson(row["supported"], len(mine))
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-6)
    hardest = report["surprises"]["balls"][0]
    assert hardest["surprise_bits"] == pytest.approx(balls["surprise_bits"].max(), abs=1e-6)
    told = report["surprises"]["bowlers"]
    assert told["most"]
    assert told["least"]
    first = told["most"][0]
    mine = balls[balls["bowler_id"].astype(object).fillna(balls["bowler"]) == first["player"]]
    excess = mine["surprise_bits"] - mine["entropy_bits"]
    assert (first["balls"], first["matches"]) == (len(mine), mine["match_id"].nunique())
    assert first["excess_bits"]["value"] == pytest.approx(excess.mean(), abs=1e-5)
    order = [one["excess_bits"]["value"] for one in told["most"]]
    assert order == sorted(order, reverse=True)


def test_the_page_needs_nothing_else(
    attnlens_here: Here, corpus: Path, report: dict[str, Any]
) -> None:
    attnlens_here.good("corpus", "report", corpus, "--out", "report.html")
    page = Path("report.html").read_text("utf-8")
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert " style=" not in page
    assert "default-src &#39;none&#39;" in page
    assert page.count("<h2") == page.count("</section>")
    assert f"{report['figures']['balls']:,} balls" in page
    assert "medium head 2 (same batsman)" in page
    assert "recency" not in page.replace("micro head 1 (recency)", "")
    told = json.loads(attnlens_here.good("corpus", "report", corpus, "--json"))
    assert told["figures"] == report["figures"]
    refused = attnlens_here("corpus", "report", corpus, "--out", corpus / "manifest.json")
    assert refused.status == 2


def test_a_means_interval_is_the_usual_one_where_each_match_has_one_ball() -> None:
    values = np.random.default_rng(3).normal(2.0, 1.5, 400)
    value, low, high = ratio_interval(values, np.ones(400))
    half = scipy.stats.norm.ppf(0.975) * scipy.stats.sem(values)
    assert (value, low, high) == pytest.approx((values.mean(), value - half, value + half))
    # Four equal balls a match say no more than one.
    assert ratio_interval(4 * values, np.full(400, 4.0)) == pytest.approx((value, low, high))
    assert np.isnan(ratio_interval(values[:1], np.ones(1))[1])

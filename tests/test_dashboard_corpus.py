"""The page of a corpus in a real browser: sorted, narrowed, followed to a ball, damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import run_process
from corpus_cases import rows, season
from dashboard_server import HOSTILE, Server, serving
from needed import skip_without

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
skip_without("dash")
skip_without("duckdb")
expect = playwright.expect

MATCHES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, hostile_match: Path) -> Path:
    """Simulated matches, one whose first bowler's name is an attack, and their corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    sources = (season(folder, MATCHES), hostile_match)
    made = run_process(folder, "corpus", "explain", *sources, "--out", "made", "--evidence", "6")
    assert made.status == 0, made.err
    return folder


@pytest.fixture(scope="module")
def shown(folder: Path, hostile_match: Path) -> Iterator[Server]:
    """The matches and their corpus, open."""
    files = (folder / "season.zip", hostile_match)
    with serving(folder, *files, "--corpus", folder / "made") as one:
        yield one


@pytest.fixture
def opened(page: Any, shown: Server) -> Any:
    page.also = shown.url
    page.goto(shown.url + "/corpus")
    page.wait_for_selector("body[data-ready=yes]")
    return page


def column(page: Any, panel: str, number: int) -> list[str]:
    """Column ``number``, from 1, of a panel's first table."""
    table = page.locator(f"#{panel} table").first
    return table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()


def test_it_says_what_the_report_says(opened: Any, shown: Server, folder: Path) -> None:
    told = json.loads(run_process(folder, "corpus", "report", "made", "--json").out)
    figures = told["figures"]
    expect(opened.locator("h1")).to_have_text(
        f"Corpus: {figures['balls']:,} balls of {MATCHES + 1} matches"
    )
    loss = figures["log_loss"]
    expect(opened.locator("#fit-shown dd").first).to_have_text(
        f"{loss['value']:.4f} ({loss['low']:.4f} to {loss['high']:.4f}) nats a ball"
    )
    heads = opened.locator("#attention tbody tr")
    expect(heads).to_have_count(len(told["attention"]))
    first = told["attention"][0]
    ratios = [f"{one['ratio']:.1f}" for one in first["relations"]]
    assert heads.first.locator("td").all_inner_texts()[1:9] == ratios
    expect(opened.locator("#surprises tbody tr")).to_have_count(len(told["surprises"]["balls"]))
    status, page, headers = shown.get("/files/corpus/report.html")
    assert (status, headers["Content-Type"].split(";")[0]) == (200, "text/html")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert page.decode() + "\n" == run_process(folder, "corpus", "report", "made").out
    assert shown.json("/files/corpus/report.json") == told
    assert shown.get("/files/corpus/balls.parquet")[0] == 404
    # A name is only a name.
    opened.fill("#corpus-player", HOSTILE)
    expect(opened.locator("#surprises tbody a").first).to_contain_text(HOSTILE)
    assert opened.locator("main img").count() == 0


def test_a_head_of_a_table_sorts_it_by_key_and_says_so(opened: Any) -> None:
    button = opened.locator("#attention thead button", has_text="same bowler")
    button.focus()
    opened.keyboard.press("Enter")
    expect(opened.locator("#attention th[aria-sort=descending]")).to_contain_text("same bowler")
    expect(opened.locator("#say")).to_have_text("Sorted by same bowler, largest first")
    found = [float(one) for one in column(opened, "attention", 4)]
    assert found == sorted(found, reverse=True)
    opened.keyboard.press("Enter")
    found = [float(one) for one in column(opened, "attention", 4)]
    assert found == sorted(found)


def test_what_is_chosen_narrows_stands_in_the_address_and_leads_to_its_ball(
    opened: Any, folder: Path
) -> None:
    balls = rows(folder / "made", "balls")
    player = str(balls["bowler"].iloc[-1])
    opened.select_option("#corpus-phase", "death")
    assert set(column(opened, "attention", 2)) == {"death"}
    opened.fill("#corpus-player", player.lower())
    his = (balls.bowler == player) | (balls.batter == player)
    mine = balls[his & (balls.phase == "death") & ~balls.super_over & balls.surprise_bits.notna()]
    mine = mine.sort_values(["surprise_bits"], ascending=False, kind="stable")
    expect(opened.locator("#surprises caption")).to_contain_text(f"“{player.lower()}”")
    told = [float(one) for one in column(opened, "surprises", 3)]
    assert told == pytest.approx(mine.surprise_bits[:50].tolist(), abs=0.051)
    assert "phase=death" in opened.url
    worst = mine.iloc[0]
    opened.locator("#surprises tbody a").first.click()
    opened.wait_for_selector(".slider")
    assert opened.url.endswith(f"/innings/{worst.innings}/ball/{worst['index']}")
    expect(opened.locator(".slider")).to_have_attribute("aria-valuenow", str(worst["index"]))
    opened.go_back()
    assert opened.input_value("#corpus-player") == player.lower()
    opened.click("#corpus-all")
    expect(opened.locator("#attention tbody tr")).to_have_count(39)
    assert opened.url.endswith("/corpus")


def test_a_corpus_that_cannot_be_read_is_one_line(
    page: Any, tmp_path: Path, sample_match_path: Path
) -> None:
    run_process(tmp_path, "corpus", "explain", sample_match_path, "--out", "bad")
    [path] = (tmp_path / "bad" / "balls").rglob("*.parquet")
    path.write_bytes(b"\0" * path.stat().st_size)
    page.provoked = (422,)
    with serving(tmp_path, sample_match_path, "--corpus", "bad") as one:
        page.also = one.url
        page.goto(one.url + "/corpus")
        said = page.locator("#corpus-about .trouble")
        expect(said).to_contain_text("is damaged: its bytes are not those written")
        assert str(tmp_path) not in said.text_content()
        assert one.get("/data/corpus/balls.json?player=x")[0] == 422
        page.goto("about:blank")

"""The dashboard in a real browser: what a person does there, and what is shown for it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from dashboard_server import (
    HOSTILE,
    Server,
    ball,
    downloaded,
    figures,
    opened,
    polling_quickly,
    serving,
)
from needed import skip_without

import attnlens

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
skip_without("dash")
expect = playwright.expect

SAMPLE_FILE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
CELL = """([row, column]) => {
  const canvas = document.querySelector("#head-map canvas");
  return [...canvas.getContext("2d").getImageData(column, row, 1, 1).data].slice(0, 3);
}"""
"""The colour of a cell of the enlarged map."""


def outcome(page: Any, code: str) -> Any:
    return page.locator(f"#outcomes .row[data-outcome='{code}']")


def test_the_page_of_a_ball_says_what_explain_says(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    explanation = server.explanation()
    ball = explanation["ball"]
    assert (ball["index"], ball["label"]) == (47, "7.4")
    score = page.locator("#score")
    expect(score.locator(".team > b")).to_have_text(f"{ball['score']}/{ball['wickets']}")
    expect(score.locator(".which b")).to_have_text("7.4")
    expect(score).to_contain_text(ball["batter"])
    expect(score).to_contain_text(ball["bowler"])
    by_name = {row["outcome"]: row for row in explanation["prediction"]["outcomes"]}
    # The outcome that the page is about is the one that is chosen.
    subject = explanation["prediction"]["subject"]
    expect(page.locator("#outcomes .row[aria-pressed=true]")).to_have_count(1)
    expect(outcome(page, subject)).to_have_attribute("aria-pressed", "true")
    for code in ("0", "1", "6", "W"):
        row = by_name[code]
        number = float(outcome(page, code).locator("b").text_content().strip("%"))
        assert number == pytest.approx(100 * row["probability"], abs=0.51)
    adds = figures(page.locator("#groups td.number > span"))
    points = [
        next(p["points"] for p in group["from_usual"] if p["outcome"] == subject)
        for group in explanation["contributions"]
    ]
    assert sorted(adds) == pytest.approx(sorted(points), abs=0.051)
    expect(page.locator("#most")).to_contain_text("Most attention: ")
    most = max(explanation["past_balls"], key=lambda past: past["attention"])
    expect(page.locator("#most")).to_contain_text(f"{most['label']} ")
    expect(page.locator("#most")).to_contain_text(f"{100 * most['attention']:.0f}%")


def test_effects_and_hidden_sets_are_those_of_the_explanation(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    explanation = server.explanation()
    effects = {past["index"]: past["effect_points"] for past in explanation["past_balls"]}
    most = max(abs(points) for points in effects.values())
    bars = page.locator(".slider rect.raises, .slider rect.lowers")
    expect(bars).to_have_count(125)
    for index in (46, 34, 10):
        bar = bars.nth(index - 1)
        up = bar.get_attribute("class") == "raises"
        height = float(bar.get_attribute("height"))
        assert (height if up else -height) == pytest.approx(26 * effects[index] / most, abs=0.1)
    rows = page.locator("#hidden tbody tr")
    assert rows.count() >= 4
    for row in rows.all():
        number = int(row.locator("[data-claim]").get_attribute("data-claim"))
        change = explanation["evidence"][number]["top_change"]
        shown = float(row.locator("td.number b").text_content().strip("%"))
        assert shown == pytest.approx(100 * change["after"], abs=0.051)
        # The dot stands on the scale on which the line is the prediction.
        dot, line = row.locator("circle"), row.locator("line")
        lower = float(dot.get_attribute("cx")) < float(line.get_attribute("x1"))
        assert lower == (change["after"] < change["before"])


def test_every_claim_is_shown_with_its_verdict_under_its_own_kind(
    page: Any, server: Server
) -> None:
    opened(page, server, explained=True)
    evidence = server.explanation()["evidence"]
    page.keyboard.press("c")
    claims = page.locator("#claims-list [data-claim]")
    expect(claims).to_have_count(len(evidence))
    for number, claim in enumerate(evidence):
        row = page.locator(f"#claims-list [data-claim='{number}']")
        expect(row).to_contain_text(claim["claim"])
        assert re.search(r"P\(\w+\) [<\d.]+% → [<\d.]+%", row.text_content())
        if claim["p"] is not None and claim["control_sets"]:
            share = re.search(r"larger than ([\d.]+)%", row.text_content())
            assert float(share[1]) == pytest.approx(100 * (1 - claim["p"]), abs=0.1001)
        expect(row).to_be_enabled(enabled=bool(claim["removed"]))
    expect(page.locator("#claims-list h3")).to_have_count(3)


def test_a_match_opens_on_who_won_and_where_it_turned(page: Any, server: Server) -> None:
    page.goto(server.url)
    page.locator(".cards a").first.click()
    page.wait_for_selector("body[data-page=story][data-ready=yes]")
    assert page.url == server.url + "/match/simulated-252"
    story = attnlens.story(SAMPLE_FILE, evidence=False)
    expect(page.locator("h1")).to_have_text(re.compile(story.result, re.I))
    expect(page.locator(".curve .mark")).to_have_count(len(story.turning_points))
    expect(page.locator(".curve .ball")).to_have_count(len(story.win_probability))
    turn = story.turning_points[1]
    row = page.locator(".turned li").nth(1)
    expect(row).to_contain_text(turn.sentence)
    assert float(row.locator(".end > span").first.text_content().replace("−", "-")) == (
        pytest.approx(100 * turn.swing, abs=0.051)
    )
    address = re.compile(f"/innings/{turn.innings}/ball/{turn.index}$")
    for link in (row.locator("a"), page.locator(".curve a:has(.mark)").nth(1)):
        link.click()
        page.wait_for_selector("body[data-page=ball][data-tested=yes]")
        expect(page).to_have_url(address)
        page.go_back()
        expect(page.locator("h1")).to_have_text(re.compile(story.result, re.I))
        expect(row).to_contain_text(turn.sentence)


def test_a_player_is_found_and_the_page_moves_to_the_ball(page: Any, server: Server) -> None:
    opened(page, server)
    hits = page.locator("#hits option")
    page.fill("#find", "mirwaldi bowls")
    expect(hits).to_have_count(2)  # in either match, the one that is shown first
    page.fill("#find", hits.first.get_attribute("value"))
    expect(page.locator("#score")).to_contain_text("Zeeshan Mirwaldi")
    expect(page.locator(".which b")).to_have_text("3.1")
    expect(page.locator("#find")).to_have_value("")
    page.fill("#find", "comets mariners")
    expect(hits.first).to_have_attribute("value", re.compile("^Copperfield Comets v "))
    page.fill("#find", hits.first.get_attribute("value"))
    page.wait_for_selector("body[data-page=story]")


def test_the_chosen_outcome_is_what_everything_is_about(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    four = server.explanation(outcome="4")
    outcome(page, "4").click()
    expect(page.locator("#groups caption")).to_contain_text("P(four)")
    expect(page.locator("#headline")).to_contain_text(re.compile("four", re.I))
    expect(page.locator(".slider text tspan")).to_have_text("four")
    assert "outcome=4" in page.url
    row = page.locator("#hidden tbody tr").first
    claim = four["evidence"][int(row.locator("button").get_attribute("data-claim"))]
    expect(row.locator("b")).to_have_text(f"{100 * claim['top_change']['after']:.1f}%")
    outcome(page, "4").click()
    expect(page.locator("#groups caption")).not_to_contain_text("P(four)")
    assert "outcome" not in page.url


def test_heads_are_ordered_by_what_they_carry_and_their_cells_are_their_weights(
    page: Any, server: Server
) -> None:
    opened(page, server, explained=True)
    explanation = server.explanation()
    carries = {
        f"{scale}-{key.split('_')[1]}": head["carries"]
        for scale, heatmap in explanation["across_balls"].items()
        for key, head in heatmap["attention_by_head"].items()
    }
    cards = page.locator(".head")
    expect(cards).to_have_count(len(carries))
    order = []
    for card in cards.all():
        name, box = card.get_attribute("data-head"), card.bounding_box()
        order.append((round(box["y"]), box["x"], name))
        share = card.locator("b").text_content()
        if not share.startswith("<"):
            assert float(share.strip("%")) == pytest.approx(100 * carries[name], abs=0.51)
    shown = [carries[name] for _, _, name in sorted(order)]
    assert shown == pytest.approx(sorted(shown, reverse=True), abs=1e-4)
    page.locator(".head[data-head='medium-2']").click()
    assert "head=medium-2" in page.url
    expect(page.locator("#head h3")).to_contain_text("medium 2")
    cells = page.locator("#head-map canvas")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    # Row 35 of 36 is this ball; column 20 is delivery 32.
    cells.click(position={"x": box["width"] * 20.5 / 36, "y": box["height"] * 35.5 / 36})
    readout = page.locator("#cell")
    expect(readout).to_contain_text("ball 7.4 looks at 5.1 ")
    heads = explanation["across_balls"]["medium"]["attention_by_head"]
    row = next(head for name, head in heads.items() if name.startswith("head_2_"))["row"]
    percentage = float(re.search(r"([\d.]+)%$", readout.text_content())[1])
    assert percentage == pytest.approx(100 * row[20], abs=0.1)
    page.locator("#head-map").focus()
    page.keyboard.press("ArrowLeft")
    expect(readout).to_contain_text("ball 7.4 looks at 4.7 ")
    # A larger weight is darker.
    order = sorted(range(35), key=lambda column: row[column])
    light, dark = (sum(page.evaluate(CELL, [35, column])) for column in (order[0], order[-1]))
    assert dark < light
    page.keyboard.press("Escape")
    expect(page.locator("#head")).to_be_hidden()
    expect(page.locator(".head[data-head='medium-2']")).to_be_focused()


def test_walking_by_keys_and_back(page: Any, server: Server) -> None:
    opened(page, server)
    page.keyboard.press("ArrowRight")
    assert (ball(page), page.url.endswith("/ball/48")) == (48, True)
    page.wait_for_timeout(400)  # quick steps are one step of the browser's history
    page.keyboard.press("Shift+ArrowRight")
    assert (ball(page), page.url.endswith("/ball/54")) == (54, True)
    expect(page.locator(".which b")).to_have_text("8.4")
    page.go_back()
    expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "48")
    page.go_forward()
    expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "54")
    page.keyboard.press("End")
    assert ball(page) == 125
    page.keyboard.press("]")
    expect(page.locator(".team span")).to_contain_text("Port Amber Mariners")
    assert page.url.endswith("/innings/2/ball/1")


def test_clicking_and_dragging_the_innings_and_playing_it(page: Any, server: Server) -> None:
    opened(page, server)
    box = page.locator(".slider svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    page.mouse.down()
    middle = ball(page)
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 40, steps=6)
    page.mouse.up()
    assert 50 < middle < 75 < ball(page) < 115
    before = ball(page)
    page.click("#play")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".slider")).not_to_have_attribute("aria-valuenow", str(before))
    page.click("#play")
    field = page.locator("#go-to input")
    field.fill("7.4")
    page.keyboard.press("Enter")
    assert ball(page) == 47
    field.fill("900")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_have_text("there is no ball 900; enter 1 to 125")


def test_a_claim_lights_its_balls_everywhere(page: Any, server: Server) -> None:
    opened(page, server, "/match/simulated-252/innings/1/ball/45", explained=True)
    evidence = server.explanation("simulated-252/1/45")["evidence"]
    first = page.locator("#hidden [data-claim]").first
    number = int(first.get_attribute("data-claim"))
    removed = evidence[number]["removed"]
    first.click()
    lit = page.locator("#timeline-plot .lit rect")
    expect(lit).to_have_count(len(removed))
    assert f"claim={number}" in page.url
    page.reload()
    expect(lit).to_have_count(len(removed))
    expect(page.locator(".head[data-head='medium-0'] .lights i")).to_have_count(
        len([index for index in removed if index >= 10])
    )
    # What was hidden from one head lights up in that head alone.
    number, claim = next(
        (number, row) for number, row in enumerate(evidence) if row["removed_from"] == "head"
    )
    page.keyboard.press("c")
    page.locator(f"#claims-list [data-claim='{number}']").click()
    expect(lit).to_have_count(len(claim["removed"]))
    name = f"{claim['scale']}-{claim['head'].split('_')[1]}"
    lights = page.locator(".head:has(.lights i)")
    expect(lights).to_have_count(1)
    expect(lights).to_have_attribute("data-head", name)
    page.locator(f"#claims-list [data-claim='{number}']").click()
    expect(lit).to_have_count(0)


def test_what_if_answers_as_the_library_does(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    page.fill("#what-if-form [name=bowler]", "Zeeshan Mirwaldi")
    page.select_option("#what-if-form [name=ball]", "46")
    page.select_option("#what-if-form [name=outcome]", "0")
    page.click("#what-if-form .primary")
    changes = page.locator("#what-if-answer li")
    expect(changes).to_have_count(2)
    assert "bowler=Zeeshan+Mirwaldi&was=46%3A0" in page.url
    answer = attnlens.what_if(SAMPLE_FILE, ball=47, bowler="Zeeshan Mirwaldi", changes={46: 0})
    expected = [row.points for row in answer.outcomes if max(row.before, row.after) >= 0.01]
    points = page.locator("#what-if-answer td:last-child > span")
    assert figures(points) == pytest.approx(expected, abs=0.051)
    page.reload()  # the address asks it again
    expect(changes).to_have_count(2)
    assert figures(points) == pytest.approx(expected, abs=0.051)
    page.keyboard.press("ArrowRight")
    expect(changes).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("body[data-tested=yes]")
    page.provoked = (422,)
    page.fill("#what-if-form [name=bowler]", "Nobody At All")
    page.click("#what-if-form .primary")
    expect(page.locator("#what-if-answer .trouble")).to_contain_text("Nobody At All")


def test_a_match_that_is_being_played_grows_on_the_page(
    page: Any, sample_match_path: Path, tmp_path: Path
) -> None:
    lines = sample_match_path.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "live.csv"
    path.write_text("".join(lines[:31]) + lines[31][:30], encoding="utf-8")
    with serving(tmp_path, path, "--follow") as live:
        page.also = live.url
        opened(polling_quickly(page), live, "/match/simulated-252/innings/1/ball/30")
        with path.open("a", encoding="utf-8") as file:
            file.write(lines[31][30:])
        expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "31")
        expect(page).to_have_url(re.compile("/ball/31$"))
        page.wait_for_selector("body[data-tested=yes]")
        last = live.explanation("simulated-252/1/31")["ball"]
        expect(page.locator(".team > b")).to_have_text(f"{last['score']}/{last['wickets']}")
        # How the last ball fared, and what is expected of the next.
        expect(page.locator("#next")).to_contain_text(f"Last {last['label']} ")
        expect(page.locator("#next")).to_contain_text("Next ")
        # Who looks at an earlier ball stays there.
        page.keyboard.press("Home")
        with path.open("a", encoding="utf-8") as file:
            file.write(lines[32])
        expect(page.locator(".slider")).to_have_attribute("aria-valuemax", "32")
        expect(page.locator("#toast")).to_contain_text("a new ball was bowled")
        assert ball(page) == 1
        state = page.locator("#live")
        expect(state).to_contain_text("Live; last change at")
        # What is no match any more leaves the page as it was.
        for broken, words in (
            ("".join(lines[:33]) + lines[33][:30], "the file may be cut short"),
            ("nothing to do with cricket\n", "not a match file"),
            ("".join(lines[:12]), "live.csv: now contains 11 balls, but contained 32 balls before"),
        ):
            path.write_text(broken, encoding="utf-8")
            expect(state).to_contain_text(words)
            assert str(tmp_path) not in state.text_content()
        path.unlink()
        expect(state).to_contain_text("live.csv: the file no longer exists")
        assert page.locator(".slider").get_attribute("aria-valuemax") == "32"
        path.write_text("".join(lines[:34]), encoding="utf-8")
        expect(page.locator(".slider")).to_have_attribute("aria-valuemax", "33")
        expect(state).to_have_class("quiet")
        page.goto("about:blank")  # it would go on asking


def test_files_are_brought_and_bad_ones_refused_in_the_readers_words(
    page: Any, server: Server, tmp_path: Path, hostile_match: Path
) -> None:
    page.provoked = (422,)
    page.goto(server.url)
    page.wait_for_selector(".drop input", state="attached")
    bad = tmp_path / "bad.csv"
    bad.write_text("not,a,match\n1,2,3\n")
    page.set_input_files(".drop input", bad)
    expect(page.locator(".drop .trouble")).to_contain_text("bad.csv:")
    assert str(tmp_path) not in page.locator(".drop p").text_content()
    good = tmp_path / "mine.csv"
    text = hostile_match.read_text(encoding="utf-8").replace("Callum Wetherspring", "Zed Zebra")
    good.write_text(text, encoding="utf-8")
    page.set_input_files(".drop input", good)
    page.wait_for_selector("body[data-page=story][data-ready=yes]")
    assert re.search(r"/match/u-[0-9a-f]{32}$", page.url)
    page.locator("nav[aria-label=Innings] a").first.click()
    expect(page.locator("#score")).to_contain_text("Anselm Duvivier-Oke")


def test_hostile_names_are_only_names(page: Any, server: Server) -> None:
    alerts: list[str] = []
    page.on("dialog", lambda box: (alerts.append(box.message), box.dismiss()))
    opened(page, server, "/match/simulated-252-2/innings/1/ball/47?head=whole-0", explained=True)
    for part in ("#score", "#narrative", "#head", "#what-if-form"):
        inner = page.locator(part).inner_html()
        assert "&lt;img src=x" in inner or HOSTILE not in inner
    expect(page.locator("#score")).to_contain_text(HOSTILE)
    expect(page.locator("#narrative")).to_contain_text(HOSTILE)
    assert page.locator("img[src='x']").count() == 0
    assert alerts == []


def test_what_is_taken_away_holds_what_is_shown(page: Any, server: Server, tmp_path: Path) -> None:
    opened(page, server, explained=True)
    name, content = downloaded(page, "Past balls (.csv)")
    past = list(csv.DictReader(io.StringIO(content.decode())))
    assert [(row["index"], row["label"]) for row in past][-1] == ("46", "7.3")
    name, content = downloaded(page, "Everything (.json)")
    explanation = server.explanation()
    assert json.loads(content) == explanation
    name, content = downloaded(page, "Report (.html)")
    assert name == "simulated-252-1-47-report.html"
    report = tmp_path / name
    report.write_bytes(content)
    page.goto(report.as_uri())
    expect(page.locator("body")).to_contain_text(explanation["narrative"][0]["text"][:40])
    assert page.locator("svg").count() >= 1


def test_everything_is_reached_by_keys_alone_and_said_aloud(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.locator(".slider").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#say")).to_contain_text("7.5 Pita Falekaono to ")
    page.keyboard.press("h")
    expect(page.locator("#head")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#head")).to_be_hidden()
    outcome(page, "6").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#groups caption")).to_contain_text("P(six)")
    page.keyboard.press("c")
    expect(page.locator("#claims-list")).to_be_visible()
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button,a,select,input:not([type=file])')].filter((node) =>"
        " node.offsetParent && !(node.textContent.trim() || node.getAttribute('aria-label') ||"
        " node.placeholder || node.labels?.length)).map((node) => node.outerHTML)"
    )
    assert unnamed == []

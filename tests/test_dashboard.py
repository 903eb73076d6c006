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
    SAMPLE,
    Server,
    ball,
    downloaded,
    figures,
    opened,
    serving,
)
from needed import skip_without

import attnlens

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
skip_without("dash")
expect = playwright.expect

SAMPLE_FILE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
DARKEST = """() => [...document.querySelectorAll(".head .strip")].map((strip) => {
  const { data } = strip.getContext("2d").getImageData(0, 0, strip.width - 1, 1);
  return Math.min(...data.filter((_, at) => at % 4 === 0));
})"""
"""The least red of the cells that each head shows of this ball: its darkest."""


def test_the_page_of_a_ball_says_what_explain_says(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    explanation = server.explanation()
    assert (explanation["ball"]["index"], explanation["ball"]["label"]) == (47, "7.4")
    expect(page.locator(".team .runs")).to_have_text(
        f"{explanation['ball']['score']}/{explanation['ball']['wickets']}"
    )
    expect(page.locator(".which b")).to_have_text("7.4")
    expect(page.locator(".batters .on b")).to_have_text(explanation["ball"]["batter"])
    by_name = {row["outcome"]: row for row in explanation["prediction"]["outcomes"]}
    # The outcome that the story is about is the one that is chosen.
    subject = explanation["prediction"]["subject"]
    number = list(by_name).index(subject)
    expect(page.locator("#outcomes-plot .row.chosen")).to_have_count(1)
    expect(page.locator("#outcomes-plot .row").nth(number)).to_have_class("row chosen")
    percentage = page.locator("#outcomes-plot .row").nth(0).locator(".value").text_content()
    assert percentage.strip() == f"{100 * by_name['0']['probability']:.0f}%"
    adds = figures(page.locator("#contributions-plot .number > span"))
    points = [
        next(p["points"] for p in group["from_usual"] if p["outcome"] == subject)
        for group in explanation["contributions"]
    ]
    assert sorted(adds) == pytest.approx(sorted(points), abs=0.051)
    expect(page.locator("#narrative-text")).not_to_contain_text("attended balls")


def test_every_claim_is_shown_with_its_verdict_under_its_own_kind(
    page: Any, server: Server
) -> None:
    opened(page, server, explained=True)
    evidence = server.explanation()["evidence"]
    page.click("#claims-button")
    page.evaluate(
        "document.querySelectorAll('#evidence-list details').forEach((o) => (o.open = true))"
    )
    expect(page.locator(".claim")).to_have_count(len(evidence))
    for number, claim in enumerate(evidence):
        row = page.locator(f".claim[data-claim='{number}']")
        expect(row.locator(".claim-text")).to_have_text(claim["claim"])
        verdict = claim["verdict"] or "picture only"
        badge = row.locator(".badge")
        expect(badge).to_contain_text("for comparison" if claim["reference"] else verdict)
        expect(row).to_contain_text(verdict)
        bars = row.locator("svg[role=img]")
        if verdict in ("supported", "not better than chance", "contradicted"):
            share = re.search(r"more than ([\d.]+)%", bars.get_attribute("aria-label"))
            assert float(share[1]) == pytest.approx(100 * (1 - claim["p"]), abs=0.1001)
        else:
            expect(bars).to_have_count(0)
        if claim["share"] is None:
            expect(row).not_to_contain_text("share")
        else:
            part = re.search(r"share of the effect: (<?)([\d.]+)%", row.text_content())
            assert float(part[2]) == pytest.approx(
                100 * claim["share"], abs=1.0 if part[1] else 0.5
            )
    kinds = page.locator("#evidence-list > h3")
    expect(kinds).to_have_count(3)
    expect(kinds.first).to_contain_text("These balls mattered to the prediction")
    expect(kinds.nth(1)).to_contain_text("This head's look mattered")
    # What any reader would guess is no finding: it stands apart, and is not counted.
    expect(page.locator(".claim.reference")).to_have_count(1)
    balls = [row for row in evidence if row["removed"] and row["removed_from"] == "model"]
    tried = [row for row in balls if row["verdict"] != "cannot be told" and not row["reference"]]
    heading = f" of {len(tried)} supported" if tried else "none could be told"
    expect(kinds.first).to_contain_text(heading)


def test_a_match_opens_on_who_won_and_where_it_turned(page: Any, server: Server) -> None:
    page.goto(server.url)
    page.locator(".card").first.click()
    page.wait_for_selector("body[data-ready=yes]")
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
        page.wait_for_selector("#claims-button")
        expect(page).to_have_url(address)
        expect(page.locator("h1")).to_be_visible()
        page.go_back()
        expect(page.locator("h1")).to_have_text(re.compile(story.result, re.I))
        expect(row).to_contain_text(turn.sentence)
    page.fill("#find-text", "wetherspr")
    page.locator("#found a").first.click()
    expect(page.locator(".batters .on b")).to_have_text("Callum Wetherspring")


def test_the_chosen_outcome_is_what_everything_is_about(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    six = server.explanation(outcome="6")
    page.locator("#outcomes-plot .row").nth(6).click()
    expect(page.locator("#contributions-plot caption")).to_contain_text("P(six)")
    expect(page.locator(".headline")).to_contain_text("six")
    assert "outcome=6" in page.url
    page.click("#claims-button")
    effects = page.locator("#evidence-list .claim[data-claim='0']")
    expect(effects).to_contain_text("on P(6)")
    changes = page.locator("#evidence-list .change").all_text_contents()
    assert all(change.startswith("P(6)") for change in changes)
    tested = [row for row in six["evidence"] if row["scale"] == "medium" and row["verdict"]]
    expect(page.locator("#heads .tested .badge")).to_have_count(len(tested))
    page.keyboard.press("Escape")
    page.select_option("#what-if-ball", "46")
    page.click("fieldset button:text-is('Add')")
    page.click("#what-if-form .primary")
    expect(page.locator("#what-if-answer .headline")).to_contain_text("P(six)")
    page.locator("#outcomes-plot .row").nth(4).click()
    expect(page.locator("#what-if-answer .headline")).to_contain_text("P(four)")


def test_all_heads_have_one_colour_scale_and_overs_are_the_files(page: Any, server: Server) -> None:
    opened(page, server, SAMPLE + "?scale=long")
    balls = server.json("/data/simulated-252/1/balls.json")["balls"]
    overs = page.locator("#timeline .axis").all_text_contents()
    assert balls[46]["label"].split(".")[0] in overs
    across = page.locator(".head").first.locator(".axis-across span").all_text_contents()
    assert across == [
        balls[0]["label"].split(".")[0],
        str(int(balls[46]["label"].split(".")[0]) - 1),
    ]
    page.keyboard.press("3")
    darkest = page.evaluate(DARKEST)
    assert len(set(darkest)) > 1  # the strongest head is darkest, and the others are not
    page.check("#each")
    assert "each=1" in page.url
    assert len(set(page.evaluate(DARKEST))) == 1


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
    expect(page.locator(".team .side")).to_have_text("Port Amber Mariners")
    assert page.url.endswith("/innings/2/ball/1")


def test_cautions_stand_with_the_ball_so_that_nothing_moves_when_its_tests_are_done(
    page: Any, server: Server
) -> None:
    held: list[Any] = []
    page.route("**/explanation.json*", lambda route: held.append(route), times=1)
    with page.expect_request("**/explanation.json*"):
        opened(page, server)
    before = page.locator(".slider svg").bounding_box()
    cautions = page.locator("#cautions li").all_text_contents()
    held[0].continue_()
    page.wait_for_selector("#claims-button")
    assert page.locator(".slider svg").bounding_box() == before
    assert page.locator("#cautions li").all_text_contents() == cautions
    assert cautions == [flag["text"] for flag in server.explanation()["flags"]]


def test_clicking_and_dragging_the_innings_and_playing_it(page: Any, server: Server) -> None:
    opened(page, server)
    box = page.locator(".slider svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    page.mouse.down()
    middle = ball(page)
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 40, steps=6)
    page.mouse.up()
    assert 55 < middle < 75 < ball(page) < 115
    before = ball(page)
    page.click("#play")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".slider")).not_to_have_attribute("aria-valuenow", str(before))
    page.click("#play")
    page.fill("#go-to", "7.4")
    page.keyboard.press("Enter")
    assert ball(page) == 47
    page.fill("#go-to", "900")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_have_text("there is no ball 900; 1 to 125")


def test_scales_views_and_one_head_with_its_cells(page: Any, server: Server) -> None:
    opened(page, server, SAMPLE + "?scale=short", explained=True)
    expect(page.locator(".head")).to_have_count(3)
    page.keyboard.press("3")
    expect(page.locator(".head")).to_have_count(6)
    page.check("#content-only")
    expect(page.locator("#heads-maps")).to_contain_text("most on")
    assert "view=content_only" in page.url
    page.uncheck("#content-only")
    page.locator(".head").nth(2).click()
    assert "head=2" in page.url
    expect(page.locator("#head-one h3")).to_contain_text("Head 2 of medium")
    cells = page.locator("#head-figure canvas")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    # Row 35 of 36 is this ball; column 20 is delivery 32.
    point = {"x": box["width"] * 20.5 / 36, "y": box["height"] * 35.5 / 36}
    cells.click(position=point)
    readout = page.locator("#cell")
    expect(readout).to_contain_text("asked about 7.4, looked at 5.1 ")
    explanation = server.explanation()
    head = explanation["across_balls"]["medium"]["attention_by_head"]["head_2_same_batsman"]
    percentage = float(re.search(r"([\d.]+)%$", readout.text_content())[1])
    assert percentage == pytest.approx(100 * head["row"][20], abs=0.1)
    page.locator("#head-figure").focus()
    page.keyboard.press("ArrowLeft")
    expect(readout).to_contain_text("asked about 7.4, looked at 4.7 ")
    expect(page.locator("#head-figure .axis-down span")).to_have_count(36)
    page.click("#head-one .close")
    expect(page.locator("#head-one")).to_be_hidden()


def test_a_claim_lights_its_balls_everywhere(page: Any, server: Server) -> None:
    opened(page, server, "/match/simulated-252/innings/1/ball/45", explained=True)
    explanation = server.explanation("simulated-252/1/45")
    page.click("#claims-button")
    first = page.locator("#evidence-list > ul .claim:enabled").first
    number = int(first.get_attribute("data-claim"))
    removed = explanation["evidence"][number]["removed"]
    page.locator(f".claim[data-claim='{number}']").click()
    expect(page.locator("#timeline .lit rect")).to_have_count(len(removed))
    assert f"claim={number}" in page.url
    # The innings and the heads stay in sight beside the claims.
    claims, heads = (page.locator(f"#{name}").bounding_box() for name in ("evidence", "heads"))
    assert claims["x"] + claims["width"] <= heads["x"]
    page.reload()
    expect(page.locator("#timeline .lit rect")).to_have_count(len(removed))
    expect(page.locator("#evidence")).to_be_visible()
    expect(page.locator(".head").first.locator(".lights i")).to_have_count(len(removed))
    # What was hidden from one head lights up in that head alone.
    claims = enumerate(explanation["evidence"])
    number, claim = next(pair for pair in claims if pair[1]["scale"] == "medium")
    page.locator(f".claim[data-claim='{number}']").evaluate("node => node.click()")
    expect(page.locator("#timeline .lit rect")).to_have_count(len(claim["removed"]))
    expect(page.locator(".lights i")).to_have_count(len(claim["removed"]))
    head = page.locator(".head").nth(int(claim["head"].split("_")[1]))
    expect(head.locator(".lights i")).to_have_count(len(claim["removed"]))
    page.locator(f".claim[data-claim='{number}']").evaluate("node => node.click()")
    expect(page.locator("#timeline .lit rect")).to_have_count(0)


def test_a_head_has_only_the_name_it_earned_and_shows_the_ball_it_looks_at_most(
    page: Any, server: Server
) -> None:
    opened(page, server, SAMPLE + "?head=0", explained=True)
    medium = next(
        attention
        for attention in server.json("/data/simulated-252/1/balls.json")["scales"]
        if attention["window"] == 36
    )
    maps = server.explanation()["across_balls"]["medium"]["attention_by_head"]
    for number, (head, attention) in enumerate(zip(medium["heads"], maps.values(), strict=True)):
        earned = (head["earned"] or "").replace("_", " ").replace("batsman", "batter")
        card = page.locator(".head").nth(number)
        expect(card.locator(".head-title")).to_have_text(f"head {number}{earned}")
        labels = {row["index"]: row["label"] for row in server.explanation()["past_balls"]}
        expect(card.locator(".foot")).to_contain_text(
            f"most on {labels[attention['top_any'][0]]}, "
        )
        if number:
            page.keyboard.press("h")
        title = f"Head {number} of medium" + (f": {earned}" if earned else "")
        expect(page.locator("#head-one h3")).to_have_text(title)
        asks = page.locator("#head-one").get_by_text("Asks: ")
        expect(asks).to_have_count(1 if head["earned"] else 0)
        expect(page.locator("#head-one tbody th").first).to_have_text(
            labels[attention["top_any"][0]]
        )


def test_what_if_answers_as_the_library_does(page: Any, server: Server) -> None:
    opened(page, server)
    page.fill("#what-if-bowler", "Zeeshan Mirwaldi")
    page.select_option("#what-if-ball", "46")
    page.select_option("#what-if-outcome", "6")
    page.click("fieldset button:text-is('Add')")
    page.click(".primary")
    expect(page.locator("#what-if-answer .changes li")).to_have_count(2)
    assert "bowler=Zeeshan+Mirwaldi&was=46%3A6" in page.url
    answer = attnlens.what_if(SAMPLE_FILE, ball=47, bowler="Zeeshan Mirwaldi", changes={46: 6})
    expected = [row.points for row in answer.outcomes]
    assert figures(page.locator("#what-if-plot .diff")) == pytest.approx(expected, abs=0.051)
    page.reload()  # the address asks it again
    expect(page.locator("#what-if-answer .changes li")).to_have_count(2)
    assert figures(page.locator("#what-if-plot .diff")) == pytest.approx(expected, abs=0.051)
    page.provoked = (422,)
    page.fill("#what-if-bowler", "Nobody At All")
    page.click(".primary")
    expect(page.locator("#what-if-answer .trouble")).to_contain_text("Nobody At All")


def test_a_match_that_is_being_played_grows_on_the_page(
    page: Any, sample_match_path: Path, tmp_path: Path
) -> None:
    lines = sample_match_path.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "live.csv"
    path.write_text("".join(lines[:31]) + lines[31][:30], encoding="utf-8")
    with serving(tmp_path, path, "--follow") as live:
        page.also = live.url
        page.goto(live.url + "/match/simulated-252/innings/1/ball/30")
        page.wait_for_selector("body[data-ready=yes]")
        before = page.locator(".team .runs").text_content()
        with path.open("a", encoding="utf-8") as file:
            file.write(lines[31][30:])
        expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "31")
        expect(page).to_have_url(re.compile("/ball/31$"))
        page.wait_for_selector("#claims-button")
        explanation = live.explanation("simulated-252/1/31", v="1")
        score = f"{explanation['ball']['score']}/{explanation['ball']['wickets']}"
        expect(page.locator(".team .runs")).to_have_text(score)
        # How the last ball fared, and what is expected of the next.
        expect(page.locator("#next")).to_contain_text(f"Last {explanation['ball']['label']} ")
        expect(page.locator("#next")).to_contain_text("Next ")
        # Who looks at an earlier ball stays there.
        page.keyboard.press("Home")
        with path.open("a", encoding="utf-8") as file:
            file.write(lines[32])
        expect(page.locator(".slider")).to_have_attribute("aria-valuemax", "32")
        expect(page.locator("#toast")).to_contain_text("a new ball has come")
        assert ball(page) == 1
        expect(page.locator("#live")).to_contain_text("Followed; last changed at")
        # What is no match any more leaves the page as it was, and the page says so.
        path.write_text("nothing to do with cricket\n", encoding="utf-8")
        expect(page.locator("#live.trouble")).to_contain_text("Shown as it stood at")
        assert str(tmp_path) not in page.locator("#live").text_content()
        path.unlink()
        expect(page.locator("#live")).to_contain_text("live.csv: is not there any more")
        assert page.locator(".slider").get_attribute("aria-valuemax") == "32"
        path.write_text("".join(lines[:34]), encoding="utf-8")
        expect(page.locator(".slider")).to_have_attribute("aria-valuemax", "33")
        expect(page.locator("#live")).to_have_class("quiet")
        page.goto("about:blank")  # it would go on asking
    assert before != score


def test_files_are_brought_and_bad_ones_refused_in_the_readers_words(
    page: Any, server: Server, tmp_path: Path, hostile_match: Path
) -> None:
    page.provoked = (422,)
    page.goto(server.url)
    page.wait_for_selector(".drop input", state="attached")
    bad = tmp_path / "bad.csv"
    bad.write_text("not,a,match\n1,2,3\n")
    page.set_input_files(".drop input", bad)
    expect(page.locator(".drop-message.bad")).to_contain_text("bad.csv:")
    assert str(tmp_path) not in page.locator(".drop-message").text_content()
    good = tmp_path / "mine.csv"
    text = hostile_match.read_text(encoding="utf-8").replace("Callum Wetherspring", "Zed Zebra")
    good.write_text(text, encoding="utf-8")
    page.set_input_files(".drop input", good)
    page.wait_for_selector("body[data-ready=yes]")
    assert re.search(r"/match/u-[0-9a-f]{32}$", page.url)
    page.locator("#innings-links a").first.click()
    expect(page.locator(".batters")).to_contain_text("Anselm Duvivier-Oke")
    page.goto(server.url)
    expect(page.locator("#brought .card")).to_have_count(1)


def test_hostile_names_are_only_names(page: Any, server: Server) -> None:
    alerts: list[str] = []
    page.on("dialog", lambda box: (alerts.append(box.message), box.dismiss()))
    opened(page, server, "/match/simulated-252-2/innings/1/ball/47?head=2", explained=True)
    expect(page.locator(".bowler b")).to_have_text(HOSTILE)
    expect(page.locator("#narrative-text")).to_contain_text(HOSTILE)
    page.locator("#head-figure canvas").wait_for()
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
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.keys")).to_be_hidden()
    page.locator(".slider").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#say")).to_contain_text("7.5 Pita Falekaono to ")
    page.keyboard.press("h")
    expect(page.locator("#head-one")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#head-one")).to_be_hidden()
    row = page.locator("#outcomes-plot .row").nth(6)
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#contributions-plot caption")).to_contain_text("P(six)")
    page.keyboard.press("c")
    expect(page.locator("#evidence")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#evidence")).to_be_hidden()
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button,a,select,input:not([type=file])')].filter((node) =>"
        " node.offsetParent && !(node.textContent.trim() || node.getAttribute('aria-label') ||"
        " node.labels?.length)).map((node) => node.outerHTML)"
    )
    assert unnamed == []

"""Faults that the dashboard once had: each test failed on the version that had it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from dashboard_server import SAMPLE, Server, ball, opened, polling_quickly, serving
from needed import skip_without

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
skip_without("dash")
expect = playwright.expect

INSIDE = """() => [...document.querySelectorAll(".head")].filter((card) => {
  const outer = card.getBoundingClientRect();
  const inner = card.querySelector("canvas").getBoundingClientRect();
  const around = card.closest(".panel").getBoundingClientRect();
  return inner.left < outer.left || inner.right > outer.right || inner.bottom > outer.bottom ||
    outer.left < around.left || outer.right > around.right ||
    Math.abs(inner.width - inner.height) > 1;
}).length"""
SIZES = """() => [...new Set([...document.querySelectorAll("body *")].filter((node) =>
  node.getClientRects().length &&
  [...node.childNodes].some((part) => part.nodeType === 3 && part.data.trim()),
).map((node) => parseFloat(getComputedStyle(node).fontSize)))]"""
OFF_THE_LINE = """() => {
  const line = document.querySelector(".curve .line");
  const points = Array.from(line.points, ({ x, y }) => [x, y]);
  return [...document.querySelectorAll(".curve .mark")].map((mark) => {
    const [x, y] = [mark.cx.baseVal.value, mark.cy.baseVal.value];
    return Math.min(...points.map(([px, py]) => Math.hypot(px - x, py - y)));
  });
}"""


def in_window(page: Any, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    size = page.viewport_size
    return bool(box and box["y"] >= 0 and box["y"] < size["height"] and box["x"] >= 0)


def test_a_followed_match_is_taken_up_after_a_restart(
    new_page: Any, sample_match_path: Path, tmp_path: Path
) -> None:
    """Its version was a count, and a server that was started again counts anew."""
    page = polling_quickly(new_page())
    lines = sample_match_path.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "live.csv"
    path.write_text("".join(lines[:31]), encoding="utf-8")
    with serving(tmp_path, path, "--follow") as first:
        opened(page, first, "/match/simulated-252/innings/1/ball/30")
    port = first.url.rpartition(":")[2]
    path.write_text("".join(lines[:36]), encoding="utf-8")
    with serving(tmp_path, path, "--follow", port=port):
        expect(page.locator(".slider")).to_have_attribute("aria-valuemax", "35")
    page.goto("about:blank")


def test_an_enlarged_head_is_the_only_map_that_a_change_of_ball_draws(
    page: Any, server: Server
) -> None:
    opened(page, server, SAMPLE + "?head=whole-0", explained=True)
    page.evaluate("""() => {
      const paint = CanvasRenderingContext2D.prototype.putImageData;
      window.drawn = 0;
      CanvasRenderingContext2D.prototype.putImageData = function (...all) {
        window.drawn += 1;
        return paint.apply(this, all);
      };
    }""")
    page.keyboard.press("ArrowRight")
    assert (ball(page), page.evaluate("window.drawn")) == (48, 1)
    page.keyboard.press("Escape")
    assert page.evaluate("window.drawn") == 1 + page.locator(".head").count()


@pytest.mark.parametrize("width", [1440, 1280, 360])
def test_maps_stay_square_and_inside_their_cards(new_page: Any, server: Server, width: int) -> None:
    page = new_page(viewport={"width": width, "height": 800})
    opened(page, server, explained=True)
    assert page.evaluate(INSIDE) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_marks_of_a_story_stand_on_the_line_of_a_phone(new_page: Any, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    opened(page, server, "/match/simulated-252")
    off = page.evaluate(OFF_THE_LINE)
    assert len(off) >= 3
    assert max(off) < 12
    for number in range(len(off)):
        mark = page.locator(".curve .mark").nth(number).bounding_box()
        text = page.locator(".curve .number").nth(number).bounding_box()
        middle = (text["x"] + text["width"] / 2, text["y"] + text["height"] / 2)
        assert abs(middle[0] - mark["x"] - mark["width"] / 2) < 2
        assert abs(middle[1] - mark["y"] - mark["height"] / 2) < 3


def test_what_is_said_at_a_finger_is_inside_the_window(new_page: Any, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    opened(page, server, explained=True)
    for selector in (".slider svg", ".head canvas"):
        page.locator(selector).first.evaluate(
            "(node) => scrollTo(0, scrollY + node.getBoundingClientRect().top - 8)"
        )
        box = page.locator(selector).first.bounding_box()
        page.touchscreen.tap(box["x"] + 3, box["y"] + 3)  # a locator would scroll first
        expect(page.locator("#pointed")).to_have_class("shown")
        box = page.locator("#pointed").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert (box["y"] >= 0, box["y"] + box["height"] <= 844) == (True, True)


def test_an_address_leads_to_its_head_and_to_its_claim(page: Any, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 500})
    opened(page, server, SAMPLE + "?head=whole-0", explained=True)
    expect(page.locator("#head h3")).to_contain_text("whole 0")
    assert in_window(page, "#head h3")
    evidence = server.explanation()["evidence"]
    number = max(number for number, claim in enumerate(evidence) if claim["removed"])
    opened(page, server, f"{SAMPLE}?claim={number}", explained=True)
    row = page.locator(f"[data-claim='{number}'][aria-pressed=true]").first
    expect(row).to_be_visible()
    assert in_window(page, f"[data-claim='{number}']")
    expect(page.locator(".lit rect")).to_have_count(len(evidence[number]["removed"]))


def test_heads_have_one_name_on_every_page(page: Any, server: Server) -> None:
    opened(page, server)
    names = page.locator(".head .name").evaluate_all(
        "all => all.map((node) => node.firstChild.data.trim())"
    )
    page.goto(server.url + "/heads")
    page.wait_for_selector("body[data-ready=yes]")
    assert sorted(page.locator("#story tbody th").all_text_contents()) == sorted(names)
    page.click(f"#story a:text-is('{names[0]}')")
    expect(page.locator("h1")).to_contain_text(names[0])
    expect(page).to_have_url(re.compile(f"/heads/{names[0].replace(' ', '-')}$"))


def test_an_answer_that_was_cut_off_is_not_kept(page: Any, server: Server) -> None:
    opened(page, server)
    page.route("**/30/explanation.json*", lambda route: route.fulfill(status=200, body="{"))
    page.goto(f"{server.url}/match/simulated-252/innings/1/ball/30")
    again = page.get_by_role("button", name="Ask again")
    expect(page.locator("#narrative")).to_contain_text("was cut off")
    page.unroute("**/30/explanation.json*")
    again.click()
    expect(page.locator("body")).to_have_attribute("data-tested", "yes")


def test_print_holds_every_claim(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    claims = page.locator("#claims-list [data-claim]")
    assert claims.count() == len(server.explanation()["evidence"])
    for claim in claims.all():
        expect(claim).to_be_visible()


def test_a_label_in_the_address_is_a_label(page: Any, server: Server) -> None:
    opened(page, server, "/match/simulated-252/innings/1/ball/16.2")
    balls = server.json("/data/simulated-252/1/balls.json")["balls"]
    assert balls[ball(page) - 1]["label"] == "16.2"
    expect(page.locator(".which b")).to_have_text("16.2")


def test_copied_text_has_spaces_between_its_parts(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    for part in ("#outcomes", "#score", "#maps", "#hidden"):
        text = page.evaluate(
            """(selector) => {
              const selection = window.getSelection();
              selection.selectAllChildren(document.querySelector(selector));
              return selection.toString();
            }""",
            part,
        )
        assert re.search(r"[a-z](?=\d+(\.\d)?%)|%(?=[−+\d])|\)(?=[A-Z])", text) is None, (
            part,
            text,
        )


def test_back_finds_the_place_that_was_left(page: Any, server: Server) -> None:
    page.set_viewport_size({"width": 1000, "height": 500})
    opened(page, server, "/match/simulated-252")
    page.wait_for_selector("body[data-tested=yes]")
    link = page.locator("#story .moments a").last
    link.scroll_into_view_if_needed()
    before = page.evaluate("window.scrollY")
    assert before > 100
    link.click()
    page.wait_for_selector("body[data-page=ball][data-ready=yes]")
    page.go_back()
    page.wait_for_selector("body[data-page=story][data-tested=yes]")
    page.wait_for_function("(y) => Math.abs(window.scrollY - y) < 60", arg=before)


def test_a_few_steps_lead_to_the_first_head(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    page.keyboard.press("Tab")
    stops = 1
    while page.evaluate("document.activeElement.textContent") != "Skip to the heads":
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 20
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.head') !== null")


def test_a_list_of_buttons_is_one_tab_stop(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    for box in ("outcomes", "hidden"):
        buttons = page.locator(f"#{box} button:visible")
        buttons.first.focus()
        page.keyboard.press("ArrowDown")
        expect = buttons.nth(1).text_content()
        assert page.evaluate("document.activeElement.textContent") == expect
        page.keyboard.press("Tab")
        assert page.evaluate(f"document.activeElement.closest('#{box}')") is None
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement.textContent") == expect
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    page.keyboard.press("ArrowRight")  # another ball's sets are one stop too
    page.wait_for_selector("body[data-tested=yes]")
    stops = page.evaluate("[...document.querySelectorAll('#hidden button')].map((b) => b.tabIndex)")
    assert sorted(stops) == [-1] * (len(stops) - 1) + [0]


def test_words_have_few_sizes_and_none_is_small(page: Any, server: Server) -> None:
    for path in (SAMPLE, "/match/simulated-252", "/", "/heads", "/recordings"):
        opened(page, server, path)
        sizes = page.evaluate(SIZES)
        assert min(sizes) >= 12, path
        assert len(sizes) <= 6, path

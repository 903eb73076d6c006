"""The dashboard in a real browser: its other pages, ways through them, themes and sizes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from dashboard_server import SAMPLE, Server, fits, opened, serving
from needed import skip_without

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
skip_without("dash")
expect = playwright.expect


def at(page: Any, selector: str) -> Any:
    """What is expected of the elements of a page."""
    return expect(page.locator(selector))


def test_a_theme_is_chosen_for_a_page_and_what_is_in_it(page: Any, server: Server) -> None:
    page.goto(server.url + "/recording/before.safetensors")
    page.frame_locator("iframe").locator("canvas").first.wait_for()
    body = page.frame_locator("iframe").locator("body")
    for theme in ("light", "dark"):
        page.click("#theme-button")
        at(page, "html").to_have_attribute("data-theme", theme)
        ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 22, 28)"}[theme]
        expect(body).to_have_css("background-color", ground)
    page.reload()
    expect(body).to_have_css("background-color", "rgb(16, 22, 28)")


def test_a_phone_in_the_dark_needs_no_sideways_scrolling(new_page: Any, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    for path in (SAMPLE, "/match/simulated-252", "/", "/recordings", "/heads"):
        page.goto(server.url + path)
        page.wait_for_selector("main h1", state="attached")
        if path.startswith("/match"):
            page.wait_for_selector("body[data-ready=yes]")
        if path == SAMPLE:
            page.wait_for_selector("body[data-tested=yes]")
        assert page.locator(".top nav a").count() == 3
        fits(page, 390)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_back_from_one_match_to_another(page: Any, server: Server) -> None:
    opened(page, server, "/match/simulated-252/innings/1/ball/5")
    page.click("nav >> text=Matches")
    at(page, ".cards a").to_have_count(2)
    page.locator(".cards a").nth(1).click()
    page.locator("nav[aria-label=Innings] a").first.click()
    page.wait_for_selector(".team > b")
    page.keyboard.press("]")
    at(page, ".team span").to_contain_text("Port Amber Mariners")
    page.evaluate("history.go(-4)")  # to the other match, in its other innings
    at(page, "#say").to_contain_text("Anton Brezhnikov")
    expect(page).to_have_url(server.url + "/match/simulated-252/innings/1/ball/5")


def test_addresses_that_lead_nowhere_say_so(page: Any, server: Server) -> None:
    page.provoked = (404, 422)
    for path in ("/match/gone/innings/1/ball/1", "/recording/gone", "/nowhere"):
        page.goto(server.url + path)
        at(page, "h1").to_have_text("Nothing is here")
    page.goto(server.url + "/match/simulated-252/innings/9/ball/1")
    at(page, "#score .trouble").to_contain_text("No ball was bowled in innings 9")
    page.goto(server.url + "/match/simulated-252/innings/1/ball/999")
    page.wait_for_selector("body[data-ready=yes]")
    assert page.url.endswith("/ball/125")
    page.goto(server.url + SAMPLE + "?head=99&outcome=q&model=none")
    page.wait_for_selector("body[data-ready=yes]")
    assert page.url == server.url + SAMPLE
    page.provoked = (404, 410, 422)
    for path, words in (
        ("/corpus", "DuckDB"),
        ("/recordings/compare", "attnlens.load_recording"),
        ("/compare?a=simulated-252/1/47/bundled", "What if"),
        ("/models/tiny?step=8", "attnlens trace"),
    ):
        page.goto(server.url + path)
        at(page, "main .lead").to_contain_text(words)


def test_leaving_before_a_ball_is_explained_asks_nothing_more(page: Any, server: Server) -> None:
    page.goto(server.url)
    page.evaluate(
        """() => {
            window.left = null;
            new MutationObserver(() => {
                if (window.left || document.body.dataset.ready !== "yes") return;
                if (location.pathname === "/") return;
                window.left = location.pathname;
                history.back();
            }).observe(document.body, { attributes: true });
        }"""
    )
    page.locator("a[href^='/match/']").first.click()
    # The page may be left before anything here could have waited for its address.
    page.wait_for_function("() => window.left?.startsWith('/match/') && location.pathname === '/'")
    # The fixture fails if what the page left behind complains.
    page.wait_for_load_state("networkidle")
    at(page, "main h1").to_have_text(re.compile("What did the model look at"))


AXE = Path(__file__).resolve().parent.parent / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = """(rules) => axe.run(document, rules).then((results) => results.violations.map(
  (fault) => [fault.id, ...fault.nodes.slice(0, 3).map((node) => node.target.join())]))"""


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here; where node is: npm install")
@pytest.mark.parametrize(
    ("theme", "rules"),
    [("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})],
)
def test_no_page_keeps_anybody_out(new_page: Any, server: Server, theme: str, rules: Any) -> None:
    page = new_page(color_scheme=theme)
    matches = ("/match/simulated-252", SAMPLE, SAMPLE + "?claim=0", SAMPLE + "?head=whole-0")

    def no_faults() -> None:
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(FAULTS, rules) == [], page.url

    for path in (*matches, "/", "/heads", "/heads/whole-0", "/recordings", "/nowhere"):
        page.goto(server.url + path)
        page.wait_for_selector("main h1")
        if path in matches:
            page.wait_for_selector("body[data-ready=yes]")
        # While its tests are awaited, and with them.
        if path.startswith(SAMPLE):
            no_faults()
            page.wait_for_selector("body[data-tested=yes]")
            page.evaluate("document.querySelector('#claims').open = true")
        no_faults()
    # While the server has not answered.
    page.route(re.compile("/data/"), lambda _: None)
    for path in matches:
        page.goto(server.url + path)
        page.locator(".loading").first.wait_for(state="attached")
        page.wait_for_selector("main h1")
        no_faults()
    page.unroute_all(behavior="ignoreErrors")


def test_a_match_without_a_curve_and_one_without_a_ball_have_pages(
    new_page: Any, tmp_path: Path, shared_data: Path
) -> None:
    test = shared_data / "formats" / "json" / "test_men" / "225258.json"
    empty = json.loads(test.read_text("utf-8"))
    empty |= {"innings": []}
    (tmp_path / "empty.json").write_text(json.dumps(empty), "utf-8")
    page = new_page()
    with serving(tmp_path, test, "empty.json") as server:
        opened(page, server, "/match/225258")
        at(page, ".curve").to_have_count(0)
        assert page.locator("#surprises").bounding_box()["width"] > 1000
        opened(page, server, "/match/empty")
        at(page, ".caution").to_contain_text("the file contains no ball")
        at(page, "#story section").to_have_count(0)


def test_a_folder_of_many_matches_says_that_only_some_are_open(
    new_page: Any, tmp_path: Path, sample_match_path: Path
) -> None:
    (tmp_path / "many").mkdir()
    head, *balls = sample_match_path.read_text("utf-8").splitlines()
    for number in range(201):
        some = "\n".join([head, *balls[:2]]).replace("simulated-252", f"m{number}")
        (tmp_path / "many" / f"{number}.csv").write_text(some, "utf-8")
    page = new_page()
    with serving(tmp_path, "many") as server:
        page.goto(server.url)
        at(page, "#matches .lead").to_have_text("many: only the first 200 matches were opened")
        at(page, "#matches .cards a").to_have_count(200)


def test_a_page_outlives_its_server(new_page: Any, tmp_path: Path, sample_match_path: Path) -> None:
    page = new_page()
    with serving(tmp_path, sample_match_path) as first:
        opened(page, first, explained=True)
    page.keyboard.press("End")
    at(page, "#toast").to_contain_text("the server does not answer")
    # Leaving aborts the request that waits; the next page notices that the server is back.
    port = first.url.rpartition(":")[2]
    with serving(tmp_path, sample_match_path, port=port):
        page.click("nav >> text=Recordings")
        at(page, "h1").to_have_text("Recordings")
        at(page, "#toast").to_have_text("")


def test_a_busy_server_is_asked_again(
    new_page: Any, tmp_path: Path, sample_match_path: Path
) -> None:
    page, answers = new_page(), 0

    def busy(route: Any) -> None:
        nonlocal answers
        answers += 1
        route.fulfill(status=503, body="{}")

    with serving(tmp_path, sample_match_path) as server:
        opened(page, server, explained=True)
        page.route("**/data/**", busy)
        page.keyboard.press("Home")
        at(page, "#toast").to_have_text("the server is busy; trying again")
        page.unroute("**/data/**")
        at(page, "#toast").to_have_text("")
        assert answers

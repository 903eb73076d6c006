"""The dashboard in a real browser: what a person does there, and what is shown for it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from command_line import run_process
from dashboard_server import Server, serving

import attnlens
from attnlens.analysis.differences import compare

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("dash", reason="the dashboard's extra is not installed")
Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
expect = playwright.expect

HOSTILE = "<img src=x onerror=alert(1)>"
SAMPLE = "/match/simulated-82/innings/1/ball/47"
PATIENCE = 40_000


@pytest.fixture(scope="module")
def hostile_match(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Path:
    """The sample, its first bowler's name an attack."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.csv"
    text = sample_match_path.read_text(encoding="utf-8")
    path.write_text(text.replace("Ewan Thistlemoor", HOSTILE), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path, hostile_match: Path
) -> Iterator[Server]:
    recordings = two_recordings(tmp_path_factory.mktemp("recordings"))
    folder = tmp_path_factory.mktemp("served")
    options = ("--allow-in-sample", "--balls", "8", "--json", "--out", "heads.json")
    assert run_process(folder, "heads", sample_match_path, *options).status == 0
    files = (sample_match_path, hostile_match, *recordings, "--heads", "heads.json")
    with serving(folder, *files) as one:
        yield one


def two_recordings(folder: Path) -> tuple[Path, Path]:
    """Of one encoder, before and after its second layer was changed, on the same input."""
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(1, 6, 16)
    paths = folder / "before.safetensors", folder / "after.safetensors"
    for path in paths:
        with attnlens.record(model) as recording, torch.no_grad():
            model(x)
        recording.save(path)
        with torch.no_grad():
            for parameter in model.layers[1].parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return paths


@pytest.fixture
def page(chromium: Any, server: Server) -> Iterator[Any]:
    """A page that fails its test on a console error or a request to elsewhere."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900}, accept_downloads=True)
    one = context.new_page()
    one.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    one.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    one.on("pageerror", lambda error: complaints.append(str(error)))
    one.on(
        "request",
        lambda asked: (
            None
            if asked.url.startswith((server.url, one.also, "data:", "blob:", "file:"))
            else complaints.append(f"asked elsewhere: {asked.url}")
        ),
    )
    # Statuses that a test provokes, which the browser itself reports; another server of ours.
    one.provoked, one.also = (), server.url
    yield one
    context.close()
    refused = [f"status of {status}" for status in one.provoked]
    assert [said for said in complaints if not any(one in said for one in refused)] == []


def opened(page: Any, server: Server, path: str = SAMPLE, *, explained: bool = False) -> None:
    page.goto(server.url + path)
    page.wait_for_selector("body[data-ready=yes]")
    if explained:
        page.wait_for_selector(".claims")


def colours(png: bytes) -> set[tuple[int, int, int]]:
    """Those of the picture on a white ground."""
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    seen = Image.alpha_composite(ground, image).convert("RGB")
    found = seen.getcolors(image.width * image.height)
    return {colour for _, colour in found}


def ball(page: Any) -> int:
    return int(page.locator(".slider").get_attribute("aria-valuenow"))


def test_a_match_is_opened_from_the_first_page(page: Any, server: Server) -> None:
    page.goto(server.url)
    expect(page.locator(".card")).to_have_count(2)
    page.locator(".card").first.click()
    page.wait_for_selector("body[data-ready=yes]")
    assert page.url == server.url + "/match/simulated-82/innings/1/ball/1"
    expect(page.locator(".team .runs")).to_have_text("0/0")


def test_the_page_of_a_ball_says_what_explain_says(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    status, content, _ = server.get("/data/simulated-82/1/47/explanation.json")
    told = json.loads(content)
    assert status == 200
    assert (told["ball"]["index"], told["ball"]["label"]) == (47, "7.2")
    expect(page.locator(".team .runs")).to_have_text(
        f"{told['ball']['score']}/{told['ball']['wickets']}"
    )
    expect(page.locator(".which b")).to_have_text("7.2")
    expect(page.locator(".batters .on b")).to_have_text(told["ball"]["batter"])
    by_name = {one["outcome"]: one for one in told["prediction"]["outcomes"]}
    shown = page.locator("#outcomes-plot .row").nth(0).locator(".value").text_content()
    assert shown == f"{100 * by_name['0']['probability']:.0f}%"
    adds = page.locator("#contributions-plot .diff").all_text_contents()
    top = told["prediction"]["top"]
    points = [
        next(p["points"] for p in group["points"] if p["outcome"] == top)
        for group in told["contributions"]
    ]
    first = page.locator(".claims li").first.locator("svg[role=img]").get_attribute("aria-label")
    spreads = [
        f"middle {one['control_quantiles_nats'][2]:.1e}".replace("e-0", "e-")
        for one in told["evidence"]
        if one["control_quantiles_nats"]
    ]
    assert any(spread in first for spread in spreads), first
    assert sorted(float(one.replace("−", "-")) for one in adds) == pytest.approx(
        sorted(points), abs=0.051
    )
    verdicts = page.locator("#evidence-list > ul .badge").all_inner_texts()
    assert any("supported" in one for one in verdicts)
    expect(page.locator("#narrative-text .summary")).to_have_text(told["summary"])


def test_walking_by_keys_changes_address_and_page_and_back_returns(
    page: Any, server: Server
) -> None:
    opened(page, server)
    page.keyboard.press("ArrowRight")
    assert (ball(page), page.url.endswith("/ball/48")) == (48, True)
    page.wait_for_timeout(400)
    page.keyboard.press("Shift+ArrowRight")
    assert (ball(page), page.url.endswith("/ball/54")) == (54, True)
    expect(page.locator(".which b")).to_have_text("8.3")
    page.go_back()
    expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "48")
    page.go_forward()
    expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "54")
    page.keyboard.press("End")
    assert ball(page) == 128
    page.keyboard.press("]")
    expect(page.locator(".team .side")).to_have_text("Saltmarsh Herons")
    assert page.url.endswith("/innings/2/ball/1")


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
    expect(page.locator(".slider")).to_have_attribute("aria-valuenow", str(before + 1))
    page.click("#play")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
    page.fill("#go-to", "7.2")
    page.keyboard.press("Enter")
    assert ball(page) == 47
    page.fill("#go-to", "900")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_have_text("there is no ball 900; 1 to 128")


def test_scales_views_and_one_head_with_its_cells(page: Any, server: Server) -> None:
    opened(page, server, SAMPLE + "?scale=short", explained=True)
    expect(page.locator(".head")).to_have_count(3)
    page.keyboard.press("3")
    expect(page.locator(".head")).to_have_count(6)
    for name in ("content only", "bias only", "value norm", "weights"):
        page.click(f"#heads-controls button:text-is('{name}')")
        expect(page.locator("#heads-maps")).to_contain_text("strongest")
    page.click("#heads-controls button:text-is('effect of hiding')")
    expect(page.locator(".head .foot").first).to_contain_text("nats")
    page.click("#heads-controls button:text-is('weights')")
    page.locator(".head").nth(2).click()
    assert "head=2" in page.url
    expect(page.locator("#head-one h3")).to_have_text("Head 2 of medium: same batter")
    plot = page.locator("#head-graph .nsewdrag.drag")
    plot.wait_for()
    expect(page.locator("#head-graph .heatmaplayer image")).to_be_attached()
    page.wait_for_timeout(300)
    plot.evaluate("one => one.scrollIntoView({block: 'center'})")
    box = plot.bounding_box()
    # Row 35 of 36 is this ball; column 20 is delivery 32.
    page.mouse.move(box["x"] + box["width"] * 20.5 / 36, box["y"] + box["height"] * 35.5 / 36)
    page.mouse.click(box["x"] + box["width"] * 20.5 / 36, box["y"] + box["height"] * 35.5 / 36)
    said = page.locator("#cell")
    expect(said).to_contain_text("asked about 7.2, looked at 4.5 ")
    told = json.loads(server.get("/data/simulated-82/1/47/explanation.json")[1])
    head = told["across_balls"]["medium"]["attention_by_head"]["head_2_same_batsman"]
    shown = float(re.search(r"([\d.]+)%$", said.text_content())[1])
    assert shown == pytest.approx(100 * head["row"][20], abs=0.1)
    page.locator("#head-figure").focus()
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("asked about 7.2, looked at 4.4 ")
    page.click("#head-table summary")
    expect(page.locator("#head-table tbody tr")).to_have_count(36)
    page.click(".close")
    expect(page.locator("#head-one")).to_be_hidden()


def test_a_claim_lights_its_balls_everywhere(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    told = json.loads(server.get("/data/simulated-82/1/47/explanation.json")[1])
    number = next(at for at, one in enumerate(told["evidence"]) if one["verdict"] == "supported")
    removed = told["evidence"][number]["removed"]
    page.locator(f".claim[data-claim='{number}']").click()
    expect(page.locator("#timeline .lit rect")).to_have_count(len(removed))
    expect(page.locator(".head").first.locator(".lights i")).to_have_count(len(removed))
    page.locator(f".claim[data-claim='{number}']").click()
    expect(page.locator("#timeline .lit rect")).to_have_count(0)


def test_what_if_answers_as_the_library_does(page: Any, server: Server) -> None:
    import attnlens

    opened(page, server)
    page.select_option("#what-if-bowler", "Lucan Mbekwane")
    page.select_option("#what-if-ball", "46")
    page.select_option("#what-if-outcome", "6")
    page.click("fieldset button:text-is('Add')")
    page.click(".primary")
    expect(page.locator("#what-if-answer .changes li")).to_have_count(2)
    sample = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
    answer = attnlens.what_if(sample, ball=47, bowler="Lucan Mbekwane", changes={46: 6})
    shown = page.locator("#what-if-plot .diff").all_text_contents()
    expected = [one.points for one in answer.outcomes]
    assert [float(one.replace("−", "-")) for one in shown] == pytest.approx(expected, abs=0.051)
    page.provoked = (422,)
    page.select_option("#what-if-bowler", "*")
    page.fill("input[aria-label='another bowler']", "Nobody At All")
    page.click(".primary")
    expect(page.locator("#what-if-answer .trouble")).to_contain_text("Nobody At All")


def test_comparing_two_balls(page: Any, server: Server) -> None:
    opened(page, server, "/compare?a=simulated-82/1/47/bundled&b=simulated-82/2/60/measured")
    both = []
    for innings, number, model in ((1, 47, "bundled"), (2, 60, "measured")):
        path = f"/data/simulated-82/{innings}/{number}/explanation.json?model={model}"
        outcomes = json.loads(server.get(path)[1])["prediction"]["outcomes"]
        both.append([100 * one["probability"] for one in outcomes])
    shown = page.locator("#difference-plot .diff").all_text_contents()
    told = [b - a for a, b in zip(*both, strict=True)]
    assert [float(one.replace("−", "-")) for one in shown] == pytest.approx(told, abs=0.051)
    page.fill("#compare-a input[type=number]", "48")
    page.keyboard.press("Tab")
    expect(page.locator("#echo-a a")).to_contain_text("7.3 ")
    assert "a=simulated-82/1/48/bundled" in page.url


def test_comparing_two_recordings(page: Any, server: Server, tmp_path: Path) -> None:
    opened(page, server, "/recordings/compare")
    expect(page.locator(".apart")).to_have_count(4)
    # What differs most comes first, and is shown; the first layer is the same in both.
    expect(page.locator(".apart").first).to_contain_text("layers.1.self_attn")
    expect(page.locator(".apart .value").last).to_have_text("0.000")
    before, after = (attnlens.load_recording(path) for path in two_recordings(tmp_path))
    difference = compare(before, after, ["layers.1.self_attn"])[0]
    by_head = difference.total_variation[0].mean(-1)
    shown = page.locator(".apart .value").all_text_contents()[:2]
    assert [float(one) for one in shown] == pytest.approx(sorted(by_head, reverse=True), abs=6e-4)
    page.locator("[data-map=d]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    head = int(by_head.argmax())
    cells = [float(one["layers.1.self_attn"].weights[0, head, 1, 1]) for one in (before, after)]
    told = page.locator("#recording-cell").text_content()
    found = [float(number) for number in re.findall(r"[AB] (\d\.\d+)", told)]
    assert found == pytest.approx(cells, abs=6e-5)
    page.locator(".apart").last.click()
    assert "site=layers.0.self_attn" in page.url
    page.click("#both-tools summary")
    with page.expect_download() as waiting:
        page.click("#both-tools .menu-list >> text='CSV'")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    assert len(rows) == 36
    assert {row["difference"] for row in rows} <= {"0.000000", "-0.000000"}


def test_a_model_step_by_step(page: Any, server: Server) -> None:
    opened(page, server, "/models/tiny?input=3,1,4,1,5&step=7")
    status, content, _ = server.get("/trace/tiny.json?input=3,1,4,1,5")
    told = json.loads(content)
    values = [*told["inputs"], *told["steps"]]
    assert (status, len(values)) == (200, 13)
    expect(page.locator(".step")).to_have_count(13)
    expect(page.locator(".equation")).to_have_text("A = softmax(S)")
    numbers = page.locator("#step-shown .values").first.locator("td.number").all_text_contents()
    weights = [weight for row in values[6]["values"] for weight in row]
    found = [float(one.replace("−", "-")) for one in numbers]
    assert found == pytest.approx(weights, abs=5.1e-4)
    # What it is made of is there, and leads to its own step.
    page.locator(".made-of .link").first.click()
    expect(page.locator(".equation")).to_contain_text("S = Q K")
    page.keyboard.press("End")
    expect(page.locator(".equation")).to_have_text("y = argmax(logits)")
    assert "step=13" in page.url
    page.fill("#model-text", "9,9,0,0,1")
    page.keyboard.press("Enter")
    expect(page.locator("#model-said")).to_contain_text("9,9,0,0,1")
    answer = json.loads(server.get("/trace/tiny.json?input=9,9,0,0,1")[1])["steps"][-1]["values"]
    shown = page.locator("#step-shown .values").first.locator("td.number").all_text_contents()
    assert [int(one) for one in shown] == answer
    page.provoked = (422,)
    page.fill("#model-text", "3,1,<b>")
    page.keyboard.press("Enter")
    expect(page.locator("#model-said [role=alert]")).to_be_visible()
    page.click("#steps-tools summary")
    with page.expect_download() as waiting:
        page.click("#steps-tools .menu-list >> text='Equations (Markdown)'")
    assert "h_1" in Path(waiting.value.path()).read_text(encoding="utf-8")


def test_every_model_is_listed_and_shown(page: Any, server: Server) -> None:
    page.goto(server.url + "/models")
    page.wait_for_selector(".cards .card")
    names = [one.text_content() for one in page.locator(".cards .card b").all()]
    assert names[:3] == ["temporal", "attention", "tiny"]
    for name in names:
        opened(page, server, f"/models/{name}")
        assert page.locator(".step").count() > 4
        expect(page.locator("#model-said")).to_contain_text("worked out again by numpy")
        page.goto("about:blank")


def test_a_match_that_is_being_played_grows_on_the_page(
    page: Any, sample_match_path: Path, tmp_path: Path
) -> None:
    lines = sample_match_path.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "live.csv"
    path.write_text("".join(lines[:31]) + lines[31][:30], encoding="utf-8")
    with serving(tmp_path, path, "--follow") as live:
        page.also = live.url
        page.goto(live.url + "/match/simulated-82/innings/1/ball/30")
        page.wait_for_selector("body[data-ready=yes]")
        before = page.locator(".team .runs").text_content()
        with path.open("a", encoding="utf-8") as file:
            file.write(lines[31][30:])
        expect(page.locator(".slider")).to_have_attribute("aria-valuenow", "31")
        assert page.url.endswith("/ball/31")
        page.wait_for_selector(".claims")
        told = json.loads(live.get("/data/simulated-82/1/31/explanation.json?v=1")[1])
        score = f"{told['ball']['score']}/{told['ball']['wickets']}"
        expect(page.locator(".team .runs")).to_have_text(score)
        # Who looks at an earlier ball stays there.
        page.keyboard.press("Home")
        with path.open("a", encoding="utf-8") as file:
            file.write(lines[32])
        expect(page.locator("#toast")).to_contain_text("a new ball has come")
        assert ball(page) == 1
        assert page.locator(".slider").get_attribute("aria-valuemax") == "32"
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
    expect(page.locator(".drop-said.bad")).to_contain_text("bad.csv:")
    assert str(tmp_path) not in page.locator(".drop-said").text_content()
    good = tmp_path / "mine.csv"
    text = hostile_match.read_text(encoding="utf-8").replace("Callum Wetherspring", "Zed Zebra")
    good.write_text(text, encoding="utf-8")
    page.set_input_files(".drop input", good)
    page.wait_for_selector("body[data-ready=yes]")
    assert re.search(r"/match/u-[0-9a-f]{32}/innings/1/ball/1$", page.url)
    expect(page.locator(".batters")).to_contain_text("Anselm Duvivier-Oke")
    page.goto(server.url)
    expect(page.locator("#brought .card")).to_have_count(1)


def test_hostile_names_are_only_names(page: Any, server: Server) -> None:
    alerts: list[str] = []
    page.on("dialog", lambda box: (alerts.append(box.message), box.dismiss()))
    opened(page, server, "/match/simulated-82-2/innings/1/ball/47?head=2", explained=True)
    expect(page.locator(".bowler b")).to_have_text(HOSTILE)
    expect(page.locator("#narrative-text")).to_contain_text(HOSTILE)
    page.locator("#head-graph .nsewdrag.drag").wait_for()
    page.wait_for_timeout(300)
    assert page.locator("img[src='x']").count() == 0
    assert alerts == []


def test_what_is_taken_away_holds_what_is_shown(page: Any, server: Server, tmp_path: Path) -> None:
    opened(page, server, explained=True)

    def taken(panel: str, item: str) -> tuple[str, bytes]:
        page.click(f"#{panel}-tools summary")
        with page.expect_download() as waiting:
            page.click(f"#{panel}-tools .menu-list >> text='{item}'")
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    name, content = taken("outcomes", "CSV")
    assert name == "attnlens-simulated-82-1-47-outcomes.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1, abs=1e-5)
    name, content = taken("timeline", "SVG")
    assert (name[-4:], content[:5]) == (".svg", b"<svg ")
    # Opened alone, a drawing is to be seen: letters, light cells and dark ones.
    for panel in ("heads", "timeline", "inside"):
        name, content = taken(panel, "PNG")
        seen = colours(content)
        assert (len(seen) > 20, max(map(max, seen)) > 240, min(map(min, seen)) < 60) == (True,) * 3
        name, content = taken(panel, "SVG")
        drawn = content.decode()
        ElementTree.fromstring(drawn)
        assert "left:" not in drawn.partition(">")[0]
        assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    name, content = taken("narrative", "Past balls (.csv)")
    past = list(csv.DictReader(io.StringIO(content.decode())))
    assert [(row["index"], row["label"]) for row in past][-1] == ("46", "7.1")
    name, content = taken("narrative", "Everything (.json)")
    told = json.loads(server.get("/data/simulated-82/1/47/explanation.json")[1])
    assert json.loads(content) == told
    name, content = taken("narrative", "Prompt (.txt)")
    assert b"Ewan Thistlemoor" in content
    name, content = taken("narrative", "Report (.html)")
    assert name == "simulated-82-1-47-report.html"
    report = tmp_path / name
    report.write_bytes(content)
    page.goto(report.as_uri())
    expect(page.locator("body")).to_contain_text(told["narrative"][0]["text"][:40])
    assert page.locator("svg").count() >= 1


def test_everything_is_reached_by_keys_alone_and_said_aloud(page: Any, server: Server) -> None:
    opened(page, server, explained=True)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.keys")).to_have_count(0)
    page.locator(".slider").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#say")).to_contain_text("7.3 Ewan Thistlemoor to ")
    page.keyboard.press("h")
    expect(page.locator("#head-one")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#head-one")).to_be_hidden()
    row = page.locator("#outcomes-plot .row").nth(4)
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#contributions-title")).to_contain_text("P(four)")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button,a,select,input:not([type=file])')].filter((one) =>"
        " one.offsetParent && !(one.textContent.trim() || one.getAttribute('aria-label') ||"
        " one.labels?.length)).map((one) => one.outerHTML)"
    )
    assert unnamed == []


def test_a_theme_is_chosen_for_a_page_and_what_is_in_it(page: Any, server: Server) -> None:
    page.goto(server.url + "/recording/before.safetensors")
    page.frame_locator("iframe").locator("canvas").first.wait_for()
    body = page.frame_locator("iframe").locator("body")
    for theme in ("light", "dark"):
        page.click("#theme-button")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 22, 28)"}[theme]
        expect(body).to_have_css("background-color", ground)
    page.reload()
    expect(body).to_have_css("background-color", "rgb(16, 22, 28)")


def test_a_phone_in_the_dark_needs_no_sideways_scrolling(chromium: Any, server: Server) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    drawn = (SAMPLE, "/compare", "/recordings/compare", "/models/tiny")
    for path in (*drawn, "/", "/recordings", "/heads", "/models"):
        page.goto(server.url + path)
        page.wait_for_selector("main h1", state="attached")
        if path in drawn:
            page.wait_for_selector("body[data-ready=yes]")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        if path == SAMPLE:
            page.wait_for_selector(".claims")
        # Nothing sticks out of its panel, either.
        out = page.evaluate(
            "[...document.querySelectorAll('.panel')].filter((one) => one.scrollWidth >"
            " one.clientWidth).map((one) => one.id)"
        )
        assert out == [], path
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()


def test_back_from_one_match_to_another_and_through_other_pages(page: Any, server: Server) -> None:
    opened(page, server, "/match/simulated-82/innings/1/ball/5")
    page.click("nav >> text=Matches")
    page.locator(".card").nth(1).click()
    page.wait_for_selector(".score .runs")
    page.keyboard.press("]")
    expect(page.locator(".team .side")).to_have_text("Saltmarsh Herons")
    page.evaluate("history.go(-3)")  # to the other match, in its other innings
    expect(page.locator("#say")).to_contain_text("Ewan Thistlemoor")
    page.wait_for_timeout(300)
    assert page.url == server.url + "/match/simulated-82/innings/1/ball/5"
    # A page that is gone back on still moves by one.
    opened(page, server, "/models/tiny")
    page.fill("#model-text", "9,9,0,0,1")
    page.keyboard.press("Enter")
    expect(page.locator("#model-said")).to_contain_text("9,9,0,0,1")
    for text in ("3,1,4,1,5", "9,9,0,0,1", "3,1,4,1,5"):
        page.go_back() if text[0] == "3" else page.go_forward()
        expect(page.locator("#model-text")).to_have_value(text)
        expect(page.locator("#model-said")).to_contain_text(text)
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#step-shown .stepper .quiet")).to_have_text("2 of 13")
    assert page.url == server.url + "/models/tiny?step=2"
    opened(page, server, "/compare")
    asked = []
    page.evaluate(
        "window.drawn = 0; new MutationObserver((all) => { drawn += all.length; })"
        ".observe(document.getElementById('difference-plot'), { childList: true })"
    )
    for number in range(1, 6):
        page.fill("#compare-a input[type=number]", str(number))
        page.keyboard.press("Tab")
        expect(page.locator("#echo-a a")).to_contain_text(f"0.{number} ")
    for number in range(4, 0, -1):
        page.evaluate("window.drawn = 0")
        page.go_back()
        expect(page.locator("#echo-a a")).to_contain_text(f"0.{number} ")
        asked.append(page.evaluate("window.drawn"))
    assert len(set(asked)) == 1, "each time back draws as often as the first"


def test_addresses_that_lead_nowhere_say_so(page: Any, server: Server) -> None:
    page.provoked = (404, 422)
    for path in ("/match/gone/innings/1/ball/1", "/recording/gone", "/nowhere"):
        page.goto(server.url + path)
        expect(page.locator("h1")).to_have_text("Nothing is here")
    page.goto(server.url + "/match/simulated-82/innings/9/ball/1")
    expect(page.locator("#score .trouble")).to_contain_text("no innings 9")
    page.goto(server.url + "/match/simulated-82/innings/1/ball/999")
    page.wait_for_selector("body[data-ready=yes]")
    assert page.url.endswith("/ball/128")
    page.goto(server.url + SAMPLE + "?scale=x&head=99&view=zzz&outcome=q&model=none")
    page.wait_for_selector("body[data-ready=yes]")
    assert page.url == server.url + SAMPLE
    page.goto(server.url + "/match/simulated-82/innings/1/ball/2.5")
    expect(page.locator(".which b")).to_have_text("0.2")
    page.goto(server.url + "/compare?a=simulated-82/9/1/none")
    expect(page.locator("#bars-a .trouble")).to_contain_text("no innings 9")
    expect(page.locator("#difference")).to_be_hidden()
    page.locator("#compare-a select").nth(1).select_option("2")
    expect(page.locator("#difference-plot .diff").first).to_be_visible()

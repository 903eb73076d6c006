"""Measure the dashboard in a browser and on its server, and compare each figure with its budget.

    python benchmarks/dashboard.py [--changes 10000] [--distinct 40] [--users 20]

This script starts a dashboard on this machine, and needs Chromium and the extra `dashboard`. The
exit status is 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from dashboard_server import Server, browser_path, browsing, recorded, serving  # noqa: E402

SAMPLE = REPOSITORY / "sample_data" / "match.csv"
BALLS = 128
HEADS = 31
CHANGE = """async () => {
  const took = [];
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await frame();
  for (let ball = 0; ball < 60; ball++) {
    const start = performance.now();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    document.body.offsetHeight;
    took.push(performance.now() - start);
    await frame();
  }
  return took;
}"""
CALLBACK = """async () => {
  const took = [];
  for (let ball = 0; ball < 12; ball++) {
    const start = performance.now();
    const plot = document.querySelector("#maps .js-plotly-plot");
    const drawn = new Promise((done) => plot.once("plotly_afterplot", done));
    window.dash_clientside.set_props("ball", { data: ball });
    await drawn;
    took.push(performance.now() - start);
  }
  return took.slice(2);
}"""
STATES = {
    "ball change": "",
    "ball change, a head enlarged": "?head=whole-0",
    "ball change, a claim chosen": "?claim=0",
    "ball change, a what-if asked": "?was=20:6",
}
FIRST_PICTURE = """() => performance.getEntriesByName("attnlens-drawn")[0].startTime
  - performance.getEntriesByType("navigation")[0].responseEnd"""


MAX_GROWTH_MB = 20.0
"""If the memory of a process grows by no more than this, it counts as constant."""


def spread(values: list[float], digits: int = 0) -> str:
    """Format the median and the 95th percentile in milliseconds."""
    p95 = sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]
    return f"{statistics.median(values):.{digits}f}, {p95:.{digits}f} ms"


MISSED: list[str] = []
"""The names of the figures that missed their budget."""


def report(name: str, value: str, budget: str = "", *, holds: bool = True) -> None:
    """Print a figure and its budget, and note the figure in `MISSED` if the budget is missed."""
    verdict = "" if not budget else "pass" if holds else "FAIL"
    print(f"{name:<62} {value:>16}   {budget:<18}{verdict}", flush=True)
    if not holds:
        MISSED.append(name)


def recording_of(tokens: int, folder: Path) -> Path:
    """Save a recording of one attention layer with ``tokens`` tokens, and return its path."""
    import torch

    torch.manual_seed(3)
    model = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    x = torch.randn(1, tokens, 32)
    return recorded(folder / f"tokens-{tokens}.safetensors", model, x, x, x)


def in_the_browser(browser: Any, server: Server, recording: Path) -> None:
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    pictures = []
    for ball in (30, 40, 50):
        page.goto(f"{server.url}/match/simulated-252/innings/1/ball/{ball}")
        page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
        pictures.append(page.evaluate(FIRST_PICTURE))
    figure = f"{pictures[0]:.0f}, {statistics.median(pictures[1:]):.0f} ms"
    name = "first picture after the server's answer (first, later)"
    report(name, figure, "at most 1500 ms", holds=pictures[0] <= 1500)
    start = time.perf_counter()
    page.goto(f"{server.url}/recording/{recording.name}")
    page.frame_locator("iframe").locator("#title:not(:empty)").wait_for(timeout=60_000)
    took_ms = 1000 * (time.perf_counter() - start)
    name, figure = "recording of 2,048 tokens, first picture", f"{took_ms:.0f} ms"
    report(name, figure, "at most 3000 ms", holds=took_ms <= 3000)


def another_match(server: Server, number: int) -> str:
    """Upload a match that is not cached, and return its URL."""
    content = SAMPLE.read_text(encoding="utf-8").replace("Callum Wetherspring", f"Number {number}")
    path = f"/upload/match?name={number}.csv"
    status, answer = server.post(path, content.encode(), **{"X-Attnlens": "1"})
    assert status == 200, answer
    return str(answer["path"])


def first_picture(page: Any, server: Server, number: int) -> float:
    """Open a ball of an uncached match, and return the milliseconds until its first picture."""
    path = another_match(server, number)
    start = time.perf_counter()
    page.goto(f"{server.url}{path}/innings/1/ball/30")
    page.wait_for_selector("body[data-ready=yes]", timeout=120_000)
    return 1000 * (time.perf_counter() - start)


def after_leaving(page: Any, server: Server, number: int) -> float:
    """Return the time of `first_picture` after the visitor opened and left 20 balls of a match."""
    page.goto(f"{server.url}{another_match(server, number)}/innings/1/ball/60")
    page.wait_for_selector("body[data-ready=yes]", timeout=120_000)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)  # long enough for the page to request the tests
    return first_picture(page, server, number + 1)


def tests_of_a_ball(server: Server, number: int) -> float:
    """Return the milliseconds for the tests of an uncached ball while nothing else is requested."""
    start = time.perf_counter()
    server.json(f"/data/simulated-252/2/{number}/explanation.json")
    return 1000 * (time.perf_counter() - start)


def cold_visit(browser: Any, server: Server) -> tuple[float, float, int]:
    """Measure the first visit of a browser with an empty cache.

    Return the kB of all responses, the kB without the files of Dash, and the number of responses.
    """
    page = browser.new_page()
    requests: list[Any] = []
    page.on("requestfinished", lambda request: requests.append(request))
    page.goto(f"{server.url}/match/simulated-252/innings/1/ball/20")
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    sizes = [(request.url, request.sizes()) for request in requests]
    page.close()
    total = own = 0.0
    for url, size in sizes:
        kilobytes = (size["responseBodySize"] + size["responseHeadersSize"]) / 1000
        total += kilobytes
        own += 0.0 if "/_dash" in url else kilobytes
    return total, own, len(sizes)


def plotly_callback(browser: Any) -> list[float]:
    """Return the milliseconds for a Dash callback that draws 31 heat maps with Plotly."""
    import numpy as np
    from dash import Dash, Input, Output, dcc, html
    from plotly import graph_objects, subplots
    from werkzeug.serving import make_server

    app = Dash("callback")
    app.layout = html.Div([dcc.Store(id="ball", data=0), html.Div(dcc.Graph(id="maps"), id="box")])

    @app.callback(Output("maps", "figure"), Input("ball", "data"))
    def draw(ball: int) -> Any:
        figure = subplots.make_subplots(rows=7, cols=5)
        cells = np.random.default_rng(ball).random((HEADS, 36, 36), np.float32)
        for number, z in enumerate(cells):
            panel = {"row": number // 5 + 1, "col": number % 5 + 1}
            figure.add_trace(graph_objects.Heatmap(z=z, coloraxis="coloraxis"), **panel)
        return figure

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app.server, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"http://127.0.0.1:{server.port}")
    page.locator("#maps .heatmaplayer image").first.wait_for(state="attached", timeout=60_000)
    took: list[float] = page.evaluate(CALLBACK.replace("#maps .js", "#box .js"))
    page.close()
    server.shutdown()
    return took


def visits(browser: Any, server: Server, rounds: int = 5) -> None:
    """Measure how long a single visitor waits for each part of the dashboard."""
    took: dict[str, list[float]] = defaultdict(list)
    for turn in range(rounds):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        took["first picture of an unseen match"].append(first_picture(page, server, 10 * turn))
        took["the same after 20 balls that were left"].append(
            after_leaving(page, server, 10 * turn + 1)
        )
        for name, query in STATES.items():
            page.goto(f"{server.url}/match/simulated-252/innings/1/ball/30{query}")
            page.wait_for_selector("body[data-tested=yes]")
            page.evaluate("document.querySelector('#claims').open = true")
            took[name] += page.evaluate(CHANGE)
        page.close()
        balls = range(20 + 5 * turn, 25 + 5 * turn)
        took["tests of an unseen ball"] += [tests_of_a_ball(server, ball) for ball in balls]
    size, own, count = cold_visit(browser, server)
    report(f"first visit, {count} answers", f"{size:.0f} kB", "at most 600 kB", holds=size <= 600)
    report("of that not Dash's own files", f"{own:.0f} kB", "at most 250 kB", holds=own <= 250)
    budgets = {
        **dict.fromkeys(STATES, 50),
        "first picture of an unseen match": 1200,
        "the same after 20 balls that were left": 2500,
        "tests of an unseen ball": 1000,
    }
    for name, values in took.items():
        holds = statistics.median(values) <= budgets[name]
        budget = f"at most {budgets[name]} ms"
        report(f"{name} (median, p95)", spread(values), budget, holds=holds)
    callback = statistics.median(plotly_callback(browser))
    ratio = callback / statistics.median(took["ball change"])
    report(f"a callback with {HEADS} heat maps of Plotly", f"{callback:.0f} ms, {ratio:.0f} ×")


def memory_of(process: int) -> float:
    """Return the resident memory of a process in megabytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmRSS")


def memory(server: Server, changes: int, distinct: int) -> None:
    def ask(number: int) -> None:
        ball = number % distinct + 1
        server.get(f"/data/simulated-252/1/{ball}/explanation.json", **{"Accept-Encoding": "gzip"})

    for number in range(distinct):
        ask(number)
    before = memory_of(server.process.pid)
    for number in range(changes):
        ask(number)
    after = memory_of(server.process.pid)
    name = f"server's memory, {changes:,} ball changes over {distinct} balls"
    report(name, f"{before:.0f} to {after:.0f} MB", "flat", holds=after <= before + MAX_GROWTH_MB)


def users(server: Server, count: int) -> None:
    """Let ``count`` users at the same time upload different matches and open two balls of them."""
    took: dict[str, list[float]] = defaultdict(list)
    wrong: list[str] = []

    def look(number: int) -> None:
        player = f"Player Number{number}"
        content = SAMPLE.read_text(encoding="utf-8").replace("Callum Wetherspring", player)
        status, upload = server.post(
            f"/upload/match?name={number}.csv", content.encode(), **{"X-Attnlens": "1"}
        )
        assert status == 200, upload

        def fetch(path: str, name: str) -> Any:
            start = time.perf_counter()
            answer = server.json(f"/data/{upload['path'].rpartition('/')[2]}/1/{path}")
            took[name].append(1000 * (time.perf_counter() - start))
            return answer

        balls = fetch("balls.json", "an innings")["balls"]
        names = {ball[role] for ball in balls for role in ("batter", "non_striker")}
        if [name for name in names if name.startswith("Player")] != [player]:
            wrong.append(player)
        for ball in (20, 60):
            for name in ("a ball's tests, for the first time", "a ball's tests, again"):
                fetch(f"{ball}/explanation.json", name)

    threads = [threading.Thread(target=look, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report(f"{count} users at once who saw another's match", str(len(wrong)), "0", holds=not wrong)
    for name, values in took.items():
        report(f"{count} users at once: {name} (median, p95)", spread(values))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--distinct", type=int, default=40)
    parser.add_argument("--users", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recording = recording_of(2048, folder)
        with serving(folder, SAMPLE, recording) as server:
            if browser_path() is None:
                print("no Chromium: the figures of the browser are left out")
            else:
                with browsing() as browser:
                    visits(browser, server)
                    in_the_browser(browser, server, recording)
            users(server, options.users)
            memory(server, options.changes, min(options.distinct, BALLS))
    return int(bool(MISSED))


if __name__ == "__main__":
    sys.exit(main())

"""A dashboard as a process of its own, and what is done on its pages in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import HANG, clean_environment, command

HOSTILE = "<img src=x onerror=alert(1)>"
SAMPLE = "/match/simulated-252/innings/1/ball/47"
PATIENCE = 150_000
"""Milliseconds after which a wait for a state of a page ends a test that would hang."""
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Server:
    """A dashboard that answers at ``url``."""

    url: str
    process: subprocess.Popen[str]

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        return self.send(urllib.request.Request(self.url + path, headers=headers))

    def json(self, path: str) -> Any:
        """The document that is there."""
        status, content, _ = self.get(path)
        assert status == 200, content
        return json.loads(content)

    def explanation(self, path: str = "simulated-252/1/47", **query: str) -> Any:
        """A ball's, of ``MATCH/INNINGS/BALL``."""
        path = f"/data/{path}/explanation.json?{urllib.parse.urlencode(query)}"
        return self.json(path)["explanation"]

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(self.url + path, body, headers, method="POST")
        status, content, _ = self.send(request)
        return status, json.loads(content)

    def send(self, request: urllib.request.Request) -> tuple[int, bytes, dict[str, str]]:
        try:
            with urllib.request.urlopen(request, timeout=HANG) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read(), dict(error.headers)


def _healthy(server: Server) -> bool:
    with contextlib.suppress(OSError):
        return server.get("/health")[0] == 200
    return False


@contextlib.contextmanager
def serving(
    folder: Path, *arguments: str | Path, port: str = "0", **environment: str
) -> Iterator[Server]:
    """A dashboard on a free port, or a given one, ended with the block."""
    words = command("dashboard", *arguments, "--no-browser", "--port", port)
    # Appended to: what is read here must not move the place where the server writes.
    errors = (folder / "dashboard.err").open("a")
    quiet = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONWARNINGS": ""}
    environment = clean_environment(**quiet, **environment)
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip().rstrip("/")
        assert url.startswith("http://"), (folder / "dashboard.err").read_text()
        server = Server(url, process)
        until(lambda: _healthy(server))
        yield server
    finally:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
        errors.close()


def browser_path() -> str | None:
    """The system's Chromium, or one that the environment names."""
    path = os.environ.get("ATTNLENS_TEST_BROWSER")
    names = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    return path or next(filter(None, map(shutil.which, names)), None)


def recorded(path: Path, model: Any, *inputs: Any) -> Path:
    """A recording of one pass."""
    import torch

    import attnlens

    with attnlens.record(model) as recording, torch.no_grad():
        model(*inputs)
    recording.save(path)
    return path


def two_recordings(folder: Path, width: int = 16, heads: int = 2, tokens: int = 6) -> list[Path]:
    """Of one encoder, before and after its second layer was changed, on the same input."""
    import torch

    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(1, tokens, width)
    before = recorded(folder / "before.safetensors", model, x)
    with torch.no_grad():
        for parameter in model.layers[1].parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return [before, recorded(folder / "after.safetensors", model, x)]


@contextlib.contextmanager
def browsing() -> Iterator[Any]:
    """The system's Chromium, for benchmarks."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=browser_path(), args=list(SWITCHES))
        yield browser
        browser.close()


def opened(page: Any, server: Server, path: str = SAMPLE, *, explained: bool = False) -> None:
    page.goto(server.url + path)
    page.wait_for_selector("body[data-ready=yes]")
    if explained:
        page.wait_for_selector("body[data-tested=yes]")


def polling_quickly(page: Any) -> Any:
    """The page, which asks for new balls ten times as often."""
    page.add_init_script("const set = setInterval; setInterval = (f, ms) => set(f, ms / 10);")
    return page


def ball(page: Any) -> int:
    return int(page.locator(".slider").get_attribute("aria-valuenow"))


def downloaded(page: Any, file: str) -> tuple[str, bytes]:
    """The name and the bytes of a file of a ball's page."""
    page.click(".menu summary")
    with page.expect_download() as waiting:
        page.click(f".menu >> text='{file}'")
    page.click(".menu summary")
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def until(condition: Callable[[], bool]) -> None:
    """Wait for a state of a server or of a queue."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def figures(elements: Any) -> list[float]:
    """The numbers that elements show."""
    return [float(text.replace("−", "-")) for text in elements.all_text_contents()]


def fits(page: Any, width: int) -> None:
    """Nothing is wider than the window, or sticks out of its panel, and every page is in sight."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for link in page.locator(".top nav a").all():
        box = link.bounding_box()
        assert (box["x"] >= 0, box["x"] + box["width"] <= width) == (True, True)
        assert box["height"] >= 24
    out = page.evaluate(
        "[...document.querySelectorAll('.panel')].filter((panel) => panel.scrollWidth >"
        " panel.clientWidth).map((panel) => panel.id)"
    )
    assert out == [], page.url

"""Fixtures that several tests share."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Here
from dashboard_server import (
    HOSTILE,
    PATIENCE,
    SWITCHES,
    Server,
    browser_path,
    serving,
    two_recordings,
)
from hypothesis import settings

from attnlens.cli import main

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED_DATA = Path(os.environ.get("ATTNLENS_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")

# Two runs of the tests share two cores, so each has one thread, and so has what it starts. Another
# number of threads adds in another order: what is compared to the last bit has the same number.
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

# The same examples in every run, so that a change is judged by what it changed. New ones are
# looked for with `pytest --hypothesis-profile explore`.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("steady")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect without looking for garbage, and seldom look again at what stays until the end.

    Libraries and tests are some million objects, and each look at them takes a third of a second.
    They are not frozen: `attnlens.record` asks which of them hold a function of torch.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(50_000, 20, 100)
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_folder_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever a test runs keeps its answers in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real matches, which are not part of the repository.

    Without them a test skips, or fails where ``ATTNLENS_REQUIRE_DATA`` is 1.
    """
    if not (SHARED_DATA / "torture.json").is_file():
        missing = f"real matches are not here: looked for {SHARED_DATA / 'torture.json'}"
        if os.environ.get("ATTNLENS_REQUIRE_DATA") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    return SHARED_DATA


@pytest.fixture(scope="session")
def sample_match_path() -> Path:
    """The simulated match that ships with the repository."""
    return REPOSITORY / "sample_data" / "match.csv"


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small checkpoint, and later matches that it was not trained on."""
    from small_predictors import small_predictor

    from attnlens.cricket.lab.simulator import save_simulated
    from attnlens.cricket.predictor.trained import save_predictor

    folder = tmp_path_factory.mktemp("season")
    save_predictor(folder / "small.safetensors", small_predictor())
    save_simulated(folder / "later.zip", (6, 7, 8), file_format="json")
    return folder


@pytest.fixture
def attnlens_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    """The command line in this process, working in an empty folder."""
    threads = torch.get_num_threads()
    yield Here(tmp_path, monkeypatch, capsys)
    torch.set_num_threads(threads)  # train takes all cores


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium: the system's, or playwright's own, which is fetched where it can be.

    Of one module: while it is open, nothing else in this process can run an event loop.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    # Each wait is for a state of the page: the time-out only ends a test that would hang.
    playwright.expect.set_options(timeout=PATIENCE)
    options: dict[str, Any] = {"args": list(SWITCHES)}
    found = browser_path()
    with playwright.sync_playwright() as driver:
        if found:
            options["executable_path"] = found
        elif not Path(driver.chromium.executable_path).exists():
            install = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
            done = subprocess.run(install, capture_output=True, timeout=300, check=False)
            if done.returncode:
                pytest.skip(
                    "no Chromium is here, and playwright could not fetch one: install the "
                    "system's, or name one with ATTNLENS_TEST_BROWSER"
                )
        browser = driver.chromium.launch(**options)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def hostile_match(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> Path:
    """The sample, its first bowler's name an attack."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.csv"
    text = sample_match_path.read_text(encoding="utf-8")
    path.write_text(text.replace("Pita Falekaono", HOSTILE), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path, hostile_match: Path
) -> Iterator[Server]:
    recordings = two_recordings(tmp_path_factory.mktemp("recordings"))
    folder = tmp_path_factory.mktemp("served")
    heads = ("--allow-in-sample", "--balls", "8", "--json", "--out", str(folder / "heads.json"))
    assert main(["lab", "heads", str(sample_match_path), *heads]) == 0
    files = (sample_match_path, hostile_match, *recordings, "--heads", "heads.json")
    with serving(folder, *files) as one:
        yield one


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages; ``requests``, ``console`` and ``complaints`` of each are kept."""
    contexts = []

    def open_page(**options: Any) -> Any:
        contexts.append(
            chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        )
        one = contexts[-1].new_page()
        one.set_default_timeout(PATIENCE)
        one.requests, one.console, one.complaints = [], [], []
        one.on("request", lambda asked: one.requests.append(asked.url))
        one.on("console", lambda said: one.console.append((said.type, said.text)))
        one.on("pageerror", lambda error: one.complaints.append(str(error)))
        return one

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def file_page(new_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Opens a file as a page; a request of anything else and a complaint fail the test."""
    pages = []

    def open_page(path: Path, **options: Any) -> Any:
        pages.append(new_page(**options))
        pages[-1].goto(path.as_uri())
        return pages[-1]

    yield open_page
    for one in pages:
        one.context.close()
        assert {url for url in one.requests if not url.startswith("about:srcdoc")} == {one.url}
        # The tests themselves read pixels again and again.
        assert [text for _, text in one.console if "getImageData" not in text] == []
        assert one.complaints == []


@pytest.fixture
def page(new_page: Callable[..., Any], server: Server) -> Iterator[Any]:
    """A page that fails its test on a console error or a request to elsewhere."""
    one = new_page(viewport={"width": 1360, "height": 900}, accept_downloads=True)
    # Statuses that a test provokes, which the browser itself reports; another server of ours.
    one.provoked, one.also = (), server.url
    yield one
    one.context.close()
    ours = (server.url, one.also, "data:", "blob:", "file:")
    assert [url for url in one.requests if not url.startswith(ours)] == []
    refused = [f"status of {status}" for status in one.provoked]
    errors = [text for kind, text in one.console if kind == "error"] + one.complaints
    assert [text for text in errors if not any(words in text for words in refused)] == []

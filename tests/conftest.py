"""Fixtures that several tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Here
from dashboard_server import SWITCHES, browser_path

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED_DATA = Path(os.environ.get("ATTNLENS_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")


@pytest.fixture(scope="session", autouse=True)
def _no_folder_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever a test runs keeps its answers in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real matches, which are not part of the repository."""
    if not (SHARED_DATA / "torture.json").is_file():
        pytest.skip(f"real matches are not here: looked for {SHARED_DATA / 'torture.json'}")
    return SHARED_DATA


@pytest.fixture(scope="session")
def sample_match_path() -> Path:
    """The simulated match that ships with the repository."""
    return REPOSITORY / "sample_data" / "match.csv"


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

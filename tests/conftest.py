"""Fixtures that several tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from command_line import Here

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

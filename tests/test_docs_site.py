"""The documentation as a site: every page is built, every link between pages leads somewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import REPOSITORY

import attnlens

pytest.importorskip("mkdocs", reason="mkdocs is not installed")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="formats.html"' in start
    assert "attnlens/models/weights" not in start  # the model card is a page here
    reference = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in attnlens.__all__ if f">{name}<" not in reference]
    assert [name for name in missing if name != "__version__"] == []
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    assert not any("https://fonts.g" in page for page in pages)

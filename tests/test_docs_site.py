"""The documentation as a site: every page is built, every link between pages leads somewhere, and
every notebook runs.
"""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import REPOSITORY
from needed import skip_without

import attnlens

skip_without("mkdocs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning; a cell of a notebook that fails is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_every_name_is_in_the_reference(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="formats.html"' in start
    assert "in a checkout of this repository" in start
    assert 'href="notebooks/a-ball.html"' in (site / "pages.html").read_text(encoding="utf-8")
    assert "attnlens/weights" not in start  # the model card is a page here
    reference = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in attnlens.__all__ if f">{name}<" not in reference]
    assert [name for name in missing if name != "__version__"] == []
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    assert not any("https://fonts.g" in page for page in pages)


def test_the_notebooks_are_run_and_show_what_their_cells_give(site: Path) -> None:
    ball = (site / "notebooks" / "a-ball.html").read_text(encoding="utf-8")
    assert ball.count('<iframe title="An explanation" sandbox="" srcdoc=') == 1
    assert "not better than chance" in ball.split("srcdoc=")[0] + ball.split("</iframe>")[1]
    assert "<td>not borne out</td>" in ball  # what a false sentence gets
    model = (site / "notebooks" / "your-model.html").read_text(encoding="utf-8")
    assert 'title="A recording" sandbox="allow-scripts"' in model
    assert "softmax(S_i^(1))" in html.unescape(model)


def test_notebooks_are_kept_without_what_they_gave() -> None:
    found = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))
    assert [path.stem for path in found] == ["a-ball", "your-model"]
    for path in found:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)

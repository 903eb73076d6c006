"""What the site shows besides `docs/`: files that stand elsewhere, with their links mended, and
the notebooks, run while it is built.

``mkdocs build`` calls the functions here (https://www.mkdocs.org/user-guide/configuration/#hooks).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

REPOSITORY = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "index.md": "README.md",
    "card.md": "attnlens/weights/README.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "pages.md": "docs/README.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """The pages that stand elsewhere, the Python reference and the notebooks become pages."""
    # A README is a folder's index, and the site's own is the repository's.
    files.remove(files.src_uris["README.md"])
    for page, source in ELSEWHERE.items():
        text = (REPOSITORY / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "api.md", content=reference()))
    for path in sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb")):
        page = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, page, content="\n\n".join(told(path))))
    return files


def reference() -> str:
    """Every name of `attnlens`, from its docstring where it is defined."""
    import attnlens

    named = [f"::: {attnlens._HOMES[name]}.{name}" for name in attnlens.__all__ if name[0] != "_"]
    return "\n\n".join(["# Python", "Everything stands in `attnlens` itself.", *named]) + "\n"


def told(path: Path) -> Iterator[str]:
    """A notebook as Markdown, with what its cells give when they are run now.

    Raises:
        CellExecutionError: a cell does not run.
    """
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}).execute()
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            yield cell.source
            if place == 0:
                yield f"[This page as a notebook]({path.name})"
            continue
        yield f"```python\n{cell.source}\n```"
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "text/html" in data:
                # Without empty lines, so that Markdown takes it as one block.
                page = data["text/html"].replace('<table border="1" class="dataframe">', "<table>")
                lines = [line for line in page.splitlines() if line.strip()]
                yield "\n".join(["<div>", *lines, "</div>"])
            else:
                yield f"```text\n{data['text/plain']}\n```"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links between files of the repository as links between pages; others as plain words."""
    at = page.file.src_uri
    folder = posixpath.dirname(at)
    real = ELSEWHERE.get(at, f"docs/{at}")
    pages = {source: page for page, source in ELSEWHERE.items()}

    def mended(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        if ":" in target:
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(real), target))
        if place in pages:
            place = pages[place]
        elif place.startswith("docs/"):
            place = place.removeprefix("docs/")
        else:
            return words
        if place.endswith(".ipynb") and place != f"{posixpath.splitext(at)[0]}.ipynb":
            place = place.replace(".ipynb", ".md")  # the page that shows it
        link = posixpath.relpath(place, folder or ".")
        return f"{picture}[{words}]({link}{anchor or ''})"

    return LINK.sub(mended, markdown)

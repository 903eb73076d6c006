"""What the site shows besides `docs/`: files that stand elsewhere, with their links mended.

``mkdocs build`` calls the functions here (https://www.mkdocs.org/user-guide/configuration/#hooks).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "index.md": "README.md",
    "card.md": "attnlens/models/weights/README.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """The pages that stand elsewhere, and the Python reference, become pages of the site."""
    for page, source in ELSEWHERE.items():
        text = (REPOSITORY / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "api.md", content=reference()))
    return files


def reference() -> str:
    """Every name of `attnlens`, from its docstring where it is defined."""
    import attnlens

    named = [f"::: {attnlens._HOMES[name]}.{name}" for name in attnlens.__all__ if name[0] != "_"]
    return "\n\n".join(["# Python", "Everything stands in `attnlens` itself.", *named]) + "\n"


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
        link = posixpath.relpath(place, folder or ".")
        return f"{picture}[{words}]({link}{anchor or ''})"

    return LINK.sub(mended, markdown)

"""The frame of a page that needs nothing else: no network, no script, no other file.

The style's hash is in the page's security policy and nothing else is allowed, so a name could
do nothing even were it not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from attnlens.render.html_text import text


def framed(title: str, parts: Iterable[str], *more_style: str) -> str:
    """A whole page, without a final line break.

    Args:
        title: plain text.
        parts: of the body, HTML already; empty ones are left out.
        more_style: files of style in this package, beside that of all pages.
    """
    folder = files("attnlens.render")
    sheets = ("explanation_page.css", *more_style)
    style = "".join(folder.joinpath(sheet).read_text("utf-8") for sheet in sheets)
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, parts))
        + "\n</body>\n</html>"
    )


def section(anchor: str, heading: str, *content: str) -> str:
    """A section under a heading; heading and content are HTML already, empty content left out."""
    inner = "\n".join(filter(None, content))
    return (
        f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{heading}</h2>\n{inner}\n'
        "</section>"
    )

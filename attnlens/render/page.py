"""Pages of HTML that need nothing else: no network, no other file, no script but their own.

Every page is a template of `attnlens.templates` in which all text is escaped. The hashes of its
style and of its script are in the page's security policy and nothing else is allowed, so a name
could do nothing even were it not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from attnlens.errors import count
from attnlens.render.heat_map import short
from attnlens.render.numbers import fine_percent, interval, number, percent_seen, signed_points
from attnlens.render.safe import latex, markdown, markdown_line


def template_text(name: str) -> str:
    """A file of `attnlens.templates`, such as ``page.css``."""
    return files("attnlens.templates").joinpath(*name.split("/")).read_text(encoding="utf-8")


_MODULES: Final = re.compile(r"^import .*\n|^export ", re.M)
"""What makes scripts modules, which are one in a page."""


@lru_cache(maxsize=2)
def _environment(*, escaped: bool) -> Environment:
    environment = Environment(
        loader=FunctionLoader(lambda name: (template_text(name), name, None)),
        autoescape=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent_seen,
        "fine_percent": fine_percent,
        "points": lambda points: signed_points(points, "−"),
        "count": count,
        "short": short,
        "number": number,
        "interval": interval,
        "md": markdown,
        "line": markdown_line,
        "latex": latex,
    }
    return environment


def render_page(
    template: str,
    *,
    title: str,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    **context: Any,
) -> str:
    """A whole page, without a final line break.

    Args:
        template: its file in `attnlens.templates`; it extends ``page.html``.
        title: plain text.
        styles: files of style beside that of all pages.
        scripts: modules, each after those that it imports; they become one.
        context: what the template shows.
    """
    style = "".join(map(template_text, ("page.css", *styles)))
    code = _MODULES.sub("", "".join(map(template_text, scripts)))
    runs = f"; script-src 'sha256-{_digest(code)}'" if code else ""
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'{runs}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment(escaped=True)
        .get_template(template)
        .render(title=title, policy=policy, style=Markup(style), script=Markup(code), **context)
    )


def render_part(template: str, **context: Any) -> str:
    return _environment(escaped=True).get_template(template).render(**context).strip()


def render_plain(template: str, **context: Any) -> str:
    """A document that is no HTML, without a final line break; its template escapes names."""
    return _environment(escaped=False).get_template(template).render(**context).strip()


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def inert(value: object, *, ascii_only: bool = True) -> Markup:
    """JSON for a script or a language model to read, which no text in it can end early."""
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)

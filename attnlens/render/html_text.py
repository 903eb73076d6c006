"""Text in HTML: escaped, and names kept from turning their neighbours' direction."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from attnlens.render.parts import percent


def text(value: object) -> str:
    """Escaped for content and for quoted attributes."""
    return html.escape(str(value))


def share(value: float, digits: int = 0) -> str:
    """``17%`` as HTML: what is told as less than something holds a sign that must be escaped."""
    return text(percent(value, digits))


def name(value: object) -> str:
    """A name, apart in direction from what stands beside it."""
    return f"<bdi>{text(value)}</bdi>"


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    kind: str = "",
) -> str:
    """A table whose first column heads its rows; cells are HTML already.

    Args:
        numbers: columns of numbers.
        kind: a class of its own.
    """

    def of(at: int) -> str:
        return ' class="number"' if at in numbers else ""

    head = "".join(f'<th scope="col"{of(at)}>{words}</th>' for at, words in enumerate(heads))
    body = []
    for row in rows:
        first, *cells = row
        rest = "".join(f"<td{of(at)}>{cell}</td>" for at, cell in enumerate(cells, 1))
        body.append(f'<tr><th scope="row">{first}</th>{rest}</tr>')
    style = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">\n'
        f"<table{style}>\n<caption>{text(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n" + "\n".join(body) + "\n</tbody>\n</table>\n</div>"
    )

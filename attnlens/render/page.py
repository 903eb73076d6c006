"""Render self-contained HTML pages, which load nothing from the network or from other files.

All text is escaped. In addition, the security policy of a page allows only the page's own style and
script, identified by their hashes.

In Jupyter, a frame separates a page from the notebook and from the network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from attnlens.errors import count
from attnlens.render.heat_map import short
from attnlens.render.numbers import fine_percent, interval, number, percent_seen, signed_points
from attnlens.render.safe import each_text, latex, markdown, markdown_line, on_one_line

if TYPE_CHECKING:
    from attnlens.recording.attention_record import AttentionRecord
    from attnlens.recording.recording import Recording


def template_text(name: str) -> str:
    """Return the text of a file in `attnlens.templates`."""
    return files("attnlens.templates").joinpath(*name.split("/")).read_text(encoding="utf-8")


_MODULES: Final = re.compile(r"^import .*\n|^export ", re.M)
"""Import and export statements, which are removed from joined modules."""


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
    """Render a complete page, without a final line break.

    Args:
        template: a file in `attnlens.templates` that extends ``page.html``.
        title: plain text.
        styles: style sheets that are added to ``page.css``.
        scripts: JavaScript modules, each after the modules that it imports.
        context: the variables of the template.
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
    """Render a document other than HTML, without a final line break.

    No text is escaped by default, so the template must escape names.
    """
    return _environment(escaped=False).get_template(template).render(**context).strip()


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def inert(value: object, *, ascii_only: bool = True) -> Markup:
    """Encode a value as JSON that cannot close an enclosing script element or prompt tag."""
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


_HEIGHT: Final = 640
"""The height of a page in a notebook, in pixels."""

_NUMBER: Final = re.compile(r"(?<![^.])\d+(?![^.])")
"""A part of a site's name that is a number, such as ``11`` in ``h.11.attn``."""

WIDTH: Final = 100
"""The width of printed text in columns."""

_MAX_MAP_BYTES: Final = 700_000
"""The largest size of the heat maps in a notebook, in bytes."""
_MAX_MAP_CELLS: Final = 1_000_000
"""The largest number of heat-map cells in a notebook."""


def frame_page(page: str, title: str, *, scripts: bool = False) -> str:
    """Wrap a complete page in a frame for a notebook cell."""
    cell = render_part("frame.html", page=page, title=title, scripts=scripts, height=_HEIGHT)
    # The result must be one line so that a Markdown document can contain it.
    return cell.replace("\n", "&#10;")


def preformatted(text: str) -> str:
    return render_part("frame.html", text=text)


def recording_html(recording: Recording) -> str:
    """Return the heat maps of a recording as HTML, or a message if there are none."""
    from attnlens.attention.views import maps_data
    from attnlens.errors import InputError

    try:
        data = maps_data(recording, most_cells=_MAX_MAP_CELLS, most_bytes=_MAX_MAP_BYTES)
    except InputError as error:
        return preformatted(str(error))
    if not data["records"]:
        return preformatted(repr(recording))
    return frame_page(render_recording_page(data, name="recording"), "A recording", scripts=True)


def record_html(record: AttentionRecord) -> str:
    """Return the heat maps of one record as HTML."""
    from attnlens.recording.recording import Recording

    return recording_html(Recording([record]))


def render_recording_page(data: Mapping[str, Any], *, name: str) -> str:
    """Render the page of a recording.

    Args:
        data: ``notes`` and ``records``, as returned by `attnlens.attention.views.maps_data`.
        name: the name of the recording.
    """
    records = data["records"]
    calls = Counter(record["site"] for record in records)
    names: dict[tuple[str, ...], int] = {}
    layers = layers_of(calls)
    stored = [_stored(record, names) for record in records]
    for record, entry in zip(records, stored, strict=True):
        group, layer = layers[record["site"]]
        if not layer and calls[record["site"]] > 1:
            layer = f"call {record['call']}"
        entry |= {"calls": calls[record["site"]], "group": group, "layer": layer}
    return render_page(
        "recording.html",
        title=f"{on_one_line(name)}: attention",
        styles=("recording.css",),
        scripts=("heat_maps.js", "recording.js"),
        name=on_one_line(name),
        notes=each_text(data["notes"], on_one_line),
        records=each_text(records, on_one_line),
        calls=calls,
        data=inert(
            {
                **{key: data[key] for key in ("levels", "bend", "sink")},
                "names": list(names),
                "records": stored,
            }
        ),
    )


def layers_of(sites: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Map each site to its group and to its label within the group.

    ``h.0.attn`` and ``h.11.attn`` have the group ``h.*.attn`` and the labels ``0`` and ``11``.
    """
    alike: dict[str, list[str]] = {}
    for site in sites:
        alike.setdefault(_NUMBER.sub("*", site), []).append(site)
    layers = {}
    for like, members in alike.items():
        numbers = [_NUMBER.findall(site) for site in members]
        several = [len(set(among)) > 1 for among in zip(*numbers, strict=True)]
        for site, own in zip(members, numbers, strict=True):
            group = like if len(members) > 1 else site
            layers[site] = group, ".".join(compress(own, several))
    return layers


def _stored(record: Mapping[str, Any], names: dict[tuple[str, ...], int]) -> dict[str, Any]:
    """Return a record's data for the page's script; ``names`` collects each list of names once."""
    packed = base64.b64encode(record["packed"]).decode("ascii")
    axes = [{"name": axis["name"], "size": axis["size"]} for axis in record["axes"]]
    numbers = {
        name: names.setdefault(tuple(record[name]), len(names)) for name in ("queries", "keys")
    }
    labelled = record["axes"][-1]["labels"] is not None
    return {**record, **numbers, "axes": axes, "labelled": labelled, "packed": packed}

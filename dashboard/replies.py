"""What the server answers with: a problem in one line, plain data, a file to take away."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from concurrent.futures import TimeoutError as TookTooLong
from functools import lru_cache, wraps
from typing import Any, Final

from flask import Response, request

from attnlens.errors import AttnlensError, InputError
from attnlens.render.safe import on_one_line

from .work import BusyError, NobodyWaitsError, stays

GONE: Final = "is not here (any more): it has to be opened or uploaded again"

KINDS: Final = {
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "tex": "application/x-tex",
}
"""Of files to take away, by the end of their names."""


def problem(text: str, status: int) -> Response:
    """What is wrong, as JSON."""
    said = json.dumps({"error": on_one_line(text)}, ensure_ascii=False)
    return Response(said, status, mimetype="application/json")


def answered(make: Callable[..., Response]) -> Callable[..., Response]:
    """Errors of ours as one line, never as a page with a trace."""

    @wraps(make)
    def answer(*arguments: Any, **named: Any) -> Response:
        try:
            return make(*arguments, **named)
        except InputError as error:
            return problem(error.without_folder(), 422)
        except AttnlensError as error:
            return problem(str(error), 422)
        except RecursionError:
            return problem("what is asked is nested too deeply", 400)
        except BusyError:
            return problem("too much is being worked out; ask again", 503)
        except NobodyWaitsError:
            return problem("nobody waits for this", 499)
        except TookTooLong:
            return problem("it took too long and was given up; ask again", 504)

    return answer


def gone() -> Callable[[], bool]:
    """Tells whether who asked the present question has gone, where the server can tell."""
    told: Callable[[], bool] = request.environ.get("waitress.client_disconnected", stays)
    return told


def sent(packed: bytes, *, lasting: bool = True) -> Response:
    """Compressed JSON as it is, or unpacked for who cannot take it.

    Args:
        lasting: whether the same address will always answer the same.
    """
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response = Response(packed, mimetype="application/json")
        response.headers["Content-Encoding"] = "gzip"
    else:
        response = Response(gzip.decompress(packed), mimetype="application/json")
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = "private, max-age=3600" if lasting else "no-store"
    return response


def download(text: str, name: str, kind: str) -> Response:
    """A file to take away, in which nothing runs."""
    response = Response(text.encode("utf-8", "replace"), mimetype=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


SMALL: Final = 1400
"""Bytes that fit into one packet: not worth packing."""
TEXT: Final = ("text/", "application/json", "application/javascript", "image/svg")


@lru_cache(maxsize=64)
def _packed_once(content: bytes) -> bytes:
    """A script or a style sheet, as small as it gets."""
    return gzip.compress(content, 9, mtime=0)


def compress(response: Response) -> Response:
    """Texts go packed to who can take them."""
    taken = "gzip" in request.headers.get("Accept-Encoding", "")
    if not taken or response.status_code != 200 or "Content-Encoding" in response.headers:
        return response
    if not (response.mimetype or "").startswith(TEXT):
        return response
    response.direct_passthrough = False
    content = response.get_data()
    if len(content) > SMALL:
        lasting = response.mimetype in ("text/javascript", "application/javascript", "text/css")
        response.set_data(_packed_once(content) if lasting else gzip.compress(content, 3))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    return response

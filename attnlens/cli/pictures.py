"""Whether a picture can be drawn, asked before the work and not after it."""

from __future__ import annotations

import os
from typing import Final

from attnlens.errors import InputError

PICTURES: Final = (".svg", ".png", ".pdf")


def check_picture(path: str) -> str:
    """The format of the picture to write to ``path``, such as ``svg``.

    Raises:
        InputError: another ending, no matplotlib, or a place that cannot be written.
    """
    from importlib.util import find_spec

    from attnlens.files import check_writable

    suffix = os.path.splitext(path)[1].lower()
    if suffix not in PICTURES:
        raise InputError(
            f"cannot draw {suffix or 'a file without a suffix'}",
            path=path,
            remedy=f"end it in {', '.join(PICTURES)}",
        )
    check_writable(path)
    if find_spec("matplotlib") is None:
        raise InputError(
            "--plot needs matplotlib, which is not installed", remedy="pip install matplotlib"
        )
    return suffix[1:]

"""Libraries that whole test files need, asked for without the time that importing them takes."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def skip_without(library: str) -> None:
    """Leave out the test file that calls this, where a library is not installed."""
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed", allow_module_level=True)

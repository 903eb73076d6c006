"""The one line with which something is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attnlens.errors import AttnlensError


def refused(
    error: type[AttnlensError], work: Callable[..., object], *inputs: Any, **options: Any
) -> str:
    """The message of the error that some work ends with: one line."""
    with pytest.raises(error) as caught:
        work(*inputs, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text

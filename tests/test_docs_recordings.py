"""docs/recordings.md names every function of attention; `test_docs_commands` runs its examples."""

from __future__ import annotations

import re

from command_line import REPOSITORY

from attnlens import attention


def test_every_function_is_told_of() -> None:
    text = (REPOSITORY / "docs" / "recordings.md").read_text(encoding="utf-8")
    names = {name for name in attention.__all__ if name.islower()}
    assert names <= set(re.findall("[a-z_]+", text))

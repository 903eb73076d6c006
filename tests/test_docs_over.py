"""docs/over.md: its page is what the command writes, its tables are the code's."""

from __future__ import annotations

import re

from command_line import REPOSITORY

from attnlens.cricket.over.encoder_decoder import OverSizes
from attnlens.cricket.over.features import CONTEXT_FEATURES, PAST_FEATURES, TOKENS
from attnlens.cricket.over.next_over import load_overs
from attnlens.cricket.predictor.calibration import named_checkpoint

TEXT = (REPOSITORY / "docs" / "over.md").read_text(encoding="utf-8")


def test_the_tables_are_the_codes() -> None:
    tables = TEXT.split("A past ball is described")[1].split("## Tokens")[0]
    cells = re.findall(r"^\| (`.+?`) \|", tables, re.M)
    assert re.findall(r"`(\w+)`", " ".join(cells)) == [*PAST_FEATURES, *CONTEXT_FEATURES]
    section = TEXT.split("## Tokens")[1].split("Every delivery has one.")[0]
    assert re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (.+?) \|", section, re.M))) == [
        *TOKENS
    ]


def test_the_sizes_are_the_models() -> None:
    sizes = load_overs().model.sizes
    assert f"{OverSizes().parameters:,} parameters" in TEXT
    assert f"{sizes.parameters:,} parameters" in TEXT
    assert (sizes.d, sizes.heads, sizes.d_k, sizes.ff, sizes.length) == (64, 4, 16, 256, 14)
    size = named_checkpoint("cricket")[1].stat().st_size
    assert f"{size / 1e6:.2f} MB" in TEXT

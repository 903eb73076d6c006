"""docs/models.md: an example in every section; `test_docs_commands` runs them."""

from __future__ import annotations

import re

from command_line import REPOSITORY

from attnlens.recording import capture

DOCUMENT = REPOSITORY / "docs" / "models.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([^\n]+)$(?:(?!^## ).)*?^```python\n.*?^```$", TEXT, re.M | re.S)


def test_every_section_has_one_and_the_table_leads_to_it() -> None:
    titles = re.findall(r"^## (.+)$", TEXT, re.M)
    assert titles == EXAMPLES
    assert len(titles) == 9
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\(#([\w-]+)\)", TEXT)) == anchors


def test_the_sizes_told_are_those_of_the_code() -> None:
    assert f"{capture.WHOLE_CALL_BYTES >> 20} MiB per call" in TEXT

"""The figures of ``attnlens planted`` as tables in Markdown, which a terminal shows as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.pages.faithfulness_table import TITLES
from attnlens.show.page import render_plain

METHODS: Final[dict[str, str]] = TITLES | {
    "hiding": "effect of hiding the ball",
    "replacing": "effect of replacing the ball",
}
"""What to call each method."""

LOSSES: Final[dict[str, str]] = {
    "truth": "the process itself (its entropy)",
    "model": "the trained model",
    "no_past": "the same model, no past ball shown",
    "scoreboard": "a network that sees the scoreboard only",
}

SOURCES: Final[dict[str, str]] = {
    "random_sets": "sets drawn as controls are",
    "uniform_attention": "attention frozen uniform",
    "random_sets_uniform_attention": "such sets, attention frozen uniform",
}


def render_planted(data: Mapping[str, Any]) -> str:
    """Every table, with a line above each that says what it holds; ``data`` as JSON has it."""
    rules = [name for rule in data["rules"] for name in (rule["name"], f"{rule['name']}_decoys")]
    return render_plain(
        "cricket/planted.md",
        d=data,
        methods=METHODS,
        losses=LOSSES,
        sources=SOURCES,
        rules=rules,
        rule_names=[name.replace("_decoys", ", decoys").replace("_", " ") for name in rules],
        judged=_judged,
    )


def _judged(claims: int, even: int, ci: tuple[float, float], most: float) -> str:
    if even == claims:
        return "no claim was made"
    low, high = ci
    return "kept" if high <= most else "broken" if low > most else "not clear from so few"

"""The figures of ``attnlens faithfulness`` for a terminal: one table, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Page, clean_all, pad

NARROWEST: Final = 70
WIDEST: Final = 110
TITLES: Final[dict[str, str]] = {
    "attention": "attention",
    "content_only": "content only",
    "value_norm": "value norm",
    "rollout": "rollout",
    "gradient_x_input": "gradient x input",
    "recency": "recency",
    "uniform": "uniform",
    "random": "random",
}
"""What to call each method; others keep their name."""

CONTROLS: Final = ("recency", "uniform", "random")
COMPARED: Final[dict[str, str]] = {
    "recency": "recency alone",
    "uniform": "even attention in the same windows",
}
NAME_WIDTH: Final = 17
SPEARMAN_WIDTH: Final = 20

COLUMNS: Final[tuple[tuple[str, str, str, str, int, int], ...]] = (
    ("partial_spearman_last36", "beyond", "distance", "more", 9, 2),
    ("comprehensiveness_kl", "without", "first k", "more", 9, 4),
    ("sufficiency_kl", "only", "first k", "less", 9, 4),
    ("deletion_auc_kl", "deletion", "area", "more", 9, 4),
    ("insertion_auc_kl", "insertion", "area", "less", 10, 4),
    ("sign_violation_rate", "wrong", "sign", "less", 7, 0),
)
"""Figure, two lines of heading, the faithful direction, width, decimals (0: per cent)."""


def render_faithfulness(
    data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True
) -> str:
    """The page for a document of ``attnlens faithfulness``.

    Args:
        data: the document.
        width: columns of the terminal; no line is wider (at least `NARROWEST`).
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    shown = clean_all(dict(data), ascii_only=not unicode)
    page = Page(max(NARROWEST, min(width, WIDEST)), UNICODE if unicode else ASCII)
    days = " to ".join(dict.fromkeys(day for day in shown["dates"] if day))
    page.paragraph(
        f"does attention of {shown['model']['name']} say what mattered? {shown['balls']:,} balls "
        f"of {shown['matches']:,} matches" + (f", {days}" if days else ""),
        "title",
        indent=0,
    )
    for note in shown["notes"]:
        page.paragraph(note, "flag", indent=4, lead="  !")
    page.blank()
    _worth(page, shown)
    page.blank()
    _methods(page, shown["methods"])
    page.blank()
    for sentence in sentences(shown):
        page.paragraph(sentence)
    return page.text(color=color)


def _interval(ends: list[float], decimals: int) -> str:
    low, high = (_signless(end, decimals) for end in ends)
    return f"[{low}, {high}]"


def _signless(value: float, decimals: int) -> str:
    """A number whose zero has no sign."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _worth(page: Page, data: Mapping[str, Any]) -> None:
    """How much the past matters at all."""
    page.paragraph("what past balls are worth, nats (95% over matches)", "heading", indent=0)
    losses = data["log_loss"]
    rows = [
        ("most telling past ball hidden, KL", data, "largest_single_ball_effect_nats"),
        ("past outcomes scrambled, KL", data, "scramble_kl_nats"),
        ("past outcomes scrambled, log-loss", data, "scramble_cost_nats"),
        ("all past balls hidden, log-loss", losses, "worth_of_past"),
    ]
    wider = losses.get("wider_sample")
    if wider:
        number = f"{wider['balls']:,} balls"
        rows += [
            (f"scrambled, log-loss, {number}", wider, "scramble_cost"),
            (f"all hidden, log-loss, {number}", wider, "worth_of_past"),
        ]
    for words, table, key in rows:
        page.add(
            (pad(f"  {words}", 40, "."), ""),
            (f"{_signless(table[key], 4):>8}  ", "name"),
            (_interval(table[f"{key}_ci"], 4), "quiet"),
        )


def _methods(page: Page, methods: Mapping[str, Mapping[str, Any]]) -> None:
    """A row per method; controls set apart."""
    first = next(iter(methods.values()))
    columns = []
    room = page.width - NAME_WIDTH - 2 - SPEARMAN_WIDTH
    for column in COLUMNS:
        room -= column[4]
        # Columns that do not fit are left to --json, rather than cut in two.
        if column[0] in first and room >= 0:
            columns.append(column)
    page.paragraph("which scores agree with what hiding balls did", "heading", indent=0)
    for line in (1, 2):
        words = ("Spearman, last 36", "(95% over matches)")[line - 1]
        page.add(
            (pad("", NAME_WIDTH + 2, "."), ""),
            (f"{words:<{SPEARMAN_WIDTH}}", "quiet"),
            *((f"{column[line]:>{column[4]}}", "quiet") for column in columns),
        )
    page.add(
        (pad("  faithful is", NAME_WIDTH + 2, "."), "quiet"),
        (f"{'more':<{SPEARMAN_WIDTH}}", "quiet"),
        *((f"{column[3]:>{column[4]}}", "quiet") for column in columns),
    )
    for name, figures in methods.items():
        style = "quiet" if name in CONTROLS else "name" if name == "attention" else ""
        page.add(
            (pad(f"  {TITLES.get(name, name)}", NAME_WIDTH + 2, "."), style),
            (f"{_signless(figures['spearman_last36'], 2)} ", style),
            (f"{_interval(figures['spearman_last36_ci'], 2):<15}", "quiet"),
            *(
                (f"{_number(figures[key], decimals):>{room}}", style)
                for key, _, _, _, room, decimals in columns
            ),
        )
    if len(columns) > 1:
        page.paragraph(
            "first k: the 1, 2, 4, 8 and 16 balls with the highest scores; areas: balls hidden, or "
            "brought back, one share after another; all in nats against the full prediction; "
            "wrong sign: how often one of the first k holds the likeliest outcome down",
            "quiet",
        )


def _number(value: float, decimals: int) -> str:
    return _signless(value, decimals) if decimals else f"{100 * value:.0f}%"


def sentences(data: Mapping[str, Any]) -> list[str]:
    """What the figures say of attention, in two sentences that claim no more."""
    methods = data["methods"]
    told = []
    if "attention" in methods:
        attention = methods["attention"]
        low, high = attention["spearman_last36_ci"]
        beside = " and ".join(
            words
            for key, name in COMPARED.items()
            if (words := _compared(attention.get(f"minus_{key}"), name))
        )
        agrees = "agrees" if low > 0 else "disagrees" if high < 0 else "does not clearly agree"
        told.append(
            f"Attention's order of the last 35 balls {agrees} with what hiding each did "
            f"(Spearman {_signless(attention['spearman_last36'], 2)}"
            f"{beside and ', ' + beside}); this describes the model on average and proves no "
            "single claim."
        )
    cost, (low, high) = data["scramble_cost_nats"], data["scramble_cost_nats_ci"]
    wider = data["log_loss"].get("wider_sample")
    if wider:
        cost, (low, high) = wider["scramble_cost"], wider["scramble_cost_ci"]
    largest = data["largest_single_ball_effect_nats"]
    verdict = (
        f"scrambling past outcomes costs {cost:.4f} nats a ball {_interval([low, high], 4)}"
        if low > 0
        else f"that scrambling past outcomes costs anything is not shown ({cost:.4f} nats a ball "
        f"{_interval([low, high], 4)})"
    )
    told.append(
        f"The most telling past ball moves a prediction by {largest:.4f} nats on average, and "
        f"{verdict}; the scoreboard stays in all of this."
    )
    return told


def _compared(gap: Mapping[str, Any] | None, name: str) -> str:
    """By how much attention agrees more than a control."""
    if gap is None:
        return ""
    value, (low, high) = gap["spearman_last36"], gap["spearman_last36_ci"]
    if low > 0:
        return f"{value:.2f} {_interval([low, high], 2)} more than {name}"
    if high < 0:
        return f"{-value:.2f} {_interval([-high, -low], 2)} less than {name}"
    return f"no more than {name} as far as this sample tells"

"""The figures of ``faithfulness`` for a terminal, and of ``planted`` as tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import interval, number
from attnlens.render.page import render_plain
from attnlens.render.table import Cell, Column, Words, add_table
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.lab.faithfulness import Faithfulness, Method
    from attnlens.cricket.lab.figures import Figure
    from attnlens.cricket.lab.head_report import HeadReport

NARROWEST: Final = 70
WIDEST: Final = 110
CONTROLS: Final = ("recency", "uniform", "random")
FIGURES: Final[tuple[tuple[str, str, str, int], ...]] = (
    ("partial_spearman_last36", "beyond distance", "more", 2),
    ("partial_spearman_players_last36", "and players", "more", 2),
    ("comprehensiveness_kl", "without first k", "more", 4),
    ("sufficiency_kl", "only first k", "less", 4),
    ("deletion_auc_kl", "deletion area", "more", 4),
    ("insertion_auc_kl", "insertion area", "less", 4),
    ("sign_violation_rate", "wrong sign", "less", 0),
)
"""Figure, heading in two words or three, the faithful direction, decimals (0: per cent)."""


@terminal_page(min_width=NARROWEST, max_width=WIDEST)
def render_faithfulness(page: Page, shown: Faithfulness) -> None:
    """The document of ``attnlens lab faithfulness``."""
    add_opening(page, shown, f"does attention of {shown.model.name} say what mattered?")
    _worth(page, shown)
    page.blank()
    _methods(page, shown.methods)
    page.blank()
    page.paragraph(
        "Rank agreement describes the model on average and proves no single claim; the scoreboard "
        "stays in all of this."
    )


def add_opening(page: Page, shown: Faithfulness | HeadReport, asked: str) -> None:
    """What was asked of which balls, and what a reader should know first."""
    matches = count(shown.matches, "match", "matches")
    days = " to ".join(dict.fromkeys(day for day in shown.dates if day))
    told = ", ".join(filter(None, (matches, days)))
    page.paragraph(f"{asked} {count(shown.balls, 'ball')} of {told}", "title", indent=0)
    for note in shown.notes:
        page.flag(note)
    page.blank()


def _worth(page: Page, data: Faithfulness) -> None:
    """How much the past matters at all."""
    page.paragraph("what past balls are worth, nats (95% over matches)", "heading", indent=0)
    losses = data.log_loss
    rows = [
        ("most telling past ball hidden, KL", data.largest_single_ball_effect_nats),
        ("the same over hiding all, KL", data.largest_share_of_hiding_all),
        ("past outcomes scrambled, KL", data.scramble_kl_nats),
        ("past outcomes scrambled, log-loss", data.scramble_cost_nats),
        ("all past balls hidden, log-loss", losses.worth_of_past),
    ]
    wider = losses.wider_sample
    if wider is not None:
        balls = f"{wider.balls:,} balls"
        rows += [
            (f"scrambled, log-loss, {balls}", wider.scramble_cost),
            (f"all hidden, log-loss, {balls}", wider.worth_of_past),
        ]
    _add_figures(page, rows, 4)


def _add_figures(page: Page, rows: Sequence[tuple[str, Figure]], digits: int) -> None:
    """A row per figure, with its interval."""
    cells: list[list[Cell]] = [
        [words, number(figure.value, digits), interval(figure.ci, digits)] for words, figure in rows
    ]
    add_table(page, [Words(), Column(style="name"), Words(style="quiet")], cells)


def _methods(page: Page, methods: Mapping[str, Method]) -> None:
    """A row per method; controls set apart. Columns that do not fit are left to ``--json``."""
    page.paragraph("which scores agree with what hiding balls did", "heading", indent=0)
    columns = [Words(), Words("Spearman, last 36", gap=1)]
    second: list[Cell] = ["", ("(95% over matches)", "quiet")]
    ways: list[Cell] = [("faithful is", "quiet"), ("more", "quiet")]
    for at, (_, heading, way, _) in enumerate(FIGURES, 1):
        first, _, rest = heading.partition(" ")
        columns.append(Column(first, spare=at, min_width=7, gap=2))
        second.append((rest, "quiet"))
        ways.append((way, "quiet"))
    rows = [second, ways]
    for name, found in methods.items():
        agreement = found.figures["spearman_last36"]
        ends = interval(agreement.ci, 2)
        rows.append(
            [
                name.replace("_", " "),
                [(f"{number(agreement.value, 2)} ", ""), (ends, "quiet")],
                *(_figure(found.figures[key], decimals) for key, _, _, decimals in FIGURES),
            ]
        )
    styles = ["quiet" if name in CONTROLS else "" for name in methods]
    add_table(page, columns, rows, styles=["", "", "name", *styles[1:]])
    page.paragraph(
        "first k: the 1, 2, 4, 8 and 16 balls with the highest scores; areas: balls hidden, or "
        "brought back, one share after another; all in nats against the full prediction; "
        "wrong sign: how often one of the first k holds the likeliest outcome down",
        "quiet",
    )
    beside = methods["attention"].beside
    names = {"recency": "that of recency", "uniform": "that of even attention in the same windows"}
    page.blank()
    page.paragraph("Spearman of attention, last 36, less", "heading", indent=0)
    gaps = [(words, beside[f"minus_{key}"]["spearman_last36"]) for key, words in names.items()]
    _add_figures(page, gaps, 2)


def _figure(figure: Figure, decimals: int) -> str:
    value = figure.known_value
    return number(value, decimals) if decimals else f"{100 * value:.0f}%"


# ---- planted truth: tables in Markdown, which a terminal shows as well

METHODS: Final[dict[str, str]] = {
    "hiding": "effect of hiding the ball",
    "replacing": "effect of replacing the ball",
}
"""What to call methods whose name does not say it."""

LOSSES: Final[dict[str, str]] = {
    "truth": "the process itself (its entropy)",
    "model": "the trained model",
    "no_past": "the same model, no past ball shown",
    "scoreboard": "a network that sees the scoreboard only",
}


def render_planted(data: Mapping[str, Any]) -> str:
    """Every table, with a line above each that says what it holds; ``data`` as JSON has it."""
    rules = [name for rule in data["rules"] for name in (rule["name"], f"{rule['name']}_decoys")]
    return render_plain(
        "cricket/planted.md",
        d=data,
        methods={name: name.replace("_", " ") for name in data["pointing"]["methods"]} | METHODS,
        losses=LOSSES,
        rules=rules,
        rule_names=[name.replace("_decoys", ", decoys").replace("_", " ") for name in rules],
        judged=_judged,
    )


def _judged(claims: int, ci: tuple[float, float] | None, most: float) -> str:
    if not claims or ci is None:
        return "none was made"
    low, high = ci
    return "kept" if high <= most else "broken" if low > most else "not clear from so few"

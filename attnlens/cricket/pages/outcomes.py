"""The top of the page: what is expected, beside what is usual, and what moves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attnlens.cricket.match.outcomes import TOLD
from attnlens.cricket.pages.parts import beside, group_words, moves, of, short_names
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.render.canvas import Line, Page, bar, pad, pad_line, tone
from attnlens.render.numbers import percent_seen, signed_points

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation, OutcomeProbability

NAMES: Final = {outcome: told.label for outcome, told in TOLD.items()}

WORTH_A_BAR: Final = 0.03
FELT: Final = 0.05
"""Points from which a move has a colour."""

LABEL: Final = 11
"""Columns of an outcome's name."""

GROUP, POINTS, BAR = 34, 7, 12
"""Columns of a group's name, of its points and of its bar."""

BESIDE: Final = 92
"""Columns from which the contributions stand beside the bars."""


def add_prediction(page: Page, explanation: Explanation, outcome: str) -> None:
    """Bars for the outcomes that count, the others in one line, and what moves the chosen one."""
    two = page.width >= BESIDE and bool(explanation.contributions)
    left = 46 if two else page.width
    entries, (_, usual) = explanation.prediction.outcomes, beside(explanation)
    named = (outcome, explanation.prediction.actual)
    shown = [
        entry
        for entry in entries
        if entry.outcome in named or max(entry.probability, usual[entry.outcome]) >= WORTH_A_BAR
    ]
    bars = _bars(explanation, shown, outcome, left)
    room = page.width - left - 3 if two else page.width
    moved = _contributions(explanation, outcome, room, len(bars))
    if two:
        for row in range(max(len(bars), len(moved))):
            line = pad_line(bars[row] if row < len(bars) else [], left + 3)
            page.add(*line, *(moved[row] if row < len(moved) else []))
    else:
        for line in bars:
            page.add(*line)
    add_the_rest(page, {one.outcome: one.probability for one in entries if one not in shown})
    _add_what_happened(page, explanation)
    if moved and not two:
        page.blank()
        for line in moved:
            page.add(*line)
    page.blank()


def add_the_rest(page: Page, chances: Mapping[str, float]) -> None:
    """A line of outcomes that have no bar, and their probabilities; nothing of none."""
    if chances:
        page.flow(
            [
                [(f"{NAMES[name]} {percent_seen(chance)}", "quiet")]
                for name, chance in chances.items()
            ],
            indent=LABEL,
            gap=3,
            lead=[("  the rest", "quiet")],
        )


def _bars(
    explanation: Explanation,
    shown: list[OutcomeProbability],
    outcome: str,
    width: int,
) -> list[Line]:
    room = max(6, width - LABEL - 23)
    name, usual = beside(explanation)
    most = max(max(entry.probability, usual[entry.outcome]) for entry in shown) or 1.0
    lines: list[Line] = [
        [
            (pad("  expected", LABEL + room, ""), "heading"),
            (f"{'now':>6}{name.removesuffix('line'):>7}{'diff':>8}", "quiet"),
        ]
    ]
    for entry in shown:
        base = usual[entry.outcome]
        difference = 100 * (entry.probability - base)
        style = "title" if entry.outcome == outcome else ""
        sign = "●" if entry.outcome == explanation.prediction.actual else ""
        sign = sign or ("◂" if style else "")
        lines.append(
            [
                (pad(f"  {NAMES[entry.outcome]}", LABEL, ""), style),
                *bar(entry.probability / most, base / most, room),
                (f"{percent_seen(entry.probability):>6}", style),
                (f"{percent_seen(base):>7}", "quiet"),
                (f"{signed_points(difference, '−'):>8}", tone(difference, FELT)),
                (f" {sign}" if sign else "", "title"),
            ]
        )
    return lines


def _contributions(explanation: Explanation, outcome: str, width: int, rows: int) -> list[Line]:
    """Groups by size, as many as there are rows; the rest are summed in the last."""
    names = short_names((explanation.ball.bowler, explanation.ball.batter))
    groups = [
        (group_words(explanation, group, names), points)
        for group, _, points in moves(explanation, outcome)
    ]
    if not groups:
        return []
    entry, base = of(explanation.prediction.outcomes, outcome), beside(explanation)[1][outcome]
    heading = f"what moves P({outcome})"
    whole = f"{heading} from {percent_seen(base)} to {percent_seen(entry.probability)}"
    felt = [group for group in groups if abs(group[1]) >= FELT]
    shown = felt if len(felt) <= rows - 1 else felt[: max(1, rows - 2)]
    rest = groups[len(shown) :]
    if len(shown) < len(felt) or not shown:
        others = "other group" if len(rest) == 1 else "other groups"
        shown = [*shown, (f"{len(rest)} {others}", sum(points for _, points in rest))]
    label = min(GROUP, width - POINTS)
    title = whole if len(whole) <= width - POINTS - 3 else heading
    lines: list[Line] = [
        [
            (pad(f"  {title}", label), "heading"),
            (f"{'points':>{POINTS}}", "quiet"),
        ]
    ]
    most = max((abs(points) for _, points in felt), default=1.0)
    room = max(0, min(BAR, width - GROUP - POINTS - 1))
    for group, points in shown:
        size = min(room, int(abs(points) / most * room + 0.5))
        style, sign = tone(points, FELT), "█" if points > 0 else "░"
        lines.append(
            [
                (pad(f"  {group}", label), ""),
                (f"{signed_points(points, '−'):>{POINTS}}", style),
                (f" {sign * size}" if size else "", style),
            ]
        )
    return lines


def _add_what_happened(page: Page, explanation: Explanation) -> None:
    prediction = explanation.prediction
    if prediction.actual is None:
        return
    chance = percent_seen(of(prediction.outcomes, prediction.actual).probability)
    text = f"it was {OUTCOME_WORDS[prediction.actual]}, to which the model had given {chance}"
    if prediction.surprise_bits is not None:
        text += f" ({prediction.surprise_bits:.1f} bits of surprise)"
    page.paragraph(text, "title", indent=4, lead="  ●")

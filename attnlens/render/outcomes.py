"""The top of the page: what is expected, against the baseline, and what moves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.render.canvas import Glyphs, Line, Page, pad, pad_line, width_of

NAMES: Mapping[str, str] = {
    "0": "0 dot",
    "1": "1",
    "2": "2",
    "3": "3",
    "4": "4 four",
    "5": "5",
    "6": "6 six",
    "W": "W wicket",
    "wd": "wide",
    "nb": "no-ball",
    "bye": "byes",
}

WORTH_A_BAR = 0.03
FELT = 0.05
LABELS, POINTS = 34, 7
LABEL = 11
BESIDE = 92
"""Columns from which the contributions stand beside the bars."""


def most_moved(data: Mapping[str, Any]) -> str:
    entries = data["prediction"]["outcomes"]
    chosen = max(entries, key=lambda entry: abs(entry["probability"] - entry["baseline"]))
    return str(chosen["outcome"])


def percent(value: float) -> str:
    shown = f"{value:.0%}"
    return "<1%" if value > 0 and shown == "0%" else shown


def add_prediction(page: Page, data: Mapping[str, Any], outcome: str) -> None:
    """Bars for the outcomes that count, the others in one line, and what moves the chosen one."""
    beside = page.width >= BESIDE and bool(data["contributions"])
    left = 46 if beside else page.width
    bars = _bars(data, outcome, left, page.glyphs)
    moves = _contributions(
        data, outcome, page.width - left - 3 if beside else page.width, page.glyphs, len(bars)
    )
    if beside:
        for row in range(max(len(bars), len(moves))):
            line = pad_line(bars[row], left + 3) if row < len(bars) else [(" " * (left + 3), "")]
            page.add(*line, *(moves[row] if row < len(moves) else []))
    else:
        for line in bars:
            page.add(*line)
    lesser = [
        entry for entry in data["prediction"]["outcomes"] if not _has_bar(entry, data, outcome)
    ]
    add_the_rest(page, {entry["outcome"]: entry["probability"] for entry in lesser})
    _add_calls(page, data, outcome)
    _add_what_happened(page, data)
    if moves and not beside:
        page.blank()
        for line in moves:
            page.add(*line)
    _add_when(page, data, outcome)
    page.blank()


def add_the_rest(page: Page, chances: Mapping[str, float]) -> None:
    """A line of outcomes that have no bar, and their probabilities; nothing of none."""
    if chances:
        page.flow(
            [[(f"{NAMES[name]} {percent(chance)}", "quiet")] for name, chance in chances.items()],
            indent=LABEL,
            gap=3,
            lead=[("  the rest", "quiet")],
        )


def _has_bar(entry: Mapping[str, Any], data: Mapping[str, Any], outcome: str) -> bool:
    named = entry["outcome"] in (outcome, data["prediction"]["actual"])
    return named or max(entry["probability"], entry["baseline"]) >= WORTH_A_BAR


def _bars(data: Mapping[str, Any], outcome: str, width: int, glyphs: Glyphs) -> list[Line]:
    prediction = data["prediction"]
    room = max(6, width - LABEL - 23)
    shown = [entry for entry in prediction["outcomes"] if _has_bar(entry, data, outcome)]
    most = max(max(entry["probability"], entry["baseline"]) for entry in shown) or 1.0
    lines: list[Line] = [
        [
            (pad("  expected", LABEL + room, ""), "heading"),
            (f"{'now':>6}{'base':>7}{'diff':>8}", "quiet"),
        ]
    ]
    for entry in shown:
        difference = 100 * (entry["probability"] - entry["baseline"])
        chosen = entry["outcome"] == outcome
        tone = "more" if difference >= FELT else "less" if difference <= -FELT else "quiet"
        line: Line = [(pad(f"  {NAMES[entry['outcome']]}", LABEL, ""), "title" if chosen else "")]
        line += bar(entry["probability"] / most, entry["baseline"] / most, room, glyphs)
        line += [
            (f"{percent(entry['probability']):>6}", "title" if chosen else ""),
            (f"{percent(entry['baseline']):>7}", "quiet"),
            (f"{signed(difference, glyphs):>8}", tone),
        ]
        if entry["outcome"] == prediction["actual"]:
            line.append((f" {glyphs.happened}", "title"))
        elif chosen:
            line.append((f" {glyphs.marker}", "title"))
        lines.append(line)
    return lines


def bar(now: float, base: float, room: int, glyphs: Glyphs) -> Line:
    """A bar to ``now``: what the baseline has in one tone, what is gained or lost in another."""
    whole, rest = divmod(int(now * room * 8 + 0.5), 8)
    if not glyphs.eighths and rest >= 4:
        whole += 1
    tip = glyphs.eighths[rest - 1] if rest and glyphs.eighths else ""
    known = min(whole, int(base * room + 0.5))
    line: Line = [(glyphs.full * known, "bar")]
    gained = glyphs.full * (whole - known) + tip
    if gained:
        line.append((gained, "more" if now > base else "bar"))
    lost = int(base * room + 0.5) - width_of(line)
    if lost > 0:
        line.append((glyphs.lost * lost, "less"))
    return pad_line(line, room)


def signed(points: float, glyphs: Glyphs) -> str:
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else glyphs.minus}{text}"


def _contributions(
    data: Mapping[str, Any], outcome: str, width: int, glyphs: Glyphs, rows: int
) -> list[Line]:
    """Groups by size, as many as there are rows; the rest are summed in the last."""
    if not data["contributions"]:
        return []
    entry = next(one for one in data["prediction"]["outcomes"] if one["outcome"] == outcome)
    now, base = percent(entry["probability"]), percent(entry["baseline"])
    moves = [
        (group["group"], next(p["points"] for p in group["points"] if p["outcome"] == outcome))
        for group in data["contributions"]
    ]
    moves.sort(key=lambda move: -abs(move[1]))
    felt = [move for move in moves if abs(move[1]) >= FELT]
    shown = felt if len(felt) <= rows - 1 else felt[: max(1, rows - 2)]
    rest = moves[len(shown) :]
    heading = f"what moves P({outcome}) from {base} to {now}"
    if len(heading) > width - POINTS - 3:
        heading = f"what moves P({outcome})"
    lines: list[Line] = [
        [
            (pad(f"  {heading}", min(LABELS, width - POINTS), glyphs.ellipsis), "heading"),
            (f"{'points':>{POINTS}}", "quiet"),
        ]
    ]
    most = max([abs(points) for _, points in shown], default=1.0)
    lines += [_move(group, points, most, width, glyphs) for group, points in shown]
    if len(shown) < len(felt) or not shown:
        others = "other group" if len(rest) == 1 else "other groups"
        total = sum(points for _, points in rest)
        lines.append(_move(f"{len(rest)} {others}", total, most, width, glyphs))
    return lines


def points_of(entry: Mapping[str, Any], outcome: str) -> float:
    """An entry's points for one outcome."""
    return next(float(p["points"]) for p in entry["points"] if p["outcome"] == outcome)


def _add_when(page: Page, data: Mapping[str, Any], outcome: str) -> None:
    """What was known before the match against what came in it, and the ball that does most."""
    groups = data["contributions"]
    if not groups:
        return
    items: list[Line] = []
    for when in ("before the match", "in the match"):
        total = sum(points_of(group, outcome) for group in groups if group["when"] == when)
        items.append([(f"{when} ", ""), (signed(total, page.glyphs), "name")])
    labels = {entry["index"]: entry["label"] for entry in data["history"]}
    balls = [ball for group in groups for ball in group["balls"] if ball["index"] in labels]
    if balls:
        most = max(balls, key=lambda ball: abs(points_of(ball, outcome)))
        told = signed(points_of(most, outcome), page.glyphs)
        items.append([(f"the most by one ball: {labels[most['index']]} ", ""), (told, "name")])
    page.flow(items, indent=4, gap=3, lead=[("  points known   ", "quiet")])


def _move(group: str, points: float, most: float, width: int, glyphs: Glyphs) -> Line:
    bar = max(0, min(12, width - LABELS - POINTS - 1))
    size = min(bar, int(abs(points) / most * bar + 0.5)) if most else 0
    tone = "more" if points >= FELT else "less" if points <= -FELT else "quiet"
    sign = glyphs.full if points > 0 else glyphs.lost
    label = pad(f"  {group}", min(LABELS, width - POINTS), glyphs.ellipsis)
    return [
        (label, ""),
        (f"{signed(points, glyphs):>{POINTS}}", tone),
        (f" {sign * size}" if size else "", tone),
    ]


def _add_calls(page: Page, data: Mapping[str, Any], outcome: str) -> None:
    """How often such calls of the chosen outcome came true, where that was counted."""
    table = data["prediction"]["calibration"]
    if table is None:
        return
    like = next(entry for entry in table["outcomes"] if entry["outcome"] == outcome)
    whose = "" if table["checkpoint"] == data["model"]["name"] else f" by {table['checkpoint']}"
    page.paragraph(
        f"such calls of P({outcome}){whose} came true {like['happened']:.1%} of the time "
        f"(n {like['balls']:,})",
        "quiet",
        indent=LABEL,
    )


def _add_what_happened(page: Page, data: Mapping[str, Any]) -> None:
    prediction = data["prediction"]
    if prediction["actual"] is None:
        return
    entry = next(e for e in prediction["outcomes"] if e["outcome"] == prediction["actual"])
    happened = OUTCOME_WORDS[prediction["actual"]]
    text = f"it was {happened}, to which the model had given {percent(entry['probability'])}"
    if prediction["surprise_bits"] is not None:
        text += f" ({prediction['surprise_bits']:.1f} bits of surprise)"
    page.paragraph(text, "title", indent=4, lead=f"  {page.glyphs.happened}")

"""An evaluation for a terminal: the figures beside the baselines, calibration, breakdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Glyphs, Page, clean_all, pad
from attnlens.words import count

BAR: Final = 24
NARROWEST: Final = 64
NAMES: Final = 14

KINDS: Final[Mapping[str, str]] = {
    "phase": "by phase",
    "innings": "by innings",
    "players": "by whether the ratings had met them",
}


def render_evaluation(
    data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True
) -> str:
    """The page for the figures of `attnlens.cricket.evaluate.evaluation`.

    Args:
        width: columns of the terminal; no line is wider (at least `NARROWEST`). Where it is narrow,
            intervals that do not fit are left to ``--json``, rather than cut in two.
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    glyphs = UNICODE if unicode else ASCII
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(NARROWEST, min(width, 100)), glyphs)
    _head(page, shown)
    _compared(page, shown)
    _calibration(page, shown)
    _breakdowns(page, shown)
    draws = shown["bootstrap"]["draws"]
    page.paragraph(
        f"Log-loss in nats; Brier summed over the outcomes; ECE of the likeliest outcome. Brackets "
        f"hold 95% of {draws} resamples of whole matches.",
        "quiet",
        indent=0,
    )
    return page.text(color=color)


def _head(page: Page, data: Mapping[str, Any]) -> None:
    checkpoint, dates = data["checkpoint"], data["dates"]
    page.paragraph(
        f"{checkpoint['name']} on {count(data['balls'], 'ball')} of "
        f"{count(data['matches'], 'match', 'matches')}, {dates['first'] or 'undated'} to "
        f"{dates['last'] or 'undated'}",
        "title",
        indent=0,
    )
    until = checkpoint["trained_until"]
    page.paragraph(
        f"checkpoint {checkpoint['sha256'][:12]}, "
        + (f"trained until {until}" if until else "training dates not told"),
        "quiet",
        indent=0,
    )
    fitted_on = data["baselines_fitted_on"]["matches"]
    if fitted_on:
        page.paragraph(
            f"baselines fitted on {count(fitted_on, 'match', 'matches')} up to "
            f"{checkpoint['weights_until'] or until}",
            "quiet",
            indent=0,
        )
    if data["in_sample"]:
        page.paragraph(
            f"{data['in_sample']} of the matches were trained on: flattering figures",
            "flag",
            indent=0,
        )
    page.blank()


def _compared(page: Page, data: Mapping[str, Any]) -> None:
    """The model and the baselines, the best log-loss on top."""
    rows = [("model", data["model"], None)]
    rows += [
        (name.replace("_", " "), figures, data["paired_difference"][name])
        for name, figures in data["baselines"].items()
    ]
    rows.sort(key=lambda row: row[1]["log_loss"])
    own, gaps, rest = [], [], []
    for name, figures, gap in rows:
        own.append(
            (
                name,
                f"{figures['log_loss']:.4f}",
                _interval(figures["log_loss_ci"], 4),
            )
        )
        gaps.append(
            (
                "" if gap is None else f"{gap['log_loss']:+.4f}",
                "" if gap is None else _interval(gap["log_loss_ci"], 4, sign="+"),
            )
        )
        rest.append(
            (f"{figures['brier']:.4f}", f"{figures['ece']:.4f}", _percent(figures["accuracy"]))
        )
    styles = ["name" if line[0] == "model" else "" for line in own]
    parts = (("", "log-loss", ""), ("model minus it", ""), ("Brier", "ECE", "top-1"))
    lines = [(*one, *gap, *more) for one, gap, more in zip(own, gaps, rest, strict=True)]
    head = tuple(word for part in parts for word in part)
    if sum(_sizes(head, lines)) + len(head) + 1 <= page.width:
        _table(page, head, lines, styles)
    else:
        # Two narrow tables in place of a wide one.
        figures_alone = [(*one, *more) for one, more in zip(own, rest, strict=True)]
        _table(page, (*parts[0], *parts[2]), figures_alone, styles)
        page.blank()
        gaps_alone = [(one[0], *gap) for one, gap in zip(own, gaps, strict=True) if gap[0]]
        if gaps_alone:
            _table(page, ("", *parts[1]), gaps_alone)
    page.blank()


def _calibration(page: Page, data: Mapping[str, Any]) -> None:
    """What was predicted beside what came, per bin."""
    for name, bins in data["reliability"].items():
        what = "the likeliest outcome" if name == "likeliest" else f"P({name})"
        page.paragraph(f"calibration of {what}", "heading", indent=0)
        top = max((max(one["predicted"], one["observed"]) for one in bins), default=1) or 1
        lines = [
            (
                _percent(one["predicted"]),
                _percent(one["observed"]),
                _interval(one["observed_ci"], 1, percent=True),
                f"{one['balls']:,}",
                _bar(one, top, page.glyphs),
            )
            for one in bins
        ]
        _table(page, ("said", "came", "", "balls", ""), lines, words=0)
        page.blank()


def _bar(one: Mapping[str, Any], top: float, glyphs: Glyphs) -> str:
    """How often it came as a bar, with a mark where it was said to."""
    filled = round(BAR * one["observed"] / top)
    mark = min(round(BAR * one["predicted"] / top), BAR)
    cells = [glyphs.full] * filled + [" "] * (BAR + 1 - filled)
    cells[mark] = glyphs.separator
    return "".join(cells)


def _breakdowns(page: Page, data: Mapping[str, Any]) -> None:
    shown = ("0", "1", "4", "6", "W")
    for kind, title in KINDS.items():
        page.paragraph(title, "heading", indent=0)
        lines = []
        for name, part in data["by"][kind].items():
            told = {one["outcome"]: one for one in part["outcomes"]}
            pairs = [
                f"{100 * told[outcome]['predicted']:.0f}/{100 * told[outcome]['observed']:.0f}"
                for outcome in shown
            ]
            lines.append((name, *_losses(part), *pairs))
        head = ("", "balls", "log-loss", "", *(f"{outcome} %" for outcome in shown))
        _table(page, head, lines, spare=3)
        page.blank()
    page.paragraph("by outcome", "heading", indent=0)
    lines = [
        (
            name,
            *_losses(part),
            _percent(part["predicted"]),
            _percent(part["observed"]),
            _interval(part["observed_ci"], 1, percent=True),
        )
        for name, part in data["by"]["outcome"].items()
    ]
    _table(page, ("", "balls", "log-loss", "", "said", "came", ""), lines, spare=3)
    page.blank()
    page.paragraph("Pairs such as 31/33 are said/came, in per cent.", "quiet", indent=0)


def _losses(part: Mapping[str, Any]) -> tuple[str, str, str]:
    loss = part["log_loss"]
    return (
        f"{part['balls']:,}",
        "-" if loss is None else f"{loss:.4f}",
        _interval(part["log_loss_ci"], 4),
    )


def _interval(
    ends: Sequence[float] | None, digits: int, *, sign: str = "", percent: bool = False
) -> str:
    if ends is None:
        return ""
    scale = 100 if percent else 1
    low, high = (f"{scale * end:{sign}.{digits}f}" for end in ends)
    return f"[{low}, {high}]"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _sizes(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> list[int]:
    """The width of every column."""
    sizes = [max(len(line[column]) for line in [head, *rows]) for column in range(len(head))]
    if words:
        sizes[0] = max(sizes[0], NAMES)
    return sizes


def _table(
    page: Page,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Sequence[str] | None = None,
    *,
    words: int = 1,
    spare: int | None = None,
) -> None:
    """Rows under a head: ``words`` columns of words to the left, figures to the right.

    The column ``spare`` is left out where the page is too narrow for all.
    """
    sizes = _sizes(head, rows, words)
    if spare is not None and sum(sizes) + len(sizes) + 1 > page.width:
        head = [*head[:spare], *head[spare + 1 :]]
        rows = [[*row[:spare], *row[spare + 1 :]] for row in rows]
        sizes = _sizes(head, rows, words)

    def line(cells: Sequence[str], style: str) -> None:
        told = [
            pad(cell, size, page.glyphs.ellipsis) if column < words else f"{cell:>{size}}"
            for column, (cell, size) in enumerate(zip(cells, sizes, strict=True))
        ]
        page.add(("  " + " ".join(told), style))

    line(head, "quiet")
    for number, row in enumerate(rows):
        line(row, styles[number] if styles else "")

"""How well overs are foretold, for a terminal: the model, overs of the phase, the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Page, clean_all, pad

FIGURES: Final[Mapping[str, str]] = {
    "token_log_loss": "token log-loss",
    "runs_mae": "runs, off by",
    "runs_crps": "runs, CRPS",
    "wicket_brier": "wicket, Brier",
}
NAME: Final = 17
COLUMN: Final = 10
INTERVAL: Final = 20
WIDEST: Final = 80


def render_over_evaluation(
    data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True
) -> str:
    """The page for the figures of `attnlens.cricket.over_evaluation.over_evaluation`.

    Args:
        width: columns of the terminal; no line is wider (at least 60).
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(60, min(width, WIDEST)), UNICODE if unicode else ASCII)
    checkpoint, dates = shown["checkpoint"], shown["dates"]
    page.paragraph(
        f"{checkpoint['name']} on {shown['overs']:,} overs of {shown['matches']:,} matches, "
        f"{dates['first'] or 'undated'} to {dates['last'] or 'undated'}",
        "title",
        indent=0,
    )
    page.paragraph(
        f"checkpoint {checkpoint['sha256'][:12]}, weights trained until "
        f"{checkpoint['weights_until'] or 'a day not told'}; beside it overs of the same phase, "
        f"drawn from {shown['phase_overs_of']['matches']:,} earlier matches",
        "quiet",
        indent=0,
    )
    if shown["in_sample"]:
        page.paragraph(
            f"{shown['in_sample']} of the matches lie in its training dates: flattering figures",
            "flag",
            indent=0,
        )
    for name, part in shown["by"].items():
        page.blank()
        heading = "all overs" if name == "all" else f"{name} ({part['overs']:,} overs)"
        page.add(
            (pad(heading, NAME, ""), "heading"),
            *((f"{word:>{COLUMN}}", "quiet") for word in ("model", "phase")),
            (f"{'difference':>{COLUMN + 2}}", "quiet"),
            (f"{'95%':>{INTERVAL}}", "quiet"),
        )
        for figure, words in FIGURES.items():
            page.add(
                (pad(f"  {words}", NAME, ""), ""),
                (f"{part['model'][figure]:>{COLUMN}.4f}", "name"),
                (f"{part['phase'][figure]:>{COLUMN}.4f}", ""),
                (f"{part['difference'][figure]:>+{COLUMN + 2}.4f}", "name"),
                (f"{_interval(part['difference'][f'{figure}_ci']):>{INTERVAL}}", "quiet"),
            )
    page.blank()
    runs, wickets = shown["runs"], shown["wickets"]
    page.paragraph(
        f"runs an over: {runs['came']:.2f} came, {runs['drawn']:.2f} drawn; overs with a wicket: "
        f"{wickets['came']:.1%} came, {wickets['model']:.1%} drawn; overs drawn without an end: "
        f"{shown['unfinished']:.2%}",
        indent=0,
    )
    page.paragraph(
        f"Log-loss in nats a token, <end> included; runs by the median and the whole distribution "
        f"of {shown['samples']} overs drawn for each; Brier of at least one wicket. Less is better "
        f"everywhere. Intervals: {shown['bootstrap']['draws']} resamples of whole matches.",
        "quiet",
        indent=0,
    )
    return page.text(color=color)


def _interval(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"[{ends[0]:+.4f}, {ends[1]:+.4f}]"

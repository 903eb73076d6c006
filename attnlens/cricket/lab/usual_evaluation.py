"""How well what is usual fits matches it has not seen: each outcome, by competition."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from attnlens.cricket.lab.evaluation import DRAWS, MIN_MATCHES, SEED, Close, add_title
from attnlens.cricket.lab.figures import Estimate
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.match.competition import competition_of
from attnlens.cricket.match.match import OUTCOME_INDEX
from attnlens.cricket.readers import Report, silent
from attnlens.evidence.scores import Bootstrap, group_numbers, log_losses
from attnlens.files import Flags, Floats, Json
from attnlens.render.canvas import Page, Words, add_table, terminal_page

_COMMON: Final = ("0", "1", "4", "6", "W", "wd")
"""Outcomes that every competition brings often enough to be counted."""


def usual_evaluation(held: HeldOut, report: Report = silent) -> Json:
    """The document of ``attnlens lab evaluate --usual``.

    ``log_loss`` in nats of what is usual, and of the scoreboard alone, whatever the competition;
    ``difference``: the first less the second, ball by ball. ``by_competition``: for every common
    outcome its mean probability as usual, how often it came, and the difference, in percent.
    """
    innings = list(held.innings(report))
    counts = [len(encoded.arrays) for encoded in innings]
    actual = np.concatenate([encoded.arrays.outcome for encoded in innings])
    usual, scoreboard = (
        np.exp(np.concatenate([getattr(encoded.arrays, name) for encoded in innings], dtype=float))
        for name in ("usual", "base")
    )
    match = np.repeat(group_numbers([encoded.match_id for encoded in innings]), counts)
    competition = np.repeat([competition_of(encoded.match) for encoded in innings], counts)
    losses, plain = log_losses(usual, actual), log_losses(scoreboard, actual)
    bootstrap = Bootstrap(match, draws=DRAWS, seed=SEED)

    def outcomes(rows: Flags) -> Json:
        own = Bootstrap(group_numbers(match[rows].tolist()), draws=DRAWS, seed=SEED)

        def figures(number: int) -> Json:
            came: Floats = (actual[rows] == number).astype(float)
            expected = 100 * usual[rows, number]
            return {
                "usual": expected.mean(),
                "came": 100 * came.mean(),
                "difference": Estimate.resampled(expected - 100 * came, own),
                "scoreboard": 100 * scoreboard[rows, number].mean(),
            }

        return {name: figures(OUTCOME_INDEX[name]) for name in _COMMON}

    matches = Counter(competition_of(encoded) for encoded in held.matches)
    return {
        "balls": len(actual),
        "matches": int(match.max()) + 1,
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "notes": held.notes,
        "log_loss": {
            "usual": Estimate.resampled(losses, bootstrap),
            "scoreboard": Estimate.resampled(plain, bootstrap),
            "difference": Estimate.resampled(losses - plain, bootstrap),
        },
        "all": outcomes(np.ones(len(actual), bool)),
        "by_competition": {
            name: {"matches": number, "outcomes": outcomes(competition == name)}
            for name, number in matches.most_common()
            if name and number >= MIN_MATCHES
        },
    }


@terminal_page(min_width=64)
def render_usual(page: Page, document: Json) -> None:
    """The document of `usual_evaluation`."""
    title = "what is usual, by {name}, on {balls} of {matches}, {first} to {last}"
    add_title(page, document, title)
    for note in document["notes"]:
        page.flag(note)
    page.blank()
    losses = document["log_loss"]
    rows = [
        [words, *losses[name].cells(4, sign=sign)]
        for words, name, sign in (
            ("usual", "usual", ""),
            ("the scoreboard alone", "scoreboard", ""),
            ("difference", "difference", "+"),
        )
    ]
    add_table(page, (Words(min_width=14), Close("log-loss"), Close()), rows)
    page.blank()
    everyone = {"all": {"matches": document["matches"], "outcomes": document["all"]}}
    groups = everyone | document["by_competition"]
    heads = [Words(min_width=14), Close("matches"), *map(Close, _COMMON)]

    def add(text: str, style: str) -> None:
        page.paragraph(text, "heading", indent=0)
        rows = [
            [name, str(group["matches"])]
            + [style.format(**group["outcomes"][outcome]) for outcome in _COMMON]
            for name, group in groups.items()
        ]
        add_table(page, heads, rows)
        page.blank()

    add("usual, %", "{usual:.1f}")
    add("came, %", "{came:.1f}")
    add("usual minus came, points", "{difference.value:+.2f}")
    page.paragraph(
        f"Log-loss in nats a ball. Brackets hold 95% of {DRAWS} resamples of whole matches; those "
        "of each difference are in the JSON.",
        "quiet",
        indent=0,
    )

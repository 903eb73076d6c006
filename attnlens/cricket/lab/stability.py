"""Measure how often an explanation stays the same after a change that should not matter.

Each sampled ball is explained without any change, and again after each change to the match. An
explanation by another checkpoint can also be compared. Three results are compared: the explained
outcome, the top ball, and the verdicts of claims about the whole model. The top ball is the past
ball with the largest effect on the log-odds of the explained outcome.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.claims import gather_evidence
from attnlens.cricket.explain.reading import read_ball, subject_of
from attnlens.cricket.lab.figures import Figure, Mean, add_figures, add_title
from attnlens.cricket.lab.held_out import HeldOut, sides
from attnlens.cricket.lab.sampling import BEFORE
from attnlens.cricket.match.match import OUTCOME_INDEX, Delivery, Innings, Match, Player
from attnlens.cricket.predictor.tensors import encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, cut_window, one_thread
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError
from attnlens.evidence.claim import MODEL
from attnlens.evidence.faithfulness import remove_each
from attnlens.evidence.scores import log_odds
from attnlens.files import Json
from attnlens.render.canvas import Page, terminal_page

AGAINST: Final = "another checkpoint"
"""The name of the table row for explanations by another checkpoint."""


def swapped_sides(match: Match) -> Match:
    """Return the match with the names of the two teams exchanged."""
    innings = (
        replace(side, batting_team=side.bowling_team, bowling_team=side.batting_team)
        for side in match.innings
    )
    return replace(match, innings=tuple(innings))


def without_ids(match: Match) -> Match:
    """Return the match without the ids of players."""

    def anonymous(ball: Delivery) -> Delivery:
        wickets = (
            replace(wicket, player_out=Player(wicket.player_out.name)) for wicket in ball.wickets
        )
        return ball._replace(
            batter=Player(ball.batter.name),
            non_striker=Player(ball.non_striker.name),
            bowler=Player(ball.bowler.name),
            wickets=tuple(wickets),
        )

    return _with_deliveries(match, lambda side: tuple(map(anonymous, side.deliveries)))


def without_first_over(match: Match) -> Match:
    """Return the match without each innings' first over. The other balls keep their scoreboards."""

    def later(side: Innings) -> tuple[Delivery, ...]:
        first = side.deliveries[0].over if side.deliveries else 0
        balls = (ball for ball in side.deliveries if ball.over != first)
        return tuple(ball._replace(index=index) for index, ball in enumerate(balls, 1))

    return _with_deliveries(match, later)


def _with_deliveries(
    match: Match, deliveries_of: Callable[[Innings], tuple[Delivery, ...]]
) -> Match:
    innings = (replace(side, deliveries=deliveries_of(side)) for side in match.innings)
    return replace(match, innings=tuple(innings))


CHANGES: Final[Mapping[str, Callable[[Match], Match]]] = {
    "venue unknown": partial(replace, venue=None, city=None),
    "sides swapped": swapped_sides,
    "ids removed": without_ids,
    "first over deleted": without_first_over,
}
"""The changes that should not matter. The keys are the names of the table rows."""


_FIGURES: Final = {"subject": "subject", "top_ball": "top ball", "verdicts": "verdicts"}


@dataclass(frozen=True, slots=True)
class Findings:
    """The compared results of one explanation.

    ``verdicts`` has the verdict of each kind of claim, and is empty if no verdicts were computed.
    """

    subject: str | None
    top_ball: str
    verdicts: Mapping[str, str | None]


def findings(predictor: TrainedPredictor, window: BallWindow, *, verdicts: bool) -> Findings:
    """Compute the `Findings` of one explanation. Computing ``verdicts`` is slow."""
    past = len(window.past)
    removed = remove_each(partial(under_masks, predictor.model, window.batch), past)
    subject, _ = subject_of(window, removed.full)
    assert subject is not None
    outcome = [OUTCOME_INDEX[subject]]
    effects = log_odds(removed.full, outcome) - log_odds(removed.singles, outcome)
    top_ball = window.past[int(np.abs(effects).argmax())].label
    if not verdicts:
        return Findings(subject, top_ball, {})
    tests = gather_evidence(predictor, window, read_ball(predictor, window)).tests
    of_model: dict[str, str | None] = {
        test.claim.kind: test.verdict for test in tests if test.claim.site == MODEL
    }
    return Findings(subject, top_ball, of_model)


def _same(before: Findings, after: Findings) -> dict[str, list[bool]]:
    both = before.verdicts.keys() & after.verdicts.keys()
    return {
        "subject": [before.subject == after.subject],
        "top_ball": [before.top_ball == after.top_ball],
        "verdicts": [before.verdicts[kind] == after.verdicts[kind] for kind in sorted(both)],
    }


def window_of(
    predictor: TrainedPredictor, match: Match, number: int, balls_left: int
) -> BallWindow:
    """Return the window of a ball. ``balls_left`` balls of the innings come after this ball."""
    side = next(side for side in match.innings if side.number == number)
    arrays = encode_innings(match, side, predictor.ratings, predictor.base)
    return cut_window(match, side, arrays, len(side.deliveries) - balls_left)


@one_thread()
def stability(
    held: HeldOut,
    against: HeldOut | None = None,
    *,
    balls: int = 500,
    claims: int = 100,
    seed: int = 5,
    report: Report = silent,
) -> Json:
    """Return the JSON result of ``attnlens lab faithfulness --stability``.

    Args:
        against: the same matches with another checkpoint.
        balls: the sample size; only balls with at least 36 balls before them are sampled.
        claims: the number of sampled balls whose verdicts are also compared.

    Raises:
        InputError: no ball has 36 balls before it.
    """
    fitting = [
        (row, side.number, len(side.deliveries) - ball.index)
        for row, match in enumerate(held.matches)
        for side in sides(match)
        for ball in side.deliveries[BEFORE:]
        if ball.outcome
    ]
    if not fitting:
        raise InputError(
            f"no ball has {BEFORE} balls before it in its innings", remedy="give longer innings"
        )
    generator = np.random.default_rng(seed)
    picks = generator.permutation(len(fitting))[:balls].tolist()
    sampled: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    for order, pick in enumerate(picks):
        row, *ball = fitting[pick]
        sampled[row].append((*ball, order < claims))
    stays: dict[str, dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    second_ratings = None if against is None else against.ratings()
    for row, (match, ratings) in enumerate(held.ratings(report)):
        predictor = replace(held.predictor, ratings=ratings)
        changed = {name: (predictor, change(match)) for name, change in CHANGES.items()}
        if against is not None and second_ratings is not None:
            _, other_ratings = next(second_ratings)
            changed[AGAINST] = replace(against.predictor, ratings=other_ratings), match
        for number, balls_left, verdicts in sampled.get(row, ()):
            window = window_of(predictor, match, number, balls_left)
            before = findings(predictor, window, verdicts=verdicts)
            for name, (model, variant) in changed.items():
                window = window_of(model, variant, number, balls_left)
                after = findings(model, window, verdicts=verdicts)
                for figure, flags in _same(before, after).items():
                    stays[name][figure] += [(float(flag), match.match_id) for flag in flags]
    return {
        "model": held.checkpoint,
        "against": None if against is None else against.checkpoint,
        "dates": held.dates,
        "notes": held.notes,
        "balls": len(picks),
        "claims_of": min(claims, len(picks)),
        "matches": len(sampled),
        "seed": seed,
        "changes": {
            name: {figure: _mean(figures[figure], seed) for figure in _FIGURES}
            for name, figures in stays.items()
        },
    }


def _mean(values: Sequence[tuple[float, str]], seed: int) -> Mean:
    return Mean.of([value for value, _ in values], [match for _, match in values], seed)


@terminal_page(min_width=64)
def render_stability(page: Page, document: Json) -> None:
    """Write the result of `stability` to a terminal page."""
    add_title(page, document, "do explanations of {name} stay the same? {sample}")
    if document["against"] is not None:
        page.paragraph(f"{AGAINST}: {document['against']['name']}", "quiet", indent=0)
    figures = [Figure(head, name, ".0%", ci=True, missing="-") for name, head in _FIGURES.items()]
    add_figures(page, document["changes"].items(), figures)
    page.paragraph(
        "Each figure is the share of results that stay the same after the change, with a 95% "
        "interval over resampled matches. Subject: the outcome that the page explains. Top ball: "
        "the past ball with the largest effect on this outcome. Verdicts: the verdicts of claims "
        f"about the whole model, on {document['claims_of']} of the balls.",
        "quiet",
        indent=0,
    )

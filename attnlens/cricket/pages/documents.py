"""Render explanations as HTML and Markdown, and define how Python and Jupyter show documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from attnlens.cricket.explain.story_types import MatchStory
from attnlens.cricket.explain.types import Explanation, HeadAttention, PastBall
from attnlens.cricket.explain.types import HeatMap as Scale
from attnlens.cricket.explain.types import LongHeatMap as LongScale
from attnlens.cricket.explain.what_if_types import WhatIf
from attnlens.cricket.match.match import OUTCOME_NAMES
from attnlens.cricket.pages import parts
from attnlens.cricket.pages.ball_page import (
    BORDERLINE_WORDS,
    BallLabels,
    ball_page_of,
    leading_rows,
    render_ball,
    render_what_if,
    single_effects,
)
from attnlens.cricket.pages.match_story import render_match_story, render_story_html
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.errors import count
from attnlens.render.heat_map import Cell, HeatMapColumn, HeatMapDrawing, Row
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.render.page import WIDTH, frame_page, preformatted, render_page, render_plain
from attnlens.render.safe import clean

WeightedBalls: TypeAlias = list[tuple[str, str, float]]
"""The balls to which a head attended: label, outcome and attention weight."""

_HeadLine: TypeAlias = tuple[str, str | None, HeadAttention, WeightedBalls]
"""Name, restriction (or ``None``), attention and most attended balls of a head."""

_MAX_ATTENDED_BALLS: Final = 6
_NARROW_WIDTH, _WIDTH = 9.0, 19.0
_MAX_WIDE_BALLS: Final = 40
"""Larger maps have narrow cells without frames, and one label for each over."""

_OUTCOME_STYLES: Final[Mapping[str, str]] = {"W": "wicket", "4": "boundary", "6": "boundary"}
_BARE: Final = {outcome: words.removeprefix("a ") for outcome, words in OUTCOME_WORDS.items()}


def render_html(explanation: Explanation) -> str:
    """Render the explanation as an HTML page, without a final line break."""
    explanation = parts.presentable(explanation)
    ball, context = explanation.ball, parts.context(explanation)
    outcomes = explanation.prediction.outcomes
    return render_page(
        "cricket/explanation.html",
        title=f"{ball.bowler} to {ball.batter}, {ball.echo.split(' | ')[0]}",
        styles=("cricket/explanation.css",),
        **context,
        story=ball_page_of(explanation),
        borderline_words=BORDERLINE_WORDS,
        highest_chance=max(max(entry.probability, entry.usual) for entry in outcomes),
        bare=_BARE,
        pieces=parts.pieces,
        maps=_maps(explanation),
        attention_map=_attention_map(explanation),
    )


def render_markdown(explanation: Explanation) -> str:
    """Render the explanation as Markdown (CommonMark with tables), without a final line break."""
    explanation = parts.presentable(explanation)
    return render_plain(
        "cricket/explanation.md",
        **parts.context(explanation),
        story=ball_page_of(explanation),
        borderline_words=BORDERLINE_WORDS,
        attended=_most_attended(explanation),
    )


def _most_attended(explanation: Explanation) -> list[tuple[PastBall, float, float | None]]:
    inner, labels = explanation.across_balls.medium, BallLabels(explanation)
    if not inner.balls:
        return []
    mean = dict(zip(inner.balls, leading_rows(explanation, 0)[0].weights, strict=True))
    effects = single_effects(explanation)
    ranked = sorted(mean.keys() & labels.by_index.keys(), key=lambda i: (-mean[i], -i))
    return [(labels.by_index[i], mean[i], effects.get(i)) for i in ranked[:_MAX_ATTENDED_BALLS]]


def _attention_map(explanation: Explanation) -> HeatMapDrawing | None:
    inner = explanation.across_balls.medium
    if not inner.balls:
        return None
    leading, effects = leading_rows(explanation, 3), single_effects(explanation)
    darkest = max(weight for row in leading for weight in row.weights)
    rows = []
    for row in leading:
        cells = zip(inner.ball_labels, row.weights, strict=True)
        words = f"{row.label}, ball {{}}: {{}} of attention".format
        shaded = [Cell.shaded(w, darkest, words(label, percent_seen(w, 1))) for label, w in cells]
        rows.append(Row(row.label, shaded))
    if effects:
        points = [effects.get(ball, 0.0) for ball in inner.balls]
        largest = max(map(abs, effects.values()))
        outcome = OUTCOME_NAMES[explanation.prediction.subject].short
        words = f"ball {{}}: {{}} points of P({outcome})".format
        signed = [
            Cell.either(effect, largest, words(label, signed_points(effect, "−")))
            for label, effect in zip(inner.ball_labels, points, strict=True)
        ]
        rows.append(Row("effect", signed))
    return _drawing(
        inner,
        rows,
        anchor="attention-map",
        title="Attention to each past ball, and its effect",
        description=f"Attention on {count(len(inner.balls), 'past ball')} of the medium scale.",
    )


def _maps(
    explanation: Explanation,
) -> list[tuple[Scale | LongScale, HeatMapDrawing | None, list[_HeadLine]]]:
    players = {past.index: f"{past.bowler} to {past.batter}" for past in explanation.past_balls}
    darkest = parts.most_attention(explanation)
    maps = []
    for scale in explanation.across_balls.scales().values():
        heads = [
            (parts.head_name(key, head), parts.sight(head), head, _looked_at(scale, head))
            for key, head in parts.by_carries(scale)
        ]
        drawing = _scale_map(scale, heads, darkest, players) if scale.balls else None
        maps.append((scale, drawing, heads))
    return maps


def _looked_at(scale: Scale | LongScale, head: HeadAttention) -> WeightedBalls:
    indices = [scale.balls.index(ball) for ball in head.top_any]
    return [(scale.ball_labels[at], scale.ball_outcomes[at], head.row[at]) for at in indices]


def _scale_map(
    scale: Scale | LongScale,
    heads: Sequence[_HeadLine],
    darkest: float,
    players: Mapping[int, str],
) -> HeatMapDrawing:
    rows, summaries = [], []
    for name, _, head, best in heads:
        cells = []
        for at, weight in enumerate(head.row):
            index = scale.balls[at]
            players_text = f" ({players[index]})" if index in players else ""
            outcome = OUTCOME_WORDS[scale.ball_outcomes[at]]
            share = f"{percent_seen(weight, 1)} of its attention"
            words = f"{name}, ball {scale.ball_labels[at]}{players_text}, {outcome}: {share}"
            framed = len(scale.balls) <= _MAX_WIDE_BALLS and index in head.top_any
            cells.append(Cell.shaded(weight, darkest, words, framed=framed))
        rows.append(Row(name, cells))
        best_balls = ", ".join(f"{label} ({percent_seen(weight)})" for label, _, weight in best)
        summaries.append(f"{name}: {best_balls or 'no ball'}")
    balls = count(len(scale.balls), "past ball")
    return _drawing(
        scale,
        rows,
        anchor=f"{scale.scale}-map",
        title=f"{scale.scale.capitalize()} scale: attention of each head over {balls}",
        description=f"The most attended balls of each head. {'; '.join(summaries)}.",
    )


def _drawing(
    scale: Scale | LongScale, rows: list[Row], *, anchor: str, title: str, description: str
) -> HeatMapDrawing:
    sparse = len(scale.balls) > _MAX_WIDE_BALLS
    overs = [label.rpartition(".")[0] for label in scale.ball_labels]
    columns = [
        HeatMapColumn(
            label,
            parts.sign_of(outcome),
            _OUTCOME_STYLES.get(outcome, "mark"),
            first=over != previous,
        )
        for label, outcome, over, previous in zip(
            scale.ball_labels, scale.ball_outcomes, overs, [None, *overs[:-1]], strict=True
        )
    ]
    return HeatMapDrawing(
        anchor=anchor,
        title=title,
        description=description,
        columns=columns,
        rows=rows,
        width=_NARROW_WIDTH if sparse else _WIDTH,
        marks="outcome",
        sparse=sparse,
    )


# ---- Python and Jupyter


def explanation_line(explanation: Explanation) -> str:
    """Return one line with the ball, the likeliest outcome, and the number of supported claims."""
    top = max(explanation.prediction.outcomes, key=lambda entry: entry.probability)
    tested = [
        claim.verdict
        for claim in explanation.evidence
        if claim.removed_from == "model" and claim.q is not None and not claim.reference
    ]
    fared = f"{tested.count('supported')} of {len(tested)} tested claims supported"
    return clean(
        f"<Explanation of {explanation.match.match_id}: {explanation.ball.echo} | "
        f"{OUTCOME_WORDS[top.outcome]} {top.probability:.0%} | "
        f"{fared if tested else 'no claim was tested'}>"
    )


def what_if_line(answer: WhatIf) -> str:
    """Return one line with the ball and the changes."""
    changes = "; ".join(change.text for change in answer.changes)
    return clean(f"<WhatIf of {answer.match.match_id}: {answer.before.echo} | {changes}>")


def match_story_line(story: MatchStory) -> str:
    """Return one line with the match and its result."""
    sides = " v ".join(story.match.teams)
    return clean(f"<MatchStory of {story.match.match_id}: {sides} | {story.result}>")


def explanation_html(explanation: Explanation) -> str:
    return frame_page(render_html(explanation), "An explanation")


def match_story_html(story: MatchStory) -> str:
    return frame_page(render_story_html(story), "The story of a match")


def what_if_html(answer: WhatIf) -> str:
    return preformatted(what_if_text(answer))


explanation_text = partial(render_ball, width=WIDTH, color=False)
match_story_text = partial(render_match_story, width=WIDTH, color=False)
what_if_text = partial(render_what_if, width=WIDTH, color=False)

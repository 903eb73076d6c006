"""An explanation as one HTML page, and as Markdown (GitHub's, CommonMark with tables)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from attnlens.cricket.pages import parts
from attnlens.cricket.pages.ball_page import BESIDE, story_of
from attnlens.cricket.pages.heads import Balls, leading_rows, single_effects
from attnlens.cricket.words.facts import OUTCOME_WORDS, claims_in_order
from attnlens.render.heat_map import Cell, HeatMapColumn, HeatMapDrawing, Row
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.render.page import render_page, render_part, render_plain
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Evidence, Explanation, Head, PastBall, Sentence
    from attnlens.cricket.explain.types import HeatMap as Scale
    from attnlens.cricket.explain.types import LongHeatMap as LongScale

Looked: TypeAlias = list[tuple[str, str, float]]
"""Label, outcome and weight of balls that a head looked at."""

_MOST_ATTENDED: Final = 6
"""Past balls in the table of attention."""

_NARROW: Final = 9.0
"""Width of a ball where there are many."""

_WIDE_AT_MOST: Final = 40
"""Of more balls each is narrow, has no label but the first of an over, and no frame."""

_MARKS: Final[Mapping[str, str]] = {"W": "wicket", "4": "boundary", "6": "boundary"}
"""Outcomes whose sign stands out."""

_BARE: Final = {outcome: words.removeprefix("a ") for outcome, words in OUTCOME_WORDS.items()}


def render_html(explanation: Explanation) -> str:
    """The page, without a final line break."""
    shown = parts.presentable(explanation)
    ball, context = shown.ball, parts.context(shown)
    chances = [entry.probability for entry in shown.prediction.outcomes]
    return render_page(
        "cricket/explanation.html",
        title=f"{ball.bowler} to {ball.batter}, {ball.echo.split(' | ')[0]}",
        styles=("cricket/explanation.css",),
        **context,
        story=story_of(shown),
        beside=BESIDE,
        highest_chance=max(*chances, *context["usual"].values()),
        bare=_BARE,
        pieces=parts.pieces,
        maps=_maps(shown),
        attention_map=_attention_map(shown),
    )


_CLAIM_KINDS: Final = (
    ("These balls mattered to the prediction", "Hidden from the whole model; no head is named."),
    (
        "This head's look mattered",
        "What it looked at most, hidden from that head alone. Its share: that effect over the one "
        "of hiding the same balls from the whole model.",
    ),
    (
        "What else was known mattered",
        "Taken away, or replaced by another's: no ball is hidden.",
    ),
)
"""A heading, and how claims of the kind are tested."""

_ABOVE: Final = ("/ball/", "/match/", "/flags/")
"""Facts that a ball's page in the dashboard has above its sentences."""


def render_ball_parts(explanation: Explanation) -> str:
    """What the dashboard shows of an explanation: its sentences, its reasons and its claims."""
    shown = parts.presentable(explanation)
    numbered: tuple[list[tuple[int, Evidence]], ...] = ([], [], [])
    for number in claims_in_order(shown):
        claim = shown.evidence[number]
        kind = 1 if claim.removed_from == "head" else 0 if claim.removed else 2
        numbered[kind].append((number, claim))
    judged = [verdict for verdict in parts.VERDICTS if verdict not in (None, "cannot be told")]
    verdicts = [
        claim.verdict for claim in shown.evidence if claim.verdict in judged and not claim.reference
    ]
    first, rest = _sentences(shown)
    return render_part(
        "cricket/ball_parts.html",
        **parts.context(shown) | {"claims": ()},
        first=first,
        rest=rest,
        pieces=parts.pieces,
        verdicts={entry[1]: entry for entry in parts.VERDICTS.values()},
        bare=_BARE,
        kinds=[(*words, claims) for words, claims in zip(_CLAIM_KINDS, numbered, strict=True)],
        judged=judged,
        held=verdicts.count("supported"),
        tried=len(verdicts),
    )


def _sentences(explanation: Explanation) -> tuple[Sentence | None, list[Sentence]]:
    """The sentence on the page's outcome, and those that neither the score nor a caution says."""
    first, rest = None, []
    for sentence in explanation.narrative:
        pointers = [fact.pointer for fact in sentence.facts]
        if first is None and any(p.endswith("/usual") or "story_times" in p for p in pointers):
            first = sentence
        elif not pointers or not all(p.startswith(_ABOVE) for p in pointers):
            rest.append(sentence)
    return first, rest


def render_markdown(explanation: Explanation) -> str:
    """The explanation as a Markdown document, without a final line break."""
    shown = parts.presentable(explanation)
    return render_plain(
        "cricket/explanation.md",
        **parts.context(shown),
        story=story_of(shown),
        beside=BESIDE,
        attended=_most_attended(shown),
    )


def _most_attended(explanation: Explanation) -> list[tuple[PastBall, float, float | None]]:
    """The six past balls attended most: mean over heads, and the points of the page's outcome."""
    inner, balls = explanation.across_balls.medium, Balls(explanation)
    if not inner.balls:
        return []
    mean = dict(zip(inner.balls, leading_rows(inner, 0)[0].weights, strict=True))
    effects = single_effects(explanation)
    ranked = sorted((ball for ball in mean if ball in balls.by_index), key=lambda i: (-mean[i], -i))
    return [(balls.by_index[i], mean[i], effects.get(i)) for i in ranked[:_MOST_ATTENDED]]


def _attention_map(explanation: Explanation) -> HeatMapDrawing | None:
    """All heads of the medium scale, three single ones, and the effect of each ball."""
    inner = explanation.across_balls.medium
    if not inner.balls:
        return None
    rows, effects = leading_rows(inner, 3), single_effects(explanation)
    darkest = max(weight for row in rows for weight in row.weights)
    outcome = explanation.prediction.about
    map_rows = [
        Row(
            row.label,
            [
                Cell.shaded(
                    weight,
                    darkest,
                    f"{row.label}, ball {label}: {percent_seen(weight, 1)} of attention",
                )
                for label, weight in zip(inner.ball_labels, row.weights, strict=True)
            ],
        )
        for row in rows
    ]
    if effects:
        largest = max(abs(points) for points in effects.values())
        map_rows.append(
            Row(
                "effect",
                [
                    Cell.either(
                        effects.get(ball, 0.0),
                        largest,
                        f"ball {label}: {signed_points(effects.get(ball, 0.0), '−')} points of "
                        f"P({outcome})",
                    )
                    for ball, label in zip(inner.balls, inner.ball_labels, strict=True)
                ],
            )
        )
    return HeatMapDrawing(
        anchor="attention-map",
        title="Where it looked, and what each ball does",
        description=f"Attention on {count(len(inner.balls), 'past ball')} of the medium scale.",
        columns=_columns(inner),
        rows=map_rows,
        marks="outcome",
        width=_cell_width(inner),
        sparse=len(inner.balls) > _WIDE_AT_MOST,
    )


def _maps(
    explanation: Explanation,
) -> list[tuple[Scale, HeatMapDrawing | None, list[tuple[str, Head, Looked]]]]:
    """Every scale with its heat map, if there is a ball to look at, and its heads."""
    players = {past.index: f"{past.bowler} to {past.batter}" for past in explanation.history}
    darkest = parts.most_attention(explanation)
    maps = []
    for name in parts.SCALE_NAMES:
        scale = getattr(explanation.across_balls, name)
        heads = [
            (parts.head_name(key, head), head, _looked_at(scale, head))
            for key, head in scale.attention_by_head.items()
        ]
        maps.append((scale, _heat_map(scale, darkest, players) if scale.balls else None, heads))
    return maps


def _looked_at(scale: Scale, head: Head) -> Looked:
    """The balls that a head looked at most, in or out of what it started as."""
    places = [scale.balls.index(ball) for ball in head.top_any]
    return [(scale.ball_labels[at], scale.ball_outcomes[at], head.row[at]) for at in places]


def _columns(scale: Scale | LongScale) -> list[HeatMapColumn]:
    """One for each past ball, overs a little apart."""
    overs = [label.rpartition(".")[0] for label in scale.ball_labels]
    return [
        HeatMapColumn(
            label,
            parts.sign_of(outcome),
            _MARKS.get(outcome, "mark"),
            first=at == 0 or overs[at] != overs[at - 1],
        )
        for at, (label, outcome) in enumerate(
            zip(scale.ball_labels, scale.ball_outcomes, strict=True)
        )
    ]


def _cell_width(scale: Scale | LongScale) -> float:
    return _NARROW if len(scale.balls) > _WIDE_AT_MOST else 19.0


def _heat_map(scale: Scale, most: float, players: Mapping[int, str]) -> HeatMapDrawing:
    """A row for each head, a column for each past ball, overs a little apart."""
    balls = len(scale.balls)
    sparse = balls > _WIDE_AT_MOST
    columns = _columns(scale)
    rows, summaries = [], []
    for key, head in scale.attention_by_head.items():
        name = parts.head_name(key, head)
        cells = []
        for at, weight in enumerate(head.row):
            index = scale.balls[at]
            players_text = f" ({players[index]})" if index in players else ""
            outcome = OUTCOME_WORDS[scale.ball_outcomes[at]]
            share = f"{percent_seen(weight, 1)} of its attention"
            words = f"{name}, ball {scale.ball_labels[at]}{players_text}, {outcome}: {share}"
            framed = not sparse and index in head.top_any
            cells.append(Cell.shaded(weight, most, words, framed=framed))
        rows.append(Row(name, cells))
        best = _looked_at(scale, head)
        best_balls = ", ".join(f"{label} ({percent_seen(weight)})" for label, _, weight in best)
        summaries.append(f"{name}: {best_balls or 'no ball'}")
    return HeatMapDrawing(
        anchor=f"{scale.scale}-map",
        title=f"{scale.scale.capitalize()} scale: attention of each head over "
        f"{count(balls, 'past ball')}",
        description=f"Most by head. {'; '.join(summaries)}.",
        columns=columns,
        rows=rows,
        width=_cell_width(scale),
        marks="outcome",
        sparse=sparse,
    )

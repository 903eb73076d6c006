"""The next over for a terminal: token by token, what it looked at, drawn overs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.parts import short_names
from attnlens.errors import count
from attnlens.render.canvas import (
    Cell,
    Column,
    Line,
    Page,
    Words,
    add_row,
    add_table,
    bar,
    legend,
    shade,
    terminal_page,
)
from attnlens.render.numbers import percent_seen

if TYPE_CHECKING:
    from attnlens.cricket.over.next_over import CrossAttention, NextOver, Samples

_NAME_COLUMNS: Final = 12
_CELL_COLUMNS: Final = 3
_MAX_ATTENDED_BALLS: Final = 6
_MAX_TOKEN_LABELS: Final = 4
_BAR_COLUMNS: Final = 32
_OUTCOME_STYLES: Final[Mapping[str, str]] = {"W": "alarm", "4": "strong", "6": "strong"}


@terminal_page(min_width=60)
def render_over(page: Page, next_over: NextOver) -> None:
    """The page of one over, of `attnlens.cricket.over.next_over.next_over`."""
    page.parts(next_over.echo)
    if next_over.samples is not None:
        _add_samples(page, next_over.samples)
    _add_tokens(page, next_over)
    _add_actual(page, next_over)
    if next_over.cross_attention.balls:
        _add_map(page, next_over)
        _add_balls(page, next_over)
    for flag in next_over.flags:
        page.flag(flag.text)
    page.blank()
    page.paragraph(
        "A weight says where the model looked, not that it mattered. Hiding balls takes them out "
        "of its attention; the score and what the ratings know stay.",
        "quiet",
    )


def _add_tokens(page: Page, data: NextOver) -> None:
    cross = data.cross_attention
    columns = [
        Column(style="quiet", min_width=1),
        Words("likeliest", min_width=9, gap=1),
        Column("chance", gap=1),
        Words("else", style="quiet", spare=1),
    ]
    if cross.balls:
        columns += [Column("share"), Words("looked at", shrinks=True)]
    rows: list[list[Cell]] = []
    for at, token in enumerate(data.tokens):
        style = "quiet" if token.token == "<end>" else "name"
        other = token.runners_up[0]
        row: list[Cell] = [
            str(at + 1),
            (token.token, style),
            (percent_seen(token.probability), style),
            f"{other.token} {percent_seen(other.probability)}",
        ]
        rows.append([*row, *(_looked_at(cross, at) if cross.balls else [])])
    add_table(page, columns, rows)
    if not cross.balls:
        page.paragraph("it looked at nothing: no ball came before", "quiet", indent=4)


def _looked_at(cross: CrossAttention, index: int) -> list[Cell]:
    row = cross.weights[index][cross.padded :]
    order = sorted(range(len(row)), key=lambda ball: -row[ball])[:_MAX_TOKEN_LABELS]
    labels = " ".join(cross.balls[ball].label for ball in sorted(order))
    return [percent_seen(sum(row[ball] for ball in order)), labels]


def _add_actual(page: Page, data: NextOver) -> None:
    page.blank()
    if not data.bowled:
        page.paragraph("not bowled yet", "quiet", indent=4)
        page.blank()
        return
    items: list[Line] = []
    for ball in data.actual_balls:
        chance = "" if ball.probability is None else f" {percent_seen(ball.probability)}"
        items.append([(ball.token, "name"), (chance, "quiet")])
    total = count(sum(ball.runs for ball in data.actual_balls), "run")
    wickets = data.actual.count("W")
    total += f", {count(wickets, 'wicket')}" if wickets else ""
    items.append([(f"= {total}", "title")])
    page.flow(items, indent=13, gap=3, lead=[("  bowled", "heading")])
    page.blank()


def _add_map(page: Page, data: NextOver) -> None:
    cross = data.cross_attention
    by_over = Counter(ball.over for ball in cross.balls)
    overs = list(by_over)[-((page.width - _NAME_COLUMNS) // _CELL_COLUMNS) :]
    rows = []
    for row in cross.weights:
        sums = dict.fromkeys(by_over, 0.0)
        for ball, weight in zip(cross.balls, row[cross.padded :], strict=True):
            sums[ball.over] += weight
        rows.append([sums[over] for over in overs])
    rows.append([by_over[over] / len(cross.balls) for over in overs])
    peak = max(weight for row in rows for weight in row)
    heads = [(f"{over:>{_CELL_COLUMNS}}", "quiet") for over in overs]
    add_row(page, ("  past over", "heading"), _NAME_COLUMNS, [heads])
    names = [*((token, "") for token in cross.tokens), ("even", "quiet")]
    for (name, style), row in zip(names, rows, strict=True):
        cells = [shade(weight, peak, cell=_CELL_COLUMNS - 1) for weight in row]
        spaced = [span for cell in cells for span in ((" ", ""), cell)]
        add_row(page, (f"  {name}", style), _NAME_COLUMNS, [spaced])
    page.paragraph(
        f"{legend(peak)} of a token's attention, all heads. even: what every ball alike would give",
        "quiet",
    )
    page.blank()


def _add_balls(page: Page, data: NextOver) -> None:
    cross = data.cross_attention
    balls, effects, tokens = cross.balls, cross.effects_nats, len(cross.tokens)
    mean = [
        sum(row[cross.padded + at] for row in cross.weights) / tokens for at in range(len(balls))
    ]
    people = [name for ball in balls for name in (ball.batter, ball.bowler)]
    names = short_names(people)
    rows: list[list[Cell]] = []
    for at in sorted(range(len(balls)), key=lambda at: -mean[at])[:_MAX_ATTENDED_BALLS]:
        ball = balls[at]
        players = f"{names[ball.bowler]}→{names[ball.batter]}"
        nats = f"{sum(row[at] for row in effects) / tokens:.6f} nats" if effects else ""
        rows.append(
            [
                [
                    (f"{ball.label:<6}{players} ", ""),
                    (ball.token, _OUTCOME_STYLES.get(ball.token, "name")),
                ],
                f"{mean[at]:.1%}",
                f"{1 / len(balls):.1%}",
                nats,
            ]
        )
    hiding = Column("hiding it alone" if effects else "", style="quiet")
    columns = [Words("looked at most", shrinks=True), Column("share"), Column("even"), hiding]
    add_table(page, columns, rows)
    page.blank()


def _add_samples(page: Page, samples: Samples) -> None:
    runs, wickets, boundaries = samples.runs, samples.wickets, samples.boundaries
    low, high = runs.from_tenth_to_ninth
    page.paragraph(
        f"{runs.mean:.1f} runs expected, {low} to {high} in eight overs of ten; a wicket in "
        f"{percent_seen(wickets.at_least_one)}, a boundary in "
        f"{percent_seen(boundaries.at_least_one)} ({samples.count:,} overs drawn, seed "
        f"{samples.seed})",
        "heading",
    )
    largest = max(entry["share"] for entry in runs.shares)
    for entry in runs.shares:
        length = entry["share"] / largest
        label, share = f"  {entry['runs']:>3} ", f"{percent_seen(entry['share']):>6}"
        page.add((label, ""), *bar(length, length, _BAR_COLUMNS), (share, "quiet"))
    for name, events in (("wickets", wickets), ("boundaries", boundaries)):
        texts = "   ".join(f"{row[name]}: {percent_seen(row['share'])}" for row in events.shares)
        page.add((f"  {name:<12}", ""), (texts, "name"))
    page.blank()

"""Render the terminal pages of a match and of the next over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from attnlens.cricket.match.ledger import (
    EXTRAS,
    Batting,
    Bowling,
    Card,
    attributed,
    counts_balls,
    did_not_bat,
    ground,
    innings_length,
    result_sentence,
    scorecard,
)
from attnlens.cricket.match.match import Match
from attnlens.cricket.pages.parts import short_names
from attnlens.cricket.words.facts import capitalized
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
from attnlens.render.numbers import number, percent_seen

if TYPE_CHECKING:
    from attnlens.cricket.over.next_over import CrossAttention, NextOver, Samples


ALL_OUT: Final = 10
_NAMES: Final = Words(shrinks=True)
_BATTING: Final = (
    *(_NAMES, _NAMES, Column("R"), Column("B")),
    *(Column("4s", spare=2), Column("6s", spare=1), Column("SR", spare=3)),
)
_BOWLING: Final = (
    *(_NAMES, Column("O"), Column("M"), Column("R"), Column("W"), Column("Econ", spare=1)),
    *(Column("wd", spare=3), Column("nb", spare=2), Column("dots", spare=4)),
)


@terminal_page()
def render_scorecard(page: Page, match: Match) -> None:
    """Render the page of a match: the result, a scorecard for each innings, and the notes."""
    _head(page, match)
    for innings in match.innings:
        _innings(page, match, scorecard(innings))
    if match.notes:
        page.paragraph("Notes on the file", "heading")
        for note in match.notes:
            page.flag(note)


def _head(page: Page, match: Match) -> None:
    page.paragraph(" v ".join(match.teams) or match.match_id, "title", indent=0)
    kind = " ".join(filter(None, (match.match_type, match.gender)))
    days = " to ".join(day.isoformat() for day in match.dates)
    page.paragraph(", ".join(filter(None, (kind, ground(match.venue, match.city), days))), indent=0)
    event = match.event
    if event.get("name"):
        number, stage = event.get("match_number"), event.get("stage")
        more = f", match {number}" if number else f", {stage}" if stage else ""
        page.paragraph(f"{event['name']}{more}", "quiet", indent=0)
    toss = match.toss
    if toss.get("winner"):
        chose = {"bat": "to bat", "field": "to field"}.get(toss.get("decision", ""), "")
        words = f"{toss['winner']} won the toss and chose {chose}".rstrip()
        words = attributed(match, words, "toss.winner", "toss.decision")
        page.paragraph(capitalized(words), indent=0)
    page.paragraph(capitalized(result_sentence(match) or "result not given"), "name", indent=0)
    page.blank()


def _innings(page: Page, match: Match, card: Card) -> None:
    innings = card.innings
    declared = " declared" if innings.declared else ""
    name = "super over: " if innings.super_over else ""
    lost = " all out" if innings.wickets == ALL_OUT else f"/{innings.wickets}"
    score = f"{innings.total}{lost}{declared} ({innings_length(innings)})"
    page.paragraph(f"{name}{innings.batting_team} {score}", "title")
    if innings.target is not None:
        late = innings.set_later
        runs, limit = late.get("runs", innings.target), late.get("balls", innings.target_balls)
        balls = f" in {limit} balls" if limit else ""
        remark = ", set after the chase began" if late else ""
        fields = (f"innings.{innings.number}.target.{part}" for part in ("runs", "overs"))
        page.paragraph(attributed(match, f"target {runs}{balls}{remark}", *fields), "quiet")
    add_table(page, _BATTING, map(_batting_row, card.batting), indent=4)
    kinds = ", ".join(f"{mark} {card.extras[kind]}" for kind, mark in EXTRAS if card.extras[kind])
    page.paragraph(f"extras {card.extras_total}" + (f" ({kinds})" if kinds else ""), indent=4)
    _add_list(page, "did not bat", did_not_bat(match, card))
    falls = [
        f"{fall.score}/{fall.wicket} {fall.player} ({fall.actual_delivery or fall.label})"
        for fall in card.falls
    ]
    _add_list(page, "fall of wickets", falls)
    page.blank()
    columns = list(_BOWLING)
    if counts_balls(innings.balls_per_over):
        columns[1:3] = [Column("balls"), Column("M")]
    add_table(page, columns, map(_bowling_row, card.bowling), indent=4)
    page.blank()


def _batting_row(line: Batting) -> list[str]:
    figures = map(str, (line.runs, line.balls, line.fours, line.sixes))
    return [line.player.name, line.out, *figures, number(line.strike_rate, 1, missing="-")]


def _bowling_row(line: Bowling) -> list[str]:
    figures = map(str, (line.spell, line.maidens, line.runs, line.wickets))
    rest = map(str, (line.wides, line.noballs, line.dots))
    return [line.player.name, *figures, number(line.economy, 2, missing="-"), *rest]


def _add_list(page: Page, name: str, entries: Sequence[str]) -> None:
    if not entries:
        return
    marked = [*(f"{entry}," for entry in entries[:-1]), entries[-1]]
    lead = [(f"    {name} ", "quiet")]
    page.flow([[(entry, "")] for entry in marked], indent=4, gap=1, lead=lead)


_NAME_COLUMNS: Final = 12
_CELL_COLUMNS: Final = 3
_MAX_ATTENDED_BALLS: Final = 6
_MAX_TOKEN_LABELS: Final = 4
_BAR_COLUMNS: Final = 32
_OUTCOME_STYLES: Final[Mapping[str, str]] = {"W": "alarm", "4": "strong", "6": "strong"}


@terminal_page(min_width=60)
def render_over(page: Page, next_over: NextOver) -> None:
    """Render the page of one over: forecast tokens, attention and sampled overs.

    ``next_over`` is the result of `attnlens.cricket.over.next_over.next_over`.
    """
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
        "An attention weight shows where the model looked, not whether the ball mattered. Hidden "
        "balls get no attention, but the score and the ratings do not change.",
        "quiet",
    )


def _add_tokens(page: Page, data: NextOver) -> None:
    cross = data.cross_attention
    columns = [
        Column(style="quiet", min_width=1),
        Words("likeliest", min_width=9, gap=1),
        Column("probability"),
        Words("runner-up", style="quiet", spare=1),
    ]
    if cross.balls:
        columns += [Column("attention"), Words("on the balls", shrinks=True)]
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
        page.paragraph("no attention: this innings has no earlier ball", "quiet", indent=4)


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
        f"{legend(peak)} of a token's attention in all heads; even: uniform attention",
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
    hiding = Column("effect of hiding it" if effects else "", style="quiet")
    columns = [Words("most attended", shrinks=True), Column("attention"), Column("even"), hiding]
    add_table(page, columns, rows)
    page.blank()


def _add_samples(page: Page, samples: Samples) -> None:
    runs, wickets, boundaries = samples.runs, samples.wickets, samples.boundaries
    low, high = runs.from_tenth_to_ninth
    page.paragraph(
        f"{runs.mean:.1f} runs expected (80%: {low} to {high}); a wicket in "
        f"{percent_seen(wickets.at_least_one)} of overs, a boundary in "
        f"{percent_seen(boundaries.at_least_one)} ({count(samples.count, 'sampled over')}, seed "
        f"{samples.seed}). Runs:",
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

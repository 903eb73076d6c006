"""A match for a terminal: who played, how it ended, a scorecard per innings, the oddities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
from attnlens.cricket.words.facts import capitalized
from attnlens.render.canvas import Column, Page, Words, add_table, terminal_page
from attnlens.render.numbers import number

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
    """A match in full: its result, every innings' scorecard, and its notes."""
    _head(page, match)
    for innings in match.innings:
        _innings(page, match, scorecard(innings))
    if match.notes:
        page.paragraph("what the file could not say, and what is odd in it", "heading")
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

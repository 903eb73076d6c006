"""A match for a terminal: who played, how it ended, a scorecard per innings, the oddities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnlens.render.canvas import ASCII, UNICODE, Page, clean_all, display_width, pad

NARROW = 60
ALL_OUT = 10
ABBREVIATED = {"byes": "b", "legbyes": "lb", "wides": "w", "noballs": "nb", "penalty": "pen"}


def render_scorecard(
    data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True
) -> str:
    """The page for a match.

    Args:
        data: `attnlens.cricket.scorecard.match_data`'s.
        width: columns of the terminal; no line is wider (at least 40).
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    glyphs = UNICODE if unicode else ASCII
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(40, min(width, 100)), glyphs)
    _head(page, shown)
    for card in shown["innings"]:
        _innings(page, card)
    notes = shown["notes"]
    if notes:
        page.paragraph("what the file could not say, and what is odd in it", "heading")
        for note in notes:
            page.paragraph(note, "flag", indent=4, lead="  !")
    return page.text(color=color)


def _head(page: Page, data: Mapping[str, Any]) -> None:
    page.paragraph(" v ".join(data["teams"]) or data["match_id"], "title", indent=0)
    kind = [data["match_type"], data["gender"]]
    parts = [" ".join(filter(None, kind)), data["venue"], data["city"], " to ".join(data["dates"])]
    if data["city"] and data["venue"] and data["city"] in data["venue"]:
        parts.remove(data["city"])
    page.paragraph(", ".join(part for part in parts if part), "", indent=0)
    event = data["event"]
    if event.get("name"):
        number = event.get("match_number")
        stage = event.get("stage")
        more = f", match {number}" if number else f", {stage}" if stage else ""
        page.paragraph(f"{event['name']}{more}", "quiet", indent=0)
    toss = data["toss"]
    if toss.get("winner"):
        chose = {"bat": "to bat", "field": "to field"}.get(toss.get("decision", ""), "")
        page.paragraph(f"{toss['winner']} won the toss and chose {chose}".rstrip(), indent=0)
    page.paragraph(data["result"] or "result not given", "name", indent=0)
    page.blank()


def _innings(page: Page, card: Mapping[str, Any]) -> None:
    declared = " declared" if card["declared"] else ""
    name = "super over: " if card["super_over"] else ""
    lost = " all out" if card["wickets"] == ALL_OUT else f"/{card['wickets']}"
    score = f"{card['total']}{lost}{declared} ({card['overs']} overs)"
    page.paragraph(f"{name}{card['batting_team']} {score}", "title")
    if card["target"] is not None:
        balls = card["target_balls"]
        page.paragraph(
            f"target {card['target']}" + (f" in {balls} balls" if balls else ""), "quiet"
        )
    _batting(page, card["batting"])
    extras = card["extras"]
    kinds = ", ".join(f"{ABBREVIATED[k]} {v}" for k, v in extras.items() if k != "total" and v)
    page.paragraph(f"extras {extras['total']}" + (f" ({kinds})" if kinds else ""), indent=4)
    _listed(page, "did not bat", card["did_not_bat"], ",")
    falls = [
        f"{fall['score']}/{fall['wicket']} {fall['player']} "
        f"({fall['actual_delivery'] or fall['label']})"
        for fall in card["fall_of_wickets"]
    ]
    _listed(page, "fall of wickets", falls, ",")
    stands = [
        f"{stand['runs']}{'*' if stand['unbroken'] else ''} ({stand['balls']})"
        f" {' & '.join(stand['batters'])}"
        for stand in card["partnerships"]
    ]
    _listed(page, "partnerships", stands, ";")
    page.blank()
    _bowling(page, card["bowling"])
    page.blank()


def _batting(page: Page, lines: Sequence[Mapping[str, Any]]) -> None:
    wide = page.width >= NARROW
    _table(
        page,
        ("", "", "R", "B", "4s", "6s", "SR") if wide else ("", "", "R", "B"),
        [
            (
                line["player"],
                line["out"],
                line["runs"],
                line["balls"],
                *((line["fours"], line["sixes"], _two(line["strike_rate"], 1)) if wide else ()),
            )
            for line in lines
        ],
        words=2,
    )


def _bowling(page: Page, lines: Sequence[Mapping[str, Any]]) -> None:
    wide = page.width >= NARROW
    _table(
        page,
        ("", "O", "M", "R", "W", "Econ", "wd", "nb", "dots") if wide else ("", "O", "M", "R", "W"),
        [
            (
                line["player"],
                line["overs"],
                line["maidens"],
                line["runs"],
                line["wickets"],
                *(
                    (_two(line["economy"], 2), line["wides"], line["noballs"], line["dots"])
                    if wide
                    else ()
                ),
            )
            for line in lines
        ],
        words=1,
    )


def _listed(page: Page, name: str, entries: Sequence[str], mark: str) -> None:
    """Entries in a row after their name, parted by ``mark``; nothing where there are none."""
    if not entries:
        return
    marked = [*(f"{entry}{mark}" for entry in entries[:-1]), entries[-1]]
    page.flow(
        [[(entry, "")] for entry in marked], indent=4, gap=1, lead=[(f"    {name} ", "quiet")]
    )


def _two(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _table(
    page: Page, head: Sequence[str], rows: Sequence[Sequence[object]], *, words: int
) -> None:
    """Rows under a head; the first ``words`` columns share the room the figures leave."""
    if not rows:
        return
    texts = [[str(cell) for cell in row] for row in rows]
    figures = [
        max(display_width(line[column]) for line in [list(head), *texts])
        for column in range(words, len(head))
    ]
    room = page.width - 4 - sum(figure + 2 for figure in figures)
    longest = [max(display_width(row[column]) for row in texts) for column in range(words)]
    first = min(longest[0], room if words == 1 else max(room // 2, room - longest[-1] - 2))
    widths = [first, *([min(longest[1], room - first - 2)] if words == 2 else [])]

    def line(cells: Sequence[str], style: str) -> None:
        told = "  ".join(
            pad(cell, size, page.glyphs.ellipsis)
            for cell, size in zip(cells[:words], widths, strict=True)
        )
        told += "".join(
            f"  {cell:>{size}}" for cell, size in zip(cells[words:], figures, strict=True)
        )
        page.add((f"    {told}", style))

    line(head, "quiet")
    for row in texts:
        line(row, "")

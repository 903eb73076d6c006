"""The middle of the page: the balls each head looked at, what hiding them does, and the strip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, Literal

from attnlens.explanation.heatmap import UNNAMED, UNSPECIALISED
from attnlens.render.canvas import Glyphs, Line, Page, Span, display_width, pad, pad_line, width_of
from attnlens.render.outcomes import percent
from attnlens.render.parts import head_name

COLUMNS = 100
"""Columns from which effect, chance and verdict stand beside the head's name."""

NAME, EFFECT, CHANCE, VERDICT = 15, 16, 5, 24
MARKS: Mapping[str, str] = {
    "supported": "supported",
    "not better than chance": "chance",
    "contradicted": "contradicted",
}
KNOWN: Mapping[str, str] = {
    "the scoreboard": "scoreboard",
    "the chase": "chase",
    "striker's record": "striker",
    "bowler's record": "bowler",
    "venue and teams": "ground, sides",
}
"""Short names of what was known beside past balls, by the kind of the claim."""

SIGNS: Mapping[str, str] = {"W": "W", "wd": "w", "nb": "n", "bye": "b"}


Who = Literal["both", "bowler", "batter", "nobody"]

USUAL = ("controls do as much", "too few other balls to compare with")
"""Reasons that the verdict's own words and the legend already give."""


class Balls:
    """The past balls by index, with names short enough for a line."""

    def __init__(self, data: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self.by_index = {entry["index"]: entry for entry in data["history"]}
        self.names = names
        self.bowler, self.batter = names[data["ball"]["bowler"]], names[data["ball"]["batter"]]

    def told(self, index: int, weight: float | None, glyphs: Glyphs, *, who: Who = "both") -> Line:
        """``7.1 Zampa→Rahul 4 (22%)``; with fewer names where the others are known."""
        ball = self.by_index.get(index)
        share: Line = [] if weight is None else [(f" ({percent(weight)})", "quiet")]
        if ball is None:
            return [(f"delivery {index}", ""), *share]
        bowler, batter = self.names[ball["bowler"]], self.names[ball["batter"]]
        style = "wicket" if ball["wicket"] else "boundary" if ball["boundary"] else "name"
        players = {
            "both": f"{bowler}{glyphs.arrow}{batter} ",
            "bowler": f"{bowler} ",
            "batter": f"{batter} ",
            "nobody": "",
        }[who]
        return [
            (f"{ball['label']} {players}", ""),
            (ball["outcome"], style),
            *share,
        ]


def question(head: Mapping[str, Any], balls: Balls) -> str:
    if head["pattern"] == "same_bowler":
        return f"how did {balls.bowler}'s earlier balls go?"
    if head["pattern"] == "same_batsman":
        return f"how is {balls.batter} going?"
    if head["pattern"] != UNNAMED and head["question"]:
        return str(head["question"]).rstrip("?") + "?"
    earned = head["earned"]
    return (
        "free to look anywhere"
        if earned == UNSPECIALISED
        else f"free; looks at: {earned.replace('_', ' ')}"
    )


def add_heads(page: Page, data: Mapping[str, Any], outcome: str, scale: str, balls: Balls) -> None:
    """One block per head of the scale, then the claims that belong to no head."""
    inner = data["across_balls"][scale]
    count = len(inner["balls"])
    over = "over" if scale == "long" else "ball"
    past = f"{count} past {'ball' if count == 1 else 'balls'}"
    heading = f"what it looked at ({scale} scale, {past})"
    if not count:
        page.paragraph(heading, "heading")
        place = "in an earlier over" if over == "over" else "before this one"
        page.paragraph(f"nothing: no ball of this innings was bowled {place}", "quiet", indent=4)
        page.blank()
        return
    line: Line = [(f"  {heading}", "heading")]
    if page.width >= COLUMNS:
        line = pad_line(line, page.width - EFFECT - CHANCE - VERDICT)
        line += [
            (pad("hiding them", EFFECT, ""), "quiet"),
            (pad("q", CHANCE, ""), "quiet"),
            ("verdict", "quiet"),
        ]
        page.add(*line)
    else:
        page.paragraph(heading, "heading")
    test = _tester(data, outcome, page.glyphs)
    for key, head in inner["attention_by_head"].items():
        claims = [c for c in data["evidence"] if c["head"] == key and c["scale"] == scale]
        asks, share = question(head, balls), covered(head)
        # The share stands with the question where there is room, else after the balls.
        titled = bool(claims) and title_room(page) > len(f"{asks}{share}") + 3
        words = f"{asks} {page.glyphs.dot} {share}" if titled else asks
        _add_title(page, head_name(key, head), words, claims[:1], test)
        # A second test that found nothing is a remark, one that found something a row.
        quiet = [
            claim
            for claim in claims[1:]
            if claim["removed_from"] == "head" and claim["verdict"] != "supported"
        ]
        for claim in [claim for claim in claims[1:] if claim not in quiet]:
            _add_title(
                page,
                "",
                f"hidden from the {'whole model' if claim['removed_from'] == 'model' else 'head'}",
                [claim],
                test,
            )
        _add_balls(page, head, claims[:1], balls, "" if titled else share)
        _add_remarks(page, *map(_alone, quiet))
    for claim in data["evidence"]:
        if claim["kind"] in KNOWN:
            continue
        if claim["head"] is None and claim["scale"] in (scale, None):
            _add_title(page, claim["kind"], "", [claim], test)
            told = [balls.told(index, None, page.glyphs) for index in claim["removed"][:6]]
            more = len(claim["removed"]) - len(told)
            told += [[(f"and {more} more", "quiet")]] if more else []
            page.flow(told, indent=4, gap=3)
            _add_remarks(page, _unusual(claim))
    _add_known(page, data, test)
    page.blank()


def _add_known(page: Page, data: Mapping[str, Any], test: _Test) -> None:
    """What was known beside past balls, where it could be compared with anything."""
    claims = [c for c in data["evidence"] if c["kind"] in KNOWN and c["verdict"] is not None]
    if not claims:
        return
    page.paragraph("what it knew beside them", "heading")
    for claim in claims:
        # The name says what it is: the words are what the claim adds in brackets, if it does.
        words = claim["claim"].partition("(")[2].rstrip(")") or claim["claim"]
        _add_title(page, KNOWN[claim["kind"]], words, [claim], test)
        _add_remarks(page, _unusual(claim))


def _alone(claim: Mapping[str, Any]) -> str | None:
    """What hiding a head's balls from that head alone says, where it says anything."""
    if claim["verdict"] is None:
        return None
    return f"hidden from this head alone: {claim['reason'] or claim['verdict']}"


def covered(head: Mapping[str, Any]) -> str:
    """How much of the head's attention the listed balls got; empty where there are none."""
    return f"{percent(sum(head['weights']))} of its attention" if head["top_balls"] else ""


def title_room(page: Page) -> int:
    """Columns for a head's question."""
    wide = page.width >= COLUMNS
    return page.width - NAME - (EFFECT + CHANCE + VERDICT if wide else 0)


def _add_title(
    page: Page, name: str, asks: str, claims: list[Mapping[str, Any]], test: _Test
) -> None:
    title: Span = (pad(f"  {name}", NAME, page.glyphs.ellipsis), "name")
    effect, chance, verdict = test(claims[0] if claims else None)
    if page.width >= COLUMNS:
        words = pad(asks, title_room(page) - 1, page.glyphs.ellipsis)
        line: Line = [title, (f"{words} ", "")]
        page.add(*line, effect, chance, verdict)
        return
    page.flow([[(word, "")] for word in asks.split()], indent=NAME, gap=1, lead=[title])
    pieces: list[Line] = []
    if effect[0].strip():
        pieces.append([(f"hidden: {effect[0].strip()}", effect[1])])
    if chance[0].strip():
        pieces.append([(f"q {chance[0].strip()}", chance[1])])
    page.flow([*pieces, [verdict]], indent=4, gap=3)


_Test = Callable[[Mapping[str, Any] | None], tuple[Span, Span, Span]]


def _tester(data: Mapping[str, Any], outcome: str, glyphs: Glyphs) -> _Test:
    """What makes effect, chance and verdict of a claim, as wide as their columns."""
    now = {entry["outcome"]: entry["probability"] for entry in data["prediction"]["outcomes"]}

    def before_after(claim: Mapping[str, Any]) -> tuple[str, float, float]:
        """For the outcome asked for, else for the one that moves most."""
        top = claim["top_change"]
        if outcome in ("", top["outcome"]):
            return top["outcome"], top["before"], top["after"]
        points = next(c["points"] for c in claim["changes"] if c["outcome"] == outcome)
        return outcome, now[outcome], min(1.0, max(0.0, now[outcome] + points / 100))

    def test(claim: Mapping[str, Any] | None) -> tuple[Span, Span, Span]:
        picture: Span = (f"{glyphs.picture} picture only", "quiet")
        if claim is None:
            return (" " * EFFECT, ""), (" " * CHANCE, ""), picture
        effect = _change(*before_after(claim), glyphs)
        q = claim["q"]
        chance = "" if q is None else f"{q:.2f}" if q >= 0.005 else "<.01"
        verdict = claim["verdict"]
        mark = MARKS.get(verdict, "")
        return (
            (pad(effect, EFFECT, ""), ""),
            (pad(chance, CHANCE, ""), "quiet"),
            (f"{getattr(glyphs, mark)} {verdict}", mark) if mark else picture,
        )

    return test


def _change(outcome: str, before: float, after: float, glyphs: Glyphs) -> str:
    """``P(4) 17 → 14%``, with a decimal where whole percent would look alike."""
    one, two = f"{100 * before:.0f}", f"{100 * after:.0f}"
    if one == two:
        one, two = f"{100 * before:.1f}", f"{100 * after:.1f}"
    if one == two:
        return f"P({outcome}) {one}%, same"
    airy = f"P({outcome}) {one} {glyphs.arrow} {two}%"
    return airy if len(airy) < EFFECT else f"P({outcome}) {one}{glyphs.arrow}{two}%"


def _became(head: Mapping[str, Any]) -> str | None:
    """What a head does on many balls, where that is not what it started as."""
    if head["pattern"] == UNNAMED or head["earned"] in (head["pattern"], UNSPECIALISED):
        return None
    return f"named for its start; on many balls it looks at: {head['earned'].replace('_', ' ')}"


def _unusual(claim: Mapping[str, Any]) -> str | None:
    return None if claim["reason"] in USUAL else claim["reason"]


def _add_remarks(page: Page, *remarks: str | None) -> None:
    for remark in filter(None, remarks):
        page.paragraph(remark, "quiet", indent=4)


def _add_balls(
    page: Page,
    head: Mapping[str, Any],
    claims: list[Mapping[str, Any]],
    balls: Balls,
    share: str,
) -> None:
    """The balls a head lists; of a head that nothing is claimed of, one line."""
    listed = list(zip(head["top_balls"], head["weights"], strict=True))
    if not listed:
        page.paragraph("no such ball yet", "quiet", indent=4)
        return
    known: Mapping[str, Who] = {"same_bowler": "batter", "same_batsman": "bowler"}
    who = known.get(head["pattern"], "both")
    items = [balls.told(index, weight, page.glyphs, who=who) for index, weight in listed]
    if not claims:
        while len(items) > 1 and sum(width_of(item) + 3 for item in items) + 1 > page.width:
            items.pop()
        page.flow(items, indent=4, gap=3)
        return
    if share:
        items.append([(f"= {share}", "quiet")])
    page.flow(items, indent=4, gap=3)
    where = "hidden from this head only" if claims[0]["removed_from"] == "head" else None
    _add_remarks(page, _became(head), head["note"], where, *map(_unusual, claims))


def add_strip(page: Page, data: Mapping[str, Any], scale: str, balls: Balls) -> None:
    """A row of shades per head over the balls of the window, overs apart."""
    inner = data["across_balls"][scale]
    window = [balls.by_index.get(index) for index in inner["balls"]]
    if not window or any(ball is None for ball in window):
        return
    known = [ball for ball in window if ball is not None]
    room = page.width - NAME
    cell = 2 if 2 * len(known) + _overs(known) - 1 <= room else 1
    first = 0
    while cell * (len(known) - first) + _overs(known[first:]) - 1 > room:
        first += 1
    shown = known[first:]
    groups = [list(group) for _, group in groupby(shown, key=lambda ball: ball["over"])]
    heads = inner["attention_by_head"]
    most = max((weight for head in heads.values() for weight in head["row"]), default=0.0)
    title = "ball by ball" if not first else f"the last {len(shown)}, ball by ball"
    dot = page.glyphs.dot
    page.flow(
        [
            [(f"{page.glyphs.full} {percent(most)} of a head's attention", "quiet")],
            [(f"{dot} dot, 4 6 boundary, W wicket", "quiet")],
        ],
        indent=4,
        gap=3,
        lead=[(f"  {title}   ", "heading")],
    )
    page.add(
        *_strip_line(
            "over", [[(_over(group, cell, balls, page.glyphs), "quiet")] for group in groups], page
        )
    )
    marks = [
        [span for ball in group for span in _mark(ball, cell, page.glyphs)] for group in groups
    ]
    page.add(*_strip_line("outcome", marks, page))
    for key, head in heads.items():
        weights = dict(zip(inner["balls"], head["row"], strict=True))
        row = [
            [_shade(weights[ball["index"]], most, cell, page.glyphs) for ball in group]
            for group in groups
        ]
        page.add(*_strip_line(head_name(key, head), row, page))
    page.blank()


def _overs(balls: list[Any]) -> int:
    return len({ball["over"] for ball in balls})


def _strip_line(name: str, groups: list[Line], page: Page) -> Line:
    line: Line = [(pad(f"  {name}", NAME, page.glyphs.ellipsis), "")]
    for at, group in enumerate(groups):
        line += [*([(page.glyphs.separator, "quiet")] if at else []), *group]
    return line


def _over(group: list[Any], cell: int, balls: Balls, glyphs: Glyphs) -> str:
    """The over's number and its bowler, as far as the over is wide."""
    width = cell * len(group)
    number = str(group[0]["over"])
    named = f"{number} {balls.names[group[0]['bowler']]}"
    if display_width(named) <= width or width >= 10:
        return pad(named, width, glyphs.ellipsis)
    return pad(number, width, "")


def _mark(ball: Mapping[str, Any], cell: int, glyphs: Glyphs) -> Line:
    space: Span = (" " * (cell - 1), "")
    if ball["wicket"]:
        return [("W", "wicket"), space]
    if ball["boundary"]:
        return [(str(ball["runs_batter"]), "boundary"), space]
    sign = glyphs.dot if ball["outcome"] == "0" else SIGNS.get(ball["outcome"], ball["outcome"])
    return [(sign, ""), space]


def _shade(weight: float, most: float, cell: int, glyphs: Glyphs) -> tuple[str, str]:
    level = min(7, int(8 * weight / most)) if most > 0 else 0
    return glyphs.shades[level] * cell, f"shade{level + 1}"


def add_other_scales(page: Page, data: Mapping[str, Any], scale: str, balls: Balls) -> None:
    """One line for each other scale: what it is for, its weight, its top balls."""
    wide = page.width >= COLUMNS
    page.add(("  the other scales", "heading"))
    for name, inner in data["across_balls"].items():
        if name == scale:
            continue
        weight = percent(data["fusion_weights"][name])
        start: Line = [
            (pad(f"  {name}", 9, ""), "name"),
            (f"{weight:>4} of the prediction   " if wide else f"{weight:>4}   ", ""),
        ]
        room = page.width - width_of(start)
        tops = _top_overs(inner) if name == "long" else _top_balls(inner, balls, page, wide)
        line: Line = []
        for top in tops or [[("nothing to look at yet", "quiet")]]:
            if line and width_of(line) + 3 + width_of(top) > room:
                break
            line += [*([("   ", "")] if line else []), *top]
        page.add(*start, *line)
    test = _tester(data, "", page.glyphs)
    for claim in data["evidence"]:
        if claim["scale"] not in (scale, None) and claim["verdict"] == "supported":
            effect, chance, (verdict, style) = test(claim)
            page.paragraph(
                f"{verdict}: {claim['claim']}; hiding them: {effect[0].strip()}, "
                f"q {chance[0].strip()}",
                style,
                indent=4,
            )
    page.blank()


def _mean_row(inner: Mapping[str, Any]) -> dict[int, float]:
    rows = [head["row"] for head in inner["attention_by_head"].values()]
    sums = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return dict(zip(inner["balls"], sums, strict=False))


def _top_balls(inner: Mapping[str, Any], balls: Balls, page: Page, wide: bool) -> list[Line]:
    who: Who = "both" if wide else "nobody"
    mean = _mean_row(inner)
    ranked = sorted(mean, key=lambda index: (-mean[index], -index))[:4]
    return [balls.told(index, mean[index], page.glyphs, who=who) for index in ranked]


def _top_overs(inner: Mapping[str, Any]) -> list[Line]:
    """Earlier overs by the mean over heads of what the heads list."""
    rows = list(inner["attention_by_head"].values())
    mean: dict[int, float] = {}
    for head in rows:
        for over, weight in zip(head["top_overs"], head["top_over_weights"], strict=True):
            mean[over] = mean.get(over, 0.0) + weight / len(rows)
    ranked = sorted(mean, key=lambda over: (-mean[over], -over))[:4]
    return [[(f"over {over} ", ""), (f"({percent(mean[over])})", "quiet")] for over in ranked]

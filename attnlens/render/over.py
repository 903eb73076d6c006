"""The next over for a terminal: token by token, what it looked at, the check, drawn overs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Glyphs, Line, Page, clean_all, pad, pad_line
from attnlens.render.names import short_names
from attnlens.render.outcomes import bar, percent

WIDEST: Final = 100
WIDE: Final = 96
"""Columns from which runners-up stand beside each token."""

PLACE: Final = 4
TOKEN: Final = 7
CHANCE: Final = 6
OTHERS: Final = 9
SHARE: Final = 6
CHANGE: Final = 9
Q: Final = 7
VERDICT: Final = 26
SIDE: Final = 12
"""Columns before the heat map."""

CELL: Final = 3
TOP: Final = 6
"""Balls that are told by themselves."""

MOST_RUNS: Final = 20
VERDICTS: Final[Mapping[str | None, tuple[str, str]]] = {
    "supported": ("supported", "supported"),
    "not better than chance": ("chance", "not better than chance"),
    "contradicted": ("contradicted", "contradicted"),
    None: ("quiet", "picture only"),
}
"""A verdict's style and its words."""


def render_over(data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True) -> str:
    """The page for one over.

    Args:
        data: see `attnlens.cricket.over.next_over`.
        width: columns of the terminal; no line is wider (at least 60).
        color: whether to write colours; without, no escape is written.
        unicode: ``False`` writes ASCII only.
    """
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(60, min(width, WIDEST)), UNICODE if unicode else ASCII)
    page.parts(shown["echo"])
    _add_tokens(page, shown)
    _add_actual(page, shown)
    if shown["cross_attention"]["balls"]:
        _add_map(page, shown)
        _add_balls(page, shown)
        _add_agreement(page, shown)
    if shown["samples"] is not None:
        _add_samples(page, shown["samples"])
    for flag in shown["flags"]:
        page.paragraph(flag["text"], "flag", indent=4, lead="  !")
    page.blank()
    page.paragraph(
        "A weight says where the model looked, not that it mattered. Hiding balls takes them out "
        "of its attention; the score and what the ratings know stay. Small q: chance seldom does "
        "as much.",
        "quiet",
    )
    return page.text(color=color).rstrip("\n")


def _add_tokens(page: Page, data: Mapping[str, Any]) -> None:
    """A row per token: its chance, the runners-up, the balls looked at, and the verdict."""
    wide = page.width >= WIDE
    claims = {claim["place"]: claim for claim in data["evidence"] if claim["head"] is None}
    balls = page.width - PLACE - TOKEN - CHANCE - (OTHERS if wide else 0)
    balls -= (CHANGE + Q + (VERDICT if wide else 4)) if claims else 0
    head: Line = [
        (pad("  expected", PLACE + TOKEN, ""), "heading"),
        (f"{'chance':>{CHANCE}}", "quiet"),
    ]
    if wide:
        head.append((pad("  else", OTHERS, ""), "quiet"))
    if data["cross_attention"]["balls"]:
        head.append((pad(f"{'share':>{SHARE}}  looked at", balls, ""), "quiet"))
    if claims:
        head += [
            (f"{'hidden':>{CHANGE}}", "quiet"),
            (f"{'q':>{Q}}", "quiet"),
            ("  verdict" if wide else "", "quiet"),
        ]
    page.add(*head)
    for place, token in enumerate(data["tokens"]):
        style = "quiet" if token["token"] == "<end>" else "name"
        line: Line = [
            (f"{place + 1:>{PLACE - 1}} ", "quiet"),
            (pad(token["token"], TOKEN, ""), style),
            (f"{percent(token['probability']):>{CHANCE}}", style),
        ]
        if wide:
            next_one = token["runners_up"][0]
            told = f"  {next_one['token']} {percent(next_one['probability'])}"
            line.append((pad(told, OTHERS, page.glyphs.ellipsis), "quiet"))
        claim = claims.get(place)
        if claim is not None:
            told = f"{percent(claim['share']):>{SHARE}}  {' '.join(claim['labels'])}"
            line.append((pad(told, balls, page.glyphs.ellipsis), ""))
            line += _judged(claim, page.glyphs, wide=wide)
        elif data["cross_attention"]["balls"]:
            line.append((_most(data["cross_attention"], place), ""))
        page.add(*line)
    if not data["cross_attention"]["balls"]:
        page.paragraph("it looked at nothing: no ball came before", "quiet", indent=4)


def _judged(claim: Mapping[str, Any], glyphs: Glyphs, *, wide: bool) -> Line:
    """What hiding the balls moved most, q, and the verdict."""
    change = claim["changes"][0] if claim["changes"] else None
    told = "" if change is None else f"{change['token']} {change['points']:+.1f}"
    told = told.replace("-", glyphs.minus)
    style, words = VERDICTS[claim["verdict"]]
    sign = {
        "supported": glyphs.supported,
        "not better than chance": glyphs.chance,
        "contradicted": glyphs.contradicted,
        None: glyphs.picture,
    }[claim["verdict"]]
    q = "" if claim["q"] is None else f"{claim['q']:.3f}"
    return [
        (f"{told:>{CHANGE}}", ""),
        (f"{q:>{Q}}", "quiet"),
        (f" {sign} {words}" if wide else f"  {sign}", style),
    ]


def _most(cross: Mapping[str, Any], place: int) -> str:
    """The four balls that a token looked at most, where nothing was tested."""
    row = cross["weights"][place][cross["padded"] :]
    order = sorted(range(len(row)), key=lambda ball: -row[ball])[:4]
    labels = " ".join(cross["balls"][ball]["label"] for ball in sorted(order))
    return f"{percent(sum(row[ball] for ball in order)):>{SHARE}}  {labels}"


def _add_actual(page: Page, data: Mapping[str, Any]) -> None:
    page.blank()
    if not data["bowled"]:
        page.paragraph("not bowled yet", "quiet", indent=4)
        page.blank()
        return
    items: list[Line] = []
    for ball in data["actual_balls"]:
        chance = "" if ball["probability"] is None else f" {percent(ball['probability'])}"
        items.append([(ball["token"], "name"), (chance, "quiet")])
    runs = sum(ball["runs"] for ball in data["actual_balls"])
    wickets = data["actual"].count("W")
    wicket = f", {wickets} wicket{'s' * (wickets != 1)}" if wickets else ""
    items.append([(f"= {runs} run{'s' * (runs != 1)}{wicket}", "title")])
    page.flow(items, indent=13, gap=3, lead=[("  bowled", "heading")])
    page.blank()


def _add_map(page: Page, data: Mapping[str, Any]) -> None:
    """Cross-attention by past over, shaded; and what even attention would give."""
    cross = data["cross_attention"]
    by_over = Counter(ball["over"] for ball in cross["balls"])
    room = (page.width - SIDE) // CELL
    overs = list(by_over)[-room:]
    rows = []
    for row in cross["weights"]:
        sums = dict.fromkeys(by_over, 0.0)
        for ball, weight in zip(cross["balls"], row[cross["padded"] :], strict=True):
            sums[ball["over"]] += weight
        rows.append([sums[over] for over in overs])
    even = [by_over[over] / len(cross["balls"]) for over in overs]
    most = max(weight for row in [*rows, even] for weight in row)
    page.add(
        (pad("  past over", SIDE, ""), "heading"),
        ("".join(f"{over:>{CELL}}" for over in overs), "quiet"),
    )
    for token, row in zip(cross["tokens"], rows, strict=True):
        page.add((pad(f"  {token}", SIDE, ""), ""), *_shaded(row, most, page.glyphs))
    page.add((pad("  even", SIDE, ""), "quiet"), *_shaded(even, most, page.glyphs))
    page.paragraph(
        f"shade: share of a token's attention, all heads; the darkest is {percent(most)}. even: "
        "what every ball alike would give",
        "quiet",
    )
    page.blank()


def _shaded(row: Sequence[float], most: float, glyphs: Glyphs) -> Line:
    line: Line = []
    for weight in row:
        level = min(int(8 * weight / most), 7) if most else 0
        sign = glyphs.shades[level]
        line += [(" ", ""), (sign * (CELL - 1), f"shade{level + 1}")]
    return line


def _add_balls(page: Page, data: Mapping[str, Any]) -> None:
    """The balls looked at most over all tokens, with what hiding each alone does."""
    cross = data["cross_attention"]
    balls, effects = cross["balls"], cross["effects_nats"]
    tokens = len(cross["tokens"])
    mean = [
        sum(row[cross["padded"] + at] for row in cross["weights"]) / tokens
        for at in range(len(balls))
    ]
    names = short_names(
        [ball[role] for ball in balls for role in ("batter", "bowler")], page.glyphs.ellipsis
    )
    page.add(
        (pad("  looked at most", 40, ""), "heading"),
        (f"{'share':>8}{'even':>8}", "quiet"),
        (f"{'hiding it alone':>20}" if effects else "", "quiet"),
    )
    for at in sorted(range(len(balls)), key=lambda at: -mean[at])[:TOP]:
        ball = balls[at]
        players = f"{names[ball['bowler']]}{page.glyphs.arrow}{names[ball['batter']]}"
        style = {"W": "wicket", "4": "boundary", "6": "boundary"}.get(ball["token"], "name")
        left: Line = [(f"  {ball['label']:<6}{players} ", ""), (ball["token"], style)]
        line = pad_line(left, 40)
        line.append((f"{mean[at]:>8.1%}{1 / len(balls):>8.1%}", ""))
        if effects:
            nats = sum(row[at] for row in effects) / tokens
            line.append((f"{nats:>15.6f} nats", "quiet"))
        page.add(*line)
    page.blank()


def _add_agreement(page: Page, data: Mapping[str, Any]) -> None:
    if data["agreement"] is None:
        return
    told = data["agreement"]["spearman"]
    if told["attention"] is not None:
        page.paragraph(
            f"attention and the effect of hiding each ball: rank correlation "
            f"{told['attention']:.2f}, where recency alone has {told['recency']:.2f} (a "
            "description, no verdict)",
        )
    for alone, words in ((False, "hidden from the whole model"), (True, "hidden from one head")):
        claims = [claim for claim in data["evidence"] if (claim["head"] is not None) == alone]
        count = Counter(VERDICTS[claim["verdict"]][1] for claim in claims)
        items = ", ".join(f"{number} {name}" for name, number in count.most_common())
        page.paragraph(f"{words}, of {len(claims)} claims: {items}")
    page.blank()


def _add_samples(page: Page, samples: Mapping[str, Any]) -> None:
    """Bars of runs and of wickets."""
    runs, wickets = samples["runs"], samples["wickets"]
    low, high = runs["from_tenth_to_ninth"]
    page.paragraph(
        f"{samples['count']:,} overs drawn (seed {samples['seed']}): {runs['mean']:.1f} runs, "
        f"{low} to {high} in eight of ten; a wicket in {percent(wickets['at_least_one'])}",
        "heading",
    )
    shares = [entry["share"] for entry in runs["shares"]]
    if len(shares) > MOST_RUNS:
        shares = [*shares[:MOST_RUNS], sum(shares[MOST_RUNS:])]
    rows = [(f"{number}", share) for number, share in enumerate(shares)]
    if len(runs["shares"]) > MOST_RUNS:
        rows[-1] = (f"{MOST_RUNS}+", rows[-1][1])
    half = -(-len(rows) // 2)
    room = page.width // 2 - 18
    most = max(shares)
    for at in range(half):
        line: Line = []
        for name, share in rows[at::half]:
            line += [(f"  {name:>3} ", ""), *bar(share / most, share / most, room, page.glyphs)]
            line.append((f"{percent(share):>6}    ", "quiet"))
        page.add(*line)
    told = "   ".join(f"{row['wickets']}: {percent(row['share'])}" for row in wickets["shares"])
    page.add(("  wickets  ", ""), (told, "name"))
    page.blank()

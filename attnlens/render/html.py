"""An explanation as one HTML page that needs nothing else: no network, no script, no other file.

The style's hash is in the page's security policy and nothing else is allowed, so a name could
do nothing even were it not escaped. Every figure of the narrative links to where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.render import parts
from attnlens.render.html_heatmap import heat_map_svg, legend_svg
from attnlens.render.html_page import framed
from attnlens.render.html_text import name, share, table, text
from attnlens.words import count

BAR = 120
"""Width of the bars in units of their drawing; the style stretches them."""


KEY = (
    '<section aria-labelledby="looked">\n<h2 id="looked">Where it looked</h2>\n'
    '<p class="quiet">A row for each head, a column for each past ball; the darker, the larger its '
    "share of that head's attention (square roots are drawn). Framed: the balls a head's claim is "
    "about. · dot ball, w wide, n no-ball, b byes, W wicket.</p>\n</section>"
)
"""How to read the heat maps."""


def render_html(data: Mapping[str, Any]) -> str:
    """The page, without a final line break.

    Args:
        data: an explanation as plain data.
    """
    data = parts.presentable(data)
    outcome = parts.focus(data)
    ball = data["ball"]
    title = f"{ball['bowler']} to {ball['batter']}, {ball['echo'].split(' | ')[0]}"
    sections = [
        _header(data),
        "<main>",
        _narrative(data),
        '<div class="pair">',
        _expected(data, outcome),
        _contributions(data, outcome),
        "</div>",
        _claims(data),
        KEY if any(inner["balls"] for inner in data["across_balls"].values()) else "",
        *_heat_maps(data),
        _cautions(data),
        _sources(data),
        "</main>",
        f"<footer>\n<p>{text(parts.model_line(data))}.</p>\n"
        f"<p>attnlens explanation {text(data['schema_version'])}. {parts.CAVEAT}</p>\n</footer>",
    ]
    return framed(title, sections)


def _header(data: Mapping[str, Any]) -> str:
    ball = data["ball"]
    told = [
        f'<p class="match">{text(parts.match_line(data))}</p>',
        f"<h1>{name(ball['bowler'])} to {name(ball['batter'])}</h1>",
        f'<p class="score"><strong>{text(ball["score"])}/{text(ball["wickets"])}</strong> '
        f"{name(data['match']['batting_team'])}{_at_ball(ball)}{_chase(ball)}</p>",
        f'<p class="echo">{text(ball["echo"])}</p>',
    ]
    return "<header>\n" + "\n".join(told) + "\n</header>"


def _at_ball(ball: Mapping[str, Any]) -> str:
    over = " in a super over" if ball["super_over"] else ""
    return f"{over} before ball {text(ball['label'])}" if ball["label"] else f"{over}, next ball"


def _chase(ball: Mapping[str, Any]) -> str:
    if ball["runs_required"] is None or ball["balls_left"] is None:
        return ""
    return (
        f", {count(ball['runs_required'], 'run')} needed from {count(ball['balls_left'], 'ball')}"
    )


def _anchor(pointer: str) -> str:
    return "at" + "".join(c if c.isascii() and c.isalnum() else "-" for c in pointer)


def _narrative(data: Mapping[str, Any]) -> str:
    paragraphs = []
    for sentence in data["narrative"]:
        told = [
            text(words)
            if pointer is None
            else f'<a class="fact" href="#{_anchor(pointer)}" title="{text(pointer)}">'
            f"{name(words)}</a>"
            for words, pointer in parts.pieces(sentence)
        ]
        paragraphs.append(f"<p>{''.join(told)}</p>")
    return (
        '<section class="words" aria-labelledby="words">\n<h2 id="words">In words</h2>\n'
        + "\n".join(paragraphs)
        + "\n</section>"
    )


def _expected(data: Mapping[str, Any], outcome: str) -> str:
    calibration = data["prediction"]["calibration"]
    entries = data["prediction"]["outcomes"]
    most = max(max(entry["probability"], entry["baseline"]) for entry in entries)
    rows = []
    for entry in entries:
        key = entry["outcome"]
        words = OUTCOME_WORDS[key].removeprefix("a ")
        told = f"{key} <small>{words}</small>" if key != words else key
        if key == outcome:
            told = f"<strong>{told}</strong>"
        if key == data["prediction"]["actual"]:
            told += ' <span class="happened">● happened</span>'
        row = [
            told,
            _bar(entry["probability"] / most, entry["baseline"] / most),
            f"<strong>{share(entry['probability'], 1)}</strong>",
            share(entry["baseline"], 1),
            _points(100 * (entry["probability"] - entry["baseline"])),
        ]
        if calibration is not None:
            like = parts.of(calibration["outcomes"], key)
            row.append(f"{share(like['happened'], 1)} <small>of {like['balls']:,}</small>")
        rows.append(row)
    heads = ["outcome", '<span class="hidden">bar</span>', "now", "baseline", "points"]
    if calibration is not None:
        heads.append("such calls<br>came true")
    return (
        '<section aria-labelledby="expected">\n<h2 id="expected">What is expected</h2>\n'
        + table(
            "Chance of each outcome; the line is the baseline, a ball of which nothing is known",
            heads,
            rows,
            numbers=(2, 3, 4, 5),
            kind="bars outcomes",
        )
        + "\n</section>"
    )


def _bar(now: float, base: float) -> str:
    return (
        f'<svg class="bar" viewBox="0 0 {BAR} 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="0" y="2" width="{now * (BAR - 2):.1f}" height="10"/>'
        f'<line x1="{base * (BAR - 2) + 1:.1f}" x2="{base * (BAR - 2) + 1:.1f}" y1="0" y2="14"/>'
        "</svg>"
    )


def _points(points: float) -> str:
    told = parts.signed(points)
    way = "more" if told.startswith("+") else "less" if told.startswith("−") else "same"
    return f'<span class="{way}">{told}</span>'


def _contributions(data: Mapping[str, Any], outcome: str) -> str:
    if not data["contributions"]:
        return ""
    moves = [
        (group["group"], group["when"], parts.of(group["points"], outcome)["points"])
        for group in data["contributions"]
    ]
    moves.sort(key=lambda move: -abs(move[2]))
    most = max(abs(points) for _, _, points in moves) or 1.0
    half = BAR / 2
    rows = []
    for group, when, points in moves:
        long = abs(points) / most * (half - 2)
        start = half if points >= 0 else half - long
        way = "more" if points >= 0 else "less"
        rows.append(
            [
                text(group),
                f'<svg class="bar" viewBox="0 0 {BAR} 14" preserveAspectRatio="none" '
                f'aria-hidden="true"><rect class="{way}" x="{start:.1f}" y="2" '
                f'width="{long:.1f}" height="10"/><line x1="{half}" x2="{half}" y1="0" y2="14"/>'
                "</svg>",
                _points(points),
                text(when),
            ]
        )
    entry = parts.of(data["prediction"]["outcomes"], outcome)
    words = OUTCOME_WORDS[outcome]
    return (
        f'<section aria-labelledby="moves">\n<h2 id="moves">What moves {words}</h2>\n'
        + table(
            f"Points that each group adds to or takes from {words}: from "
            f"{parts.percent(entry['baseline'], 1)} to {parts.percent(entry['probability'], 1)}",
            ["group", '<span class="hidden">bar</span>', "points", "known"],
            rows,
            numbers=(2,),
            kind="bars",
        )
        + "\n</section>"
    )


def _claims(data: Mapping[str, Any]) -> str:
    start = '<section aria-labelledby="claims">\n<h2 id="claims">What it looked at, tested</h2>\n'
    claims = parts.claims_in_order(data)
    if not claims:
        return (
            f'{start}<p class="claim picture">○ Nothing was tested: the heat maps are a picture '
            "only.</p>\n</section>"
        )
    items = []
    for claim in claims:
        sign, words, kind = parts.VERDICTS[claim["verdict"]]
        told = [parts.before_after(claim)]
        if claim["removed_from"] == "head":
            told.append("hidden from this head alone")
        if claim["q"] is not None:
            told.append(f"q {claim['q']:.2g}")
        if claim["controls"]:
            told.append(f"{count(claim['controls'], 'control')}")
        if claim["reason"] is not None:
            told.append(claim["reason"])
        items.append(
            f'<li class="{kind}"><p class="verdict"><span aria-hidden="true">{sign}</span> {words}'
            f'</p><p>{text(claim["claim"])}</p><p class="quiet">{text("; ".join(told))}</p></li>'
        )
    rest = parts.other_heads(data)
    more = f'<p class="quiet">{count(rest, "test")} of single heads alone not listed: none was '
    more = f"{more}supported.</p>\n" if rest else ""
    return f'{start}<ul class="claims">\n' + "\n".join(items) + f"\n</ul>\n{more}</section>"


def _heat_maps(data: Mapping[str, Any]) -> list[str]:
    players = {row["index"]: f"{row['bowler']} to {row['batter']}" for row in data["history"]}
    told = []
    for scale, inner in data["across_balls"].items():
        weight = share(data["fusion_weights"][scale])
        start = (
            f'<section aria-labelledby="{scale}">\n<h3 id="{scale}">{scale.capitalize()} scale: '
            f"{text(inner['question'])} <small>{weight} of what reached the prediction</small></h3>"
        )
        if not inner["balls"]:
            told.append(f'{start}\n<p class="quiet">No ball to look at yet.</p>\n</section>')
            continue
        most = max(max(head["row"]) for head in inner["attention_by_head"].values())
        told.append(
            f'{start}\n<div class="scroll" tabindex="0" role="region" '
            f'aria-label="Heat map of the {scale} scale">\n'
            f"{heat_map_svg(scale, inner, players)}\n</div>\n"
            f'<p class="quiet">{legend_svg(most)}</p>\n'
            f"{_heads_table(scale, inner)}\n</section>"
        )
    return told


def _heads_table(scale: str, inner: Mapping[str, Any]) -> str:
    rows = []
    for key, head in inner["attention_by_head"].items():
        balls = ", ".join(
            f"{text(label)} <small>({OUTCOME_WORDS[outcome].removeprefix('a ')})</small> "
            f"{share(weight)}"
            for label, outcome, weight in zip(
                head["labels"], head["outcomes"], head["weights"], strict=True
            )
        )
        rows.append(
            [
                text(parts.head_name(key, head)),
                text(head["question"] or ""),
                balls or "none",
                share(head["past_attention"]),
                text(parts.earned(head) or "—"),
            ]
        )
    return (
        f"<details>\n<summary>The heads of the {scale} scale as a table</summary>\n"
        + table(
            f"What each head of the {scale} scale looked at most, in shares of its attention",
            ["head", "asks", "balls it lists", "on past balls", "also earned the name"],
            rows,
            numbers=(3,),
        )
        + "\n</details>"
    )


def _cautions(data: Mapping[str, Any]) -> str:
    if not data["flags"]:
        return ""
    items = "\n".join(f"<li>{text(flag['text'])}</li>" for flag in data["flags"])
    return (
        '<section aria-labelledby="cautions">\n<h2 id="cautions">Keep in mind</h2>\n'
        f'<ul class="cautions">\n{items}\n</ul>\n</section>'
    )


def _sources(data: Mapping[str, Any]) -> str:
    """Where each figure and name of the narrative comes from."""
    rows: dict[str, tuple[str, str]] = {}
    for sentence in data["narrative"]:
        for fact in sentence["facts"]:
            rows.setdefault(_anchor(fact["pointer"]), (fact["text"], fact["pointer"]))
    if not rows:
        return ""
    items = "\n".join(
        f'<li id="{anchor}">{name(words)} <code>{text(pointer)}</code></li>'
        for anchor, (words, pointer) in rows.items()
    )
    return (
        '<section class="sources-of" aria-labelledby="sources">\n'
        '<h2 id="sources">Where the figures come from</h2>\n'
        "<details>\n<summary>Each figure and name of the words above, and its place in the JSON "
        f'(attnlens explain --format json)</summary>\n<ul class="sources">\n{items}\n</ul>\n'
        "</details>\n</section>"
    )

"""What every head does across matches: the document of ``attnlens heads --json`` as a page."""

from __future__ import annotations

from typing import Final

from dash import dcc, html

from .functions import Data
from .parts import Page, marked

MOST_LIFT: Final = 4.0
"""Where a bar ends; what is beyond is told in figures."""


def is_measured(data: Data) -> bool:
    """Whether a document is one of heads, that a page can be made of."""
    try:
        heads_page(data)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return False
    return True


def heads_page(data: Data) -> Page:
    """Every head by scale, then slots."""
    lead = (
        f"Over {data['balls']:,} balls; matches: {data['matches']:,}. Bars: how many times as "
        "much of its past attention as even attention would pay; whiskers are 95% intervals over "
        "matches. A name is earned where looking and mattering both hold."
    )
    parts: Page = [html.H1("Heads across matches"), html.P(lead, className="lead")]
    for scale in data["scales"]:
        weight = "" if scale["weight"] is None else f", {scale['weight']:.0%} of the prediction"
        parts.append(
            html.Section(
                [
                    html.Div(
                        [
                            html.H2(f"{scale['scale']}: {scale['question']}"),
                            html.P(f"{scale['window']} {scale['unit']}{weight}", className="lead"),
                        ],
                        className="panel-head",
                    ),
                    html.Div([_head(head) for head in scale["heads"]], className="measured"),
                ],
                className="panel",
            )
        )
    parts.append(_slots(data))
    parts.append(dcc.Store(id="page-data", data={"page": "measured"}))
    return parts


def _words(name: str) -> str:
    return name.replace("_", " ").replace("batsman", "batter")


def _head(head: Data) -> html.Article:
    earned = head["earned"] != "unspecialised"
    rows = sorted(head["relations"], key=lambda row: -(row["lift"] or 0.0))[:5]
    importance = head["importance"]
    return html.Article(
        [
            html.H3(
                [
                    f"{head['number']} ",
                    html.Span(
                        _words(head["earned"]) if earned else "no name earned",
                        className="chip good" if earned else "chip",
                    ),
                ]
            ),
            html.P(f"started as {_words(head['pattern'])}", className="quiet small"),
            html.Div([_relation(row) for row in rows], className="lifts"),
            html.P(
                [
                    "without it ",
                    html.B(_points(importance["points"])),
                    f" (rank {importance['rank']}) · on itself ",
                    html.B(_share(head["self_attention"])),
                    " · built in ",
                    html.B(_share(head["bias_share"])),
                ],
                className="small",
            ),
        ]
    )


def _points(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f} points"


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.0%}"


def _relation(row: Data) -> html.Div:
    lift, ends = row["lift"], row["lift_ci"]
    told = "–" if lift is None else f"×{lift:.2f}"
    marks: Page = []
    if lift is not None:
        marks.append(html.I(className="lift", style={"width": _place(lift)}))
    if ends is not None:
        low, high = (min(max(end, 0.0), MOST_LIFT) for end in ends)
        width = f"{100 * (high - low) / MOST_LIFT:.2f}%"
        marks.append(html.I(className="whisker", style={"left": _place(low), "width": width}))
    marks.append(html.I(className="even", style={"left": _place(1.0)}))
    interval = "" if ends is None else f" (95% interval {ends[0]:.2f} to {ends[1]:.2f})"
    return html.Div(
        [
            html.Span(_words(row["relation"]), className="name"),
            html.Span(marks, className="track", **marked(aria_hidden="true")),
            html.Span(told, className="value", title=f"lift{interval}"),
        ],
        className="lift-row",
    )


def _place(lift: float) -> str:
    return f"{100 * min(max(lift, 0.0), MOST_LIFT) / MOST_LIFT:.2f}%"


def _slots(data: Data) -> html.Section:
    """Slots as one table."""

    def line(slot: Data) -> html.Tr:
        importance = slot["importance"]
        cells = [slot["reads"], _points(importance["points"]), str(importance["rank"])]
        return html.Tr(
            [html.Th(_words(slot["slot"]), scope="row"), *(html.Td(cell) for cell in cells)]
        )

    names = ("slot", "reads", "without it", "rank")
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in names]))
    table = html.Table([head, html.Tbody([line(slot) for slot in data["slots"]])])
    title = html.Div(html.H2("Slots inside the ball"), className="panel-head")
    return html.Section([title, table], className="panel")

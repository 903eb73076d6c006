"""An explanation as Markdown (GitHub's, CommonMark with tables), for issues and notebooks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.render import parts

SHADES: Final = "▁▂▃▄▅▆▇█"
MARKS: Final = re.compile(r"[\\`*_{}\[\]|~$^]")
HARMLESS: Final[tuple[tuple[str, str], ...]] = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    # No escape keeps these from becoming a mention, an issue or a link where it is shown.
    ("@", "＠"),
    ("://", "&#58;//"),
    ("www.", "www&#46;"),
)


def escape(text: str) -> str:
    """Text that Markdown shows as it is, in a paragraph or in a table's cell."""
    for found, told in HARMLESS:
        text = text.replace(found, told)
    text = MARKS.sub(r"\\\g<0>", text)
    return re.sub(r"#(?=\w)", r"\\#", text)


def _line(text: str) -> str:
    """Escaped text that begins a line: no list, heading or quote comes of it."""
    text = escape(text.strip())
    if re.match(r"[-+=#]", text):
        return f"\\{text}"
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", text)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """Cells are escaped already.

    Args:
        right: columns of numbers.
    """
    rule = ["--:" if at in right else "---" for at in range(len(heads))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def render_markdown(data: Mapping[str, Any]) -> str:
    """The explanation as a Markdown document, without a final line break.

    Args:
        data: an explanation as plain data.
    """
    data = parts.presentable(data)
    ball, outcome = data["ball"], parts.focus(data)
    title = f"{ball['bowler']} to {ball['batter']}"
    blocks = [
        f"# {escape(title)}",
        _line(parts.match_line(data)),
        _line(ball["echo"]),
        *(_line(sentence["text"]) for sentence in data["narrative"]),
        "## What is expected",
        _expected(data, outcome),
    ]
    if data["contributions"]:
        blocks += [f"## What moves {OUTCOME_WORDS[outcome]}", _contributions(data, outcome)]
    blocks += ["## Where it looked, and whether it mattered", *_claims(data), parts.CAVEAT]
    for scale, inner in data["across_balls"].items():
        if inner["balls"]:
            blocks += [f"### {scale.capitalize()} scale: {inner['question']}", _strip(inner)]
    if data["flags"]:
        cautions = "\n".join(f"- {_line(flag['text'])}" for flag in data["flags"])
        blocks += ["## Keep in mind", cautions]
    if data["summary"]:
        blocks += ["## Summary", _line(data["summary"])]
    blocks += ["---", _line(parts.model_line(data))]
    return "\n\n".join(blocks)


def _expected(data: Mapping[str, Any], outcome: str) -> str:
    calibration = data["prediction"]["calibration"]
    heads = [
        "outcome",
        "now",
        "baseline",
        "points",
        *(["such calls came true"] * bool(calibration)),
    ]
    rows = []
    for entry in data["prediction"]["outcomes"]:
        name = entry["outcome"]
        words = f"{name}: {OUTCOME_WORDS[name]}"
        now = parts.percent(entry["probability"], 1)
        bold = "**" if name == outcome else ""
        happened = " ← happened" if name == data["prediction"]["actual"] else ""
        row = [
            f"{bold}{words}{bold}{happened}",
            now,
            parts.percent(entry["baseline"], 1),
            parts.signed(100 * (entry["probability"] - entry["baseline"])),
        ]
        if calibration:
            like = parts.of(calibration["outcomes"], name)
            row.append(f"{parts.percent(like['happened'], 1)} (n {like['balls']:,})")
        rows.append(row)
    return _table(heads, rows, (1, 2, 3, 4))


def _contributions(data: Mapping[str, Any], outcome: str) -> str:
    rows = [
        (group["group"], group["when"], parts.of(group["points"], outcome)["points"])
        for group in data["contributions"]
    ]
    rows.sort(key=lambda row: -abs(row[2]))
    return _table(
        ["group", "known", "points"],
        [[escape(group), when, parts.signed(points)] for group, when, points in rows],
        (2,),
    )


def _claims(data: Mapping[str, Any]) -> list[str]:
    claims = parts.claims_in_order(data)
    if not claims:
        return ["Nothing was tested: the heat maps are a picture only."]
    rows = []
    for claim in claims:
        sign, words, _ = parts.VERDICTS[claim["verdict"]]
        alone = " (hidden from this head alone)" if claim["removed_from"] == "head" else ""
        reason = "" if claim["reason"] is None else f": {escape(claim['reason'])}"
        q = "" if claim["q"] is None else f"{claim['q']:.2g}"
        rows.append(
            [
                f"{sign} {words}{reason}",
                escape(claim["claim"]) + alone,
                parts.before_after(claim),
                q,
            ]
        )
    told = [_table(["verdict", "claim", "hidden", "q"], rows, (3,))]
    rest = parts.other_heads(data)
    if rest:
        one = "test of a single head alone is" if rest == 1 else "tests of single heads alone are"
        told.append(f"{rest} {one} not listed: none was supported.")
    return told


def _strip(inner: Mapping[str, Any]) -> str:
    """A scale's heat map as rows of shades, overs apart, in a block of code."""
    overs = [label.rpartition(".")[0] for label in inner["ball_labels"]]
    groups = [
        [at for at, _ in group] for _, group in groupby(enumerate(overs), lambda ball: ball[1])
    ]
    most = max(weight for head in inner["attention_by_head"].values() for weight in head["row"])

    def row(name: str, cells: Sequence[str]) -> str:
        told = ("".join(cells[at] for at in group) for group in groups)
        widths = (max(len(group), len(overs[group[0]])) for group in groups)
        return f"{name:<14}" + " ".join(
            text.ljust(width) for text, width in zip(told, widths, strict=True)
        )

    lines = [
        f"{'over':<14}"
        + " ".join(
            overs[group[0]].ljust(max(len(group), len(overs[group[0]]))) for group in groups
        ),
        row("outcome", [parts.sign_of(outcome) for outcome in inner["ball_outcomes"]]),
    ]
    for key, head in inner["attention_by_head"].items():
        shades = [SHADES[min(7, int(8 * weight / most)) if most else 0] for weight in head["row"]]
        lines.append(row(parts.head_name(key, head), shades))
    lines.append(f"{'':<14}{SHADES[-1]} {parts.percent(most, 1)} of a head's attention")
    return "\n".join(["```text", *(line.replace("`", "'").rstrip() for line in lines), "```"])

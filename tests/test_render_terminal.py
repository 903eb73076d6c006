"""The terminal page: what it says, how wide it gets, and what it never lets through."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any

import explanation_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Outcome
from attnlens.cricket.pages.ball_page import render_ball, render_summary
from attnlens.cricket.pages.full_page import render_full_page
from attnlens.cricket.pages.parts import short_names
from attnlens.cricket.words.narrative import in_words
from attnlens.errors import InputError
from attnlens.render.canvas import cut, display_width, fit, width_of
from attnlens.render.safe import clean, to_ascii

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def columns(line: str) -> int:
    """Counted here on its own, not with the code under test."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


def drawn(data: dict[str, Any], *, width: int = 100, **options: Any) -> list[str]:
    page = render_full_page(Explanation.from_dict(data), width=width, color=False, **options)
    return page.splitlines()


def page(ball: int = 47, *, evidence: bool = True, **options: Any) -> list[str]:
    return drawn(explanation_cases.explanation(ball, evidence=evidence), **options)


def renamed(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The same explanation with other names wherever a name stands."""
    text = json.dumps(data)
    for old, new in names.items():
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    changed: dict[str, Any] = json.loads(text)
    return changed


def row_of(lines: list[str], start: str) -> str:
    """The first line that begins so."""
    return next(line for line in lines if line.startswith(start))


def test_bars_show_base_now_and_difference_above_the_contributions() -> None:
    data = explanation_cases.explanation(47)
    lines = page()
    for entry in data["prediction"]["outcomes"]:
        now, base = entry["probability"], entry["usual"]
        if max(now, base) < 0.03:
            continue
        row = row_of(lines, f"  {entry['outcome']} ")
        points = f"{100 * (now - base):+.1f}".replace("-", "−")
        assert re.search(rf" {base:.0%} +{now:.0%} +{re.escape(points)}", row), row
        assert ("●" in row) == (entry["outcome"] == data["prediction"]["actual"])
    moves = {
        group["group"]: next(p["points"] for p in group["from_usual"] if p["outcome"] == "4")
        for group in data["contributions"]
    }
    largest = max(moves, key=lambda group: abs(moves[group]))
    told = f"{moves[largest]:+.1f}".replace("-", "−")
    assert largest == "striker's record"
    assert re.search(
        rf"Marchetti's record +{re.escape(told)} [█░]+$", "\n".join(lines), re.MULTILINE
    )
    assert "Why P(four) differs from usual (points)" in lines


def test_the_strip_has_a_shade_per_ball_overs_apart() -> None:
    data = explanation_cases.explanation(47)
    inner = data["across_balls"]["medium"]
    most = max(weight for head in inner["attention_by_head"].values() for weight in head["row"])
    lines = drawn(data)
    start = lines.index(row_of(lines, "  ball by ball"))
    assert f"█ {most:.0%}" in lines[start]
    overs = len({label.split(".")[0] for label in inner["ball_labels"]})
    carrying = sorted(inner["attention_by_head"].values(), key=lambda head: -head["carries"])
    for number, head in enumerate(carrying):
        row = lines[start + 3 + number][16:]
        assert row.count("│") == overs - 1
        shades = row.replace("│", "")[::2]
        levels = [min(7, int(8 * (weight / most) ** 0.5)) for weight in head["row"]]
        assert ["▁▂▃▄▅▆▇█".index(shade) for shade in shades] == levels


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(InputError, match="no scale 'wide'; choose one of micro short medium long"):
        page(scale="wide")


def story(data: dict[str, Any], width: int = 80) -> list[str]:
    return render_ball(Explanation.from_dict(data), width=width, color=False).splitlines()


def of_outcome(outcome: str) -> dict[str, Any]:
    data = explanation_cases.explanation(47)
    data["prediction"] |= {"explained": outcome, "subject": outcome}
    return data


def with_verdict(verdict: str) -> dict[str, Any]:
    """Every claim has this verdict, and hides all that the model as a whole does."""
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim |= {"verdict": verdict, "reason": "no balls have an effect here that matters"}
        claim["share"] = claim["share"] and 1.0
    return data


def special() -> dict[str, Any]:
    """A free hit that may be a hat-trick, with cautions above and below the headline."""
    data = explanation_cases.explanation(47)
    data["ball"]["free_hit"] = True
    data["ball"]["standing"] |= {"hat_trick": True, "partnership_runs": 40}
    data["flags"] = [
        {"flag": "in_training", "text": "It was in the training."},
        {"flag": "unseen_batter", "text": "Nobody has seen him bat."},
    ]
    return data


PAGES: dict[str, Callable[[], list[str]]] = {
    "full page": page,
    "full page, narrow": lambda: page(width=50),
    "full page, nothing tested": lambda: page(evidence=False),
    "full page, the first ball": lambda: page(1),
    "full page, the second ball": lambda: page(2),
    "full page, long scale": lambda: page(scale="long"),
    "full page, a dot ball": lambda: drawn(of_outcome("0")),
    "full page, a no-ball": lambda: drawn(of_outcome("nb")),
    "full page, heads carry all": lambda: drawn(with_verdict("supported")),
    "story": lambda: story(explanation_cases.explanation(47)),
    "story, special": lambda: story(special()),
    "story, nothing tested": lambda: story(explanation_cases.explanation(47, evidence=False)),
    **{
        f"story, {verdict}": partial(lambda verdict: story(with_verdict(verdict)), verdict)
        for verdict in ("not better than chance", "cannot be told", "contradicted")
    },
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(PAGES[name]()) == snapshot


def test_a_narrow_page_keeps_the_figures_of_the_reasons() -> None:
    data = explanation_cases.explanation(47)

    def figures(width: int) -> list[str]:
        lines = story(data, width)
        first = next(n for n, line in enumerate(lines) if line.startswith("Why P(four)"))
        reasons = takewhile(lambda line: line.startswith("   "), lines[first + 1 :])
        return [re.findall(r"[+−]\d+\.\d", line)[-1] for line in reasons]

    assert figures(40) == figures(80)
    assert len(figures(40)) > 1


def test_the_reasons_of_a_story_sum_to_the_difference() -> None:
    lines = story(explanation_cases.explanation(47))
    reasons = lines[lines.index("Why P(four) differs from usual (points)") + 1 :][:5]
    points = [re.search(r" ([+−][\d.]+) [█░]", line) for line in reasons]
    total = sum(float(match[1].replace("−", "-")) for match in points if match)
    assert abs(total - 100 * (0.169 - 0.083)) < 0.3


NASTY = (
    "\x1b[31mRed\x1b[0m Player",
    "\x1b]0;title\x07Setter T",
    "\x1b]8;;http://x\x1b\\L Link",
    "Two\nLines \x9b2J\x00",
    "R\u202evol \u200bZero\u2066",
    "山田 太郎",
    "Zoe\u0301 O\u0308ğuz",
    "Very Long Name Van Der Somewhere-Elsewhere-Beyond the Hills",
    "🏏 Bat",
    "[red]Bold[/red] <b>x</b>",
    "",
)


@settings(max_examples=40, deadline=None)
@given(
    width=st.integers(40, 200),
    ball=st.sampled_from([1, 2, 3, 8, 30, 47, 60]),
    outcome=st.sampled_from(explanation_cases.OUTCOMES),
    scale=st.sampled_from(["micro", "short", "medium", "long"]),
    evidence=st.booleans(),
    names=st.lists(st.sampled_from(NASTY) | st.text(max_size=40), min_size=9, max_size=9),
)
def test_no_line_is_too_wide_and_nothing_unclean_gets_through(
    width: int,
    ball: int,
    outcome: Outcome,
    scale: str,
    evidence: bool,
    names: list[str],
) -> None:
    people = (*explanation_cases.BATTERS, *explanation_cases.BOWLERS)
    data = explanation_cases.explanation(ball, evidence=evidence, bowled=ball != 8)
    data["prediction"]["subject"] = outcome
    told = Explanation.from_dict(renamed(data, dict(zip(people, names, strict=True))))
    pages = (
        partial(render_full_page, told, width=width, scale=scale),
        partial(render_ball, told, width=width),
    )
    lines = []
    for drawn_page in pages:
        plain, colored = drawn_page(color=False), drawn_page(color=True)
        assert COLOR.sub("", colored) == plain
        assert colored != plain
        lines += plain.split("\n")
    for line in lines:
        assert columns(line) <= width, line
        assert line == line.rstrip()
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in line)


@given(st.text(alphabet=st.sampled_from("\x1b[]0;m\x07\\Pab\x9b\x9d\n"), max_size=30))
def test_no_escape_survives_cleaning(text: str) -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", clean(text))
    assert clean(clean(text)) == clean(text)
    assert to_ascii("é→山") == "e>?"
    assert to_ascii("S = Q Kᵀ / √5") == "S = Q K^T / sqrt 5"


def test_surnames_tell_players_apart() -> None:
    names = ["R Varela", "T Varela", "AB de Villiers", "Shakib", "RA Khan", "RB Khan"]
    short = ["R Varela", "T Varela", "de Villiers", "Shakib", "RA Khan", "RB Khan"]
    assert short_names(names) == dict(zip(names, short, strict=True))


@given(st.text(max_size=40), st.integers(0, 40))
def test_cutting_keeps_to_the_width(text: str, width: int) -> None:
    short = cut(text, width)
    assert display_width(short) <= width
    assert display_width(text) > width or short == text
    assert width_of(fit([(text, ""), (text, "bar")], width)) <= width


@pytest.mark.parametrize("ball", range(1, 61))
def test_every_page_shows_attention_on_28_lines(ball: int) -> None:
    data = explanation_cases.explanation(ball)
    data["flags"] = [
        {"flag": "unseen_batter", "text": f"Nobody has seen player {number} bat."}
        for number in range(3)
    ]
    data["records"] = explanation_cases.EXAMPLE["records"]
    lines = story(data)
    assert len(lines) <= 28
    # Narrower, the legend of the strip takes two lines.
    assert len(story(data, 78)) <= 28
    assert max(map(len, lines)) <= 80
    if ball == 1:
        assert "Attention: no ball of this innings came before this one." in lines
    else:
        assert any(line.startswith("  all heads") for line in lines)


def test_the_summary_is_never_empty() -> None:
    def summary(ball: int, **options: bool) -> str:
        explanation = Explanation.from_dict(explanation_cases.explanation(ball, **options))
        return render_summary(in_words(explanation))

    assert summary(1) == "No attention on past balls: no ball of this innings came before this one"
    attention, _, hidden = summary(47).rpartition(" | ")
    data = explanation_cases.explanation(47)
    assert attention == data["summary"]
    assert hidden == "Hiding the 4 balls it attended to most: P(four) 16.9% → 16.0% (0.0005 nats)"
    assert summary(47, evidence=False) == data["summary"]
    unsafe = data | {"summary": "Focus on A\x1b[2J B"}
    assert render_summary(Explanation.from_dict(unsafe)) == "Focus on A B"

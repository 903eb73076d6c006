"""The terminal page: what it says, how wide it gets, and what it never lets through."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import partial
from typing import Any

import explanation_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.outcomes import OUTCOMES, Outcome
from attnlens.cricket.pages import heads
from attnlens.cricket.pages.ball_page import render_story, render_summary, render_terminal
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
    page = render_terminal(Explanation.from_dict(data), width=width, color=False, **options)
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


def test_the_first_line_tells_which_ball() -> None:
    echo = explanation_cases.explanation(47)["ball"]["echo"]
    assert page()[0] == echo
    narrow = page(width=50)
    parts = [line.split(" | ") for line in narrow[:3]]
    assert " | ".join(part.removesuffix(" |") for line in parts for part in line) == echo


def test_bars_show_now_base_and_difference_beside_the_contributions() -> None:
    data = explanation_cases.explanation(47)
    lines = page()
    for entry in data["prediction"]["outcomes"]:
        now, base = entry["probability"], entry["usual"]
        if max(now, base) < 0.03:
            continue
        row = row_of(lines, f"  {entry['outcome']} ")
        points = f"{100 * (now - base):+.1f}".replace("-", "−")
        assert re.search(rf" {now:.0%} +{base:.0%} +{re.escape(points)}", row), row
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
    assert "what moves P(4)" in lines[2]


def test_the_strip_has_a_shade_per_ball_overs_apart() -> None:
    data = explanation_cases.explanation(47)
    inner = data["across_balls"]["medium"]
    most = max(weight for head in inner["attention_by_head"].values() for weight in head["row"])
    lines = drawn(data)
    start = lines.index(row_of(lines, "  ball by ball"))
    assert f"█ {most:.0%}" in lines[start]
    overs = len({label.split(".")[0] for label in inner["ball_labels"]})
    for number, head in enumerate(inner["attention_by_head"].values()):
        row = lines[start + 3 + number][16:]
        assert row.count("│") == overs - 1
        shades = row.replace("│", "")[::2]
        levels = [min(7, int(8 * (weight / most) ** 0.5)) for weight in head["row"]]
        assert ["▁▂▃▄▅▆▇█".index(shade) for shade in shades] == levels


def test_an_outcome_asked_for_is_the_one_explained() -> None:
    data = explanation_cases.explanation(47)
    data["prediction"] |= {"explained": "0", "story_outcome": "0"}
    lines = drawn(data)
    assert "what moves P(0)" in lines[2]
    data["prediction"] |= {"explained": "nb", "story_outcome": "nb"}
    assert re.search(r"^  no-ball .* <1% .*◂", "\n".join(drawn(data)), re.MULTILINE)
    assert any(
        line.startswith("  what heads looked at (long scale, 44") for line in page(scale="long")
    )
    with pytest.raises(InputError, match="no scale 'wide'; choose one of micro short medium long"):
        page(scale="wide")


def story(data: dict[str, Any], width: int = 80) -> list[str]:
    return render_story(Explanation.from_dict(data), width=width, color=False).splitlines()


def test_the_story_of_a_ball_on_one_screen() -> None:
    lines = story(explanation_cases.explanation(47))
    assert len(lines) <= 30
    whole = "\n".join(lines)
    assert "Harbour Kings 76/3 v Valley Riders" in whole
    assert "innings 1, delivery 47 of 60, legal ball 7.3 (45th)" in whole
    assert "Marchetti 25 (12) · Brandt 0-9 (1.2) · middle overs · last six:" in whole
    assert "A four is twice as likely as usual here: 17%, not 8%." in lines
    assert "   dot 33%  1 34%  2 6%  FOUR 17% ▲▲  six 5% ▲" in lines
    reasons = lines[lines.index("Why, in points of P(four) from usual") + 1 :][:5]
    assert reasons[0].startswith("   Marchetti's record")
    total = sum(float(line[46:53].replace("−", "-")) for line in reasons)
    assert abs(total - 100 * (0.169 - 0.083)) < 0.3
    at = next(at for at, line in enumerate(lines) if line.startswith("  ball by ball"))
    assert "▲ raises P(4), ▼ lowers it" in lines[at]
    assert [line[:16].strip() for line in lines[at + 1 : at + 4]] == [
        "over",
        "outcome",
        "all heads",
    ]
    assert lines[at + 7].split()[0] == "effect"
    assert set(lines[at + 7][16:]) <= set("▲▼·│ ")
    assert "Tested: without ball 7.1 it would be 14%, not 17% (supported, q 0.02). ✓" in lines
    assert any(line.startswith("Then: a four (17%).") for line in lines)


def test_what_is_special_and_cautions_stand_above_the_story() -> None:
    data = explanation_cases.explanation(47)
    data["ball"]["free_hit"] = True
    data["ball"]["standing"] |= {"hat_trick": True, "partnership_runs": 40}
    data["flags"] = [
        {"flag": "in_training", "text": "It was in the training."},
        {"flag": "unseen_batter", "text": "Nobody has seen him bat."},
    ]
    lines = story(data)
    assert any(line.startswith("free hit · hat-trick ball · Marchetti 25") for line in lines)
    stood = data["ball"]["standing"]["partnership_balls"]
    assert f"stand 40 ({stood})" in "\n".join(lines)
    where = {text: at for at, text in enumerate(lines)}
    headline = next(at for at, line in enumerate(lines) if line.startswith("A four is twice"))
    assert where["  ! Nobody has seen him bat."] < headline < where["  ! It was in the training."]


def test_without_a_supported_claim_the_story_says_why() -> None:
    data = explanation_cases.explanation(47)

    def said(verdict: str) -> str:
        for claim in data["evidence"]:
            claim |= {"verdict": verdict, "reason": "no balls do enough here to matter"}
        return next(line for line in story(data) if line.startswith("Tested"))

    chance = "Tested: what it looked at is not shown to matter more than chance would have it."
    assert said("not better than chance") == chance
    untold = "Tested, and nothing can be told: no balls do enough here to matter."
    assert said("cannot be told") == untold
    assert said("contradicted").startswith("Tested: without ball 7.1 it would be 14%, not 17%")
    assert "Nothing was tested." in story(explanation_cases.explanation(47, evidence=False))


def test_an_effect_never_runs_into_the_next_column() -> None:
    shown = Explanation.from_dict(explanation_cases.explanation())
    claim = shown.evidence[0]
    for outcome in OUTCOMES:
        for before, after in ((0.182, 0.1821), (0.116, 0.124), (0.995, 0.9999), (0.4, 0.1)):
            told = {"outcome": outcome, "before": before, "after": after}
            change = claim.top_change.model_copy(update=told)
            effect = heads.effect_of(claim.model_copy(update={"top_change": change}))
            assert len(effect) < heads.EFFECT
            assert outcome in effect


def test_claims_about_the_model_and_about_heads_stand_apart() -> None:
    lines = page()
    heads = next(at for at, line in enumerate(lines) if line.startswith("  what heads looked at"))
    model, alone = "\n".join(lines[:heads]), "\n".join(lines[heads:])
    assert "which balls mattered (hidden from the whole model)" in model
    assert not re.search(r"\bhead\b", model)
    assert re.search(
        r"^  the last 4 balls +P\(4\) 17 → 15% +  = for comparison$", model, re.MULTILINE
    )
    # A head that carries too little, or nothing: its picture, and no figure.
    for name in ("head 0 (recency) where is the momentum now?", "head 4", "head 5"):
        assert re.search(rf"^  {re.escape(name)} +○ picture only$", alone, re.MULTILINE)
    assert re.search(r"^  head 2 \(same batsman\) .* 0.03 ✓ supported$", alone, re.MULTILINE)
    assert "hidden from this head alone: 34% of what hiding them from the whole model" in alone
    data = explanation_cases.explanation(47)
    for claim in data["evidence"]:
        claim["share"] = claim["share"] and 1.0  # what is more is cut
    assert "from this head alone: at least as much as hiding them" in "\n".join(drawn(data))
    assert "momentum" not in alone.replace("head 0 (recency) where is the momentum now?", "")


def test_without_evidence_nothing_claims_a_verdict() -> None:
    text = "\n".join(page(evidence=False))
    assert "what moves" not in text
    assert not re.search("supported|better than chance|contradicted", text)
    assert "  ! No claim was tested: evidence was switched off." in text.splitlines()


def test_without_a_past_the_page_says_so() -> None:
    lines = page(1)
    assert "    nothing: no ball of this innings was bowled before this one" in lines
    assert "  ! No ball of this innings has been bowled yet." in lines
    assert not any(line.startswith("  ball by ball") for line in lines)
    assert any(
        line.startswith("  what heads looked at (medium scale, 1 past ball)") for line in page(2)
    )


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
    data["prediction"]["story_outcome"] = outcome
    told = Explanation.from_dict(renamed(data, dict(zip(people, names, strict=True))))
    pages = (
        partial(render_terminal, told, width=width, scale=scale),
        partial(render_story, told, width=width),
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
    assert to_ascii("é→山") == "e->?"
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
def test_every_page_shows_attention_on_thirty_lines(ball: int) -> None:
    data = explanation_cases.explanation(ball)
    data["flags"] = [
        {"flag": "unseen_batter", "text": f"Nobody has seen player {number} bat."}
        for number in range(3)
    ]
    lines = story(data)
    assert len(lines) <= 30
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
    assert hidden == "Hiding the 4 balls it attended to most: P(4) 16.9% → 16.0% (0.0005 nats)"
    assert summary(47, evidence=False) == data["summary"]
    unsafe = data | {"summary": "Focus on A\x1b[2J B"}
    assert render_summary(Explanation.from_dict(unsafe)) == "Focus on A B"

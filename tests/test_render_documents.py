"""Markdown and HTML of explanations: what they tell, read again by other parsers."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import explanation_cases
import hostile
import pytest
from command_line import Here
from html_elements import Elements
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.lab.simulator import save_simulated
from attnlens.cricket.pages import parts
from attnlens.cricket.pages.ball_page import ball_page_of
from attnlens.cricket.pages.documents import render_html, render_markdown
from attnlens.render.heat_map import LEVELS
from attnlens.render.numbers import percent_seen
from attnlens.render.safe import markdown, printable


def told(ball: int = 47, **options: Any) -> Explanation:
    data = explanation_cases.explanation(ball, **options)
    return Explanation.from_dict(data | {"narrative": explanation_cases.narrated(data)})


COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def skeleton(markdown: str) -> list[tuple[str, str]]:
    """Kinds of blocks and of marks inside them, in order, as a parser of CommonMark sees them."""
    found = []
    for token in COMMONMARK.parse(markdown):
        found.append((token.type, token.tag))
        found += [(child.type, child.tag) for child in token.children or () if child.nesting]
        assert token.type not in ("html_block",)
        for child in token.children or ():
            assert child.type not in ("html_inline", "image", "link_open", "code_inline"), child
    return found


def shown_text(markdown: str) -> str:
    inline = [token for token in COMMONMARK.parse(markdown) if token.type in ("inline", "fence")]
    return "\n".join(
        "".join(child.content for child in token.children) if token.children else token.content
        for token in inline
    )


CASES = {
    "a ball": (47, {}),
    "the first ball": (1, {}),
    "the second ball": (2, {}),
    "nothing tested": (47, {"evidence": False}),
    "not yet bowled": (47, {"bowled": False}),
    "a super over": (5, {"super_over": True}),
    "late": (60, {}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_documents_hold_the_story_and_the_figures(case: tuple[int, dict[str, Any]]) -> None:
    explanation = told(case[0], **case[1])
    bowled = explanation.prediction.actual is not None
    page = render_markdown(explanation)
    assert skeleton(page)
    assert not page.endswith("\n")
    text = shown_text(page)
    assert text.count("happened") == bowled
    for entry in explanation.prediction.outcomes:
        assert percent_seen(entry.probability, 1) in text
    for words in (*explanation.narrative, *explanation.flags):
        assert words.text in text
    page = render_html(explanation)
    elements = Elements(page)
    used = {"script", "img", "link", "iframe", "object", "style"}.intersection(elements.names)
    assert used == {"style"}
    for attribute, value in elements.attributes:
        assert not attribute.startswith("on")
        assert attribute not in ("src", "style", "srcset", "action")
        assert attribute != "href" or str(value).startswith("#")
    for sentence in explanation.narrative:
        assert sentence.text in " ".join(elements.text.split())
    for name in (explanation.ball.bowler, explanation.ball.batter):
        assert f"<bdi>{name}</bdi>" in page
    assert elements.text.count("● happened") == bowled
    for claim in explanation.evidence:
        listed = claim.removed_from == "model" or claim.verdict == "supported"
        assert (claim.claim in text) == listed
        if listed:
            sign, words, kind = parts.verdict_of(claim)
            assert words in text
            verdict = f'<p class="verdict"><span aria-hidden="true">{sign}</span> {words}'
            assert f'<li class="{kind}">{verdict}' in page
            assert html.escape(claim.claim, quote=False) in page
    story = ball_page_of(explanation)
    for row in story.hidden:
        assert f"{row.balls}</th>" in page
        assert f">{row.change}</td>" in page
    sentences = [story.headline, *story.came, *explanation.narrative]
    facts = [fact for sentence in sentences for fact in sentence.facts]
    told_facts = re.findall(r'<bdi class="fact" title="([^"]+)">([^<]*)', page)
    assert [(pointer, html.unescape(words)) for pointer, words in told_facts] == [
        (fact.pointer, fact.text) for fact in facts
    ]


def test_the_policy_lets_in_this_style_and_nothing_else() -> None:
    page = render_html(told())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style
    assert "@import" not in style
    for medium in ("screen and (prefers-color-scheme: dark)", "print"):
        assert f"@media {medium}" in style


def test_the_drawings_are_the_heat_maps_on_one_scale() -> None:
    explanation = told()
    page = render_html(explanation)
    drawings = [
        ElementTree.fromstring(drawing)
        for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        if 'role="img"' in drawing
    ]
    assert len(drawings) == 6
    first, *drawings = drawings
    assert first.findtext("title", "") == "Attention to each past ball, and its effect"
    balls = len(explanation.across_balls.medium.balls)
    words = [cell.findtext("title", "") for cell in first.findall("rect")]
    assert len(words) == 5 * balls
    assert [text.startswith("all heads, ball ") for text in words].count(True) == balls
    assert [text.endswith(" points of P(four)") for text in words].count(True) == balls
    scales = dict(explanation.across_balls)
    rows = {
        scale: [head.row for head in reversed(inner.attention_by_head.values())]
        for scale, inner in scales.items()
    }  # in these documents later heads carry more
    most = max(weight for heads in rows.values() for row in heads for weight in row)
    assert f"</svg> {percent_seen(most, 1)} of a head" in page
    for drawing, (scale, inner) in zip(drawings, scales.items(), strict=True):
        assert drawing.findtext("title", "").startswith(scale.capitalize())
        cells = drawing.findall("rect")
        weights = [weight for row in rows[scale] for weight in row]
        for cell, weight in zip(cells, weights, strict=True):
            shade, *_ = cell.get("class", "").split()
            assert int(shade[1:]) / LEVELS == pytest.approx((weight / most) ** 0.5, abs=0.026)
            words = cell.findtext("title", "")
            assert words.endswith(f": {percent_seen(weight, 1)} of its attention")
        boxes = [(float(c.get("x", "")), float(c.get("y", ""))) for c in cells]
        assert len(set(boxes)) == len(boxes)
        _, _, width, height = map(float, drawing.get("viewBox", "").split())
        assert all(0 < x < width and 0 < y < height for x, y in boxes)
        listed = sum(len(head.top_any) for head in inner.attention_by_head.values())
        framed = [cell for cell in cells if cell.get("class", "").endswith(" listed")]
        assert len(framed) == (listed if len(inner.balls) <= 40 else 0)


@given(st.text(min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_any_text_is_only_text_in_markdown(name: str) -> None:
    name = printable(name).strip()
    for template in ("A {} B", "| h |\n| --- |\n| x {} |"):
        plain = skeleton(template.format("x"))
        page = template.format(markdown(name))
        assert skeleton(page) == plain
    shown = shown_text(f"A {markdown(name)} B")
    plainer = re.sub(r"\s+", " ", shown.replace("＠", "@"))
    assert plainer == re.sub(r"\s+", " ", f"A {name.replace('＠', '@')} B")


def test_long_names_are_cut_the_same_everywhere() -> None:
    text = told().to_json().replace("J Marchetti", "J " + 300 * "M")
    shown = parts.presentable(Explanation.from_json(text))
    assert shown.ball.batter == "J " + 57 * "M" + "…"
    assert 61 * "M" not in shown.to_json()
    for sentence in shown.narrative:
        assert all(fact.text in sentence.text for fact in sentence.facts)


# ---- through the command line, with names that would do harm


@pytest.fixture(scope="module")
def matches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, str]]:
    """The same match with plain and with hostile names, and which name took which's place."""
    folder = tmp_path_factory.mktemp("hostile")
    save_simulated(folder / "plain.json", [4])
    return (
        folder / "plain.json",
        folder / "hostile.json",
        hostile.save_hostile(folder / "hostile.json"),
    )


UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\x1b\x07]")


def test_hostile_names_change_nothing_in_html_and_markdown(
    attnlens_here: Here, matches: tuple[Path, Path, dict[str, str]]
) -> None:
    plain, harmful, _ = matches
    for kind, ball in (("html", "40"), ("html", "2:17"), ("markdown", "2:17")):
        asked = ("--ball", ball, "--format", kind)
        one, two = (attnlens_here.good("explain", path, *asked) for path in (plain, harmful))
        if kind == "html":
            assert Elements(two).tags == Elements(one).tags
            assert max(map(len, Elements(two).text.split("\n"))) < 4000
        else:
            assert skeleton(two) == skeleton(one)
            assert len(two.splitlines()) == len(one.splitlines())
        assert not UNSEEN.search(Elements(two).text if kind == "html" else two)

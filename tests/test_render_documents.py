"""Markdown and HTML of explanations: what they tell, read again by other parsers."""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import explanation_cases
import hostile
import pytest
from command_line import Here
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnlens.cricket.simulated_files import save_simulated
from attnlens.explanation import narrate
from attnlens.render import parts
from attnlens.render.html import render_html
from attnlens.render.markdown import escape, render_markdown

VOID = {"meta", "br", "img", "input", "hr", "link"}


class Tags(HTMLParser):
    """The tags of a page, its text, and whether every tag is closed in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        return "".join(self.texts)


def told(ball: int = 47, **options: Any) -> dict[str, Any]:
    data = explanation_cases.explanation(ball, **options)
    return data | {"narrative": narrate(data)}


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
def test_markdown_tells_the_story_and_the_figures(case: tuple[int, dict[str, Any]]) -> None:
    data = told(case[0], **case[1])
    page = render_markdown(data)
    text = shown_text(page)
    for sentence in data["narrative"]:
        assert sentence["text"] in text
    for flag in data["flags"]:
        assert flag["text"] in text
    for claim in data["evidence"]:
        assert claim["claim"] in text
        if claim["verdict"] is not None:
            assert claim["verdict"] in text
    for entry in data["prediction"]["outcomes"]:
        assert parts.percent(entry["probability"], 1) in text
    assert text.count("happened") == (data["prediction"]["actual"] is not None)
    kinds = [kind for kind, _ in skeleton(page)]
    assert kinds.count("table_open") == 1 + 2 * bool(data["evidence"]) + (
        bool(data["contributions"]) and not data["evidence"]
    )
    assert kinds.count("fence") == sum(
        bool(inner["balls"]) for inner in data["across_balls"].values()
    )
    assert not page.endswith("\n")


def test_the_strip_has_one_sign_per_ball_and_the_darkest_for_the_most() -> None:
    data = told()
    inner = data["across_balls"]["medium"]
    strips = re.findall(r"```text\n(.*?)```", render_markdown(data), re.DOTALL)
    lines = {line[:14].strip(): line[14:] for line in strips[2].splitlines()}
    assert lines["outcome"].replace(" ", "") == "".join(
        {"0": "·", "wd": "w", "nb": "n"}.get(outcome, outcome) for outcome in inner["ball_outcomes"]
    )
    for key, head in inner["attention_by_head"].items():
        shades = lines[parts.head_name(key, head)].replace(" ", "")
        assert len(shades) == len(inner["balls"])
        order = sorted(range(len(shades)), key=lambda at: head["row"][at])
        levels = ["▁▂▃▄▅▆▇█".index(shades[at]) for at in order]
        assert levels == sorted(levels)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_html_tells_the_story_and_needs_nothing_else(case: tuple[int, dict[str, Any]]) -> None:
    data = told(case[0], **case[1])
    page = render_html(data)
    tags = Tags(page)
    names = {name for name, _ in tags.tags}
    assert names & {"script", "img", "link", "iframe", "object", "style"} == {"style"}
    for attribute, value in tags.attributes:
        assert not attribute.startswith("on")
        assert attribute not in ("src", "style", "srcset", "action")
        assert attribute != "href" or str(value).startswith("#")
    for sentence in data["narrative"]:
        assert sentence["text"] in tags.text
    for name in ("bowler", "batter"):
        assert f"<bdi>{data['ball'][name]}</bdi>" in page
    assert tags.text.count("● happened") == (data["prediction"]["actual"] is not None)


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
    for medium in ("(prefers-color-scheme: dark)", "print"):
        assert f"@media {medium}" in style


def test_every_fact_links_to_its_pointer() -> None:
    data = told()
    page = render_html(data)
    links = re.findall(r'<a class="fact" href="#([^"]+)" title="([^"]+)"><bdi>([^<]*)', page)
    facts = [fact for sentence in data["narrative"] for fact in sentence["facts"]]
    assert [(pointer, words) for _, pointer, words in links] == [
        (fact["pointer"], fact["text"]) for fact in facts
    ]
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for anchor, pointer, _ in links:
        assert re.search(rf'<li id="{anchor}">.*<code>{pointer}</code></li>', page)


def test_headings_and_tables_have_their_order() -> None:
    tags = Tags(render_html(told()))
    order = [
        name for name, _ in tags.tags if name in ("h1", "h2", "h3", "main", "header", "footer")
    ]
    assert order[:2] == ["header", "h1"]
    assert order.count("h1") == order.count("main") == order.count("footer") == 1
    heads = [attributes for name, attributes in tags.tags if name == "th"]
    assert heads
    assert all("scope" in attributes for attributes in heads)
    assert len([1 for name, _ in tags.tags if name == "caption"]) == len(
        [1 for name, _ in tags.tags if name == "table"]
    )


def test_the_drawing_is_the_heat_map() -> None:
    data = told()
    page = render_html(data)
    drawings = [
        ElementTree.fromstring(drawing)
        for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        if 'role="img"' in drawing
    ]
    assert len(drawings) == 4
    for drawing, (scale, inner) in zip(drawings, data["across_balls"].items(), strict=True):
        assert drawing.find("title") is not None
        assert drawing.get("aria-labelledby") == f"{scale}-title {scale}-told"
        weights = [weight for head in inner["attention_by_head"].values() for weight in head["row"]]
        cells = drawing.findall("rect")
        most = max(weights)
        for cell, weight in zip(cells, weights, strict=True):
            assert float(cell.get("fill-opacity")) ** 2 == pytest.approx(weight / most, abs=0.011)
            words = cell.findtext("title")
            assert words.endswith(f": {parts.percent(weight, 1)} of its attention")
        boxes = [(float(c.get("x")), float(c.get("y"))) for c in cells]
        assert len(set(boxes)) == len(boxes)
        _, _, width, height = map(float, drawing.get("viewBox").split())
        assert all(0 < x < width and 0 < y < height for x, y in boxes)
        listed = sum(len(head["top_balls"]) for head in inner["attention_by_head"].values())
        framed = [cell for cell in cells if cell.get("class") == "listed"]
        assert len(framed) == (listed if len(inner["balls"]) <= 40 else 0)


def test_verdicts_are_told_by_sign_and_word() -> None:
    page = render_html(told())
    for sign, words, kind in parts.VERDICTS.values():
        assert (
            f'<li class="{kind}"><p class="verdict"><span aria-hidden="true">{sign}</span> {words}'
            in (page)
        )


@given(st.text(min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_text_is_only_text_in_markdown(name: str) -> None:
    name = parts.seen(name).strip()
    for template in ("A {} B", "| h |\n| --- |\n| x {} |"):
        plain = skeleton(template.format("x"))
        page = template.format(escape(name))
        assert skeleton(page) == plain
    shown = shown_text(f"A {escape(name)} B")
    plainer = re.sub(r"\s+", " ", shown.replace("＠", "@"))
    assert plainer == re.sub(r"\s+", " ", f"A {name.replace('＠', '@')} B")


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_what_is_seen_of_a_whole_is_what_is_seen_of_its_parts(texts: list[str]) -> None:
    assert parts.seen("".join(texts)) == "".join(map(parts.seen, texts))


def test_a_sentence_is_its_pieces() -> None:
    for sentence in told()["narrative"]:
        pieces = list(parts.pieces(sentence))
        assert "".join(words for words, _ in pieces) == sentence["text"]
        assert [
            {"text": words, "pointer": pointer} for words, pointer in pieces if pointer is not None
        ] == sentence["facts"]


def test_long_names_are_cut_the_same_everywhere() -> None:
    data = told()
    text = json.dumps(data).replace("J Marchetti", "J " + 300 * "M")
    shown = parts.presentable(json.loads(text))
    assert shown["ball"]["batter"] == "J " + 57 * "M" + "…"
    assert 61 * "M" not in json.dumps(shown)
    for sentence in shown["narrative"]:
        assert all(fact["text"] in sentence["text"] for fact in sentence["facts"])


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


BALLS = ("40", "2:17")


@pytest.mark.parametrize("ball", BALLS)
def test_hostile_names_change_nothing_in_html(
    attnlens_here: Here, matches: tuple[Path, Path, dict[str, str]], ball: str
) -> None:
    plain, harmful, _ = matches
    asked = ("--ball", ball, "--no-evidence", "--format", "html")
    one, two = (Tags(attnlens_here.good("explain", path, *asked)) for path in (plain, harmful))
    assert two.tags == one.tags
    assert max(map(len, two.text.split("\n"))) < 4000
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\x1b\x07]", two.text)


@pytest.mark.parametrize("ball", BALLS)
def test_hostile_names_change_nothing_in_markdown(
    attnlens_here: Here, matches: tuple[Path, Path, dict[str, str]], ball: str
) -> None:
    plain, harmful, _ = matches
    asked = ("--ball", ball, "--no-evidence", "--format", "markdown")
    one, two = (attnlens_here.good("explain", path, *asked) for path in (plain, harmful))
    assert skeleton(two) == skeleton(one)
    assert len(two.splitlines()) == len(one.splitlines())
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\x1b\x07]", two)


def test_hostile_names_change_nothing_in_text_summary_and_json(
    attnlens_here: Here, matches: tuple[Path, Path, dict[str, str]]
) -> None:
    _, harmful, changed = matches
    asked = ("explain", harmful, "--ball", "40", "--no-evidence")
    page = attnlens_here.good(*asked)
    assert max(map(len, page.splitlines())) <= 100
    summary = attnlens_here.good(*asked, "--format", "summary")
    assert summary.count("\n") == 1
    for text in (page, summary):
        assert not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\x1b\x07]", text)
    data = json.loads(attnlens_here.good(*asked, "--json"))
    assert data["ball"]["batter"] in changed.values()
    assert check_facts(data)


def check_facts(data: dict[str, Any]) -> bool:
    return all(
        fact["text"] in sentence["text"]
        for sentence in data["narrative"]
        for fact in sentence["facts"]
    )


def test_tested_claims_of_hostile_names_are_shown_too(
    attnlens_here: Here, matches: tuple[Path, Path, dict[str, str]]
) -> None:
    _, harmful, _ = matches
    data = json.loads(attnlens_here.good("explain", harmful, "--ball", "30", "--json"))
    plain = copy.deepcopy(data)
    text = json.dumps(plain)
    names = {row[role] for row in data["history"] for role in ("batter", "bowler")}
    names |= {data["ball"][role] for role in ("batter", "bowler", "non_striker")}
    for at, name in enumerate(sorted(names, key=len, reverse=True)):
        text = text.replace(json.dumps(name)[1:-1], f"Player {at:02d}")
    plain = json.loads(text)
    assert data["evidence"]
    assert Tags(render_html(data)).tags == Tags(render_html(plain)).tags
    assert skeleton(render_markdown(data)) == skeleton(render_markdown(plain))


def test_a_page_is_written_whole_to_its_place(attnlens_here: Here, sample_match_path: Path) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--no-evidence", "--format", "html")
    page = attnlens_here.good(*asked)
    assert attnlens_here.good(*asked, "--out", "page.html") == ""
    assert (attnlens_here.folder / "page.html").read_text("utf-8") == page
    answer = attnlens_here("explain", sample_match_path, "--all", "--format", "markdown")
    assert (answer.status, answer.out) == (2, "")
    assert "--all writes whole explanations as JSON lines, not --format markdown" in answer.err

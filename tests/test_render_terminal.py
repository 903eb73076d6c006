"""The terminal page: what it says, how wide it gets, and what it never lets through."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import unicodedata
from typing import Any

import explanation_cases
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attnlens.errors import InputError
from attnlens.explanation import HeatmapDocument
from attnlens.render import outcomes, parts
from attnlens.render.canvas import ASCII, UNICODE, clean, cut, display_width, fit, width_of
from attnlens.render.names import short_names, surname
from attnlens.render.plain import render_heatmap, render_json, render_summary
from attnlens.render.terminal import render_terminal

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def columns(line: str) -> int:
    """Counted here on its own, not with the code under test."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


def page(ball: int = 47, *, width: int = 100, evidence: bool = True, **options: Any) -> list[str]:
    data = explanation_cases.explanation(ball, evidence=evidence)
    return render_terminal(data, width=width, **{"color": False, **options}).splitlines()


def renamed(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The same explanation with other names wherever a name stands."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(member) for key, member in value.items()}
        if isinstance(value, list):
            return [walk(member) for member in value]
        if isinstance(value, str):
            for old, new in names.items():
                value = value.replace(old, new)
        return value

    return walk(copy.deepcopy(data))


def test_the_first_line_tells_which_ball() -> None:
    echo = (
        "innings 1, delivery 47 of 60 | label 7.3 | legal ball 7.3 (45th) | 76/3 | "
        "N Brandt to J Marchetti"
    )
    assert page()[0] == echo
    assert page(width=50)[:3] == [
        "innings 1, delivery 47 of 60 | label 7.3 |",
        "legal ball 7.3 (45th) | 76/3 |",
        "N Brandt to J Marchetti",
    ]


@given(st.floats(1e-6, 1.0), st.integers(0, 2))
@example(0.005, 0)
@example(0.0005, 1)
def test_what_may_happen_is_never_shown_as_nothing(value: float, digits: int) -> None:
    for shown in (parts.percent(value, digits), outcomes.percent(value)):
        assert shown.startswith("<") or float(shown.rstrip("%")) > 0
    assert (parts.percent(0.0, digits).strip("0.%"), outcomes.percent(0.0)) == ("", "0%")


def test_bars_show_now_base_and_difference_beside_the_contributions() -> None:
    assert page()[2:12] == [
        "  expected                now   base    diff       what moves P(4) from 12% to 1"
        "7%  points",
        "  0 dot    ██████████▉░   33%    37%    −3.6       striker's record                   +4.1"
        " █████████",
        "  1        ███████████    34%    33%    +0.8       this bowler's earlier balls        −1.3"
        " ░░░",
        "  2        ██              6%     6%    +0.2       this over                          +0.8"
        " ██",
        "  4 four   █████▌         17%    12%    +4.9 ●     bowler's record                    +0.5"
        " █",
        "  6 six    █▋              5%     4%    +0.9       this batter's earlier balls        +0.4"
        " █",
        "  W wicket ▉░              3%     5%    −2.4       5 other groups                     +0.4"
        " █",
        "  the rest 3 <1%   5 <1%   wide 1%   no-ball <1%   byes <1%",
        "           such calls of P(4) came true 16.4% of the time (n 2,140)",
        "  ● it was a four, to which the model had given 17% (2.6 bits of surprise)",
    ]


def test_what_was_known_before_the_match_is_told_apart() -> None:
    data = explanation_cases.explanation(47)
    sums = dict.fromkeys(("before the match", "in the match"), 0.0)
    for group in data["contributions"]:
        sums[group["when"]] += next(p["points"] for p in group["points"] if p["outcome"] == "4")
    told = page()[12]
    assert told == (
        f"  points known   before the match {sums['before the match']:+.1f}   "
        f"in the match {sums['in the match']:+.1f}   the most by one ball: 7.2 +0.3"
    ).replace("-", "−")
    assert not any("points known" in line for line in page(evidence=False))


def test_an_explained_outcome_is_what_the_verdicts_are_about() -> None:
    data = explanation_cases.explanation(47)
    data["prediction"]["explained"] = "6"
    lines = render_terminal(data, width=100, color=False, outcome="6").splitlines()
    end = " ".join(line.strip() for line in lines[-3:])
    assert end.endswith("Effects and verdicts are about P(6) alone.")


def test_what_was_known_is_told_with_its_verdict_where_it_has_one() -> None:
    data = explanation_cases.explanation(47)
    known = data["evidence"][0] | {"head": None, "scale": None, "removed": []}
    data["evidence"] += [
        known | {"kind": "the chase", "claim": "the chase (9 more to win)"},
        known | {"kind": "venue and teams", "claim": "what is known of X", "verdict": None},
    ]
    lines = render_terminal(data, width=100, color=False).splitlines()
    at = lines.index("  what it knew beside them")
    assert lines[at + 1].startswith("  chase        9 more to win   ")
    assert lines[at + 1].endswith("P(4) 17 → 14%   0.02 ✓ supported")
    assert not any("ground, sides" in line or "what is known of X" in line for line in lines)


def test_one_head_alone_is_a_remark_where_it_does_little() -> None:
    data = explanation_cases.explanation(47)
    first = data["evidence"][0]
    for verdict, reason in (
        ("not better than chance", "too small to matter"),
        ("contradicted", "other balls do more"),
    ):
        alone = first | {"removed_from": "head", "verdict": verdict, "reason": reason}
        told = data | {"evidence": [*data["evidence"], alone]}
        lines = render_terminal(told, width=100, color=False).splitlines()
        assert lines.count(f"    hidden from this head alone: {reason}") == 1
        assert sum("✓ supported" in line for line in lines) == 1


def test_a_narrow_page_has_the_contributions_below() -> None:
    lines = page(width=60)
    bars, moves = (
        next(at for at, line in enumerate(lines) if line.strip().startswith(start))
        for start in ("W wicket", "what moves P(4)")
    )
    assert moves > bars
    assert lines[moves + 1] == "  striker's record                   +4.1 ████████████"


def test_a_head_tells_its_question_its_balls_the_effect_and_the_verdict() -> None:
    lines = page()
    at = next(at for at, line in enumerate(lines) if line.startswith("  same batsman"))
    assert lines[at : at + 3] == [
        "  same batsman how is Marchetti going?                 P(4) 17 → 14%   0.02 ✓ supported",
        "    7.1 Brandt 1 (19%)   6.4 Lindqvist 1 (18%)   5.5 Brandt 1 (9%)   5.4 Brandt 0 (5%)",
        "    = 52% of its attention",
    ]
    verdicts = {line[:14].strip(): line[76:] for line in lines if line[76:77] in set("✓–✗○")}
    assert verdicts == {
        "recency": "✗ contradicted",
        "same bowler": "– not better than chance",
        "same batsman": "✓ supported",
        "head 3": "○ picture only",
        "head 4": "○ picture only",
        "head 5": "○ picture only",
    }


def test_the_strip_has_a_shade_per_ball_overs_apart() -> None:
    lines = page()
    at = next(at for at, line in enumerate(lines) if line.startswith("  ball by ball"))
    assert lines[at + 1 : at + 6] == [
        "  over         1   │2 Adeyemi   │3 Castellane│4 Lindqvist   │5 Brandt    │6 Lindqvist │7",
        "  outcome      1 1 │W · 4 4 · 1 │· 1 4 W 6 · │1 · · 6 · 4 6 │4 · 1 · 1 1 │W 4 1 "
        "1 · 6 │1 1",
        "  recency      ▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▂▂▂▂▂▂▂▂▂▂│▃▃▃▃▃▃▂▂▃▃▄▄"
        "│▃▃▃▃",
        "  same bowler  ▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁▁▁│▂▂▃▃▃▃▃▃▃▃▄▄│▁▁▁▁▁▁▂▂▂▂▂▂"
        "│▇▇██",
        "  same batsman ▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▁▁▁▁▁▁▁▁▁▁│▁▁▁▁▁▁▂▂▂▂▂▂▂▂│▁▁▁▁▁▁▃▃▄▄▁▁│▁▁▁▁▂▂▇▇▂▂▂▂"
        "│██▂▂",
    ]
    narrow = page(width=50)
    assert any(line.startswith("  the last 30, ball by ball") for line in narrow)
    assert "  outcome      4·1│·14W6·│1··6·46│4·1·11│W411·6│11" in narrow


def test_the_end_tells_scales_fusion_summary_and_how_to_read() -> None:
    lines = page()
    at = lines.index("  the other scales")
    assert lines[at + 1 :] == [
        "  micro   12% of the prediction   7.2 Brandt→Fenwick 1 (36%)   7.1 Brandt→Marche"
        "tti 1 (28%)",
        "  short   15% of the prediction   7.1 Brandt→Marchetti 1 (22%)   7.2 Brandt→Fenw"
        "ick 1 (15%)",
        "  long    10% of the prediction   over 6 (30%)   over 5 (15%)   over 4 (9%)   over 3 (4%)",
        "",
        "  what reached the prediction  the ball itself 41%   micro 12%   short 15%   medium 22%   "
        "long 10%",
        "",
        "  Attended to N Brandt's previous balls: 0/4 were boundaries |",
        "  Recent momentum: 8 runs in last 4 attended balls",
        "",
        "  A weight says where the model looked, not that it mattered. Hiding balls takes them out "
        "of its",
        "  attention; the scoreboard stays. Small q: chance seldom does as much. base: with "
        "nothing known.",
    ]


def test_an_outcome_asked_for_is_the_one_explained() -> None:
    data = explanation_cases.explanation(47)
    lines = render_terminal(data, width=100, color=False, outcome="0").splitlines()
    assert "what moves P(0) from 37% to 33%" in lines[2]
    assert any("P(0) 33 → 36%   0.02 ✓ supported" in line for line in lines)
    assert not any("P(4)" in line for line in lines)
    rare = render_terminal(data, width=100, color=False, outcome="nb")
    assert re.search(r"^  no-ball .* <1% .*◂", rare, re.MULTILINE)
    assert "P(nb) 0.3%, same" in rare
    with pytest.raises(InputError, match="no outcome '7'; choose one of 0 1 2 3 4 5 6 W wd nb bye"):
        render_terminal(data, width=100, color=False, outcome="7")


def test_another_scale_can_stand_in_full() -> None:
    lines = page(scale="long")
    assert "  what it looked at (long scale, 44 past balls)" in lines[14]
    assert sum(line.startswith("  medium   ") or line.startswith("  medium  ") for line in lines)
    with pytest.raises(InputError, match="no scale 'wide'; choose one of micro short medium long"):
        page(scale="wide")


def test_claims_that_belong_to_no_head_are_listed() -> None:
    data = explanation_cases.explanation(47)
    data["evidence"].append(
        data["evidence"][0]
        | {"head": None, "scale": None, "kind": "this over", "removed": [*range(39, 47)]}
    )
    lines = render_terminal(data, width=100, color=False).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("  this over  "))
    assert lines[at].endswith("P(4) 17 → 14%   0.02 ✓ supported")
    assert "and 2 more" in lines[at + 1] + lines[at + 2]


def test_where_balls_were_hidden_is_said() -> None:
    data = explanation_cases.explanation(47)
    same_batsman = data["evidence"][0]
    assert same_batsman["removed_from"] == "model"
    data["evidence"].append(same_batsman | {"removed_from": "head", "q": 0.001})
    both = render_terminal(data, width=100, color=False).splitlines()
    assert sum("hidden from the head " in line and "<.01 ✓ supported" in line for line in both) == 1
    assert "    hidden from this head only" not in both
    data["evidence"][:] = data["evidence"][-1:]
    alone = render_terminal(data, width=100, color=False).splitlines()
    assert alone.count("    hidden from this head only") == 1


def test_without_evidence_nothing_claims_a_verdict() -> None:
    data = explanation_cases.explanation(47, evidence=False)
    text = render_terminal(data, width=100, color=False)
    assert "what moves" not in text
    assert not re.search("supported|better than chance|contradicted", text)
    assert "  ! No claim was tested: evidence was switched off." in text.splitlines()


def test_without_a_past_the_page_says_so() -> None:
    lines = page(1)
    assert "    nothing: no ball of this innings was bowled before this one" in lines
    assert "  ! No ball of this innings has been bowled yet." in lines
    assert not any(line.startswith("  ball by ball") for line in lines)
    assert any(
        line.startswith("  what it looked at (medium scale, 1 past ball)") for line in page(2)
    )


@pytest.mark.parametrize("ball", [2, 47])
def test_ordinary_names_are_never_cut(ball: int) -> None:
    for width in range(40, 201):
        text = "\n".join(page(ball, width=width))
        assert "…" not in text, (width, text)
        moves = re.findall(r"^.*(?:record|teams|over|balls|batter|groups) +[+−]?\d\.\d", text, re.M)
        assert len(moves) == 6, (width, text)


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
    "\ud800 Half",
)


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(40, 200),
    ball=st.sampled_from([1, 2, 3, 8, 30, 47, 60]),
    unicode=st.booleans(),
    outcome=st.sampled_from([None, *explanation_cases.OUTCOMES]),
    scale=st.sampled_from(["micro", "short", "medium", "long"]),
    evidence=st.booleans(),
    names=st.lists(st.sampled_from(NASTY) | st.text(max_size=40), min_size=9, max_size=9),
)
def test_no_line_is_too_wide_and_nothing_unclean_gets_through(
    width: int,
    ball: int,
    unicode: bool,
    outcome: str | None,
    scale: str,
    evidence: bool,
    names: list[str],
) -> None:
    people = (*explanation_cases.BATTERS, *explanation_cases.BOWLERS)
    data = explanation_cases.explanation(ball, evidence=evidence, bowled=ball != 8)
    data = renamed(data, dict(zip(people, names, strict=True)))
    options: dict[str, Any] = {"outcome": outcome, "unicode": unicode, "scale": scale}
    plain = render_terminal(data, width=width, color=False, **options)
    colored = render_terminal(data, width=width, color=True, **options)
    assert COLOR.sub("", colored) == plain
    assert colored != plain
    for line in plain.split("\n"):
        assert columns(line) <= width, line
        assert line == line.rstrip()
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in line)
        assert unicode or line.isascii()


def test_names_cannot_speak_to_the_terminal() -> None:
    data = explanation_cases.explanation(47)
    names = {"N Brandt": NASTY[0], "J Marchetti": NASTY[1], "D Fenwick": NASTY[2]}
    plain = render_terminal(renamed(data, names), width=100, color=False)
    assert "Red Player to Setter T" in plain.splitlines()[0]
    assert "7.2 Player→Link 1" in plain
    assert "title" not in plain
    assert "http" not in plain


@given(st.text(alphabet=st.sampled_from("\x1b[]0;m\x07\\Pab\x9b\x9d\n"), max_size=30))
def test_no_escape_survives_cleaning(text: str) -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", clean(text))
    assert clean(clean(text)) == clean(text)
    assert clean("é→山", ascii_only=True) == "e->?"


def test_surnames_tell_players_apart() -> None:
    assert short_names(
        ["R Varela", "T Varela", "AB de Villiers", "K Osei-Lund", "Shakib", "RA Khan", "RB Khan"],
        "…",
    ) == {
        "R Varela": "R Varela",
        "T Varela": "T Varela",
        "AB de Villiers": "de Villiers",
        "K Osei-Lund": "Osei-Lund",
        "Shakib": "Shakib",
        "RA Khan": "RA Khan",
        "RB Khan": "RB Khan",
    }
    assert surname("Shaheen Shah Afridi") == "Afridi"


@example(["Q a B", "a B", "c B"])
@given(st.lists(st.text(alphabet="ABab ", min_size=1, max_size=24), unique=True, max_size=8))
def test_no_two_players_share_a_short_name(names: list[str]) -> None:
    short = short_names(names, "…")
    assert set(short) == set(names)
    assert len(set(short.values())) == len(names)


@given(st.text(max_size=40), st.integers(0, 40))
def test_cutting_keeps_to_the_width(text: str, width: int) -> None:
    for glyphs in (UNICODE, ASCII):
        short = cut(text, width, glyphs.ellipsis)
        assert display_width(short) <= width
        assert display_width(text) > width or short == text
        assert width_of(fit([(text, ""), (text, "bar")], width, glyphs.ellipsis)) <= width


def test_plain_forms() -> None:
    data = explanation_cases.explanation(47)
    assert render_summary(data) == data["summary"]
    assert json.loads(render_json(data)) == data
    assert render_json(data).startswith('{\n  "schema_version": "1.0",\n  "model": {')
    assert render_json({"name": "Zoë"}) == '{\n  "name": "Zoë"\n}'
    for scale in data["across_balls"]:
        document = json.loads(render_heatmap(data, scale))
        assert document == {"temporal_attention": data["across_balls"][scale]}
        HeatmapDocument.model_validate(document)
    assert json.loads(render_heatmap(data)) == json.loads(render_heatmap(data, "medium"))
    with pytest.raises(InputError, match="no scale 'wide'"):
        render_heatmap(data, "wide")
    with pytest.raises(ValueError, match="not JSON compliant"):
        render_json({"points": float("nan")})


def test_an_empty_summary_says_why() -> None:
    first = explanation_cases.explanation(1)
    assert render_summary(first) == (
        "Nothing to summarise: no ball of this innings came before this one."
    )
    later = explanation_cases.explanation(47) | {"summary": ""}
    assert render_summary(later) == (
        "Nothing to summarise: among 35 past balls no pattern of attention stands out."
    )
    assert render_summary(later | {"summary": "Focus on A\x1b[2J B"}) == "Focus on A B"


def test_rendering_waits_for_no_heavy_import() -> None:
    code = (
        "import sys, attnlens.render.terminal, attnlens.render.plain;"
        "print(sorted({'pydantic', 'torch', 'numpy', 'attnlens.cricket'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

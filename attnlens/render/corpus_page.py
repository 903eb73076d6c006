"""A corpus's report as one HTML page that needs nothing else: no network, no script, no file.

As in `attnlens.render.html`, the style's hash is in the page's security policy and nothing else
is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.explanation.visible import LONGEST, visible_all
from attnlens.render.corpus_figures import (
    head_label,
    head_matrix,
    reliability_svg,
    span_svg,
    stacked_svg,
)
from attnlens.render.html_page import framed, section
from attnlens.render.html_text import name, share, table, text
from attnlens.words import count as counted

FEWEST_EVENTS: Final = 50
"""An outcome that came less often has no diagram."""

SOURCES: Final[Mapping[str, str]] = {
    "within_ball": "the ball itself and its slots",
    "micro": "micro",
    "short": "short",
    "medium": "medium",
    "long": "long",
}


def render_corpus(data: Mapping[str, Any]) -> str:
    """The page, without a final line break.

    Args:
        data: `attnlens.corpus.report.report_data`'s.
    """
    shown: dict[str, Any] = visible_all(data, LONGEST + 4)
    figures = shown["figures"]
    title = (
        f"{counted(figures['balls'], 'ball')} of {counted(figures['matches'], 'match', 'matches')}"
    )
    sections = [
        _header(shown, title),
        "<main>",
        _fit(shown),
        _fusion(shown),
        _attention(shown),
        _claims(shown),
        _past_balls(shown),
        _calibration(shown),
        _surprising_balls(shown),
        _surprising_players(shown),
        "</main>",
        _footer(shown),
    ]
    return framed(title, sections, "corpus_page.css")


def _quiet(words: str) -> str:
    return f'<p class="quiet">{words}</p>'


def _header(data: Mapping[str, Any], title: str) -> str:
    figures, corpus = data["figures"], data["corpus"]
    when = "" if figures["first"] is None else f", {figures['first']} to {figures['last']}"
    told = [
        f"<h1>{text(title)}</h1>",
        f'<p class="match">{counted(figures["competitions"], "competition")}{text(when)}</p>',
        f'<p class="echo">model {text(corpus["model"]["name"])} '
        f"({text(corpus['model']['sha256'][:12])})</p>",
    ]
    return "<header>\n" + "\n".join(told) + "\n</header>"


def _fit(data: Mapping[str, Any]) -> str:
    """How well it fits, and what to keep in mind."""
    figures, corpus = data["figures"], data["corpus"]
    loss, expected = figures["log_loss"], figures["expected_log_loss"]
    lines = [
        f"<p>On average what happened surprised the model by {_of(loss, 4)} nats a ball; by its "
        f"own probabilities it expected to be surprised by {expected['value']:.4f}. The outcome "
        f"it thought likeliest came on {_share_of(figures['accuracy'])} of balls.</p>"
    ]
    cautions = []
    if figures["in_training"]:
        cautions.append(
            f"{figures['in_training']:,} of the {figures['matches']:,} matches were, or may have "
            "been, in the model's training: it looks better on them than it is."
        )
    if not corpus["history"]:
        cautions.append(
            "Players' and grounds' records are the checkpoint's own, not those of each match's "
            "date: about earlier matches they know too much. <code>--own-history</code> or "
            "<code>--history</code> gives those of the date."
        )
    if corpus["finished"] < corpus["parts"]:
        cautions.append(
            f"Only {corpus['finished']:,} of {corpus['parts']:,} parts are finished; the figures "
            "are of those."
        )
    if corpus["skipped"]:
        left_out = counted(corpus["skipped"], "file or match", "files and matches")
        cautions.append(
            f"{left_out} passed over: <code>skipped.jsonl</code> in the corpus says why."
        )
    if cautions:
        items = "\n".join(f"<li>{words}</li>" for words in cautions)
        lines.append(f'<ul class="cautions">\n{items}\n</ul>')
    return section("fit", "How well it fits", *lines)


def _of(interval: Mapping[str, float | None], digits: int, unit: str = "") -> str:
    """A figure with its interval."""
    value = f"<strong>{interval['value']:.{digits}f}{unit}</strong>"
    if interval["low"] is None or interval["high"] is None:
        return value
    return f"{value} <small>({interval['low']:.{digits}f} to {interval['high']:.{digits}f})</small>"


def _share_of(interval: Mapping[str, float | None]) -> str:
    return f"{share(interval['value'] or 0.0, 1)}"


def _fusion(data: Mapping[str, Any]) -> str:
    rows = [
        [
            text(row["phase"]),
            stacked_svg(list(row["weights"].values())),
            *(share(weight) for weight in row["weights"].values()),
            f"{row['balls']:,}",
        ]
        for row in data["fusion"]
    ]
    return section(
        "fusion",
        "What the prediction is made of",
        table(
            "Mean fusion weights: how much of what reaches the prediction comes from the ball "
            "itself and from each scale",
            [
                "phase",
                '<span class="hidden">bar</span>',
                *(text(SOURCES[source]) for source in data["fusion"][0]["weights"]),
                "balls",
            ],
            rows,
            numbers=range(2, 8),
            kind="bars",
        ),
    )


def _attention(data: Mapping[str, Any]) -> str:
    phases = list(dict.fromkeys(row["phase"] for row in data["attention"]))
    drawn = "\n".join(
        f"<figure>\n<figcaption>{text(phase.capitalize())}</figcaption>\n"
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="Heads and relations, {text(phase)}">\n'
        f"{head_matrix(phase, [row for row in data['attention'] if row['phase'] == phase])}\n"
        "</div>\n</figure>"
        for phase in phases
    )
    return section(
        "attention",
        "Where attention goes",
        _quiet(
            "Each figure is how many times as much of a head's past attention goes to balls of a "
            "relation as uniform attention would give: 2.0 is twice as much, 0.5 half. Blue is "
            "more, orange less. Looking is not using: the next section says when it mattered."
        ),
        f'<div class="matrices">\n{drawn}\n</div>',
    )


def _claims(data: Mapping[str, Any]) -> str:
    claims = data["claims"]
    if claims is None:
        return section(
            "claims",
            "When claims hold",
            _quiet("Nothing was tested. <code>--evidence N</code> tests the claims of N balls."),
        )
    told = [
        _quiet(
            f"{claims['tested']:,} claims on {claims['balls']:,} balls drawn over all matches were "
            "tested: the balls hidden, beside random others. Intervals are Wilson's and take "
            "claims as independent, which those of one ball are not quite."
        )
    ]
    for key, words in (("kind", "kind of claim"), ("phase", "phase"), ("head", "head")):
        few = claims[f"{key}_too_few"]
        left_out = (
            f" Left out: {few} with fewer than {data['least']['claims']} claims." if few else ""
        )
        if not claims[key]:
            told.append(_quiet(f"By {words}: nothing to show.{left_out}"))
            continue
        rows = [
            [
                text(head_label(row["name"]) if key == "head" else row["name"]),
                span_svg(row["share"], row["low"], row["high"]),
                f"<strong>{share(row['share'])}</strong> <small>({share(row['low'])} to "
                f"{share(row['high'])})</small>",
                share(row["contradicted"] / row["claims"]),
                f"{row['claims']:,}",
            ]
            for row in claims[key]
        ]
        whose = " (its balls hidden from the whole model)" if key == "head" else ""
        told.append(
            table(
                f"By {words}{whose}: supported, with its interval; contradicted.{left_out}",
                [words, '<span class="hidden">bar</span>', "supported", "contradicted", "claims"],
                rows,
                numbers=(2, 3, 4),
                kind="bars",
            )
        )
    return section("claims", "When claims hold", *told)


def _past_balls(data: Mapping[str, Any]) -> str:
    past = data["past_balls"]
    if past is None:
        return ""
    least = data["least"]
    told = [
        _quiet(
            f"Hiding one of the last {past['within']} balls changed the prediction by "
            f"{past['effect_nats'] or 0:.5f} nats on average ({past['past']:,} balls before "
            f"{past['asked']:,}). A player's balls are compared with all balls as far back: 1.5 is "
            f"half as much again. Players with at least {least['past']} such balls before at least "
            f"{least['asked']} sampled ones, of two matches or more: a larger "
            "<code>--evidence</code> brings more of them. With many players, some stand out by "
            "chance."
        )
    ]
    pair = []
    for role, words in (("batters", "batters"), ("bowlers", "bowlers")):
        found = past[role]
        rows = [
            [
                name(row["name"]),
                _of(row["ratio"], 2, " ×"),
                f"{row['effect_nats']:.5f}",
                f"{row['past']:,}",
            ]
            for row in found["most"]
        ]
        pair.append(
            _listed(
                f"{words.capitalize()} whose past balls move the model most "
                f"({found['players']} players; {found['too_few']} with too few balls)",
                [words[:-1], "times usual", "nats", "past balls"],
                rows,
                (1, 2, 3),
            )
        )
    return section("past", "Whose past balls matter", *told, _pair(pair))


def _listed(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> str:
    if not rows:
        return _quiet(f"{text(caption)}: nobody to show.")
    return table(caption, heads, rows, numbers=numbers)


def _pair(parts: Sequence[str]) -> str:
    inner = "\n".join(f"<div>\n{part}\n</div>" for part in parts)
    return f'<div class="two">\n{inner}\n</div>'


def _calibration(data: Mapping[str, Any]) -> str:
    drawn = [
        f"<figure>\n<figcaption>{text(OUTCOME_WORDS[one['outcome']])} "
        f"<small>{one['happened']:,} times</small></figcaption>\n{reliability_svg(one)}\n</figure>"
        for one in data["calibration"]
        if one["happened"] >= FEWEST_EVENTS and len(one["bins"]) > 1
    ]
    if not drawn:
        return ""
    return section(
        "calibration",
        "Calibration",
        _quiet(
            "Balls in bins of about as many each, by how likely the outcome was said to be "
            "(across) and how often it came (up), with Wilson's intervals. On the dotted line, "
            "what was said came true. Bins of fewer than "
            f"{data['least']['bin']} balls are left out."
        ),
        '<div class="small-multiples">\n' + "\n".join(drawn) + "\n</div>",
    )


def _surprising_balls(data: Mapping[str, Any]) -> str:
    rows = [
        [
            f"{name(row['bowler'])} to {name(row['batter'])}",
            text(OUTCOME_WORDS[row["actual"]]),
            f"{row['surprise_bits']:.1f}",
            f"{name(row['batting_team'])} {row['score']}/{row['wickets']} v "
            f"{name(row['bowling_team'])}",
            text(row["date"] or "—"),
            f"<code>{text(row['match_id'])} {row['innings']}:{row['index']}</code>",
        ]
        for row in data["surprises"]["balls"]
    ]
    return section(
        "surprises",
        "The most surprising balls",
        table(
            "The two most surprising balls of each outcome. At 10 bits, what happened was held to "
            "have one chance in a thousand",
            ["ball", "happened", "bits", "score before", "date", "match and ball"],
            rows,
            numbers=(2,),
        ),
    )


def _surprising_players(data: Mapping[str, Any]) -> str:
    least = data["least"]
    parts = []
    for role in ("batters", "bowlers"):
        found = data["surprises"][role]
        for key, words in (("most", "more"), ("least", "less")):
            rows = [
                [
                    name(row["name"]),
                    _of(row["excess_bits"], 3),
                    f"{row['surprise_bits']:.3f}",
                    f"{row['balls']:,}",
                ]
                for row in found[key]
            ]
            if rows or key == "most":
                parts.append(
                    _listed(
                        f"{role.capitalize()} who surprise {words} than expected "
                        f"({found['players']} players; {found['too_few']} with too few balls)",
                        [role[:-1], "beyond expected", "mean bits", "balls"],
                        rows,
                        (1, 2, 3),
                    )
                )
    return section(
        "players",
        "Who surprises the model",
        _quiet(
            "Beyond expected: mean surprise less the surprise that the model's own probabilities "
            "expected, in bits a ball, so that a hitter whose fours and sixes were foreseen does "
            f"not count. Players with at least {least['balls']} balls in {least['matches']} "
            "matches; matches, not balls, are taken as independent. Among many players the ends "
            "of such a list are partly chance."
        ),
        _pair(parts),
    )


def _footer(data: Mapping[str, Any]) -> str:
    model = data["corpus"]["model"]
    told = [f"model {model['name']} ({model['sha256'][:12]})"]
    if model["trained_until"]:
        told.append(f"trained on matches {model['trained_from'] or ''} to {model['trained_until']}")
    return (
        f"<footer>\n<p>{text('; '.join(told))}. Intervals are of 95%.</p>\n"
        f"<p>attnlens corpus {text(data['schema_version'])}. A weight says where the model looked, "
        "not that it mattered.</p>\n</footer>"
    )

"""Functions that several pages share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attnlens.cricket.explain.story_types import MatchStory, Played
from attnlens.cricket.explain.types import (
    Evidence,
    Explanation,
    HeadAttention,
    HeatMap,
    LongHeatMap,
    MatchFacts,
    Model,
    Sentence,
)
from attnlens.cricket.match.ledger import ground
from attnlens.cricket.match.match import Outcome
from attnlens.cricket.predictor.scales import RELATION_BALLS, head_words
from attnlens.cricket.words.facts import (
    OUTCOME_WORDS,
    AnyDocument,
    claims_in_order,
    names_in,
    surname,
    text_of,
)
from attnlens.cricket.words.narrative import (
    GROUPS,
    RECORDS,
    aim,
    came_note,
    record_note,
)
from attnlens.cricket.words.summary import before_after
from attnlens.evidence.verdict import CHANCE
from attnlens.render.canvas import cut
from attnlens.render.numbers import fine_percent, percent_seen
from attnlens.render.safe import each_text, printable, visible_name
from attnlens.render.text_terminal import VERDICTS

_REFERENCE: Final = ("=", "for comparison", "reference")
"""The sign, the words and the style for the claim about the last balls."""

_OUTCOME_SIGNS: Final[Mapping[str, str]] = {"0": "·", "wd": "w", "nb": "n", "bye": "b"}

TURNING: Final[tuple[Outcome, ...]] = ("0", "4", "6", "W")
"""The outcomes for which the page shows the win probability after the ball."""

REMARKS: Final = frozenset(
    {"in_training", "ratings_from_later", "short_history", "no_history", "evidence_skipped"}
)
"""The cautions to show last."""

CAVEAT: Final = (
    "An attention weight shows where the model looked, not whether the ball mattered. Hidden balls "
    "get no attention, but the scoreboard does not change. Effects are compared with the effects "
    "of comparable balls: ✓ larger, – no larger, ✗ opposite (or clearly smaller), ? unclear (few "
    "comparable balls, or a small effect). Comparable balls are sets of the same size, adjusted "
    "for distance and players, or similar balls of other innings. q: the p-value, corrected for "
    "all claims."
)


def cautions_of(explanation: Explanation) -> tuple[list[str], list[str]]:
    """Return the cautions to show before the explanation, and the cautions to show after.

    The cautions about unknown players and grounds are joined into one caution.
    """
    unseen = {
        "unseen_batter": f"{explanation.ball.batter} (batting)",
        "unseen_bowler": f"{explanation.ball.bowler} (bowling)",
        "unseen_venue": explanation.match.venue or "the ground",
    }
    flags = {flag.flag for flag in explanation.flags}
    new = [words for flag, words in unseen.items() if flag in flags]
    cautions = [f"new to the model, so averages are used: {', '.join(new)}"] * bool(new)
    remarks: list[str] = []
    for flag in explanation.flags:
        if flag.flag not in unseen:
            (remarks if flag.flag in REMARKS else cautions).append(flag.text)
    return cautions, remarks


def presentable(explanation: Explanation) -> Explanation:
    """Remove invisible characters from the explanation, and shorten long names."""
    match = explanation.match
    names = names_in(explanation) | {match.match_id, match.result or "", match.season or ""}
    return fit_to_show(explanation, names)


def fit_to_show(document: AnyDocument, file_names: Iterable[str]) -> AnyDocument:
    """Remove invisible characters from a document, and shorten long names.

    Args:
        file_names: the names in the document, spelled as in the match file.
    """
    names = {name: visible_name(name) for name in file_names if name.strip()}
    # Longer names are replaced first, because a name may be part of a longer name.
    changed = sorted((name for name in names if names[name] != name), key=len, reverse=True)

    def fit(text: str) -> str:
        for name in changed:
            text = text.replace(name, names[name])
        return printable(text)

    result: AnyDocument = each_text(document, fit)
    return result


def shown_story(story: MatchStory) -> MatchStory:
    """Remove invisible characters from the story, and shorten long names."""
    match, expected = story.match, story.expected
    names = {match.match_id, match.venue or "", match.city or "", match.event or "", *match.teams}
    names |= {row.name for row in (*expected.batters, *expected.bowlers)}
    names |= {player.name for player in story.players}
    return fit_to_show(story, names)


def pieces(sentence: Sentence) -> Iterator[tuple[str, str | None]]:
    """Yield each fact of a sentence with its pointer, and other text with ``None``."""
    rest = sentence.text
    for fact in sentence.facts:
        if not fact.text or fact.text not in rest:
            continue
        before, fact_text, after = rest.partition(fact.text)
        if before:
            yield before, None
        yield fact_text, fact.pointer
        rest = after
    if rest:
        yield rest, None


def of(entries: Sequence[Any], outcome: str) -> Any:
    """Return the entry for one outcome."""
    return next(entry for entry in entries if entry.outcome == outcome)


def contributions_to(explanation: Explanation, outcome: str) -> list[tuple[str, str, float]]:
    """Return the name, the time (`Contribution.when`) and the points of each group.

    The points are relative to the usual probability. The group with the largest effect is first.
    """
    rows = [
        (group.group, group.when, of(group.from_usual, outcome).points)
        for group in explanation.contributions
    ]
    return sorted(rows, key=lambda row: -abs(row[2]))


def group_words(explanation: Explanation, group: str, names: Mapping[str, str]) -> str:
    """Return the name of a group of inputs, with short player names."""
    return text_of(explanation, GROUPS[group], names)


def came_true(explanation: Explanation, group: str) -> str:
    """Return the result of `came_note` for a group as text."""
    groups = [contribution.group for contribution in explanation.contributions]
    return text_of(explanation, came_note(explanation, groups.index(group)))


def record_lines(explanation: Explanation, names: Mapping[str, str]) -> list[str]:
    """Return lines such as ``Patel's record: a six on 8.9% of 812 balls to 2025-10-31``.

    Without contributions, there are no lines.
    """
    notes = {RECORDS[role]: record_note(explanation, role) for role in RECORDS}
    return [
        text_of(explanation, f"{record}: {note}", names)
        for record, note in notes.items()
        if note is not None and explanation.contributions
    ]


def by_carries(inner: HeatMap | LongHeatMap) -> list[tuple[str, HeadAttention]]:
    """Return a scale's heads and their keys, sorted by share of the effect from the largest."""
    return sorted(inner.attention_by_head.items(), key=lambda item: -(item[1].carries or 0.0))


def sight(head: HeadAttention) -> str | None:
    """Return text such as ``sees only this batter's balls``, or ``None`` without a restriction."""
    return None if head.sees is None else f"sees only {RELATION_BALLS.get(head.sees, head.sees)}"


def head_name(key: str, head: HeadAttention) -> str:
    """Return a name such as ``head 2 (same batter)``, or ``head 3`` without a relation."""
    return head_words(int(key.split("_")[1]), head.earned)


def verdict_of(claim: Evidence) -> tuple[str, str, str]:
    """Return the sign, the words and the style of a verdict."""
    return _REFERENCE if claim.reference else VERDICTS[claim.verdict]


def reason_of(claim: Evidence) -> str:
    """Return the reason for a verdict, or an empty text if the verdict already says the reason."""
    return "" if claim.reference or claim.reason in (None, CHANCE) else str(claim.reason)


def share_of(claim: Evidence) -> str:
    """Return the head's share of the effect as text, or an empty text for the whole model."""
    if claim.share is None:
        return ""
    part = "at least" if claim.share == 1 else f"{percent_seen(claim.share)} of"
    return f"{part} the effect of hiding these balls from the whole model"


def sign_of(outcome: str) -> str:
    """Return the one-character sign of an outcome."""
    return _OUTCOME_SIGNS.get(outcome, outcome)


def most_attention(explanation: Explanation) -> float:
    """Return the largest attention weight of any head, or 0 without past balls."""
    scales = explanation.across_balls.scales().values()
    heads = [head for scale in scales for head in scale.attention_by_head.values()]
    return max((weight for head in heads for weight in head.row), default=0.0)


def context(explanation: Explanation) -> dict[str, Any]:
    """Return the variables of the templates.

    Args:
        explanation: the result of `presentable`.
    """
    outcome = explanation.prediction.subject
    names = short_names((explanation.ball.bowler, explanation.ball.batter))
    claims = [explanation.evidence[at] for at in claims_in_order(explanation)]
    heads = [claim for claim in claims if claim.removed_from == "head"]
    supported = [claim for claim in heads if claim.verdict == "supported"]
    return {
        "e": explanation,
        "outcome": outcome,
        "focus": of(explanation.prediction.outcomes, outcome),
        "words": OUTCOME_WORDS,
        "moves": [
            (group_words(explanation, group, names) + came_true(explanation, group), when, points)
            for group, when, points in contributions_to(explanation, outcome)
        ],
        "records": record_lines(explanation, names),
        "claims": [claim for claim in claims if claim.removed_from == "model"],
        "aim": aim(explanation),
        "head_claims": supported,
        "other_heads": len(heads) - len(supported),
        "verdict_of": verdict_of,
        "share_of": share_of,
        "reason_of": reason_of,
        "before_after": before_after,
        "most_attention": most_attention(explanation),
        "match_line": match_line(explanation),
        "model_line": model_line(explanation.model),
        "caveat": CAVEAT,
    }


def win_line(explanation: Explanation) -> str:
    """Return a sentence with the win probability before and after this ball, or an empty text."""
    win = explanation.win_probability
    if win is None:
        return ""
    after = ", ".join(
        f"{fine_percent(win.after[name])} after {OUTCOME_WORDS[name]}" for name in TURNING
    )
    then = "" if win.happened is None else f"; then {fine_percent(win.happened)}"
    return f"{win.team} to win: {fine_percent(win.before)} before this ball ({after}){then}"


def model_line(model: Model) -> str:
    """Return a description of the checkpoint in one line."""
    parts = [f"model {model.name} ({model.sha256[:12]})"]
    if model.trained_until is not None:
        start = "" if model.trained_from is None else f"from {model.trained_from} "
        parts.append(f"trained on matches {start}to {model.trained_until}")
    if model.ratings_until is not None:
        parts.append(f"players' records to {model.ratings_until}")
    if model.match_types:
        parts.append(f"match types {', '.join(model.match_types)}")
    return "; ".join(parts)


def match_line(explanation: Explanation) -> str:
    """Return the teams, the competition, the ground and the dates in one line."""
    match = explanation.match
    teams = " v ".join(match.teams) or f"{match.batting_team} v {match.bowling_team}"
    return " · ".join(filter(None, (teams, *occasion(match))))


def occasion(match: MatchFacts | Played) -> tuple[str, str, str]:
    """Return the competition, the ground and the dates. Unknown parts are empty strings."""
    when = " to ".join(dict.fromkeys([*match.dates[:1], *match.dates[-1:]]))
    return (
        " ".join(filter(None, (match.match_type, match.event))),
        ground(match.venue, match.city),
        when,
    )


# ---- short names that are unique in an innings

_MAX_NAME_COLUMNS: Final = 16


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return the first unique form of each name: surname, initial and surname, or whole name."""
    chosen = dict.fromkeys(names, "")
    for form in (surname, _initialled):
        forms = {name: cut(form(name), _MAX_NAME_COLUMNS) for name in chosen}
        count = Counter(forms.values())
        for name in chosen:
            if not chosen[name] and count[forms[name]] == 1:
                chosen[name] = forms[name]
    count = Counter(chosen.values())
    return {name: form if form and count[form] == 1 else name for name, form in chosen.items()}


def _initialled(name: str) -> str:
    return name if len(name.split()) < 2 else f"{name.split()[0][:1]} {surname(name)}"

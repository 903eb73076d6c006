"""What Markdown and HTML tell alike: names made safe to show, facts in sentences, claims in order.

Names come from files. Signs that cannot be seen, or that turn the direction of writing, are
taken out one by one, so that a text and its parts stay the same text; long names are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from attnlens.explanation.heatmap import UNNAMED, UNSPECIALISED
from attnlens.explanation.visible import LONGEST, visible

VERDICTS: Final[Mapping[str | None, tuple[str, str, str]]] = {
    "supported": ("✓", "supported", "supported"),
    "not better than chance": ("–", "not better than chance", "chance"),
    "contradicted": ("✗", "contradicted", "contradicted"),
    None: ("○", "picture only", "picture"),
}
"""A verdict's sign, its words, and a short name."""

OUTCOME_SIGNS: Final[Mapping[str, str]] = {"0": "·", "wd": "w", "nb": "n", "bye": "b"}
"""One character for an outcome; others are their own."""

CAVEAT: Final = (
    "A weight says where the model looked, not that it mattered. Hiding balls takes them out of "
    "its attention; the scoreboard stays."
)


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    return visible(character) or (" " if character.isspace() else "")


def seen(text: str) -> str:
    """The text without what cannot be seen or obeyed; the same for a whole and for its parts."""
    return "".join(map(_shown, text))


def presentable(data: Mapping[str, Any]) -> dict[str, Any]:
    """An explanation whose every text can be shown: nothing hidden in it, no name too long."""
    ball, match = data["ball"], data["match"]
    names = {ball[role] for role in ("batter", "non_striker", "bowler")}
    names |= {row[role] for row in data["history"] for role in ("batter", "bowler")}
    names |= {match[key] for key in ("batting_team", "bowling_team", "venue", "city", "event")}
    names |= {*match["teams"], match["match_id"], match["result"], match["season"]}
    nameless = [name for name in names if name and name.strip() and not seen(name).strip()]
    shown = {seen(name) for name in names if name}
    # The longest first: one name may be part of another.
    long = sorted((name for name in shown if len(name) > LONGEST), key=len, reverse=True)

    def text_of(text: str) -> str:
        for name in nameless:
            text = text.replace(name, "?")
        text = seen(text)
        for name in long:
            text = text.replace(name, name[: LONGEST - 1].rstrip() + "…")
        return text

    result: dict[str, Any] = _each_text(data, text_of)
    return result


def _each_text(value: Any, told: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return told(value)
    if isinstance(value, Mapping):
        return {key: _each_text(member, told) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(member, told) for member in value]
    return value


def pieces(sentence: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """A sentence's text in order: own words with ``None``, facts with their pointers."""
    rest = sentence["text"]
    for fact in sentence["facts"]:
        if not fact["text"] or fact["text"] not in rest:
            continue
        before, found, after = rest.partition(fact["text"])
        if before:
            yield before, None
        yield found, fact["pointer"]
        rest = after
    if rest:
        yield rest, None


def focus(data: Mapping[str, Any]) -> str:
    """The outcome that is explained, else the one furthest from its baseline."""
    if data["prediction"]["explained"] is not None:
        return str(data["prediction"]["explained"])
    entries = data["prediction"]["outcomes"]
    return str(max(entries, key=lambda e: abs(e["probability"] - e["baseline"]))["outcome"])


def of(entries: list[Mapping[str, Any]], outcome: str) -> Mapping[str, Any]:
    """The entry of one outcome."""
    return next(entry for entry in entries if entry["outcome"] == outcome)


def percent(value: float, digits: int = 0) -> str:
    """``17%``; what is there but rounds to nothing is told as less than the least."""
    shown = f"{value:.{digits}%}"
    if value > 0 and not float(shown[:-1]):
        return f"<{10.0**-digits:.{digits}f}%"
    return shown


def signed(points: float) -> str:
    """``+4.9``, ``−3.6``, and ``0.0`` for what rounds to it."""
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else '−'}{text}"


def before_after(claim: Mapping[str, Any]) -> str:
    """``P(4) 17% → 14%``, with decimals where whole percents would look alike."""
    change = claim["top_change"]
    one, two = (percent(change[when]) for when in ("before", "after"))
    if one == two or abs(change["points"]) < 1:
        one, two = (percent(change[when], 1) for when in ("before", "after"))
    return f"P({change['outcome']}) {one} → {two}"


def head_name(key: str, head: Mapping[str, Any]) -> str:
    """``same bowler``, or ``head 3`` for one that started without a pattern."""
    pattern = str(head["pattern"])
    return f"head {key.split('_')[1]}" if pattern == UNNAMED else pattern.replace("_", " ")


def earned(head: Mapping[str, Any]) -> str:
    """The name a head has earned, where that is not what it started as; else empty."""
    name = str(head["earned"])
    return "" if name in (head["pattern"], UNSPECIALISED) else name.replace("_", " ")


def sign_of(outcome: str) -> str:
    """One character for what happened."""
    return OUTCOME_SIGNS.get(outcome, outcome)


def claims_in_order(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Claims tested on the whole model, and of heads alone the supported ones; those first."""
    order = list(VERDICTS)
    told = [
        claim
        for claim in data["evidence"]
        if claim["removed_from"] == "model" or claim["verdict"] == "supported"
    ]

    def rank(claim: Mapping[str, Any]) -> tuple[int, bool, float]:
        alone = claim["removed_from"] == "head"
        return order.index(claim["verdict"]), alone, -abs(claim["effect_nats"])

    return sorted(told, key=rank)


def other_heads(data: Mapping[str, Any]) -> int:
    """How many claims of single heads alone are not in `claims_in_order`."""
    return sum(
        claim["removed_from"] == "head" and claim["verdict"] != "supported"
        for claim in data["evidence"]
    )


def model_line(data: Mapping[str, Any]) -> str:
    """The model card in one line."""
    model = data["model"]
    told = [f"model {model['name']} ({model['sha256'][:12]})"]
    if model["trained_until"] is not None:
        start = "" if model["trained_from"] is None else f"from {model['trained_from']} "
        told.append(f"trained on matches {start}to {model['trained_until']}")
    if model["ratings_until"] is not None:
        told.append(f"players' records to {model['ratings_until']}")
    if model["match_types"]:
        told.append(f"knows {', '.join(model['match_types'])}")
    calibration = data["prediction"]["calibration"]
    if calibration is not None:
        told.append(
            f"calls counted for {calibration['checkpoint']} on {calibration['matches']:,} matches, "
            f"{calibration['first']} to {calibration['last']}"
        )
    return "; ".join(told)


def match_line(data: Mapping[str, Any]) -> str:
    """Who plays, where and when."""
    match = data["match"]
    venue, city = match["venue"] or "", match["city"] or ""
    place = venue if city in venue else ", ".join(filter(None, (venue, city)))
    when = " to ".join(dict.fromkeys([*match["dates"][:1], *match["dates"][-1:]]))
    teams = " v ".join(match["teams"]) or f"{match['batting_team']} v {match['bowling_team']}"
    kind = " ".join(filter(None, (match["match_type"], match["event"])))
    return " · ".join(filter(None, (teams, kind, place, when)))

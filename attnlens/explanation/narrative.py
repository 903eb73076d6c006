"""An explanation in a few sentences, each number and name tied to its place in the data.

A sentence never says more than the evidence: what the model looked at is told
with the verdict of the test that hid it, and what was not tested is told as a
picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

OUTCOME_WORDS: Mapping[str, str] = {
    "0": "a dot ball",
    "1": "a single",
    "2": "two runs",
    "3": "three runs",
    "4": "a four",
    "5": "five runs",
    "6": "a six",
    "W": "a wicket",
    "wd": "a wide",
    "nb": "a no-ball",
    "bye": "byes or leg byes",
}

RELATION_WORDS: Mapping[str, str] = {
    "same_over": "the current over",
    "same_bowler": "this bowler's balls",
    "same_batsman": "this batter's balls",
    "same_matchup": "this bowler's balls to this batter",
    "boundary": "boundaries",
    "wicket_adjacent": "wickets and the balls beside them",
    "boundary_cluster": "clusters of boundaries",
    "over_boundary": "the first and last balls of overs",
}

UNNAMED = "learned"
"""The pattern of a head that started without one."""

FELT = 0.05
"""Points below which a contribution prints as 0.0 and is not worth a sentence."""


def percent(value: float) -> str:
    return f"{value:.0%}"


def fine_percent(value: float) -> str:
    return f"{value:.1%}"


def finest_percent(value: float) -> str:
    return f"{value:.2%}"


def signed_points(value: float) -> str:
    return f"{value:+.1f}"


def tenths(value: float) -> str:
    return f"{value:.1f}"


def significant(value: float) -> str:
    return f"{value:.2g}"


def counted(value: list[Any]) -> str:
    return str(len(value))


def outcome_words(value: str) -> str:
    return OUTCOME_WORDS[value]


def spaced(value: str) -> str:
    return value.replace("_", "-")


FORMATS: tuple[Callable[[Any], str], ...] = (
    str,
    percent,
    fine_percent,
    finest_percent,
    signed_points,
    tenths,
    significant,
    counted,
    outcome_words,
    spaced,
)
"""Every way in which a value becomes a fact's text."""


@dataclass(frozen=True, slots=True)
class _Fact:
    text: str
    pointer: str


Part = str | _Fact
Sentence = dict[str, Any]


class _Source:
    """An explanation whose values are quoted by JSON pointer (RFC 6901)."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def quote(self, pointer: str, form: Callable[[Any], str] = str) -> _Fact:
        return _Fact(form(resolve(self.data, pointer)), pointer)


def resolve(data: Any, pointer: str) -> Any:
    """The value at a JSON pointer.

    Raises:
        LookupError: nothing is there.
    """
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        data = data[int(step)] if isinstance(data, list) else data[step]
    return data


def narrate(data: Mapping[str, Any]) -> list[Sentence]:
    """Three to six sentences about an explanation (its own ``narrative`` is not read).

    Returns:
        ``[{"text": sentence, "facts": [{"text": "35%", "pointer": "/..."}]}]``;
        every number and name in a sentence is a fact, in the order of reading.
    """
    source = _Source(data)
    sentences = [_expectation(source), *_focus(source)]
    sentences += _contributions(source)
    sentences += _after(source)
    sentences += _cautions(source)
    if len(sentences) < 3:
        sentences.insert(2, _fusion(source))
    return sentences


def _sentence(parts: Iterable[Part]) -> Sentence:
    kept = list(parts)
    return {
        "text": "".join(part if isinstance(part, str) else part.text for part in kept),
        "facts": [
            {"text": part.text, "pointer": part.pointer} for part in kept if isinstance(part, _Fact)
        ],
    }


def _change(source: _Source, before: str, after: str) -> tuple[_Fact, _Fact]:
    """Two probabilities, with as few decimals as show that they differ."""
    for form in (percent, fine_percent, finest_percent):
        pair = source.quote(before, form), source.quote(after, form)
        if pair[0].text != pair[1].text:
            return pair
    return source.quote(before, fine_percent), source.quote(after, fine_percent)


def _most_moved(data: Mapping[str, Any]) -> int:
    """The outcome that is explained, else the one that is furthest from its baseline."""
    if data["prediction"]["explained"] is not None:
        return _place(data, data["prediction"]["explained"])
    entries = data["prediction"]["outcomes"]
    moves = [abs(entry["probability"] - entry["baseline"]) for entry in entries]
    return moves.index(max(moves))


def _place(data: Mapping[str, Any], outcome: str) -> int:
    entries = data["prediction"]["outcomes"]
    return next(at for at, entry in enumerate(entries) if entry["outcome"] == outcome)


def _expectation(source: _Source) -> Sentence:
    top = f"/prediction/outcomes/{_place(source.data, source.data['prediction']['top'])}"
    moved = f"/prediction/outcomes/{_most_moved(source.data)}"
    start: list[Part] = [
        "For ",
        source.quote("/ball/bowler"),
        " to ",
        source.quote("/ball/batter"),
        ", the model's likeliest outcome is ",
        source.quote(f"{top}/outcome", outcome_words),
    ]
    now, base = _change(source, f"{moved}/probability", f"{moved}/baseline")
    if top == moved:
        end: list[Part] = [" at ", now, ", against ", base]
    else:
        asked = source.data["prediction"]["explained"] is not None
        end = [
            " at ",
            source.quote(f"{top}/probability", percent),
            "; asked about is " if asked else "; what stands out is ",
            source.quote(f"{moved}/outcome", outcome_words),
            " at ",
            now,
            ", against ",
            base,
        ]
    return _sentence([*start, *end, " for a ball about which it knows nothing."])


def _focus(source: _Source) -> list[Sentence]:
    """What was looked at, with verdicts: the leading claim and one that fared differently."""
    data = source.data
    if not data["across_balls"]["medium"]["balls"] and not data["history"]:
        return [
            _sentence(
                [
                    "There is no earlier ball of this innings to look at: the prediction rests on "
                    "what was known before it."
                ]
            )
        ]
    claims = [at for at, claim in enumerate(data["evidence"]) if claim["removed"]]
    if not claims:
        return [_picture(source)]
    claims.sort(key=lambda at: _rank(data["evidence"][at]))
    first = claims[0]
    told = data["evidence"][first]["verdict"]
    other = next((at for at in claims if data["evidence"][at]["verdict"] not in (told, None)), None)
    chosen = [first] if other is None else [first, other]
    return [_claim(source, at) for at in chosen]


def _rank(claim: Mapping[str, Any]) -> tuple[int, bool, float]:
    """By verdict; what was hidden from the whole model before what one head alone lost."""
    order = ("supported", "not better than chance", "contradicted", None)
    one_head = claim["removed_from"] == "head"
    return order.index(claim["verdict"]), one_head, -abs(claim["effect_nats"])


def _picture(source: _Source) -> Sentence:
    """Where attention went when nothing was tested; quotes shares, which overlap."""
    shares = source.data["across_balls"]["medium"]["shares"]
    known = [at for at, share in enumerate(shares) if share["relation"] in RELATION_WORDS]
    if not known:
        return _sentence(["Nothing it looked at was tested: the heat maps are a picture only."])
    at = max(known, key=lambda place: shares[place]["share"])
    pointer = f"/across_balls/medium/shares/{at}"
    return _sentence(
        [
            "Of its attention to recent balls ",
            source.quote(f"{pointer}/share", percent),
            f" went to {RELATION_WORDS[shares[at]['relation']]} (even attention would give ",
            source.quote(f"{pointer}/uniform", percent),
            "); no claim was tested, so this is a picture and not a reason.",
        ]
    )


def _claim(source: _Source, at: int) -> Sentence:
    claim = source.data["evidence"][at]
    pointer = f"/evidence/{at}"
    if claim["verdict"] is None:
        reason: list[Part] = (
            [] if claim["reason"] is None else [": ", source.quote(f"{pointer}/reason")]
        )
        return _sentence(
            [*_subject(source, at), ", which is a picture and not a claim", *reason, "."]
        )
    change = claim["top_change"]
    before, after = _change(source, f"{pointer}/top_change/before", f"{pointer}/top_change/after")
    them = "it" if len(claim["removed"]) == 1 else "them"
    where = "the whole model" if claim["removed_from"] == "model" else "that head"
    parts: list[Part] = [
        *_subject(source, at),
        "; " if claim["verdict"] == "supported" else ", but ",
        f"hiding {them} from {where} (the scoreboard stays) ",
    ]
    outcome = source.quote(f"{pointer}/top_change/outcome", outcome_words)
    if before.text == after.text:
        parts += ["leaves ", outcome, " at ", before]
    else:
        verb = "lowers" if change["points"] < 0 else "raises"
        parts += [f"{verb} the chance of ", outcome, " from ", before, " to ", after]
    return _sentence([*parts, *_verdict(source, at), "."])


def _verdict(source: _Source, at: int) -> list[Part]:
    claim = source.data["evidence"][at]
    pointer = f"/evidence/{at}"
    reason: list[Part] = (
        [] if claim["reason"] is None else [": ", source.quote(f"{pointer}/reason")]
    )
    odds: list[Part] = (
        [] if claim["q"] is None else ["q ", source.quote(f"{pointer}/q", significant)]
    )
    inside = [*odds, *(["; " if odds else "", *reason[1:]] if reason else [])]
    verdict: list[Part] = [", which is ", source.quote(f"{pointer}/verdict")]
    return [*verdict, " (", *inside, ")"] if inside else verdict


def _subject(source: _Source, at: int) -> list[Part]:
    """Who looked at what: ``Its same-bowler head focused on A Zampa's balls 7.3 and 7.1``."""
    claim = source.data["evidence"][at]
    balls = _balls(source, at)
    one = len(claim["removed"]) == 1
    noun = "ball" if one else "balls"
    if claim["kind"] == "this over":
        return [f"The model focused on this over's earlier {noun} ", *balls]
    if claim["kind"] == "boundaries":
        return [f"The model focused on the {'boundary' if one else 'boundaries'} at ", *balls]
    place = f"/across_balls/{claim['scale']}/attention_by_head/{claim['head']}"
    try:
        head = resolve(source.data, place)
    except LookupError:
        return [f"The model focused on {noun} ", *balls]
    name = _head_name(source, at, place, head)
    focus: list[Part] = [*name, " focused on "]
    for key in ("bowler", "batsman"):
        if key in head:
            return [*focus, source.quote(f"{place}/{key}"), f"'s earlier {noun} ", *balls]
    return [*focus, f"{noun} ", *balls]


def _head_name(source: _Source, at: int, place: str, head: Mapping[str, Any]) -> list[Part]:
    """By the name it has earned, else by what it started as; always with its scale."""
    scale: list[Part] = ["On the ", source.quote(f"/evidence/{at}/scale"), " scale, "]
    if head["pattern"] != UNNAMED:
        pattern = source.quote(f"{place}/pattern", spaced)
        if head["earned"] == head["pattern"]:
            return [*scale, "its ", pattern, " head"]
        return [*scale, "the head that started as ", pattern]
    if head["earned"] != "unspecialised":
        return [*scale, "the head that earned the name ", source.quote(f"{place}/earned", spaced)]
    return [*scale, "a head without a name"]


def _balls(source: _Source, at: int) -> list[Part]:
    """The labels of a claim's balls, or how many where a list would be long."""
    removed = source.data["evidence"][at]["removed"]
    where = {entry["index"]: place for place, entry in enumerate(source.data["history"])}
    if len(removed) > 6:
        return ["(", source.quote(f"/evidence/{at}/removed", counted), " in all)"]
    parts: list[Part] = []
    for rank, ball in enumerate(removed):
        if rank:
            parts.append(" and " if rank == len(removed) - 1 else ", ")
        if ball in where:
            parts.append(source.quote(f"/history/{where[ball]}/label"))
        else:
            parts += ["delivery ", source.quote(f"/evidence/{at}/removed/{rank}")]
    return parts


def _contributions(source: _Source) -> list[Sentence]:
    groups = source.data["contributions"]
    if not groups:
        return []
    moved = _most_moved(source.data)
    points = [group["points"][moved]["points"] for group in groups]
    outcome = source.quote(f"/prediction/outcomes/{moved}/outcome", outcome_words)

    def told(at: int) -> list[Part]:
        bare = groups[at]["group"].startswith(("this ", "other ", "earlier "))
        return [
            "" if bare else "the ",
            source.quote(f"/contributions/{at}/group"),
            " (",
            source.quote(f"/contributions/{at}/points/{moved}/points", signed_points),
            " points)",
        ]

    def verb(at: int) -> str:
        return " are " if groups[at]["group"].endswith(("balls", "teams")) else " is "

    up, down = points.index(max(points)), points.index(min(points))
    rises, falls = points[up] >= FELT, points[down] <= -FELT
    if rises and falls:
        told_of = ["What adds most to ", outcome, verb(up), *told(up), "; what takes most away"]
        return [_sentence([*told_of, verb(down), *told(down), "."])]
    if rises:
        return [_sentence(["What adds most to ", outcome, verb(up), *told(up), "."])]
    if falls:
        return [_sentence(["What takes most away from ", outcome, verb(down), *told(down), "."])]
    return [_sentence(["Nothing known about this ball moves ", outcome, " by much."])]


def _after(source: _Source) -> list[Sentence]:
    actual = source.data["prediction"]["actual"]
    if actual is None:
        return []
    parts: list[Part] = [
        "The ball brought ",
        source.quote("/prediction/actual", outcome_words),
        ", to which the model had given ",
        _visible(source, f"/prediction/outcomes/{_place(source.data, actual)}/probability"),
    ]
    if source.data["prediction"]["surprise_bits"] is not None:
        bits = source.quote("/prediction/surprise_bits", tenths)
        parts += [", a surprise of ", bits, " bit" if bits.text == "1.0" else " bits"]
    return [_sentence([*parts, "."])]


def _visible(source: _Source, pointer: str) -> _Fact:
    """A probability that does not print as 0% unless it is next to nothing."""
    value = resolve(source.data, pointer)
    form = percent if value >= 0.01 else fine_percent if value >= 0.001 else finest_percent
    return source.quote(pointer, form)


def _cautions(source: _Source) -> list[Sentence]:
    flags = source.data["flags"]
    if not flags:
        return []
    parts: list[Part] = ["Keep in mind: "]
    for at, flag in enumerate(flags):
        ended, last = flag["text"].endswith((".", "!", "?")), at == len(flags) - 1
        between = "" if last and ended else "." if last else " " if ended else "; "
        parts += [source.quote(f"/flags/{at}/text"), between]
    return [_sentence(parts)]


def _fusion(source: _Source) -> Sentence:
    return _sentence(
        [
            "What is known of the ball itself carries ",
            source.quote("/fusion_weights/within_ball", percent),
            " of the weight in the prediction, earlier balls the rest.",
        ]
    )

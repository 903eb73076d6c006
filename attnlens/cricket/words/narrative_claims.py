"""What the model looked at and whether it mattered, in one sentence per claim.

What a claim says is told with its verdict. Balls are said to inform an outcome where the claim
is supported, and only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Evidence, Explanation, Sentence, Tally
from attnlens.cricket.words.facts import (
    Part,
    Source,
    counted,
    outcome_words,
    sentence,
    worded,
)
from attnlens.show.numbers import percent

RELATION_WORDS: Final[Mapping[str, str]] = {
    "same_over": "the current over",
    "same_bowler": "this bowler's balls",
    "same_batsman": "this batter's balls",
    "same_matchup": "this bowler's balls to this batter",
    "boundary": "boundaries",
    "wicket_adjacent": "wickets and the balls beside them",
    "boundary_cluster": "clusters of boundaries",
    "over_boundary": "the first and last balls of overs",
}

LISTED: Final = 4
"""More balls than this are told by the first and the last, or by their number."""

ORDER: Final = ("supported", "not better than chance", "contradicted", None)

REASONS: Final[Mapping[str, str]] = {
    "controls do as much": "but hiding others does as much",
    "too small to matter": "but that is too small to matter",
    "operators disagree": "but a second test does not bear it out",
    "other balls do more": "where hiding nearly any others does more",
    "hiding them raises what they are said to raise": "against what was said of them",
}
"""Why a claim is not supported, in few words; another reason is quoted as it is."""

UNMOVED: Final[Mapping[str, str]] = {
    **REASONS,
    "controls do as much": "as it does with others hidden",
    "too small to matter": "which is too small to matter",
}
"""The same where the chance stays what it is."""


def chosen_claims(explanation: Explanation) -> list[int]:
    """The claims about past balls worth a sentence: the leading one, and one that fared otherwise.

    By verdict, supported first; what was hidden from the whole model before what one head alone
    lost; then by effect. The second is about other balls and has another verdict.
    """
    claims = explanation.evidence
    about_balls = (at for at, claim in enumerate(claims) if claim.removed)
    order = sorted(about_balls, key=lambda at: _rank(claims[at]))
    if not order:
        return []
    first = claims[order[0]]
    for at in order:
        claim = claims[at]
        if (
            claim.verdict not in (first.verdict, None)
            and set(claim.removed) != set(first.removed)
            and claim.removed_from == "model"
        ):
            return [order[0], at]
    return order[:1]


def _rank(claim: Evidence) -> tuple[int, bool, bool, float]:
    one_head = claim.removed_from == "head"
    # What is not supported is told of what the model looked at, not of what it might have.
    looked = claim.kind == "head" or claim.verdict == "supported"
    return ORDER.index(claim.verdict), one_head, not looked, -abs(claim.effect_nats)


def picture(source: Source[Explanation]) -> Sentence:
    """Where attention went when nothing was tested; quotes shares, which overlap."""
    shares = source.document.across_balls.medium.shares
    known = [
        at for at, share in enumerate(shares) if share.relation in RELATION_WORDS and share.uniform
    ]
    if not known:
        return sentence(["Nothing it looked at was tested: the heat maps are a picture only."])
    at = max(known, key=lambda place: shares[place].share)
    pointer = f"/across_balls/medium/shares/{at}"
    return sentence(
        [
            "Of its attention to recent balls ",
            source.quote(f"{pointer}/share", percent),
            f" went to {RELATION_WORDS[shares[at].relation]}, where even attention would give ",
            source.quote(f"{pointer}/uniform", percent),
            "; no claim was tested, so this is a picture and not a reason.",
        ]
    )


def claim_sentence(source: Source[Explanation], at: int, *, leading: bool = True) -> Sentence:
    """A claim about past balls: where the model looked, and what hiding that does.

    Args:
        leading: whether it is the first that is told.
    """
    claim = source.document.evidence[at]
    looked = _looked(source, at, leading)
    if claim.verdict is None:
        few = (claim.reason or "").startswith("too few")
        why: list[Part] = ["with too few other balls to test that against, "] if few else []
        return sentence([*looked, "; ", *why, "this is a picture and not a claim."])
    pointer = f"/evidence/{at}"
    outcome = source.quote(f"{pointer}/top_change/outcome", outcome_words)
    before, after = source.change(f"{pointer}/top_change/before", f"{pointer}/top_change/after")
    them = "it" if len(claim.removed) == 1 else "them"
    where = " from that head alone" if claim.removed_from == "head" else ""
    moved: list[Part] = [f"; hide {them}{where} and ", "the chance of ", outcome]
    verdict: list[Part] = [": ", source.quote(f"{pointer}/verdict")]
    if claim.verdict == "supported":
        looked += [", informing the chance of ", outcome]
        moved = [f"; hide {them}{where} and it"]
        moved = [f"; hide {them}{where} and that chance"] if them == "it" else moved
        verdict = [", which is ", source.quote(f"{pointer}/verdict")]
    else:
        verdict = [*_reason(source, at, moves=before.text != after.text), *verdict]
    if before.text == after.text:
        moved += [" stays at ", before]
    else:
        verb = "falls" if claim.top_change.points < 0 else "rises"
        moved += [f" {verb} from ", before, " to ", after]
    return sentence([*looked, *moved, *verdict, "."])


def speaks_for(claim: Evidence) -> bool:
    """Whether a claim's balls raise the outcome it tells: hiding them lowers it."""
    return claim.top_change.points < 0


def _reason(source: Source[Explanation], at: int, *, moves: bool) -> list[Part]:
    reason = source.document.evidence[at].reason
    if reason is None:
        return []
    if reason in REASONS:
        return [f", {(REASONS if moves else UNMOVED)[reason]}"]
    return [", ", source.quote(f"/evidence/{at}/reason")]


def _looked(source: Source[Explanation], at: int, leading: bool) -> list[Part]:
    claim = source.document.evidence[at]
    also = "" if leading else "also "
    one = len(claim.removed) == 1
    balls = [*balls_of(source, at), *_whose(source, at), *_what_came(source, at)]
    if claim.kind == "this over":
        return [f"One test was {also}of this over so far, ", *balls]
    if claim.kind == "boundaries":
        which = "the last boundary, " if one else "the last boundaries, "
        return [f"One test was {also}of {which}", *balls]
    if claim.removed_from == "head":
        return [f"One head of the model {also}focused on ", *balls]
    verb = "looked back at" if claim.scale == "long" else "focused on"
    return [f"{'The model' if leading else 'It also'} {verb} ", *balls]


def balls_of(source: Source[Explanation], at: int) -> list[Part]:
    """The labels of a claim's balls, latest first; of many the first and the last, or how many."""
    removed = source.document.evidence[at].removed
    where = {entry.index: place for place, entry in enumerate(source.document.history)}

    def label(ball: int) -> Part:
        if ball in where:
            return source.quote(f"/history/{where[ball]}/label")
        return source.quote(f"/evidence/{at}/removed/{removed.index(ball)}")

    if len(removed) == 1:
        return ["ball " if removed[0] in where else "delivery ", label(removed[0])]
    noun = "balls " if all(ball in where for ball in removed) else "deliveries "
    if len(removed) > LISTED:
        ordered = sorted(removed)
        if ordered[-1] - ordered[0] == len(ordered) - 1:
            return [noun, label(ordered[0]), " to ", label(ordered[-1])]
        return [source.quote(f"/evidence/{at}/removed", counted), " balls"]
    parts: list[Part] = [noun]
    for rank, ball in enumerate(sorted(removed, reverse=True)):
        if rank:
            parts.append(" and " if rank == len(removed) - 1 else ", ")
        parts.append(label(ball))
    return parts


def _whose(source: Source[Explanation], at: int) -> list[Part]:
    """Who bowled or faced them, where that is one player and tells something."""
    claim, ball = source.document.evidence[at], source.document.ball
    tally = claim.tally
    if tally is None:
        return []
    bowler = source.quote(f"/evidence/{at}/tally/bowler")
    batter = source.quote(f"/evidence/{at}/tally/batter")
    how = {1: "", 2: "both "}.get(tally.balls, "all ")
    if tally.bowler == ball.bowler and tally.batter == ball.batter:
        return [f", {how}", bowler, " to ", batter]
    if tally.bowler is not None and not (tally.this_over or tally.batter):
        return [f", {how}bowled by ", bowler]
    if tally.batter is not None:
        return [f", {how}faced by ", batter]
    return [f", {how}in this over"] if tally.this_over and claim.kind == "head" else []


def _what_came(source: Source[Explanation], at: int) -> list[Part]:
    """What happened on them, by the most telling count."""
    claim = source.document.evidence[at]
    tally = claim.tally
    if tally is None:
        return []
    if tally.balls == 1:
        rows = source.document.history
        where = next((p for p, row in enumerate(rows) if row.index == claim.removed[0]), None)
        if where is None or claim.kind == "boundaries":
            return []
        return [", ", source.quote(f"/history/{where}/outcome", outcome_words)]
    place = f"/evidence/{at}/tally"
    boundaries = [] if claim.kind == "boundaries" else _boundaries(source, place, tally)
    off_them: list[Part] = [" off the ", source.quote(f"{place}/balls", worded)]
    if tally.wickets:
        wickets = source.quote(f"{place}/wickets", worded)
        start = [*boundaries, " and " if boundaries else ", ", wickets]
        if tally.wickets == 1:
            return [*start, " wicket among them"]
        return [*start, " wickets", *([] if boundaries else off_them)]
    if boundaries or claim.kind == "boundaries":
        return boundaries
    if tally.dots == tally.balls:
        return [", both dots" if tally.balls == 2 else ", every one a dot"]
    runs = " run" if tally.runs == 1 else " runs"
    return [", ", source.quote(f"{place}/runs", worded), runs, *off_them]


def _boundaries(source: Source[Explanation], place: str, tally: Tally) -> list[Part]:
    """How many of several balls were boundaries."""
    if not tally.boundaries:
        return []
    if tally.boundaries == tally.balls:
        return [", both boundaries" if tally.balls == 2 else ", every one a boundary"]
    some = "a boundary" if tally.boundaries == 1 else "boundaries"
    number = source.quote(f"{place}/boundaries", worded)
    return [f", {some} off ", number, " of the ", source.quote(f"{place}/balls", worded)]

"""A ball of a match's story in one sentence: who did what, when, and how likely that was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.facts import NUMBERS, Source, outcome_words
from attnlens.cricket.words.story import place_of
from attnlens.words import count

OUT: Final[Mapping[str, str]] = {
    "bowled": "{bowler} bowled {out}",
    "lbw": "{bowler} trapped {out} lbw",
    "caught": "{out} was caught off {bowler}",
    "caught and bowled": "{bowler} caught and bowled {out}",
    "stumped": "{out} was stumped off {bowler}",
    "hit wicket": "{out} hit the wicket off {bowler}",
    "run out": "{out} was run out",
}
"""How somebody went; any other way stands as it is called."""


def moment_sentence(explanation: Explanation) -> str:
    """``Nabi hit Khan for six with 44 wanted from 34; that was 6% likely, usually 4%.``"""
    prediction, source = explanation.prediction, Source(explanation)
    assert prediction.actual is not None
    pointer = f"/prediction/outcomes/{place_of(prediction, prediction.actual)}"
    entry = prediction.outcomes[place_of(prediction, prediction.actual)]
    thing = "a wicket" if prediction.actual == "W" else "that"
    start = f"{event_of(explanation)}; {thing} was"
    if entry.usual is None:
        return f"{start} {source.visible(f'{pointer}/probability').text} likely."
    chance, usual = (source.visible(f"{pointer}/{name}").text for name in ("probability", "usual"))
    told = "as usual" if chance == usual else f"usually {usual}"
    return f"{start} {chance} likely, {told}."


def event_of(explanation: Explanation) -> str:
    """``Nabi hit Khan for six with 44 wanted from 34``: who did what, and when."""
    return f"{_happened(explanation)} {_standing(explanation)}"


def _happened(explanation: Explanation) -> str:
    ball, actual = explanation.ball, explanation.prediction.actual
    happened = ball.happened
    assert happened is not None
    if actual == "W":
        return _gone(explanation)
    if actual in ("4", "6"):
        return f"{ball.batter} hit {ball.bowler} for {NUMBERS[int(actual)]}"
    if actual in ("wd", "nb"):
        more = f" that cost {happened.runs}" if happened.runs > 1 else ""
        return f"{ball.bowler} bowled {outcome_words(actual)}{more}"
    if actual == "0":
        return f"{ball.bowler} bowled {ball.batter} a dot ball"
    if actual == "bye":
        return f"{count(happened.runs, 'bye or leg bye', 'byes or leg byes')} off {ball.bowler}"
    return f"{ball.batter} took {outcome_words(str(actual))} off {ball.bowler}"


def _gone(explanation: Explanation) -> str:
    """Who was out and how; of the batter who faced it the score."""
    ball, happened = explanation.ball, explanation.ball.happened
    assert happened is not None
    out = happened.out or "somebody"
    if happened.out == ball.batter and ball.standing is not None:
        out = f"{out} ({ball.standing.batter_runs + happened.runs_batter})"
    form = OUT.get(happened.how or "", f"{{out}} was out, {happened.how}")
    return form.format(out=out, bowler=ball.bowler)


def _standing(explanation: Explanation) -> str:
    """What was wanted before the ball, where that is known; else the score."""
    ball = explanation.ball
    later = any(flag.flag == "target_set_later" for flag in explanation.flags)
    if ball.runs_required and ball.balls_left and not later:
        return f"with {ball.runs_required} wanted from {ball.balls_left}"
    return f"at {ball.score}/{ball.wickets}"

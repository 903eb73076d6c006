"""Where the references of an explanation may stand: who bats, who bowls, and what came."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from attnlens.llm.places import Places

KINDS: Final = {
    **dict.fromkeys(("batter", "non_striker", "bowler", "out"), "player"),
    **dict.fromkeys(("batting_team", "bowling_team"), "side"),
}
"""Ids that name somebody, and of which kind they are."""

OWNERS: Final = {
    **dict.fromkeys(("batter.figures", "batter.runs", "batter.balls"), ("batter",)),
    "bowler.figures": ("bowler",),
    "over_runs": ("bowler", "batter"),
    **dict.fromkeys(("win.before", "win.after", "score", "wickets"), ("batting_team",)),
    **dict.fromkeys(("target", "required_rate", "run_rate"), ("batting_team",)),
    "partnership": ("batting_team",),
    "how": ("out",),
    "happened": ("batter", "bowler", "out"),
}
"""Whose a figure is; of two sides only the one that bats needs runs, but either may be told so."""

NEEDS: Final = {
    name: re.compile(rf"\b(?:{words})\w*", re.IGNORECASE)
    for name, words in {
        "balls_left": "ball|deliver|from □|off □",
        "runs_required": "need|requir|want|defend|chas|ask|short|win|get|to go|more",
        "wickets": "wicket|down|gone|lost|lose|out|fallen|fell",
        "target": "target|chas|win|pursuit|reach|need|hunt|ask",
        "over_runs": "over|concede|cost",
        "required_rate": "an over|per over|rate|requir|ask|need",
        "run_rate": "rate|an over|per over|at □",
        "latest": "last|latest|recent|past|previous|before|gone|went|so far|look|earlier",
        "partnership": "partner|stand|put on|add|share|together|pair|worth|between",
        "batter.balls": "ball|deliver|from □|off □|face",
    }.items()
}

STRIKES: Final = (
    r"(?:fac(?:es|ed|ing)|is on strike|takes? (?:guard|strike)|is new (?:to|at) the crease|"
    r"comes? in at|arriv(?:es?|ed)|joins?|has yet to score)\b"
)
BOWLS: Final = (
    r"(?:(?:comes?|came) (?:on|in to bowl)|(?:runs?|ran) in|bowl(?:s|ed)|deliver(?:s|ed)|"
    r"has the ball|(?:has|have) gone for|conced(?:es?|ed))\b"
)
BATS: Final = (
    r"(?:bats?|are batting|chas(?:e|ing)|(?:still )?(?:need|want|require)|have just begun|"
    r"stands? at)\b"
)
FIELDS: Final = (
    r"(?:fields?|bowls?|are bowling|(?:must )?defend|are in the field|hopes? for a wicket)\b"
)
CAME: Final = (
    r"(?:it was|came was|was just|followed was|came of it was|took|brought|answered with|"
    r"settled for|went|hit|ended (?:in|with)|result was|produced|delivered|turned out to be|came:)"
)
HIT: Final = r"(?:\w+ )?(?:settled for|took|hit|struck|scored)"
FORECAST: Final = (
    r"\{(?:p\.|c\d|g\d|times)|likel|expect|forecast|model|chance|favou?r|hope|fear|would|could|might|"
    r"may\b|know"
)
END: Final = (
    r"(?:other|far|non-striker's) end|(?:wait|watch)\w* (?:from|on\b(?! \{)|at)|look(?:s|ing) on"
)
OUT: Final = (
    r"(?:dismissed|caught|leg before|bowled|stumped|lbw|run out|hit wicket)\b(?! (?:by|to) )"
)
MOST: Final = r"\b(?:most|largest|biggest|hardest|strongest|main)\b"
LEAST: Final = r"\b(?:least|smallest|weakest|lightest)\b"

WRONG: Final = {
    "the batter alone is on strike": (
        rf"\{{(?:non_striker|bowler|\w+_team)\}} (?:then |now |has )?{STRIKES}",
        r"(?:bat of|bowls? to|bowled to|faced by|in to|in at) \{non_striker\}|bat of \{bowler",
        r"\{bowler\} (?:against|to|v) \{non_striker\}",
        rf"\{{(?:bowler|non_striker|\w+_team)\}} {HIT} \{{happened\}}",
    ),
    "the bowler alone bowls": (
        rf"\{{(?:batter|non_striker)\}}(?: then| now|, (?:[^{{}},]|\{{[\w.]+\}})*,)? {BOWLS}",
        r"(?:bowled by|bowling of|over from|(?:ball|delivery|spell) (?:from|by)) "
        r"\{(?:batter|non_striker|\w+_team)\}",
        r"\{(?:batter|non_striker)\} to \{bowler\}",
        r"in (?:at|to) \{bowler\}",
    ),
    "the figures are the other's": (
        r"\bbowler\b(?!\.)[^{}]*\{batter\.|\b(?:batter|striker)\b(?!\.)[^{}]*\{bowler\.",
    ),
    "the non-striker alone is at the other end": (
        rf"\{{(?:batter|bowler)\}}[^{{}},;]*(?:{END})",
        r"(?:other|far) end\b[^{},;]*\{(?:batter|bowler)\}",
    ),
    "the batters share a stand": (
        r"(?:stand|partnership) (?:with|between [^.;]* and) \{(?:bowler|out)\}",
    ),
    "the other side bats": (
        r"\{bowling_team\} (?:still )?have \{balls_left\}",
        rf"\{{bowling_team\}} {BATS}",
        r"\{(?:batter|non_striker)\} for \{bowling_team\}",
        r"(?:shared|put on|added|made|has) [^{},]*\{(?:batter|partnership)[\w.]*\}[^{},]* "
        r"for \{bowling_team\}",
        r"against \{batting_team\}(?!.*\{bowler)|\{batter\}[^{},;]* against \{batting_team\}",
    ),
    "the other side is in the field": (
        rf"\{{batting_team\}} {FIELDS}",
        r"bowls?\b[^;,]* for \{batting_team\}",
        r"(?:ball|\{bowler\.figures\}|comes on|bowls|\{bowler\}) for \{batting_team\}",
    ),
    "that is not {happened}": (
        rf"{CAME} \{{(?:outcome|likeliest)\}}",
        r"\{(?:outcome|likeliest)\} (?:it was\b|(?:is|was) what "
        r"(?:came|happened|followed|it|they|\{))",
        r"\{(?:outcome|likeliest)\}[^;]*\{p\.happened\}",
        rf"\{{(?:batter|bowler)\}}(?!.*(?:{FORECAST}))[^;]* \{{(?:outcome|likeliest)\}}",
    ),
    "{how} tells that": (
        rf"\{{\w+\}}(?: was| is| got| has been)? {OUT}",
        rf"\{{out\}}[^{{}}]*\b{OUT}",
    ),
    "{runs_required} are runs": (r"\{runs_required\} (?:more )?(?:ball|deliver|wicket)",),
    "{balls_left} are balls": (
        r"\{balls_left\}[^{}]*\b(?:bowled|gone|faced)\b|\b(?:bowled|faced)\b[^{}]* \{balls_left\}",
        r"\{balls_left\} (?:more|run|wicket|(?:still )?to get)",
    ),
    "{wickets} are wickets": (r"\{wickets\} (?:ball|run|deliver)|\{wickets\}[^{}]*in hand",),
    "{over_runs} are those of the over": (
        r"\{over_runs\}[^{}]*\b(?:spell|innings|match|last over)\b",
    ),
    "{run_rate} is what was scored": (
        r"(?:requir|need|ask|want)\w*(?:[^;{}]|\{runs_required\}|\{balls_left\}){0,40}\{run_rate\}",
        r"(?:managed|scored|gone|so far)\b[^,;]*\{required_rate\}",
    ),
    "{batter.runs} come from {batter.balls}": (
        r"\{batter\.balls\} (?:after|from|off|in) \{batter\.runs\}",
        r"\{batter\.runs\} (?:ball|deliver)|faced \{batter\.runs\}",
    ),
    "{target} is the target": (
        r"need\w*(?: \w+){0,2} \{target\}|\{target\} (?:more|from|off)",
        r"chas\w+ \{score\}|\b(?:at|are|on|reached) \{target\}",
    ),
    "{latest} are past balls": (
        r"(?:next|follow|coming|to come|after|ahead)\w*(?: \w+){0,3} \{latest\}",
    ),
    "{times} is how much likelier": (r"\{[\w.]*times\} as (?:un|rare|small|low|little|improb)",),
}
"""What is wrong, and the patterns of sentences, as they were written, of which it is said."""

CAME_OF_IT: Final = ("happened", "out", "win.after")


def places_of(texts: Mapping[str, str], story: str) -> Places:
    """Where ids may stand, by what they print and the thing that the story is about."""
    by_size = _compiled({"the contributions stand by size": tuple(_by_size(texts))})
    return Places(
        KINDS,
        OWNERS,
        (*_always_wrong(), *by_size),
        NEEDS,
        subjects=("what", "balls"),
        story=story,
        came=CAME_OF_IT,
    )


@cache
def _always_wrong() -> Sequence[tuple[re.Pattern[str], str]]:
    return _compiled(WRONG)


def _compiled(wrong: Mapping[str, Sequence[str]]) -> Sequence[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(pattern, re.IGNORECASE), fault)
        for fault, patterns in wrong.items()
        for pattern in patterns
    ]


def _by_size(texts: Mapping[str, str]) -> Iterator[str]:
    """What "most" and "least" may not be said of: contributions stand by size."""
    parts = [name.partition(".")[0] for name in texts if re.fullmatch(r"g\d+\.what", name)]
    for word, wrong in ((MOST, parts[2:]), (LEAST, parts[:-1])):
        if wrong:
            ids = rf"\{{(?:{'|'.join(wrong)})\.what\}}"
            yield rf"{ids}[^{{}}.;]*{word}|{word}[^{{}}.;,]*{ids}"

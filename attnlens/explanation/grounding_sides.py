"""Sides in a text: does the one that is said to bat, or to bowl, do so?

What stands right after a side's name, or leads up to it, tells which it is: a side "is 52/1",
"has lost two wickets", "is carried to 7/0"; the other "concedes", "has turned to" somebody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from attnlens.explanation.grounding_facts import Unsupported
from attnlens.explanation.grounding_names import TEAM, Vocabulary
from attnlens.explanation.grounding_text import COUNT, NAME

_TOTAL: Final = (
    rf"(?:\d{{1,3}}/\d{{1,2}}(?!\d)|\d{{1,3}} (?:for|without) (?:the loss of )?(?:no\b|{COUNT}))"
)
_RATE: Final = r"\d{1,2}(?:\.\d+)? (?:runs )?(?:an|per|every) over"
_FILL: Final = (
    r"(?:(?!\b(?:against|off|from|by|while|whereas|but|concede|conceding)\b)"
    r"[^;%\ue100-\uf8ff]){0,44}?"
)
_HELD: Final = (
    r"(?!(?:them\b|their|reduc|restrict|held|kept|pegged|conced|against|bowl|who have)\w*\b)"
)
_BATS_AFTER: Final = re.compile(
    rf"^,?(?: {_HELD}[a-z']+){{0,5}}? {_TOTAL}|"
    rf"^(?:,|'s?| who| are| is| were| was| have| has| had| having| now| been| currently| already)*"
    rf" (?:(?:at|on|standing at|sitting (?:at|on)|placed at|poised at) )?(?:{_TOTAL}"
    rf"|(?:made|making|mov(?:ed?|ing)|got|gone|going|crawl(?:ed|ing)?|rac(?:ed?|ing)|rattl(?:ed"
    rf"|ing)"
    rf"|reach(?:ed|ing)?|progress(?:ed|ing)?|advanc(?:ed|ing)|climb(?:ed|ing)?|motor(?:ed|ing)?"
    rf"|cruis(?:ed?|ing)|scor(?:ed|ing)|post(?:ed|ing)?|compil(?:ed|ing)|amass(?:ed|ing)?|put on"
    rf"|trundl(?:ed|ing)|travel(?:led|ling)|ticking|rolling|carried|stumbl(?:ed|ing)|slump(?:ed"
    rf"|ing)?"
    rf"|limp(?:ed|ing)?){_FILL} (?:{_TOTAL}|{_RATE})"
    rf"|(?:los[et]|losing) (?:{COUNT}|a|another|both|early|their) (?:\w+ )?(?:wickets?|batters?"
    rf"|batsmen)"
    rf"|(?:batting|at the crease|in the chase|chasing|chase|in reply|replying|on the chase|pursuing"
    rf"|need(?:ing|s)?|requir(?:e|es|ing)|want(?:ing)? \d|still (?:need|require|want))\b"
    rf"|(?:score|scoring|progress|run) at {_RATE}"
    rf"|innings|run rate|scoring rate|total|reply|top order|middle order|lower order|batters"
    rf"|batsmen|batting)",
    re.IGNORECASE,
)
_BOWLS_AFTER: Final = re.compile(
    rf"^(?:,|'s?| who| are| is| were| was| have| has| had| having| now| been| currently| already)*"
    rf" (?:conced(?:e|es|ed|ing)|leak(?:s|ed|ing)?|g(?:iving|iven) (?:up|away)|g[ai]ves? (?:up"
    rf"|away)|ship(?:ped|ping)"
    rf"|bowling|in the field|fielding|defend(?:ing|s)?|with the ball|bowl(?:s)?\b"
    rf"|(?:turn(?:ed|ing)? to|br(?:ing|ings|ought|inging) (?:on|back)|call(?:ed|ing)? (?:on|upon)"
    rf"|thrown? the ball to|threw the ball to|hand(?:ed|ing)? (?:the ball |it )?(?:over )?to"
    rf"|opt(?:ed|ing)? for|entrust(?:ed|ing)?|go(?:ing|ne)? (?:to|with)|rel(?:y|ying"
    rf"|ied) on) {NAME}"
    rf"|(?:restrict|contain|keep|kept|hold|held|peg|reduc)\w* |t(?:aken|ook|aking) (?:{COUNT}|a"
    rf"|another)"
    rf" (?:\w+ )?wickets?|(?:bowling )?attack|bowlers?|fielders|defence|bowling)\b",
    re.IGNORECASE,
)
_BATS_BEFORE: Final = re.compile(
    r"\b(?:(?:carried|carry|carries|taken|takes?|took|left|leaves|leaving|moved|moves|lifted|lifts"
    r"|brought|brings|got|gets|put|puts|has|had|have|propelled|guided|steered|hauled|dragged|seen"
    r"|sees|saw|kept|keeps|with|driven|helped) (?:the )?)$",
    re.IGNORECASE,
)
_TO_TOTAL: Final = re.compile(
    rf"^(?: side| team| innings)?(?: up| along| on)?,? (?:to|at|on|through to|as far as|reach"
    rf"|standing"
    rf" at|sitting at) (?:a score of |the score of )?{_TOTAL}",
    re.IGNORECASE,
)
_OWN_BEFORE: Final = re.compile(
    rf"\b(?:(?P<bats>(?:innings|score|total|chase|reply|run rate|scoring rate|batters?"
    rf"|batsmen) (?:of|for|by|from)"
    rf"|(?:made|scored|posted|compiled) by|(?:{_RATE}|{_TOTAL})(?: so far| now)?,? (?:for|by))"
    rf"|(?P<bowls>(?:bowling|attack|bowlers?|fielders) (?:of|for|by|from)|(?:conceded|bowled"
    rf"|leaked|sent down) by))"
    rf" (?:the )?$",
    re.IGNORECASE,
)
_AGAINST: Final = re.compile(
    r"\b(?:against|versus|vs\.?|v|facing|off|from|by|to|over) (?:the )?$", re.IGNORECASE
)
_OPPONENT: Final = re.compile(
    rf"^\W*(?:Against|Versus|Facing|Up against) (?:the )?({NAME}),? (?:the )?({NAME})(?P<rest>.*)$"
)
_BATTING, _BOWLING = "batting_team", "bowling_team"


def check_sides(
    text: str, sentence: str, match_facts: Any, vocabulary: Vocabulary
) -> Iterator[Unsupported]:
    """Sides that bat where the other does, or bowl; each once.

    Args:
        text: a clause with signs for names; ``sentence``, its sentence as it was written.
        match_facts: the ``match`` of an explanation.
    """

    def wrong(said: str, key: str) -> Unsupported:
        plain = vocabulary.plain(said).strip(" ,")
        problem = f"is not the {key.split('_')[0]} side"
        return Unsupported(sentence, plain, "name", problem, match_facts[key], f"/match/{key}")

    told: set[int] = set()
    for match in re.finditer(NAME, text):
        names = teams_of(match.group(), vocabulary)
        if not names:
            continue
        before, after = text[: match.start()], text[match.end() :]
        key = _part(before, after)
        if key is not None and match_facts[key] not in names:
            told.add(match.start())
            end = re.match(r"[^;.]{0,28}", after)
            yield wrong(match.group() + (end[0] if end else ""), key)
    opposed = _OPPONENT.match(text)
    if opposed is not None and opposed.start(2) not in told:
        key = _part("", opposed["rest"])
        other = teams_of(opposed[1], vocabulary)
        if key is not None and match_facts[key] in other and len(other) == 1:
            yield wrong(f"{opposed[1]} {opposed[2]}", _BOWLING if key == _BATTING else _BATTING)


def _part(before: str, after: str) -> str | None:
    """Which side the words beside a name make it; ``None`` where they do not tell."""
    own = _OWN_BEFORE.search(before)
    if own is not None:
        return _BATTING if own["bats"] else _BOWLING
    if _BATS_BEFORE.search(before) and _TO_TOTAL.match(after):
        return _BATTING
    if _AGAINST.search(before):
        return None
    if _BOWLS_AFTER.match(after):
        return _BOWLING
    return _BATTING if _BATS_AFTER.match(after) else None


def teams_of(sign: str, vocabulary: Vocabulary) -> set[str]:
    """Names of the sides that a sign may stand for; none where it may stand for a player."""
    held = vocabulary.entities.get(sign, [])
    return {one.name for one in held if one.kind == TEAM}

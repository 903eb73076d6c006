"""Names in a text: whose they are, whether they are known, and whether they do what is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from attnlens.explanation.grounding_facts import Facts, Unsupported
from attnlens.explanation.grounding_text import NAME, Clause, plainly
from attnlens.explanation.visible import visible, visible_name

PLAYER, TEAM, PLACE, OTHER = "player", "team", "place", "other"

QUOTE: Final = "\uf8ff"
"""Stands for a text of the explanation that is quoted as it is."""

NAMELESS: Final = "Nameless"

_FIRST: Final = 0xE100

# Surnames that are words too: alone they are names in the middle of a sentence only.
_ALSO_WORDS_TEXT = """
ball best bell bird bond bowler brook burns carter chase close cook cross day dean dent fair field
flower ford fox good green hall hand head hill hope hunt king lamb law little long lord love march
marsh may miles mills moody new north over page park parks potter power pope price read rice rose
root rush sales short singles small snow south stone strong swan wade wall ward waters west wicket
wide will wise wood woods young
"""
_ALSO_WORDS: Final = frozenset(_ALSO_WORDS_TEXT.split())

# Words that begin sentences of all kinds; a single capital there tells nothing.
_LEADING_TEXT = """
a about above according across add added adding additionally after against all almost already also
although altogether among an and another any anyone apart around as ask asked at attention away
back balls bar base based baseline batter batters before behind below beside besides better
between beyond big both boundaries bowler bowlers bowling broadly but by call calibration came can
caution change chance chances claim claims clearly coming compared consequently contributions
crucially curiously data dead despite did do does dot dots down drop due during each earlier early
either elsewhere especially evidence even eventually every everything evidently except expect
expectation expected explanation facing few final finally first five flags focus for four from
further furthermore generally given going half hardly has have having he head heads hence her here
hide hiding his history how however if in indeed initially innings inside instead interestingly
into is it its just keep knowing last late later leave leaves left less likewise little long
looking lower mainly many mask masking match maybe mean meanwhile medium micro mind model momentum
more moreover most much naturally near nearly neither nevertheless next no nobody none nor not
notably note nothing now odds of off often on once one ones only on or other others otherwise our
out outcome outcomes outside over overall part past per perhaps picture plain play points
prediction predictions previously probability pulling put q raise rather really recency recent
relative remember removing reading result runs same saying score scoreboard scoring second
secondly see seen set several she short should similarly simply since single singles six sixes
slightly small so some something somewhat specifically still strictly striker such summary super
support supported surprise surprisingly take taken taking tell test tested tests than that the
their them then there therefore these they thing things third this those though three through
throughout thus to together too top twice two under unlike unsupported until up upon us using
usual usually venue verdict very was watch we weight weights well were what whatever when where
whereas whether which while who why wicket wickets wide wides will with within without worth would
yes yet you your zero thanks owing bits nats percent target runs-rate required chasing batting
hidden take-away conversely meaning stepping tellingly statistically importantly strikingly
today tonight yesterday tomorrow cricket
unsurprisingly both-ways fours boundary dismissals dismissal expectations weighing weighed held
holding bearing beware treat trust careful mostly again ahead pressure context overs delivery
deliveries attended reality fate history truth events forecast forecasts figures statistics numbers
data fortune circumstances conditions logic common instinct conventional nature luck form pace spin
seam swing dots runs extras strike control credit meat translated rounded measured ranked priced
rated quoted given against-all shade touch fraction roughly around par lean top bottom best worst
least half third quarter two-thirds three-quarters were had would should could might may must
conceal withhold erase delete blank blind obscure strip drop cut shut cover strike scrub forget
suppose imagine picture say call count read think pretend cricketing both bat wickets-in-hand
nought zero
"""
_LEADING: Final = frozenset(_LEADING_TEXT.split())
# Capitals in the middle of a sentence that name nobody.
_TERMS_TEXT = """
I P W KL LLM AI T20 T20I T20s ODI ODIs Test Tests Twenty20 Shapley Benjamini Hochberg JSON January
February March April May June July August September October November December Monday Tuesday
Wednesday Thursday Friday Saturday Sunday Ball Balls Over Overs Innings Delivery Head Scale Yes No
OK Cricsheet English VAR DRS
"""
_TERMS: Final = frozenset(_TERMS_TEXT.split())
_CAPITAL: Final = re.compile(
    rf"[A-Z][\w]*(?:[.'-][\w]+)*(?:\s+(?:(?:de|van|der|ul|al|bin|el|la)\s+)?"
    rf"(?:[A-Z][\w]*(?:[.'-][\w]+)*|{NAME}))*"
)


@dataclass(slots=True)
class Entity:
    """Somebody or something with a name, and where it stands in the explanation."""

    name: str
    kind: str
    pointer: str


@dataclass
class Vocabulary:
    """The names of an explanation, each form of them as one sign.

    Attributes:
        entities: by sign; several where a form is not one's alone.
        unseen: names of which nothing can be seen; a text has `NAMELESS` in their place.
    """

    entities: dict[str, list[Entity]] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    _forms: list[tuple[re.Pattern[str], str]] = field(default_factory=list)
    _shown: dict[str, str] = field(default_factory=dict)

    def marked(self, line: str) -> str:
        """A line with each known name as one sign."""
        for pattern, sign in self._forms:

            def replaced(match: re.Match[str], sign: str = sign) -> str:
                self._shown[sign] = match.group()
                return sign

            line = pattern.sub(replaced, line)
        return line

    def named(self, text: str) -> str:
        """A text in which every name can be seen."""
        for name in self.unseen:
            text = text.replace(name, NAMELESS)
        return text

    def plain(self, text: str) -> str:
        """A text with names in place of signs again."""
        return re.sub(NAME, lambda match: self._shown.get(match.group(), "…"), text)

    def signs_of(self, name: str) -> set[str]:
        """Signs that may stand for a player."""
        return {sign for sign in self.entities if name in self.players(sign)}

    def players(self, sign: str) -> set[str]:
        """Names of the players that a sign may stand for."""
        return {one.name for one in self.entities.get(sign, ()) if one.kind == PLAYER}


def vocabulary_of(facts: Facts) -> Vocabulary:
    """Every name that a text may use, in full, shortened, or as it is shown in prompts."""
    found = Vocabulary()
    forms: dict[str, list[Entity]] = {}
    for text in facts.strings:
        _add(forms, text, Entity(text, OTHER, ""))
    people = list(_players(facts))
    for entity in people:
        for form in _full_forms(entity.name):
            _add(forms, form, entity)
        if not plainly(entity.name):
            found.unseen.append(entity.name)
            _add(forms, NAMELESS, entity)
    for entity in people:
        for form in _short_forms(entity.name):
            _add(forms, form, entity)
    for entity in _others(facts.data):
        for form in _other_forms(entity):
            _add(forms, form, entity)
    whole = {plainly(entity.name) for entity in people}
    for rank, form in enumerate(sorted(forms, key=lambda text: (-len(text), text))):
        sign = chr(min(_FIRST + rank, ord(QUOTE) - 1))
        entities = forms[form]
        if form in whole:  # a whole name is its owner's, also where it is another's surname
            entities = [one for one in entities if plainly(one.name) == form] or entities
        found.entities.setdefault(sign, []).extend(entities)
        found._forms.append((_pattern(form), sign))
    return found


def _add(forms: dict[str, list[Entity]], form: str, entity: Entity) -> None:
    shown = plainly(form)
    # A name of signs alone, or of one letter, would be found everywhere.
    if not any(sign.isalpha() for sign in shown) and not (len(shown) > 2 and entity.name == form):
        return
    if len(shown) < (2 if entity.kind == PLAYER else 3):
        return
    held = forms.setdefault(shown, [])
    if all(one.name != entity.name or one.kind != entity.kind for one in held):
        held.append(entity)


def _pattern(form: str) -> re.Pattern[str]:
    """Finds a form as a word of its own; of words that are surnames too, not at the beginning."""
    start = r"(?<!\w)" if form[0].isalnum() else ""
    end = r"(?!\w)" if form[-1].isalnum() else ""
    # Initials may be written with points and spaces between them: KL, K.L., K. L.
    words = [
        r"\.?\s?".join(word) + r"\.?" if rank == 0 and _are_initials(word) else re.escape(word)
        for rank, word in enumerate(form.split())
    ]
    text = r"\s+".join(words)
    if form.lower() in _ALSO_WORDS:
        start = r"(?<=[a-z,;\ue100-\uf8ff] )(?<!\w)"
    return re.compile(start + text + end)


def _are_initials(word: str) -> bool:
    return word.isalpha() and word.isascii() and word.isupper() and len(word) <= 5


def _players(facts: Facts) -> Iterator[Entity]:
    seen = set()
    places = [(facts.ball[role], f"/ball/{role}") for role in ("bowler", "batter", "non_striker")]
    for at, ball in enumerate(facts.history):
        places += [(ball[role], f"/history/{at}/{role}") for role in ("bowler", "batter")]
    for name, pointer in places:
        if name not in seen:
            seen.add(name)
            yield Entity(name, PLAYER, pointer)


def _full_forms(name: str) -> Iterator[str]:
    yield name
    yield visible_name(name)
    yield visible(name, 12)


def _short_forms(name: str) -> Iterator[str]:
    """A surname, with its small words; and the first letter before it."""
    words = visible(name).split()
    if len(words) < 2:
        return
    start = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    last = " ".join(words[start:])
    if len(last) > 1:
        yield last
        yield f"{words[0][0]} {last}"
        if last[0].islower():  # at the beginning of a sentence
            yield last[0].upper() + last[1:]
    if start < len(words) - 1 and len(words[-1]) > 3:
        yield words[-1]
    if len(words[0]) > 2 and not _are_initials(words[0]) and words[0][0].isalpha():
        yield words[0]


def _others(data: Mapping[str, Any]) -> Iterator[Entity]:
    match = data["match"]
    yield Entity(match["batting_team"], TEAM, "/match/batting_team")
    yield Entity(match["bowling_team"], TEAM, "/match/bowling_team")
    for at, team in enumerate(match["teams"]):
        yield Entity(team, TEAM, f"/match/teams/{at}")
    for key in ("venue", "city"):
        if match[key]:
            yield Entity(match[key], PLACE, f"/match/{key}")
    for key in ("event", "season", "match_id"):
        if match[key]:
            yield Entity(match[key], OTHER, f"/match/{key}")
    yield Entity(data["model"]["name"], OTHER, "/model/name")


def _other_forms(entity: Entity) -> Iterator[str]:
    yield entity.name
    yield visible_name(entity.name)
    if entity.kind == PLACE:
        yield from (part.strip() for part in entity.name.split(",") if len(part.strip()) > 3)
    words = visible(entity.name).split()
    if entity.kind == TEAM and len(words) > 1 and len(words[-1]) > 4:
        yield words[-1]


def check_names(
    clause: Clause, facts: Facts, vocabulary: Vocabulary, sentence: str, first: bool
) -> Iterator[Unsupported]:
    """Names that are nobody's, or anybody's, and players who do what another does."""
    for match in re.finditer(NAME, clause.text):
        held = vocabulary.entities.get(match.group(), [])
        names = {one.name for one in held}
        here = names & {facts.ball[role] for role in ("bowler", "batter", "non_striker")}
        if len(names) > 1 and len(here) != 1 and {one.kind for one in held} == {PLAYER}:
            told = vocabulary.plain(match.group())
            who = " or ".join(sorted(one.name for one in held)[:3])
            yield Unsupported(
                sentence, told, "name", "more than one has this name", who, held[0].pointer
            )
    yield from _strangers(clause, facts, vocabulary, sentence, first)


def _strangers(
    clause: Clause, facts: Facts, vocabulary: Vocabulary, sentence: str, first: bool
) -> Iterator[Unsupported]:
    for match in _CAPITAL.finditer(clause.text):
        if match.start() and clause.text[match.start() - 1] in "(_" and match.group() in "PW":
            continue
        words = match.group().split()
        begins = first and not clause.text[: match.start()].strip(" \"'([")
        begins = begins or clause.text[: match.start()].rstrip().endswith((":", '"'))
        after = clause.text[match.end() :]
        if begins and _is_plain(words[0], alone=len(words) == 1, after=after):
            words = words[1:]
        while words and (words[0] in _TERMS or words[0].rstrip("'s") in _TERMS):
            words = words[1:]
        while words and words[-1] in _TERMS:
            words = words[:-1]
        strange = [word for word in words if not re.fullmatch(NAME, word)]
        if not strange or all(re.fullmatch(r"(?:P|W|T20I?s?|KL)", word) for word in strange):
            continue
        told = vocabulary.plain(" ".join(words))
        nearest = _nearest_name(told, facts)
        yield Unsupported(
            sentence, told, "name", "is not named in the explanation", nearest.name, nearest.pointer
        )


def _is_plain(word: str, *, alone: bool, after: str) -> bool:
    """Whether the first word of a sentence is a word, not a name."""
    low = re.sub(r"'(?:ve|re|ll|d|m)$", "", word.lower())
    stem = low.removesuffix("'s").rstrip(".")
    if low in _LEADING or stem in _LEADING or low.split("-")[0] in _LEADING:
        return True
    if low.endswith(("ing", "ly", "tion", "sion", "ity", "ness", "ism")) and len(low) > 4:
        return True
    if not alone or word.endswith("'s") or after.startswith("'s"):
        return False
    acts = (
        r"(?: \w+ly)? (?:bowls?|bowled|faces|faced|hits?|takes|took|scored|struck|is|was|has|steams"
        r"|charges|runs in|comes in|turns|sends?|sent|delivers|delivered|conceded|concedes|looks"
        r"|walks|ambles|strides|smashed|hammered|gets|got|will|on strike|with the ball|had (?:\w+"
        r" )?"
        r"(?:bowled|taken|sent|hit|struck|seen|scored|conceded|got))\b"
        rf"|(?: bowling)? to (?={NAME}|[A-Z])"
    )
    return re.match(acts, after) is None


def _nearest_name(told: str, facts: Facts) -> Entity:
    """The known name most like one, by letters they share; of equals the first."""
    from difflib import SequenceMatcher

    known = [*_players(facts), *(one for one in _others(facts.data) if one.kind != OTHER)]
    return max(known, key=lambda one: SequenceMatcher(None, told.lower(), one.name.lower()).ratio())

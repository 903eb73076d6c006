"""Players and sides in a text: do they bowl, face and own what it says they do?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from attnlens.explanation.grounding_facts import Facts, Unsupported
from attnlens.explanation.grounding_names import TEAM, Vocabulary
from attnlens.explanation.grounding_sides import check_sides
from attnlens.explanation.grounding_text import LABEL, NAME

_OWN: Final = r"(?:\w+ ){0,2}?(?:balls?|deliver(?:y|ies))"
_TO: Final = re.compile(
    rf"({NAME})(?: (?:bowling|running in|is bowling))? to ({NAME})"
    rf"|({NAME})'s? {_OWN} to ({NAME})"
    rf"|({NAME}) (?:bowl(?:s|ed)|deliver(?:s|ed)|sen(?:ds|t)(?: down)?|served?|r[au]ns? in"
    rf"|comes? in|conced\w+|"
    rf"\w+ to bowl|g[ai]ve[sn]?(?: up| away)?|leaks?|leaked)\b"
    rf"[^.;]{{0,24}}? to ({NAME})"
)
_FACES: Final = re.compile(
    rf"({NAME})(?:,? (?:who )?(?:is )?(?:faces?|facing|faced|on strike (?:against|to|for)"
    rf"|up against|"
    rf"(?:to|will|must|can) (?:face|receive|play|negotiate|meet)|(?:will be"
    rf"|is) the one to (?:deal with|face|receive)|"
    rf"(?:to )?(?:deals?|dealing|contends?|contending) with|takes? on|taking on|confronts?"
    rf"|confronting|"
    rf"squar(?:es?|ing) up to|"
    rf"batting against|taking guard (?:to|against)|t(?:akes|ook) guard (?:to|against))) ({NAME})"
    rf"|({NAME}) (?:saw|hit|took|struck|got|had|made|played)\b"
    rf"[^.;]{{0,24}}? (?:off|from|against) ({NAME})"
)
_HAS: Final = re.compile(
    rf"({NAME}) (?:has|had) ({NAME}) (?:facing|on strike|batting|at the crease)"
    rf"|\b[Ff]acing ({NAME}) (?:is|was|will be) ({NAME})"
    rf"|\bfor (?P<batter>{NAME}) (?:against|off) (?P<bowler>{NAME})"
)
_NEXT: Final = re.compile(
    rf"({NAME})'s? (?:next|upcoming|latest|coming|forthcoming) (?:delivery|offering|effort)"
)
_AT_LABEL: Final = re.compile(
    rf"({NAME}) (bowled|delivered|sent down|faced|played|received) (?:ball |delivery )?({LABEL})"
)
_BROUGHT_ON: Final = re.compile(
    rf"({NAME}) (?:have |had |has )?(?:now |just )?(?:turn(?:ed)? to|br(?:ing|ought) (?:on|back)"
    rf"|call(?:ed)? (?:on|upon)"
    rf"|throw(?:n)? the ball to|threw the ball to|hand(?:ed)? (?:the ball |it )?(?:over )?to"
    rf"|opt(?:ed)? for|entrust(?:ed)?"
    rf"|gone (?:to|with)|go (?:to|with)|rel(?:y|ied) on) ({NAME})"
)
_ELSEWHERE: Final = re.compile(
    r"\b(?:before|after|since|until|following|earlier than|replac\w+|partner\w*)\b", re.IGNORECASE
)
_OUT: Final = re.compile(
    rf"({NAME}) (?:had|removed|dismissed|bowled|trapped|castled|got rid of|accounted for"
    rf"|got) ({NAME})"
    rf"|({NAME}) (?:the man out|the victim|departing|the one to go|its victim)"
)
_DID: Final = (
    r"(?:hit|struck|took|tak(?:es|ing)|remov(?:ed|es)|dismiss(?:ed|es)|bowl(?:ed|s)|fac(?:ed|es)"
    r"|fell|out"
    r"|mad[ea]|scored|drove|pulled|cut|swept|edged|smashed|blocked|defended|left|missed|cleared"
    r"|conceded"
    r"|delivered|account(?:ed|s) for|trapped|castled|sent|got)\b"
)
_PAIRED: Final = re.compile(rf"({NAME}) (?:against|versus|vs?\.?) ({NAME})")
_EARLIER: Final = re.compile(r"\b(?:earlier|previous(?:ly)?|before|over \d+|\d+\.\d\d?)\b(?!\d*%)")
_OWNED: Final = re.compile(rf"({NAME})'s? (?!balls? to ){_OWN}(?! to {NAME})")
_BY: Final = re.compile(rf"(bowled|delivered|sent down|faced|played) by ({NAME})")
_RECORD: Final = re.compile(
    rf"({NAME})'s? (?:\w+ )?(?:record|career|rating)|(?:record|ratings?|career) of ({NAME})"
)
_NOUN: Final = re.compile(
    rf"\b(bowler|non-striker|striker|batter|batsman)(?: is|,|:| here)? ({NAME})", re.IGNORECASE
)
_IS_NOUN: Final = re.compile(
    rf"({NAME}),? (?:is|was|,|as) (?:the )?(bowler|non-striker|striker|batter|batsman)\b(?!'s)"
)
_ACTS: Final = re.compile(
    rf"({NAME}) (?:\w+ly )?(bowls\b|is bowling\b|has the ball|is (?:batting|facing|on strike)|on "
    rf"strike|bats\b|faces\b)"
)
_BOWLS: Final = re.compile(
    rf"({NAME})(?:,|'s| is| was| now| here| again| back){{0,3}} (?:the (?:one|man) )?(?:(?:who"
    rf"|that) is )?(?:with "
    r"(?:the |a )?(?:new |old )?ball\b|turns? at\b"
    r"|to bowl\b|bowling\b(?! (?:figures|record|side|attack))|(?:at|from) the top of (?:his|the"
    r"|her) "
    r"(?:run|mark)|(?:runs?|running|ran|charg\w+|com(?:es|ing)|steam\w+|steps?|stepping|bustl\w+"
    r"|glid\w+|strid\w+|bound\w+|storm\w+) (?:up|in)\b|deliver(?:s|ing)\b|to deliver\b|holds? the "
    r"ball|ball in hand|about to bowl)"
    rf"|(?:ball in hand(?: for|,)?|(?:ball|over) (?:is )?in the hands? of|bowling(?: here| now)?"
    rf" is|"
    rf"with the ball(?: is|,|:)|bowled by|delivered by|the bowling of|br(?:ing|ings|ought) "
    rf"on) ({NAME})"
)
_THIS_ONE: Final = re.compile(
    rf"({NAME}) (?:bowl(?:s|ed)|deliver(?:s|ed)|sen(?:ds|t) down) (?:this|the (?:next|current)) "
    rf"(?:ball|one|delivery)"
)
_BATS: Final = re.compile(
    rf"({NAME})(?:,|'s| is| was| now| here| again| back){{0,3}} (?:the (?:one|man) )?(?:(?:who"
    rf"|that) is )?(?:waiting|waits|fac(?:es|ing)\b"
    r"|to face\b|(?:in|on|at) (?:the )?(?:strike|crease|guard|stance)|with the bat\b|tak(?:es|ing) "
    r"(?:his |her )?(?:guard|strike)|to bat\b|batting\b(?! (?:side|average|record|order))|awaits?"
    r"|bat in hand|on the receiving end|at the receiving end|the (?:batter|batsman|striker|man on "
    r"strike)\b)"
    rf"|(?:on strike(?: is|,|:)|facing(?: up)? is|with the bat(?: is|,|:)|faced by) ({NAME})"
)
_PAST: Final = re.compile(
    r"\b(?:earlier|previous\w*|before|already|last|past|since|so far|ago|first|over(?:s| \d+)"
    r"|\d+\.\d"
    r"|dismiss\w+|out|record|partner\w*|non-strik\w+|other end|balls|deliveries|never|history"
    r"|recent\w*|after|following|then|had|wicket of|replac\w+)\b(?!\d*%)",
    re.IGNORECASE,
)
_OFF: Final = re.compile(rf"\b(?:runs?|boundar\w+|fours?|six(?:es)?|taken|hit|scored) off ({NAME})")
_SIDE: Final = re.compile(
    rf"({NAME})[,:]?(?:,? who)? (?:are|were|is|was|stands?|stood|sit|sits|have|had|at|on|now|"
    rf" )*,? ?"
    rf"(\d{{1,3}}/\d{{1,2}}|\d{{1,3}} for \w+|batting|bowling|chasing|defending|need|needing"
    rf"|fielding|going at|scoring"
    rf"|made \d|scored \d|reached \d|lost \w+ wickets?|requir(?:e|ing)|want \d|{NAME} (?:bowling"
    rf"|to bowl|with the ball|running in)|turn(?:ed)? to {NAME}"
    rf"|br(?:ing|ought) on {NAME})"
    rf"|(\d an over|per over|run rate)(?: so far| now)?,? for ({NAME})"
)
_TOTAL: Final = re.compile(r"(?<![\d./])\d{1,3}(?:/\d{1,2}(?!\d)| for (?:\d|no\b|\w+ down))")
_NEVER: Final = re.compile(
    rf"never (?:seen|met|watched|recorded)(?: \w+)? ({NAME})(?: (bat|bowl))?|"
    rf"({NAME}) (?:is|are) (?:new|unknown|unseen)"
)

_ROLES: Final = {
    "bowler": ("bowler",),
    "striker": ("batter",),
    "non-striker": ("non_striker",),
    "batter": ("batter", "non_striker"),
    "batsman": ("batter", "non_striker"),
}


class Players:
    """Checks one clause after another; ``labels`` are the places in ``history`` it speaks of."""

    def __init__(self, facts: Facts, vocabulary: Vocabulary) -> None:
        self._facts = facts
        self._vocabulary = vocabulary

    def check(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        for check in (
            self._pairs,
            self._paired,
            self._owners,
            self._roles,
            self._sides,
            self._strangers,
            self._parts,
            self._at_labels,
        ):
            yield from check(text, sentence, places)

    def _is(self, sign: str, *names: str) -> bool:
        """Whether a sign may stand for one of these; what is no player is not judged here."""
        players = self._vocabulary.players(sign)
        return not players or bool(players.intersection(names))

    def _wrong(self, sentence: str, said: str, problem: str, role: str) -> Unsupported:
        return Unsupported(
            sentence,
            self._vocabulary.plain(said),
            "name",
            problem,
            self._facts.ball[role],
            f"/ball/{role}",
        )

    def _all(self, places: Sequence[int], fits: Callable[[int], bool]) -> int | None:
        """The first place that does not fit."""
        return next((place for place in places if not fits(place)), None)

    def _pairs(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        found = [
            (match, match[1] or match[3] or match[5], match[2] or match[4] or match[6])
            for match in _TO.finditer(text)
        ]
        found += [
            (match, match[2] or match[4], match[1] or match[3]) for match in _FACES.finditer(text)
        ]
        found += [
            (
                match,
                match[1] or match[3] or match["bowler"],
                match[2] or match[4] or match["batter"],
            )
            for match in _HAS.finditer(text)
        ]
        ball, history = self._facts.ball, self._facts.history
        for match, bowler, batter in found:
            if not self._vocabulary.players(bowler) or not self._vocabulary.players(batter):
                continue
            if self._is(bowler, ball["bowler"]) and self._is(batter, ball["batter"]):
                wrong = self._all(
                    places if match[0].startswith(("all", "both")) else (),
                    lambda at: history[at]["bowler"] == ball["bowler"],
                )
                if wrong is None:
                    continue
            recalls = "ball" not in match.group() and _EARLIER.search(text)
            earlier = places or (range(len(history)) if recalls else ())
            pairs = [(history[at]["bowler"], history[at]["batter"]) for at in earlier]
            if pairs and any(self._is(bowler, a) and self._is(batter, b) for a, b in pairs):
                continue
            role = "batter" if self._is(bowler, ball["bowler"]) else "bowler"
            yield self._wrong(sentence, match.group(), "is not who bowls to whom", role)

    def _paired(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        """Two that are set against each other, in either order."""
        ball = self._facts.ball
        for match in _PAIRED.finditer(text):
            known = all(self._is(sign, ball["bowler"], ball["batter"]) for sign in match.groups())
            if not known and not places and not _EARLIER.search(text):
                role = "batter" if self._is(match[1], ball["bowler"]) else "bowler"
                yield self._wrong(sentence, match.group(), "are not who meet on this ball", role)

    def _owners(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        ball, history = self._facts.ball, self._facts.history
        for match in _OWNED.finditer(text):
            sign = match[1]
            after = text[match.end() :]
            roles: tuple[str, ...] = ("bowler", "batter")
            if re.match(r"(?: \w+)? to other batters", after):
                roles = ("bowler",)
            elif re.match(r"(?: \w+)? (?:from|off) other bowlers", after):
                roles = ("batter",)
            owners = [ball[role] for role in roles]
            if places and re.search(r"\d\.\d", after):
                fits = any(
                    all(self._is(sign, history[at][role]) for at in places) for role in roles
                )
                if not fits:
                    wrong = next(
                        at
                        for at in places
                        if not self._is(sign, history[at]["bowler"], history[at]["batter"])
                        or at == places[-1]
                    )
                    yield Unsupported(
                        sentence,
                        self._vocabulary.plain(match.group()),
                        "name",
                        "are not all this player's",
                        history[wrong]["bowler"],
                        f"/history/{wrong}/bowler",
                    )
            elif not self._is(sign, *owners):
                yield self._wrong(sentence, match.group(), "are not whom this is about", roles[0])
        for match in _BY.finditer(text):
            role = "bowler" if match[1] in ("bowled", "delivered", "sent down") else "batter"
            anyone = [ball[role], *(one[role] for one in history)]
            wrong_place = self._all(places, lambda at: self._is(match[2], history[at][role]))  # noqa: B023
            if wrong_place is not None:
                yield Unsupported(
                    sentence,
                    self._vocabulary.plain(match.group()),
                    "name",
                    "is not true of all these balls",
                    history[wrong_place][role],
                    f"/history/{wrong_place}/{role}",
                )
            elif not self._is(match[2], *anyone):
                yield self._wrong(sentence, match.group(), f"is no {role} of this innings", role)

    def _roles(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        ball, history = self._facts.ball, self._facts.history
        for match in _RECORD.finditer(text):
            sign = match[1] or match[2]
            if not self._is(sign, ball["bowler"], ball["batter"]):
                yield self._wrong(sentence, match.group(), "is not of this ball", "batter")
        for match in _NOUN.finditer(text):
            roles = _ROLES[match[1].lower()]
            names = [ball[role] for role in roles]
            if match[1].lower() != "striker" and _EARLIER.search(text):
                names += [one["bowler" if roles == ("bowler",) else "batter"] for one in history]
            if not self._is(match[2], *names):
                yield self._wrong(sentence, match.group(), f"is not the {match[1]}", roles[0])
        for match in _IS_NOUN.finditer(text):
            roles = _ROLES[match[2].lower()]
            names = [ball[role] for role in roles]
            if not (places or _PAST.search(text)) and not self._is(match[1], *names):
                yield self._wrong(sentence, match.group(), f"is not the {match[2]}", roles[0])
        for match in _ACTS.finditer(text):
            role = "bowler" if "bowl" in match[2] or "has the ball" in match[2] else "batter"
            here = {ball[role], *(history[at][role] for at in places)}
            if not self._is(match[1], *here):
                yield self._wrong(sentence, match.group(), f"is not the {role} of this ball", role)
        for match in _OFF.finditer(text):
            if not self._is(match[1], ball["bowler"], *(one["bowler"] for one in history)):
                yield self._wrong(sentence, match.group(), "is no bowler of this innings", "bowler")

    def _parts(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        """Who has a part in this ball, in a clause that speaks of nothing before it."""
        ball = self._facts.ball
        for match in _THIS_ONE.finditer(text):
            if not self._is(match[1], ball["bowler"]):
                problem = "is not the bowler of this ball"
                yield self._wrong(sentence, match.group(), problem, "bowler")
        if places or _PAST.search(text):
            return
        told: set[str] = set()
        for pattern, role in ((_BOWLS, "bowler"), (_BATS, "batter")):
            for match in pattern.finditer(text):
                sign = match[1] or match[2]
                told.add(sign)
                if not self._is(sign, ball[role]):
                    problem = f"is not the {role} of this ball"
                    yield self._wrong(sentence, match.group(), problem, role)
        here = [sign for sign in re.findall(NAME, text) if self._vocabulary.players(sign)]
        taking_part = (ball["bowler"], ball["batter"], ball["non_striker"])
        strange = [sign for sign in here if not self._is(sign, *taking_part)]
        about = len(strange) < len(here) or bool(_TOTAL.search(text))
        for sign in strange if about else ():
            if sign not in told:
                problem = "has no part in this ball"
                yield self._wrong(sentence, sign, problem, "bowler")

    def _at_labels(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        """Who bowled or faced a ball that is named by its label; who is brought on now."""
        history = self._facts.history
        for match in _AT_LABEL.finditer(text):
            role = "bowler" if match[2] in ("bowled", "delivered", "sent down") else "batter"
            told = self._facts.labels.get(match[3], [])
            if told and not any(self._is(match[1], history[at][role]) for at in told):
                yield Unsupported(
                    sentence,
                    self._vocabulary.plain(match.group()),
                    "name",
                    f"is not the {role} of that ball",
                    history[told[0]][role],
                    f"/history/{told[0]}/{role}",
                )
        yield from self._beside(text, sentence, places)
        for pattern, at in ((_NEXT, 1), (_BROUGHT_ON, 2)):
            for match in pattern.finditer(text):
                if self._vocabulary.players(match[1]) and at == 2:
                    continue
                if not self._is(match[at], self._facts.ball["bowler"]):
                    problem = "is not the bowler of this ball"
                    yield self._wrong(sentence, match.group(), problem, "bowler")

    def _beside(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:
        """Who is named beside one past ball, and had no part in it, nor has one in this."""
        if len(set(places)) != 1 or _ELSEWHERE.search(text):
            return
        ball, past = self._facts.ball, self._facts.history[places[0]]
        parts = {
            ball["bowler"],
            ball["batter"],
            ball["non_striker"],
            past["bowler"],
            past["batter"],
        }
        for match in _OUT.finditer(text):
            for sign, role in ((match[1], "bowler"), (match[2] or match[3], "batter")):
                if sign and self._vocabulary.players(sign) and not self._is(sign, past[role]):
                    problem = f"is not the {role} of that ball"
                    at = f"/history/{places[0]}/{role}"
                    said = self._vocabulary.plain(match.group())
                    yield Unsupported(sentence, said, "name", problem, past[role], at)
        for match in re.finditer(rf"({NAME}) (?:was |had |have |got |is )*{_DID}", text):
            sign = match[1]
            if self._vocabulary.players(sign) and not self._is(sign, *parts):
                problem = "has no part in that ball"
                at = f"/history/{places[0]}/bowler"
                said = self._vocabulary.plain(sign)
                yield Unsupported(sentence, said, "name", problem, past["bowler"], at)
        for match in re.finditer(
            rf"\b(?:account(?:ed|s) for|remov(?:ed|es)|dismiss(?:ed|es)|got rid of|wicket of"
            rf"|bowled|trapped"
            rf"|castled|victim was|the end of|(?:hit|struck|taken|smashed) (?:off|by)) ({NAME})",
            text,
        ):
            sign = match[1]
            if self._vocabulary.players(sign) and not self._is(
                sign, past["bowler"], past["batter"]
            ):
                problem = "has no part in that ball"
                at = f"/history/{places[0]}/batter"
                said = self._vocabulary.plain(sign)
                yield Unsupported(sentence, said, "name", problem, past["batter"], at)

    def _sides(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:  # noqa: ARG002
        match_facts = self._facts.data["match"]
        ball = self._facts.ball
        for match in re.finditer(rf"({NAME})'s? ({NAME})", text):
            held = self._vocabulary.entities.get(match[1], [])
            sides = {one.name for one in held if one.kind == TEAM}
            for key, role in (("batting_team", "batter"), ("bowling_team", "bowler")):
                here = self._vocabulary.players(match[2]) == {ball[role]}
                if sides and here and match_facts[key] not in sides:
                    problem = "is not of this side"
                    yield self._wrong(sentence, match.group(), problem, role)
        said: set[str] = set()
        for match in _SIDE.finditer(text):
            held = self._vocabulary.entities.get(match[1] or match[4], [])
            names = {one.name for one in held if one.kind == TEAM}
            if not names:
                continue
            said.add(match[1] or match[4])
            key = "batting_team"
            if re.search(r"bowl|ball|defend|field|running in|turn|br", match[2] or ""):
                key = "bowling_team"
            if match_facts[key] not in names:
                yield Unsupported(
                    sentence,
                    self._vocabulary.plain(match.group()),
                    "name",
                    f"is not the {key.split('_')[0]} side",
                    match_facts[key],
                    f"/match/{key}",
                )

        for found in check_sides(text, sentence, match_facts, self._vocabulary):
            if not any(self._vocabulary.plain(sign) in found.text for sign in said):
                yield found

    def _strangers(self, text: str, sentence: str, places: Sequence[int]) -> Iterator[Unsupported]:  # noqa: ARG002
        flags = self._facts.data["flags"]
        for match in _NEVER.finditer(text):
            held = self._vocabulary.entities.get(match[1] or match[3], [])
            said = match[2] or ""
            told = [
                flag
                for flag in flags
                if flag["flag"].startswith(("unseen", "other"))
                and any(one.name.split(",")[0] in flag["text"] for one in held)
                and (not said or f" {said}:" in f"{flag['text']}:")
            ]
            if held and not told:
                near = next(
                    (at for at, flag in enumerate(flags) if flag["flag"].startswith("unseen")), None
                )
                yield Unsupported(
                    sentence,
                    self._vocabulary.plain(match.group()),
                    "name",
                    "is no caution of the explanation",
                    None if near is None else flags[near]["text"],
                    None if near is None else f"/flags/{near}/text",
                )

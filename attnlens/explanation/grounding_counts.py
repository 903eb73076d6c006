"""Numbers without a unit: scores, overs, deliveries, targets, rates, dates, counts of things."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from attnlens.explanation.attention_types import SCALES
from attnlens.explanation.grounding_clause import Reading, labels_in
from attnlens.explanation.grounding_facts import Facts, Known, Unsupported
from attnlens.explanation.grounding_fractions import fractions_in
from attnlens.explanation.grounding_text import COUNT, NUMBER_WORDS, ORDINAL_WORDS, whole
from attnlens.explanation.grounding_units import numbers_in

_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_MONTHS: Final = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH: Final = rf"({'|'.join(_MONTHS)})"
_DATE: Final = re.compile(
    rf"\b(\d{{4}})-(\d{{2}})-(\d{{2}})\b|\b{_DAY} {_MONTH},? (\d{{4}})\b"
    rf"|\b{_MONTH} {_DAY},? (\d{{4}})\b"
    rf"|\b{_MONTH} (\d{{4}})\b",
    re.IGNORECASE,
)
_SCORE: Final = re.compile(
    r"(?<![\d./])(\d{1,3})(?:/| for )(\d{1,2}|(?<=for )(?:no|one|two|three|four|five|six|seven"
    r"|eight|nine)\b(?=[,.;) ]|$))(?!\d|/|\.\d|\s?%)(?! (?:were|was|of|balls))"
)
_DOWN: Final = ("no", *list(NUMBER_WORDS)[1:11])
_NEED: Final = re.compile(
    r"\b(\d{1,3}) (?:runs? )?(?:needed |required |wanted |to (?:get|win|make) )?(?:more )?"
    r"(?:off|from|in) (?:the last )?(\d{1,3})\b(?: balls?| deliver\w+)?",
    re.IGNORECASE,
)
_OVERS: Final = re.compile(r"(?<![\d.])(\d{1,2})\.([0-6]) overs?\b", re.IGNORECASE)
_ORDINAL: Final = re.compile(
    rf"\b(\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(ORDINAL_WORDS)})\b", re.IGNORECASE
)
_RATE: Final = re.compile(
    r"\b(required|asking|needed|run|scoring|current)?[- ]?(?:run )?rate(?: required)?(?: of| is"
    r"| was| at| now|:| stands| sits| has been| currently| remains| running"
    r"| up| down| about| around| just| climbing to)*"
    r" ?(\d{1,2}(?:\.\d+)?)|(\d{1,2}(?:\.\d+)?) (?:runs )?(?:an|per) over",
    re.IGNORECASE,
)
_COUNTABLE: Final = re.compile(
    rf"\b({COUNT}) (?:(?:other|past|earlier|previous|recent|more|last|listed|attended|legal"
    rf"|different|own) )*"
    r"(balls?|deliver(?:y|ies)|runs?|boundar(?:y|ies)|overs?|sets|controls|claims?|tests?"
    r"|cautions?|flags?|heads?|"
    r"scales?|groups?|matches)\b",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(
    r"(?<![\w.,/-])[+-]?(\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/]|\.\d|,\d)"
)
_BLANK: Final = "\x00"


class Counts:
    """Checks one clause after another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._ball = facts.ball

    def check(self, reading: Reading, plain: str) -> Iterator[Unsupported]:
        """Every number that has no unit; what one pattern explains is not looked at again."""
        text = reading.text
        for match in re.finditer(
            r"\b(?:T20I?s?|T10|[Hh]ead (?:number )?\d|P\s?\([^)]*\)|one of|at one)", text
        ):
            text = _blanked(text, match.start(), match.end())
        for fraction in fractions_in(text):
            text = _blanked(text, fraction.start, fraction.end)
        for number in numbers_in(text):
            text = _blanked(text, number.start - len(number.sign), number.end)
        for match in re.finditer(
            r"\b[qp](?:[- ]value)?(?: of| was| is| at|:)? ?[=<≤~]? ?[\d.]*\d", text
        ):
            text = _blanked(text, match.start(), match.end())
        for pattern, check in (
            (_DATE, self._date),
            (_RATE, self._rate),
            (_NEED, self._need),
            (_SCORE, self._score),
            (_OVERS, self._overs),
        ):
            for match in list(pattern.finditer(text)):
                if _BLANK not in match.group():
                    yield from check(match, plain)
                    text = _blanked(text, match.start(), match.end())
        for _, start, end in labels_in(text, self._facts):
            text = _blanked(text, start, end)
        for match in list(_ORDINAL.finditer(text)):
            yield from self._ordinal(match, text, plain)
            text = _blanked(text, match.start(), match.end())
        for match in list(_COUNTABLE.finditer(text)):
            yield from self._countable(match, text, reading, plain)
            text = _blanked(text, match.start(1), match.end(1))
        for match in list(_PLAIN.finditer(text)):
            yield from self._number(match, text, reading, plain)

    def _wrong(
        self, plain: str, said: str, known: Sequence[Known], value: float | None, problem: str
    ) -> Unsupported:
        near = None
        if known:
            near = min(known, key=lambda one: abs(one.value - value) if value is not None else 0)
        nearest = None if near is None else near.text or f"{near.value:g}"
        pointer = None if near is None else near.pointer
        return Unsupported(plain, said.strip(), "number", problem, nearest, pointer)

    def _date(self, match: re.Match[str], plain: str) -> Iterator[Unsupported]:
        groups = match.groups()
        if groups[0]:
            said = "-".join(groups[:3])
        elif groups[3]:
            said = f"{groups[5]}-{_MONTHS.index(groups[4].lower()) + 1:02d}-{int(groups[3]):02d}"
        elif groups[6]:
            said = f"{groups[8]}-{_MONTHS.index(groups[6].lower()) + 1:02d}-{int(groups[7]):02d}"
        else:
            said = f"{groups[10]}-{_MONTHS.index(groups[9].lower()) + 1:02d}"
        if not any(day.startswith(said) for day in self._facts.dates):
            known = [Known(0.0, pointer, day) for day, pointer in self._facts.dates.items()]
            yield self._wrong(plain, match.group(), known, None, "is no date of the explanation")

    def _rate(self, match: re.Match[str], plain: str) -> Iterator[Unsupported]:
        text = match[2] or match[3]
        keys = ["run_rate", "required_rate"]
        if match[1]:
            asked = match[1].lower() in ("required", "asking", "needed")
            keys = ["required_rate"] if asked else ["run_rate"]
        known = [
            Known(self._ball[key], f"/ball/{key}") for key in keys if self._ball[key] is not None
        ]
        half = 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9
        if not any(abs(one.value - float(text)) <= half for one in known):
            yield self._wrong(plain, match.group(), known, float(text), "is not the rate")

    def _need(self, match: re.Match[str], plain: str) -> Iterator[Unsupported]:
        for at, key in ((1, "runs_required"), (2, "balls_left")):
            true = self._ball[key]
            if true is None or true != int(match[at]):
                known = [] if true is None else [Known(true, f"/ball/{key}")]
                yield self._wrong(
                    plain, match.group(), known, None, f"is not the {key}".replace("_", " ")
                )

    def _overs(self, match: re.Match[str], plain: str) -> Iterator[Unsupported]:
        """Overs and balls that have gone, with this ball or without it."""
        legal = self._ball["legal_number"]
        if legal is None:
            return
        gone = 6 * int(match[1]) + int(match[2])
        if gone not in (legal - 1, legal):
            known = [Known(0.0, "/ball/legal_number", f"{(legal - 1) // 6}.{(legal - 1) % 6}")]
            yield self._wrong(plain, match.group(), known, None, "is not how many overs have gone")

    def _score(self, match: re.Match[str], plain: str) -> Iterator[Unsupported]:
        score, wickets = self._ball["score"], self._ball["wickets"]
        down = int(match[2]) if match[2].isdigit() else _DOWN.index(match[2].lower())
        if (int(match[1]), down) != (score, wickets):
            pointer = "/ball/score" if int(match[1]) != score else "/ball/wickets"
            known = [Known(score, pointer, f"{score}/{wickets}")]
            yield self._wrong(plain, match.group(), known, None, "is not the score")

    def _ordinal(self, match: re.Match[str], text: str, plain: str) -> Iterator[Unsupported]:
        word = match[1].lower()
        number = ORDINAL_WORDS[word] if word in ORDINAL_WORDS else int(re.sub(r"\D", "", word))
        after = text[match.end() : match.end() + 24].lower()
        ball = self._ball
        known: list[Known] = []
        if re.match(r" legal (?:ball|delivery)", after) or re.match(r"\)?$", after.strip()[:1]):
            known = _some(ball["legal_number"], "/ball/legal_number")
            known += [] if "legal" in after else [Known(ball["index"], "/ball/index")]
        elif re.match(r" (?:ball|delivery)\b", after):
            known = [
                Known(ball["index"], "/ball/index"),
                *_some(ball["legal_number"], "/ball/legal_number"),
            ]
            known += [
                Known(row["index"], f"/history/{at}/index")
                for at, row in enumerate(self._facts.history)
            ]
            if word in ORDINAL_WORDS and number == 1 and not self._facts.history:
                return
            if word in ORDINAL_WORDS:
                return
        elif re.match(r" over\b", after):
            known = [Known(ball["over"] + 1, "/ball/over")]
            known += [
                Known(row["over"] + 1, f"/history/{at}/over")
                for at, row in enumerate(self._facts.history)
            ]
        elif re.match(r" innings\b", after):
            known = [Known(ball["innings"], "/ball/innings")]
        elif word in ORDINAL_WORDS:
            return
        else:
            known = [
                Known(ball["index"], "/ball/index"),
                *_some(ball["legal_number"], "/ball/legal_number"),
            ]
        if not any(one.value == number for one in known):
            said = match.group() + re.match(r"(?: legal)?(?: \w+)?", text[match.end() :])[0]  # type: ignore[index]
            yield self._wrong(plain, said, known, number, "is not in the explanation")

    def _countable(
        self, match: re.Match[str], text: str, reading: Reading, plain: str
    ) -> Iterator[Unsupported]:
        number, noun = whole(match[1]), match[2].lower()
        if (number <= 1 and not match[1].isdigit()) or "attended" in match.group():
            return  # attended balls are in the summary
        before = text[max(0, match.start() - 24) : match.start()]
        known: list[Known]
        if noun.startswith(("ball", "deliver")):
            known = self._balls(reading, before, text[match.end() : match.end() + 24])
        elif noun.startswith("over"):
            known = [Known(20, "/match/match_type"), Known(self._ball["over"], "/ball/over")]
            known += [Known(len({row["over"] for row in self._facts.history}), "/history")]
        elif noun.startswith("run"):
            if any(one.start == match.start() for one in reading.outcomes):
                return  # an outcome, and no count
            if re.search(
                r"\bof (?:the|those|these)\b|^ (?:off|in|from) ",
                text[match.end() : match.end() + 12],
            ):
                return
            known = self._runs(reading)
        elif noun.startswith("boundar"):
            return
        else:
            known = self._things(noun)
        if not any(one.value == number for one in known):
            yield self._wrong(plain, match.group(), known, number, "is not how many there are")

    def _balls(self, reading: Reading, before: str, after: str) -> list[Known]:
        ball, data = self._ball, self._facts.data
        left = _some(ball["balls_left"], "/ball/balls_left")
        if re.match(r" (?:left|remaining|in which|to (?:go|come|spare|bowl|get))", after):
            return left
        known = [
            *left,
            Known(ball["deliveries"], "/ball/deliveries"),
            Known(ball["index"], "/ball/index"),
        ]
        known += [Known(ball["index"] - 1, "/history"), Known(len(self._facts.history), "/history")]
        for scale in SCALES:
            heat = data["across_balls"][scale]
            first, last = heat["sequence_range"]
            pointer = f"/across_balls/{scale}"
            known += [
                Known(last - first + 1, f"{pointer}/sequence_range"),
                Known(len(heat["balls"]), f"{pointer}/balls"),
            ]
            if re.search(r"\blast $|\bthe $", before):
                known.append(Known({"micro": 6, "short": 12, "medium": 36}.get(scale, 36), pointer))
        claims = reading.claims if reading.pinned else self._facts.claims
        known += [Known(len(claim.balls), f"{claim.pointer}/removed") for claim in claims]
        if reading.places:
            known.append(Known(len(set(reading.places)), "/history"))
        table = data["prediction"].get("calibration")
        if table:
            known.append(Known(table["balls"], "/prediction/calibration/balls"))
            for at, entry in enumerate(table["outcomes"]):
                known.append(Known(entry["balls"], f"/prediction/calibration/outcomes/{at}/balls"))
        return known

    def _runs(self, reading: Reading) -> list[Known]:
        ball = self._ball
        known = [
            Known(ball["score"], "/ball/score"),
            *_some(ball["runs_required"], "/ball/runs_required"),
        ]
        if ball["target"] is not None:
            known += [
                Known(ball["target"], "/ball/target"),
                Known(ball["target"] - 1, "/ball/target"),
            ]
        places = list(dict.fromkeys(reading.places))
        known.append(Known(sum(self._facts.history[at]["runs"] for at in places), "/history"))
        for claim in reading.claims if reading.pinned else ():
            runs = sum(self._facts.history[at]["runs"] for at in claim.balls)
            known.append(Known(runs, f"{claim.pointer}/removed"))
        known += [Known(number, "/prediction/outcomes") for number in (2, 3, 5)]
        return known

    def _things(self, noun: str) -> list[Known]:
        data, claims = self._facts.data, self._facts.claims
        if noun.startswith(("caution", "flag")):
            return [Known(len(data["flags"]), "/flags")]
        if noun.startswith("group"):
            return [Known(len(data["contributions"]), "/contributions")]
        if noun.startswith("scale"):
            return [Known(len(SCALES), "/across_balls")]
        if noun.startswith(("set", "control")):
            return [Known(claim.data["controls"], f"{claim.pointer}/controls") for claim in claims]
        if noun.startswith("head"):
            heats = data["across_balls"].values()
            counts = [len(heat["attention_by_head"]) for heat in heats]
            return [Known(count, "/across_balls") for count in (*counts, sum(counts))]
        if noun.startswith("match"):
            table = data["prediction"].get("calibration")
            return [Known(table["matches"], "/prediction/calibration/matches")] if table else []
        tested = [claim for claim in claims if claim.verdict is not None]
        kinds: list[Callable[[str | None], bool]] = [
            lambda _: True,
            lambda verdict: verdict is not None,
            lambda verdict: verdict is None,
            *(lambda verdict, one=one: verdict == one for one in _VERDICTS),
        ]
        counts = []
        for held in (claims, tested, [one for one in claims if not one.of_head]):
            counts += [sum(fits(one.verdict) for one in held) for fits in kinds]
        return [Known(count, "/evidence") for count in dict.fromkeys(counts)]

    def _number(
        self, match: re.Match[str], text: str, reading: Reading, plain: str
    ) -> Iterator[Unsupported]:
        said = match.group()
        before = text[: match.start()].lower()
        if "." in said:
            yield self._wrong(
                plain, said, self._decimals(), float(said), "is not in the explanation"
            )
            return
        number = int(said.replace(",", ""))
        known = self._meant(number, before, reading)
        table = self._facts.data["prediction"].get("calibration")
        if table and number > 200:
            for at, entry in enumerate(table["outcomes"]):
                known.append(Known(entry["balls"], f"/prediction/calibration/outcomes/{at}/balls"))
        if not any(one.value == number for one in known):
            yield self._wrong(plain, said, known, number, "is not in the explanation")

    def _meant(self, number: int, before: str, reading: Reading) -> list[Known]:
        """What a whole number can be of, by the words before it."""
        ball = self._ball
        known: list[Known]
        if re.search(r"\b(?:over|overs) $", before):
            known = [Known(ball["over"], "/ball/over")]
            known += [
                Known(row["over"], f"/history/{at}/over")
                for at, row in enumerate(self._facts.history)
            ]
        elif re.search(r"\binnings $", before):
            known = [Known(ball["innings"], "/ball/innings")]
        elif re.search(r"\b(?:target(?: of| is| was|:)?|chasing|chase of|to win:?|set) $", before):
            known = [
                *_some(ball["target"], "/ball/target"),
                *_some(ball["runs_required"], "/ball/runs_required"),
            ]
        elif re.search(
            r"\b(?:delivery|deliveries|ball|balls)(?: number| no\.?)? (?:\d+ of )?$", before
        ):
            known = [
                Known(ball["index"], "/ball/index"),
                Known(ball["deliveries"], "/ball/deliveries"),
            ]
            known += [
                Known(row["index"], f"/history/{at}/index")
                for at, row in enumerate(self._facts.history)
            ]
        elif re.search(r"\b(?:last|past|previous) (?:the )?$", before):
            known = self._balls(reading, "last ", "")
        elif re.search(r"\bn ?=? ?$", before):
            known = self._balls(reading, "", "")
        elif 1990 <= number <= 2100:
            known = [Known(int(day[:4]), pointer) for day, pointer in self._facts.dates.items()]
            season = self._facts.data["match"]["season"] or ""
            known += [Known(int(year), "/match/season") for year in re.findall(r"\d{4}", season)]
        else:
            known = [
                Known(ball[key], f"/ball/{key}")
                for key in (
                    "score",
                    "wickets",
                    "target",
                    "runs_required",
                    "balls_left",
                    "index",
                    "legal_number",
                    "deliveries",
                )
                if ball[key] is not None
            ]
        return known

    def _decimals(self) -> list[Known]:
        return [
            Known(self._ball[key], f"/ball/{key}")
            for key in ("run_rate", "required_rate")
            if self._ball[key] is not None
        ]


_VERDICTS: Final = ("supported", "not better than chance", "contradicted")


def _some(value: int | None, pointer: str) -> list[Known]:
    return [] if value is None else [Known(value, pointer)]


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + _BLANK * (end - start) + text[end:]

"""Spoken commentary on simulated matches, and what a scorer writes down of each ball.

The balls are those of `attnlens.cricket.simulate`: who bowls to whom, runs, extras, wickets. The
stroke, where the ball went and the words are drawn here. Sentences say more than the scorer
needs: batters at the other end, fielders, strokes not played, runs not taken, appeals turned
down and catches dropped, so no single word gives an answer away. What the scorer writes:

::

    bowler striker RUNS PLACE STROKE      4 point cut (0 to 6 runs)
    bowler striker RUNS dropped PLACE STROKE
    bowler striker 0 beaten|pads|left
    bowler striker out caught PLACE|keeper|bowler STROKE
    bowler striker out bowled|lbw|stumped|hit-wicket
    bowler striker out run-out NAME RUNS
    bowler striker wd RUNS | b RUNS | lb RUNS
    bowler striker nb | nb RUNS PLACE STROKE

and ``fifty`` or ``hundred`` after it where the striker got there.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from attnlens.cricket import commentary_words as words
from attnlens.cricket.match import Delivery, Innings
from attnlens.cricket.simulate import simulate
from attnlens.cricket.simulated_events import pick
from attnlens.cricket.simulated_players import side

COLUMNS: Final = ("commentary", "scorebook")

_KIND_OF_SHOT: Final = {
    "0": {"defend": 4.0, "push": 3.0, "drive": 1.5, "cut": 1.0, "flick": 1.0, "pull": 0.6,
          "sweep": 0.6, "edge": 0.5, "slog": 0.2, "reverse": 0.3},
    "1": {"push": 3.0, "drive": 2.0, "flick": 2.5, "cut": 1.5, "pull": 1.2, "sweep": 1.2,
          "edge": 0.7, "loft": 0.7, "slog": 0.6, "reverse": 0.5},
    "2": {"drive": 1.5, "flick": 1.5, "cut": 1.2, "pull": 1.2, "loft": 1.0, "sweep": 0.8,
          "slog": 0.8, "edge": 0.4, "push": 0.6, "reverse": 0.4},
    "4": {"drive": 2.0, "cut": 2.0, "pull": 1.6, "flick": 1.4, "loft": 1.2, "sweep": 1.0,
          "edge": 0.8, "slog": 0.8, "reverse": 0.6},
    "6": {"loft": 3.0, "pull": 1.5, "slog": 1.5, "sweep": 0.5, "drive": 0.6, "flick": 0.5,
          "reverse": 0.3, "cut": 0.3},
    "caught": {"loft": 2.0, "pull": 1.3, "slog": 1.3, "drive": 1.2, "cut": 0.8, "flick": 0.7,
               "sweep": 0.6, "edge": 0.6, "reverse": 0.3},
}  # fmt: skip
_LIKE: Final = {"3": "2", "5": "1"}
_NOTHING: Final = 0.22
_DROPPED: Final = 0.06
_STRAY: Final = 0.08
_CLOSING: Final = 0.08
_TOLD: Final = 0.5
"""Share of plain dot balls and singles that are told: they would drown the rest."""

_SPACE_BEFORE: Final = re.compile(r" ([,.!?])")

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One ball.

    Attributes:
        commentary: as spoken.
        scorebook: what a scorer writes down, tokens with spaces between.
    """

    commentary: str
    scorebook: str


def sentences(count: int, seed: int) -> Iterator[Sentence]:
    """Commentary on the matches of the seeds from ``seed`` on, ball by ball.

    About every other plain dot ball and single is left out. The same seed gives the same
    sentences, and fewer of them are the first of more.
    """
    given = 0
    while given < count:
        match = simulate(seed).match
        rng = Random(f"commentary {seed}")
        for innings in match.innings:
            for sentence in _spoken(innings, rng):
                yield sentence
                given += 1
                if given == count:
                    return
        seed += 1


def commentary_csv(count: int, seed: int) -> str:
    """`sentences` as CSV with a header of `COLUMNS` and a line feed after every row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((one.commentary, one.scorebook) for one in sentences(count, seed))
    return out.getvalue()


def _spoken(innings: Innings, rng: Random) -> Iterator[Sentence]:
    fielding = side(innings.bowling_team)
    made: dict[str, int] = {}
    for ball in innings.deliveries:
        speaker = _Speaker(ball, [player.name for player in fielding.players], rng)
        striker = ball.batter.name
        before = made.get(striker, 0)
        made[striker] = before + ball.runs_batter
        passed = [
            word for runs, word in ((50, "fifty"), (100, "hundred"))
            if before < runs <= made[striker]
        ]  # fmt: skip
        sentence = speaker.sentence(passed)
        plain = ball.runs_total < 2 and not ball.extras and not ball.wickets and not passed
        if not plain or rng.random() < _TOLD:
            yield sentence


def _surname(name: str) -> str:
    return name.rsplit(" ", 1)[-1]


class _Speaker:
    """Words for one delivery."""

    def __init__(self, ball: Delivery, fielders: Sequence[str], rng: Random) -> None:
        self._rng = rng
        self._ball = ball
        others = [name for name in fielders if name != ball.bowler.name]
        self._named = {
            "bowler": _surname(ball.bowler.name),
            "striker": _surname(ball.batter.name),
            "other": _surname(ball.non_striker.name),
            "fielder": _surname(self._one_of(others)),
        }

    def sentence(self, milestones: Sequence[str]) -> Sentence:
        told, line, stroke, result, shot = self._event()
        if shot is not None and self._rng.random() < _STRAY:
            stroke = f"{stroke} {self._one_of(words.STRAYS)}"
            self._named["noun"] = self._one_of(
                words.SHOTS[self._one_of([name for name in words.SHOTS if name != shot])].nouns
            )
        parts = [self._opened(line, stroke), *([result] if result else [])]
        parts += [self._one_of(words.MILESTONES[word]) for word in milestones]
        if self._rng.random() < _CLOSING:
            parts.append(self._one_of(words.CLOSINGS))
        self._named.setdefault("noun", self._one_of(words.SHOTS[self._any_shot()].nouns))
        text = " , ".join(parts).format(**self._named)
        text = _SPACE_BEFORE.sub(r"\1", text)
        who = (self._named["bowler"], self._named["striker"])
        tokens = " ".join((*who, *told, *milestones)).lower()
        return Sentence(f"{text[0].upper()}{text[1:]}.", tokens)

    def _opened(self, line: str, stroke: str) -> str:
        """Bowler, delivery, striker and stroke, in one of the orders that people use."""
        if not stroke:
            return self._one_of(
                (
                    f"{{bowler}} to {{striker}} , {line}",
                    f"{line} from {{bowler}} to {{striker}}",
                    f"{{striker}} on strike , {{bowler}} runs in , {line}",
                    f"{{bowler}} again , {line} to {{striker}}",
                    f"{{striker}} faces , {{other}} backs up , {{bowler}} bowls , {line}",
                )
            )
        return self._one_of(
            (
                f"{{bowler}} to {{striker}} , {stroke}",
                f"{{bowler}} to {{striker}} , {line} , {stroke}",
                f"{{bowler}} over the wicket , {line} , and {{striker}} {stroke}",
                f"{line} from {{bowler}} , {{striker}} {stroke}",
                f"{{striker}} , facing {{bowler}} , {stroke}",
                f"{{bowler}} again , {{striker}} {stroke}",
                f"{{other}} watches as {{striker}} {stroke} off {{bowler}}",
                f"in comes {{bowler}} , {line} , and {{striker}} {stroke}",
                f"{{striker}} on strike , {{bowler}} round the wicket , {stroke}",
            )
        )

    def _event(self) -> tuple[list[str], str, str, str, str | None]:
        """What the scorer writes, the delivery, the stroke, its result, and the stroke's token."""
        ball, rng = self._ball, self._rng
        extras = ball.extras
        if ball.wickets:
            return self._wicket()
        if "wides" in extras:
            told = _nearest(words.WIDES, extras["wides"])
            return ["wd", told], self._any_line(), "", self._one_of(words.WIDES[told]), None
        for name, token, phrases in (("byes", "b", words.BYES), ("legbyes", "lb", words.LEG_BYES)):
            if name in extras and "noballs" not in extras:
                told = _nearest(phrases, extras[name])
                return [token, told], self._any_line(), "", self._one_of(phrases[told]), None
        runs = _nearest(words.RUNS, ball.runs_batter)
        if "noballs" in extras:
            called = self._one_of(words.NO_BALL)
            if not ball.runs_batter:
                return ["nb"], self._any_line(), "", called, None
            told_hit, line, stroke, result, shot = self._hit(runs)
            return ["nb", *told_hit], line, stroke, f"{result} , and {called}", shot
        if runs == "0" and rng.random() < _NOTHING:
            kind = self._one_of(tuple(words.NOTHING))
            return ["0", kind], self._any_line(), "", self._one_of(words.NOTHING[kind]), None
        return self._hit(runs)

    def _hit(self, runs: str) -> tuple[list[str], str, str, str, str | None]:
        shot = pick(self._rng, _KIND_OF_SHOT[_LIKE.get(runs, runs)])
        how = words.SHOTS[shot]
        place = self._one_of(how.places)
        dropped = runs in words.DROPPED and how.aerial and self._rng.random() < _DROPPED
        phrases = words.DROPPED[runs] if dropped else words.RUNS[runs]
        ways = words.OVER if runs == "6" else words.TOWARDS if runs in "01" else words.PAST
        told = [runs, "dropped", place, shot] if dropped else [runs, place, shot]
        stroke = self._stroke(shot, place, ways)
        return told, self._one_of(how.lengths), stroke, self._one_of(phrases), shot

    def _stroke(self, shot: str, place: str, ways: Sequence[str]) -> str:
        """ "cuts it past point"."""
        named = self._one_of(words.PLACES[place])
        if place == "straight":
            plain = {words.OVER: "over", words.TOWARDS: "to", words.PAST: "past"}[tuple(ways)]
            way = self._one_of(words.STRAIGHT[f"{plain} {{place}}"])
        else:
            way = self._one_of(ways)
        return f"{self._one_of(words.SHOTS[shot].verbs)} {way.format(place=named)}"

    def _wicket(self) -> tuple[list[str], str, str, str, str | None]:
        ball = self._ball
        (wicket,) = ball.wickets
        if wicket.fielders:
            self._named["fielder"] = _surname(wicket.fielders[0])
        if wicket.kind == "run out":
            runs = _nearest(words.RUN_OUT, ball.runs_batter)
            out = _surname(wicket.player_out.name)
            self._named["out"] = out
            shot = pick(self._rng, _KIND_OF_SHOT["1"])
            how = words.SHOTS[shot]
            stroke = self._stroke(shot, self._one_of(how.places), words.TOWARDS)
            result = self._one_of(words.RUN_OUT[runs])
            return ["out", "run-out", out, runs], self._one_of(how.lengths), stroke, result, shot
        if wicket.kind in ("caught", "caught and bowled"):
            return self._caught(wicket.kind == "caught and bowled")
        token, phrases = {
            "bowled": ("bowled", words.BOWLED),
            "lbw": ("lbw", words.LBW),
            "stumped": ("stumped", words.STUMPED),
            "hit wicket": ("hit-wicket", words.HIT_WICKET),
        }[wicket.kind]
        return ["out", token], self._any_line(), "", self._one_of(phrases), None

    def _caught(self, by_bowler: bool) -> tuple[list[str], str, str, str, str | None]:
        shot = pick(self._rng, _KIND_OF_SHOT["caught"])
        how = words.SHOTS[shot]
        line = self._one_of(how.lengths)
        verb = self._one_of(how.verbs)
        if by_bowler:
            result = self._one_of(words.RETURN_CATCH)
            return ["out", "caught", "bowler", shot], line, verb, result, shot
        if shot == "edge":
            result = self._one_of(words.BEHIND)
            return ["out", "caught", "keeper", shot], line, verb, result, shot
        place = self._one_of(how.places)
        stroke = self._stroke(shot, place, words.TOWARDS)
        return ["out", "caught", place, shot], line, stroke, self._one_of(words.CAUGHT), shot

    def _any_shot(self) -> str:
        return self._one_of(tuple(words.SHOTS))

    def _any_line(self) -> str:
        return self._one_of(words.SHOTS[self._any_shot()].lengths)

    def _one_of(self, choices: Sequence[Choice]) -> Choice:
        # Only Random.random is promised to give the same numbers in every Python.
        return choices[int(self._rng.random() * len(choices))]


def _nearest(phrases: dict[str, tuple[str, ...]], runs: int) -> str:
    """The number of runs, or the largest below it that there are words for."""
    return max((one for one in phrases if int(one) <= max(runs, 0)), key=int, default="0")

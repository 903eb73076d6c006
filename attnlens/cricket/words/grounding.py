"""`check_grounding`: the spot check of any data, with cricket's words where they help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.match.outcomes import DISMISSALS, OUTCOME_BY_NAME
from attnlens.errors import InputError
from attnlens.llm.spot_check import Facts, SpotCheck, check_text, read_data

_SUBJECTS: Final = {
    "striker's record": r"\b(?:batter|striker)'s (?:own )?record|record as a batter",
    "bowler's record": r"bowler's (?:own )?record|record as a bowler",
    "the chase": r"\b[Tt]he chase\b",
    "the scoreboard": r"\b[Tt]he scoreboard\b",
    "boundaries": r"\blast (?:\d+ )?boundar(?:y|ies)\b",
    "this over": r"\b[Tt]h(?:is|e) over (?:so far|as a whole)\b",
    "venue and teams": r"\b(?:venue|ground) and (?:the )?(?:teams|sides)\b",
}
_PHRASES: Final = {
    r"\b\d(?:, \d)+(?:,? and \d)?\b(?! \w)": "",
    r"([A-Z][\w'’-]+) to ([A-Z][\w'’-]+)": r"\1 with the ball, \2 on strike",
    r"\b(?:chances?|likely|likelier|likelihood|odds|risk|hopes)\b": "probability",
    r"\b(\d|10) for (\d\d+)\b": r"wickets \1 / runs \2 /",
    r"\b(\d+)(?:/| for )(\d+)\b(?! from)": r"score \1 / wickets \2 /",
    r"\b(?:need|want|require)(?:s|ed)? (\d+) (?:more )?(?:runs )?(?:from|off) (\d+)\b": r"required \1 / balls left \2 /",
    r"\b(\d+) (?:wanted|needed|to get) (?:from|off) (\d+)\b": r"required \1 / balls left \2 /",
    r"\b(\d+) (?:of them )?(?:from|off) (?:just )?(\d+)\b(?!\.\d| overs?)": r"batter runs \1 / batter balls \2 /",
    r"\b(?:(?<!by )(?<![Uu]ntil )(?<!since )[Tt]hen|[Ii]n the event|[Ww]hat came|hit back|answered|it for|(?<!had )(?:took|got|hit) (?=a |four|six))\b": (
        "event",
        "came",
    ),
    r"\bon strike\b": ("role", "batter"),
    r"\bat the other end|for company|\bpartner\b|backing up\b": ("role", "non_striker"),
    r"\bhas the ball|with the ball\b|\bconceded\b|'s? (?:spell|figures)\b": ("role", "bowler"),
    **{
        rf"(?i)\b{word}\b(?! (?:of|for|runs|balls|overs|wickets|needed|more|from|(?:\w+ )?\w{(3,)}[^s\W]s)\b)": (
            "outcome",
            code,
        )
        for word, code in OUTCOME_BY_NAME.items()
    },
    **{pattern: ("claim", name) for name, pattern in _SUBJECTS.items()},
    **{rf"(?<!has )(?<!had )(?<!have )\b{how}\b": ("how", how) for how in DISMISSALS},
    r"(?<!not )\bsupport(?:s|ed)\b": ("verdict", "supported"),
    r"\bcontradict(?:s|ed)\b": ("verdict", "contradicted"),
    r"\b(?:not|no|nothing) better than chance\b": ("verdict", "not better than chance"),
}
"""What a report writes; what is read in its place, or after "=" a column and a label."""

_UNREAD: Final = frozenset(
    {"shares", "attention", "across_balls", "within_ball", "balls", "ball_labels", "history"}
    | {"reason", "removed_from", "narrative", "summary", "top", "actual", "subject"}
    | {
        "calibration",
        "evidence",
        "contributions",
        "win_probability",
        "prediction",
        "ball",
        "fusion_weights",
        "match",
        "model",
        "flags",
    }
)
"""Keys of an explanation about which no text reports, or that are read below."""


def _at(data: Any, *steps: Any) -> Any:
    """What stands at a path of plain data; None if nothing does."""
    for step in steps:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


class _Explanation(Facts):
    """The rows of an explanation: of its players, sides, outcomes, claims and contributions."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__({"text": "explanation", **data}, _UNREAD)
        self.data = data
        ball, match = data.get("ball"), data.get("match")
        self.words.update(
            w
            for word in ("Four Six Wide Single Dot Ball Wicket Batter Bowler").split()
            for w in (word.lower(),)
        )
        happened = "ball", "happened"
        for role, keys in (("batter", ("runs", "balls")), ("bowler", ("overs", "runs", "wickets"))):
            self._named("player", "ball", role, role=role)
            row = self._named("player", "ball", role)
            for key in keys:
                self._fact(row, f"{key} {role}", "ball", "standing", f"{role}_{key}")
        self._named("player", "ball", "non_striker", role="non_striker")
        row = self._named("player", *happened, "out")
        if how := _at(data, *happened, "how"):
            self.add_row({**self.rows[row], "how": how, "outcome": "W"})
        runs = _at(data, *happened, "runs_batter")
        for key, more in (("batter_runs", runs), ("batter_balls", 1)):
            self._fact(
                self._named("player", "ball", "batter"),
                f"after {key}",
                "ball",
                "standing",
                key,
                plus=more,
            )
        for past in range(len(_at(data, "history") or ())):
            for role in ("batter", "bowler"):
                if _at(data, "history", past, role) not in [
                    _at(ball, one) for one in ("batter", "bowler", "non_striker")
                ]:
                    self._named("player", "history", past, role, role="")
        row = self._named("team", "match", "batting_team")
        for key in (
            "score",
            "wickets",
            "target",
            "balls_left",
            "runs_required",
            "required_rate",
            "run_rate",
        ):
            self._fact(row, key, "ball", key)
        self._fact(row, "after score", "ball", "score", plus=_at(data, *happened, "runs"))
        self._fact(row, "opponents total", "ball", "target", plus=-1)
        for key in ("index", "legal_number", "over"):
            self._fact(row, f"into match {key}", "ball", key)
        for key in ("partnership_runs", "partnership_balls", "over_runs"):
            for one in (
                row,
                self._named("player", "ball", "batter"),
                self._named("player", "ball", "non_striker"),
            ):
                self._fact(one, key, "ball", "standing", key)
        for key in ("before", "happened"):
            self._fact(row, f"win probability {key}", "win_probability", key)
        other = self._named("team", "match", "bowling_team")
        for key in ("before", "happened"):
            if _at(data, "win_probability", key) is not None:
                self._fact(other, f"win probability {key}", "win_probability", key, minus_from=1)
        result = _at(data, "match", "result") or ""
        if " won by " in str(result):
            team, _, margin = str(result).partition(" won by ")
            number, _, unit = margin.partition(" ")
            if number.isdigit():
                self.add_fact(
                    self.add_row({"team": team}), float(number), f"won {unit}", "/match/result"
                )
        chance = {}
        for at, one in enumerate(_at(data, "prediction", "outcomes") or ()):
            outcome = _at(one, "outcome")
            chance[outcome] = _at(one, "probability")
            came = outcome == _at(data, "prediction", "actual")
            row = self.add_row({"outcome": str(outcome), "event": "came" if came else ""})
            for key in ("usual", "probability"):
                self._fact(row, f"probability {key}", "prediction", "outcomes", at, key)
        for at, one in enumerate(_at(data, "contributions") or ()):
            for kind in ("points", "from_usual"):
                for place, change in enumerate(_at(one, kind) or ()):
                    row = self.add_row(
                        {
                            "claim": str(_at(one, "group")),
                            "outcome": str(_at(change, "outcome")),
                            **self._holder(_at(one, "group")),
                        }
                    )
                    self._fact(row, "points", "contributions", at, kind, place, "points")
        for at, one in enumerate(_at(data, "evidence") or ()):
            kind, outcome = str(_at(one, "kind")), str(_at(one, "outcome"))
            verdict = _at(one, "verdict")
            labels = {
                "claim": kind,
                **({"verdict": verdict} if isinstance(verdict, str) else {}),
                **self._holder(kind),
            }
            for place, change in enumerate(_at(one, "changes") or ()):
                named = str(_at(change, "outcome"))
                if named != outcome:
                    continue
                row = self.add_row({**labels, "outcome": named})
                self._fact(row, "points", "evidence", at, "changes", place, "points")
                self.add_fact(row, chance.get(named) or 0, "probability", "/prediction/outcomes")
                self._fact(
                    row,
                    "probability without",
                    "evidence",
                    at,
                    "changes",
                    place,
                    "points",
                    plus=100 * (chance.get(named) or 0),
                    unit=0.01,
                )
            row = self.add_row(labels)
            for key in ("p", "q", "effect_nats", "controls"):
                self._fact(row, key, "evidence", at, key)
            self.add_fact(row, len(_at(one, "removed") or ()), "balls", f"/evidence/{at}/removed")

    def _holder(self, kind: Any) -> dict[str, str]:
        role = {
            "striker's record": "batter",
            "bowler's record": "bowler",
            "this bowler": "bowler",
            "this batter": "batter",
        }.get(kind)
        name = _at(self.data, "ball", role) if role else None
        return {"player": name} if isinstance(name, str) else {}

    def _named(self, column: str, *path: Any, **more: str) -> int:
        name = _at(self.data, *path)
        return self.add_row({column: name, **more} if isinstance(name, str) else {})

    def _fact(
        self,
        row: int,
        words: str,
        *path: Any,
        plus: float | None = 0,
        unit: float = 1,
        minus_from=None,
    ) -> None:
        value = _at(self.data, *path)
        try:
            value = (float(value) + float(plus or 0)) * unit
        except (TypeError, ValueError):
            return
        if minus_from is not None:
            value = minus_from - value
        self.add_fact(row, value, words, "".join(f"/{step}" for step in path))


def check_grounding(facts: object, text: str, *, seconds: float = math.inf) -> SpotCheck:
    """What the data says of the numbers and names of a text.

    Args:
        facts: an `Explanation`, plain data, the text of a JSON or CSV, or a list of rows.
        text: plain text or Markdown, in English.
        seconds: after so long, the rest of the text is not read.

    Raises:
        InputError: ``facts`` holds none, or too many.
    """
    try:
        data: Any = read_data(facts.to_dict() if hasattr(facts, "to_dict") else facts)
        if isinstance(data, Mapping) and {"ball", "prediction"} <= data.keys():
            return check_text(_Explanation(data), text, _PHRASES, seconds=seconds)
        return check_text(Facts(data), text, seconds=seconds)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None

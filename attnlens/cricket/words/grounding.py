"""Compare the numbers and names in a text with data.

Cricket phrases are recognized if the data is an explanation.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.match.match import DISMISSALS, OUTCOME_BY_NAME
from attnlens.errors import InputError
from attnlens.llm.spot_check import DataRows, SpotCheck, check_text, read_data

_SUBJECTS: Final = {
    "striker's record": r"\b(?:batter|striker)'s (?:own )?record|record as a batter",
    "bowler's record": r"bowler's (?:own )?record|record as a bowler",
    "the chase": r"\b[Tt]he chase\b",
    "the scoreboard": r"\b[Tt]he scoreboard\b",
    "boundaries": r"\blast (?:\d+ )?boundar(?:y|ies)\b",
    "this over": r"\b[Tt]h(?:is|e) over (?:so far|as a whole)\b",
    "venue and teams": r"\b(?:venue|ground) and (?:the )?(?:teams|sides)\b",
}
_NO_COUNT: Final = (
    r"(?! (?:of|for|runs|balls|overs|wickets|needed|more|from|(?:\w+ )?\w{3,}[^s\W]s)\b)"
)
"""Excludes counts: ``four balls`` is a count, not the outcome four."""

_PHRASES: Final[dict[str, str | tuple[str, str]]] = {
    r"\b\d(?:, \d)+(?:,? and \d)?\b(?! \w)": "",
    r"([A-Z][\w'’-]+) to ([A-Z][\w'’-]+)": r"\1 with the ball, \2 on strike",
    r"\b(?:(?<!than )chances?|likely|likelier|likelihood|odds|risk|hopes)\b": "probability",
    r"\b(\d|10) for (\d\d+)\b": r"wickets \1 / runs \2 /",
    r"\b(\d+)(?:/| for )(\d+)\b(?! from)": r"score \1 / wickets \2 /",
    r"\b(?:need|want|require)(?:s|ed)? (\d+) (?:more )?(?:runs )?(?:from|off) (\d+)\b": (
        r"required \1 / balls left \2 /"
    ),
    r"\b(\d+) (?:wanted|needed|to get) (?:from|off) (\d+)\b": r"required \1 / balls left \2 /",
    r"\b(\d+) (?:of them )?(?:from|off) (?:just )?(\d+)\b(?!\.\d| overs?)": (
        r"batter runs \1 / batter balls \2 /"
    ),
    r"(?<![Bb]y )(?<![Uu]ntil )(?<!since )\b[Tt]hen\b": ("event", "came"),
    r"\b(?:[Ii]n the event|[Ww]hat came|hit back|answered|it for)\b": ("event", "came"),
    r"(?<!had )\b(?:took|got|hit) (?=a |four|six)": ("event", "came"),
    r"\bon strike\b": ("role", "batter"),
    r"\bat the other end|for company|\bpartner\b|backing up\b": ("role", "non_striker"),
    r"\bhas the ball|with the ball\b|\bconceded\b|'s? (?:spell|figures)\b": ("role", "bowler"),
    **{rf"(?i)\b{word}\b{_NO_COUNT}": ("outcome", code) for word, code in OUTCOME_BY_NAME.items()},
    r"(?i)\bdot balls?\b": ("outcome", "0"),
    **{pattern: ("claim", name) for name, pattern in _SUBJECTS.items()},
    **{rf"(?<!has )(?<!had )(?<!have )\b{how}\b": ("how", how) for how in DISMISSALS},
    r"(?<!not )\bsupport(?:s|ed)\b": ("verdict", "supported"),
    r"\bcontradict(?:s|ed)\b": ("verdict", "contradicted"),
    r"\b(?:not|no|nothing) better than chance\b": ("verdict", "not better than chance"),
}
"""Patterns of phrases, with the replacement, or with a column of the data and a label in it."""


_HOLDERS: Final = {
    "striker's record": "batter",
    "unknown striker": "batter",
    "this batter": "batter",
    "this batter's earlier balls": "batter",
    "bowler's record": "bowler",
    "unknown bowler": "bowler",
    "this bowler": "bowler",
    "this bowler's earlier balls": "bowler",
}
_STATE: Final = (
    "score wickets target balls_left runs_required required_rate run_rate deliveries label"
)


def _at(data: Any, *steps: str | int) -> Any:
    for step in steps:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


class _Explanation(DataRows):
    earlier_first = True

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data, frozenset(data))
        self.data = data
        self._players()
        self._sides()
        for at, outcome in self._all("prediction", "outcomes"):
            came = outcome.get("outcome") == _at(data, "prediction", "actual")
            row = self._row(outcome=outcome.get("outcome"), event="came" if came else "")
            for key in ("usual", "probability"):
                self._fact(row, f"probability {key}", "prediction", "outcomes", at, key)
        for at, _ in self._all("contributions"):
            for kind in ("points", "from_usual"):
                self._changes(self._claim("contributions", at, "group"), "contributions", at, kind)
        for at, claim in self._all("evidence"):
            labels = self._claim("evidence", at, "kind")
            subject = {"outcome": claim.get("outcome")}
            self._changes({**labels, **subject}, "evidence", at, "changes")
            row = self._row(**labels)
            for key in ("low", "median", "high"):
                self._fact(row, f"probability other {key}", "evidence", at, "controls", key)
            for key in ("p", "q", "effect_nats", "controls", "control_sets"):
                self._fact(row, key, "evidence", at, key)
            self.add_fact(row, len(claim.get("removed") or ""), "balls", f"/evidence/{at}/removed")

    def _players(self) -> None:
        ball = {role: _at(self.data, "ball", role) for role in ("batter", "bowler", "non_striker")}
        for role, name in ball.items():
            self._row(player=name, role=role)
        for _, past in [*self._all("history"), *self._all("past_balls")]:
            for name in {str(past.get("batter")), str(past.get("bowler"))} - {*ball.values()}:
                self._row(player=name, role="")
        self._innings_so_far()
        for at, record in self._all("records"):
            row = self._row(player=record.get("player"))
            self._fact(row, "balls record", "records", at, "deliveries")
        came: Any = _at(self.data, "ball", "happened")
        if how := _at(came, "how"):
            self._row(player=_at(came, "out"), how=how, outcome="W")
        batter, bowler = self._row(player=ball["batter"]), self._row(player=ball["bowler"])
        partner = self._row(player=ball["non_striker"])
        standing = "ball", "standing"
        for key in ("runs", "balls"):
            more = _at(came, "runs_batter") if key == "runs" else 1
            self._fact(batter, f"{key} batter", *standing, f"batter_{key}")
            self._fact(batter, f"{key} batter after", *standing, f"batter_{key}", plus=more)
            self._fact(batter, f"partnership {key}", *standing, f"partnership_{key}")
            self._fact(partner, f"partnership {key}", *standing, f"partnership_{key}")
        for key in ("overs", "runs", "wickets"):
            self._fact(bowler, f"{key} bowler", *standing, f"bowler_{key}")

    def _innings_so_far(self) -> None:
        figures: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for _, past in self._all("past_balls"):
            runs, of_bat, outcome = past.get("runs"), past.get("runs_batter"), past.get("outcome")
            if not isinstance(runs, int) or not isinstance(of_bat, int):
                continue
            batter, bowler = figures[str(past.get("batter"))], figures[str(past.get("bowler"))]
            batter["runs batter"] += of_bat
            batter["balls batter"] += outcome != "wd"
            if past.get("boundary"):
                batter[{4: "fours", 6: "sixes"}.get(of_bat, "")] += 1
                batter["runs boundaries"] += of_bat
            bowler["runs bowler"] += 0 if outcome == "bye" else runs
            bowler["wickets bowler"] += outcome == "W"
        for name, counts in figures.items():
            row = self._row(player=name)
            for key, value in counts.items():
                self.add_fact(row, value, key, "/past_balls")

    def _sides(self) -> None:
        batting = self._row(team=_at(self.data, "match", "batting_team"))
        bowling = self._row(team=_at(self.data, "match", "bowling_team"))
        for key in _STATE.split():
            self._fact(batting, key, "ball", key)
        more = _at(self.data, "ball", "happened", "runs")
        self._fact(batting, "after score", "ball", "score", plus=more)
        self._fact(batting, "opponents total", "ball", "target", plus=-1)
        if isinstance(more, int):
            self._fact(batting, "required after", "ball", "runs_required", plus=-more)
        for key in ("mean", "low", "high"):
            self._fact(batting, f"projected total {key}", "win_probability", "projected", key)
        for key in ("index", "legal_number", "over"):
            self._fact(batting, f"into match {key}", "ball", key)
        for key in ("partnership_runs", "partnership_balls", "over_runs"):
            self._fact(batting, key, "ball", "standing", key)
        for key in ("before", "happened"):
            self._fact(batting, f"win probability {key}", "win_probability", key)
            self._fact(bowling, f"win probability {key}", "win_probability", key, plus=-1)
        result = str(_at(self.data, "match", "result"))
        if won := re.fullmatch(r"(.{1,60}) won by (\d{1,4}) (runs?|wickets?)", result):
            self.add_fact(self._row(), float(won[2]), f"won by {won[3]}", "/match/result")

    def _changes(self, labels: Mapping[str, Any], *path: str | int) -> None:
        for at, change in self._all(*path):
            outcome = change.get("outcome")
            if labels.get("outcome", outcome) != outcome:
                continue
            row = self._row(**{**labels, "outcome": outcome})
            self._fact(row, "points", *path, at, "points")
            for number, forecast in (
                self._all("prediction", "outcomes") if path[0] == "evidence" else ()
            ):
                if forecast.get("outcome") == outcome and isinstance(
                    forecast.get("probability"), float
                ):
                    self._fact(row, "probability", "prediction", "outcomes", number, "probability")
                    more, to = 100 * forecast["probability"], 0.01
                    self._fact(row, "probability without", *path, at, "points", plus=more, to=to)

    def _claim(self, *path: str | int) -> dict[str, Any]:
        kind = str(_at(self.data, *path))
        player = _at(self.data, "ball", _HOLDERS[kind]) if kind in _HOLDERS else None
        subject = f"the {kind}" if kind in ("scoreboard", "chase") else kind
        return {"claim": subject, "player": player, "verdict": _at(self.data, *path[:2], "verdict")}

    def _all(self, *path: str | int) -> list[tuple[int, Mapping[str, Any]]]:
        rows = _at(self.data, *path)
        items = enumerate(rows) if isinstance(rows, list) else ()
        return [(at, row) for at, row in items if isinstance(row, Mapping)]

    def _row(self, **labels: Any) -> int:
        return self.add_row({name: text for name, text in labels.items() if isinstance(text, str)})

    def _fact(self, row: int, key: str, *path: str | int, plus: Any = 0, to: float = 1) -> None:
        try:
            value = (float(_at(self.data, *path)) + float(plus or 0)) * to
        except (TypeError, ValueError, OverflowError):
            return
        if math.isfinite(value):
            self.add_fact(row, value, key, "".join(f"/{step}" for step in path))


def check_grounding(facts: object, text: str, *, seconds: float = math.inf) -> SpotCheck:
    """Compare the numbers and names in a text with the data.

    Args:
        facts: an `Explanation`, plain data, the text of a JSON or CSV file, or a list of rows.
        text: plain text or Markdown, in English.
        seconds: the time limit, after which the rest of the text is not checked.

    Raises:
        InputError: ``facts`` contains no values or too many values.
    """
    try:
        data: Any = read_data(facts.to_dict() if hasattr(facts, "to_dict") else facts)
        if isinstance(data, Mapping) and {"ball", "prediction"} <= data.keys():
            return check_text(_Explanation(data), text, _PHRASES, seconds=seconds)
        return check_text(DataRows(data), text, seconds=seconds)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None

"""What the server answers, as plain data; it knows nothing of the protocol."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from attnlens.cricket.explain import explain_ball
from attnlens.cricket.match import Match
from attnlens.cricket.naming import find_ball, innings_numbered
from attnlens.cricket.next_ball import with_next_ball
from attnlens.cricket.question import Question
from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.trained import TrainedPredictor, load_predictor
from attnlens.cricket.what_if import what_if
from attnlens.errors import AttnlensError, InputError
from attnlens.explanation.grounding import Checker
from attnlens.explanation.types import Explanation
from attnlens.explanation.visible import visible, visible_name
from attnlens.render.prompt import Prompt, prompt_of
from attnlens.render.prompt_data import tables_of
from attnlens.server.folders import MEMBER, Folders

KEPT: Final = 32
"""Explanations that are remembered."""

MOST_LISTED: Final = 100
MOST_BALLS: Final = 1000
MOST_TEXT: Final = 100_000


class Questions:
    """Answers from the matches in some folders, by one model; one question at a time."""

    def __init__(self, folders: Folders, model: str | None = None) -> None:
        self.folders = folders
        self._model = model
        self._loaded: TrainedPredictor | None = None
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Any, ...], dict[str, Any]] = OrderedDict()

    # -- matches ---------------------------------------------------------------------------------

    def list_matches(self, contains: str = "", limit: int = 20, offset: int = 0) -> dict[str, Any]:
        """Matches that can be read, with their names; those whose name holds ``contains``."""
        _between("limit", limit, 1, MOST_LISTED)
        _between("offset", offset, 0, 10**9)
        names = [name for name in self._names() if contains.lower() in name.lower()]
        found = []
        for name in names[offset : offset + limit]:
            found += self._told(name)
        return {"matches": found, "files": len(names), "offset": offset}

    def _names(self) -> list[str]:
        names: list[str] = []
        for name, path in self.folders.files():
            low = path.name.lower()
            if low.endswith(".zip"):
                names += (f"{name}{MEMBER}{member}" for member in _members(str(path)))
            elif low.endswith((".json", ".csv")) and not low.endswith("_info.csv"):
                names.append(name)
        return names

    def _told(self, name: str) -> list[dict[str, Any]]:
        try:
            path = self.folders.path_of(name)
            several = list(islice(read_matches(path), MOST_LISTED))
        except InputError:  # what is no match, or leads out of its folder, is not listed
            return []
        if len(several) == 1:
            return [_match_data(name, several[0])]
        return [_match_data(f"{name}{MEMBER}{one.match_id}", one) for one in several]

    # -- balls -----------------------------------------------------------------------------------

    def explanation(
        self,
        match: str,
        ball: str,
        innings: int | None = None,
        outcome: str | None = None,
        evidence: bool = True,
    ) -> dict[str, Any]:
        """The whole explanation of a ball, remembered while its file stays as it is."""
        path = self.folders.path_of(match)
        changed = os.stat(path.partition(MEMBER)[0]).st_mtime_ns
        key = (path, changed, ball, innings, outcome, evidence)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
            read = read_match(path)
            reference = find_ball(read, ball, innings)
            if reference.index > len(innings_numbered(read, reference.innings).deliveries):
                read = with_next_ball(read, reference.innings)
            found = explain_ball(
                read, reference, self._predictor(), evidence=evidence, outcome=outcome
            )
            self._known[key] = found
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return found

    def explain(self, match: str, ball: str, **asked: Any) -> dict[str, Any]:
        """An explanation in short: what a language model can read at once."""
        data = self.explanation(match, ball, **asked)
        return {
            "echo": visible(data["ball"]["echo"]),
            "summary": visible(data["summary"]),
            "narrative": [visible(sentence["text"]) for sentence in data["narrative"]],
            "data": tables_of(data),
        }

    def prompt(self, match: str, ball: str, innings: int | None = None) -> Prompt:
        """The prompt that asks for an explanation in words."""
        return prompt_of(self.explanation(match, ball, innings))

    def what_if(
        self,
        match: str,
        ball: str,
        innings: int | None = None,
        bowler: str | None = None,
        batter: str | None = None,
        target: int | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """What would have been expected, had something been different."""
        balls = tuple((str(name), str(outcome)) for name, outcome in (changes or {}).items())
        question = Question(bowler, batter, target, balls)
        read = read_match(self.folders.path_of(match))
        with self._lock:
            reference = find_ball(read, ball, innings)
            data = what_if(read, reference, self._predictor(), question)
        return {
            "before": visible(data["before"]["echo"]),
            "after": visible(data["after"]["echo"]),
            "changes": [visible(change["text"]) for change in data["changes"]],
            "narrative": [visible(sentence["text"]) for sentence in data["narrative"]],
            "outcomes": data["outcomes"],
            "effect_nats": data["effect_nats"],
            "flags": [visible(flag["text"]) for flag in data["flags"]],
        }

    def check(
        self,
        text: str,
        match: str | None = None,
        ball: str | None = None,
        innings: int | None = None,
        outcome: str | None = None,
        explanation: str | Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What a text says that an explanation does not."""
        if len(text) > MOST_TEXT:
            raise InputError(f"the text has more than {MOST_TEXT:,} characters")
        if explanation is not None:
            checker = Checker(explanation)
        elif match is not None and ball is not None:
            checker = Checker(self.explanation(match, ball, innings, outcome))
        else:
            raise InputError(
                "there is nothing to check the text against",
                remedy="give match and ball, or explanation",
            )
        found = checker.check(text)
        return {"grounded": not found, "unsupported": [one.to_dict() for one in found]}

    # -- the model -------------------------------------------------------------------------------

    def heads(self, source: str, balls: int = 100, allow_in_sample: bool = False) -> dict[str, Any]:
        """What every head does on balls of a match, a zip or a folder, and its earned name."""
        _between("balls", balls, 1, MOST_BALLS)
        from attnlens.cricket.head_report import head_report
        from attnlens.cricket.heads import HeadStudy
        from attnlens.cricket.held_out import held_out
        from attnlens.cricket.window import one_thread

        sources = self.folders.sources_of(source)
        with self._lock, one_thread():
            predictor = self._predictor()
            held = held_out(predictor, sources, allow_in_sample=allow_in_sample, skipped=[])
            innings = list(held.innings())
            study = HeadStudy(predictor.model, innings, balls=balls, seed=5)
            if not len(study.sample):
                raise InputError("there is no ball with 36 before it", remedy="give more matches")
            report = head_report(study)
        return {
            "model": predictor.name,
            "balls": report["balls"],
            "matches": report["matches"],
            "scales": [
                {
                    "scale": scale["scale"],
                    "question": scale["question"],
                    "weight": scale["weight"],
                    "heads": [_head_data(head) for head in scale["heads"]],
                }
                for scale in report["scales"]
            ],
        }

    def _predictor(self) -> TrainedPredictor:
        if self._loaded is None:
            self._loaded = load_predictor(self._model)
        return self._loaded

    def said(self, error: AttnlensError) -> str:
        """An error on one line, with no path of this machine and no sign that is obeyed."""
        return visible(self.folders.shown(str(error)), 500)


def schema() -> str:
    """The JSON Schema of an explanation."""
    from importlib.resources import files

    return files("attnlens.explanation").joinpath("schema.json").read_text(encoding="utf-8")


def as_json(data: Mapping[str, Any]) -> str:
    """A whole explanation as JSON."""
    return Explanation.from_dict(data).to_json()


def _between(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{name} is {value}", remedy=f"give a number from {least} to {most}")


def _members(path: str) -> list[str]:
    from contextlib import closing

    from attnlens.cricket.readers.archives import Shelf
    from attnlens.cricket.readers.files import candidates, source_of

    with closing(Shelf()) as shelf:
        found = [one.display for one in candidates(source_of(path), shelf) if one.expected]
    return [display.removeprefix(path + MEMBER) for display in found]


def _match_data(name: str, match: Match) -> dict[str, Any]:
    return {
        "match": name,
        "teams": [visible_name(team) for team in match.teams],
        "date": match.date.isoformat() if match.date is not None else None,
        "venue": None if match.venue is None else visible_name(match.venue),
        "innings": [
            {
                "innings": side.number,
                "batting": visible_name(side.batting_team),
                "deliveries": len(side.deliveries),
                "total": f"{side.total}/{side.wickets}",
            }
            for side in match.innings
        ],
    }


def _head_data(head: Mapping[str, Any]) -> dict[str, Any]:
    best = max(head["relations"], key=lambda row: row["lift"] or 0.0)
    return {
        "head": head["head"],
        "started_as": head["pattern"],
        "earned": head["earned"],
        "looks_most_at": best["relation"],
        "share": best["share"],
        "even_attention": best["uniform"],
        "importance_points": head["importance"]["points"],
        "rank": head["importance"]["rank"],
    }

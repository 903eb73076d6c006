"""What the server answers, as plain data; it knows nothing of the protocol."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Match
from attnlens.cricket.pages.prompt import tables_of
from attnlens.cricket.readers import member_names, read_matches
from attnlens.cricket.server.folders import MEMBER, Folders
from attnlens.cricket.session import Session
from attnlens.cricket.words.grounding import check_grounding
from attnlens.errors import AttnlensError, InputError
from attnlens.files import Json
from attnlens.show.safe import visible, visible_name

MOST_LISTED: Final = 100
MOST_TEXT: Final = 100_000


class Questions:
    """Answers from the matches in some folders, by one model; one question at a time."""

    def __init__(self, folders: Folders, model: str | None = None) -> None:
        self.folders = folders
        self.session = Session(model)
        self._lock = threading.Lock()

    def list_matches(self, contains: str = "", limit: int = 20, offset: int = 0) -> Json:
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
                names += (f"{name}{MEMBER}{member}" for member in member_names(path))
            elif low.endswith((".json", ".csv")) and not low.endswith("_info.csv"):
                names.append(name)
        return names

    def _told(self, name: str) -> list[Json]:
        try:
            path = self.folders.path_of(name)
            several = list(islice(read_matches(path), MOST_LISTED))
        except InputError:  # what is no match, or leads out of its folder, is not listed
            return []
        if len(several) == 1:
            return [_match_data(name, several[0])]
        return [_match_data(f"{name}{MEMBER}{one.match_id}", one) for one in several]

    def explanation(
        self,
        match: str,
        ball: str,
        innings: int | None = None,
        outcome: str | None = None,
        evidence: bool = True,
    ) -> Explanation:
        """The whole explanation of a ball."""
        path = self.folders.path_of(match)
        with self._lock:
            return self.session.explain(
                path, ball=ball, innings=innings, outcome=outcome, evidence=evidence
            )

    def explain(self, match: str, ball: str, **asked: Any) -> Json:
        """An explanation in short: what a language model can read at once."""
        explanation = self.explanation(match, ball, **asked)
        return {
            "echo": visible(explanation.ball.echo),
            "narrative": [visible(sentence.text) for sentence in explanation.narrative],
            "data": tables_of(explanation),
        }

    def what_if(
        self, match: str, ball: str, changes: Mapping[str, str] | None = None, **asked: Any
    ) -> Json:
        """What would have been expected, had something been different."""
        path = self.folders.path_of(match)
        with self._lock:
            answer = self.session.what_if(path, ball=ball, changes=changes, **asked)
        return {
            "before": visible(answer.before.echo),
            "after": visible(answer.after.echo),
            "changes": [visible(change.text) for change in answer.changes],
            "narrative": [visible(sentence.text) for sentence in answer.narrative],
            "outcomes": [outcome.model_dump() for outcome in answer.outcomes],
            "effect_nats": answer.effect_nats,
            "flags": [visible(flag.text) for flag in answer.flags],
        }

    def check(
        self,
        text: str,
        match: str,
        ball: str,
        innings: int | None = None,
        outcome: str | None = None,
    ) -> Json:
        """What a text says that a ball's explanation does not."""
        if len(text) > MOST_TEXT:
            raise InputError(f"the text has more than {MOST_TEXT:,} characters")
        known = self.explanation(match, ball, innings, outcome)
        unsupported = [entry.to_dict() for entry in check_grounding(known, text)]
        return {"grounded": not unsupported, "unsupported": unsupported}

    def said(self, error: AttnlensError) -> str:
        """An error on one line, with no path of this machine and no sign that is obeyed."""
        return visible(self.folders.shown(str(error)), 500)


def schema() -> str:
    """The JSON Schema of an explanation."""
    from importlib.resources import files

    return files("attnlens.cricket.explain").joinpath("schema.json").read_text(encoding="utf-8")


def _between(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{name} is {value}", remedy=f"give a number from {least} to {most}")


def _match_data(name: str, match: Match) -> Json:
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

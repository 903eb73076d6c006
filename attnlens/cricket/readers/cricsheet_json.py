"""Cricsheet JSON 1.x. Every word of that format stands in this file.

Source: https://cricsheet.org/format/json/ (1.1.0), and 1.2.0, which adds
``actual_delivery``.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from attnlens.cricket.match.match import Match, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES, MOST_INNINGS, InningsDraft, People
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.json_info import (
    draft_of,
    innings_notes,
    miscounted_overs,
    replacement_notes,
)
from attnlens.cricket.readers.json_values import (
    Path,
    Wrong,
    line_of,
    list_at,
    mapping_at,
    number_at,
    place_in_words,
    text_at,
)
from attnlens.cricket.readers.tables import Part, Refused
from attnlens.cricket.readers.text import EXTRA_KINDS, LAST_OVER, MOST_RUNS, decoded, shown
from attnlens.files import Json

NEWEST_MINOR_KNOWN = 2

_NOUNS = {"innings": "innings", "overs": "over", "deliveries": "delivery"}
_KEYS_OF_A_MATCH = ("meta", "info", "innings")
_FEWEST_BYTES_PER_VALUE = 8
_SMALL = 2**18
_KEYS_OF_A_PLAIN_DELIVERY = 4
_FIRST_DATE = re.compile(rb'"dates"\s*:\s*\[\s*"([0-9]{4}-[0-9]{2}-[0-9]{2})"')
_OVERS_AND_BALLS = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,2}))?")


def recognises(file: MatchFile) -> bool:
    """Whether the file is JSON at all; what kind is told when reading it."""
    return file.head[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def parts(file: MatchFile) -> Iterator[Part]:
    """The one match of a Cricsheet JSON file, with its date where it is easily found."""
    found = _FIRST_DATE.findall(file.head)
    first = ""
    if len(found) == 1 and file.head.count(b'"dates"') == 1:
        first = found[0].decode()
    else:
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            first = json.loads(file.data)["info"]["dates"][0]
    date = None
    with suppress(ValueError, TypeError):
        date = datetime.date.fromisoformat(first)
    yield Part(file.stem, date)


def matches(
    file: MatchFile,
    part: Part | None = None,  # noqa: ARG001  # every format is asked alike
    refused: Refused | None = None,  # noqa: ARG001  # one match: its error is the file's
) -> Generator[Match, None, None]:
    """The one match of a Cricsheet JSON file.

    Raises:
        MatchFileError: it is damaged, of another kind, or of version 2 and up.
    """
    text = decoded(file.data, file.display)
    file.check_wanted(file.stem)
    document = _parsed(text, file)
    try:
        yield _match(document, text, file)
    except RecursionError:
        raise file.wrong("nested far deeper than a match") from None
    except Wrong as wrong:
        place = place_in_words(document, wrong.path, _NOUNS)
        line = line_of(text, wrong.path) if wrong.path else None
        raise file.wrong(f"{place}{wrong.problem}", line=line) from None


def _parsed(text: str, file: MatchFile) -> Json:
    """The document, as far as it is an object that could be a match."""
    if len(text) > _SMALL and sum(map(text.count, "{[,")) > len(text) // _FEWEST_BYTES_PER_VALUE:
        # Nothing but empty values would unpack to many times its size in memory.
        raise file.wrong("is little but brackets and commas, not a match")
    try:
        document = json.loads(text, parse_float=str, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            cut = "the file may be cut short; get it again"
            raise file.wrong("the JSON ends too early", cut, line=error.lineno) from None
        problem = f"this is not valid JSON: {error.msg}"
        raise file.wrong(problem, "get the file again", line=error.lineno) from None
    except ValueError as error:
        raise file.wrong(f"this is not valid JSON: {error}") from None
    except RecursionError:
        raise file.wrong("nested far deeper than a match") from None
    if not isinstance(document, dict):
        raise file.wrong("a JSON list, not a Cricsheet match", "give one match per file")
    if not any(key in document for key in _KEYS_OF_A_MATCH):
        keys = ", ".join(shown(key) for key in list(document)[:5]) or "no keys"
        raise file.wrong(
            f"JSON, but not a cricket match: it has {keys} where a Cricsheet match has "
            "meta, info and innings"
        )
    if "\\" in text:
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise file.wrong("a \\u escape in it is half a character") from None
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _match(document: Json, text: str, file: MatchFile) -> Match:
    notes = _version_notes(document)
    info = mapping_at(document, "info", ())
    draft = draft_of(info, file.stem, file.display, notes)
    if "innings" not in document:
        raise Wrong("innings are missing; this may be only part of a match", ())
    every_innings = list_at(document, "innings", ())
    if len(every_innings) > MOST_INNINGS:
        raise Wrong(f"are {len(every_innings)}; no match has so many", ("innings",))
    for position, innings in enumerate(every_innings):
        draft.innings.append(_innings(innings, position, draft))
    _refuse_duplicate_keys(text, sum(len(innings.deliveries) for innings in draft.innings))
    return draft.finished()


def _version_notes(document: Json) -> list[str]:
    meta = mapping_at(document, "meta", ())
    version = text_at(meta, "data_version", ("meta",))
    if version is None:
        return ["the file does not say its data version: read as 1.x"]
    major, _, rest = version.partition(".")
    if major != "1":
        raise Wrong(
            f"is {shown(version)}; attnlens reads Cricsheet JSON 1.x",
            ("meta", "data_version"),
        )
    minor = rest.partition(".")[0]
    if minor.isascii() and minor.isdigit() and int(minor[:6]) > NEWEST_MINOR_KNOWN:
        return [f"data version {version} is newer than 1.{NEWEST_MINOR_KNOWN}: read as that"]
    return []


def _innings(innings: Any, position: int, match: MatchDraft) -> InningsDraft:
    path: Path = ("innings", position)
    if not isinstance(innings, dict):
        raise Wrong(f"is {shown(innings)}, not an object", path)
    teams = match.teams
    team = text_at(innings, "team", path)
    if team is None or (teams and team not in teams):
        known = ", ".join(teams) or "none named"
        raise Wrong(f"is {shown(team)}; the teams are: {known}", (*path, "team"))
    penalties = mapping_at(innings, "penalty_runs", path)
    target = mapping_at(innings, "target", path)
    draft = InningsDraft(
        number=position + 1,
        batting_team=team,
        bowling_team=next((other for other in teams if other != team), ""),
        penalty_before=number_at(penalties, "pre", (*path, "penalty_runs")) or 0,
        penalty_after=number_at(penalties, "post", (*path, "penalty_runs")) or 0,
        super_over=innings.get("super_over") is True,
        target=number_at(target, "runs", (*path, "target")),
        target_balls=_target_balls(target, match.balls_per_over or 6, (*path, "target", "overs")),
        declared=innings.get("declared") is True,
        miscounted=miscounted_overs(innings, path),
    )
    match.notes.extend(innings_notes(innings, draft.number, path))
    for over_position, over in enumerate(list_at(innings, "overs", path)):
        _add_over(draft, over, match, (*path, "overs", over_position))
    return draft


def _target_balls(target: Json, balls_per_over: int, path: Path) -> int | None:
    """Balls for ``target.overs``, which is overs and balls: 8.1 is 49 balls, not 48.6."""
    overs = target.get("overs")
    if overs is None:
        return None
    match = None
    if type(overs) is int or isinstance(overs, str):
        match = _OVERS_AND_BALLS.fullmatch(str(overs))
    if match is None:
        raise Wrong(f"is {shown(overs)}, not overs such as 20 or 8.1", path)
    return int(match[1]) * balls_per_over + int(match[2] or 0)


def _add_over(draft: InningsDraft, over: Any, match: MatchDraft, path: Path) -> None:
    if not isinstance(over, dict):
        raise Wrong(f"is {shown(over)}, not an object", path)
    number = over.get("over")
    if type(number) is not int or not 0 <= number <= LAST_OVER:
        raise Wrong(f"is {shown(number)}, not an over's number from 0", (*path, "over"))
    deliveries = list_at(over, "deliveries", path)
    if len(draft.deliveries) + len(deliveries) > MOST_DELIVERIES:
        raise Wrong(f"make the innings longer than {MOST_DELIVERIES}", (*path, "deliveries"))
    people = match.people
    # Most of the reading time is spent in this loop, so it tries first and asks
    # what was wrong only when something was.
    for position, delivery in enumerate(deliveries):
        try:
            runs = delivery["runs"]
            batter, extra, total = runs["batter"], runs["extras"], runs["total"]
            if (
                type(batter) is not int
                or type(extra) is not int
                or not 0 <= batter <= MOST_RUNS
                or not 0 <= extra <= MOST_RUNS
                or type(total) is not int
                or batter + extra != total
            ):
                raise ValueError
            striker = people[delivery["batter"]]
            non_striker = people[delivery["non_striker"]]
            bowler = people[delivery["bowler"]]
            extras = actual = replacements = None
            fallen: tuple[Wicket, ...] = ()
            if len(delivery) > _KEYS_OF_A_PLAIN_DELIVERY:
                extras = delivery.get("extras")
                actual = delivery.get("actual_delivery")
                replacements = delivery.get("replacements")
                if actual is not None and _OVERS_AND_BALLS.fullmatch(actual) is None:
                    raise ValueError
                if "wickets" in delivery:
                    fallen = _wickets(delivery["wickets"], people)
            if extra if extras is None else not _extras_add_up(extras, extra):
                raise ValueError
            all_run = "non_boundary" in runs and runs["non_boundary"] is True
        except (KeyError, TypeError, ValueError, AttributeError):
            _diagnose(delivery, (*path, "deliveries", position))
        draft.add(
            number,
            striker,
            non_striker,
            bowler,
            batter,
            extra,
            extras,
            fallen,
            None,
            actual,
            all_run,
        )
        if replacements is not None:
            match.notes.extend(
                replacement_notes(replacements, draft.number, draft.deliveries[-1].label)
            )


def _extras_add_up(extras: Mapping[str, int], total: int) -> bool:
    for kind, runs in extras.items():
        if kind not in EXTRA_KINDS or type(runs) is not int or runs < 0:
            return False
    return sum(extras.values()) == total


def _wickets(wickets: Sequence[Json], people: People) -> tuple[Wicket, ...]:
    if not isinstance(wickets, list):
        raise TypeError
    fallen = []
    for wicket in wickets:
        kind = wicket["kind"]
        fielders = wicket.get("fielders", [])
        if not isinstance(kind, str) or not kind or not isinstance(fielders, list):
            raise TypeError
        # A fielder may be without a name; a substitute's name may be unknown.
        names = [fielder["name"] for fielder in fielders if "name" in fielder]
        if not all(isinstance(name, str) for name in names):
            raise TypeError
        fallen.append(Wicket(kind, people[wicket["player_out"]], tuple(names)))
    return tuple(fallen)


def _diagnose(delivery: Any, path: Path) -> NoReturn:
    """Say what is wrong with a delivery that could not be read."""
    if not isinstance(delivery, dict):
        raise Wrong(f"is {shown(delivery)}, not an object", path)
    for key in ("batter", "non_striker", "bowler"):
        name = delivery.get(key)
        if not isinstance(name, str) or not name.strip():
            raise Wrong(f"is {shown(name)}, not a player's name", (*path, key))
    runs = delivery.get("runs")
    if not isinstance(runs, dict):
        raise Wrong(f"is {shown(runs)}, not an object", (*path, "runs"))
    for key in ("batter", "extras", "total"):
        value = runs.get(key)
        most = 2 * MOST_RUNS if key == "total" else MOST_RUNS
        if type(value) is not int or not 0 <= value <= most:
            raise Wrong(f"is {shown(value)}, not a number of runs", (*path, "runs", key))
    if runs["batter"] + runs["extras"] != runs["total"]:
        raise Wrong(
            f"do not add up: {runs['batter']} + {runs['extras']} is not {runs['total']}",
            (*path, "runs"),
        )
    extras = delivery.get("extras")
    if extras is not None and not isinstance(extras, dict):
        raise Wrong(f"is {shown(extras)}, not an object", (*path, "extras"))
    for kind, value in (extras or {}).items():
        if kind not in EXTRA_KINDS:
            raise Wrong(
                f"is not a kind of extra; known: {', '.join(EXTRA_KINDS)}", (*path, "extras", kind)
            )
        if type(value) is not int or value < 0:
            raise Wrong(f"is {shown(value)}, not a number of runs", (*path, "extras", kind))
    if sum((extras or {}).values()) != runs["extras"]:
        raise Wrong(f"do not add up to runs.extras, {runs['extras']}", (*path, "extras"))
    actual = delivery.get("actual_delivery")
    if actual is not None and not (
        isinstance(actual, str) and _OVERS_AND_BALLS.fullmatch(actual) is not None
    ):
        raise Wrong(f"is {shown(actual)}, not a ball such as 7.4", (*path, "actual_delivery"))
    raise Wrong("are not a list of kind, player_out and fielders", (*path, "wickets"))


def _refuse_duplicate_keys(text: str, deliveries: int) -> None:
    """Of a key given twice the parser keeps the last and says nothing.

    Looking for that costs more than parsing, so it is done only where the key
    that every delivery's runs have once comes too often.
    """
    if text.count('"total"') <= deliveries:
        return

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        items = dict(pairs)
        if len(items) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise Wrong(f"an object has the key {shown(twice)} twice", ())
        return items

    json.loads(text, object_pairs_hook=unique)

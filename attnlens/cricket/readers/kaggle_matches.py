"""Tables of results that stand beside the Kaggle tables of IPL deliveries.

Three layouts, told by their columns. Every word of them stands here.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from attnlens.cricket.match import Facts
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.spreadsheet import date_from, day_comes_first
from attnlens.cricket.readers.tables import header_of
from attnlens.cricket.readers.text import decoded, lines
from attnlens.errors import MatchFileError

OF_2019 = frozenset({"id", "Season", "date", "team1", "team2", "dl_applied", "win_by_runs"})
OF_2024 = frozenset({"id", "season", "date", "team1", "team2", "result_margin", "super_over"})
OF_2025 = frozenset({"match_id", "date", "team1", "team2", "first_ings_score", "match_winner"})

NOTHING = frozenset({"", "NA"})
"""What stands in these tables where there is nothing."""

_MOST_BESIDE = 8
_MOST_RESULTS = 50_000
_OVERS_AND_BALLS = re.compile(r"([0-9]{1,3})(?:\.([0-9]))?")
_DECISIONS = {"bat": "bat", "bowl": "field", "field": "field"}


@dataclass(frozen=True)
class Result:
    """What a table of results says of one match; ``None`` and empty where it does not."""

    display: str
    date: datetime.date | None
    teams: tuple[str, ...]
    toss: Facts
    outcome: Facts
    event: Facts
    season: str | None
    city: str | None
    venue: str | None
    target: int | None
    target_balls: int | None
    scores: tuple[tuple[int, int], ...]

    def is_of(self, teams: Sequence[str]) -> bool:
        """Whether these two sides played it; a plural may be written either way."""
        return {_plain(team) for team in teams} == {_plain(team) for team in self.teams}


def recognises(file: MatchFile) -> bool:
    """Whether the first line is the header of a table of results."""
    header = set(header_of(file))
    return any(header >= columns for columns in (OF_2019, OF_2024, OF_2025))


def results_beside(file: MatchFile, columns: frozenset[str]) -> dict[str, Result]:
    """Results by match id, from the table beside a table of deliveries that has these columns.

    Raises:
        MatchFileError: the table is damaged.
    """
    names = [
        name
        for name in file.siblings()
        if "match" in name.lower() and name.lower().endswith(".csv")
    ]
    for name in names[:_MOST_BESIDE]:
        beside = file.sibling(name)
        if beside is not None:
            results = _results(*beside, columns)
            if results:
                return results
    return {}


def _results(display: str, data: bytes, columns: frozenset[str]) -> dict[str, Result]:
    reader = csv.reader(lines(decoded(data, display)))
    results: dict[str, Result] = {}
    try:
        header = [name.strip() for name in next(reader, [])]
        if not columns <= set(header):
            return {}
        rows = []
        for fields in reader:
            if len(fields) == len(header):
                rows.append(dict(zip(header, (field.strip() for field in fields), strict=True)))
            if len(rows) > _MOST_RESULTS:
                raise MatchFileError(f"has more than {_MOST_RESULTS} matches", path=display)
    except csv.Error as error:
        raise MatchFileError(
            f"this line is not CSV: {error}", path=display, line=reader.line_num
        ) from None
    day_first = day_comes_first(row["date"] for row in rows) is not False
    read = _READERS[columns]
    for row in rows:
        key = row["match_id"] if "match_id" in row else row["id"]
        results[key] = _result(display, row, day_first, *read(row))
    return results


def _result(
    display: str,
    row: dict[str, str],
    day_first: bool,
    outcome: dict[str, Any],
    event: dict[str, Any],
    scores: tuple[tuple[int, int], ...],
) -> Result:
    toss = {
        "winner": _text(row, "toss_winner"),
        "decision": _DECISIONS.get((_text(row, "toss_decision") or "").lower()),
    }
    overs = _OVERS_AND_BALLS.fullmatch(row.get("target_overs", ""))
    season = _text(row, "season") or (_text(row, "Season") or "").removeprefix("IPL-")
    return Result(
        display=display,
        date=date_from(row["date"], day_first=day_first),
        teams=tuple(team for key in ("team1", "team2") if (team := _text(row, key))),
        toss=Facts({key: value for key, value in toss.items() if value}),
        outcome=Facts(outcome),
        event=Facts({"name": "Indian Premier League", **event}),
        season=season or None,
        city=_text(row, "city"),
        venue=_text(row, "venue"),
        target=_number(row.get("target_runs")),
        target_balls=None if overs is None else int(overs[1]) * 6 + int(overs[2] or 0),
        scores=scores,
    )


_Read = tuple[dict[str, Any], dict[str, Any], tuple[tuple[int, int], ...]]


def _read_2019(row: dict[str, str]) -> _Read:
    outcome: dict[str, Any] = {}
    winner = _text(row, "winner")
    if row.get("result") == "normal" and winner:
        outcome["winner"] = winner
        for key in ("runs", "wickets"):
            margin = _number(row.get(f"win_by_{key}"))
            if margin:
                outcome["by"] = {key: margin}
    elif row.get("result") in ("tie", "no result"):
        outcome["result"] = row["result"]
        if winner:
            outcome["eliminator"] = winner
    if row.get("dl_applied") == "1":
        outcome["method"] = "D/L"
    return outcome, {}, ()


def _read_2024(row: dict[str, str]) -> _Read:
    outcome: dict[str, Any] = {}
    winner = _text(row, "winner")
    kind = row.get("result")
    if kind in ("runs", "wickets") and winner:
        outcome["winner"] = winner
        margin = _number(row.get("result_margin"))
        if margin is not None:
            outcome["by"] = {kind: margin}
    elif kind in ("tie", "no result"):
        outcome["result"] = kind
        if winner:
            outcome["eliminator"] = winner
    method = _text(row, "method")
    if method:
        outcome["method"] = method
    stage = _text(row, "match_type")
    return outcome, {"stage": stage} if stage and stage != "League" else {}, ()


def _read_2025(row: dict[str, str]) -> _Read:
    outcome: dict[str, Any] = {}
    winner = _text(row, "match_winner")
    margins = {
        key: margin
        for key in ("runs", "wickets")
        if (margin := _number(row.get(f"wb_{key}"))) is not None
    }
    if winner and "super over" in (row.get("wb_runs"), row.get("wb_wickets")):
        outcome = {"result": "tie", "eliminator": winner}
    elif winner:
        outcome = {"winner": winner, **({"by": margins} if margins else {})}
    elif row.get("match_result") == "tied":
        # Matches that rain ended stand as tied too.
        level = row.get("first_ings_score") and (
            row.get("first_ings_score") == row.get("second_ings_score")
        )
        outcome = {"result": "tie" if level else "no result"}
    scores = []
    for which in ("first", "second"):
        runs = _number(row.get(f"{which}_ings_score"))
        wickets = _number(row.get(f"{which}_ings_wkts"))
        if runs is None or wickets is None:
            break
        scores.append((runs, wickets))
    stage = _text(row, "stage")
    return outcome, {"stage": stage} if stage and stage != "League" else {}, tuple(scores)


_READERS: dict[frozenset[str], Callable[[dict[str, str]], _Read]] = {
    OF_2019: _read_2019,
    OF_2024: _read_2024,
    OF_2025: _read_2025,
}


def _text(row: dict[str, str], column: str) -> str | None:
    value = row.get(column, "")
    return None if value in NOTHING else value


def _number(text: str | None) -> int | None:
    # Spreadsheets and pandas write whole numbers with a .0 where some are blank.
    digits = (text or "").removesuffix(".0")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else None


def _plain(team: str) -> str:
    return team.strip().lower().removesuffix("s")

"""Tables of results that stand beside the Kaggle tables of IPL deliveries.

Three layouts, told by their columns. Every word of them stands here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Facts
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.tables import header_of
from attnlens.cricket.readers.text import (
    balls_in,
    date_from,
    day_comes_first,
    decoded,
    lines,
    whole,
)

OF_2019 = frozenset({"id", "Season", "date", "team1", "team2", "dl_applied", "win_by_runs"})
OF_2024 = frozenset({"id", "season", "date", "team1", "team2", "result_margin", "super_over"})
OF_2025 = frozenset({"match_id", "date", "team1", "team2", "first_ings_score", "match_winner"})

NOTHING = frozenset({"", "NA"})
"""What stands in these tables where there is nothing."""

_MOST_BESIDE = 8
_MOST_RESULTS = 50_000
_BALLS_PER_OVER = 6
_DECISIONS = {"bat": "bat", "bowl": "field", "field": "field"}
_UNDECIDED = ("tie", "no result")


@dataclass(frozen=True)
class Result:
    """What a table of results says of one match; ``None`` and empty where it does not.

    Attributes:
        facts: by the names of a draft's fields.
    """

    facts: dict[str, Any]
    target: int | None
    target_balls: int | None
    scores: tuple[tuple[int, int], ...]

    def is_of(self, teams: Sequence[str]) -> bool:
        """Whether these two sides played it; a plural may be written either way."""
        return set(map(_plain, teams)) == set(map(_plain, self.facts["teams"]))

    def spelt_as(self, teams: Sequence[str]) -> dict[str, Any]:
        """The facts with these spellings of the teams."""
        spelling = {_plain(team): team for team in teams}

        def spelt(value: Any) -> Any:
            return spelling.get(_plain(value), value) if isinstance(value, str) else value

        facts = {
            key: Facts({name: spelt(value) for name, value in self.facts[key].items()})
            for key in ("toss", "outcome")
        }
        return {**self.facts, **facts, "teams": tuple(map(spelt, self.facts["teams"]))}


def recognises(file: MatchFile) -> bool:
    """Whether the first line is the header of a table of results."""
    header = set(header_of(file))
    return any(header >= columns for columns in (OF_2019, OF_2024, OF_2025))


def results_beside(file: MatchFile, columns: frozenset[str]) -> dict[str, Result]:
    """Results by match id, from the table beside a table of deliveries that has these columns.

    Raises:
        MatchFileError: the table is damaged.
    """
    tables = [name for name in file.siblings() if re.search(r"match.*\.csv$", name, re.I)]
    for beside in filter(None, map(file.sibling, tables[:_MOST_BESIDE])):
        results = _results(*beside, columns)
        if results:
            return results
    return {}


def _results(display: str, data: bytes, columns: frozenset[str]) -> dict[str, Result]:
    reader = csv.reader(lines(decoded(data, display)))
    rows = []
    try:
        header = [name.strip() for name in next(reader, [])]
        if not columns <= set(header):
            return {}
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
    key = "match_id" if columns == OF_2025 else "id"
    outcome_of = _outcome_2025 if columns == OF_2025 else _outcome
    return {row[key]: _result(row, day_first, outcome_of(row)) for row in rows}


def _result(row: dict[str, str], day_first: bool, outcome: Facts) -> Result:
    decision = _DECISIONS.get((_text(row, "toss_decision") or "").lower())
    stage = _text(row, "stage") or _text(row, "match_type")
    season = _text(row, "season") or (_text(row, "Season") or "").removeprefix("IPL-")
    date = date_from(row["date"], day_first=day_first)
    return Result(
        facts={
            "teams": tuple(team for key in ("team1", "team2") if (team := _text(row, key))),
            "dates": () if date is None else (date,),
            "season": season or None,
            "city": _text(row, "city"),
            "venue": _text(row, "venue"),
            "event": Facts.known(
                name="Indian Premier League", stage=stage if stage != "League" else None
            ),
            "toss": Facts.known(winner=_text(row, "toss_winner"), decision=decision),
            "outcome": outcome,
        },
        target=_number(row.get("target_runs")),
        target_balls=balls_in(row.get("target_overs", ""), _BALLS_PER_OVER),
        scores=_scores(row),
    )


def _outcome(row: dict[str, str]) -> Facts:
    """How it ended, in the layouts of 2019 and 2024."""
    winner, result = _text(row, "winner"), row.get("result", "")
    method = "D/L" if row.get("dl_applied") == "1" else _text(row, "method")
    if result in _UNDECIDED:
        return Facts.known(result=result, eliminator=winner, method=method)
    if not winner:
        return Facts.known(method=method)
    if result == "normal":
        return Facts.known(winner=winner, by=_margin(row, "win_by_{}") or None, method=method)
    margin = _number(row.get("result_margin"))
    by = None if margin is None else {result: margin}
    return Facts.known(winner=winner, by=by, method=method)


def _outcome_2025(row: dict[str, str]) -> Facts:
    winner = _text(row, "match_winner")
    if winner and "super over" in (row.get("wb_runs"), row.get("wb_wickets")):
        return Facts(result="tie", eliminator=winner)
    if winner:
        return Facts.known(winner=winner, by=_margin(row, "wb_{}") or None)
    if row.get("match_result") != "tied":
        return Facts()
    # Matches that rain ended stand as tied too.
    first = row.get("first_ings_score")
    return Facts(result="tie" if first and first == row.get("second_ings_score") else "no result")


def _margin(row: dict[str, str], column: str) -> dict[str, int]:
    """The margin from two columns, of which the one that does not apply is blank or 0."""
    amounts = {unit: _number(row.get(column.format(unit))) for unit in ("runs", "wickets")}
    return {unit: amount for unit, amount in amounts.items() if amount}


def _scores(row: dict[str, str]) -> tuple[tuple[int, int], ...]:
    """Runs and wickets of the innings, as far as the layout of 2025 has them."""
    scores = [
        (_number(row.get(f"{which}_ings_score")), _number(row.get(f"{which}_ings_wkts")))
        for which in ("first", "second")
    ]
    return tuple((runs, out) for runs, out in scores if runs is not None and out is not None)


def _text(row: dict[str, str], column: str) -> str | None:
    value = row.get(column, "")
    return None if value in NOTHING else value


def _number(text: str | None) -> int | None:
    # Spreadsheets and pandas write whole numbers with a .0 where some are blank.
    return whole((text or "").removesuffix(".0"), 6)


def _plain(team: str) -> str:
    return team.strip().lower().removesuffix("s")

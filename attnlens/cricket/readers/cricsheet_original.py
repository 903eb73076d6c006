"""Cricsheet's original CSV 1.x: rows of ``version``, ``info`` and ``ball``.

Source:
https://cricsheet.org/format/csv_original/ (1.8.0). A ball row has 16 fields, from
1.8.0 on 21; it has room for one wicket.
"""

from __future__ import annotations

import datetime
import re
from functools import partial

from attnlens.cricket.errors import ImpossibleMatchError, MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.ball_rows import BallRows
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.info import facts_of, read_info
from attnlens.cricket.readers.json_values import Node
from attnlens.cricket.readers.tables import DocumentFormat
from attnlens.cricket.readers.text import WrongHere, date_from, shown

_FIELDS_OF_A_BALL = 16
_FIELDS_FROM_1_8 = 21
_VERSION = re.compile(rb'\s*(?:\xef\xbb\xbf)?"?version"?,')
_BALL_ROW = re.compile(rb'^"?ball"?,', re.MULTILINE)
_INFO_DATE = re.compile(rb'^"?info"?,"?date"?,"?([^"\r\n]{1,20})', re.MULTILINE)

_NumberedRow = tuple[int, list[str]]
"""A row, and its line."""


def recognises(file: MatchFile) -> bool:
    """Whether it begins with a version row and has a ball row."""
    head = file.head
    return _VERSION.match(head) is not None and (
        _BALL_ROW.search(head) is not None or _BALL_ROW.search(file.data) is not None
    )


def first_day(file: MatchFile) -> datetime.date | None:
    """The first date among the info rows."""
    found = _INFO_DATE.search(file.head)
    return None if found is None else date_from(found[1].decode("utf-8", "replace"))


def match_of(file: MatchFile) -> Match:
    """The one match of the file.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    rows: list[_NumberedRow] = []
    info = read_info(file.display, file.data, lambda row, line: _keep(rows, row, line, file))
    if info.version[:1] != (1,):
        written = ".".join(map(str, info.version)) or "missing"
        raise file.wrong(f"the version is {written}; attnlens reads the original CSV 1.x")
    match_id = info.match_id or file.stem
    file.check_wanted(match_id)
    line = 0

    def wrong(problem: str) -> MatchFileError:
        return file.wrong(problem, line=line)

    facts = facts_of(Node(info.info))
    draft = MatchDraft(match_id, file.display, penalties_known=False, **facts)
    builder = BallRows(draft, lambda row: _as_csv2(row, draft.teams, wrong), wrong, info)
    for line, row in rows:  # noqa: B007  # `wrong` reads it
        builder.add(row)
    draft.notes.append("a ball of this format has room for one wicket only")
    if rows and len(rows[0][1]) == _FIELDS_OF_A_BALL:
        draft.notes.append("fielders are not in this version of the format")
    if not info.registry:
        draft.notes.append("the file has no registry of people: players are known by name")
    try:
        return builder.finished()
    except ImpossibleMatchError as error:
        raise error.at(rows[(error.doubt.position or 1) - 1][0]) from None


def _as_csv2(row: list[str], teams: tuple[str, ...], wrong: WrongHere) -> list[str]:
    """The fields of a row in the order that CSV2 has."""
    batting = row[3]
    if batting not in teams:
        known = ", ".join(teams) or "none named"
        raise wrong(f"batting_team is {shown(batting)}; the teams are: {known}")
    bowling = next((team for team in teams if team != batting), None)
    if bowling is None:
        raise wrong(f"the file names one team only: {batting}")
    *ball, kind, out = row[4:_FIELDS_OF_A_BALL]
    actual, non_boundary, *fielders = row[_FIELDS_OF_A_BALL:] or ("", "")
    one_wicket = [kind, out, "", ""]
    return [*row[1:4], bowling, *ball, actual.strip(), non_boundary, *one_wicket, *fielders]


def _keep(rows: list[_NumberedRow], row: list[str], line: int, file: MatchFile) -> None:
    """Keep a ball row for later.

    Raises:
        MatchFileError: it is none, or there are too many.
    """
    wrong = partial(file.wrong, line=line)
    kind = row[0].strip()
    if kind == "penalty_runs":
        # The page that names this row does not say what stands in it.
        raise wrong(
            "penalty runs are in a row whose fields are not documented, and a total without "
            "them would be wrong",
            "give this match as JSON",
        )
    if kind != "ball":
        raise wrong(f"the row begins with {shown(kind)}, not version, info or ball")
    if len(row) not in (_FIELDS_OF_A_BALL, _FIELDS_FROM_1_8):
        raise wrong(
            f"a ball row of {len(row)} fields, not {_FIELDS_OF_A_BALL} or {_FIELDS_FROM_1_8}",
            "the file may be cut short; get it again",
        )
    if len(rows) == MOST_DELIVERIES * 4:
        raise wrong("has more balls than a match")
    rows.append((line, row))


FORMAT = DocumentFormat(recognises, match_of, first_day)

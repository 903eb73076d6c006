"""Questions about a corpus, as DuckDB answers them: a view per table, and nothing else in reach.

Only the files of the finished parts can be read. No other file, no network, no extension, no
setting: the connection is locked before the first question, and only questions are taken.
"""

from __future__ import annotations

import csv
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias, TypeVar

from attnlens.cricket.corpus.folder import Corpus
from attnlens.errors import InputError
from attnlens.render.safe import cell

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
"""A row of an answer, by column: whatever DuckDB has types for."""

Rows: TypeAlias = Iterator[tuple[Any, ...]]

LONGEST: Final = 300
"""Characters of a complaint about a question."""

MOST_SECONDS: Final = 300.0
"""That a question may take."""

INTERRUPTED: Final = "Query interrupted"
"""What DuckDB makes of Ctrl-C."""

SURPRISING: Final = (
    "match_id, innings, index, label, date, competition, batting_team, bowling_team, batter, "
    "bowler, phase, actual, top, surprise_bits, score, wickets"
)
"""The columns of a list of surprising balls."""


@contextmanager
def opened(corpus: Corpus) -> Iterator[DuckDBPyConnection]:
    """A locked connection with the corpus's tables, every file of which can be opened.

    Raises:
        InputError: DuckDB is not installed, no part is finished, or a file is damaged.
    """
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "asking a corpus needs DuckDB", remedy="pip install 'attnlens[corpus]'"
        ) from None
    corpus.check()
    files = {
        table: [os.path.realpath(path) for path in paths] for table, paths in corpus.files().items()
    }
    if "balls" not in files:
        raise InputError(
            "holds no ball yet",
            path=corpus.folder,
            remedy="run `attnlens corpus explain` on it, with matches that were played",
        )
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",  # nothing is written, also where memory runs out
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        for table, paths in files.items():
            connection.execute("SELECT count(*) FROM parquet_file_metadata(?)", [paths]).fetchall()
            connection.read_parquet(paths, hive_partitioning=True).create_view(table)
        every = [path.replace("'", "''") for paths in files.values() for path in paths]
        reached = ", ".join(f"'{path}'" for path in every)
        connection.execute(f"SET allowed_paths = [{reached}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    except duckdb.Error as error:
        reason = _complaint(error).replace(f"{os.path.realpath(corpus.folder)}{os.sep}", "")
        raise InputError(
            f"is damaged ({reason})",
            path=corpus.folder,
            remedy="take that file away, and run `attnlens corpus explain` as before",
        ) from None
    except RuntimeError as error:
        if str(error) == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.close()


def _complaint(error: Exception) -> str:
    """An error's words on one line, and no more of them than can be read."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def rows_of(connection: DuckDBPyConnection, question: str, parameters: object = None) -> list[Row]:
    """The rows of a question of our own."""
    asked = connection.execute(question, parameters)
    names = [column[0] for column in asked.description or ()]
    return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]


class _Clock:
    """Interrupts a connection that has worked for so many seconds in all.

    Whoever reads the answer may take longer.
    """

    def __init__(self, connection: DuckDBPyConnection, seconds: float) -> None:
        self.connection, self.seconds = connection, seconds
        self.left, self.over = seconds, False

    @contextmanager
    def running(self) -> Iterator[None]:
        """While it works; an InputError once it has for too long."""
        import duckdb

        begun, timer = time.monotonic(), threading.Timer(max(self.left, 0), self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except duckdb.Error:
            if not self.over:
                raise
        finally:
            timer.cancel()
            self.left -= time.monotonic() - begun
        if self.over:
            problem = f"the question takes more than {self.seconds:g} seconds"
            raise InputError(problem, remedy="ask for less, or give it longer with --timeout")

    def _end(self) -> None:
        self.over = True
        self.connection.interrupt()


def _answered(
    folder: str | os.PathLike[str],
    question: str,
    take: Callable[[list[str], Rows], T],
    seconds: float,
) -> T:
    """What ``take`` makes of an answer's columns, no two of one name, and rows; raises as `query`.

    Ctrl-C ends it. DuckDB looks for that by itself, but on a busy main thread may do so only when
    all is done. So the work is another thread's, and the main thread waits.
    """
    connections: list[DuckDBPyConnection] = []

    def work() -> T:
        with opened(Corpus(Path(folder))) as connection:
            connections.append(connection)
            return _asked(_Clock(connection, seconds), question, take)

    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(work)
        try:
            return result.result()
        except KeyboardInterrupt:
            while not wait([result], 0.05).done:
                for connection in connections:  # it may not have begun
                    connection.interrupt()
            raise


def _asked(clock: _Clock, question: str, take: Callable[[list[str], Rows], T]) -> T:
    import duckdb

    connection = clock.connection
    try:
        statements = connection.extract_statements(question)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError("that is no question: a corpus is only read", remedy="give one SELECT")
        with clock.running():
            connection.execute(statements[0])
        columns = connection.description or ()
        single = [place for place, column in enumerate(columns) if str(column[1]) == "FLOAT"]
        return take(_apart(column[0] for column in columns), _rows(clock, single))
    except duckdb.Error as error:
        if isinstance(error, duckdb.InvalidInputException) and ".parquet'" in str(error):
            raise  # a file's fault, not the question's
        raise InputError(_complaint(error), remedy="mend the SQL") from None


def _apart(names: Iterable[str]) -> list[str]:
    """The names, with ``_1`` and so on where one comes again, as it does after a join."""
    apart: list[str] = []
    for name in names:
        again, number = name, 0
        while again in apart:
            number += 1
            again = f"{name}_{number}"
        apart.append(again)
    return apart


def _rows(clock: _Clock, single: Sequence[int]) -> Rows:
    """Rows as they come, a few held at a time; figures of single precision with their digits."""
    while True:
        with clock.running():
            rows = clock.connection.fetchmany(1000)
        if not rows:
            return
        for row in rows:
            values = list(row)
            for place in single:
                if values[place] is not None:
                    values[place] = float(f"{values[place]:.7g}")
            yield tuple(values)


def query(
    folder: str | os.PathLike[str], question: str, *, seconds: float = MOST_SECONDS
) -> list[Row]:
    """The rows of an answer, for which DuckDB may work so many seconds.

    The question is one SELECT over the views ``balls``, ``heads``, ``matches`` and, where balls
    were tested, ``evidence``.

    Raises:
        InputError: there is no corpus, or the question cannot be answered, or not in time.
    """
    return _answered(
        folder,
        question,
        lambda names, rows: [dict(zip(names, row, strict=True)) for row in rows],
        seconds,
    )


def write_answer(
    folder: str | os.PathLike[str],
    question: str,
    out: TextIO,
    file_format: Literal["csv", "json"] = "csv",
    seconds: float = MOST_SECONDS,
) -> None:
    """Write the answer of `query` as it comes; what ``out`` takes does not count as time."""

    def write(names: list[str], rows: Rows) -> None:
        if file_format == "csv":
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(map(cell, names))
            writer.writerows([_cell(value) for value in row] for row in rows)
            return
        for row in rows:
            plain = {name: _plain(value) for name, value in zip(names, row, strict=True)}
            out.write(json.dumps(plain, ensure_ascii=False, allow_nan=False) + "\n")

    _answered(folder, question, write, seconds)


def _cell(value: Any) -> Any:
    """As CSV tells it: nothing for null, JSON for lists and structures."""
    if isinstance(value, list | dict | tuple):
        return json.dumps(_plain(value), ensure_ascii=False)
    return cell(value)


def _plain(value: Any) -> Any:
    """As JSON tells it; what JSON has no form for is text."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, Decimal):  # what SQL makes of 0.5
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def surprising_balls(
    folder: str | os.PathLike[str],
    *,
    player: str = "",
    phase: str = "",
    outcome: str = "",
    most: int = 50,
) -> Row:
    """The most surprising balls first, super overs left out; ``found`` is how many there are.

    ``player`` is part of a batter's or a bowler's name, in any case; ``phase`` and ``outcome`` are
    as the columns ``phase`` and ``actual`` say; empty for all.

    Raises:
        InputError: there is no corpus, no part of it is finished, it is damaged, or DuckDB is not
            installed.
    """
    with opened(Corpus(Path(folder))) as connection:
        balls = rows_of(
            connection,
            f"select {SURPRISING}, count(*) over () as found from balls "
            "where surprise_bits is not null and not super_over and $phase in ('', phase) and "
            "$outcome in ('', actual) and (contains(lower(batter), lower($player)) or "
            "contains(lower(bowler), lower($player))) "
            "order by surprise_bits desc, match_id, innings, index limit $most",
            {"player": player, "phase": phase, "outcome": outcome, "most": most},
        )
    found = max((row.pop("found") for row in balls), default=0)
    return {"found": found, "balls": [{**row, "date": day_of(row["date"])} for row in balls]}


def day_of(date: Any) -> str | None:
    return None if date is None else str(date.isoformat())

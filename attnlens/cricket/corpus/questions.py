"""Questions about a corpus, as DuckDB answers them: a view per table, and nothing else in reach.

Only the files of the finished parts can be read. No other file, no network, no extension, no
setting: the connection is locked before the first question, and only questions are taken.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias, TypeVar

from attnlens.cricket.corpus.folder import Corpus
from attnlens.errors import InputError
from attnlens.show.safe import cell

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
"""A row of an answer, by column: whatever DuckDB has types for."""

LONGEST: Final = 300
"""Characters of a complaint about a question."""

INTERRUPTED: Final = "Query interrupted"
"""What DuckDB makes of Ctrl-C."""

SURPRISING: Final = (
    "match_id, innings, index, label, date, competition, batting_team, bowling_team, batter, "
    "bowler, phase, actual, top, surprise_bits, score, wickets"
)
"""The columns of a list of surprising balls."""


@contextmanager
def opened(corpus: Corpus) -> Iterator[DuckDBPyConnection]:
    """A locked connection with the corpus's tables.

    Raises:
        InputError: DuckDB is not installed, no part is finished, or a file is damaged.
    """
    try:
        # DuckDB aborts where Ctrl-C comes while it is imported, which only a main thread notices.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(import_module, "duckdb").result()
        import duckdb
    except ImportError:
        raise InputError(
            "asking a corpus needs DuckDB", remedy="pip install 'attnlens[corpus]'"
        ) from None
    assert corpus.manifest
    files = {
        table: [os.path.realpath(path) for path in paths] for table, paths in corpus.files().items()
    }
    if not files:
        raise InputError(
            "has no finished part yet",
            path=corpus.folder,
            remedy="run `attnlens corpus explain` on it",
        )
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "temp_directory": "",  # nothing is written, also where memory runs out
        },
    )
    try:
        for table, paths in files.items():
            read = connection.read_parquet(paths, hive_partitioning=True)
            read.create_view(table)
        reached = ", ".join(_quoted(path) for paths in files.values() for path in paths)
        connection.execute(f"SET allowed_paths = [{reached}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    except duckdb.Error as error:
        raise damaged(corpus, error) from None
    except RuntimeError as error:
        if str(error) == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.close()


def damaged(corpus: Corpus, error: Exception) -> InputError:
    """What is said of a corpus whose tables cannot be read."""
    reason = _complaint(error).replace(f"{os.path.realpath(corpus.folder)}{os.sep}", "")
    return InputError(
        f"is damaged ({reason})",
        path=corpus.folder,
        remedy="take that file away, and run `attnlens corpus explain` as before",
    )


def _quoted(text: str) -> str:
    """As SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _complaint(error: Exception) -> str:
    """An error's words on one line, and no more of them than can be read."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def rows_of(
    connection: DuckDBPyConnection, question: str, parameters: Sequence[str | int] = ()
) -> list[Row]:
    """The rows of a question of our own."""
    asked = connection.execute(question, list(parameters))
    names = [column[0] for column in asked.description or ()]
    return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]


@contextmanager
def _answered(
    folder: str | os.PathLike[str], question: str
) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """The columns, no two of one name, and the rows of an answer, a few rows held at a time.

    Raises:
        InputError: there is no corpus, the question is not one SELECT, or DuckDB cannot answer
            it; on one line.
    """
    with opened(Corpus(Path(folder))) as connection:
        import duckdb

        try:
            statements = connection.extract_statements(question)
            if len(statements) != 1:
                raise InputError(
                    f"{len(statements)} statements", remedy="ask one question at a time"
                )
            if statements[0].type != duckdb.StatementType.SELECT:
                kind = statements[0].type.name
                raise InputError(
                    f"{kind} is no question; a corpus is only read", remedy="start with SELECT"
                )
            with _interruptible(connection) as done:
                done(lambda: connection.execute(statements[0]))
                columns = connection.description or ()
                single = [at for at, column in enumerate(columns) if str(column[1]) == "FLOAT"]
                rows = _rows(lambda: done(lambda: connection.fetchmany(1000)), single)
                yield _apart(column[0] for column in columns), rows
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


def _rows(
    some: Callable[[], list[tuple[Any, ...]]], single: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Rows as they come; figures of single precision with the digits they have."""
    while rows := some():
        for row in rows:
            values = list(row)
            for place in single:
                if values[place] is not None:
                    values[place] = float(f"{values[place]:.7g}")
            yield tuple(values)


@contextmanager
def _interruptible(connection: DuckDBPyConnection) -> Iterator[Callable[[Callable[[], T]], T]]:
    """What does a piece of work that Ctrl-C ends.

    DuckDB looks for it by itself, but on a busy main thread may do so only when all is done. So
    the work is another thread's, and the main thread waits.
    """
    with ThreadPoolExecutor(1) as thread:

        def done(work: Callable[[], T]) -> T:
            result = thread.submit(work)
            try:
                return result.result()
            except KeyboardInterrupt:
                while not wait([result], 0.05).done:  # it may not have begun
                    connection.interrupt()
                raise

        yield done


def query(folder: str | os.PathLike[str], question: str) -> list[Row]:
    """The rows of an answer.

    Args:
        question: one SELECT over the views ``balls``, ``heads``, ``matches`` and, where balls
            were tested, ``evidence`` and ``effects``.

    Raises:
        InputError: there is no corpus, or the question cannot be answered.
    """
    with _answered(folder, question) as (names, rows):
        return [dict(zip(names, row, strict=True)) for row in rows]


def write_answer(
    folder: str | os.PathLike[str],
    question: str,
    out: TextIO,
    file_format: Literal["csv", "json"] = "csv",
) -> None:
    """Write an answer as it comes.

    Raises:
        InputError: as `query`.
    """
    with _answered(folder, question) as (names, rows):
        if file_format == "csv":
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(map(cell, names))
            writer.writerows([_cell(value) for value in row] for row in rows)
            return
        for row in rows:
            plain = {name: _plain(value) for name, value in zip(names, row, strict=True)}
            out.write(json.dumps(plain, ensure_ascii=False, allow_nan=False) + "\n")


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
    """The most surprising balls first, super overs left out.

    Args:
        player: part of a batter's or a bowler's name, in any case; empty for everybody.
        phase, outcome: as the columns ``phase`` and ``actual`` say; empty for all.

    Returns:
        ``balls``, at most ``most`` of them, and ``found``, how many there are.

    Raises:
        InputError: there is no corpus, no part of it is finished, it is damaged, or DuckDB is not
            installed.
    """
    kept = (
        "surprise_bits is not null and not super_over and (? = '' or phase = ?) and "
        "(? = '' or actual = ?) and (contains(lower(batter), lower(?)) or "
        "contains(lower(bowler), lower(?)))"
    )
    asked = [phase, phase, outcome, outcome, player, player]
    with opened(Corpus(Path(folder))) as connection:
        [counted] = rows_of(connection, f"select count(*) as found from balls where {kept}", asked)
        balls = rows_of(
            connection,
            f"select {SURPRISING} from balls where {kept} "
            "order by surprise_bits desc, match_id, innings, index limit ?",
            [*asked, most],
        )
    for row in balls:
        row["date"] = day_of(row["date"])
        row["surprise_bits"] = round(row["surprise_bits"], 6)
    return {**counted, "balls": balls}


def day_of(date: Any) -> str | None:
    """A date as JSON tells it."""
    return None if date is None else str(date.isoformat())

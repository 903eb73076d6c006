"""A corpus as DuckDB sees it: a view per table, and nothing else in reach.

Only the files of the finished parts can be read. No other file, no network, no extension, no
setting: the connection is locked before the first question, and only questions are taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attnlens.corpus.folder import Corpus
from attnlens.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

LONGEST: Final = 300
"""Characters of a complaint about a question."""

INTERRUPTED: Final = "Query interrupted"
"""What DuckDB makes of Ctrl-C."""


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
    reason = complaint(error).replace(f"{os.path.realpath(corpus.folder)}{os.sep}", "")
    return InputError(
        f"is damaged ({reason})",
        path=corpus.folder,
        remedy="take that file away, and run `attnlens corpus explain` as before",
    )


def _quoted(text: str) -> str:
    """As SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def answered(
    connection: DuckDBPyConnection, question: str
) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """The columns, no two of one name, and the rows of an answer, a few rows held at a time.

    Raises:
        InputError: the question is not one SELECT, or DuckDB cannot answer it; on one line.
    """
    import duckdb

    try:
        statements = connection.extract_statements(question)
        if len(statements) != 1:
            raise InputError(f"{len(statements)} statements", remedy="ask one question at a time")
        if statements[0].type != duckdb.StatementType.SELECT:
            kind = statements[0].type.name
            raise InputError(
                f"{kind} is no question; a corpus is only read", remedy="start with SELECT"
            )
        with _interruptible(connection) as done:
            done(lambda: connection.execute(statements[0]))
            columns = connection.description or ()
            single = [place for place, one in enumerate(columns) if str(one[1]) == "FLOAT"]
            rows = _rows(lambda: done(lambda: connection.fetchmany(1000)), single)
            yield _apart(column[0] for column in columns), rows
    except duckdb.Error as error:
        if isinstance(error, duckdb.InvalidInputException) and ".parquet'" in str(error):
            raise  # a file's fault, not the question's
        raise InputError(complaint(error), remedy="mend the SQL") from None


def _apart(names: Iterable[str]) -> list[str]:
    """The names, with ``_1`` and so on where one comes again, as it does after a join."""
    told: list[str] = []
    for name in names:
        again, number = name, 0
        while again in told:
            number += 1
            again = f"{name}_{number}"
        told.append(again)
    return told


def _rows(
    some: Callable[[], list[tuple[Any, ...]]], single: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Rows as they come; figures of single precision with the digits they have."""
    while rows := some():
        if not single:
            yield from rows
            continue
        for row in rows:
            told = list(row)
            for place in single:
                if told[place] is not None:
                    told[place] = float(f"{told[place]:.7g}")
            yield tuple(told)


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


def complaint(error: Exception) -> str:
    """An error's words on one line, and no more of them than can be read."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def table(
    connection: DuckDBPyConnection, question: str, parameters: Sequence[Any] = ()
) -> list[dict[str, Any]]:
    """The rows of a question of our own, by column."""
    asked = connection.execute(question, list(parameters))
    names = [column[0] for column in asked.description or ()]
    return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]

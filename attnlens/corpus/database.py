"""A corpus as DuckDB sees it: a view per table, and nothing else in reach.

Only the files of the finished parts can be read. No other file, no network, no extension, no
setting: the connection is locked before the first question, and only questions are taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from attnlens.corpus.folder import Corpus
from attnlens.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LONGEST: Final = 300
"""Characters of a complaint about a question."""


@contextmanager
def opened(corpus: Corpus) -> Iterator[DuckDBPyConnection]:
    """A locked connection with the corpus's tables.

    Raises:
        InputError: DuckDB is not installed, no part is finished, or a table cannot be read.
    """
    try:
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
        reason = _complaint(error).replace(f"{os.path.realpath(corpus.folder)}{os.sep}", "")
        raise InputError(
            f"cannot be read ({reason})",
            path=corpus.folder,
            remedy="make it again with `attnlens corpus explain ... --restart`",
        ) from None
    finally:
        connection.close()


def _quoted(text: str) -> str:
    """As SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def answered(
    connection: DuckDBPyConnection, question: str
) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """The columns and the rows of an answer, a few rows held at a time.

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
        connection.execute(statements[0])
        names = [column[0] for column in connection.description or ()]
        yield names, _rows(connection)
    except duckdb.Error as error:
        raise InputError(_complaint(error), remedy="mend the SQL") from None


def _rows(connection: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := connection.fetchmany(1000):
        yield from rows


def _complaint(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def table(
    connection: DuckDBPyConnection, question: str, parameters: Sequence[Any] = ()
) -> list[dict[str, Any]]:
    """The rows of a question of our own, by column."""
    asked = connection.execute(question, list(parameters))
    names = [column[0] for column in asked.description or ()]
    return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]

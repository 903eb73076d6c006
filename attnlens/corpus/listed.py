"""The balls of a corpus that went least as expected, of a phase, a player or an outcome."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from attnlens.corpus.database import opened, table
from attnlens.corpus.folder import Corpus

COLUMNS: Final = (
    "match_id, innings, index, label, date, competition, batting_team, bowling_team, batter, "
    "bowler, phase, actual, top, surprise_bits, score, wickets"
)


def surprising_balls(
    folder: str | os.PathLike[str],
    *,
    player: str = "",
    phase: str = "",
    outcome: str = "",
    most: int = 50,
) -> dict[str, Any]:
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
        [counted] = table(connection, f"select count(*) as found from balls where {kept}", asked)
        balls = table(
            connection,
            f"select {COLUMNS} from balls where {kept} "
            "order by surprise_bits desc, match_id, innings, index limit ?",
            [*asked, most],
        )
    for row in balls:
        row["date"] = None if row["date"] is None else row["date"].isoformat()
        row["surprise_bits"] = round(row["surprise_bits"], 6)
    return {**counted, "balls": balls}

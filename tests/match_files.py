"""A small Cricsheet JSON match, made by hand so that every figure can be checked by eye."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.readers import read_match

SHORT = (
    "innings 1, ball 0.6: ends after 0.4 overs with 1 wicket down, "
    "but nothing in the file says why",
    "innings 2, ball 0.3: ends after 0.3 overs with 1 wicket down, "
    "but nothing in the file says why",
    "innings 2: the target must be reached in 8.1 overs, but the first side had 1, and no method "
    "is stated",
)
"""What is doubted of so small a match."""

REGISTRY = {"Ana": "aaaaaaaa", "Bea": "bbbbbbbb", "Cem": "cccccccc", "Dov": "dddddddd"}


def delivery(
    batter: str = "Ana",
    non_striker: str = "Bea",
    bowler: str = "Cem",
    runs: int = 0,
    extras: dict[str, int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One delivery; ``runs`` off the bat, the extras by kind."""
    extra = sum((extras or {}).values())
    row: dict[str, Any] = {
        "batter": batter,
        "bowler": bowler,
        "non_striker": non_striker,
        "runs": {"batter": runs, "extras": extra, "total": runs + extra},
    }
    if extras is not None:
        row["extras"] = extras
    return {**row, **more}


def document() -> dict[str, Any]:
    """Reds 16/1, five of them a penalty before the first ball; Blues 3/1 chasing 17."""
    reds = [
        delivery(runs=4),
        delivery(extras={"wides": 1}),
        delivery(runs=1),
        delivery(
            "Bea",
            "Ana",
            wickets=[{"kind": "caught", "player_out": "Bea", "fielders": [{"name": "Dov"}]}],
        ),
        delivery("Eli", "Ana", runs=2, extras={"noballs": 1}),
        delivery("Eli", "Ana", extras={"legbyes": 2}),
    ]
    blues = [
        delivery("Cem", "Dov", "Ana", runs=3),
        delivery("Dov", "Cem", "Ana", wickets=[{"kind": "retired hurt", "player_out": "Dov"}]),
        delivery(
            "Fay",
            "Cem",
            "Ana",
            wickets=[{"kind": "run out", "player_out": "Cem", "fielders": [{"substitute": True}]}],
        ),
    ]
    return {
        "meta": {"data_version": "1.1.0", "created": "2024-05-01", "revision": 1},
        "info": {
            "balls_per_over": 6,
            "city": "Port Amber",
            "dates": ["2024-05-01"],
            "event": {"name": "Cup", "match_number": 3},
            "gender": "female",
            "match_type": "T20",
            "outcome": {"winner": "Reds", "by": {"runs": 13}},
            "overs": 20,
            "registry": {"people": dict(REGISTRY)},
            "season": 2024,
            "teams": ["Reds", "Blues"],
            "toss": {"decision": "bat", "winner": "Reds"},
            "venue": "Harbour Park, North End",
        },
        "innings": [
            {
                "team": "Reds",
                "penalty_runs": {"pre": 5},
                "overs": [{"over": 0, "deliveries": reds}],
            },
            {
                "team": "Blues",
                "overs": [{"over": 0, "deliveries": blues}],
                "target": {"runs": 17, "overs": "8.1"},
            },
        ],
    }


def written(folder: Path, content: dict[str, Any], name: str = "77.json") -> Path:
    """The path of a document written into a folder."""
    path = folder / name
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def problem(path: str | os.PathLike[str]) -> str:
    """What reading a bad file says, with its folder left out."""
    with pytest.raises(MatchFileError) as caught:
        read_match(path)
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(str(Path(path).parent) + os.sep, "")

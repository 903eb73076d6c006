"""Print the table of docs/formats.md: what was read of every format, repaired and refused.

    python benchmarks/formats_table.py SHARED_DATA

SHARED_DATA is the folder of real matches (its README says where they are from). Every
match is read; repairs and oddities are counted by what the reader noted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_matches

SOURCES = (
    ("JSON 1.0 and 1.1, men's T20 internationals", "t20s_male_json.zip"),
    ("JSON 1.0 and 1.1, IPL", "formats/json_zip/ipl_male_json.zip"),
    ("JSON 1.0 and 1.1, 23 competitions", "formats/json"),
    ("JSON 1.2 (made from 1.1 by rule)", "formats/json_1.2.0_SYNTHETIC"),
    ("CSV2 2.3, 27 columns", "formats/csv2_27col"),
    ("CSV2 2.0 to 2.2, 22 columns", "formats/csv2_22col"),
    ("CSV2 zip, 27 columns", "formats/t20i_csv2_27col_20.zip"),
    ("CSV2 zip, 22 columns", "formats/ipl_csv2_22col_20.zip"),
    ("CSV2 `all_matches.csv`", "formats/ipl_csv2_22col_20.zip::all_matches.csv"),
    ("CSV2 re-saved by a spreadsheet", "formats/spreadsheet_damaged"),
    ("original CSV 1.6 and 1.7, 16 fields", "formats/csv_original_1.6_1.7"),
    ("original CSV 1.8, 21 fields", "formats/csv_original_1.8"),
    ("original CSV zip", "formats/ipl_csv_original_20.zip"),
    ("Kaggle IPL 2008-2019", "formats/kaggle_ipl/deliveries_2008_2019_excerpt.csv"),
    ("Kaggle IPL 2008-2024", "formats/kaggle_ipl/deliveries_2008_2024_excerpt.csv"),
    ("Kaggle IPL 2025", "formats/kaggle_ipl/deliveries_2025.csv"),
)
REPAIRED = (
    (r"had lost a last zero", "a label of 0.10 become 0.1"),
    (r"as a spreadsheet writes it", "dates with the day first"),
    (r"batsman_runs contains the extras", "extras counted twice"),
    (r"is numbered \d+ in the file", "super overs numbered 3 and 5"),
    (r"the teams were exchanged", "super over teams exchanged"),
    (r"non-striker is not in this layout", "non-strikers worked out"),
    (r"extras of no kind", "extras of no kind"),
    (r"taken as 20", "overs a side wrong"),
    (r"has no target in the file: ", "targets worked out"),
    (r"match type is not in the file: T20", "match type worked out"),
)
ODD = (
    (r"stated result .* does not follow", "result against the balls"),
    (r"table of results says", "total against the table of results"),
    (r"has the target", "target against innings 1"),
    (r"legal balls?.*, not \d", "over of another length"),
    (r"(is|are) missing from the file", "a ball missing"),
    (r"by (position|count) is labelled", "a label out of order"),
    (r"absent hurt", "absent hurt"),
    (r"became |came in", "replacements"),
    (r"was declared", "declared"),
    (r"no registry id for", "a player without an id"),
)


def told(matches: Iterable[Match], patterns: Iterable[tuple[str, str]]) -> str:
    """What the notes of the matches say, each with the number of matches that say it."""
    counts: Counter[str] = Counter()
    compiled = [(re.compile(pattern), name) for pattern, name in patterns]
    for match in matches:
        counts.update({name for regex, name in compiled if any(map(regex.search, match.notes))})
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{name} ({count})" for name, count in ranked) or "nothing"


def row(shared: Path, name: str, place: str) -> str:
    """One line of the table."""
    skipped: list[MatchFileError] = []
    matches = list(read_matches(f"{shared}/{place}", on_error="skip", skipped=skipped))
    files = len({match.source for match in matches} | {error.path for error in skipped})
    balls = sum(len(innings.deliveries) for match in matches for innings in match.innings)
    reasons = Counter(error.problem for error in skipped)
    refused = "; ".join(f"{reason} ({count})" for reason, count in reasons.items()) or "none"
    cells = (name, files, len(matches), balls, told(matches, REPAIRED), told(matches, ODD), refused)
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared_data", type=Path)
    shared = parser.parse_args().shared_data
    header = ("format", "files", "matches", "balls", "repaired or worked out", "noted", "refused")
    print(f"| {' | '.join(header)} |")
    print("|" + "---|" * len(header))
    for name, place in SOURCES:
        print(row(shared, name, place), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Many matches: in one table, in folders and zips, in file order and by date."""

from __future__ import annotations

import json
import random
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from match_files import document, problem, written

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches
from attnlens.errors import InputError


def dated(date: str) -> dict[str, Any]:
    content = document()
    content["info"]["dates"] = [date]
    return content


def table_of(sample: Path, ids_and_dates: list[tuple[str, str]]) -> str:
    """The sample's rows once for each id, with that date."""
    header, *rows = sample.read_text(encoding="utf-8").splitlines(keepends=True)
    first = rows[0].split(",")
    return header + "".join(
        row.replace(first[0], match_id, 1).replace(first[2], date, 1)
        for match_id, date in ids_and_dates
        for row in rows
    )


DATES = [("b", "2023-05-02"), ("a", "2021-01-01"), ("d", "2022-02-02"), ("c", "2021-01-01")]


@pytest.fixture
def table(tmp_path: Path, sample_match_path: Path) -> Path:
    path = tmp_path / "season.csv"
    path.write_text(table_of(sample_match_path, DATES), encoding="utf-8")
    return path


def test_unknown_ways_to_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="order is 'size'; it is file or date"):
        read_matches(tmp_path, order="size")  # type: ignore[arg-type]  # the point
    with pytest.raises(InputError, match="on_error is 'ignore'; it is stop or skip"):
        read_matches(tmp_path, on_error="ignore")  # type: ignore[arg-type]  # the point


def ids(matches: Any) -> list[str]:
    return [match.match_id for match in matches]


def test_a_table_is_read_in_its_order_or_by_date(table: Path, tmp_path: Path) -> None:
    archive = tmp_path / "t.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.write(table, "season.csv")
    for source in (table, archive, f"{archive}::season.csv"):
        in_order = {match.match_id: match.innings for match in read_matches(source)}
        assert list(in_order) == ["b", "a", "d", "c"]
        by_date = list(read_matches(source, order="date"))
        assert ids(by_date) == ["a", "c", "d", "b"]
        assert all(match.innings == in_order[match.match_id] for match in by_date)


def test_one_match_of_a_table_is_chosen(table: Path, tmp_path: Path) -> None:
    whole = {match.match_id: match for match in read_matches(table)}
    assert read_match(f"{table}::d") == whole["d"]
    assert ids(read_matches(f"{table}::c", order="date")) == ["c"]
    assert problem(f"{table}::x") == "season.csv: has no match 'x'; it has b, a, d, c"
    assert problem(table) == (
        f"season.csv: holds several matches ('b', 'a', ...); name one, such as {table}::b, "
        "or list them with `attnlens match`"
    ).replace(str(tmp_path) + "/", "")
    archive = tmp_path / "t.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.write(table, "deep/season.csv")
    assert read_match(f"{archive}::deep/season.csv::d").innings == whole["d"].innings
    json_file = written(tmp_path, document(), "77.json")
    assert read_match(f"{json_file}::77").match_id == "77"
    assert problem(f"{json_file}::78") == "77.json: has no match '78'; it has 77"


def test_what_is_wrong_with_one_match_of_a_table_leaves_the_others(table: Path) -> None:
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    per_match = (len(lines) - 1) // 4
    in_a, in_d = 1 + per_match + 3, 1 + 2 * per_match + 5
    lines[in_a] = lines[in_a][: len(lines[in_a]) // 2] + "\n"
    lines[in_d] = lines[in_d].replace(",0,", ",x,", 1)
    table.write_text("".join(lines), encoding="utf-8")
    for order in ("file", "date"):
        skipped: list[MatchFileError] = []
        matches = list(read_matches(table, on_error="skip", skipped=skipped, order=order))
        assert sorted(ids(matches)) == ["b", "c"]
        assert sorted(error.line or 0 for error in skipped) == [in_a + 1, in_d + 1]
        assert "fields" in str(min(skipped, key=lambda error: error.line or 0))
    with pytest.raises(MatchFileError, match="this row has"):
        list(read_matches(table))


def test_folders_are_read_by_date(tmp_path: Path, sample_match_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for name, date in (("1", "2024-03-01"), ("2", "2020-03-01"), ("3", "2022-03-01")):
        written(folder, dated(date), f"{name}.json")
    undated = document()
    del undated["info"]["dates"]
    written(folder, undated, "0.json")
    (folder / "bad.json").write_text("{", encoding="utf-8")
    (folder / "season.csv").write_text(table_of(sample_match_path, DATES), encoding="utf-8")
    skipped: list[MatchFileError] = []
    matches = list(read_matches(folder, on_error="skip", skipped=skipped, order="date"))
    assert ids(matches) == ["2", "a", "c", "d", "3", "b", "1", "0"]
    assert [Path(str(error.path)).name for error in skipped] == ["bad.json"]
    assert [match.date for match in matches[:-1]] == sorted(
        match.date for match in matches[:-1] if match.date
    )


def test_all_matches_is_not_read_beside_the_matches_it_holds(
    tmp_path: Path, sample_match_path: Path
) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "README.txt").write_text("2024-05-01 - club", encoding="utf-8")
    (folder / "all_matches.csv").write_text(
        table_of(sample_match_path, DATES[:2]), encoding="utf-8"
    )
    archive = tmp_path / "z.zip"

    def zip_it() -> None:
        with zipfile.ZipFile(archive, "w") as stream:
            for file in folder.iterdir():
                stream.write(file, file.name)

    zip_it()
    assert ids(read_matches(folder)) == ids(read_matches(archive)) == ["b", "a"]
    (folder / "b.csv").write_text(table_of(sample_match_path, DATES[:1]), encoding="utf-8")
    zip_it()
    assert ids(read_matches(folder)) == ids(read_matches(archive)) == ["b"]
    assert ids(read_matches(folder / "all_matches.csv")) == ["b", "a"]


def test_each_match_of_a_table_finds_its_own_info(tmp_path: Path, sample_match_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    path = folder / "season.csv"
    path.write_text(table_of(sample_match_path, DATES[:2]), encoding="utf-8")
    info = sample_match_path.with_name("match_info.csv").read_text(encoding="utf-8")
    kept = [line for line in info.splitlines(keepends=True) if "match_id" not in line]
    (folder / "a_info.csv").write_text("".join(kept), encoding="utf-8")
    without, having = read_matches(path)
    assert without.outcome == {}
    assert having.outcome == read_match(sample_match_path).outcome


def test_a_zip_in_a_zip_is_read(tmp_path: Path) -> None:
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as stream:
        stream.writestr("m.json", json.dumps(document()))
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as stream:
        stream.write(inner, "season/inner.zip")
    assert ids(read_matches(outer)) == ["m"]
    assert read_match(f"{outer}::season/inner.zip::m.json").match_id == "m"
    assert read_match(f"{outer}::season/inner.zip").match_id == "m"


def test_a_broken_zip_is_refused_at_once_and_skipped_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(MatchFileError, match="not a zip that can be opened"):
        read_matches(folder / "a.zip", on_error="skip")
    written(folder, document(), "b.json")
    skipped: list[MatchFileError] = []
    assert ids(read_matches(folder, on_error="skip", skipped=skipped)) == ["b"]
    assert "not a zip that can be opened" in str(skipped[0])


@pytest.mark.parametrize("order", ["file", "date"])
def test_a_long_table_is_read_in_little_memory(
    tmp_path: Path, sample_match_path: Path, order: Any
) -> None:
    """The memory is that of one match, not of the table; a hundred matches are in it."""
    path = tmp_path / "season.csv"
    rng = random.Random(5)
    days = [(f"m{n}", f"20{rng.randrange(10, 24)}-01-{rng.randrange(10, 29)}") for n in range(100)]
    path.write_text(table_of(sample_match_path, days), encoding="utf-8")
    tracemalloc.start()
    try:
        seen: list[Match | None] = []
        for match in read_matches(path, order=order):
            seen.append(None)
            assert match.innings
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(seen) == 100
    assert path.stat().st_size > 2**21
    assert peak < path.stat().st_size / 2


def test_a_zip_of_kaggle_tables_is_one_file_of_matches(shared_data: Path, tmp_path: Path) -> None:
    kaggle = shared_data / "formats" / "kaggle_ipl"
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.write(kaggle / "deliveries_2025.csv", "deliveries.csv")
        stream.write(kaggle / "matches_2025.csv", "matches.csv")
    whole = {match.match_id: match for match in read_matches(kaggle / "deliveries_2025.csv")}
    by_date = list(read_matches(archive, order="date"))
    assert len(by_date) == len(whole) == 73
    assert all(match.innings == whole[match.match_id].innings for match in by_date)
    assert all(match.outcome == whole[match.match_id].outcome for match in by_date)
    member = f"{archive}::deliveries.csv::1".replace(f"{tmp_path}/", "")
    assert problem(archive).endswith(
        f"name one, such as {member}, or list them with `attnlens match`"
    )


def test_an_id_that_is_a_path_leads_nowhere(tmp_path: Path, sample_match_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    path = folder / "m.csv"
    path.write_text(table_of(sample_match_path, [("../x", "2024-01-01")]), encoding="utf-8")
    (tmp_path / "x_info.csv").write_text("not an info file", encoding="utf-8")
    assert read_match(path).match_id == "../x"

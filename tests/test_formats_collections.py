"""Many matches: in one table, in folders and zips; zips made to do harm are refused."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from match_files import document, problem, written

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import files, read_match, read_matches
from attnlens.errors import InputError


def table_of(sample: Path, ids: Iterable[str]) -> str:
    """The sample's rows once for each id."""
    header, *rows = sample.read_text(encoding="utf-8").splitlines(keepends=True)
    own = rows[0].partition(",")[0]
    return header + "".join(row.replace(own, match_id, 1) for match_id in ids for row in rows)


def zipped(folder: Path, path: Path, inside: str = "") -> Path:
    """A zip of a folder's files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, f"{inside}{file.name}")
    return path


def ids(matches: Iterable[Match]) -> list[str]:
    return [match.match_id for match in matches]


@pytest.fixture
def table(tmp_path: Path, sample_match_path: Path) -> Path:
    path = tmp_path / "f" / "season.csv"
    path.parent.mkdir()
    path.write_text(table_of(sample_match_path, "badc"), encoding="utf-8")
    return path


def test_matches_of_a_table_are_read_in_turn_or_chosen(table: Path, tmp_path: Path) -> None:
    whole = {match.match_id: match for match in read_matches(table)}
    assert list(whole) == ["b", "a", "d", "c"]
    assert read_match(f"{table}::d") == whole["d"]
    assert ids(read_matches(f"{table}::c")) == ["c"]
    assert problem(f"{table}::x") == "season.csv: has no match 'x'; the file has b, a, d, c"
    assert problem(table) == (
        "season.csv: contains several matches ('b', 'a', ...); "
        "choose one match, such as season.csv::b; "
        "`attnlens match` lists them"
    )
    member = f"{zipped(table.parent, tmp_path / 't.zip', 'deep/')}::deep/season.csv"
    assert read_match(f"{member}::d").innings == whole["d"].innings
    for place in (str(table), member):
        with pytest.raises(MatchFileError, match="has no match 'x'"):
            read_match(f"{place}::x")
    json_file = written(tmp_path, document(), "77.json")
    assert read_match(f"{json_file}::77").match_id == "77"
    assert problem(f"{json_file}::78") == "77.json: has no match '78'; the file has 77"


def test_what_is_wrong_with_one_match_of_a_table_leaves_the_others(table: Path) -> None:
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    per_match = (len(lines) - 1) // 4
    in_a, in_d = 1 + per_match + 3, 1 + 2 * per_match + 5
    lines[in_a] = lines[in_a][: len(lines[in_a]) // 2] + "\n"
    lines[in_d] = lines[in_d].replace(",0,", ",x,", 1)
    table.write_text("".join(lines), encoding="utf-8")
    skipped: list[MatchFileError] = []
    assert ids(read_matches(table, on_error="skip", skipped=skipped)) == ["b", "c"]
    assert [error.line for error in skipped] == [in_a + 1, in_d + 1]
    with pytest.raises(MatchFileError, match="this row has"):
        list(read_matches(table))
    with pytest.raises(InputError, match="on_error is 'ignore', but must be stop or skip"):
        read_matches(table, on_error="ignore")  # type: ignore[arg-type]  # the point


def test_folders_and_zips_are_read_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    folder.mkdir()
    for name in ("b.json", "a.json", "e"):
        written(folder, document(), name)
    for name, text in (
        ("c.json", "{"),
        ("README.txt", "one line per match"),
        ("notes.md", "# not a match"),
        ("d_info.csv", "version,2.1.0"),
        ("all_matches.csv", "match_id"),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    archive = zipped(folder, tmp_path / "z.zip")
    for source in (folder, archive):
        skipped: list[MatchFileError] = []
        matches = list(read_matches(source, on_error="skip", skipped=skipped))
        assert ids(matches) == ["a", "b", "e"]
        assert [Path(str(error.path)).name.split("::")[-1] for error in skipped] == ["c.json"]
        with pytest.raises(MatchFileError, match="ends too early"):
            list(read_matches(source))
    assert read_match(f"{archive}::a.json").innings == matches[0].innings
    assert problem(archive) == (
        "z.zip: this zip holds several match files; choose one file, such as z.zip::a.json"
    )
    assert problem(f"{archive}::x.json").endswith(
        "the zip contains no such file; list its files with unzip -l"
    )


def test_an_empty_folder_and_a_missing_source_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MatchFileError, match="there are no match files in this folder or zip"):
        list(read_matches(tmp_path))
    with pytest.raises(MatchFileError, match="no such file"):
        read_matches(tmp_path / "none", on_error="skip")


def test_all_matches_is_not_read_beside_the_matches_it_holds(
    tmp_path: Path, sample_match_path: Path
) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "README.txt").write_text("2024-05-01 - club", encoding="utf-8")
    (folder / "all_matches.csv").write_text(table_of(sample_match_path, "ba"), encoding="utf-8")
    for expected in (["b", "a"], ["b"]):
        archive = zipped(folder, tmp_path / "z.zip")
        assert ids(read_matches(folder)) == ids(read_matches(archive)) == expected
        (folder / "b.csv").write_text(table_of(sample_match_path, "b"), encoding="utf-8")
    assert ids(read_matches(folder / "all_matches.csv")) == ["b", "a"]


def test_each_match_of_a_table_finds_its_own_info(table: Path, sample_match_path: Path) -> None:
    info = sample_match_path.with_name("match_info.csv").read_text(encoding="utf-8")
    kept = [line for line in info.splitlines(keepends=True) if "match_id" not in line]
    (table.parent / "a_info.csv").write_text("".join(kept), encoding="utf-8")
    without, having, *_ = read_matches(table)
    assert without.outcome == {}
    assert having.outcome == read_match(sample_match_path).outcome


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


def test_a_long_table_is_read_in_little_memory(tmp_path: Path, sample_match_path: Path) -> None:
    """The memory is that of one match, not of the table; a hundred matches are in it."""
    path = tmp_path / "season.csv"
    order = random.Random(5).sample(range(100), 100)
    path.write_text(table_of(sample_match_path, map("m{}".format, order)), encoding="utf-8")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_matches(path)) == 100
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 2**21
    assert peak < path.stat().st_size / 2


def test_an_id_that_is_a_path_leads_nowhere(tmp_path: Path, sample_match_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    path = folder / "m.csv"
    path.write_text(table_of(sample_match_path, ["../x"]), encoding="utf-8")
    (tmp_path / "x_info.csv").write_text("not an info file", encoding="utf-8")
    assert read_match(path).match_id == "../x"


MATCH = json.dumps(document())


def hostile_zip(folder: Path, *members: str | zipfile.ZipInfo, text: str = MATCH) -> Path:
    """A zip with a good match and these members, packed."""
    archive = folder / "t.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr("good.json", MATCH)
        for member in members:
            stream.writestr(member, text)
    return archive


def refusals(archive: Path) -> list[str]:
    """What reading every member says, with the matches that were read named by id."""
    skipped: list[MatchFileError] = []
    read = [match.match_id for match in read_matches(archive, on_error="skip", skipped=skipped)]
    assert read == ["good"]
    return [error.problem for error in skipped]


@pytest.mark.parametrize("name", ["../up.json", "/root.json", "C:/x.json", "..\\up.json"])
def test_paths_out_of_the_zip_are_refused(tmp_path: Path, name: str) -> None:
    archive = hostile_zip(tmp_path, name)
    before = sorted(tmp_path.iterdir())
    assert refusals(archive) == [
        "the name of this file leads out of the zip, so the file is not read"
    ]
    assert sorted(tmp_path.iterdir()) == before
    assert not (tmp_path.parent / "up.json").exists()


def test_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = hostile_zip(tmp_path, "m.json", "m.json", "n.json", "./n.json")
    assert set(refusals(archive)) == {"the zip contains two files of this name"}
    assert "two files of this name" in problem(f"{archive}::m.json")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    archive = hostile_zip(tmp_path, "secret.json")
    data = bytearray(archive.read_bytes())
    # Bit 0 of the flags, in the local header and in the directory, says encrypted.
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.rindex(magic)
        (flags,) = struct.unpack_from("<H", data, place + offset)
        struct.pack_into("<H", data, place + offset, flags | 1)
    archive.write_bytes(bytes(data))
    assert refusals(archive) == ["is encrypted"]
    assert problem(archive).endswith("is encrypted; unpack it first")
    assert problem(f"{archive}::secret.json").endswith("is encrypted; unpack it first")


def test_links_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.json")
    link.external_attr = 0o120777 << 16
    archive = hostile_zip(tmp_path, link, text="/etc/passwd")
    assert refusals(archive) == ["is a symbolic link, which attnlens does not follow"]


@pytest.mark.parametrize("name", ["bomb.json", "bomb.csv", "bomb.zip"])
def test_bombs_are_refused(tmp_path: Path, name: str) -> None:
    archive = hostile_zip(tmp_path, name, text="0" * (32 * 2**20))
    assert refusals(archive) == [
        "unpacks to more than 300 times its size, so it is not a match file"
    ]


def test_a_member_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    archive = hostile_zip(tmp_path, "liar.json", text=MATCH + " " * 5000)
    data = bytearray(archive.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.rindex(magic) + offset, 40)
    archive.write_bytes(bytes(data))
    (found,) = refusals(archive)
    assert "damaged in the zip" in found or "JSON ends too early" in found


def test_a_zip_in_a_zip_is_passed_over(tmp_path: Path) -> None:
    archive = hostile_zip(tmp_path)
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as stream:
        stream.write(archive, "inner.zip")
        stream.writestr("good.json", MATCH)
    assert refusals(outer) == []
    assert "looks like a zip or a spreadsheet" in problem(f"{outer}::inner.zip")


def test_a_zip_of_very_many_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = hostile_zip(tmp_path, *(f"{number}.json" for number in range(30)))
    monkeypatch.setattr(files, "_MAX_MEMBERS", 20)
    assert problem(archive) == "t.zip: contains more than 20 files"


def test_a_name_with_the_separator_is_still_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a::b.json"
    path.write_text(MATCH, encoding="utf-8")
    assert read_match(path).match_id == "a::b"
    archive = hostile_zip(tmp_path)
    assert problem(f"{archive}::").endswith("write archive.zip::member or file.csv::match_id")
    assert problem(f"{archive}::m.json::x::y").endswith("write archive.zip::member")

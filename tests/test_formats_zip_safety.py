"""Zips made to do harm are refused, whichever way they are read."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import pytest
from match_files import document, problem

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.readers import files, read_match, read_matches

MATCH = json.dumps(document())


def zipped(folder: Path, *members: str | zipfile.ZipInfo, text: str = MATCH) -> Path:
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


@pytest.mark.parametrize(
    "name",
    ["../up.json", "/root.json", "C:/x.json", "..\\up.json"],
)
def test_paths_out_of_the_zip_are_refused(tmp_path: Path, name: str) -> None:
    archive = zipped(tmp_path, name)
    before = sorted(tmp_path.iterdir())
    assert refusals(archive) == ["this member's name leads out of the zip; it is not read"]
    assert sorted(tmp_path.iterdir()) == before
    assert not (tmp_path.parent / "up.json").exists()


def test_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = zipped(tmp_path, "m.json", "m.json", "n.json", "./n.json")
    assert set(refusals(archive)) == {"the zip has two members of this name"}
    assert "two members of this name" in problem(f"{archive}::m.json")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path, "secret.json")
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
    assert refusals(zipped(tmp_path, link, text="/etc/passwd")) == [
        "is a link, which is not followed"
    ]


@pytest.mark.parametrize("name", ["bomb.json", "bomb.csv", "bomb.zip"])
def test_bombs_are_refused(tmp_path: Path, name: str) -> None:
    archive = zipped(tmp_path, name, text="0" * (32 * 2**20))
    assert refusals(archive) == ["unpacks to more than 300 times its size, as no match does"]


def test_a_member_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path, "liar.json", text=MATCH + " " * 5000)
    data = bytearray(archive.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.rindex(magic) + offset, 40)
    archive.write_bytes(bytes(data))
    (found,) = refusals(archive)
    assert "damaged in the zip" in found or "JSON ends too early" in found


def test_a_zip_in_a_zip_is_passed_over(tmp_path: Path) -> None:
    archive = zipped(tmp_path)
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as stream:
        stream.write(archive, "inner.zip")
        stream.writestr("good.json", MATCH)
    assert refusals(outer) == []
    assert "looks like a zip or a spreadsheet" in problem(f"{outer}::inner.zip")


def test_a_zip_of_very_many_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = zipped(tmp_path, *(f"{number}.json" for number in range(30)))
    monkeypatch.setattr(files, "_MAX_MEMBERS", 20)
    assert problem(archive) == "t.zip: has more than 20 members"


def test_a_name_with_the_separator_is_still_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a::b.json"
    path.write_text(MATCH, encoding="utf-8")
    assert read_match(path).match_id == "a::b"
    archive = zipped(tmp_path)
    assert problem(f"{archive}::").endswith("write archive.zip::member or file.csv::match_id")
    assert problem(f"{archive}::m.json::x::y").endswith("write archive.zip::member")

"""The folders that a client may read, and the matches in these folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape
from itertools import chain, count, islice
from pathlib import Path, PurePosixPath
from typing import Final

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import member_names, read_matches
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.safe import visible_name

_MEMBER: Final = "::"
_MAX_MATCHES: Final = 100
_MAX_FILES: Final = 300
"""The largest number of files that one call searches."""

_DATE: Final = re.compile(r"(\d{4}(-\d\d){0,2})?")


class Folders:
    """Convert names such as ``data/2024/match.json`` or ``data/all.zip::123.json`` to paths.

    A name begins with the name of a folder. A second folder with the same name is called
    ``name-2``. A path or a companion file outside the folders is refused.

    Raises:
        InputError: one of the paths is not a folder.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        self.roots: dict[str, Path] = {}
        for folder in folders:
            root = Path(os.path.realpath(folder))
            if not root.is_dir():
                raise InputError(
                    "is not a folder", path=folder, remedy="give folders that contain match files"
                )
            if root in self.roots.values():
                continue
            name = alias = root.name or "root"
            for number in count(2):
                if alias not in self.roots:
                    break
                alias = f"{name}-{number}"
            self.roots[alias] = root

    def path_of(self, name: str) -> str:
        """Return the path of a match file. The path of a zip member includes the member's name.

        Raises:
            InputError: the folders do not contain the file.
        """
        outer, separator, inner = name.partition(_MEMBER)
        path = self._inside(outer)
        if not path.is_file():
            raise InputError(
                f"{name!r} is not a match file in these folders",
                remedy="use a name from list_matches",
            )
        if any(part == ".." for part in PurePosixPath(inner.replace("\\", "/")).parts):
            raise self._outside(name)
        self._check_beside(path, name)
        return f"{path}{separator}{inner}"

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the name and the path of every file in the folders, except hidden files."""
        for alias, root in self.roots.items():
            for directory, folders, names in os.walk(root):
                folders[:] = sorted(child for child in folders if not child.startswith("."))
                for name in sorted(names):
                    path = Path(directory) / name
                    if not name.startswith(".") and path.is_file() and self._holds(path):
                        yield f"{alias}/{path.relative_to(root).as_posix()}", path

    def matches(
        self, limit: int, offset: int = 0, *, contains: str = "", team: str = "", date: str = ""
    ) -> Json:
        """Return the matches that satisfy the conditions, and the offset for the next call.

        Args:
            limit: the number of matches, from 1 to `_MAX_MATCHES`. More may be returned if the
                last file contains several matches.
            offset: the number of files to skip.
            contains: a part of the file's name; case is ignored.
            team: a part of a team's name; case is ignored.
            date: the first day, month or year: ``2024-03-23``, ``2024-03`` or ``2024``.

        Raises:
            InputError: the limit or the offset is out of range, or the date has another form.
        """
        if not 1 <= limit <= _MAX_MATCHES or offset < 0:
            raise InputError(
                f"limit {limit} with offset {offset} is out of range",
                remedy=f"give a limit from 1 to {_MAX_MATCHES} and an offset of 0 or more",
            )
        if not _DATE.fullmatch(date):
            raise InputError(f"{date!r} is not a date", remedy="write 2024, 2024-03 or 2024-03-23")
        names = [name for name in self.names() if contains.lower() in name.lower()]
        rows: list[Json] = []
        until = min(len(names), offset + _MAX_FILES)
        while offset < until and len(rows) < limit:
            for name, match in self.read(names[offset]):
                sides = any(team.casefold() in side.casefold() for side in match.teams)
                if (sides or not team) and str(match.date or "").startswith(date):
                    rows.append(_match_data(name, match))
            offset += 1
        following = offset if offset < len(names) else None
        return {"matches": rows, "files": len(names), "next_offset": following}

    def names(self) -> Iterator[str]:
        """Yield the name of every file or zip member that may contain a match."""
        for name, path in self.files():
            low = path.name.lower()
            if low.endswith(".zip"):
                yield from (f"{name}{_MEMBER}{member}" for member in member_names(path))
            elif low.endswith((".json", ".csv")) and not low.endswith("_info.csv"):
                yield name

    def read(self, name: str) -> Iterator[tuple[str, Match]]:
        """Yield the name and content of every match in a file. Skip a file that cannot be read."""
        with suppress(InputError):
            several = list(islice(read_matches(self.path_of(name)), _MAX_MATCHES))
            for match in several:
                yield name if len(several) == 1 else f"{name}{_MEMBER}{match.match_id}", match

    def every(self) -> tuple[Iterator[tuple[str, Match]], Json]:
        """Return the matches of the first `_MAX_FILES` files, and the numbers of files as JSON."""
        names = [*self.names()]
        searched = names[:_MAX_FILES]
        counts = {"files": len(names), "files_searched": len(searched)}
        return chain.from_iterable(map(self.read, searched)), counts

    def without_paths(self, text: str) -> str:
        """Return a message in which the path of each folder is replaced by the folder's name."""
        for alias, root in sorted(self.roots.items(), key=lambda pair: -len(str(pair[1]))):
            text = text.replace(str(root), alias)
        return text

    def _inside(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        is_plain = not {"\0", "\\"} & set(name) and ".." not in parts
        if is_plain and parts and parts[0] in self.roots:
            path = self.roots[parts[0]].joinpath(*parts[1:])
            if self._holds(path):
                return path
        raise self._outside(name)

    def _holds(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real == root or root in real.parents for root in self.roots.values())

    def _check_beside(self, path: Path, name: str) -> None:
        stem = path.stem.removesuffix("_info")
        for companion in path.parent.glob(f"{escape(stem)}*"):
            if companion.is_symlink() and not self._holds(companion):
                raise self._outside(name)

    def _outside(self, name: str) -> InputError:
        names = ", ".join(self.roots) or "the server was started without folders"
        return InputError(
            f"{name!r} is not inside the folders that the server may read ({names})",
            remedy="use a name from list_matches",
        )


def _match_data(name: str, match: Match) -> Json:
    return {
        "match": name,
        "teams": [visible_name(team) for team in match.teams],
        "date": match.date.isoformat() if match.date is not None else None,
        "venue": None if match.venue is None else visible_name(match.venue),
        "innings": [
            {
                "innings": side.number,
                "batting": visible_name(side.batting_team),
                "deliveries": len(side.deliveries),
                "total": f"{side.total}/{side.wickets}",
            }
            for side in match.innings
        ],
    }

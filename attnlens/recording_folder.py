"""A recording that was written to a folder while the model ran: its index and its parts."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Final

from attnlens.errors import InputError
from attnlens.recording_files import DAMAGE, check_format, damaged, read_part
from attnlens.records import Recording

INDEX: Final = "recording.json"
"""The index: the format, and for every part the name of its file and the entries of its records."""

_PART = re.compile(r"part-[0-9]{5,9}\.safetensors")


def load_folder(path: str | os.PathLike[str]) -> Recording:
    """The recording in a folder; its tensors are read from the files when they are used.

    Raises:
        InputError: the folder holds no recording, or a damaged one, or one of a later attnlens.
    """
    folder = Path(path)
    index = folder / INDEX
    if not index.is_file():
        raise InputError(
            f"is a folder without {INDEX}, so not a recording",
            path=path,
            remedy="give a recording that was saved, or a folder given to record(to=...)",
        )
    try:
        about = json.loads(index.read_text(encoding="utf-8"))
        check_format(about, index)
        parts = [(str(part["file"]), part["records"]) for part in about["parts"]]
        notes = [str(note) for note in about["notes"]]
        for name, _ in parts:
            if not _PART.fullmatch(name):
                raise ValueError(f"its index names a part {name!r}")
    except OSError as error:
        raise InputError(f"cannot be read as a recording ({error})", path=index) from error
    except DAMAGE as error:
        raise damaged(error, index) from error
    records = [record for name, entries in parts for record in read_part(folder / name, entries)]
    if records and notes:
        # A note on the whole block stands with its first record.
        records[0] = records[0].replaced(notes=(*records[0].notes, *notes))
    return Recording(records)

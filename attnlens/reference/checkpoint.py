"""Read and write model weights as safetensors files."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnlens.errors import CheckpointError
from attnlens.files import Json, read_whole, written_beside

if TYPE_CHECKING:
    from torch import Tensor

_MAX_BYTES = 512 * 2**20
_LENGTH = 8


def shipped(name: str) -> Path:
    """Return the path of a checkpoint included in attnlens."""
    return Path(__file__).parents[1] / "weights" / f"{name}.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The content of a checkpoint file, and the SHA-256 of the file."""

    tensors: dict[str, Tensor]
    metadata: Json
    sha256: str
    path: str


def write_checkpoint(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Json
) -> None:
    """Write tensors and ``metadata`` (plain JSON data) to one safetensors file.

    Raises:
        InputError: the folder does not exist or cannot be written to.
    """
    from safetensors.torch import save_file

    with written_beside(path, lasting=True) as part:
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()},
            part,
            # Do not sort the keys: the layers of a graph are read in the order of their keys.
            {"about": json.dumps(metadata)},
        )


def read_checkpoint(path: str | os.PathLike[str], kind: str) -> Checkpoint:
    """Read a checkpoint of the given kind from a file written by `write_checkpoint`.

    Raises:
        CheckpointError: the file cannot be read, is too large, was not written by attnlens, is of
            another kind, or contains a number that is not finite.
    """
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.torch import load

    remedy = "give a file that `attnlens lab train` wrote, or leave --model out"
    data = read_whole(path, _MAX_BYTES, kind="checkpoint", remedy=remedy, error=CheckpointError)
    try:
        tensors = load(data)
        (length,) = struct.unpack("<Q", data[:_LENGTH])
        header = json.loads(data[_LENGTH : _LENGTH + length])
    except (SafetensorError, struct.error, ValueError):
        raise CheckpointError("is not a safetensors checkpoint", path=path, remedy=remedy) from None
    try:
        metadata = json.loads(header["__metadata__"]["about"])
        actual_kind = metadata["kind"]
    except (KeyError, TypeError, ValueError):
        raise CheckpointError("was not written by attnlens", path=path, remedy=remedy) from None
    if actual_kind != kind:
        raise CheckpointError(
            f"contains a {actual_kind!r} instead of a {kind!r}", path=path, remedy=remedy
        )
    for name, tensor in tensors.items():
        # Use numpy: torch would start threads, which takes longer than the check itself.
        if tensor.is_floating_point() and not np.isfinite(tensor.numpy()).all():
            raise CheckpointError(
                f"is damaged: the tensor {name} contains NaN or an infinite number",
                path=path,
                remedy=remedy,
            )
    return Checkpoint(tensors, metadata, hashlib.sha256(data).hexdigest(), str(path))


def checkpoint_kind(path: str | os.PathLike[str]) -> str:
    """Return the kind of a checkpoint.

    Raises:
        CheckpointError: the file cannot be read, or was not written by `write_checkpoint`.
    """
    remedy = "give a file that attnlens wrote"
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise CheckpointError("is not a file", path=path, remedy=remedy)
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(_LENGTH))
            header = json.loads(file.read(min(length, _MAX_BYTES)))
        return str(json.loads(header["__metadata__"]["about"])["kind"])
    except OSError as error:
        raise CheckpointError(f"cannot be read ({error.strerror})", path=path) from None
    except (struct.error, ValueError, KeyError, TypeError):
        raise CheckpointError("was not written by attnlens", path=path, remedy=remedy) from None

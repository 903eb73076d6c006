"""The catalogue of reference models.

Entries name functions as ``"module:function"``, so that listing models imports no functions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from attnlens.errors import InputError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, eq=False)
class ModelInput:
    """The input tensors of a model, and the names and labels of their axes.

    Attributes:
        inputs: the positional arguments of the model.
        names: the symbols of ``inputs``; without names, a single tensor is ``x``.
        axes: maps an input's symbol or a parameter's name to axis names.
        labels: the labels along each named axis, such as ``{"token": ("3", "1", "4")}``.
        batched: whether the first axis of every input is a batch of size 1.
        caption: a one-line description of the input.
    """

    inputs: tuple[Any, ...]
    names: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    batched: bool = True
    caption: str = ""

    @property
    def describe_args(self) -> Any:
        """The keyword arguments of `attnlens.describe` for this input."""
        return {"names": self.names, "axes": self.axes, "batched": self.batched}


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model in evaluation mode, and the data for reading inputs, such as vocabularies."""

    module: nn.Module
    context: Any = None


@dataclass(frozen=True, slots=True)
class ReferenceModel:
    """One entry of the catalogue.

    Attributes:
        source: the paper and the section that describe the model.
        written: the format of the command-line argument INPUT.
        load: a function ``(path) -> LoadedModel``; the path None selects the included model.
        read: a function ``(loaded, text, **options) -> ModelInput``; the text None selects an
            example.
        kind: the ``kind`` in the model's checkpoints; ``""`` without checkpoints.
        example: an example INPUT; None if `read` chooses the example.
        options: the names of further command-line options for the input.
    """

    name: str
    title: str
    source: str
    purpose: str
    written: str
    load: str
    read: str
    kind: str = ""
    example: str | None = None
    options: tuple[str, ...] = ()

    def loaded(self, path: Path | None = None) -> LoadedModel:
        """Load the model from a checkpoint; by default, load the included model.

        Raises:
            CheckpointError: ``path`` is not a checkpoint of this kind.
        """
        made: LoadedModel = resolve_name(self.load)(path)
        return made

    def reading(
        self, loaded: LoadedModel, text: str | None = None, **kwargs: str | int | None
    ) -> ModelInput:
        """Read an input from ``text``; by default, read the example.

        Args:
            kwargs: the values of `options`.

        Raises:
            InputError: the text is not a valid input of this model.
        """
        text_or_example = self.example if text is None else text
        made: ModelInput = resolve_name(self.read)(loaded, text_or_example, **kwargs)
        return made


ATTENTION_PAPER: Final = 'Vaswani et al. 2017, "Attention Is All You Need"'

ATTENTION: Final = ReferenceModel(
    name="attention",
    title="multi-head attention from scratch",
    source=f"{ATTENTION_PAPER}, section 3.2",
    purpose="shows the attention layer of the other reference models, with weights set by hand",
    written="rows of numbers such as 1,0,0,1;0,1,0,1",
    load="attnlens.reference.attention:attention_by_hand",
    read="attnlens.reference.attention:read_rows",
    example="1,0,0,1;0,1,0,1;1,0,1,0",
)

TINY: Final = ReferenceModel(
    name="tiny",
    title="a transformer so small that every number can be read",
    source=f"{ATTENTION_PAPER}, section 3, without positions; GELU: Hendrycks & Gimpel 2016",
    purpose="shows every number of a transformer on one page, after training on a task "
    "with a known answer",
    written="5 tokens from 0 to 9, such as 3,1,4,1,5",
    load="attnlens.reference.tiny:load_for_catalogue",
    read="attnlens.reference.tiny:read_tokens",
    kind="tiny",
)


def reference_model(
    name: str, models: Sequence[ReferenceModel], files: Mapping[str, Path]
) -> tuple[ReferenceModel, Path | None]:
    """Return the entry for a model or a checkpoint, and the path of the checkpoint.

    Args:
        name: the name of a model, a name in ``files``, or the path of a checkpoint.
        models: the entries to choose from.
        files: maps names to the paths of checkpoints.

    Returns:
        The entry and the path; the path is None for a model's name.

    Raises:
        InputError: ``name`` is neither a known name nor a file, or no entry has the checkpoint's
            kind.
        CheckpointError: the file is not a checkpoint written by attnlens.
    """
    for entry in models:
        if entry.name == name:
            return entry, None
    remedy = f"give {', '.join(entry.name for entry in models)} or a checkpoint file"
    if name not in files and not os.path.exists(name):
        raise InputError(f"there is no model called {name!r}, and no such file", remedy=remedy)
    from attnlens.reference.checkpoint import checkpoint_kind

    path = files.get(name, Path(name))
    kind = checkpoint_kind(path)
    for entry in models:
        if entry.kind == kind:
            return entry, path
    raise InputError(
        f"contains a {kind!r}, which is not one of the reference models", path=path, remedy=remedy
    )

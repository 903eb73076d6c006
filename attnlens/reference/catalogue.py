"""The reference models: what each is, its source, and how its input is written.

An entry names its functions as ``"module:function"``, so that listing the models imports none of
them. The models here belong to no domain; a domain adds its own list.
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
    """An input of a model, with its labels.

    Attributes:
        names: the symbols of the tensors in ``inputs``; empty means ``x``.
        axes: the axes of inputs (by symbol) and of parameters (by name).
        labels: axis to its labels, such as ``{"token": ("3", "1", "4")}``.
        batched: whether the first axis of every input is a batch of one.
        caption: a line about the input.
    """

    inputs: tuple[Any, ...]
    names: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    batched: bool = True
    caption: str = ""

    @property
    def describe_args(self) -> Any:
        """What `attnlens.describe` takes of it by name."""
        return {"names": self.names, "axes": self.axes, "batched": self.batched}


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model in evaluation mode, and anything else needed to read its input, such as a
    vocabulary.
    """

    module: nn.Module
    context: Any = None


@dataclass(frozen=True, slots=True)
class ReferenceModel:
    """One entry.

    Attributes:
        source: the paper and its section.
        written: a short description of the notation of INPUT.
        example: an example INPUT; ``None`` if `read` creates its own.
        kind: the kind stored in its checkpoints; ``""`` if it has no checkpoints.
        load: ``function(path or None) -> LoadedModel``; ``None`` loads the included checkpoint.
        read: ``function(loaded, text or None, **options) -> ModelInput``; without a text, an
            example.
        options: further options of the command that define the input.
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
        """The model; a CheckpointError where ``path`` is no checkpoint of this kind."""
        made: LoadedModel = resolve_name(self.load)(path)
        return made

    def reading(
        self, loaded: LoadedModel, text: str | None = None, **kwargs: str | int | None
    ) -> ModelInput:
        """An input from how it is written, with further `options`; raises `InputError`."""
        text_or_example = self.example if text is None else text
        made: ModelInput = resolve_name(self.read)(loaded, text_or_example, **kwargs)
        return made


ATTENTION_PAPER: Final = 'Vaswani et al. 2017, "Attention Is All You Need"'

ATTENTION: Final = ReferenceModel(
    name="attention",
    title="multi-head attention from scratch",
    source=f"{ATTENTION_PAPER}, section 3.2",
    purpose="the layer that every other model here is built from; weights set by hand",
    written="rows of numbers such as 1,0,0,1;0,1,0,1",
    load="attnlens.reference.attention:attention_by_hand",
    read="attnlens.reference.attention:read_rows",
    example="1,0,0,1;0,1,0,1;1,0,1,0",
)

TINY: Final = ReferenceModel(
    name="tiny",
    title="a transformer to be read number by number",
    source=f"{ATTENTION_PAPER}, section 3, without positions; GELU: Hendrycks & Gimpel 2016",
    purpose="every number of a transformer on one page, after training on a task whose answer "
    "is known",
    written="5 tokens from 0 to 9, such as 3,1,4,1,5",
    load="attnlens.reference.tiny:load_for_catalogue",
    read="attnlens.reference.tiny:read_tokens",
    kind="tiny",
)


def reference_model(
    name: str, models: Sequence[ReferenceModel], files: Mapping[str, Path]
) -> tuple[ReferenceModel, Path | None]:
    """The entry of a name or of a checkpoint's file, and the file; ``files`` are further names.

    Raises:
        InputError: neither; the message lists the names.
        CheckpointError: a file that is no checkpoint of these models.
    """
    for entry in models:
        if entry.name == name:
            return entry, None
    remedy = f"give {', '.join(entry.name for entry in models)} or a checkpoint's file"
    if name not in files and not os.path.exists(name):
        raise InputError(f"no model is called {name!r}", remedy=remedy)
    from attnlens.reference.checkpoint import checkpoint_kind

    path = files.get(name, Path(name))
    kind = checkpoint_kind(path)
    for entry in models:
        if entry.kind == kind:
            return entry, path
    raise InputError(
        f"contains a {kind!r}, which is not one of the reference models", path=path, remedy=remedy
    )

"""The report of an audit as frozen data, with methods to display and save it."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, Literal, get_args

from attnlens.audits.head_table import HeadTable
from attnlens.errors import InputError
from attnlens.evidence.result import ClaimResult
from attnlens.files import Json, render_json, write_text

if TYPE_CHECKING:
    import pandas

Kind = Literal["weighed most", "weighed", "attended", "last items", "head"]
PlaceboKind = Literal[
    "random lists", "random heads", "shuffled heads", "rarest ids", "longest words"
]
PLACEBOS: Final[tuple[PlaceboKind, ...]] = get_args(PlaceboKind)
_RENDERERS: Final = {
    ".html": "attnlens.render.audit:audit_page",
    ".json": "attnlens.audits.report:Audit.to_json",
    ".md": "attnlens.render.audit:audit_markdown",
}


@dataclass(frozen=True, slots=True)
class AuditedModel:
    name: str
    parameters: int
    sites: int
    heads: int


@dataclass(frozen=True, slots=True)
class Input:
    """One audited input; ``probability`` is None if the target is a number or an embedding."""

    text: str | None
    items: tuple[str, ...]
    sinks: tuple[str, ...]
    target: str
    probability: float | None


@dataclass(frozen=True, slots=True)
class TokenEffect:
    """The exact effect of hiding one item of an input from all attention.

    Attributes:
        input: the number of the input, from 0.
        position: the position of the item.
        attention: the attention weight from the answer's position, averaged over all heads.
        before, after: the target's probability before and after the item is hidden. If all outcomes
            are explained, the target is the most likely outcome.
        points: ``after`` minus ``before`` in percentage points.
        nats: the Kullback-Leibler divergence in nats between all probabilities before and after.
        sink: whether claims exclude the item as a sink.
    """

    input: int
    position: int
    item: str
    attention: float
    before: float
    after: float
    points: float
    nats: float
    sink: bool


@dataclass(frozen=True, slots=True)
class TargetChange:
    """The change of an outcome's probability, in percentage points."""

    outcome: str
    points: float


@dataclass(frozen=True, slots=True)
class LargestTargetChange(TargetChange):
    """The outcome with the largest change, and its probabilities before and after the change."""

    before: float
    after: float


class AuditedClaim(ClaimResult):
    """A claim of an audit and its result.

    Attributes:
        input: the number of the input, from 0.
        head, scale: the head's name and site; None if the claim is about the whole model.
        removed, items: the positions and the labels of the hidden items.
    """

    kind: Kind
    direction: None = None
    changes: tuple[TargetChange, ...]
    top_change: LargestTargetChange
    replaced: None = None
    input: int
    items: tuple[str, ...]

    def to_dict(self) -> Json:
        """Return the claim as plain data."""
        data: Json = self.model_dump()
        names = [name for name in data if name not in ("input", "items")]
        names.insert(names.index("removed") + 1, "items")
        return {name: data[name] for name in ("input", *names)}


@dataclass(frozen=True, slots=True)
class Placebo:
    """Lists of items whose effects should not exceed the effects of random items.

    The items of each list are hidden from the whole model:

    - ``random lists``: items drawn at random.
    - ``random heads``: the most attended items of a random head.
    - ``shuffled heads``: the same after the features of the head's keys are shuffled.
    - ``rarest ids`` and ``longest words``: the tokens with the largest ids or the most characters.
    """

    kind: PlaceboKind
    tested: int
    supported: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The number of evaluated copies of all inputs, and the elapsed time."""

    forwards: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit. The numbers in ``heads`` are means over the inputs."""

    model: AuditedModel
    inputs: tuple[Input, ...]
    target: str
    tokens: tuple[TokenEffect, ...]
    heads: HeadTable
    claims: tuple[AuditedClaim, ...]
    placebos: tuple[Placebo, ...]
    cost: Cost

    def to_dict(self) -> Json:
        """Return the audit as plain data, with numbers rounded to six decimals."""
        from attnlens.render.numbers import rounded_all

        data = asdict(replace(self, claims=())) | {"claims": [row.to_dict() for row in self.claims]}
        rounded: Json = rounded_all(data)
        return rounded

    def to_json(self) -> str:
        """Return the audit as JSON."""
        return render_json(self.to_dict())

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one row per claim."""
        import pandas

        rows = [claim.to_dict() for claim in self.claims]
        flat = [{**row, **row["top_change"]} for row in rows]
        return pandas.DataFrame(flat).drop(columns=["changes", "replaced", "top_change"])

    def __repr__(self) -> str:
        return str(resolve_name("attnlens.render.audit:audit_text")(self))

    def _repr_html_(self) -> str:
        return str(resolve_name("attnlens.render.audit:audit_html")(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the audit in the format of the file extension: ``.html``, ``.json`` or ``.md``.

        Raises:
            InputError: the file extension is not supported, or the file cannot be written.
        """
        renderer = _RENDERERS.get(os.path.splitext(path)[1].lower())
        if renderer is None:
            raise InputError(
                "has an unsupported file extension",
                path=path,
                remedy=f"give a name that ends in {', '.join(_RENDERERS)}",
            )
        write_text(path, resolve_name(renderer)(self) + "\n")

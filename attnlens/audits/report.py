"""What an audit found, as plain frozen data; it shows and saves itself."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, Literal, get_args

from attnlens.audits.heads import HeadRow, HeadTable
from attnlens.errors import InputError
from attnlens.evidence.result import ClaimResult
from attnlens.files import Json, render_json, write_text

if TYPE_CHECKING:
    import pandas

Kind = Literal["weighed most", "weighed", "attended", "last items", "head"]
PlaceboKind = Literal["random lists", "random heads", "shuffled heads"]
PLACEBOS: Final[tuple[PlaceboKind, ...]] = get_args(PlaceboKind)
_RENDERERS: Final = {
    ".html": "attnlens.render.audit:audit_page",
    ".json": "attnlens.audits.report:Audit.to_json",
    ".md": "attnlens.render.audit:audit_markdown",
}
"""By the ending of a file: the function that gives its text."""


@dataclass(frozen=True, slots=True)
class Audited:
    """The model: its class, and how much attention it has."""

    name: str
    parameters: int
    sites: int
    heads: int


@dataclass(frozen=True, slots=True)
class Input:
    """One input: its items, those left out of claims, and what the model answered.

    Attributes:
        sinks: labels of what holds attention whatever stands there.
        probability: of the target; None of a number or an embedding.
    """

    text: str | None
    items: tuple[str, ...]
    sinks: tuple[str, ...]
    target: str
    probability: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """An outcome's change, percentage points."""

    outcome: str
    points: float


@dataclass(frozen=True, slots=True)
class TopChange(Change):
    """The outcome that moves most, before and after."""

    before: float
    after: float


class AuditedClaim(ClaimResult):
    """A claim of an audit and its result; beside the input and the labels of what was hidden.

    Attributes:
        input: which one, from 0.
        scale, head: the site and the name of the head that a claim is about.
        removed, items: what was hidden, by position and by label.
    """

    kind: Kind
    direction: None = None
    changes: tuple[Change, ...]
    top_change: TopChange
    replaced: None = None
    input: int
    items: tuple[str, ...]

    def to_dict(self) -> Json:
        """As plain data: the input first, labels beside positions."""
        fields = self.model_dump()
        data: Json = {"input": fields.pop("input")}
        items = fields.pop("items")
        for name, value in fields.items():
            data[name] = value
            if name == "removed":
                data["items"] = items
        return data


@dataclass(frozen=True, slots=True)
class Placebo:
    """Lists of which nothing is known to be true, each judged as a claim alone would be.

    ``random lists`` are drawn evenly: those told as supported are false alarms. ``random heads``
    are what heads drawn at random look at, hidden from the whole model; ``shuffled heads`` what
    the same heads would look at with the features of their keys in another order than those of
    their queries, so that nothing that they have learnt is left in it.
    """

    kind: PlaceboKind
    tested: int
    supported: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Inputs that the model has read, copies with something hidden among them, and seconds."""

    forwards: int
    seconds: float


def _as_dict(row: AuditedClaim | Input | Placebo | HeadRow) -> Json:
    return row.to_dict() if isinstance(row, AuditedClaim) else asdict(row)


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit.

    Attributes:
        target: what was asked, in words.
        heads: one row each, means over the inputs, in the order of layers.
    """

    model: Audited
    inputs: tuple[Input, ...]
    target: str
    heads: HeadTable
    claims: tuple[AuditedClaim, ...]
    placebos: tuple[Placebo, ...]
    cost: Cost

    def to_dict(self) -> Json:
        """As plain data, numbers to six decimals."""
        from attnlens.render.numbers import rounded_all

        data: Json = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in data.items():
            if isinstance(value, tuple):
                data[name] = [_as_dict(row) for row in value]
            elif not isinstance(value, str):
                data[name] = asdict(value)
        rounded: Json = rounded_all(data)
        return rounded

    def to_json(self) -> str:
        """As JSON."""
        return render_json(self.to_dict())

    def to_pandas(self) -> pandas.DataFrame:
        """One row per claim."""
        import pandas

        rows = [claim.to_dict() for claim in self.claims]
        flat = [{**row, **row["top_change"]} for row in rows]
        return pandas.DataFrame(flat).drop(columns=["changes", "replaced", "top_change"])

    def __repr__(self) -> str:
        return str(resolve_name("attnlens.render.audit:audit_text")(self))

    def _repr_html_(self) -> str:
        return str(resolve_name("attnlens.render.audit:audit_html")(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page, data or a document, as the name ends: ``.html``, ``.json``, ``.md``.

        Raises:
            InputError: another ending, or a file that cannot be written.
        """
        renderer = _RENDERERS.get(os.path.splitext(path)[1].lower())
        if renderer is None:
            raise InputError(
                "is none of the forms that an audit has",
                path=path,
                remedy=f"give a name that ends in {', '.join(_RENDERERS)}",
            )
        write_text(path, resolve_name(renderer)(self) + "\n")

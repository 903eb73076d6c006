"""The result of a claim's test as typed data that is written as JSON.

Explanations and audits have the same fields, which are listed once, here. Where a field can hold
less, such as one of a few kinds, their own classes narrow its type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from attnlens.evidence.verdict import Verdict

if TYPE_CHECKING:
    from attnlens.evidence.claim import C, ClaimTest

Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def _writable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair cannot be written as text") from None
    return text


Text = Annotated[str, AfterValidator(_writable)]


class Plain(BaseModel):
    """Frozen, and closed to any key that is not listed."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        # Without it, fields with defaults would be missing from "required".
        json_schema_serialization_defaults_required=True,
        protected_namespaces=(),
    )


class ClaimResult(Plain):
    """A claim, the intervention that tests it, and the verdict; `evidence[]` of an explanation.

    Fields are those of `attnlens.evidence.claim.ClaimTest`, rounded; ``controls`` is how many
    control sets there were, and the quantiles are `attnlens.evidence.claim.QUANTILES`.
    """

    claim: Text
    scale: str | None
    head: str | None
    kind: str
    reference: Flag
    removed: tuple[int, ...]
    removed_from: Literal["model", "head"]
    outcome: str | None
    direction: str | None = None
    effect_nats: Finite
    single_effects: tuple[Finite, ...]
    share: Share | None
    changes: tuple[Any, ...]
    top_change: Any
    control: str | None
    controls: Count
    control_median_nats: Finite | None
    control_quantiles_nats: Annotated[tuple[Finite, ...], Field(min_length=5, max_length=5)] | None
    statistic: Finite | None = None
    statistic_quantiles: tuple[Finite, ...] | None = None
    p: Share | None
    q: Share | None
    replaced: Any
    verdict: Verdict | None
    reason: Text | None


def figures(
    test: ClaimTest[C], nats: Callable[[float], float], share: Callable[[float], float]
) -> dict[str, Any]:
    """The fields of a `ClaimResult` that follow from the test alone.

    Args:
        nats, share: round an effect, and a share or a p-value.
    """
    from attnlens.evidence.claim import QUANTILES, quantiles

    null_nats, null_statistics = (
        None if values is None else tuple(nats(value) for value in values)
        for values in (quantiles(test.null_effects), quantiles(test.null_statistics))
    )
    return {
        "claim": test.claim.text,
        "removed": test.claim.removed,
        "removed_from": test.removed_from,
        "effect_nats": nats(test.effect),
        "single_effects": tuple(nats(effect) for effect in test.singles.tolist()),
        "share": None if test.share is None else share(test.share),
        "controls": len(test.null_effects),
        "control_median_nats": None if null_nats is None else null_nats[QUANTILES.index(0.5)],
        "control_quantiles_nats": null_nats,
        "statistic": None if test.p is None else nats(test.statistic),
        "statistic_quantiles": null_statistics,
        "p": None if test.p is None else share(test.p),
        "q": None if test.q is None else share(test.q),
        "verdict": test.verdict,
        "reason": test.reason,
    }

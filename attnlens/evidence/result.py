"""Typed data for the result of testing a claim, as in the JSON of explanations and audits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from attnlens.evidence.verdict import Verdict

if TYPE_CHECKING:
    from attnlens.evidence.claim import C, ClaimTest

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def _writable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("text with an unpaired surrogate cannot be written as UTF-8") from None
    return text


Text = Annotated[str, AfterValidator(_writable)]


class Plain(BaseModel):
    """Base class of pydantic models that are frozen and reject unknown keys."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        # Otherwise, "required" in the JSON schema would not list fields with defaults.
        json_schema_serialization_defaults_required=True,
        protected_namespaces=(),
    )


class ClaimResult(Plain):
    """A claim, the intervention that tests the claim, and the verdict.

    In the JSON of an explanation, ``evidence`` is a list with one such object for each claim. The
    fields have the same meaning as in `attnlens.evidence.claim.ClaimTest`, but the numbers are
    rounded. ``control_sets`` is the number of control sets. Quantiles are given at the levels
    `QUANTILES`. ``effect_log_odds`` is the decrease of the log-odds of ``outcome`` when the items
    are hidden. A positive value means that the items raise the outcome's probability.
    ``single_effects`` contains the decrease of the log-odds when each item is hidden alone. If the
    effect is measured on the whole distribution, ``effect_log_odds`` is ``None`` and
    ``single_effects`` is in nats.
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
    effect_log_odds: Finite | None = None
    single_effects: tuple[Finite, ...]
    share: Share | None
    changes: tuple[Any, ...]
    top_change: Any
    control: str | None
    control_sets: Count
    control_median_nats: Finite | None
    control_quantiles_nats: Annotated[tuple[Finite, ...], Field(min_length=5, max_length=5)] | None
    statistic: Finite | None = None
    statistic_quantiles: tuple[Finite, ...] | None = None
    p: Share | None
    q: Share | None
    replaced: Any
    verdict: Verdict | None
    reason: Text | None


def claim_fields(
    test: ClaimTest[C],
    outcome: int | None,
    *,
    nats: Callable[[float], float],
    share: Callable[[float], float],
) -> dict[str, Any]:
    """Return the fields of a `ClaimResult` that depend only on the test.

    Args:
        outcome: the outcome (column) of the effect; ``None`` for all outcomes.
        nats: a function that rounds effects.
        share: a function that rounds shares and p-values.
    """
    # Imported here, because a page that only shows an explanation does not need numpy.
    import numpy as np

    null_nats, null_statistics = (
        tuple(map(nats, np.quantile(values, QUANTILES).tolist())) if len(values) else None
        for values in (test.null_effects, test.null_statistics)
    )
    return {
        "claim": test.claim.text,
        "removed": test.claim.removed,
        "removed_from": test.removed_from,
        "effect_nats": nats(test.effect),
        "effect_log_odds": None if outcome is None else nats(test.log_odds_change([outcome])),
        "single_effects": tuple(nats(effect) for effect in test.singles.tolist()),
        "share": None if test.share is None else share(test.share),
        "control_sets": len(test.null_effects),
        "control_median_nats": None if null_nats is None else null_nats[QUANTILES.index(0.5)],
        "control_quantiles_nats": null_nats,
        "statistic": None if test.p is None else nats(test.statistic),
        "statistic_quantiles": null_statistics,
        "p": None if test.p is None else share(test.p),
        "q": None if test.q is None else share(test.q),
        "verdict": test.verdict,
        "reason": test.reason,
    }

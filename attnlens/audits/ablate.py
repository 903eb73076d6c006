"""Measure how much a loss changes when a head is removed, and compare with random heads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.audits.head_table import site_places
from attnlens.audits.inputs import AuditInput, is_masked_model, split_inputs
from attnlens.audits.screen import answer_of, output_of
from attnlens.errors import InputError
from attnlens.evidence.claim import N_DRAWS
from attnlens.evidence.verdict import benjamini_hochberg
from attnlens.files import Floats
from attnlens.recording import intervene, record

if TYPE_CHECKING:
    import pandas

Loss = Callable[[Any], Tensor]
How = Literal["zero", "mean"]

_MASKED_EVERY: Final = 7
"""BERT's training masks 15% of the tokens (Devlin et al. 2019, "BERT", section 3.1)."""
_RANDOM_HEADS: Final = 20
_MAX_ENUMERATED_INPUTS: Final = 12
"""For more inputs, the sign-flip test draws `N_DRAWS` random flips."""


@dataclass(frozen=True, slots=True)
class Ablated:
    """The effect of removing one head.

    Attributes:
        change: the change in the mean loss.
        beyond: ``change`` minus the mean change for random other heads.
        p: the one-sided p-value of ``beyond`` in a sign-flip test; None for a single input.
        q: ``p`` after the Benjamini-Hochberg correction over all listed heads.
    """

    name: str
    layer: int
    head: int
    site: str
    change: float
    beyond: float
    p: float | None
    q: float | None


@dataclass(frozen=True, slots=True)
class Ablation:
    """The effects of removing single heads, sorted by decreasing ``change``.

    Attributes:
        inputs: the number of inputs.
        loss: the mean loss of the complete model.
        random: the change in the mean loss for each random head.
    """

    how: How
    inputs: int
    loss: float
    heads: tuple[Ablated, ...]
    random: tuple[float, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one row per head."""
        import pandas

        return pandas.DataFrame([asdict(head) for head in self.heads])

    def __repr__(self) -> str:
        return str(resolve_name("attnlens.render.audit:ablation_text")(self))


def ablate(
    model: nn.Module,
    inputs: Any,
    loss: Loss | None = None,
    *,
    tokens: Any = None,
    heads: str | Sequence[str] = "each",
    how: How = "zero",
    seed: int = 0,
) -> Ablation:
    """Measure how much a loss changes when each head is removed, with random heads for comparison.

    Args:
        model: the model, in `eval` mode.
        inputs: as in `attnlens.audit`. P-values need at least two inputs.
        tokens: as in `attnlens.audit`.
        loss: a function that maps the output for one input to a tensor with one element. None: the
            model's own loss for inputs with ``labels``. Without ``labels``, the loss is the mean
            next-token cross-entropy in nats, without padding. For a masked language model, the loss
            is the mean cross-entropy of the masked tokens. If its text has no mask token, every
            seventh token is masked.
        heads: ``"each"``, or names such as ``["L16H0"]``. Controls are up to 20 random other heads.
        how: ``"zero"``: the head's weights become 0. ``"mean"``: the head attends evenly to all
            visible keys.
        seed: the random seed.

    Raises:
        InputError: an input is invalid, a head does not exist, or there is no loss.
        InterventionError: the attention of the model cannot be changed.

    Reference:
        Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
    """
    if how not in ("zero", "mean"):
        raise InputError(
            f"how={how!r} is not a way to ablate a head", remedy="use 'zero' or 'mean'"
        )
    single_inputs = split_inputs(model, inputs, tokens)
    if loss is None:
        for single_input in single_inputs:
            single_input.mask_tokens(_MASKED_EVERY)
    heads_by_name = _heads_of(single_inputs[0])
    selected = list(heads_by_name) if heads == "each" else _selected_heads(heads, heads_by_name)

    def losses() -> Floats:
        return np.array([_loss(single_input, loss) for single_input in single_inputs])

    generator = np.random.default_rng(seed)
    control_pool = [name for name in heads_by_name if heads == "each" or name not in selected]
    control_heads = generator.permutation(control_pool)[:_RANDOM_HEADS].tolist()
    full = losses()

    def change(name: str) -> Floats:
        _, _, head, site = heads_by_name[name]
        edit: Any = {"scale": 0.0} if how == "zero" else {"replace": _even}
        with intervene(model, sites=[site], heads=head, **edit):
            return losses() - full

    changes = {name: change(name) for name in dict.fromkeys([*selected, *control_heads])}
    random = np.array([changes[name] for name in control_heads])
    more = {name: changes[name] - _mean_of_others(random, control_heads, name) for name in selected}
    p_values = [_p(more[name], generator) for name in selected]
    known_p = [p for p in p_values if p is not None]
    q_values = benjamini_hochberg(known_p) if known_p else [None] * len(selected)
    rows = [
        Ablated(*heads_by_name[name], float(changes[name].mean()), float(more[name].mean()), p, q)
        for name, p, q in zip(selected, p_values, q_values, strict=True)
    ]
    rows.sort(key=lambda row: -row.change)
    means = random.mean(1) if len(random) else np.zeros(0)
    return Ablation(how, len(single_inputs), float(full.mean()), tuple(rows), tuple(means.tolist()))


def _even(weights: Tensor) -> Tensor:
    visible = (weights > 0).to(weights.dtype)
    return visible / visible.sum(-1, keepdim=True).clamp_min(1)


def _heads_of(single_input: AuditInput) -> dict[str, tuple[str, int, int, str]]:
    with torch.no_grad(), record(single_input.model, lazy=True) as recording:
        single_input.ask()
    heads_by_name: dict[str, tuple[str, int, int, str]] = {}
    for site, (stack, layer) in site_places(list(recording)).items():
        for head in range(recording.calls(site)[0].shape[1]):
            name = f"{stack} L{layer}H{head}".strip()
            heads_by_name[name] = (name, layer, head, site)
    return heads_by_name


def _selected_heads(heads: str | Sequence[str], heads_by_name: Mapping[str, object]) -> list[str]:
    selected = [heads] if isinstance(heads, str) else list(dict.fromkeys(heads))
    strange = [name for name in selected if name not in heads_by_name]
    if strange or not selected:
        some = ", ".join(list(heads_by_name)[:6])
        raise InputError(
            f"there is no head {strange[0]!r}" if selected else "no head was named",
            remedy=f"use 'each', or names such as {some} ... (the model has "
            f"{len(heads_by_name)} heads)",
        )
    return selected


@torch.no_grad()
def _loss(single_input: AuditInput, loss: Loss | None) -> float:
    output = single_input.ask()
    if loss is not None:
        loss_value = loss(output)
        if not isinstance(loss_value, Tensor) or loss_value.numel() != 1:
            raise InputError(
                "the loss function did not return a single number",
                remedy="return a tensor of shape () or (batch,)",
            )
        return float(loss_value)
    own_loss = output_of(output, "loss")
    if own_loss is not None:
        return float(own_loss)
    ids = single_input.kwargs.get("input_ids")
    logits = answer_of(output)
    if ids is None or logits.dim() != 3 or ids.shape[1] < 2 or logits.shape[1] != ids.shape[1]:
        raise InputError(
            "these inputs have no built-in loss",
            remedy="give loss=, a function of the model's output",
        )
    logits = logits[0].double()
    if single_input.masked:
        places = torch.tensor(list(single_input.masked), device=logits.device)
        words = torch.tensor(list(single_input.masked.values()), device=logits.device)
        return float(nn.functional.cross_entropy(logits[places], words))
    if is_masked_model(single_input.model):
        raise InputError(
            "the original tokens of the masked positions are unknown",
            remedy="give labels, give loss=, or give a text without mask tokens and its tokenizer",
        )
    real = single_input.attention_mask(ids.shape[1])[0, 1:].to(logits.device)
    return float(nn.functional.cross_entropy(logits[:-1][real], ids[0, 1:][real]))


def _mean_of_others(random: Floats, names: Sequence[str], name: str) -> Floats | float:
    """``random`` has the shape ``(head, input)``."""
    other_rows = [at for at, other in enumerate(names) if other != name]
    return random[other_rows].mean(0) if other_rows else 0.0


def _p(more: Floats, generator: np.random.Generator) -> float | None:
    """One-sided sign-flip test of the mean (Fisher 1935, "The Design of Experiments", s. 21)."""
    count = len(more)
    if count < 2:
        return None
    slack = 1e-12 * float(abs(more).sum())
    if count <= _MAX_ENUMERATED_INPUTS:
        signs = np.array(list(itertools.product((1, -1), repeat=count)))
        return float((signs @ more >= more.sum() - slack).mean())
    signs = generator.choice((1, -1), (N_DRAWS, count))
    return float(((signs @ more >= more.sum() - slack).sum() + 1) / (N_DRAWS + 1))

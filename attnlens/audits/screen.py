"""Determine the target of an audit, and score every head by gradient times attention.

An output that is a number or an embedding is converted to a value between 0 and 1:

- A number ``y`` becomes ``sigmoid((y - y_full) / |y_full - y_hidden|)``. The full input gives
  ``y_full``; hiding all items gives ``y_hidden``.
- An embedding becomes ``(1 + c) / 2`` after averaging over the visible items. The number ``c`` is
  the cosine similarity to the mean embedding of the full input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import torch
from torch import Tensor

from attnlens.attention.focus import sink_items
from attnlens.audits.head_table import HeadTable, heads, whole_records
from attnlens.audits.inputs import AuditInput
from attnlens.errors import InputError, count
from attnlens.evidence.scores import SMALLEST
from attnlens.files import Floats
from attnlens.recording import intervene, record
from attnlens.recording.recording import Recording

TargetChoice = str | int | Callable[[Any], Tensor] | None

Scores = Callable[[Any, Tensor], Tensor]
"""A function ``(output, mask) -> scores``; the mask ``(row, item)`` is true for visible items.

The scores are differentiable and have the shape ``(row, score)``.
"""

_EMBEDDING: Final = "embedding"
_ANY_OTHER: Final = "any other"
_MAX_LISTED: Final = 6
_FUNCTION: Final = (
    "set target= to a function of the output that returns (batch,) or (batch, outcome)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The target of an audit.

    Attributes:
        kind: the scores are the log-odds of one outcome (``one``), the log-probabilities of all
            outcomes (``all``), a number (``number``), or a vector of norm 1 (``embedding``).
        query: the position of the answer; None if there is no single position.
        places: the number of positions in the output.
    """

    name: str
    outcomes: tuple[str, ...]
    kind: Literal["one", "all", "number", "embedding"]
    scores: Scores
    query: int | None = None
    places: int = 0

    def probs(self, scores: Floats, full: Floats, nothing: Floats) -> Floats:
        """Convert scores ``(row, score)`` to probabilities ``(row, outcome)``.

        Args:
            full, nothing: the scores ``(score,)`` with no item hidden and with all items hidden.
        """
        if self.kind == "all":
            return np.exp(scores).clip(SMALLEST)
        if self.kind == "embedding":
            first = (1 + scores @ full) / 2
        else:
            odds = scores[:, 0]
            if self.kind == "number":
                odds = (odds - full[0]) / (float(abs(full - nothing)[0]) or 1.0)
            first = 1 / (1 + np.exp(-odds.clip(-700, 700)))
        first = first.clip(SMALLEST, 1 - SMALLEST)
        return np.stack([first, 1 - first], -1)


def resolve_target(
    single_input: AuditInput, output: Any, choice: TargetChoice, *, causal: Collection[int]
) -> Target:
    """Return the target for the output of one input.

    Args:
        causal: the sequence lengths at which the model's attention is causal.

    Raises:
        InputError: the target does not exist. The message lists the available targets.
    """
    if callable(choice):
        return _of_function(choice, output)
    states = output_of(output, "last_hidden_state")
    if states is not None and output_of(output, "logits") is None:
        return _embedding(choice)
    answer = answer_of(output)
    step = re.fullmatch(r"step (\d+)(?:,? channel (\d+))?", str(choice))
    forecast = output_of(output, "prediction_outputs") is not None
    if step or forecast or answer.dim() == 1 or answer.shape[1:] == (1,):
        return _step(answer, choice, step)
    if answer.dim() == 2:
        names = getattr(getattr(single_input.model, "config", None), "id2label", None)
        return _class(answer, choice, names if isinstance(names, Mapping) else {})
    if answer.dim() == 3:
        return _token(single_input, answer, choice, answer.shape[1] in causal)
    raise InputError(
        f"no target is known for a model output of shape {tuple(answer.shape)}",
        remedy=_FUNCTION,
    )


def output_of(output: Any, name: str) -> Tensor | None:
    value = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
    return value if isinstance(value, Tensor) else None


def answer_of(output: Any) -> Tensor:
    """Return the logits, the forecast or otherwise the first tensor of an output.

    Raises:
        InputError: the output contains no tensor.
    """
    for name in ("logits", "prediction_outputs"):
        tensor = output_of(output, name)
        if tensor is not None:
            return tensor
    parts: Any = output.values() if isinstance(output, Mapping) else output
    if isinstance(output, Tensor) or not isinstance(parts, Iterable):
        parts = [output]
    for part in parts:
        if isinstance(part, Tensor):
            return part
    raise InputError(
        f"the model's output, of type {type(output).__name__}, contains no tensor to explain",
        remedy=_FUNCTION,
    )


def _of_one(index: int, at: int | None = None) -> Scores:

    def scores(output: Any, _: Tensor) -> Tensor:
        logits = answer_of(output).double()
        logits = logits if at is None else logits[:, at]
        other_logits = torch.cat((logits[:, :index], logits[:, index + 1 :]), -1).logsumexp(-1)
        return (logits[:, index] - other_logits)[:, None]

    return scores


def _class(logits: Tensor, choice: TargetChoice, names: Mapping[Any, str]) -> Target:
    labels = [str(names.get(at, at)) for at in range(logits.shape[1])]
    index = int(logits[0].argmax()) if choice is None else _class_index(choice, labels)
    return Target(f"class {labels[index]}", (labels[index], _ANY_OTHER), "one", _of_one(index))


def _class_index(choice: TargetChoice, labels: Sequence[str]) -> int:
    text = str(choice)
    if text in labels:
        return labels.index(text)
    if text.isdecimal() and int(text) < len(labels):
        return int(text)
    some_labels = ", ".join(labels[:_MAX_LISTED]) + (" ..." if len(labels) > _MAX_LISTED else "")
    raise InputError(
        f"there is no target {text!r}", remedy=f"the model has {len(labels)} classes: {some_labels}"
    )


def _token(single_input: AuditInput, logits: Tensor, choice: TargetChoice, causal: bool) -> Target:
    query, answer_kind = logits.shape[1] - 1, "next token"
    if not causal:
        mask = getattr(single_input.tokenizer, "mask_token_id", None)
        ids = single_input.kwargs.get("input_ids")
        masked = [] if mask is None or ids is None else (ids[0] == mask).nonzero()[:, 0].tolist()
        if not masked:
            word = getattr(single_input.tokenizer, "mask_token", None)
            put = f"put {word} into the text in place of the token to predict, or " if word else ""
            raise InputError(
                f"the model's output of shape {tuple(logits.shape)} has one answer per input "
                "position, and no position was chosen",
                remedy=f"{put}{_FUNCTION}",
            )
        query, answer_kind = masked[0], "masked token"
    # Use index -1 for the last position, because a model may return no other logits.
    at = -1 if query == logits.shape[1] - 1 else query
    token_id = _number(single_input, logits[0, at], choice)
    tokenizer = single_input.tokenizer
    word = repr(tokenizer.decode([token_id])) if tokenizer else str(token_id)
    scores, places = _of_one(token_id, at), logits.shape[1]
    return Target(f"{answer_kind} {word}", (word, _ANY_OTHER), "one", scores, query, places)


def _number(single_input: AuditInput, logits: Tensor, choice: TargetChoice) -> int:
    count = len(logits)
    if choice is None:
        return int(logits.argmax())
    if isinstance(choice, int) or single_input.tokenizer is None:
        if str(choice).isdecimal() and int(choice) < count:  # type: ignore[arg-type]
            return int(choice)  # type: ignore[arg-type]
        raise InputError(
            f"there is no token {choice}", remedy=f"the token numbers are 0 to {count - 1}"
        )
    text, tokenizer = str(choice), single_input.tokenizer
    forms = [
        tokenizer.encode(spelling, add_special_tokens=False) for spelling in (text, f" {text}")
    ]
    single = [form[0] for form in forms if len(form) == 1 and form[0] != tokenizer.unk_token_id]
    if single:
        return int(max(single, key=lambda number: float(logits[number])))
    likeliest = logits.topk(_MAX_LISTED).indices.tolist()
    likely = ", ".join(repr(tokenizer.decode([number])) for number in likeliest)
    raise InputError(
        f"target {text!r} is not a single token of this model",
        remedy=f"the likeliest tokens are {likely}",
    )


def _step(values: Tensor, choice: TargetChoice, match: re.Match[str] | None) -> Target:
    """``values`` has the shape ``(row, step, channel)``; the last two axes can be missing."""
    indices = [int(group or 0) for group in match.groups()] if match else []
    if not match and (choice is None or str(choice).isdecimal()):
        indices = [int(str(choice or 0)), 0]
    sizes = [*values.shape[1:], 1, 1][:2]
    if not indices or any(at >= size for at, size in zip(indices, sizes, strict=True)):
        raise InputError(
            f"there is no target {choice!r}",
            remedy=f"the model has steps 0 to {sizes[0] - 1} and channels 0 to {sizes[1] - 1}: "
            "write 'step 0' or 'step 0, channel 0'",
        )

    def scores(output: Any, _: Tensor) -> Tensor:
        steps = answer_of(output)
        return steps.double().reshape(len(steps), sizes[0], -1)[:, indices[0], indices[1], None]

    channel = f", channel {indices[1]}" if sizes[1] > 1 else ""
    name = f"step {indices[0]}{channel}" if values.dim() > 1 else "the output"
    return Target(name, ("as high", "lower"), "number", scores)


def _embedding(choice: TargetChoice) -> Target:
    if choice not in (None, _EMBEDDING):
        raise InputError(
            f"there is no target {choice!r}",
            remedy=f"use {_EMBEDDING!r} or a function; a model without an output head has no other "
            "target",
        )

    def scores(output: Any, item_mask: Tensor) -> Tensor:
        last = output_of(output, "last_hidden_state")
        assert last is not None
        mean = (last.double() * item_mask[..., None].to(last.device)).sum(1)
        return torch.nn.functional.normalize(mean, dim=-1)

    return Target("the embedding (cosine)", ("the same", "another"), "embedding", scores)


def _of_function(function: Callable[[Any], Tensor], output: Any) -> Target:
    value = function(output)
    name = getattr(function, "__name__", "function").replace("<lambda>", "a function")
    if not isinstance(value, Tensor) or value.dim() not in (1, 2) or len(value) != 1:
        returned = (
            f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        )
        raise InputError(
            f"the target function ({name}) returned {returned}",
            remedy="return a tensor (batch,) or (batch, outcome)",
        )
    if value.dim() == 1 or value.shape[1] == 1:
        return Target(
            name,
            ("as high", "lower"),
            "number",
            lambda output, _: function(output).double().reshape(-1, 1),
        )
    chances = bool((value >= 0).all()) and abs(float(value.sum()) - 1) < 1e-3

    def scores(output: Any, _: Tensor) -> Tensor:
        result = function(output).double()
        return result.clamp_min(SMALLEST).log() if chances else result.log_softmax(-1)

    outcomes = tuple(f"outcome {at}" for at in range(value.shape[1]))
    return Target(name, outcomes, "all", scores)


_PROBES: Final = 4
"""The number of random directions in `importance` for an answer with several numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """The attention of one input before any item is hidden.

    Attributes:
        attention: the weights of the answer's query at each site, with shape ``(head, item)``. If
            the query is unknown, causal attention uses the last query. Other attention uses the
            mean over all queries.
        shuffled: like ``attention``, but with shuffled features of the keys. Only sites with
            recorded queries and keys are included.
        importance: the result of `importance`.
        items: the positions that claims may include.
        left_out: the positions of padding, and the position of the answer.
    """

    target: Target
    labels: tuple[str, ...]
    sites: tuple[str, ...]
    attention: Mapping[str, Floats]
    shuffled: Mapping[str, Floats]
    importance: Mapping[str, Floats]
    sinks: tuple[int, ...]
    items: tuple[int, ...]
    left_out: frozenset[int]
    table: HeadTable


def screen(
    single_input: AuditInput, target: TargetChoice, *, sinks: Collection[int] | None, seed: int
) -> Screening:
    """Record the attention of one input, and score its heads and items for the target.

    Raises:
        InputError: the model has no attention over its items, or a target or sink does not exist.
    """
    with torch.no_grad(), record(single_input.model, lazy=True) as recording:
        output = single_input.ask()
    keys = _keys(recording, single_input.labels)
    records = list(whole_records(recording, keys))
    single_input.folds = {each.site: each.shape[0] for each in records}
    causal = _causal(recording)
    resolved_target = resolve_target(single_input, output, target, causal=causal)
    labels = single_input.labels or tuple(f"item {at}" for at in range(keys))
    if strange := [at for at in sinks or () if not (isinstance(at, int) and 0 <= at < keys)]:
        raise InputError(f"there is no item {strange[0]}", remedy=f"the items are 0 to {keys - 1}")
    if sinks is None:
        sinks = sink_items(records, single_input.labels, single_input.special)
    padding = (~single_input.attention_mask(keys)[0]).nonzero()[:, 0].tolist()
    left_out = {*padding}
    if resolved_target.query is not None and resolved_target.places == keys:
        left_out.add(resolved_target.query)
    left = {*sinks, *single_input.special, *left_out}

    def paid(weights: Tensor) -> Floats:
        queries, count = weights.shape[-2:]
        read = resolved_target.query if resolved_target.places == queries else None
        if read is None and queries == count in causal:
            read = -1
        rows = weights.double().mean(0).cpu()
        return np.asarray(rows.mean(1) if read is None else rows[:, read])

    generator = torch.Generator().manual_seed(seed)
    lazy = {each.site: recording.calls(each.site)[0].lazy for each in records}
    shapes = {each.site: each.shape for each in records}
    return Screening(
        resolved_target,
        labels,
        tuple(shapes),
        {each.site: paid(each.weights) for each in records},
        {
            site: paid(weights.shuffled(generator).weights())
            for site, weights in lazy.items()
            if weights
        },
        importance(single_input, resolved_target, shapes, seed=seed),
        tuple(sorted(sinks)),
        tuple(at for at in range(keys) if at not in left),
        frozenset(left_out),
        heads(Recording(records), labels, sinks=sinks),
    )


def _causal(recording: Recording) -> frozenset[int]:
    """Return the sequence lengths at which the attention of all sites is causal."""
    square = [each for each in recording.records() if each.shape[-2] == each.shape[-1]]
    bidirectional = {each.shape[-1] for each in square if bool(each.weights.triu(1).any())}
    return frozenset({each.shape[-1] for each in square} - bidirectional)


def _keys(recording: Recording, labels: Sequence[str] | None) -> int:
    counts = Counter(each.shape[-1] for each in recording.records())
    if labels is None:
        return counts.most_common(1)[0][0]
    if len(labels) not in counts:
        raise InputError(
            f"{count(len(labels), 'label')} given, but no attention has that many keys",
            remedy="give one label per key: the attention has "
            f"{', '.join(map(str, sorted(counts)))} keys",
        )
    return len(labels)


def importance(
    single_input: AuditInput, target: Target, shapes: Mapping[str, Sequence[int]], *, seed: int = 0
) -> dict[str, Floats]:
    """Return the magnitude of gradient times attention, summed over queries.

    If the answer has several numbers, the result is the root mean square over random directions.
    The square roots of the probabilities weight the log-probabilities (Fisher metric).

    Args:
        shapes: the shape of each site's weights, ``(batch, head, query, key)``.

    Returns:
        a dict from each site to a non-negative array ``(head, key)``.

    Reference:
        Michel et al. 2019, "Are Sixteen Heads Really Better than One?"; Barkan et al. 2021,
        "Grad-SAM" (gradient times attention).
    """
    gates = {
        site: torch.ones(1, shape[1], 1, shape[3], requires_grad=True)
        for site, shape in shapes.items()
    }
    with torch.enable_grad(), intervene(single_input.model, scale=gates):
        output = single_input.ask()
        keys = next(iter(shapes.values()))[3]
        scores = target.scores(output, single_input.attention_mask(keys))[0].cpu()
    squares: list[Tensor] = [torch.zeros(gate.shape[1:]) for gate in gates.values()]
    directions = _directions(scores.detach(), target, seed)
    for direction in directions:
        moves = torch.autograd.grad(
            (direction * scores).sum(), list(gates.values()), retain_graph=True, allow_unused=True
        )
        for square, move in zip(squares, moves, strict=True):
            square += 0 if move is None else move[0].cpu() ** 2
    importances = [(square[:, 0] / len(directions)).sqrt().double().numpy() for square in squares]
    return dict(zip(gates, importances, strict=True))


def _directions(scores: Tensor, target: Target, seed: int) -> list[Any]:
    if len(scores) == 1:
        return [1.0]
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (_PROBES, len(scores)), generator=generator).double() * 2 - 1
    return list(signs * (scores / 2).exp() if target.kind == "all" else signs)

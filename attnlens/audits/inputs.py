"""Split a model's inputs into single inputs, and compute outputs with some items hidden."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.errors import AttnlensError, InputError, RecordingError
from attnlens.files import Flags
from attnlens.recording import intervene, record
from attnlens.recording.recording import Recording

_MAX_FORWARD_ITEMS: Final = 1024
"""The maximum number of items per forward pass, unless a single input is longer."""

KeywordArgs = dict[str, Any]

_GIVE: Final = "give tensors, a dict of the model's arguments, or a text with its tokenizer"
_READS: Final = ("max_position_embeddings", "n_positions", "max_source_positions", "n_ctx")


@dataclass(eq=False)
class AuditInput:
    """One input of a model, as a batch of size 1.

    Attributes:
        labels: the labels of the items; None if unknown.
        special: the positions of special tokens.
        folds: the number of batch rows per input at each site; more than 1 if channels are rows.
        rows: the number of evaluated copies of the input.
        masked: maps masked positions to original token ids; filled by `mask_tokens`.
    """

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: KeywordArgs = field(default_factory=dict)
    text: str | None = None
    tokenizer: Any = None
    labels: tuple[str, ...] | None = None
    special: frozenset[int] = frozenset()
    folds: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    masked: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add the start token to the inputs of an encoder-decoder without decoder input."""
        config = getattr(self.model, "config", None)
        start = getattr(config, "decoder_start_token_id", None)
        output_names = {"decoder_input_ids", "labels"} & self.kwargs.keys()
        has_output = output_names or len(self.args) > 1
        if getattr(config, "is_encoder_decoder", False) and start is not None and not has_output:
            values = (*self.args, *self.kwargs.values())
            devices = [value.device for value in values if isinstance(value, Tensor)]
            ids = torch.tensor([[start]], device=devices[0] if devices else None)
            self.kwargs = self.kwargs | {"decoder_input_ids": ids}

    @property
    def takes(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the model's ``forward`` method."""
        return inspect.signature(self.model.forward).parameters

    def ask(self, copies: int = 1, **more: Any) -> Any:
        """Return the model's output for ``copies`` copies of the input.

        Raises:
            InputError: the model cannot be called with this input.
        """

        def copied(value: Any) -> Any:
            single = isinstance(value, Tensor) and value.dim() > 0 and value.shape[0] == 1
            return value.expand(copies, *value.shape[1:]) if single else value

        self.rows += copies
        kwargs = {name: copied(value) for name, value in self.kwargs.items()}
        if "use_cache" in self.takes and "use_cache" not in kwargs:
            kwargs["use_cache"] = False
        try:
            return self.model(*map(copied, self.args), **kwargs, **more)
        except AttnlensError:
            raise
        except (TypeError, ValueError, RuntimeError, IndexError, KeyError) as error:
            detail = " ".join(str(error).split())[:200]
            raise InputError(
                f"the model cannot be called with this input ({type(error).__name__}: {detail})",
                remedy=f"give inputs as a dict of the model's arguments: {', '.join(self.takes)}",
            ) from error

    def mask_tokens(self, every: int = 0) -> None:
        """Mask tokens of an unmasked input for a model that predicts masked tokens.

        Args:
            every: the distance between two masked tokens; 0 masks only the last token.
        """
        mask = getattr(self.tokenizer, "mask_token_id", None)
        ids = self.kwargs.get("input_ids")
        if mask is None or ids is None or not is_masked_model(self.model) or (ids == mask).any():
            return
        real = self.attention_mask(ids.shape[1])[0].tolist()
        places = [at for at in range(ids.shape[1]) if real[at] and at not in self.special]
        places = places[every // 2 :: every] if every else places[-1:]
        self.masked = {at: int(ids[0, at]) for at in places}
        ids = ids.clone()
        ids[0, places] = mask
        self.kwargs = self.kwargs | {"input_ids": ids}
        if self.labels is not None:
            word = self.tokenizer.mask_token
            self.labels = tuple(
                word if at in self.masked else label for at, label in enumerate(self.labels)
            )

    def attention_mask(self, items: int) -> Tensor:
        """Return a mask ``(1, item)`` that is false for padding."""
        mask = self.kwargs.get("attention_mask")
        if isinstance(mask, Tensor) and mask.shape == (1, items):
            return mask.bool().cpu()
        return torch.ones(1, items, dtype=torch.bool)

    @torch.no_grad()
    def hidden(self, hide: Mapping[str, Flags], **more: Any) -> Iterator[tuple[Any, Tensor]]:
        """Run the model on copies of the input with some items hidden.

        Args:
            hide: maps each site to a mask ``(copy, item)`` or ``(copy, head, item)``, which is true
                for hidden items.

        Yields:
            for each batch of copies, an output, and a mask ``(copy, item)`` that is false for
            padding and for items hidden from all heads.
        """
        first = next(iter(hide.values()))
        items = first.shape[-1]
        step = max(1, _MAX_FORWARD_ITEMS // items)
        for start in range(0, len(first), step):
            rows = torch.from_numpy(first[start : start + step])
            visible = self.attention_mask(items).expand(len(rows), -1)
            if rows.dim() == 2:
                visible = visible & ~rows
            hidden = {}
            for site, flags in hide.items():
                some = torch.from_numpy(flags[start : start + step])
                some = some[:, :, None] if rows.dim() == 3 else some
                hidden[site] = some.repeat_interleave(self.folds.get(site, 1), 0)
            with intervene(self.model, hide=hidden):
                output = self.ask(len(rows), **more)
            yield output, visible


def is_masked_model(model: nn.Module) -> bool:
    """Return whether a model was built to predict masked tokens."""
    return type(model).__name__.endswith(("MaskedLM", "ForPreTraining"))


def split_inputs(model: object, inputs: Any, tokens: Any = None) -> list[AuditInput]:
    """Split the inputs of a model into single inputs.

    Args:
        inputs, tokens: as in `attnlens.audit`.

    Raises:
        InputError: the model is not a torch model in `eval` mode, or an input is invalid.
    """
    if not isinstance(model, nn.Module):
        message = type(model).__name__
        raise InputError(
            f"an audit needs a torch.nn.Module, but got {message}",
            remedy="give a model, a folder, a .gguf file, or module:function",
        )
    if model.training:
        raise InputError(
            "the model is in training mode, so its outputs vary between calls",
            remedy="call model.eval() first",
        )
    texts = [inputs] if isinstance(inputs, str) else inputs
    if isinstance(texts, Sequence) and texts and all(isinstance(text, str) for text in texts):
        return [_of_text(model, text, tokens) for text in texts]
    labels = None
    if isinstance(tokens, Sequence) and not isinstance(tokens, str):
        labels = tuple(map(str, tokens))
    kwargs = dict(inputs) if isinstance(inputs, Mapping) else {}
    args = (inputs,) if isinstance(inputs, Tensor) else ()
    if isinstance(inputs, Sequence):
        args = tuple(inputs)
    tensors = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor) and arg.dim()]
    if not tensors or not all(map(len, tensors)):
        empty = inputs is None or (hasattr(inputs, "__len__") and not len(inputs)) or tensors
        message = (
            "no input was given"
            if empty
            else f"an input cannot have the type {type(inputs).__name__}"
        )
        raise InputError(message, remedy=_GIVE)
    batch = len(tensors[0])

    def row(value: Any, at: int) -> Any:
        if isinstance(value, Tensor) and value.is_inference():
            value = value.clone()
        is_batched = isinstance(value, Tensor) and value.dim() and len(value) == batch
        return value[at : at + 1] if is_batched else value

    single_inputs = [
        AuditInput(
            model,
            tuple(row(value, at) for value in args),
            {name: row(value, at) for name, value in kwargs.items()},
            labels=labels,
        )
        for at in range(batch)
    ]
    if labels is None and tokens is not None:
        return [_with_labels(each, tokens) for each in single_inputs]
    return single_inputs


def record_input(model: nn.Module, inputs: Any, tokens: Any = None) -> Recording:
    """Record the attention of one input, with items as the labels of queries and keys.

    Raises:
        InputError: an input is invalid (see `split_inputs`), or there are several inputs.
    """
    single_inputs = split_inputs(model, inputs, tokens)
    if len(single_inputs) > 1:
        raise InputError(f"{len(single_inputs)} inputs were given", remedy="give exactly one")
    with torch.no_grad(), record(model) as recording:
        single_inputs[0].ask()
    for axis in ("query", "key"):
        if single_inputs[0].labels is not None:
            with suppress(RecordingError):  # raised if the axis has a different length
                recording = recording.labelled(**{axis: single_inputs[0].labels})
    return recording


def _of_text(model: nn.Module, text: str, tokenizer: Any) -> AuditInput:
    if not callable(tokenizer):
        raise InputError(
            "a text cannot be read without its tokenizer",
            remedy="give the model's tokenizer as tokens=",
        )
    if not text.strip():
        raise InputError("the text is empty", remedy="give a sentence")
    if text.encode(errors="ignore").decode() != text:
        raise InputError("the text contains bytes that are not UTF-8", remedy="save it as UTF-8")
    encoded = dict(tokenizer(text, return_tensors="pt"))
    count = encoded["input_ids"].shape[1]
    if not count:
        raise InputError(
            "the tokenizer made no tokens from the text",
            remedy="give another text or another tokenizer",
        )
    config = getattr(model, "config", None)
    max_tokens = min(
        (getattr(config, name) for name in _READS if getattr(config, name, None)), default=0
    )
    if max_tokens and count > max_tokens:
        raise InputError(
            f"the text has {count:,} tokens, but the model reads at most {max_tokens:,}",
            remedy="shorten the text",
        )
    parameters = inspect.signature(model.forward).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    encoded = {
        name: tensor.to(device)
        for name, tensor in encoded.items()
        if open_ended or name in parameters
    }
    return _with_labels(AuditInput(model, kwargs=encoded, text=text), tokenizer)


def _with_labels(single_input: AuditInput, tokenizer: Any) -> AuditInput:
    ids = single_input.kwargs.get("input_ids", single_input.args[0] if single_input.args else None)
    if ids is None or not hasattr(tokenizer, "decode"):
        raise InputError(
            "tokens= is neither a tokenizer of these inputs nor a list of one label per item",
            remedy="give the tokenizer, or one label per item",
        )
    numbers = ids[0].tolist()
    special = set(getattr(tokenizer, "all_special_ids", ()))
    single_input.labels = tuple(tokenizer.decode([number]) for number in numbers)
    single_input.special = frozenset(at for at, number in enumerate(numbers) if number in special)
    single_input.tokenizer = tokenizer
    return single_input

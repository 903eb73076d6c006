"""The models of ``benchmarks/recording.py``, and the ways to read their attention weights.

A way is a function that runs the model on an input and returns the recorded weights. A function in
`WAYS` creates the way of one tool for one case. It raises `ImportError` if the tool is not
installed, and `NotForThis` if the tool does not support the case. The models have random weights,
and nothing is downloaded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from recording import Case
from torch import Tensor, nn

import attnlens
from attnlens.recording import capture
from attnlens.recording.save import tensors_of

VOCABULARY = 1000


class NotForThis(Exception):
    """The tool does not support this model or this size of input."""


class Block(nn.Module):
    """A transformer layer as in GPT-2, with layer norms first and fused projections."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.attended(x)
        return x + self.mlp(self.ln_2(x))

    def attended(self, x: Tensor) -> Tensor:
        joined = self.attn(self.ln_1(x)).unflatten(-1, (3, self.heads, -1))
        q, k, v = joined.permute(2, 0, 3, 1, 4)
        return x + self.proj(self.mixed(q, k, v).transpose(1, 2).flatten(2))

    def mixed(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class ByHand(Block):
    """A transformer layer that computes attention with matrix products and a softmax."""

    def mixed(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


class Layer(nn.Module):
    """The first half of a transformer layer: its attention."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.block = Block(case.width, case.heads)

    def forward(self, x: Tensor) -> Tensor:
        return self.block.attended(x)


def hugging_face(case: Case, attention: str) -> nn.Module:
    """Return a GPT-2 model with the sizes of a case."""
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=max(case.tokens, 64),
        n_embd=case.width,
        n_layer=case.layers,
        n_head=case.heads,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
        attn_implementation=attention,
    )
    torch.manual_seed(0)
    return GPT2Model(config).eval()


def encoder(case: Case) -> nn.Module:
    """Return an ``nn.TransformerEncoder`` with the sizes of a case."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(case.width, case.heads, 4 * case.width, batch_first=True)
    model = nn.TransformerEncoder(layer, case.layers, enable_nested_tensor=False)
    return model.eval()


def plain_model(case: Case) -> nn.Module:
    """Return the model of a case, without recording.

    Every way is compared with its forward pass.
    """
    torch.manual_seed(0)
    if case.model == "encoder":
        return encoder(case)
    if case.model == "layer":
        return Layer(case).eval()
    if case.model == "by hand":
        blocks = (ByHand(case.width, case.heads) for _ in range(case.layers))
        return nn.Sequential(*blocks).eval()
    return hugging_face(case, "sdpa")


def input_of(case: Case) -> Tensor:
    """Return random tokens, or random vectors for a model without embeddings."""
    generator = torch.Generator().manual_seed(1)
    if case.model == "trunk":
        size = (case.batch, case.tokens)
        return torch.randint(VOCABULARY, size, generator=generator)
    size = (case.batch, case.tokens, case.width)
    return torch.randn(size, generator=generator)


Way = Callable[[Tensor], Any]


def _ours(**options: Any) -> Callable[[Case, nn.Module], Way]:
    def make(_: Case, model: nn.Module) -> Way:
        def way(x: Tensor) -> attnlens.Recording:
            with attnlens.record(model, **options) as recording:
                model(x)
            return recording

        return way

    return make


def _top(case: Case, model: nn.Module) -> Way:
    return _ours(top_k=min(16, case.tokens))(case, model)


def _eager(case: Case, _: nn.Module) -> Way:
    _only("trunk", case, "reads Hugging Face models")
    model = hugging_face(case, "eager")
    return lambda x: model(x, output_attentions=True).attentions


def _transformer_lens(case: Case, _: nn.Module) -> Way:
    """Use TransformerLens's bridge for Hugging Face models.

    It needs a saved model with a tokenizer.
    """
    _only("trunk", case, "reads Hugging Face models")
    from tokenizers import Tokenizer, models
    from transformer_lens import TransformerBridge
    from transformers import AutoTokenizer, GPT2LMHeadModel, PreTrainedTokenizerFast

    model = GPT2LMHeadModel(hugging_face(case, "eager").config).eval()
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        names = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "a")
        PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(
            folder, tokenizer=AutoTokenizer.from_pretrained(folder)
        )

    def way(x: Tensor) -> list[Tensor]:
        _, cache = bridge.run_with_cache(
            x, return_type=None, names_filter=lambda name: name.endswith("hook_pattern")
        )
        return list(cache.values())

    return way


def _nnsight(case: Case, _: nn.Module) -> Way:
    _only("trunk", case, "saves what modules return, and this encoder's return no weights")
    from nnsight import NNsight

    model = hugging_face(case, "eager")
    wrapped = NNsight(model)

    def way(x: Tensor) -> list[Tensor]:
        kept = []
        with wrapped.trace(x):
            for block in wrapped.h:
                kept.append(block.attn.output[1].save())
        return kept

    return way


def _need_weights(case: Case, model: nn.Module) -> Way:
    _only("encoder", case, "asks modules of torch.nn")
    attention = [part for part in model.modules() if isinstance(part, nn.MultiheadAttention)]

    def ask(_: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        return args, {**named, "need_weights": True, "average_attn_weights": False}

    def way(x: Tensor) -> list[Tensor]:
        kept: list[Tensor] = []
        handles = []
        for part in attention:
            handles.append(part.register_forward_pre_hook(ask, with_kwargs=True))
            handles.append(part.register_forward_hook(lambda *told: kept.append(told[-1][1])))
        try:
            model(x)
        finally:
            for handle in handles:
                handle.remove()
        return kept

    return way


def _in_new_memory(case: Case, model: nn.Module) -> Way:
    """Record all weights in newly allocated memory. Freed memory is not used again."""
    ours = _ours(rows=slice(None))(case, model)

    def way(x: Tensor) -> attnlens.Recording:
        capture._idle.clear()
        return ours(x)

    return way


def _memory_alone(make: Callable[..., Tensor]) -> Callable[[Case, nn.Module], Way]:
    """Run a plain forward pass, and fill the amount of memory that all weights need."""

    def of_case(case: Case, model: nn.Module) -> Way:
        def way(x: Tensor) -> list[Tensor]:
            shape = (case.batch, case.heads, x.shape[1], x.shape[1])
            kept = [make(shape, torch.float32, x.device).fill_(1.0) for _ in range(case.layers)]
            model(x)
            return kept

        return way

    return of_case


def _new(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device)


def _only(kind: str, case: Case, why: str) -> None:
    if case.model != kind:
        raise NotForThis(why)


WAYS: dict[str, Callable[[Case, nn.Module], Way]] = {
    "last row": _ours(rows=-1),
    "all weights": _ours(rows=slice(None)),
    "all weights, new memory": _in_new_memory,
    "top 16": _top,
    "lazy": _ours(lazy=True),
    "Hugging Face eager": _eager,
    "need_weights hooks": _need_weights,
    "new memory alone": _memory_alone(_new),
    "reused memory alone": _memory_alone(capture.empty),
    "TransformerLens": _transformer_lens,
    "nnsight": _nnsight,
}


def bytes_kept(result: Any) -> int:
    """Return the size in bytes of all tensors in the result of a way."""
    if isinstance(result, attnlens.Recording):
        # Tensors that share memory are counted once.
        parts = {
            tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
            for record in result.records()
            for tensor in tensors_of(record).values()
        }
        return sum(parts.values())
    if isinstance(result, Tensor):
        return result.numel() * result.element_size()
    if isinstance(result, list | tuple):
        return sum(map(bytes_kept, result))
    return 0

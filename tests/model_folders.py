"""Folders of Hugging Face models with random weights and a tokenizer of whole words."""

from __future__ import annotations

from pathlib import Path

import torch

TEXT = "the old bridge was closed for repairs after the flood in spring"
WORDS = [*TEXT.split(), *"and nobody saw it coming".split()]  # noqa: SIM905


def saved(folder: Path, model: torch.nn.Module) -> Path:
    """A folder as transformers writes it, with a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", *dict.fromkeys(WORDS)])}
    words = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    ).save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def small_gpt(folder: Path) -> Path:
    """A GPT-2 of two layers."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=2, n_head=2, n_embd=16, vocab_size=20, n_positions=24, bos_token_id=2,
        eos_token_id=2,
    )  # fmt: skip
    return saved(folder, GPT2LMHeadModel(config))

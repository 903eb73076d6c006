"""Sentences in, sentences out: tokens, pairs, training, and explanations that are checked."""

from __future__ import annotations

from attnlens.reference.text.explain import explain_text
from attnlens.reference.text.trained import TextModel

__all__ = ["TextModel", "explain_text"]

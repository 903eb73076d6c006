"""Sentences in, sentences out: tokens, pairs, training, and explanations that are checked."""

from __future__ import annotations

from attnlens.reference.text.text_claims import explain_text
from attnlens.reference.text.text_model import TextModel

__all__ = ["TextModel", "explain_text"]

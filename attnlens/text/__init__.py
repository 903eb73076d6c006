"""Sentences in, sentences out: tokens, pairs, training, and explanations that are checked."""

from __future__ import annotations


from attnlens.text.trained import TextModel

__all__ = ["TextModel"]

"""Asking a language model over HTTP; nothing here knows cricket or explanations."""

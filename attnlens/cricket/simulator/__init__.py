"""Matches that never were, from a generator whose dependencies are known."""

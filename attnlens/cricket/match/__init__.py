"""Immutable data classes for matches, functions that find a ball by name, and scorecards."""

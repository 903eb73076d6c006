"""Sentences about a ball, in which every number and name points to its location in the data."""

"""Sentences about a ball, each number and name tied to its place in the data."""

"""A whole match as a story: who won, where it turned, what surprised, who beat expectation."""

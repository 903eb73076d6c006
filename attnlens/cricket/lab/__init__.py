"""Measure how good a predictor is, what its heads do, and whether attention is faithful."""

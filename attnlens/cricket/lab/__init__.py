"""Measure how good a predictor is, what its heads do, and whether its attention is faithful."""

"""How good a predictor is, what its heads do, and whether attention says what mattered."""

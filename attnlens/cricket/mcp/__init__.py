"""Explanations of balls for language models, over the Model Context Protocol."""

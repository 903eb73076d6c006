"""Pages about cricket for people and language models, made from plain data."""

"""Pages for people and prompts for language models, which are rendered from plain data."""

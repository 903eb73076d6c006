"""Cricket pages for people, and prompts for language models, rendered from plain data."""

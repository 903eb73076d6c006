"""Render text for terminals, HTML pages, Markdown documents and prompts."""

"""Render plain data as pages for people, and as prompts for language models."""

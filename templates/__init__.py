"""Templates of text and pages, installed as ``attnlens.templates``."""

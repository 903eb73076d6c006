"""Templates of text and pages, installed as ``attnlens.templates``. None is in it yet."""

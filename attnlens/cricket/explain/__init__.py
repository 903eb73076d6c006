"""One ball explained: attention read, claims tested, and the document that says so."""

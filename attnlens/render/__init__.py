"""Building blocks of all pages: terminal text, HTML frames and tables, for any subject."""

"""What every page is made of: terminal text, HTML frames, tables. Nothing here knows a subject."""

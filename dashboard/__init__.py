"""The dashboard, which shows a match ball by ball in a browser."""

"""The dashboard: a match ball by ball in the browser; what it shows is computed elsewhere."""

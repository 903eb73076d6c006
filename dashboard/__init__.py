"""The dashboard: shows a match ball by ball in the browser, with content computed elsewhere."""

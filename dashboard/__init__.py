"""The dashboard: a match walked through ball by ball in the browser.

It is handed what it needs (`attnlens.dashboard.functions.Functions`), knows no model and reads
no file itself; plotly is in `attnlens.dashboard.figures` alone.
"""

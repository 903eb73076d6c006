"""Thousands of matches: every ball explained to Parquet, asked about, told on one page."""

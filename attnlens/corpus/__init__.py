"""Thousands of matches: every ball explained to Parquet, asked about, told on one page.

`attnlens.corpus.explain` writes a corpus, `attnlens.corpus.query` asks it in SQL,
`attnlens.corpus.report` sums it up, `attnlens.corpus.similar` finds situations alike.
"""

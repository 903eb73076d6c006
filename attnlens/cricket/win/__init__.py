"""Who is winning: the chance of the batting side, from the state of the match."""

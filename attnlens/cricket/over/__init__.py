"""Forecast the next over with an encoder-decoder, and report its cross-attention."""

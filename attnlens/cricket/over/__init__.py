"""The forecast of the next over by an encoder-decoder, with its cross-attention."""

"""The next over, token by token: an encoder-decoder, what it looked at, and the check."""

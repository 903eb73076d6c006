"""Training the predictor and the encoder-decoder, and the baselines beside them."""

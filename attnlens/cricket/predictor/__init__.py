"""The predictor of ball outcomes: inputs, network, ratings and checkpoints."""

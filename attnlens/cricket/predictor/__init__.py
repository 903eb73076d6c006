"""The predictor of balls: its inputs, its network, its ratings and its checkpoints."""

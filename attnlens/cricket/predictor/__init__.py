"""The predictor: the inputs for a ball, the network, the ratings, and the checkpoints."""

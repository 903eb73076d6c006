"""The predictor: what it is told of a ball, the network, ratings, and its checkpoints."""

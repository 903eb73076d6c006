"""What the model would have expected, had something been different."""

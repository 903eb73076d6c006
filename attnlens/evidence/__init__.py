"""Claims about what a model looked at, put to the test."""

"""A match as immutable values: its deliveries, the ways to name a ball, and its scorecard."""

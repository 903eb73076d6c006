"""A match as frozen values: its deliveries, how a ball is named, its scorecard."""

"""Templates of the cricket package: pages and the prompt."""

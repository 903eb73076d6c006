"""Write sentences about a ball. Each number and name has a pointer to its place in the data."""

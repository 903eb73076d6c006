"""Write sentences about a ball. Each number and name has a pointer to its value in the data."""

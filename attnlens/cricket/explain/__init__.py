"""The explanation of one ball: its attention, its tested claims, and their document."""

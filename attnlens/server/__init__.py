"""A Model Context Protocol server: balls explained for a language model's client."""

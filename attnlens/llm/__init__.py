"""Send requests to language models. This package does not import modules for cricket."""

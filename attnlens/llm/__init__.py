"""Send requests to language models. This package does not import the modules for cricket or for
explanations."""

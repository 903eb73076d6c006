"""Send requests to language models. This package does not depend on cricket or explanations."""

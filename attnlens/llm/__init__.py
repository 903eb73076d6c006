"""Ask a language model over HTTP; this package is independent of cricket and of explanations."""

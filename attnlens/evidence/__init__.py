"""Test claims about which items a model's prediction depends on."""

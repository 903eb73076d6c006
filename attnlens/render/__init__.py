"""Explanations for people: pages made from plain data, without asking the model anything."""

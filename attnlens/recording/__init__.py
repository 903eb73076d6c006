"""A recording: attention records with named axes, chosen from, saved, and shown as tables."""

"""Histories that have to fit: what gives way to a smaller level of itself, and in which order."""

"""Eviction: shorter forms of old content, for histories that exceed their budget."""

"""Search: over pages, results, messages, interactions and file names, and the index it looks in."""

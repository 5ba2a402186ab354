"""Search over pages, tool results, messages, interactions and file names, and its index."""

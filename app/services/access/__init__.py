"""Access: API keys, their projects, signed links and tickets."""

"""Sessions: history, messages, interactions, and their end."""

"""Frozen domain types; nothing here does I/O."""

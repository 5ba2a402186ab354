"""Calls of tools in stored messages, and the answers to calls with the same id."""

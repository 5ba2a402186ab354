"""Checks of the clients that generators make, against a live service."""

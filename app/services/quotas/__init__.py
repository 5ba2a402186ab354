"""Quotas: requests and bytes of a key in a window of time, stored bytes of a project."""

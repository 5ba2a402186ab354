"""Configurations of hosts, rewritten to run their servers behind the proxy, and restored."""

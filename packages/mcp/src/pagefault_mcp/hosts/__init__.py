"""Configurations of hosts: their servers put behind the proxy, and back."""

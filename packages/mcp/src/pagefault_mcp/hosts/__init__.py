"""Rewriting of the configuration files of hosts, so that they start servers by the proxy."""

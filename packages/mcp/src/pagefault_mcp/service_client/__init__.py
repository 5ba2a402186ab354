"""Clients of the service that stores results: the one at a URL, or the one that proxies share."""

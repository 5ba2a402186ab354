"""Fetching files by URL without becoming a way into the network the service runs in."""

from app.services.fetching.fetcher import FetchedResponse, Fetcher

__all__ = ["FetchedResponse", "Fetcher"]

"""Fetches files by URL, but not from the internal network of the service."""

from app.services.fetching.fetcher import FetchedResponse, Fetcher

__all__ = ["FetchedResponse", "Fetcher"]

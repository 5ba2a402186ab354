"""Resumable uploads: a file arrives in pieces, and becomes a resource."""

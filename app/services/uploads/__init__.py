"""Resumable uploads: a file is received in pieces, and stored as a resource."""

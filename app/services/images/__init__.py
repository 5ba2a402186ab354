"""Smaller images: decoded, fitted to a target, and kept."""

"""Stage two: media leave the result for the blob store, and references take their place."""

from app.services.persistence.stage import persist_tool_media

__all__ = ["persist_tool_media"]

"""Stage two of storing a tool result: moves its media into the blob store."""

from app.services.persistence.stage import persist_tool_media

__all__ = ["persist_tool_media"]

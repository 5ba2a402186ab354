"""Stage two: move media of a result into the blob store, and replace them by references."""

from app.services.persistence.stage import persist_tool_media

__all__ = ["persist_tool_media"]

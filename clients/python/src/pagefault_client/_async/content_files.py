"""The return type of `resources.open`."""

# `_sync/content_files.py` is written by hand as well.
from typing import TypeAlias

from pagefault_client._async.content import AsyncContent

OpenedContent: TypeAlias = AsyncContent


def open_content(content: AsyncContent) -> AsyncContent:
    """Return the content itself, whose `read` is a coroutine."""
    return content

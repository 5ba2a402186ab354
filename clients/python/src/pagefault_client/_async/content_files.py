"""Content as `open` returns it."""

# `_sync/content_files.py` is written by hand, too.
from typing import TypeAlias

from pagefault_client._async.reading import AsyncContent

OpenedContent: TypeAlias = AsyncContent


def opened(content: AsyncContent) -> AsyncContent:
    """Return content as it is: its `read` awaits."""
    return content

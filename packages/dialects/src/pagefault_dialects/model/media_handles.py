"""Handles of media, by which a model refers to a medium in its calls."""

import hashlib

from pagefault_dialects.model.conversation import InlineBytes, Medium, StoredBytes

_DIGEST_CHARS = 12


def handle_of(medium: Medium, seq: int | None) -> str | None:
    """Return the handle of a medium; `None` if it has none.

    The handle of a stored medium is `@blob:` and its id. Bytes in an entry have the handle
    `@entry:12/…`, with the number of the entry and the beginning of their SHA-256.

    Args:
        medium: The medium.
        seq: The number of its entry, if it is part of a session.
    """
    match medium.source:
        case StoredBytes(resource_id=resource_id):
            return f"@blob:{resource_id}"
        case InlineBytes(data=data) if seq is not None:
            return f"@entry:{seq}/{hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]}"
        case _:
            return None

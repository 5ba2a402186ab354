"""Handles of media: the id of a stored one, else the entry and the start of the digest."""

import hashlib

from pagefault_dialects.model.conversation import InlineBytes, Medium, StoredBytes

_DIGEST_CHARS = 12


def handle_of(medium: Medium, seq: int | None) -> str | None:
    """Return the handle of a medium, `@blob:…` or `@entry:12/…`; `None` if it has none.

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

"""The JSON of an upload in pieces."""

from app.models.identity import rfc3339
from app.models.json_value import json_text
from app.models.resource import Resource, describe
from app.models.upload import ResumableUpload


def upload_record(upload: ResumableUpload, resource: Resource | None) -> bytes:
    """`{id, offset, length, filename, mimeType, createdAt, expiresAt, resource}`.

    `resource` is the descriptor of what the upload became, else null.
    """
    return json_text(
        {
            "id": upload.upload_id,
            "offset": upload.received_bytes,
            "length": upload.length_bytes,
            "filename": upload.filename,
            "mimeType": upload.mime_type,
            "createdAt": rfc3339(upload.created_at),
            "expiresAt": rfc3339(upload.expires_at),
            "resource": describe(resource).wire() if resource else None,
        }
    ).encode()

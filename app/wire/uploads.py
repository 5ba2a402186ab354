"""The shape of an upload in pieces, for those who do not read headers."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.resource import Resource
from app.models.upload import ResumableUpload
from app.wire.resources import Descriptor, descriptor
from app.wire.shape import Moment, Shape, moment

_EXAMPLE: JsonDict = {
    "id": "01a1fc23-5d6a-716f-bf87-986bff04fd3e",
    "offset": 67108864,
    "length": 2147483648,
    "filename": "talk.mp4",
    "mimeType": "video/mp4",
    "createdAt": "2026-11-21T03:25:38.532555Z",
    "expiresAt": "2026-11-22T03:26:02.113042Z",
    "resource": None,
}


class UploadRecord(Shape, kw_only=True):
    """An upload: how far it is, and, once all has come, the resource it became."""

    described = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    offset: Annotated[int, Field(description="Bytes that have come and are kept.")]
    length: Annotated[int, Field(description="Bytes of the whole file.")]
    filename: Annotated[str | None, Field(description="As it was claimed.")]
    mime_type: Annotated[str | None, Field(description="As it was claimed.")]
    created_at: Moment
    expires_at: Annotated[Moment, Field(description="Every piece that comes moves it on.")]
    resource: Annotated[
        Descriptor | None,
        Field(description="Null while the upload is under way, or if it was deleted since."),
    ]


def upload_record(upload: ResumableUpload, resource: Resource | None) -> bytes:
    """Return the JSON of an upload, with the resource it became if there is one."""
    return UploadRecord(
        id=upload.upload_id,
        offset=upload.received_bytes,
        length=upload.length_bytes,
        filename=upload.filename,
        mime_type=upload.mime_type,
        created_at=moment(upload.created_at),
        expires_at=moment(upload.expires_at),
        resource=descriptor(resource) if resource else None,
    ).encode()

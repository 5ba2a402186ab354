"""The shape of an upload in pieces, for those who do not read headers."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.base import WireModel
from app.models.resource import ResourceDescriptor

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


class UploadRecord(WireModel):
    """An upload: how far it is, and, once all has come, the resource it became."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    offset: Annotated[int, Field(description="Bytes that have come and are kept.")]
    length: Annotated[int, Field(description="Bytes of the whole file.")]
    filename: Annotated[str | None, Field(description="As it was claimed.")]
    mime_type: Annotated[str | None, Field(description="As it was claimed.")]
    created_at: datetime
    expires_at: Annotated[datetime, Field(description="Every piece that comes moves it on.")]
    resource: Annotated[
        ResourceDescriptor | None,
        Field(description="Null while the upload is under way, or if it was deleted since."),
    ]

"""Shapes of aliases."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.base import WireModel
from app.models.resource import ResourceDescriptor

_URI = "blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"
_EXAMPLE: JsonDict = {
    "alias": "doc-123",
    "uri": _URI,
    "createdAt": "2026-11-21T03:25:38.532555Z",
    "resource": {
        "uri": _URI,
        "kind": "binary",
        "mimeType": "application/pdf",
        "filename": "report.pdf",
        "mediaKind": "binary",
        "size": 48210,
        "digest": f"sha-256:{'9dd9d1b5c1d3aa47' * 4}",
    },
}


class AliasDraft(WireModel):
    """What an alias is to name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"uri": _URI}]})

    uri: Annotated[str, Field(description="The `blob:` URI of a resource, or its bare id.")]


class AliasRecord(WireModel):
    """An alias, the resource it names, and since when it names that one."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    alias: str
    uri: str
    created_at: datetime
    resource: ResourceDescriptor


class AliasPage(WireModel):
    """A page of aliases, newest first."""

    items: tuple[AliasRecord, ...]
    next_cursor: str | None

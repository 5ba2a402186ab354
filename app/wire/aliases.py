"""Shapes of aliases."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.base import WireModel
from app.models.resource import Alias
from app.wire.lists import ListPage
from app.wire.resources import Descriptor, descriptor
from app.wire.shape import Moment, Shape, moment

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


class AliasRecord(Shape, kw_only=True):
    """An alias, the resource it names, and since when it names that one."""

    described = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    alias: str
    uri: str
    created_at: Moment
    resource: Descriptor


class AliasPage(ListPage[AliasRecord]):
    """A page of aliases, newest first."""


def alias_record(alias: Alias) -> bytes:
    """Return the JSON of an alias."""
    return AliasRecord(
        alias=alias.alias,
        uri=alias.resource.uri,
        created_at=moment(alias.created_at),
        resource=descriptor(alias.resource),
    ).encode()

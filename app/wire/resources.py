"""Shapes of resources: descriptors, signed links, aliases, resolved references, uploads in pieces.

The members of a descriptor are declared once, by the model `ResourceDescriptor`, which also
validates the descriptors in canonical records. The struct that msgspec encodes is derived from it.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Raw, Struct
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.app_policy import AppPolicy
from app.models.resource_descriptor import Alias, ResourceDescriptor, descriptor_fields
from app.models.upload import ResumableUpload
from app.wire.shape import (
    CursorList,
    DocumentedAs,
    Shape,
    Timestamp,
    define_struct,
    encode_raw,
    make_timestamp,
)
from pagefault_dialects.json.values import AnyJson
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.model.resource import Resource

Descriptor = Annotated[Struct, DocumentedAs(ResourceDescriptor)]
"""A descriptor as a member of another shape; its value is made by `build_descriptor`."""


class ResourceRecord(ResourceDescriptor):
    """A stored resource: its descriptor, and the time when it was created."""

    created_at: datetime


class ResourcePage(CursorList[ResourceRecord]):
    """A part of the list of resources, newest first."""


_DescriptorStruct = define_struct(ResourceDescriptor)
_RecordStruct = define_struct(ResourceRecord)


def build_descriptor(resource: Resource) -> Struct:
    """Build the descriptor of a resource, to be encoded as a member of another shape."""
    return _DescriptorStruct(**_member_values(resource))


def encode_resource(resource: Resource) -> bytes:
    """Return the JSON of a `ResourceRecord`."""
    record = _RecordStruct(
        **_member_values(resource), created_at=make_timestamp(resource.created_at)
    )
    return msgspec.json.encode(record)


def _member_values(resource: Resource) -> dict[str, Any]:
    values = descriptor_fields(resource)
    seconds = values["duration_seconds"]
    return values | {"duration_seconds": None if seconds is None else encode_raw(seconds)}


LONGEST_LINK_SECONDS = 24 * 3600


class SignedUrlRequest(WireModel):
    """The options of a signed link."""

    expires_in_seconds: Annotated[int, Field(strict=True, ge=1, le=LONGEST_LINK_SECONDS)] = 300
    disposition: Literal["inline", "attachment"] = "inline"
    """`attachment` makes a browser download the file. Types that could run code are always
    downloaded."""
    filename: Annotated[str | None, Field(max_length=255)] = None
    """Another file name for the download."""
    app: AppPolicy | None = None
    """Only for the HTML of an MCP App: the link shows the page, and the page may connect to these
    origins. The service needs a separate host for content."""


class SignedUrl(WireModel):
    """A link that needs no key until it expires, for instance for `<img src>`."""

    url: Annotated[
        str, Field(examples=["http://127.0.0.1:8000/api/resources/0c8e…/content?token=…"])
    ]
    expires_at: datetime


_URI = "blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"
_ALIAS_EXAMPLE: JsonDict = {
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
    """The target of an alias."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"uri": _URI}]})

    uri: str
    """The `blob:` URI of a resource, its id alone, or the `https` URL of a file elsewhere."""


class AliasRecord(Shape, kw_only=True):
    """An alias, its resource, and the time when it was assigned to this resource."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_ALIAS_EXAMPLE]})

    alias: str
    uri: str
    created_at: Timestamp
    resource: Descriptor


class AliasPage(CursorList[AliasRecord]):
    """A part of the list of aliases, newest first."""


def encode_alias(alias: Alias) -> bytes:
    """Return the JSON of an alias."""
    return AliasRecord(
        alias=alias.alias,
        uri=alias.resource.uri,
        created_at=make_timestamp(alias.created_at),
        resource=build_descriptor(alias.resource),
    ).encode()


_POINTER = "JSON pointer into `arguments`; empty if all of it is the reference."
_RESOLVED_EXAMPLE: JsonDict = {
    "arguments": {"image": "data:image/png;base64,iVBORw0KGgo…", "width": 640},
    "resolved": [
        {
            "pointer": "/image",
            "uri": "blob:9a0e04717cce2431260284cf548150ee",
            "mimeType": "image/png",
            "size": 5650,
        }
    ],
    "unresolved": [],
}


class ResolvedReference(Shape, kw_only=True):
    """A reference that was replaced."""

    pointer: Annotated[str, Field(description=_POINTER, examples=["/image"])]
    uri: str
    """The reference without its `@`."""
    mime_type: str
    size: int
    """Size of the content in bytes."""


class UnresolvedReference(Shape, kw_only=True):
    """A reference that was not replaced."""

    pointer: Annotated[str, Field(description=_POINTER, examples=["/image"])]
    reference: str
    reason: str
    """The reason in words, with the remedy if there is one."""


class ResolvedArguments(Shape, kw_only=True):
    """The value with references replaced by their content, and a list of all references."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_RESOLVED_EXAMPLE]})

    arguments: Annotated[Raw, DocumentedAs(AnyJson)]
    resolved: tuple[ResolvedReference, ...]
    unresolved: tuple[UnresolvedReference, ...]


_UPLOAD_EXAMPLE: JsonDict = {
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
    """The state of an upload, and its resource if the upload is complete."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_UPLOAD_EXAMPLE]})

    id: str
    offset: int
    """The number of bytes that are received and stored."""
    length: int
    """The length of the whole file in bytes."""
    filename: str | None
    """The name that the client sent."""
    mime_type: str | None
    """The type that the client sent."""
    created_at: Timestamp
    expires_at: Timestamp
    """The time when the upload expires; each piece extends it."""
    resource: Descriptor | None
    """Null before the upload is complete, and after the resource was deleted."""


def encode_upload(upload: ResumableUpload, resource: Resource | None) -> bytes:
    """Return the JSON of an upload, with its resource if there is one."""
    return UploadRecord(
        id=upload.upload_id,
        offset=upload.received_bytes,
        length=upload.length_bytes,
        filename=upload.filename,
        mime_type=upload.mime_type,
        created_at=make_timestamp(upload.created_at),
        expires_at=make_timestamp(upload.expires_at),
        resource=build_descriptor(resource) if resource else None,
    ).encode()

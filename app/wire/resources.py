"""Shapes of resources.

A descriptor is a part of the canonical record too, which is made and checked by pydantic: so its
members are named there, in `ResourceDescriptor`, and what msgspec encodes is derived from it.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from app.models.resource import Resource, ResourceDescriptor, descriptor_fields
from app.wire.lists import ListPage
from app.wire.shape import ShownAs, encoded_as, moment, raw_json

Descriptor = Annotated[Struct, ShownAs(ResourceDescriptor)]
"""A descriptor inside another shape, to be made by `descriptor`."""


class ResourceRecord(ResourceDescriptor):
    """A stored resource: its descriptor, and since when it is kept."""

    created_at: datetime


class ResourcePage(ListPage[ResourceRecord]):
    """A page of resources, newest first."""


_DESCRIPTOR = encoded_as(ResourceDescriptor)
_RECORD = encoded_as(ResourceRecord)


def descriptor(resource: Resource) -> Struct:
    """Return the descriptor of a resource, to be encoded in another shape."""
    return _DESCRIPTOR(**_values(resource))


def resource_record(resource: Resource) -> bytes:
    """Return the JSON of a resource: its descriptor, and since when it is kept."""
    record = _RECORD(**_values(resource), created_at=moment(resource.created_at))
    return msgspec.json.encode(record)


def _values(resource: Resource) -> dict[str, Any]:
    values = descriptor_fields(resource)
    seconds = values["duration_seconds"]
    return values | {"duration_seconds": None if seconds is None else raw_json(seconds)}

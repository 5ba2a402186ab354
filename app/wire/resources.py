"""Shapes of resources.

A descriptor is a part of the canonical record too, which is made and checked by pydantic: so its
members are named there, in `ResourceDescriptor`, and what msgspec encodes is derived from it.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import NODEFAULT, Struct

from app.models.base import WireModel
from app.models.resource import Resource, ResourceDescriptor, descriptor_fields
from app.wire.lists import ListPage
from app.wire.shape import ShownAs, moment, raw_json

Descriptor = Annotated[Struct, ShownAs(ResourceDescriptor)]
"""A descriptor inside another shape, to be made by `descriptor`."""


class ResourceRecord(ResourceDescriptor):
    """A stored resource: its descriptor, and since when it is kept."""

    created_at: datetime


class ResourcePage(ListPage[ResourceRecord]):
    """A page of resources, newest first."""


def _encoded(model: type[WireModel]) -> type[Struct]:
    """Return what is encoded as `model` says, its optional members left out where they are none."""
    fields = [
        (
            name,
            Any,
            msgspec.field(name=each.alias, default=NODEFAULT if each.is_required() else None),
        )
        for name, each in model.model_fields.items()
    ]
    return msgspec.defstruct(model.__name__, fields, kw_only=True, omit_defaults=True)


_DESCRIPTOR = _encoded(ResourceDescriptor)
_RECORD = _encoded(ResourceRecord)


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

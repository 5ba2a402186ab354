"""The base class of the JSON objects of HTTP: msgspec encodes them, and pydantic describes them.

A shape declares its members once, as annotated fields. msgspec encodes the values and ignores the
annotations, so stored JSON is sent as `Raw`, byte for byte. For OpenAPI, pydantic describes the
annotations, with the docstrings of the fields as descriptions. If the JSON of a member has another
type than the value, `DocumentedAs` declares the type of the JSON. Fields with the value of their
default are omitted.

Numbers with a fraction and JSON values of clients are encoded by `encode_raw`, because msgspec
spells `1e-05` differently, refuses integers above 64 bits, and limits the depth of nesting.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import NODEFAULT, Raw, Struct
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
)
from pydantic_core import CoreSchema

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.base import WireModel, add_docstrings
from pagefault_dialects.model.render_options import JsonPiece, joined_pieces
from pagefault_dialects.model.timestamps import rfc3339


@dataclass(frozen=True, slots=True)
class DocumentedAs:
    """The type of a member in the OpenAPI document, if it differs from the type of its value."""

    type: Any

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the declared type."""
        return handler.generate_schema(self.type)


GAP = Raw(b"\0")
"""The placeholder of a member whose JSON is inserted when it is sent; see `Shape.split_at_gap`.
JSON cannot contain this byte."""

Timestamp = Annotated[datetime | str, DocumentedAs(datetime)]
"""A time in UTC; its value is made by `make_timestamp`."""


class Shape(Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """A JSON object of HTTP. Its names are in camelCase, or unchanged with `rename=None`.

    Every subclass repeats `kw_only=True`, which msgspec does not inherit.
    """

    schema_config: ClassVar[ConfigDict] = ConfigDict()
    """Further settings for pydantic: examples, or whether other members are allowed."""

    def encode(self) -> bytes:
        """Return the JSON of the object."""
        return msgspec.json.encode(self)

    def to_json_value(self) -> JsonValue:
        """Convert the object to a JSON value of Python."""
        return msgspec.to_builtins(self)

    def with_members_of(self, members: bytes) -> bytes:
        """Return the JSON of this object with the members of a stored object appended.

        Args:
            members: The JSON of the stored object, which has at least one member.
        """
        return b"%s,%s" % (msgspec.json.encode(self)[:-1], members[1:])

    def split_at_gap(self) -> tuple[bytes, bytes]:
        """Return the JSON before and after the member that is `GAP`."""
        head, _, tail = msgspec.json.encode(self).partition(GAP)
        return head, tail

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the shape for pydantic, as in a response or in another shape."""
        return handler.generate_schema(_build_model(cls))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema, with the docstrings of the fields as descriptions."""
        members = {field.name: field.encode_name for field in msgspec.structs.fields(cls)}
        return add_docstrings(cls, members, handler(schema), handler)


def make_timestamp(time: datetime) -> datetime | str:
    """Return a value that msgspec encodes in the form of `rfc3339`: the time itself, or a text."""
    # For a time with microseconds, msgspec writes the same form, and is much faster.
    return time if time.microsecond and time.tzinfo is UTC else rfc3339(time)


def encode_raw(value: JsonValue) -> Raw:
    """Encode a JSON value with `json_text`, for a member that msgspec sends as it is."""
    return Raw(json_text(value).encode())


def define_struct(model: type[BaseModel]) -> type[Struct]:
    """Define a struct with the members of a pydantic model. It is encoded faster than the model.

    Optional members are omitted if they are `None`.
    """
    fields = []
    for name, model_field in model.model_fields.items():
        default = NODEFAULT if model_field.is_required() else None
        fields.append((name, Any, msgspec.field(name=model_field.alias, default=default)))
    return msgspec.defstruct(model.__name__, fields, kw_only=True, omit_defaults=True)


@cache
def _build_model(shape: type[Shape]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        field.name: (
            Annotated[field.type, Field(alias=field.encode_name)],
            ... if field.default is NODEFAULT else field.default,
        )
        for field in msgspec.structs.fields(shape)
    }
    config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")
    return create_model(
        shape.__name__,
        __config__=config | shape.schema_config,
        __doc__=shape.__doc__,
        __module__=shape.__module__,
        **fields,
    )


_Item = TypeVar("_Item")


class CursorList(WireModel, Generic[_Item]):
    """Items of a list, and the cursor of the next ones: null at the end."""

    items: tuple[_Item, ...]
    next_cursor: str | None


def encode_cursor_list(items: Iterable[bytes], next_cursor: str | None) -> bytes:
    """Return the JSON of a `CursorList`; `next_cursor` is `None` for the last items."""
    return b'{"items":[' + b",".join(items) + _encode_end(next_cursor)


def encode_cursor_list_pieces(
    items: Iterable[Sequence[JsonPiece]], next_cursor: str | None
) -> Sequence[JsonPiece]:
    """Return the JSON of `encode_cursor_list` in pieces, for items that consist of pieces."""
    pieces: list[JsonPiece] = [b'{"items":[']
    for index, item in enumerate(items):
        pieces += [b",", *item] if index else item
    return joined_pieces([*pieces, _encode_end(next_cursor)])


def _encode_end(next_cursor: str | None) -> bytes:
    return b'],"nextCursor":%s}' % json_text(next_cursor).encode()

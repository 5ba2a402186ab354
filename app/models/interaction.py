"""Interactions: what a user asked, with files, and what the assistant answered (spec 001)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    FailFast,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    WrapValidator,
)
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from app.models.identity import utc_now
from pagefault_dialects.model.base import FrozenModel, frozen
from pagefault_dialects.model.resource import Resource, parse_resource_id

Role = TypeAliasType("Role", Literal["system", "user", "assistant", "tool"])
InputKind = TypeAliasType("InputKind", Literal["multimodal", "text", "dict"])
AttachmentStatus = TypeAliasType("AttachmentStatus", Literal["available", "missing", "unknown"])


def _with_offset(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _plain_number(value: object) -> object:
    # The schema library takes true for the second after 1970 began.
    if isinstance(value, bool):
        msg = "Input should be a valid datetime"
        raise ValueError(msg)
    return float(value) if isinstance(value, Decimal) else value


Timestamp = Annotated[
    datetime,
    BeforeValidator(_plain_number),
    AfterValidator(_with_offset),
    Field(description="RFC 3339; without an offset it is UTC. Seconds since 1970 are taken too."),
]


class AttachedFile(FrozenModel):
    """A file that was stored before: its `blob:` URI, bare id or alias, and its type.

    Source: spec 001, "AttachedFile".
    """

    id: Annotated[str, Field(examples=["blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"])]
    mime_type: Annotated[str | None, Field(examples=["application/pdf"])] = None


class ContentPart(FrozenModel):
    """A piece of a user's turn: text, files, or both. Source: spec 001, "ContentPart"."""

    text: str | None = None
    attachments: Annotated[tuple[AttachedFile, ...], FailFast()] = ()


class MultiModalInput(FrozenModel):
    """A rich user turn. Source: spec 001, "MultiModalInput"."""

    parts: Annotated[tuple[ContentPart, ...], FailFast()]

    def attached_ids(self) -> list[tuple[str, str]]:
        """Return every attachment with its JSON pointer, in order, repeated ones too."""
        return [
            (f"/parts/{i}/attachments/{j}/id", attached.id)
            for i, part in enumerate(self.parts)
            for j, attached in enumerate(part.attachments)
        ]


class ChatMessage(FrozenModel):
    """What was said, and by whom; the answer of an interaction. Source: spec 001, "Interaction"."""

    role: Role
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    timestamp: Timestamp = Field(default_factory=utc_now)


def _read_input(value: object, _: object) -> object:
    """Return text, a rich input, or a legacy object, kept whole unless it is exactly a rich one."""
    if isinstance(value, str | MultiModalInput):
        return value
    if not isinstance(value, Mapping):
        msg = "Input should be a text, a MultiModalInput or an object"
        raise ValueError(msg)
    if value.keys() != MultiModalInput.model_fields.keys():
        # The schema library would make an error of each member that is not known.
        return frozen(value)
    try:
        return MultiModalInput.model_validate(value)
    except ValidationError:
        return frozen(value)


class _Exclusive:
    """Describes a legacy object as no `MultiModalInput`, so that exactly one kind fits."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        described = handler(schema)
        rich, _, legacy = described["anyOf"]
        handler.resolve_ref_schema(legacy)["not"] = dict(rich)
        return described


LegacyInput = TypeAliasType(
    "LegacyInput", Annotated[Mapping[str, Any], Field(description="An object of any members.")]
)
InteractionInput = TypeAliasType(
    "InteractionInput",
    Annotated[MultiModalInput | str | LegacyInput, WrapValidator(_read_input), _Exclusive()],
)


class Interaction(FrozenModel):
    """One cycle of a user's request and the assistant's response.

    An `input` that is not exactly a `MultiModalInput` is a legacy object, and none of its keys is
    lost. Source: spec 001, "Session Interaction".
    """

    shown_when_null: ClassVar[frozenset[str]] = frozenset({"output"})

    input: InteractionInput
    output: ChatMessage | None = None
    timestamp: Timestamp = Field(default_factory=utc_now)

    @property
    def input_kind(self) -> InputKind:
        """Which of the three the input is."""
        if isinstance(self.input, MultiModalInput):
            return "multimodal"
        return "text" if isinstance(self.input, str) else "dict"


Bindings: TypeAlias = Mapping[str, str | None]
"""The ids of resources by the ids of attachments; see `StoredInteraction`."""


def attachment_key(attached_id: str) -> str:
    """Return what all spellings of an attachment's id have in common."""
    return parse_resource_id(attached_id) or attached_id


def bound_resource_id(attached_id: str, bindings: Bindings) -> str | None:
    """Return the id of the resource that an attachment was bound to, `None` if there was none."""
    resource_id = parse_resource_id(attached_id)
    return bindings.get(resource_id or attached_id, resource_id)


@dataclass(frozen=True, slots=True)
class AttachedResource:
    """An attachment, by the id the client gave it, and the resource it was bound to.

    `resource_id` is `None` where nobody knew the id when the interaction was written.
    """

    attached_id: str
    resource_id: str | None
    resource: Resource | None

    @property
    def status(self) -> AttachmentStatus:
        """Whether the resource is there."""
        if self.resource_id is None:
            return "unknown"
        return "missing" if self.resource is None else "available"


@dataclass(frozen=True, slots=True)
class StoredInteraction:
    """An interaction as the store keeps it.

    `input` and `output` are JSON text, never serialised again. An output that came along with the
    input belongs to the entry `seq` of the history; one that was set later has an entry of its own,
    `answer_seq`. `bindings` says what attachments were bound to where their ids do not: an alias to
    the id of a resource, the id of a resource that was not there to `None`.
    """

    interaction_id: str
    session_id: str
    seq: int
    input_kind: InputKind
    timestamp: str
    created_at: datetime
    input: bytes
    output: bytes | None = None
    answer_seq: int | None = None
    answered_at: datetime | None = None
    bindings: Bindings = field(default_factory=dict)

    @property
    def first_output(self) -> bytes | None:
        """The output it was created with."""
        return self.output if self.answer_seq is None else None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The entry of a session's history that the answer of an interaction is."""

    seq: int
    interaction_id: str
    created_at: datetime
    output: bytes

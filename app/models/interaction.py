"""Interactions: the input of a user with files, and the output of the assistant (spec 001)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

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
from app.models.stored_interaction import InputKind
from pagefault_dialects.model.base import FrozenModel, freeze_json

Role = TypeAliasType("Role", Literal["system", "user", "assistant", "tool"])


def _default_to_utc(timestamp: datetime) -> datetime:
    return timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp


def _check_number(value: object) -> object:
    # Pydantic converts `true` to the time 1.
    if isinstance(value, bool):
        msg = "Input should be a valid datetime"
        raise ValueError(msg)
    return float(value) if isinstance(value, Decimal) else value


Timestamp = Annotated[
    datetime,
    BeforeValidator(_check_number),
    AfterValidator(_default_to_utc),
    Field(
        description="RFC 3339; without an offset it is UTC. Seconds since 1970 are accepted too."
    ),
]


class AttachedFile(FrozenModel):
    """A file that is attached to an input: its `blob:` URI, bare id or alias, and its type.

    Source: spec 001, "AttachedFile".
    """

    id: Annotated[str, Field(examples=["blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"])]
    mime_type: Annotated[str | None, Field(examples=["application/pdf"])] = None


class ContentPart(FrozenModel):
    """A part of a user's input: text, files, or both. Source: spec 001, "ContentPart"."""

    text: str | None = None
    attachments: Annotated[tuple[AttachedFile, ...], FailFast()] = ()


class MultiModalInput(FrozenModel):
    """The input of a user as a list of parts. Source: spec 001, "MultiModalInput"."""

    parts: Annotated[tuple[ContentPart, ...], FailFast()]

    def attached_ids(self) -> list[tuple[str, str]]:
        """Return the JSON pointer and the id of each attachment, in order, with repetitions."""
        return [
            (f"/parts/{i}/attachments/{j}/id", attached.id)
            for i, part in enumerate(self.parts)
            for j, attached in enumerate(part.attachments)
        ]


class ChatMessage(FrozenModel):
    """A message with its role; the output of an interaction. Source: spec 001, "Interaction"."""

    role: Role
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    timestamp: Timestamp = Field(default_factory=utc_now)


def _read_input(value: object, _: object) -> object:
    """Return a text or a `MultiModalInput`. Any other object is returned with all its keys."""
    if isinstance(value, str | MultiModalInput):
        return value
    if not isinstance(value, Mapping):
        msg = "Input should be a text, a MultiModalInput or an object"
        raise ValueError(msg)
    if value.keys() != MultiModalInput.model_fields.keys():
        # Validation would report an error for each unknown member.
        return freeze_json(value)
    try:
        return MultiModalInput.model_validate(value)
    except ValidationError:
        return freeze_json(value)


class _ExclusiveSchema:
    """Adds to the JSON schema the rule that a legacy object is not a `MultiModalInput`."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        described = handler(schema)
        rich, _, legacy = described["anyOf"]
        handler.resolve_ref_schema(legacy)["not"] = dict(rich)
        return described


LegacyInput = TypeAliasType(
    "LegacyInput", Annotated[Mapping[str, Any], Field(description="An object with any members.")]
)
InteractionInput = TypeAliasType(
    "InteractionInput",
    Annotated[MultiModalInput | str | LegacyInput, WrapValidator(_read_input), _ExclusiveSchema()],
)


class Interaction(FrozenModel):
    """The input of a user and the output of the assistant.

    If `input` is an object and not exactly a `MultiModalInput`, it is a legacy object, which keeps
    all its keys.
    Source: spec 001, "Session Interaction".
    """

    shown_when_null: ClassVar[frozenset[str]] = frozenset({"output"})

    input: InteractionInput
    output: ChatMessage | None = None
    timestamp: Timestamp = Field(default_factory=utc_now)

    @property
    def input_kind(self) -> InputKind:
        """The form of the input, as it is stored in a column."""
        if isinstance(self.input, MultiModalInput):
            return "multimodal"
        return "text" if isinstance(self.input, str) else "dict"

"""The bodies of requests with a message: parses and checks a message of any dialect.

In the API, a history entry is a JSON object. A message that has only the members of spec 000 is
*flat*: its members are members of the entry. Any other message is the value of the entry's member
`message`, and may have members of any name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic.config import JsonDict

from app.models.call_ids import LONGEST_CALL_ID
from app.models.message import CommonRole, MessageContent, MessageRole, wrap_message
from app.services.requests.validation import as_object, validate_model
from pagefault_dialects.dialects.message_registry import find_conversation
from pagefault_dialects.dialects.openai_responses import find_compaction_handle
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.media.embedded_data_uris import InlineForm, MovableString
from pagefault_dialects.messages.entry_reading import (
    EntryReading,
    count_failed_results,
    is_flat,
    read_entry,
)
from pagefault_dialects.messages.histories import find_list_name
from pagefault_dialects.messages.message_calls import read_tool_result
from pagefault_dialects.messages.message_media import find_declared_media
from pagefault_dialects.messages.message_references import find_message_references

_EXAMPLE: JsonDict = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is wrong with this page?"},
        {
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64,iVBORw0KGgo…"},
        },
    ],
}


_NOT_A_MESSAGE = "The body is not a message; `errors` says where."
_WHOLE_HISTORY = (
    "The body is a whole history, and this route takes one message. "
    "`PUT /api/sessions/{session_id}/history` takes histories."
)
_COMPACTED = (
    "A compaction item of this service replaces a stored conversation, and no provider reads it. "
    "Send it with the messages after it to `PUT /api/sessions/{session_id}/history`, which expands "
    "it. Nothing was stored."
)
_BLOCKS = TypeAdapter(Annotated[list[dict[str, Any]], FailFast()])


def _read_content(value: object, _: object) -> object:
    """Validate a text, a list of blocks, or null.

    If the type were a union, the pointers of errors would contain the names of its alternatives.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return _BLOCKS.validate_python(value, strict=True)
    msg = "Input should be a text, a list of blocks, or null"
    raise ValueError(msg)


class HistoryMessageDraft(BaseModel):
    """A message as an SDK, a framework or a provider writes it, in any of the dialects.

    Without the members that specification 000 gives a message, or with others, it stands in
    `message` of its entry.

    Source: spec 000, "Extend `HistoryMessage.content` type".
    """

    model_config = ConfigDict(
        frozen=True, extra="allow", json_schema_extra={"examples": [_EXAMPLE]}
    )

    role: str | None = None
    content: Any = None
    name: str | None = None
    tool_calls: list[JsonObject] | None = None
    tool_call_id: str | None = None


class FlatMessage(BaseModel):
    """A message that has only members which specification 000 defines."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    role: MessageRole
    content: Annotated[MessageContent | None, WrapValidator(_read_content)] = None
    name: str | None = None
    tool_calls: Annotated[list[JsonObject] | None, FailFast()] = None
    # An empty string if the calls of the dialect have no ids.
    tool_call_id: Annotated[str | None, Field(max_length=LONGEST_CALL_ID)] = None


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """The message of a request."""

    value: dict[str, JsonValue]
    """The message as parsed JSON."""
    media_strings: Sequence[MovableString]
    """The strings with media, which can be moved to the blob store."""
    references: set[str]
    """The ids of the resources that the message refers to."""
    dialect: str
    """The name of the dialect."""
    role: CommonRole | None = None
    """The role; `None` for a flat message, which has it in `value`."""
    answered_ids: Sequence[str] = ()
    """The ids of the calls that the message answers, if it has no other content."""
    failures: int = 0
    """The number of tool results in the message that are errors."""

    @property
    def tool_call_id(self) -> str | None:
        """The id of the call that the message answers, if it answers one and has nothing else."""
        return find_only_id(self.answered_ids)

    def to_stored(self, message: bytes) -> bytes:
        """Return the message in the form in which it is stored.

        Args:
            message: The JSON text of the message, with references instead of its media.
        """
        if self.role is None:
            return message
        return wrap_message(message, dialect=self.dialect, role=self.role)

    def to_stored_forms(self, forms: dict[str, InlineForm]) -> dict[str, InlineForm]:
        """Return the original forms of media by their JSON pointers in the stored message.

        Args:
            forms: The forms by the pointers in the message.
        """
        if self.role is None:
            return forms
        return {f"/message{pointer}": form for pointer, form in forms.items()}

    def event_members(self) -> dict[str, JsonValue]:
        """Return the members that only events of messages have."""
        if self.role is None:
            return {"role": str(self.value["role"])}
        return {"role": self.role, "dialect": self.dialect}


def read_message(body: JsonValue) -> ParsedMessage:
    """Read a message of any dialect.

    Raises:
        InvalidPayloadError: The body is a message of no dialect, a whole history, or a compaction
            item.
    """
    if isinstance(body, list):
        raise InvalidPayloadError(_WHOLE_HISTORY)
    value = as_object(body)
    if find_compaction_handle(value) is not None:
        raise InvalidPayloadError(_COMPACTED, faults=[Fault("/type", "is no single message")])
    if is_flat(value):
        validate_model(FlatMessage, value, _NOT_A_MESSAGE)
    return build_parsed_message(value, _read_entry(value))


def _read_entry(value: JsonObject) -> EntryReading:
    try:
        return read_entry(value)
    except InvalidPayloadError as exc:
        if find_conversation(value) is None and find_list_name(value) is None:
            raise
        raise InvalidPayloadError(_WHOLE_HISTORY, faults=exc.faults) from exc


def build_parsed_message(value: JsonObject, reading: EntryReading) -> ParsedMessage:
    """Return the message of a reading, with its media and references.

    A flat message with invalid members is stored in `message` of its entry.
    """
    messages = [message.message for message in reading.messages if message.message is not None]
    media_strings = find_declared_media(value, messages)
    is_sent_flat = is_flat(value) and _is_valid_flat(value)
    references = map(find_message_references, [value] if is_sent_flat else messages)
    return ParsedMessage(
        value,
        media_strings,
        set[str]().union(*references),
        reading.dialect,
        role=None if is_sent_flat else reading.role,
        answered_ids=_find_answered_ids(reading),
        failures=count_failed_results(reading),
    )


def _is_valid_flat(value: JsonObject) -> bool:
    try:
        FlatMessage.model_validate(value)
    except ValidationError:
        return False
    return True


def find_only_answered_id(reading: EntryReading) -> str | None:
    """Return the id of the call that a message answers, if it has no other content or answer."""
    return find_only_id(_find_answered_ids(reading))


def find_only_id(call_ids: Sequence[str]) -> str | None:
    """Return the only id of a sequence; `None` if it has several ids, or an invalid one."""
    return call_ids[0] if len(call_ids) == 1 and 0 < len(call_ids[0]) <= LONGEST_CALL_ID else None


def _find_answered_ids(reading: EntryReading) -> Sequence[str]:
    """Return the ids of the calls that a message answers, if it has no other content."""
    if reading.role != "tool":
        return ()
    return [
        call_id
        for message in reading.messages
        for call_id in _read_answered_ids(message.message or {})
    ]


def _read_answered_ids(message: JsonObject) -> Iterator[str]:
    """Yield the ids of the calls that a message in the common form answers."""
    call_id = message.get("tool_call_id")
    if isinstance(call_id, str):
        yield call_id
        return
    for name in ("content", "parts"):
        blocks = message.get(name)
        for block in blocks if isinstance(blocks, list) else []:
            if (result := read_tool_result(block)) is not None:
                yield result.call_id

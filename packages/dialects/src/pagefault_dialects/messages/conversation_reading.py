"""Reading of whole conversations of any dialect: requests, responses, lists of messages."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pagefault_dialects.dialects.message_forms import ConversationForm
from pagefault_dialects.dialects.message_registry import find_conversation, read_message
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.messages.entry_reading import EntryReading, make_reading
from pagefault_dialects.messages.histories import (
    SYSTEM_NAMES,
    find_body_dialect,
    find_list_name,
    find_messages,
    merge_config,
)

# The members of a request that are kept as its prompt.
_PROMPT_NAMES = (*SYSTEM_NAMES, "tools", "toolConfig", "tool_config", "model", "modelId")
# Members of a request that refer to a conversation at the provider.
_CONTINUATION_NAMES = ("previous_response_id", "conversation")


class ConversationEntry(NamedTuple):
    """A message of a body."""

    pointer: str
    """The pointer to the message in the body."""
    message: JsonObject
    """The message as it was sent."""
    reading: EntryReading
    """The message in common form, with its dialect."""


@dataclass(frozen=True, slots=True)
class ConversationReading:
    """A body with a conversation, or with the next part of one."""

    entries: tuple[ConversationEntry, ...]
    """The messages in order."""
    dialect: str | None
    """The dialect of the body; `None` if it could be of any dialect."""
    prompt: JsonObject
    """The members beside the messages, unchanged: system, instructions, tools, model."""
    continues: bool
    """True if the messages follow those of an earlier request, and are not the whole conversation.
    True for a response, a single message, and a request that refers to a conversation at the
    provider."""
    skipped_count: int = 0
    """The number of items of the list that are not messages, such as reports and states."""


def read_conversation(value: JsonValue) -> ConversationReading:
    """Read a body: a request, a response, a list of messages, or lines of a transcript.

    Raises:
        InvalidPayloadError: No dialect has such a body. `faults` has pointers to the errors.
    """
    messages = find_messages(value)
    is_single_message = messages is None and read_message(value, "")[0].message is not None
    entries = _read_entries([("", value)] if is_single_message else messages)
    list_name = find_list_name(value)
    body = value[list_name] if list_name is not None else value
    has_form = list_name is None or isinstance(body, list)
    form_dialect, form = (find_conversation(body) if has_form else None) or (None, None)
    dialect = form_dialect or _find_dialect(value, [entry.reading for entry in entries])
    is_response = is_single_message or (form is not None and form.is_response)
    request = merge_config(value) if isinstance(value, dict) and not is_response else {}
    continues = is_response or any(request.get(name) for name in _CONTINUATION_NAMES)
    prompt = {name: request[name] for name in _PROMPT_NAMES if request.get(name) is not None}
    skipped_count = 0
    message_dialect = dialect
    if form is not None:
        message_dialect = form.message_dialect or dialect
        prompt |= form.prompt(body) if form.prompt is not None else {}
        skipped_count = _count_skipped(body, form)
    entries_in_dialect = tuple(
        entry._replace(reading=_set_dialect(entry.reading, message_dialect)) for entry in entries
    )
    return ConversationReading(entries_in_dialect, dialect, prompt, continues, skipped_count)


def _read_entries(
    messages: Sequence[tuple[str, JsonValue]] | None,
) -> list[ConversationEntry]:
    """Read the messages of a body, each given with its pointer.

    Raises:
        InvalidPayloadError: There are none, or some are of no dialect.
    """
    if messages is None:
        raise InvalidPayloadError(
            "There is no conversation in this: send a list of messages, the request of a provider, "
            "or its response.",
            faults=[Fault("", "holds no messages that any dialect has")],
        )
    entries: list[ConversationEntry] = []
    faults: list[Fault] = []
    for pointer, message in messages:
        try:
            reading = make_reading(read_message(message, ""), sent=message)
            entries.append(ConversationEntry(pointer, message, reading))
        except InvalidPayloadError as exc:
            faults += (Fault(pointer + fault.pointer, fault.detail) for fault in exc.faults)
    if faults:
        raise InvalidPayloadError(
            "There is something among the messages that no dialect knows; `errors` says where. "
            "Send the messages as the model gets them, each with its role.",
            faults=faults,
        )
    return entries


def _count_skipped(body: JsonValue, form: ConversationForm) -> int:
    """Return the number of items of a list that are not messages in the form of the list."""
    if form.is_skipped is None or not isinstance(body, list):
        return 0
    return sum(isinstance(item, dict) and form.is_skipped(item) for item in body)


def _find_dialect(value: JsonValue, entries: Sequence[EntryReading]) -> str | None:
    """Return the dialect of a body without a form of its own, or the one of most of its messages.

    The result is `None` if all messages could be of any dialect.
    """
    messages = [message for entry in entries for message in entry.messages]
    if (dialect := find_body_dialect(value, messages)) is not None:
        return dialect
    counts = Counter(entry.dialect for entry in entries if entry.messages[0].dialect_name)
    return counts.most_common(1)[0][0] if counts else None


def _set_dialect(reading: EntryReading, dialect: str | None) -> EntryReading:
    """Return a reading with the dialect of the body, if the message could be of any dialect."""
    is_plain = not any(message.dialect_name for message in reading.messages)
    return replace(reading, dialect=dialect) if is_plain and dialect is not None else reading

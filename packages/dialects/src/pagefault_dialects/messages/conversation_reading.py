"""Whole conversations of any dialect: requests, responses, and lists of messages or items."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pagefault_dialects.dialects.message_forms import ConversationForm
from pagefault_dialects.dialects.message_registry import find_conversation, read_message
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.messages.entry_reading import EntryReading, make_entry
from pagefault_dialects.messages.histories import (
    SYSTEM_NAMES,
    body_dialect,
    find_messages,
    list_name,
    merge_config,
)

_PROMPT = (*SYSTEM_NAMES, "tools", "toolConfig", "tool_config", "model", "modelId")
_CONTINUES = ("previous_response_id", "conversation")


@dataclass(frozen=True, slots=True)
class ConversationReading:
    """A body with a conversation, or with the next part of one."""

    entries: tuple[tuple[str, JsonObject, EntryReading], ...]
    """The messages in order, each with its pointer in the body and its reading."""
    dialect: str | None
    """The dialect of the body."""
    prompt: JsonObject
    """The members beside the messages, unchanged: system, instructions, tools, model."""
    continues: bool
    """The messages follow those that are stored: of a response, a single message, or a request
    that refers to a conversation of its provider."""
    passed_over: int = 0
    """The number of elements that are no messages: lines of transcripts, reports, states."""


def read_conversation(value: JsonValue) -> ConversationReading:
    """Read a body: a request, a response, a list of messages, or lines of a transcript.

    Raises:
        InvalidPayloadError: No dialect knows it; the faults say where.
    """
    messages = find_messages(value)
    is_message = messages is None and read_message(value, "")[0].message is not None
    entries = _read_entries([("", value)] if is_message else messages)
    name = list_name(value)
    body = value[name] if name is not None else value
    form = find_conversation(body) if name is None or isinstance(body, list) else None
    is_response = is_message or (form is not None and form[1].is_response)
    dialect = _dialect(value, [entry for _, _, entry in entries], form)
    envelope = merge_config(value) if isinstance(value, dict) and not is_response else {}
    continues = is_response or any(envelope.get(name) for name in _CONTINUES)
    prompt = {name: envelope[name] for name in _PROMPT if envelope.get(name) is not None}
    passed_over = 0
    messages_in = dialect
    if form is not None:
        messages_in = form[1].messages_in or dialect
        prompt |= form[1].prompt(body) if form[1].prompt is not None else {}
        passed_over = _count_passed_over(body, form[1])
    placed = ((pointer, item, _in_dialect(entry, messages_in)) for pointer, item, entry in entries)
    return ConversationReading(tuple(placed), dialect, prompt, continues, passed_over)


def _read_entries(
    messages: Sequence[tuple[str, JsonValue]] | None,
) -> list[tuple[str, JsonObject, EntryReading]]:
    if messages is None:
        raise InvalidPayloadError(
            "There is no conversation in this: send a list of messages, the request of a provider, "
            "or its response.",
            faults=[Fault("", "holds no messages that any dialect has")],
        )
    entries: list[tuple[str, JsonObject, EntryReading]] = []
    faults: list[Fault] = []
    for pointer, message in messages:
        try:
            entries.append((pointer, message, make_entry(read_message(message, ""), sent=message)))
        except InvalidPayloadError as exc:
            faults += (Fault(pointer + fault.pointer, fault.detail) for fault in exc.faults)
    if faults:
        raise InvalidPayloadError(
            "There is something among the messages that no dialect knows; `errors` says where.",
            faults=faults,
        )
    return entries


def _count_passed_over(body: JsonValue, form: ConversationForm) -> int:
    if form.is_skipped is None or not isinstance(body, list):
        return 0
    return sum(isinstance(item, dict) and form.is_skipped(item) for item in body)


def _dialect(
    value: JsonValue, entries: Sequence[EntryReading], form: tuple[str, ConversationForm] | None
) -> str | None:
    """Return the dialect of a body: that of its form, its other members, or most messages."""
    found = body_dialect(value, [message for entry in entries for message in entry.messages])
    counts = Counter(entry.dialect for entry in entries if entry.messages[0].reader)
    most_common = counts.most_common(1)[0][0] if counts else None
    return form[0] if form is not None else found or most_common


def _in_dialect(entry: EntryReading, dialect: str | None) -> EntryReading:
    """Return an entry without a dialect of its own in the dialect of the other messages."""
    is_plain = not any(message.reader for message in entry.messages)
    return replace(entry, dialect=dialect) if is_plain and dialect is not None else entry

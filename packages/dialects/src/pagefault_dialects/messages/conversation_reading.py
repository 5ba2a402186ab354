"""Whole conversations of any dialect: requests, responses, and lists of messages or items."""

from collections.abc import Iterator
from dataclasses import dataclass

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.messages.entry_reading import EntryReading, entry_of
from pagefault_dialects.messages.histories import (
    SYSTEM_NAMES,
    body_dialect,
    list_name,
    read_at,
    sent_messages,
)

_PROMPT = (*SYSTEM_NAMES, "tools", "toolConfig", "tool_config", "model", "modelId")
_CONTINUES = ("previous_response_id", "conversation")


@dataclass(frozen=True, slots=True)
class ConversationReading:
    """A body with a conversation, or with the next part of one."""

    entries: tuple[tuple[str, JsonObject, EntryReading], ...]
    """The pointer in the body, the message as it was sent, and its reading; in order."""
    dialect: str | None
    """That of the body."""
    prompt: JsonObject
    """What stands around: system, instructions, tools, model, as they were sent."""
    continues: bool
    """Whether it goes behind what is stored: a response, or a request that refers to one."""


def read_conversation(value: JsonValue) -> ConversationReading:
    """Read a body: a request, a response, a list of messages, or lines of a transcript.

    Raises:
        InvalidPayloadError: No dialect knows it; the faults say where.
    """
    said = [*_said_in_response(value)]
    is_response = bool(said)
    if not said and _is_message(value):
        said = [("", value)]
        is_response = value.get("type") == "message"
    if not said:
        said = [*_said_in_request(value)]
    entries = []
    faults: list[Fault] = []
    for pointer, each in said:
        try:
            entries.append((pointer, each, entry_of([*read_at(each, "")], "")))
        except InvalidPayloadError as exc:
            faults += (Fault(pointer + fault.pointer, fault.detail) for fault in exc.faults)
    if faults:
        raise InvalidPayloadError(
            "There is something among the messages that no dialect knows; `errors` says where.",
            faults=faults,
        )
    foreign = [message for _, _, entry in entries for message in entry.messages]
    around = value if isinstance(value, dict) and not is_response else {}
    continues = is_response or any(around.get(name) for name in _CONTINUES)
    prompt = {name: around[name] for name in _PROMPT if around.get(name) is not None}
    return ConversationReading(tuple(entries), body_dialect(value, foreign), prompt, continues)


def _is_message(value: JsonValue) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _said_in_request(value: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    name = list_name(value)
    if name is None and not isinstance(value, list):
        raise InvalidPayloadError(
            "There is no conversation in this: send a list of messages, the request of a provider, "
            "or its response.",
            faults=[Fault("", "holds no messages that any dialect has")],
        )
    around = "" if name is None else f"/{name}"
    if name is not None and isinstance(value[name], str):
        yield around, sent_messages(value)[0]
        return
    for index, each in enumerate(sent_messages(value)):
        yield f"{around}/{index}", each


def _said_in_response(value: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    """Yield what a model answers in a response; of several answers the first."""
    if not isinstance(value, dict):
        return
    for name, inner in (("choices", "message"), ("candidates", "content")):
        choices = value.get(name)
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict) and isinstance(first.get(inner), dict):
            yield f"/{name}/0/{inner}", first[inner]
            return
    output = value.get("output")
    if isinstance(output, dict) and isinstance(output.get("message"), dict):
        yield "/output/message", output["message"]
    elif isinstance(output, list):
        for index, each in enumerate(output):
            yield f"/output/{index}", each

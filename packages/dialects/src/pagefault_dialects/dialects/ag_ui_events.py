"""Builds the messages of AG-UI from a stream of its events.

A message or a call is streamed in pieces: events for its start, its content and its end, or chunks.
"""

from collections.abc import Iterator

from pagefault_dialects.dialects.shapes import is_object
from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

# The roles of streamed messages, by the prefix of the types of their events.
_ROLES = {
    "TEXT_MESSAGE_": "assistant",
    "THINKING_TEXT_MESSAGE_": "reasoning",
    "REASONING_MESSAGE_": "reasoning",
}
_CALL = "TOOL_CALL_"
_RESULT, _SNAPSHOT, _RUN = "TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT", "RUN_STARTED"
# The types of events with a piece of a message or of a call.
_PIECES = frozenset(
    {
        *(f"{name}{piece}" for name in _ROLES for piece in ("START", "CONTENT", "END", "CHUNK")),
        *(f"{_CALL}{piece}" for piece in ("START", "ARGS", "END", "CHUNK")),
    }
)
# The types of events without content of the conversation.
_OTHER_EVENTS = frozenset(
    {
        *("RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED"),
        *("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"),
        *("STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"),
        *("RAW", "CUSTOM", "THINKING_START", "THINKING_END"),
        *("REASONING_START", "REASONING_END", "REASONING_ENCRYPTED_VALUE"),
    }
)
EVENTS = frozenset({*_PIECES, *_OTHER_EVENTS, _RESULT, _SNAPSHOT, _RUN})
"""All types of events."""


def is_outside_conversation(event: JsonObject) -> bool:
    """Return whether an event has no content of the conversation."""
    kind = text_member(event, "type")
    return kind in _OTHER_EVENTS or (kind == _RUN and not is_object(event.get("input")))


def read_events(events: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Return the messages of events in order, each with the pointer to its first event."""
    stream = _Stream()
    for index, event in enumerate(events):
        stream.add(event, f"/{index}")
    return stream.close()


class _Stream:
    """Builds the messages of a stream. A piece without an id belongs to the previous message.

    Texts of unfinished messages are lists of their pieces, which `close` joins.
    """

    def __init__(self) -> None:
        # All messages in order, each after its pointer, by their id or their pointer.
        self._messages: dict[str, tuple[str, JsonValue]] = {}
        # The messages and calls that are built from pieces, by id.
        self._messages_by_id: dict[str, JsonObject] = {}
        self._calls: dict[str, JsonObject] = {}
        # The id of the last message or call, by the prefix of the types of its events.
        self._last_ids: dict[str, str] = {}
        # The objects with lists of pieces, each with the name of the member.
        self._unfinished: list[tuple[JsonObject, str]] = []

    def close(self) -> Iterator[tuple[str, JsonValue]]:
        """Return the messages, with the pieces of their texts joined."""
        for container, name in self._unfinished:
            container[name] = "".join(container[name])
        return iter(self._messages.values())

    def add(self, event: JsonValue, pointer: str) -> None:
        """Add an event at a pointer."""
        kind = text_member(event, "type")
        if kind in _OTHER_EVENTS:
            return
        if kind == _RUN:
            run = event.get("input")
            self._add_messages(
                run.get("messages") if is_object(run) else None, f"{pointer}/input/messages"
            )
        elif kind == _SNAPSHOT:
            # A snapshot has all previous messages.
            self._messages, self._messages_by_id, self._calls, self._last_ids = {}, {}, {}, {}
            self._add_messages(event.get("messages"), f"{pointer}/messages")
        elif kind not in _PIECES:
            self._add_message(
                event, _find_text(event, "messageId") if kind == _RESULT else "", pointer
            )
        elif kind.startswith(_CALL):
            self._add_call(event, pointer)
        else:
            self._add_text(event, pointer)

    def _add_messages(self, messages: JsonValue, pointer: str) -> None:
        """Add whole messages. A run may begin with messages that were added before."""
        for index, message in enumerate(messages if isinstance(messages, list) else ()):
            message_id = _find_text(message, "id") if is_object(message) else ""
            if message_id not in self._messages:
                self._add_message(message, message_id, f"{pointer}/{index}")

    def _add_message(self, message: JsonValue, message_id: str, pointer: str) -> None:
        """Add a message under its id, or under its pointer if it has no id of its own."""
        is_new_id = message_id and message_id not in self._messages
        self._messages[message_id if is_new_id else pointer] = (pointer, message)

    def _add_text(self, event: JsonObject, pointer: str) -> None:
        """Add a piece of a text to its message."""
        prefix = next(prefix for prefix in _ROLES if event["type"].startswith(prefix))
        last_id = self._last_ids.get(prefix, pointer)
        message_id = self._last_ids[prefix] = _find_text(event, "messageId") or last_id
        role = _find_text(event, "role") or _ROLES[prefix]
        message = self._get_message(message_id, role, event, pointer)
        message["content"].append(_find_text(event, "delta"))

    def _add_call(self, event: JsonObject, pointer: str) -> None:
        """Add a piece of a call; its first piece adds the call to its message."""
        call_id = self._last_ids[_CALL] = _find_text(event, "toolCallId") or self._last_ids.get(
            _CALL, pointer
        )
        call = self._calls.get(call_id)
        if call is None:
            function: JsonObject = {"name": _find_text(event, "toolCallName"), "arguments": []}
            self._unfinished.append((function, "arguments"))
            call = self._calls[call_id] = {"id": call_id, "type": "function", "function": function}
            parent = _find_text(event, "parentMessageId") or pointer
            message = self._get_message(parent, "assistant", event, pointer)
            message.setdefault("toolCalls", []).append(call)
        call["function"]["arguments"].append(_find_text(event, "delta"))

    def _get_message(
        self, message_id: str, role: str, event: JsonObject, pointer: str
    ) -> JsonObject:
        """Return the unfinished message with an id; its first event creates the message."""
        if message_id not in self._messages_by_id:
            new: JsonObject = {"id": message_id, "role": role, "content": []}
            if run_id := _find_text(event, "subagentRunId"):
                new["subagentRunId"] = run_id
            self._messages_by_id[message_id] = new
            self._unfinished.append((new, "content"))
            self._add_message(new, message_id, pointer)
        return self._messages_by_id[message_id]


def _find_text(event: JsonObject, name: str) -> str:
    """Return a text member, whose name may be in snake_case; an empty string without one."""
    snake_name = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    value = event.get(name, event.get(snake_name))
    return value if isinstance(value, str) else ""

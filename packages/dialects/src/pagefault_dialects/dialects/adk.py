"""Google's Agent Development Kit: events around Gemini's Content, and sessions of them."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Wrapper
from pagefault_dialects.dialects.foreign_message import ForeignMessage, compose_message
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import is_object, is_object_array, is_string, shape
from pagefault_dialects.json.values import JsonObject, JsonValue

_OPTIONAL_MEMBERS = (
    *("id", "timestamp", "actions", "output", "nodeInfo", "branch", "isolationScope"),
    *("longRunningToolIds", "partial", "turnComplete", "turnCompleteReason", "interrupted"),
    *("interactionStatus", "interactionId", "environmentId", "finishReason", "errorCode"),
    *("errorMessage", "modelVersion", "groundingMetadata", "customMetadata", "usageMetadata"),
    *("liveSessionResumptionUpdate", "liveSessionId", "goAway", "voiceActivity"),
    *("inputTranscription", "outputTranscription", "avgLogprobs", "logprobsResult"),
    *("cacheMetadata", "citationMetadata"),
)
# The members by which an event is found.
_MARKS = ("invocationId", "invocation_id")


def _is_event(value: JsonObject) -> bool:
    content = value.get("content")
    return isinstance(value.get("author"), str) and (content is None or isinstance(content, dict))


def _read_event(event: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Return the message of an event. If the event only changes the state, it has no content."""
    role = "user" if event["author"] == "user" else "model"
    content = event.get("content")
    if content is None or not content.get("parts"):
        return [compose_message("user" if role == "user" else "assistant", (), pointer)]
    content_with_role = content if content.get("role") else {**content, "role": role}
    return reader.read_message(content_with_role, f"{pointer}/content")


def _is_outside_conversation(event: JsonObject) -> bool:
    """Return whether an event has no content, or a partial content that a later event repeats."""
    has_no_content = event.get("content") is None or event.get("partial") is True
    return _is_event(event) and has_no_content


def _read_events(events: JsonValue, pointer: str = "") -> Iterator[tuple[str, JsonValue]]:
    for index, event in enumerate(events):
        if not (isinstance(event, dict) and _is_outside_conversation(event)):
            yield f"{pointer}/{index}", event


def _read_session(session: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield from _read_events(session["events"], "/events")


DIALECT = DialectTables(
    "adk",
    (
        Wrapper(
            marks=_MARKS,
            shape=shape(
                {"invocationId": is_string, "author": is_string, "content": is_object},
                _OPTIONAL_MEMBERS,
            ),
            inner="content",
            label="event",
            overrides_dialect=True,
        ),
    ),
    messages=(
        MessageForm(marks=_MARKS, accepts=_is_event, read=_read_event, overrides_dialect=True),
    ),
    conversations=(
        ConversationForm(
            marks=("appName", "app_name"),
            accepts=lambda body: is_object_array(body.get("events")),
            read=_read_session,
        ),
        ConversationForm(
            marks=_MARKS,
            accepts=_is_event,
            read=_read_events,
            is_list=True,
            is_skipped=_is_outside_conversation,
        ),
    ),
)

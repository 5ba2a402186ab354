"""The Agent2Agent protocol: messages and artifacts, of 0.3 and of 1.0."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    compose_message,
    medium_block,
    medium_kind,
    text_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    is_array,
    is_boolean,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text
from pagefault_dialects.media.block_table import TYPE_NAMES

_ARTIFACT = Envelope(
    marks=("artifactId", "artifact_id"),
    shape=shape(
        {"artifactId": is_string, "parts": is_object_array},
        {
            "name": is_string,
            "description": is_string,
            "metadata": is_object,
            "extensions": is_array,
        },
    ),
    contents=(("parts",),),
    read_as="content",
)

# Members that contain a task: of JSON-RPC responses, and of both versions, outermost first.
_WRAPPER_MEMBERS = ("result", "task", "statusUpdate", "status_update")
_TASK_IDS = ("id", "taskId", "task_id")
_ROLES = {
    **dict.fromkeys(("user", "ROLE_USER", "ROLE_UNSPECIFIED"), "user"),
    **dict.fromkeys(("agent", "ROLE_AGENT"), "assistant"),
}


def _is_message(value: JsonObject) -> bool:
    return one_of(*_ROLES)(value.get("role")) and is_object_array(value.get("parts"))


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    del reader
    parts = [(f"/parts/{index}", _convert_part(part)) for index, part in enumerate(value["parts"])]
    yield compose_message(_ROLES[value["role"]], parts, pointer)


def _convert_part(part: JsonObject) -> JsonValue:
    """Return a part in common form: a text, data, or a file, which has one of several names."""
    file = part.get("file")
    file_part: JsonObject = file if isinstance(file, dict) else part
    name = file_part.get("name") or file_part.get("filename")
    mime_type = next(
        (file_part[type_name] for type_name in TYPE_NAMES if type_name in file_part), None
    )
    for member in ("bytes", "uri", "raw", "url"):
        if isinstance(file_part.get(member), str) and file_part[member]:
            return medium_block(medium_kind(mime_type), file_part[member], mime_type, name)
    if isinstance(part.get("text"), str):
        return text_block(part["text"])
    if "data" in part:
        return text_block(json_text(part["data"]))
    return part


def _read_task(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the messages of a task's history, and then the message of its status."""
    pointer, task = _find_task(body)
    history = task.get("history") or []
    yield from ((f"{pointer}/history/{index}", item) for index, item in enumerate(history))
    last = task["status"].get("message")
    if isinstance(last, dict) and last not in history:
        yield f"{pointer}/status/message", last


def _find_task(body: JsonObject) -> tuple[str, JsonObject]:
    """Return the task in a response, or the update of a task, after the pointer to it."""
    pointer = ""
    for name in _WRAPPER_MEMBERS:
        if isinstance(body.get(name), dict):
            pointer, body = f"{pointer}/{name}", body[name]
    return pointer, body


def _has_history(body: JsonObject) -> bool:
    return _has_task(body) and bool(_find_task(body)[1].get("history"))


def _has_task(body: JsonObject) -> bool:
    """Return whether a response has a task: an id, a status, and perhaps a history."""
    _, task = _find_task(body)
    status, history = task.get("status"), task.get("history") or []
    has_id = any(isinstance(task.get(name), str) for name in _TASK_IDS)
    return has_id and isinstance(status, dict) and "state" in status and is_array(history)


DIALECT = DialectTables(
    "a2a",
    (
        _ARTIFACT,
        Wrapper(
            marks=("artifact",),
            shape=shape(
                {"taskId": is_string, "contextId": is_string, "artifact": is_object},
                {
                    "kind": one_of("artifact-update"),
                    "append": is_boolean,
                    "lastChunk": is_boolean,
                    "metadata": is_object,
                },
            ),
            inner="artifact",
            label="event",
            envelope=_ARTIFACT,
            ignored_members=frozenset({"kind"}),
        ),
        # A response in a stream of version 1.0.
        Wrapper(
            marks=("artifactUpdate", "artifact_update"),
            shape=shape({"artifactUpdate": is_object}),
            inner="artifactUpdate",
            label="answer",
        ),
    ),
    (
        BlockForm((("text",),), "text"),
        BlockForm((("text",),), "text", ("kind", "text")),
        BlockForm(
            (("file", "bytes"), ("file", "uri")), "media", ("kind", "file"), name=("file", "name")
        ),
        # Dumps without default members have no `kind`.
        BlockForm((("file", "bytes"), ("file", "uri")), "media", name=("file", "name")),
        BlockForm((("data",),), "json", ("kind", "data")),
        BlockForm((("raw",),), "media"),
        BlockForm((("url",),), "media"),
        BlockForm((("data",),), "json"),
    ),
    has_closed_content=True,
    messages=(
        MessageForm(marks=("messageId", "message_id"), accepts=_is_message, read=_read_message),
    ),
    conversations=(
        ConversationForm(
            marks=("status", *_WRAPPER_MEMBERS), accepts=_has_history, read=_read_task
        ),
        ConversationForm(
            marks=("status", *_WRAPPER_MEMBERS),
            accepts=_has_task,
            read=_read_task,
            is_response=True,
        ),
    ),
)

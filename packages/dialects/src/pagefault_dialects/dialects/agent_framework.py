"""Microsoft's Agent Framework: messages of contents, some of which answer calls."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_presence
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    medium_block,
    medium_kind,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import (
    Members,
    anything,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue


def _contents(members: Members) -> Iterable[Content]:
    """Yield the items; `result` repeats the texts among them."""
    if members["items"]:
        yield Content(members["items"], members.path("items"), "content")
    elif "result" in members:
        yield Content(members["result"], members.path("result"))


_is_role = one_of("system", "user", "assistant", "tool")
# How a host and its user come to terms, and what that costs.
_is_apart = one_of(
    *("usage", "function_approval_request", "function_approval_response"), "oauth_consent_request"
)


def _is_message(value: JsonObject) -> bool:
    return _is_role(_role(value)) and objects(value["contents"])


def _role(value: JsonObject) -> JsonValue:
    """Return who says a message; earlier versions have an object with a value."""
    role = value.get("role")
    return role.get("value") if isinstance(role, dict) else role


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    blocks = [
        (f"/contents/{index}", block)
        for index, each in enumerate(value["contents"])
        for block in _blocks(each, reader)
    ]
    yield compose_message(_role(value), blocks, pointer)


def _blocks(part: JsonObject, reader: InnerReader) -> Iterator[JsonValue]:
    kind = part.get("type")
    if kind == "function_call":
        yield call_block(part.get("call_id"), part.get("name"), part.get("arguments"))
    elif kind == "text_reasoning":
        yield thought_block(part.get("text") or "")
    elif kind in ("data", "uri") and isinstance(part.get("uri"), str):
        mime_type = part.get("media_type")
        yield medium_block(medium_kind(mime_type), part["uri"], mime_type, None)
    elif kind == "error" and isinstance(part.get("message"), str):
        yield text_block(part["message"])
    elif not _is_apart(kind):
        yield from (block for _, block in reader.read_blocks([part], ""))


DIALECT = Dialect(
    "agent-framework",
    (
        Envelope(
            marks=(("type", "function_result"),),
            shape=shape(
                {"type": one_of("function_result"), "call_id": string},
                {
                    "result": anything,
                    "items": objects,
                    # For the host: it may hold secrets.
                    "exception": string,
                    "status": string,
                    "id": string,
                    "name": string,
                    "annotations": anything,
                    "additional_properties": record,
                    "raw_representation": anything,
                },
            ),
            contents=(),
            call_id=("call_id",),
            name=("name",),
            failure=by_presence("exception"),
            frame=frozenset({"type", "result"}),
            accepts=lambda members: (
                "items" in members or "result" in members or "exception" in members
            ),
            choose=_contents,
        ),
        Wrapper(
            marks=("contents",),
            shape=shape(
                {"role": one_of("tool", "user"), "contents": objects},
                {
                    "type": one_of("message", "chat_message"),
                    "author_name": string,
                    "message_id": string,
                    "additional_properties": record,
                    "raw_representation": anything,
                },
            ),
            inner="contents",
            label="message",
        ),
    ),
    (
        BlockForm((("text",),), "text", ("type", "text")),
        BlockForm((("uri",),), "media", ("type", "data")),
        BlockForm((("uri",),), "media", ("type", "uri")),
        BlockForm((("message",),), "text", ("type", "error")),
    ),
    has_closed_content=True,
    messages=(MessageForm(marks=("contents",), accepts=_is_message, read=_read_message),),
)

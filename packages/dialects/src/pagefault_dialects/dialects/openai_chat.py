"""OpenAI's Chat Completions API, and similar messages of Mistral, Ollama, OpenRouter and Agno."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects import agno
from pagefault_dialects.dialects.envelope import DialectTables, Envelope
from pagefault_dialects.dialects.foreign_message import ForeignMessage, medium_block
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageBlock,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Members,
    is_array,
    is_content,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the content, and then Ollama's images."""
    if "content" in members:
        yield Content(members["content"], members.path("content"), "content")
    if "images" in members:
        yield Content(members["images"], members.path("images"), "media")


_TOOL_MESSAGE = Envelope(
    marks=(("role", "tool"),),
    shape=shape(
        {"role": one_of("tool"), "content": is_content},
        {
            "tool_call_id": is_string,
            "name": is_string,
            # Members of Ollama.
            "tool_name": is_string,
            "images": is_array,
            "thinking": is_string,
        },
        nullable=("content",),
    ),
    call_id=("tool_call_id",),
    name=("name",),
    accepts=lambda members: "tool_call_id" in members,
    choose_contents=_choose_contents,
)
_OLLAMA_MESSAGE = Envelope(
    marks=_TOOL_MESSAGE.marks,
    shape=_TOOL_MESSAGE.shape,
    call_id=("tool_call_id",),
    name=("tool_name",),
    accepts=lambda members: "tool_name" in members,
    choose_contents=_choose_contents,
)
_FUNCTION_MESSAGE = Envelope(
    marks=(("role", "function"),),
    shape=shape(
        {"role": one_of("function"), "name": is_string, "content": is_content},
        nullable=("content",),
    ),
    contents=(("content",),),
    read_as="content",
    name=("name",),
)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(
        _convert_images(_rename_tool_name(value)), pointer, "openai-chat"
    )


def _read_message_of_any_dialect(
    value: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    """Yield a message that may be of any dialect; its blocks may determine the dialect."""
    yield reader.read_role_message(_convert_images(value), pointer)


def _convert_images(value: JsonObject) -> JsonObject:
    """Return a message with a block for each of Ollama's `images`, which are base64."""
    images = value.get("images")
    if not isinstance(images, list):
        return value
    blocks = [
        medium_block("image", image, None, None) if isinstance(image, str) else image
        for image in images
    ]
    return {**value, "images": blocks}


def _rename_tool_name(value: JsonObject) -> JsonObject:
    """Return a message with Ollama's `tool_name` as OpenAI's `name`."""
    if "tool_name" not in value:
        return value
    return {"name": value["tool_name"]} | {
        name: member for name, member in value.items() if name != "tool_name"
    }


def _has_distinctive_members(value: JsonObject) -> bool:
    """Return whether a message has calls in the form of this dialect, or other members of it."""
    if not isinstance(value.get("role"), str):
        return False
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        # Calls of LangChain have `args`.
        return "args" not in calls[0]
    return any(name in value for name in _DISTINCTIVE_MEMBERS)


def _read_wrapped(value: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Return the message in a line `{"message": {…}}` of a host's transcript."""
    return reader.read_message(value["message"], f"{pointer}/message")


def _read_completion(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the message of the first choice."""
    yield "/choices/0/message", body["choices"][0]["message"]


def _read_ollama_response(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield "/message", body["message"]


def _is_completion(body: JsonObject) -> bool:
    choices = body["choices"]
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get("message"), dict)


# Members that messages of other dialects do not have.
_DISTINCTIVE_MEMBERS = (
    *("tool_call_id", "tool_name", "function_call", "refusal", "audio", "prefix"),
    *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
)
_BLOCK_TYPES = ("image_url", "input_audio")


def _read_mistral_block(block: JsonObject) -> list[JsonValue] | None:
    """Return the common form of a block that Mistral writes differently; `None` for others."""
    if isinstance(url := block.get("document_url"), str):
        return [medium_block("file", url, "application/pdf", block.get("document_name"))]
    if isinstance(audio := block.get("input_audio"), str):
        return [medium_block("audio", audio, None, None)]
    return None


DIALECT = DialectTables(
    "openai-chat",
    (_TOOL_MESSAGE, _OLLAMA_MESSAGE, _FUNCTION_MESSAGE, agno.TOOL_EXECUTION),
    (BlockForm(payloads=(("text",),), payload_kind="text", mark=("type", "text")),),
    messages=(
        MessageForm(
            marks=("message",),
            accepts=lambda value: (
                isinstance(value["message"], dict) and isinstance(value["message"].get("role"), str)
            ),
            read=_read_wrapped,
            determines_dialect=False,
        ),
        agno.MESSAGE,
        MessageForm(marks=("role",), accepts=_has_distinctive_members, read=_read_message),
        MessageForm(
            marks=("role",),
            accepts=lambda value: isinstance(value["role"], str),
            read=_read_message_of_any_dialect,
            determines_dialect=False,
        ),
    ),
    message_blocks=(
        # A block has one of these members.
        MessageBlock(marks=("document_url", "input_audio"), read=_read_mistral_block),
        MessageBlock(marks=tuple(("type", kind) for kind in _BLOCK_TYPES)),
        MessageBlock(
            marks=(("type", "file"),), accepts=lambda block: isinstance(block.get("file"), dict)
        ),
    ),
    conversations=(
        ConversationForm(
            marks=("choices",), accepts=_is_completion, read=_read_completion, is_response=True
        ),
        # The response of Ollama.
        ConversationForm(
            marks=("message",),
            accepts=lambda body: (
                isinstance(body["message"], dict) and "role" in body["message"] and "done" in body
            ),
            read=_read_ollama_response,
            is_response=True,
        ),
    ),
    ignored_members=frozenset(("annotations", "prefix", "id", "index")),
)

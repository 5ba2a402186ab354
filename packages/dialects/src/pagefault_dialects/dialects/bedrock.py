"""Bedrock's Converse API: blocks of its messages, and its response."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_value
from pagefault_dialects.dialects.foreign_message import text_block
from pagefault_dialects.dialects.message_forms import ConversationForm, MessageBlock
from pagefault_dialects.dialects.shapes import is_object, is_object_array, is_string, one_of, shape
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue

FAILURE = by_value("status", "error", success=("success",))
STATUS = one_of("success", "error")
_TOOL_RESULT = Envelope(
    marks=(),
    shape=shape(
        {"toolUseId": is_string, "content": is_object_array}, {"status": STATUS, "type": is_string}
    ),
    contents=(("content",),),
    read_as="content",
    call_id=("toolUseId",),
    failure=FAILURE,
    ignored_members=frozenset({"status"}),
)
_BLOCK = Wrapper(
    marks=("toolResult",),
    shape=shape({"toolResult": is_object}),
    inner="toolResult",
    label="block",
    envelope=_TOOL_RESULT,
)

BLOCKS = (
    BlockForm((("text",),), "text"),
    BlockForm((("json",),), "json"),
    # Strands writes bytes as an object with base64, since JSON has no bytes.
    BlockForm((("image", "source", "bytes", "data"),), "media", kind="image"),
    BlockForm((("image", "source", "bytes"),), "media", kind="image"),
    BlockForm((("document", "source", "bytes", "data"),), "media", name=("document", "name")),
    BlockForm((("document", "source", "bytes"),), "media", name=("document", "name")),
    BlockForm((("document", "source", "text"),), "text", name=("document", "name")),
    BlockForm((("document", "source", "content"),), "content", name=("document", "name")),
    BlockForm((("video", "source", "bytes", "data"),), "media", kind="video"),
    BlockForm((("video", "source", "bytes"),), "media", kind="video"),
    BlockForm(
        (("searchResult", "content"),),
        "content",
        name=("searchResult", "title"),
        uri=("searchResult", "source"),
    ),
)


def _read_document(block: JsonObject) -> list[JsonValue] | None:
    """Return the name, the context and the text of a document as blocks of text.

    A document with a file stays a document, after its context; without a context, return `None`.
    """
    document = block["document"]
    source = document.get("source")
    content_source = source if isinstance(source, dict) else {}
    texts = (content_source.get(name) for name in ("text", "content"))
    content = next((text for text in texts if text is not None), None)
    context = document.get("context")
    context_blocks = [text_block(context)] if isinstance(context, str) and context else []
    if content is None:
        without_context = {name: value for name, value in document.items() if name != "context"}
        return [*context_blocks, {"document": without_context}] if context_blocks else None
    title = document.get("name") or document.get("title")
    title_blocks = [text_block(f"[document: {title}]")] if title else []
    text_blocks = [text_block(content)] if isinstance(content, str) else content
    return [*title_blocks, *context_blocks, *text_blocks] if isinstance(text_blocks, list) else None


def _read_citations(block: JsonObject) -> list[JsonValue] | None:
    """Return the texts of a block with citations, without the citations."""
    content = block["citationsContent"].get("content")
    return [*content] if is_object_array(content) else None


def _read_guard_content(block: JsonObject) -> list[JsonValue] | None:
    """Return the text of a block that a guardrail checks."""
    content = block["guardContent"].get("text")
    text = content.get("text") if isinstance(content, dict) else None
    return [text_block(text)] if isinstance(text, str) else None


def _read_response(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield "/output/message", body["output"]["message"]


# The members that a block may have: each block has one of them.
_BLOCK_MEMBERS = (
    *("toolUse", "reasoningContent", "cachePoint", "text", "image", "document", "video"),
    *("audio", "searchResult", "citationsContent", "guardContent"),
)
# Members that only Bedrock's blocks have.
_DISTINCTIVE_MEMBERS = frozenset(("toolUse", "toolResult", "reasoningContent", "cachePoint"))


def _is_block(block: JsonObject) -> bool:
    """Return whether an object with one of `_BLOCK_MEMBERS` is a block of Bedrock."""
    image = block.get("image")
    if isinstance(image, dict) and "base64_image" in image:
        # A part of Haystack.
        return False
    return "type" not in block and (len(block) == 1 or not _DISTINCTIVE_MEMBERS.isdisjoint(block))


# The readers of blocks that are converted to common form, by the member of the block.
_READERS = {
    "citationsContent": _read_citations,
    "guardContent": _read_guard_content,
    "document": _read_document,
}


def _make_message_block(name: str) -> MessageBlock:
    return MessageBlock(
        marks=(name,),
        read=_READERS[name],
        accepts=lambda block: _is_block(block) and isinstance(block[name], dict),
    )


DIALECT = DialectTables(
    "bedrock",
    (_BLOCK,),
    BLOCKS,
    has_closed_content=True,
    message_blocks=(
        *map(_make_message_block, _READERS),
        MessageBlock(marks=_BLOCK_MEMBERS, accepts=_is_block),
    ),
    conversations=(
        ConversationForm(
            marks=("output",),
            accepts=lambda body: (
                isinstance(body["output"], dict) and isinstance(body["output"].get("message"), dict)
            ),
            read=_read_response,
            is_response=True,
        ),
    ),
    # Members that Strands adds.
    ignored_members=frozenset(("metadata", "tracking_id")),
)

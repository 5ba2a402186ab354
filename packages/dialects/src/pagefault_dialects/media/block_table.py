"""The shapes in which providers write media into content blocks, and the member names they use.

A payload is the base64, the data URI or the URL of a medium. The MIME type, the file name and the
format of a payload are members of the object that has the payload, or of an object around that one;
MCP, OpenAI, Anthropic, Gemini, Bedrock, LangChain and the Vercel AI SDK are alike in this. So a
`BlockShape` has only the paths of payloads, and the names of members that no other provider uses.
Normalization, messages and renderings all read blocks by this table.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypeVar

from pagefault_dialects.model.normalized import DeclaredKind

MemberPath = tuple[str, ...]
"""The path to a member, as the keys of nested objects."""
_Member = TypeVar("_Member")

TYPE_NAMES = ("mimeType", "mime_type", "mediaType", "media_type")
CONTENT_TYPE_NAMES = ("contentType", "content_type")
OTHER_TYPE_NAMES = ("mime", "mimetype", "type")
FORMAT_NAMES = ("format", "output_format")
FILE_NAMES = ("filename", "file_name", "fileName", "displayName", "display_name")
TITLE_NAMES = ("name", "title")
URL_NAMES = ("url", "uri", "href", "src")
REALTIME_PARTS = ("input_audio", "output_audio")
"""Parts of OpenAI's Realtime API: sound of `REALTIME_TYPE`, its transcript, or both."""
REALTIME_TYPE = "audio/pcm;rate=24000"
TEXT_TYPES = ("text", "input_text", "output_text")

MEDIA_ONLY_NAMES = frozenset({"blob", "file_data", "fileData", "b64_json"})
"""Members whose value is base64 if it is a string."""
BASE64_NAMES = MEDIA_ONLY_NAMES | {"data", "base64", "bytes"}
"""Members whose value is base64 if the object declares a MIME type, or if it is a medium."""
MEDIUM_NAMES = frozenset({"audio", "input_audio", "image", "video", "source", "inline_data"})
"""Members whose value, an object, is a medium even if it declares no MIME type."""
AUDIO_FORMATS = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "aac": "audio/aac",
}
"""MIME types of the values of `format` next to the base64 of audio."""


class PlainMember(NamedTuple):
    """A member that may hold a medium in an object that is not a content block."""

    kind: DeclaredKind | None
    """The kind that the name of the member declares."""
    holds_base64: bool
    """True if a short string of letters is more likely base64 than a word or a path."""


_BASE64 = PlainMember(None, holds_base64=True)
_ANY_CONTENT = PlainMember(None, holds_base64=False)
PLAIN_MEMBERS: dict[str, PlainMember] = {
    **dict.fromkeys(("data", "blob", "base64", "bytes", "b64", "buffer", "binary"), _BASE64),
    **dict.fromkeys(("base64Data", "base64_data", "file_data", "fileData"), _BASE64),
    **dict.fromkeys(("file", "content", "contents", "body", "payload", "text"), _ANY_CONTENT),
    **dict.fromkeys(("raw", "value"), _ANY_CONTENT),
    **dict.fromkeys(
        ("image", "image_data", "imageData", "b64_json", "screenshot", "thumbnail"),
        PlainMember("image", holds_base64=True),
    ),
    **dict.fromkeys(("audio", "audio_data", "audioData"), PlainMember("audio", holds_base64=True)),
    **dict.fromkeys(("video", "video_data", "videoData"), PlainMember("video", holds_base64=True)),
}

_LANGCHAIN_ID = "lc_"

# Members that only describe how a payload is written, such as its encoding, and their values. When
# the payload is stored as a medium, a member with one of these values is dropped.
FRAMING_MEMBERS: dict[str, frozenset[str]] = {
    "type": frozenset(("base64", "url", "data", "text", "file", "Buffer")),
    "source_type": frozenset(("base64", "url", "text")),
    "detail": frozenset(("auto", "low", "high", "original")),
    "encoding": frozenset(("base64",)),
    "kind": frozenset(("binary",)),
}


@dataclass(frozen=True, slots=True)
class BlockShape:
    """A content block with a medium, as some providers write it."""

    provider: str
    """The providers that write such blocks."""
    block_type: str | None
    """The value of the member `type`; `None` for blocks without that member.

    A block without `type` is recognised by its only member, whose name is the first key of one of
    the paths in `payloads`.
    """
    kind: DeclaredKind | None
    """The kind of medium that the block declares."""
    payloads: tuple[MemberPath, ...]
    """The paths to a payload, in the order in which they are tried."""
    type_name: str | None = None
    """The name of the member with the MIME type, if only this shape uses that name."""
    file_name: str | None = None
    """The name of the member with the file name, if only this shape uses that name."""
    may_have_others: bool = False
    """True if a block without `type` may have other members beside the payload."""
    mime_type: str | None = None
    """The MIME type of the payload if the block declares none."""


def paths(*dotted: str) -> tuple[MemberPath, ...]:
    """Return the member paths of texts such as `source.data`."""
    return tuple(tuple(path.split(".")) for path in dotted)


_INLINE = paths(
    *("data", "base64", "blob", "bytes", "source.data", "source.base64", "source.bytes"),
    *("source.url", "data.data", "data.url", "data.text", "url"),
)
# Each of these providers uses some of the `_INLINE` paths. No provider uses the others for anything
# but media, so one list is enough for all.
_INLINE_PROVIDERS = "mcp, anthropic, langchain, vercel, pydantic-ai"

SHAPES: tuple[BlockShape, ...] = (
    BlockShape(_INLINE_PROVIDERS, "image", "image", _INLINE),
    BlockShape("vercel", "image", "image", paths("image")),
    BlockShape("openai", "image", "image", paths("image_url.url", "image_url")),
    BlockShape(_INLINE_PROVIDERS, "audio", "audio", _INLINE),
    BlockShape("openai", "audio", "audio", paths("audio", "audio.data", "input_audio.data")),
    BlockShape(_INLINE_PROVIDERS, "video", "video", _INLINE),
    BlockShape("openrouter", "video", "video", paths("video", "video_url.url", "video_url")),
    BlockShape(_INLINE_PROVIDERS, "file", None, _INLINE),
    BlockShape("openai", "file", None, paths("file.file_data", "file.file_url")),
    BlockShape("openai", "file", None, paths("file_data", "file_url")),
    BlockShape("anthropic", "document", None, _INLINE),
    BlockShape("langchain", "media", None, _INLINE),
    BlockShape("langchain", "text-plain", None, _INLINE),
    BlockShape("node", "Buffer", None, paths("data")),
    BlockShape("openai", "image_url", "image", paths("image_url.url", "image_url", "url")),
    BlockShape("openrouter", "audio_url", "audio", paths("audio_url.url", "audio_url", "url")),
    BlockShape("openrouter", "video_url", "video", paths("video_url.url", "video_url", "url")),
    BlockShape("openai", "input_image", "image", paths("image_url", "image_url.url")),
    BlockShape("openai", "input_audio", "audio", paths("input_audio.data", "data")),
    # Audio of the Realtime API has this type unless its session declares another one.
    BlockShape("openai", "input_audio", "audio", paths("audio"), mime_type=REALTIME_TYPE),
    BlockShape("openai", "output_audio", "audio", paths("audio"), mime_type=REALTIME_TYPE),
    BlockShape("openai", "input_video", "video", paths("video_url", "video_url.url", "data")),
    BlockShape("openai", "input_file", None, paths("file_data", "file_url")),
    BlockShape("openai", "computer_screenshot", "image", paths("image_url")),
    BlockShape("openai", "image_generation_call", "image", paths("result")),
    BlockShape("vercel", "image-data", "image", paths("data")),
    BlockShape("vercel", "image-url", "image", paths("url")),
    BlockShape("vercel", "file-data", None, paths("data")),
    BlockShape("vercel", "file-url", None, paths("url")),
    BlockShape("gemini", None, None, paths("inlineData.data"), may_have_others=True),
    BlockShape("gemini", None, None, paths("inline_data.data"), may_have_others=True),
    BlockShape("gemini", None, None, paths("fileData.fileUri"), may_have_others=True),
    BlockShape("gemini", None, None, paths("file_data.file_uri"), may_have_others=True),
    BlockShape("bedrock", None, None, paths("document.source.bytes")),
    BlockShape("openai", None, None, paths("file.file_data")),
    BlockShape("bedrock", None, "image", paths("image.source.bytes")),
    BlockShape("openai", None, "image", paths("b64_json", "image_url.url", "image_url")),
    BlockShape("bedrock", None, "audio", paths("audio.source.bytes")),
    BlockShape("openai", None, "audio", paths("audio.data", "input_audio.data")),
    BlockShape("bedrock", None, "video", paths("video.source.bytes")),
    BlockShape("openrouter", None, "video", paths("video_url.url")),
)


def is_url_path(path: MemberPath) -> bool:
    """Return whether the member at a path is a URL, which may be a data URI."""
    return path[-1].endswith(("url", "Uri", "uri"))


class BlockTable:
    """An index of block shapes, and of the names of members in them.

    `typed` has the shapes by the value of `type`, `untyped` those of blocks without `type`.
    `untyped_keys` are the first keys of the payloads of `untyped`.

    Args:
        shapes: The shapes, in the order in which they are tried.
    """

    def __init__(self, shapes: tuple[BlockShape, ...]) -> None:
        untyped = tuple(shape for shape in shapes if shape.block_type is None)
        typed = sorted((s for s in shapes if s.block_type), key=lambda s: s.block_type or "")
        by_type = groupby(typed, key=lambda shape: shape.block_type)
        self.typed = {block_type: tuple(group) for block_type, group in by_type}
        self.untyped = untyped
        self.untyped_keys = frozenset(path[0] for shape in untyped for path in shape.payloads)
        self.first_keys_with_other_members = tuple(
            path[0] for shape in untyped if shape.may_have_others for path in shape.payloads
        )
        base64_paths = (
            path for shape in shapes for path in shape.payloads if not is_url_path(path)
        )
        types = (shape.type_name for shape in shapes if shape.type_name)
        self.mime_type_members = (*types, *TYPE_NAMES, *CONTENT_TYPE_NAMES)
        self.type_names = (*self.mime_type_members, *OTHER_TYPE_NAMES)
        self.file_names = (*(s.file_name for s in shapes if s.file_name), *FILE_NAMES)
        # The only members that a block with a link to a medium has.
        self.link_block_members = {
            *FRAMING_MEMBERS,
            *self.type_names,
            *self.file_names,
            *TITLE_NAMES,
            *("url", "id", "index", "extras", "metadata", "annotations", "_meta"),
        }
        # The last two keys of paths to base64 in members that may hold other strings elsewhere.
        self.base64_path_suffixes = frozenset(
            path[-2:] for path in base64_paths if len(path) > 1 and path[-2] not in BASE64_NAMES
        )


BLOCK_TABLE = BlockTable(SHAPES)


def is_langchain_block(block: dict[str, _Member]) -> bool:
    """Return whether a block has an id that LangChain generated."""
    return str(block.get("id")).startswith(_LANGCHAIN_ID)


def without_langchain_members(block: dict[str, _Member]) -> dict[str, _Member]:
    """Return a block without the members that LangChain generates.

    LangChain's constructors give each block an id (`lc_` and a UUID), number the pieces of a stream
    in `index`, and move members that its standard does not have into `extras`. A file name in
    `extras` is moved back into the block.
    """
    generated = {
        key
        for key in ("id", "index")
        if isinstance(block.get(key), int) or str(block.get(key)).startswith(_LANGCHAIN_ID)
    }
    bare = {key: value for key, value in block.items() if key not in generated}
    extras = bare.get("extras")
    if not isinstance(extras, dict) or "filename" in bare:
        return bare
    if not isinstance(extras.get("filename"), str):
        return bare
    rest = {key: value for key, value in extras.items() if key != "filename"}
    return {**bare, "filename": extras["filename"], "extras": rest}

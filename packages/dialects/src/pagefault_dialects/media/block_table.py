"""The shapes in which providers write media into content blocks, and the member names they use.

A path is a tuple of keys. The MIME type, the file name and the format of a payload are searched
next to it and then outwards, which is how MCP, OpenAI, Anthropic, Gemini, Bedrock, LangChain and
the Vercel AI SDK all arrange them. So a `BlockShape` gives only the paths of payloads, and members
for the type or the name if no other shape has them. Normalization, messages and renderings all
read blocks by this table.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from pagefault_dialects.model.normalized import ClaimedKind

MemberPath = tuple[str, ...]
_Member = TypeVar("_Member")

TYPE_NAMES = ("mimeType", "mime_type", "mediaType", "media_type")
CONTENT_TYPE_NAMES = ("contentType", "content_type")
OTHER_TYPE_NAMES = ("mime", "mimetype", "type")
FORMAT_NAMES = ("format", "output_format")
FILE_NAMES = ("filename", "file_name", "fileName", "displayName", "display_name")
NAMES = ("name", "title")
URL_NAMES = ("url", "uri", "href", "src")
REALTIME_PARTS = ("input_audio", "output_audio")
"""Parts of OpenAI's Realtime API: sound of `REALTIME_TYPE`, its transcript, or both."""
REALTIME_TYPE = "audio/pcm;rate=24000"
TEXT_TYPES = ("text", "input_text", "output_text")

MEDIA_ONLY_NAMES = frozenset({"blob", "file_data", "fileData", "b64_json"})
"""Members whose value is base64 if it is a string."""
BASE64_NAMES = MEDIA_ONLY_NAMES | {"data", "base64", "bytes"}
"""Members that hold base64 next to a type, or in an object that is a medium."""
MEDIUM_NAMES = frozenset({"audio", "input_audio", "image", "video", "source", "inline_data"})
"""Members whose object is a medium, even if it has no MIME type."""
AUDIO_FORMATS = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "aac": "audio/aac",
}
"""MIME types of the values of `format` next to the base64 of a recording."""

# Members of objects that are no content blocks: the kind that the key declares, and whether a short
# string of letters there is more likely base64 than a word or a path.
PLAIN: dict[str, tuple[ClaimedKind | None, bool]] = {
    **dict.fromkeys(("data", "blob", "base64", "bytes", "b64", "buffer", "binary"), (None, True)),
    **dict.fromkeys(("base64Data", "base64_data", "file_data", "fileData"), (None, True)),
    **dict.fromkeys(("file", "content", "contents", "body", "payload", "text"), (None, False)),
    **dict.fromkeys(("raw", "value"), (None, False)),
    **dict.fromkeys(("image", "image_data", "imageData", "b64_json"), ("image", True)),
    **dict.fromkeys(("screenshot", "thumbnail"), ("image", True)),
    **dict.fromkeys(("audio", "audio_data", "audioData"), ("audio", True)),
    **dict.fromkeys(("video", "video_data", "videoData"), ("video", True)),
}

_LANGCHAIN_ID = "lc_"

# Members that only describe a payload, such as its encoding. With these values they are
# redundant once the payload is a medium, and are dropped.
FRAMING: dict[str, frozenset[str]] = {
    "type": frozenset(("base64", "url", "data", "text", "file", "Buffer")),
    "source_type": frozenset(("base64", "url", "text")),
    "detail": frozenset(("auto", "low", "high", "original")),
    "encoding": frozenset(("base64",)),
    "kind": frozenset(("binary",)),
}


@dataclass(frozen=True, slots=True)
class BlockShape:
    """A shape of a block with a medium."""

    provider: str
    """The providers that use it."""
    block_type: str | None
    """The value of `type`; `None` for blocks without one.

    Such a block is known by its only member, which is the first key of one of the paths in
    `payloads`; see `may_have_others`.
    """
    kind: ClaimedKind | None
    """The declared kind."""
    payloads: tuple[MemberPath, ...]
    """The paths of the base64, the data URI or the URL, the first choice first."""
    type_name: str | None = None
    """The member with the MIME type, if its name is unique to this shape."""
    file_name: str | None = None
    """The member with the file name, if its name is unique to this shape."""
    may_have_others: bool = False
    """True if a block without a type may have other members."""
    mime_type: str | None = None
    """The type of a payload without a declared one."""


def paths(*dotted: str) -> tuple[MemberPath, ...]:
    """Return paths written with dots as tuples."""
    return tuple(tuple(path.split(".")) for path in dotted)


_INLINE = paths(
    *("data", "base64", "blob", "bytes", "source.data", "source.base64", "source.bytes"),
    *("source.url", "data.data", "data.url", "data.text", "url"),
)
# Each of these providers uses some of the `_INLINE` paths, and none gives another meaning to the
# others, so one list serves all.
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
    # Of the Realtime API, whose sessions have this format unless they name another one.
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
    """Return whether the place is for a URL, or base64 in a data URI."""
    return path[-1].endswith(("url", "Uri", "uri"))


class BlockTable:
    """An index of the shapes, by type and by key.

    Args:
        shapes: In the order in which they are tried.
    """

    def __init__(self, shapes: tuple[BlockShape, ...]) -> None:
        untyped = tuple(shape for shape in shapes if shape.block_type is None)
        typed = sorted((s for s in shapes if s.block_type), key=lambda s: s.block_type or "")
        by_type = groupby(typed, key=lambda shape: shape.block_type)
        self.typed = {block_type: tuple(alike) for block_type, alike in by_type}
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
        neighbours = ("url", "id", "index", "extras", "metadata", "annotations", "_meta")
        self.members_beside_links = {
            *FRAMING,
            *self.type_names,
            *self.file_names,
            *NAMES,
            *neighbours,
        }
        self.base64_path_suffixes = frozenset(
            path[-2:] for path in base64_paths if len(path) > 1 and path[-2] not in BASE64_NAMES
        )


KNOWN = BlockTable(SHAPES)


def is_of_langchain(block: dict[str, _Member]) -> bool:
    """Return whether a block has an id that LangChain generated."""
    return str(block.get("id", "")).startswith(_LANGCHAIN_ID)


def without_langchain_members(block: dict[str, _Member]) -> dict[str, _Member]:
    """Return a block without LangChain's additions, with its file name in the usual place.

    LangChain's constructors give each block an id (`lc_` and a UUID), number the pieces of a stream
    in `index`, and put members outside of its standard into `extras`.
    """
    generated = {
        key
        for key in ("id", "index")
        if isinstance(block.get(key), int) or str(block.get(key, "")).startswith(_LANGCHAIN_ID)
    }
    bare = {key: value for key, value in block.items() if key not in generated}
    extras = bare.get("extras")
    if not isinstance(extras, dict) or "filename" in bare:
        return bare
    if not isinstance(extras.get("filename"), str):
        return bare
    rest = {key: value for key, value in extras.items() if key != "filename"}
    return {**bare, "filename": extras["filename"], "extras": rest}

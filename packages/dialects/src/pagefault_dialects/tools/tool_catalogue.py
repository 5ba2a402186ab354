"""The definitions of the memory's tools for a model: names, descriptions, arguments.

The definitions are not generated from `tool_arguments`. A proxy lists them to its host and reads no
arguments, so it needs neither that module nor pydantic. A test checks that both modules have the
same arguments, of the same types.

Source: design document `agents.md`, "Tools for models".
"""

from collections.abc import Sequence

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.tool import ToolDefinition

MAX_TEXT_CHARS = 6_000
"""The limit of the text that one `read_text` returns. Longer texts would be shortened again when
the result is stored."""

_REF = "A handle such as @blob:9a0e…, as you see it in brackets"
_TEXT_REF = "@blob:9a0e…, a page id, @entry:12, @entry:12/arguments/0/content or @entries:2-90"
_MODALITIES = ("text", "image", "audio", "video", "structured")
_PAGE_TYPES = ("transcript", "summary", "artifact", "claim", "procedure", "index")
_KINDS = ("image", "audio", "video", "binary", "text")


def _define_tool(name: str, description: str, **arguments: JsonValue) -> ToolDefinition:
    """Return a definition with a strict schema: all arguments are required, no others allowed."""
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": arguments,
        "required": [*arguments],
        "additionalProperties": False,
    }
    return ToolDefinition(name, description, parameters)


def _define_argument(kind: str, description: str) -> dict[str, JsonValue]:
    """Return the schema of an argument of a JSON type that must not be null.

    The schema has no bounds, because strict modes accept neither `minimum` nor `pattern`. Bounds
    are checked when the tool is called.
    """
    return {"type": kind, "description": description}


def _define_nullable_argument(kind: str, description: str) -> dict[str, JsonValue]:
    """Return the schema of an argument that may be null, which means its default."""
    return {"type": [kind, "null"], "description": description}


def _define_choice(values: Sequence[str]) -> dict[str, JsonValue]:
    """Return the schema of an argument that is one of some values, or null."""
    return {"type": ["string", "null"], "enum": [*values, None]}


_DEFINITIONS = (
    _define_tool(
        "page_fault",
        "Read a memory page: its text, and its image if it has one.",
        page_id=_define_argument("string", "As listed, such as img_001"),
        target_level=_define_nullable_argument(
            "integer", "0 full, 1 reduced, 2 abstract (default), 3 reference"
        ),
    ),
    _define_tool(
        "search_pages",
        "Search memory pages by words. Returns ids for page_fault.",
        query=_define_argument("string", "A few words"),
        modality=_define_choice(_MODALITIES),
        limit=_define_nullable_argument("integer", "Hits, 5 by default"),
    ),
    _define_tool(
        "read_text",
        "Read a text that you saw only part of, piece by piece: stored, a page, an entry, an "
        "argument of a call, or the list of some entries.",
        ref=_define_argument("string", _TEXT_REF),
        offset=_define_nullable_argument("integer", "First character"),
        limit=_define_nullable_argument("integer", f"Characters, {MAX_TEXT_CHARS} at most"),
        lines=_define_nullable_argument("string", "Lines instead, such as 10-40 or 100-"),
        grep=_define_nullable_argument("string", "Only lines with these words"),
        pointer=_define_nullable_argument("string", "Of JSON: a pointer such as /items/0"),
    ),
    _define_tool(
        "view_media",
        "Look at a stored image, or at what is known of a recording or file.",
        ref=_define_argument("string", _REF),
        level=_define_nullable_argument("integer", "0 the medium (default), 2 words only"),
    ),
    _define_tool(
        "save_page",
        "Remember a text or a stored medium as a memory page. Returns its id.",
        content=_define_nullable_argument("string", "The text to remember"),
        ref=_define_nullable_argument("string", "Or a handle to a stored medium"),
        caption=_define_nullable_argument("string", "One line to find it by"),
        page_type=_define_choice(_PAGE_TYPES),
        pinned=_define_nullable_argument("boolean", "Always list it first"),
    ),
    _define_tool(
        "list_media",
        "List stored images, recordings and files, newest first, with handles.",
        session=_define_nullable_argument("string", "Another session's; null: this"),
        kind=_define_choice(_KINDS),
    ),
)


def list_definitions(names: Sequence[str] | None = None) -> Sequence[ToolDefinition]:
    """Return the definitions of the tools with these names, in the order of the catalogue.

    Without names, return the definitions of all tools.
    """
    return [definition for definition in _DEFINITIONS if names is None or definition.name in names]

"""Find the properties of a page: type, name, dimensions, duration, scenes, and its tag.

The value of a property is what the client declared in a field, else what was measured in the
content. Other runtimes put scenes, timestamps and the schema name into `metadata`, since their
pages have no such fields. So if a field is empty, its value is read from `metadata`.
"""

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import unquote

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.types import OCTET_STREAM, mime_type_for_filename
from pagefault_dialects.model.page import LONGEST_SECONDS, Body, PageFields
from pagefault_dialects.model.page_vectors import is_finite_number
from pagefault_dialects.pages.line_formats import escape_line_breaks, format_clock

_MEDIA_MODALITIES = frozenset({"image", "audio", "video"})
_MAX_NAME_CHARS = 512
_MIN_MEDIUM_CHARS = 1_024


def mime_type(fields: PageFields, full: Body) -> str | None:
    """Return the declared MIME type, else the detected one, else that of the URL's extension."""
    if fields.mime_type and fields.mime_type.strip():
        return escape_line_breaks(fields.mime_type.strip())
    return body_mime_type(full)


def body_mime_type(full: Body) -> str | None:
    """Return the detected MIME type of a medium, else that of the URL's extension."""
    if full.media is not None and full.media.mime_type != OCTET_STREAM:
        return escape_line_breaks(full.media.mime_type)
    name = _name_in_url(full)
    return mime_type_for_filename(name) if name else None


def file_name(full: Body) -> str | None:
    """Return the file name of a medium, else the last part of its URL's path."""
    name = full.media.filename if full.media else None
    safe = safe_file_name(name or _name_in_url(full))
    return escape_line_breaks(safe) if safe else None


def dimensions(fields: PageFields, full: Body) -> tuple[int, int] | None:
    """Return the declared width and height in pixels, else the measured ones."""
    return measured_dimensions(full) if fields.dimensions is None else fields.dimensions


def measured_dimensions(body: Body) -> tuple[int, int] | None:
    """Return the measured width and height in pixels."""
    media = body.media
    if media is None or media.width is None or media.height is None:
        return None
    return media.width, media.height


def format_dimensions(fields: PageFields, full: Body) -> str | None:
    """Return width and height as `1920x1080`."""
    known = dimensions(fields, full)
    return f"{known[0]}x{known[1]}" if known else None


def duration_seconds(fields: PageFields, full: Body) -> float | None:
    """Return the declared duration, else the measured one. 0.0 is a duration."""
    if fields.duration_seconds is not None:
        return fields.duration_seconds
    measured = full.media.duration_seconds if full.media else None
    return measured if measured is not None and 0 <= measured <= LONGEST_SECONDS else None


def describe_medium(fields: PageFields, full: Body) -> str | None:
    """Return the known properties of a medium: `image/png, sunset.png, 1920x1080`."""
    properties = (mime_type(fields, full), file_name(full), format_dimensions(fields, full))
    return ", ".join(filter(None, properties)) or None


def build_tags(page_id: str, fields: PageFields, full: Body) -> list[str]:
    """Return the tag of a page in all its forms, the longest first.

    They are `[artifact] image:img_001 (image/png, 1920x1080)`, the same without the type, and
    `[artifact] image:img_001`.
    """
    bare = f"[{fields.page_type}] {fields.modality}:{escape_line_breaks(page_id)}"
    if fields.modality not in _MEDIA_MODALITIES:
        return [bare]
    seconds = duration_seconds(fields, full)
    extent = [format_dimensions(fields, full), None if seconds is None else format_clock(seconds)]
    with_type = [mime_type(fields, full), *extent]
    details = [", ".join(filter(None, properties)) for properties in (with_type, extent)]
    return [*(f"{bare} ({detail})" for detail in details if detail), bare]


def describe_data_uri(full: Body) -> str:
    """Return the text that replaces a data URI."""
    if full.media is None:
        return "[data URI that cannot be read]"
    return f"[data URI, {escape_line_breaks(full.media.mime_type)}, {full.media.size_bytes} bytes]"


def _name_in_url(full: Body) -> str | None:
    if full.kind != "url":
        return None
    path = str(full.value).partition("#")[0].partition("?")[0].partition("://")[2]
    _, slash, name = path.rpartition("/")
    return safe_file_name(unquote(name, errors="replace")) if slash and name else None


_Value = TypeVar("_Value")


Scenes = tuple[str | dict[str, JsonValue], ...]


def find_scenes(fields: PageFields) -> Scenes | None:
    """Return the scenes of a video."""
    return _read_field(fields, "scenes", fields.scenes, _read_scenes)


def find_schema_name(fields: PageFields) -> str | None:
    """Return the name of the schema of a structured page."""
    return _read_field(fields, "schema_name", fields.schema_name, _read_name)


def timestamps_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """Return the timestamps of a transcript."""
    return _read_field(fields, "timestamps", fields.timestamps, _read_list)


def embedding_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """Return the embedding of a page, with the spelling of its numbers."""
    return _read_field(fields, "embedding", fields.embedding, _read_vector)


def _read_field(
    fields: PageFields, name: str, value: _Value | None, read: Callable[[JsonValue], _Value | None]
) -> _Value | None:
    """Return the value of a field; if it is empty, the valid value of that name in `metadata`.

    Args:
        fields: The fields.
        name: The name of the field.
        value: The value of the field.
        read: Returns a value of `metadata` in the type of the field; `None` if it is invalid.
    """
    if value:
        return value
    from_metadata = read(fields.metadata.get(name))
    return value if from_metadata is None else from_metadata


def _read_scenes(value: JsonValue) -> Scenes | None:
    if not isinstance(value, list) or not all(isinstance(scene, str | dict) for scene in value):
        return None
    # Pictures in scenes are left out, since media in `metadata` are not checked.
    return tuple(
        {name: member for name, member in scene.items() if not _is_medium(member)}
        if isinstance(scene, dict)
        else scene
        for scene in value
    )


def _is_medium(member: JsonValue) -> bool:
    is_long = isinstance(member, str) and len(member) >= _MIN_MEDIUM_CHARS
    return is_long and member[:5].lower() == "data:"


def _read_name(value: JsonValue) -> str | None:
    is_name = isinstance(value, str) and 0 < len(value) <= _MAX_NAME_CHARS
    return value if is_name else None


def _read_list(value: JsonValue) -> tuple[JsonValue, ...] | None:
    return tuple(value) if isinstance(value, list) else None


def _read_vector(value: JsonValue) -> tuple[JsonValue, ...] | None:
    numbers = _read_list(value)
    return numbers if numbers is not None and all(map(is_finite_number, numbers)) else None

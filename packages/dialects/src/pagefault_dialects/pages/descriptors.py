"""Properties of a page from its descriptor: type, name, size, duration, and the tag.

A description is in a field or, if that is empty, in `metadata`: other runtimes keep scenes and the
schema name there, since their pages have no such fields.
"""

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import unquote

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.types import OCTET_STREAM, mime_type_for_filename
from pagefault_dialects.model.page import LONGEST_SECONDS, Body, PageFields
from pagefault_dialects.model.page_vectors import is_finite_number
from pagefault_dialects.pages.one_line import clock, one_line

_MEDIA_MODALITIES = frozenset({"image", "audio", "video"})
_LONGEST_NAME_CHARS = 512
_SHORTEST_MEDIUM_CHARS = 1_024


def mime_type(fields: PageFields, full: Body) -> str | None:
    """Return the client's type, else the measured one, else that of the address's extension."""
    if fields.mime_type and fields.mime_type.strip():
        return one_line(fields.mime_type.strip())
    return body_mime_type(full)


def body_mime_type(full: Body) -> str | None:
    """Return a medium's measured type, else that of its address's extension."""
    if full.media is not None and full.media.mime_type != OCTET_STREAM:
        return one_line(full.media.mime_type)
    name = _name_in_url(full)
    return mime_type_for_filename(name) if name else None


def file_name(full: Body) -> str | None:
    """Return the medium's name, or the last part of its address's path."""
    name = full.media.filename if full.media else None
    safe = safe_file_name(name or _name_in_url(full))
    return one_line(safe) if safe else None


def dimensions(fields: PageFields, full: Body) -> tuple[int, int] | None:
    """Return width and height in pixels, the client's or the measured ones."""
    return measured_dimensions(full) if fields.dimensions is None else fields.dimensions


def measured_dimensions(body: Body) -> tuple[int, int] | None:
    """Return the measured width and height in pixels."""
    media = body.media
    if media is None or media.width is None or media.height is None:
        return None
    return media.width, media.height


def dimension_words(fields: PageFields, full: Body) -> str | None:
    """Return width and height as `1920x1080`."""
    known = dimensions(fields, full)
    return f"{known[0]}x{known[1]}" if known else None


def duration_seconds(fields: PageFields, full: Body) -> float | None:
    """Return the client's duration, else the measured one. 0.0 is a duration."""
    if fields.duration_seconds is not None:
        return fields.duration_seconds
    measured = full.media.duration_seconds if full.media else None
    return measured if measured is not None and 0 <= measured <= LONGEST_SECONDS else None


def facts(fields: PageFields, full: Body) -> str | None:
    """Return the known properties of a medium: `image/png, sunset.png, 1920x1080`."""
    known = (mime_type(fields, full), file_name(full), dimension_words(fields, full))
    return ", ".join(filter(None, known)) or None


def tags(page_id: str, fields: PageFields, full: Body) -> list[str]:
    """Return a page's tag, from the fullest to the shortest form.

    `[artifact] image:img_001 (image/png, 1920x1080)`, then without the type, then without anything
    in parentheses: `[artifact] image:img_001`.
    """
    bare = f"[{fields.page_type}] {fields.modality}:{one_line(page_id)}"
    if fields.modality not in _MEDIA_MODALITIES:
        return [bare]
    seconds = duration_seconds(fields, full)
    extent = [dimension_words(fields, full), None if seconds is None else clock(seconds)]
    known = [mime_type(fields, full), *extent]
    insides = [", ".join(filter(None, facts_in)) for facts_in in (known, extent)]
    return [*(f"{bare} ({inside})" for inside in insides if inside), bare]


def data_uri_words(full: Body) -> str:
    """Return the text in place of a data URI."""
    if full.media is None:
        return "[data URI that cannot be read]"
    return f"[data URI, {one_line(full.media.mime_type)}, {full.media.size_bytes} bytes]"


def _name_in_url(full: Body) -> str | None:
    if full.kind != "url":
        return None
    path = str(full.value).partition("#")[0].partition("?")[0].partition("://")[2]
    _, slash, name = path.rpartition("/")
    return safe_file_name(unquote(name, errors="replace")) if slash and name else None


_Value = TypeVar("_Value")


Scenes = tuple[str | dict[str, JsonValue], ...]


def scenes_of(fields: PageFields) -> Scenes | None:
    """Return the scenes of a video."""
    return _field(fields, "scenes", fields.scenes, _scenes)


def schema_name_of(fields: PageFields) -> str | None:
    """Return the name of the schema that data follow."""
    return _field(fields, "schema_name", fields.schema_name, _name)


def timestamps_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """Return the timestamps of a recording's spoken text."""
    return _field(fields, "timestamps", fields.timestamps, _list)


def embedding_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """Return a vector of finite numbers, each as it was written."""
    return _field(fields, "embedding", fields.embedding, _vector)


def _field(
    fields: PageFields, name: str, value: _Value | None, read: Callable[[JsonValue], _Value | None]
) -> _Value | None:
    """Return the value of a field; if empty, that of `metadata` under the same name, if valid."""
    if value:
        return value
    found = read(fields.metadata.get(name))
    return value if found is None else found


def _scenes(value: JsonValue) -> Scenes | None:
    if not isinstance(value, list) or not all(isinstance(scene, str | dict) for scene in value):
        return None
    # Scenes are returned without their pictures: media in `metadata` are not checked.
    return tuple(
        {name: member for name, member in scene.items() if not _is_medium(member)}
        if isinstance(scene, dict)
        else scene
        for scene in value
    )


def _is_medium(member: JsonValue) -> bool:
    is_long = isinstance(member, str) and len(member) >= _SHORTEST_MEDIUM_CHARS
    return is_long and member[:5].lower() == "data:"


def _name(value: JsonValue) -> str | None:
    is_name = isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME_CHARS
    return value if is_name else None


def _list(value: JsonValue) -> tuple[JsonValue, ...] | None:
    return tuple(value) if isinstance(value, list) else None


def _vector(value: JsonValue) -> tuple[JsonValue, ...] | None:
    numbers = _list(value)
    return numbers if numbers is not None and all(map(is_finite_number, numbers)) else None

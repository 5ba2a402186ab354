"""What is known of a page without opening it: type, name, size, duration, and the tag of it all.

What is said about a page stands in a field or, where that is empty, in `metadata`: other runtimes
keep scenes and the name of a schema there, since their pages have no such fields.
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
    """Return what the client said, else what was measured, else what the address ends with."""
    if fields.mime_type and fields.mime_type.strip():
        return one_line(fields.mime_type.strip())
    return body_mime_type(full)


def body_mime_type(full: Body) -> str | None:
    """Return a medium's type as it was measured, else as its address ends."""
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
    """Return width and height in pixels, as the client said or as they were measured."""
    return measured_dimensions(full) if fields.dimensions is None else fields.dimensions


def measured_dimensions(body: Body) -> tuple[int, int] | None:
    """Return width and height in pixels as they were measured."""
    media = body.media
    if media is None or media.width is None or media.height is None:
        return None
    return media.width, media.height


def dimension_words(fields: PageFields, full: Body) -> str | None:
    """Return width and height as `1920x1080`."""
    known = dimensions(fields, full)
    return f"{known[0]}x{known[1]}" if known else None


def duration_seconds(fields: PageFields, full: Body) -> float | None:
    """Return the duration the client said, else the measured one. 0.0 is a duration."""
    if fields.duration_seconds is not None:
        return fields.duration_seconds
    measured = full.media.duration_seconds if full.media else None
    return measured if measured is not None and 0 <= measured <= LONGEST_SECONDS else None


def facts(fields: PageFields, full: Body) -> str | None:
    """Return what the descriptor knows of a medium: `image/png, sunset.png, 1920x1080`."""
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
    """Return what stands for a data URI wherever it is not to be shown."""
    if full.media is None:
        return "[data URI that cannot be read]"
    return f"[data URI, {one_line(full.media.mime_type)}, {full.media.size_bytes} bytes]"


def _name_in_url(full: Body) -> str | None:
    if full.kind != "url":
        return None
    path = str(full.value).partition("#")[0].partition("?")[0].partition("://")[2]
    _, slash, name = path.rpartition("/")
    return safe_file_name(unquote(name, errors="replace")) if slash and name else None


_Said = TypeVar("_Said")


Scenes = tuple[str | dict[str, JsonValue], ...]


def scenes_of(fields: PageFields) -> Scenes | None:
    """Return the scenes of a video."""
    return _said(fields, "scenes", fields.scenes, _scenes)


def schema_name_of(fields: PageFields) -> str | None:
    """Return the name of the schema that data follow."""
    return _said(fields, "schema_name", fields.schema_name, _name)


def timestamps_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """Return the timestamps of a recording: when what is said in it."""
    return _said(fields, "timestamps", fields.timestamps, _list)


def embedding_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """Return a vector of finite numbers, each as it was written."""
    return _said(fields, "embedding", fields.embedding, _vector)


def _said(
    fields: PageFields, name: str, said: _Said | None, read: Callable[[JsonValue], _Said | None]
) -> _Said | None:
    """Return what a field says; if empty, what `metadata` has under its name, if that is one."""
    if said:
        return said
    found = read(fields.metadata.get(name))
    return said if found is None else found


def _scenes(value: JsonValue) -> Scenes | None:
    if not isinstance(value, list) or not all(isinstance(scene, str | dict) for scene in value):
        return None
    # Scenes come without their pictures: nobody has judged what is in `metadata`.
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

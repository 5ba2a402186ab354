"""What is known of a page without opening it: type, name, size, duration, and the tag of it all."""

from urllib.parse import unquote

from app.media.types import OCTET_STREAM, mime_type_for_filename
from app.models.page import LONGEST_SECONDS, Body, PageFields
from app.rendering.names.file_names import safe_file_name
from app.rendering.pages.lines import clock, one_line

_MEDIA_MODALITIES = frozenset({"image", "audio", "video"})


def mime_type(fields: PageFields, full: Body) -> str | None:
    """What the client said, else what was measured, else what the address ends with."""
    if fields.mime_type and fields.mime_type.strip():
        return one_line(fields.mime_type.strip())
    return body_mime_type(full)


def body_mime_type(full: Body) -> str | None:
    """A medium's type as it was measured, else as its address ends."""
    if full.media is not None and full.media.mime_type != OCTET_STREAM:
        return one_line(full.media.mime_type)
    name = _name_in_url(full)
    return mime_type_for_filename(name) if name else None


def file_name(full: Body) -> str | None:
    """The medium's name, or the last part of its address's path."""
    name = full.media.filename if full.media else None
    safe = safe_file_name(name or _name_in_url(full))
    return one_line(safe) if safe else None


def dimensions(fields: PageFields, full: Body) -> tuple[int, int] | None:
    """Width and height in pixels, as the client said or as they were measured."""
    if fields.dimensions is not None:
        return fields.dimensions
    return measured_dimensions(full)


def measured_dimensions(body: Body) -> tuple[int, int] | None:
    """Width and height in pixels as they were measured."""
    media = body.media
    if media is None or media.width is None or media.height is None:
        return None
    return media.width, media.height


def dimension_words(fields: PageFields, full: Body) -> str | None:
    """Width and height as `1920x1080`."""
    known = dimensions(fields, full)
    return f"{known[0]}x{known[1]}" if known else None


def duration_seconds(fields: PageFields, full: Body) -> float | None:
    """The duration the client said, else the measured one. 0.0 is a duration."""
    if fields.duration_seconds is not None:
        return fields.duration_seconds
    measured = full.media.duration_seconds if full.media else None
    return measured if measured is not None and 0 <= measured <= LONGEST_SECONDS else None


def facts(fields: PageFields, full: Body) -> str | None:
    """What the descriptor knows of a medium: `image/png, sunset.png, 1920x1080`."""
    known = (mime_type(fields, full), file_name(full), dimension_words(fields, full))
    return ", ".join(filter(None, known)) or None


def tags(page_id: str, fields: PageFields, full: Body) -> list[str]:
    """A page's tag, from the fullest to the shortest form.

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
    """What stands for a data URI wherever it is not to be shown."""
    if full.media is None:
        return "[data URI that cannot be read]"
    return f"[data URI, {one_line(full.media.mime_type)}, {full.media.size_bytes} bytes]"


def _name_in_url(full: Body) -> str | None:
    if full.kind != "url":
        return None
    path = str(full.value).partition("#")[0].partition("?")[0].partition("://")[2]
    _, slash, name = path.rpartition("/")
    return safe_file_name(unquote(name, errors="replace")) if slash and name else None

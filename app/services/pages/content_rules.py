"""What fits into a page: which contents a modality takes, and that words are words."""

from collections.abc import Iterator

from app.errors import Fault, InvalidPayloadError
from app.media.data_uris import find_data_uris
from app.media.types import OCTET_STREAM
from app.models.page import Modality, PageFields
from app.models.resource import resource_kind
from app.services.persistence.media_keeper import INLINE_LIMIT_BYTES
from app.services.requests.data_uris import SOUND, pointer_to, strings_in

_TAKES: dict[Modality, str] = {
    "text": "text as a string",
    "structured": "any JSON value",
    "image": "an http(s) URL, a data: URI, a @blob: reference of an image, or its caption as text",
    "audio": "an http(s) URL, a data: URI, a @blob: reference of a recording, or its transcript",
    "video": "an http(s) URL, a data: URI, a @blob: reference of a video, or its transcript",
}


def is_url(text: str) -> bool:
    """Whether a content is an address, and not a sentence that begins with one."""
    return text[:8].lower().startswith(("http://", "https://")) and not any(map(str.isspace, text))


def misfit(modality: Modality) -> InvalidPayloadError:
    """The error for a content that is nothing a page of this modality holds."""
    return InvalidPayloadError(
        f"The content does not fit a page of modality {modality}.",
        faults=[Fault("/content", f"must be {_TAKES[modality]}, or null")],
    )


def fits(modality: Modality, mime_type: str) -> bool:
    """Whether a medium is of a modality, or of a type that says nothing."""
    kind = resource_kind(mime_type)
    if modality in ("text", "structured") or kind == modality or mime_type == OCTET_STREAM:
        return True
    # MP4, Ogg and WebM hold either, and the bytes do not always say which.
    is_container = kind in SOUND or mime_type == "application/ogg"
    return is_container and modality in SOUND


def check_family(modality: Modality, mime_type: str) -> None:
    """Refuse a medium that is plainly of another modality.

    Raises:
        InvalidPayloadError: It is.
    """
    if not fits(modality, mime_type):
        raise misfit(modality)


def check_words(fields: PageFields) -> None:
    """Refuse media among the words about a page: they would be read out to a model.

    Raises:
        InvalidPayloadError: A hint, caption, transcript, scene or timestamp holds a data URI of a
            medium.
    """
    faults = [
        Fault(pointer, "holds a data: URI; put the medium into a page or a resource of its own")
        for pointer, words in _words(fields)
        if any(len(span.data) >= INLINE_LIMIT_BYTES for span in find_data_uris(words))
    ]
    if faults:
        raise InvalidPayloadError("There are media among the words.", faults=faults)


def _words(fields: PageFields) -> Iterator[tuple[str, str]]:
    for name in ("hint", "caption", "transcript"):
        if words := getattr(fields, name):
            yield f"/{name}", words
    for name in ("scenes", "timestamps"):
        for place, words in strings_in(list(getattr(fields, name) or ())):
            yield f"/{name}{pointer_to(place)}", words

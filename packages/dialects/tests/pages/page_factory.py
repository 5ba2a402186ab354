"""Pages for tests: built by hand, and generated."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hypothesis import strategies as st

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import MODALITIES, Body, Level, Page, PageFields, PageMedia
from pagefault_dialects.pages.levels import derive_levels
from pagefault_dialects.texts.cuts import Excerpt, take_excerpt

REFERENCE = "@blob:" + "ab" * 16
SMALL_REFERENCE = "@blob:" + "cd" * 16
BASE64 = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
)
DATA_URI = f"data:image/png;base64,{BASE64}"
URL = "https://example.com/sunset.png"

FOX = "The quick brown fox jumps over the lazy dog. "


def media(mime_type: str = "image/png", **known: JsonValue) -> PageMedia:
    """Return measurements of a medium."""
    values = {
        "uri": REFERENCE,
        "size_bytes": 70,
        "filename": None,
        "width": None,
        "height": None,
        "duration_seconds": None,
    }
    return PageMedia(mime_type=mime_type, **{**values, **known})


IMAGE = Body("blob", REFERENCE, media(width=1920, height=1080, size_bytes=9_000))
SMALL_IMAGE = Body(
    "blob", SMALL_REFERENCE, media("image/jpeg", uri=SMALL_REFERENCE, width=512, height=288)
)
INLINE_IMAGE = Body("data", DATA_URI, media(uri=None, width=1, height=1))
RECORDING = Body("blob", REFERENCE, media("audio/wav"))


def text(value: str) -> Body:
    """Return a text."""
    return Body("text", value)


def cut_to(max_chars: int | None, offset: int = 0) -> Callable[[str], Excerpt]:
    """Return a function that cuts the text of a level."""
    return partial(take_excerpt, max_chars=max_chars, offset=offset)


def make_page(
    page_id: str,
    full: Body,
    *,
    reduced: Body | None = None,
    supplied: Mapping[Level, Body] | None = None,
    **fields: JsonValue,
) -> Page:
    """Return a page with all the levels that can be derived."""
    described = PageFields.model_validate(fields)
    levels = derive_levels(page_id, described, full, reduced_image=reduced, supplied=supplied or {})
    return Page(page_id, described, full, levels)


def bodies(page: Page) -> dict[str, Any]:
    """Return the bodies of the levels of a page, by name."""
    return {
        level.name: representation.body.value
        for level in Level
        if (representation := page.at(level)) is not None
    }


_PIECES = st.sampled_from(
    [
        "Hi",
        ". ",
        "\n\n",
        FOX,
        "\u202e",
        "e\u0301",
        "👨‍👩‍👧",
        "🇩🇪",
        "x" * 90,
        '"',
        "\\",
        "a\r\nb",
        "…",
        "日本。",
    ]
)
TEXTS = st.lists(_PIECES, max_size=60).map("".join)
_KEYS = st.text(max_size=8)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=15) | st.dictionaries(_KEYS, inner, max_size=8),
    max_leaves=40,
)
_SCENES = st.lists(
    TEXTS
    | st.fixed_dictionaries(
        {"summary": TEXTS}, optional={"start": JSON_VALUES, "end": JSON_VALUES}
    ),
    max_size=30,
)
_FIELDS = st.fixed_dictionaries(
    {"modality": st.sampled_from(MODALITIES)},
    optional={
        "mime_type": st.sampled_from(["image/png", "audio/mpeg", "x\ny", ""]),
        "caption": TEXTS,
        "transcript": TEXTS,
        "hint": TEXTS,
        "dimensions": st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1)),
        "duration_seconds": st.floats(0, 1e9),
        "schema_name": st.text(max_size=20),
        "scenes": _SCENES,
        "pinned": st.booleans(),
        "metadata": st.dictionaries(st.sampled_from(["embedding", "timestamps"]), JSON_VALUES),
        "compression_level": st.sampled_from(Level),
    },
)
_CONTENTS = {
    "text": TEXTS.map(text) | st.just(Body("none")) | st.just(RECORDING),
    "structured": JSON_VALUES.map(lambda value: Body("json", value))
    | TEXTS.map(text)
    | st.sampled_from([Body("none"), Body("json", '{"a": [1E5, 1E5]}')]),
}
_MEDIA = (
    st.sampled_from([Body("none"), IMAGE, INLINE_IMAGE, RECORDING, Body("data", "data:;base64,?")])
    | st.sampled_from([URL, "https://x", "http://[/%00%2f..?a#b"]).map(lambda url: Body("url", url))
    | TEXTS.map(text)
)
_SUPPLIED = st.dictionaries(
    st.sampled_from([Level.REDUCED, Level.ABSTRACT, Level.REFERENCE]),
    TEXTS.map(text)
    | st.sampled_from([IMAGE, SMALL_IMAGE])
    | JSON_VALUES.map(lambda v: Body("json", v)),
    max_size=2,
)


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Return any page; supplied levels that do not fit are left out."""
    fields: dict[str, Any] = draw(_FIELDS)
    full = draw(_CONTENTS.get(fields["modality"], _MEDIA))
    reduced = draw(st.sampled_from([None, SMALL_IMAGE])) if full is IMAGE else None
    try:
        return make_page("p_1", full, reduced=reduced, supplied=draw(_SUPPLIED), **fields)
    except InvalidPayloadError:
        return make_page("p_1", full, reduced=reduced, **fields)

"""Properties of pages: those that were declared, measured, or read from a URL or `metadata`."""

from typing import Any

import pytest

from packages.dialects.tests.pages.page_factory import REFERENCE, media
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import LONGEST_SECONDS, Body, PageFields
from pagefault_dialects.pages.descriptors import (
    body_mime_type,
    build_tags,
    describe_data_uri,
    describe_medium,
    dimensions,
    duration_seconds,
    embedding_of,
    file_name,
    find_scenes,
    find_schema_name,
    format_dimensions,
    measured_dimensions,
    mime_type,
    timestamps_of,
)


def stored(mime: str = "image/png", **known: JsonValue) -> Body:
    """Return a stored medium."""
    return Body("blob", REFERENCE, media(mime, **known))


def fields(**declared: Any) -> PageFields:  # noqa: ANN401 - any field
    """Return the fields of an image."""
    return PageFields.model_validate({"modality": "image", **declared})


URLS = {
    "https://h/a/sunset.png": ("image/png", "sunset.png"),
    "https://h/a/sunset.PNG?size=2#top": ("image/png", "sunset.PNG"),
    "https://h/a/sunset.png#top?x": ("image/png", "sunset.png"),
    "https://h/a%20b.gif": ("image/gif", "a b.gif"),
    "https://h/%ff.png": ("image/png", "\ufffd.png"),
    "https://h/a/sunset": (None, "sunset"),
    "https://h/a/": (None, None),
    "https://h": (None, None),
    "https://h.png": (None, None),
}


def test_name_and_type_of_a_url_are_those_at_the_end_of_its_path() -> None:
    found = {url: (body_mime_type(Body("url", url)), file_name(Body("url", url))) for url in URLS}
    assert found == URLS


def test_declared_type_precedes_the_detected_one_and_that_of_the_url() -> None:
    unknown = "application/octet-stream"
    url = Body("url", "https://h/a.png")
    rows = [
        (fields(mime_type=" image/webp\n"), stored(), "image/webp"),
        (fields(mime_type="a\nb"), stored(), "a\\nb"),
        (fields(mime_type="  "), stored(), "image/png"),
        (fields(), stored("a\nb"), "a\\nb"),
        (fields(), stored(unknown), None),
        (fields(), url, "image/png"),
        (fields(), Body("url", "https://h/a.png", media("image/gif")), "image/gif"),
        (fields(), Body("url", "https://h/a.png", media(unknown)), "image/png"),
        (fields(), Body("text", "https://h/a.png"), None),
        (fields(), Body("none"), None),
    ]
    assert [mime_type(page, body) for page, body, _ in rows] == [expected for *_, expected in rows]


def test_name_of_a_stored_file_precedes_that_of_a_url() -> None:
    bodies = [
        stored(filename="a\nb.png"),
        stored(),
        Body("url", "https://h/a.png", media(filename="b.png")),
        Body("url", "https://h/a.png", media()),
    ]
    assert [file_name(body) for body in bodies] == ["ab.png", None, "b.png", "a.png"]


def test_declared_dimensions_precede_measured_ones() -> None:
    measured = stored(width=2, height=3)
    declared = fields(dimensions=(4, 5))
    assert [
        (measured_dimensions(body), dimensions(page, body), format_dimensions(page, body))
        for page, body in [
            (fields(), measured),
            (declared, measured),
            (declared, Body("none")),
            (fields(), stored(width=2)),
            (fields(), stored(height=3)),
            (fields(), Body("none")),
        ]
    ] == [
        ((2, 3), (2, 3), "2x3"),
        ((2, 3), (4, 5), "4x5"),
        (None, (4, 5), "4x5"),
        (None, None, None),
        (None, None, None),
        (None, None, None),
    ]


def test_declared_duration_precedes_a_measured_one_in_range() -> None:
    rows = [
        (fields(duration_seconds=0.0), stored(duration_seconds=2.0), 0.0),
        (fields(), stored(duration_seconds=0.0), 0.0),
        (fields(), stored(duration_seconds=LONGEST_SECONDS), LONGEST_SECONDS),
        (fields(), stored(duration_seconds=LONGEST_SECONDS + 1), None),
        (fields(), stored(duration_seconds=-0.5), None),
        (fields(), stored(), None),
        (fields(), Body("none"), None),
    ]
    assert [duration_seconds(page, body) for page, body, _ in rows] == [row[2] for row in rows]


def test_medium_is_described_by_what_is_known_of_it() -> None:
    body = stored(filename="a.png", width=2, height=3)
    assert [
        describe_medium(fields(), body),
        describe_medium(fields(), stored(width=2, height=3)),
        describe_medium(fields(dimensions=(4, 5)), Body("none")),
        describe_medium(fields(), Body("none")),
    ] == ["image/png, a.png, 2x3", "image/png, 2x3", "4x5", None]


def test_tag_of_a_medium_has_shorter_forms() -> None:
    film = stored("video/mp4", width=2, height=3, duration_seconds=65.0)
    video = fields(modality="video", page_type="summary")
    tags = [
        build_tags("p\n1", video, film),
        build_tags("p", video, stored("video/mp4")),
        build_tags("p", video, Body("none")),
        build_tags("p", fields(modality="audio", duration_seconds=0.0), Body("none")),
        build_tags("p", fields(modality="text"), stored()),
        build_tags("p", fields(modality="structured"), stored()),
    ]
    assert tags == [
        [
            "[summary] video:p\\n1 (video/mp4, 2x3, 1:05)",
            "[summary] video:p\\n1 (2x3, 1:05)",
            "[summary] video:p\\n1",
        ],
        ["[summary] video:p (video/mp4)", "[summary] video:p"],
        ["[summary] video:p"],
        ["[artifact] audio:p (0:00)", "[artifact] audio:p (0:00)", "[artifact] audio:p"],
        ["[artifact] text:p"],
        ["[artifact] structured:p"],
    ]


def test_data_uri_is_described_by_its_type_and_size() -> None:
    assert [
        describe_data_uri(Body("data", "data:,x", media("a\nb", size_bytes=3))),
        describe_data_uri(Body("data", "data:,x")),
    ] == ["[data URI, a\\nb, 3 bytes]", "[data URI that cannot be read]"]


LONG_NAME = "n" * 512
PICTURE = "DATA:image/png;base64," + "A" * 1_002


@pytest.mark.parametrize(
    ("read", "name", "declared", "rows"),
    [
        (
            find_scenes,
            "scenes",
            ["declared"],
            [
                (["a", {"n": 1}], ("a", {"n": 1})),
                # Long data URIs are media, and shorter ones texts.
                ([{"n": 1, "p": PICTURE}, PICTURE], ({"n": 1}, PICTURE)),
                ([{"p": PICTURE[:-1]}], ({"p": PICTURE[:-1]},)),
                ([{"p": "x" + PICTURE}], ({"p": "x" + PICTURE},)),
                ([{"p": [PICTURE]}], ({"p": [PICTURE]},)),
                (["a", 1], None),
                ("a", None),
                ([], ()),
            ],
        ),
        (
            find_schema_name,
            "schema_name",
            "declared",
            [(LONG_NAME, LONG_NAME), (LONG_NAME + "n", None), ("", None), (3, None), ("x", "x")],
        ),
        (
            timestamps_of,
            "timestamps",
            None,
            [([0.5, {"t": 1}], (0.5, {"t": 1})), ([], ()), ("0:05", None), ({"t": 1}, None)],
        ),
        (
            embedding_of,
            "embedding",
            None,
            [([0.5, 1], (0.5, 1)), ([], ()), ([0.5, "1"], None), (0.5, None)],
        ),
    ],
)
def test_field_that_is_empty_is_read_from_metadata_if_it_is_valid_there(
    read: Any,  # noqa: ANN401 - functions of different results
    name: str,
    declared: JsonValue,
    rows: list[tuple[JsonValue, JsonValue]],
) -> None:
    in_metadata = [(value, read(fields(metadata={name: value}))) for value, _ in rows]
    assert in_metadata == rows
    assert read(fields()) is None
    if declared:
        both = read(fields(**{name: declared}, metadata={name: rows[0][0]}))
        assert both == (tuple(declared) if isinstance(declared, list) else declared)

"""Levels of pages are parsed and found; rare fields of a stored page are null if it has none."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from pagefault_dialects.model.base import faults_of
from pagefault_dialects.model.page import (
    Body,
    BodyKind,
    Level,
    LevelInput,
    Page,
    PageFields,
    Representation,
    StoredPage,
    parse_level,
)
from pagefault_dialects.model.resource import Damage

LEVEL: TypeAdapter[Any] = TypeAdapter(LevelInput)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def stored(descriptor: bytes) -> StoredPage:
    return StoredPage(1, "p", 1, descriptor, None, b"", None, "", None, NOW, None, 0)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("0", Level.FULL),
        ("3", Level.REFERENCE),
        ("REDUCED", Level.REDUCED),
        ("abstract", Level.ABSTRACT),
        ("4", None),
        ("-1", None),
        ("01", None),
        ("", None),
        ("\u00b2", None),
        ("abstrac\u0131", None),
        ("\u017f", None),
    ],
)
def test_level_has_a_number_or_a_name(text: str, level: Level | None) -> None:
    assert parse_level(text) == level


@pytest.mark.parametrize(
    ("value", "level"), [(0, Level.FULL), (3, Level.REFERENCE), ("2", Level.ABSTRACT)]
)
def test_level_of_json_is_a_number_or_a_text(value: object, level: Level) -> None:
    assert LEVEL.validate_python(value) is level


@pytest.mark.parametrize("value", [True, 4, -1, 1.0, None, "LOW", [0]])
def test_other_level_is_refused(value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        LEVEL.validate_python(value)
    (fault,) = faults_of(caught.value)
    sentence = "must be one of 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE)"
    assert fault.detail == sentence


def test_schema_of_a_level_names_its_numbers() -> None:
    schema = TypeAdapter(Level).json_schema()
    assert schema["x-enum-varnames"] == ["FULL", "REDUCED", "ABSTRACT", "REFERENCE"]
    assert schema["enum"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "is_media"),
    [("none", False), ("text", False), ("json", False), ("url", True), ("data", True),
     ("blob", True)],
)  # fmt: skip
def test_body_is_a_medium_if_it_has_bytes_or_a_url(kind: BodyKind, is_media: bool) -> None:
    assert Body(kind).is_media is is_media


def test_page_has_the_levels_with_content() -> None:
    body = Body("text", "t")
    abstract = Representation(Level.ABSTRACT, "derived", body)
    reduced = Representation(Level.REDUCED, "supplied", body)
    levels = {Level.ABSTRACT: abstract, Level.REDUCED: reduced}
    page = Page("p", PageFields(metadata={}), body, levels)
    empty = Page("p", PageFields(metadata={}), Body("none"), {})
    assert page.existing_levels == (Level.FULL, Level.REDUCED, Level.ABSTRACT)
    assert [page.at(level) for level in Level] == [
        Representation(Level.FULL, "stored", body), reduced, abstract, None,
    ]  # fmt: skip
    assert (empty.existing_levels, empty.at(Level.FULL)) == ((), None)


def test_level_whose_image_can_be_repaired_is_readable() -> None:
    lost, repairable = Damage("damaged-media", "d"), Damage("damaged-media", "d", True)
    damage = {Level.FULL: lost, Level.REDUCED: repairable}
    page = Page("p", PageFields(metadata={}), Body("none"), {}, damage)
    assert [page.unreadable(level) for level in Level] == [lost, None, None, None]


@pytest.mark.parametrize(
    ("descriptor", "whole", "summary"),
    [
        (
            b'{"page_id":"p","version":12}',
            b'{"page_id":"p","version":12,"timestamps":null,"embedding":null',
            b'{"page_id":"p","version":12',
        ),
        (
            b'{"version":12,"timestamps":[1.50],"embedding":null}',
            b'{"version":12,"timestamps":[1.50],"embedding":null',
            b'{"version":12',
        ),
    ],
)
def test_rare_fields_are_null_in_a_page_and_absent_in_its_summary(
    descriptor: bytes, whole: bytes, summary: bytes
) -> None:
    page = stored(descriptor)
    assert (page.open_descriptor, page.open_summary) == (whole, summary)

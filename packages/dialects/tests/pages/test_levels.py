import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from packages.dialects.tests.pages.page_factory import (
    FOX,
    IMAGE,
    INLINE_IMAGE,
    RECORDING,
    REFERENCE,
    SMALL_IMAGE,
    SMALL_REFERENCE,
    URL,
    bodies,
    make_page,
    pages,
    text,
)
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.page import Body, Level, Page, Representation
from pagefault_dialects.pages.levels import check_supplied_level, derive_levels
from pagefault_dialects.pages.sizes import is_longer

ROWS = {"a": list(range(50)), "b": "x" * 200}

# Pages are made while tests run, so that mutants are active.
LEVELS: dict[str, tuple[Callable[[], Page], dict[str, Any]]] = {
    "short text": (
        partial(make_page, "c_003", text("Hi")),
        {"FULL": "Hi", "REDUCED": "Hi", "ABSTRACT": "Hi", "REFERENCE": "Hi"},
    ),
    "empty text": (
        partial(make_page, "c_004", text("")),
        {"FULL": "", "REDUCED": "", "ABSTRACT": "", "REFERENCE": ""},
    ),
    "long text": (
        partial(make_page, "t", text(FOX * 1_200), page_type="summary"),
        {
            "FULL": FOX * 1_200,
            "REDUCED": f"{(FOX * 100)[:3067]}\n[… 50033 characters left out …]\n{FOX * 20}",
            "ABSTRACT": (FOX * 17).strip(),
            "REFERENCE": "[summary] text:t",
        },
    ),
    "text that is only in a resource": (
        partial(make_page, "t", RECORDING),
        {"FULL": REFERENCE, "REFERENCE": "[artifact] text:t"},
    ),
    "no text": (partial(make_page, "t", Body("none")), {"REFERENCE": "[artifact] text:t"}),
    "image with a smaller form": (
        partial(
            make_page,
            "i",
            IMAGE,
            reduced=SMALL_IMAGE,
            modality="image",
            caption="A sunset, seen at sea",
        ),
        {
            "FULL": REFERENCE,
            "REDUCED": SMALL_REFERENCE,
            "ABSTRACT": "A sunset, seen at sea",
            "REFERENCE": "[artifact] image:i",
        },
    ),
    "small inline image": (
        partial(make_page, "i", INLINE_IMAGE, modality="image"),
        {
            "FULL": INLINE_IMAGE.value,
            "REDUCED": INLINE_IMAGE.value,
            "ABSTRACT": "image/png, 1x1",
            "REFERENCE": "image/png, 1x1",
        },
    ),
    "large image without a smaller form": (
        partial(make_page, "i", IMAGE, modality="image"),
        {"FULL": REFERENCE, "ABSTRACT": "image/png, 1920x1080", "REFERENCE": "[artifact] image:i"},
    ),
    "address of an image": (
        partial(make_page, "c_008", Body("url", URL), modality="image"),
        {
            "FULL": URL,
            "REDUCED": URL,
            "ABSTRACT": "image/png, sunset.png",
            "REFERENCE": "image/png, sunset.png",
        },
    ),
    "described address of an image": (
        partial(
            make_page,
            "img_001",
            Body("url", URL),
            modality="image",
            mime_type="image/png",
            dimensions=[1920, 1080],
            caption="Sunset landscape with tree, path, sheep, pond, church spire",
        ),
        {
            "FULL": URL,
            "REDUCED": URL,
            "ABSTRACT": "Sunset landscape with tree, path, sheep, pond, church spire",
            "REFERENCE": "[artifact] image:img_001 (image/png, 1920x1080)",
        },
    ),
    "address of who knows what": (
        partial(make_page, "i", Body("url", "https://example.com"), modality="image"),
        {
            "FULL": "https://example.com",
            "REDUCED": "https://example.com",
            "REFERENCE": "[artifact] image:i",
        },
    ),
    "image of which there are only words": (
        partial(make_page, "i", text("A long caption of a sunset."), modality="image"),
        {
            "FULL": "A long caption of a sunset.",
            "ABSTRACT": "A long caption of a sunset.",
            "REFERENCE": "[artifact] image:i",
        },
    ),
    "image of which nothing is known": (
        partial(make_page, "i", Body("none"), modality="image"),
        {"REFERENCE": "[artifact] image:i"},
    ),
    "recording with a transcript": (
        partial(
            make_page,
            "aud_001",
            Body("url", "https://cdn/x.mp3"),
            modality="audio",
            transcript="So the key insight is locality.",
            duration_seconds=342.0,
            mime_type="audio/mpeg",
        ),
        {
            "FULL": "https://cdn/x.mp3",
            "REDUCED": "So the key insight is locality.",
            "ABSTRACT": "So the key insight is locality.",
            "REFERENCE": "[artifact] audio:aud_001 (5:42)",
        },
    ),
    "recording without a transcript": (
        partial(make_page, "a", RECORDING, modality="audio", duration_seconds=0.0),
        {"FULL": REFERENCE, "REFERENCE": "[artifact] audio:a (audio/wav, 0:00)"},
    ),
    "long transcript as content": (
        partial(make_page, "a", text(FOX * 100), modality="audio"),
        {
            "FULL": FOX * 100,
            "REDUCED": FOX * 100,
            "ABSTRACT": (FOX * 17).strip(),
            "REFERENCE": "[artifact] audio:a",
        },
    ),
    "video with scenes": (
        partial(
            make_page,
            "v",
            Body("url", "https://cdn/x"),
            modality="video",
            transcript="Look at it. There it goes.",
            scenes=["A beach", {"summary": "A dog\nruns", "start": 5, "end": 65.5}, {"n": 1}, ""],
            duration_seconds=3_725,
        ),
        {
            "FULL": "https://cdn/x",
            "REDUCED": '  - A beach\n  - 0:05-1:05 A dog\\nruns\n  - {"n":1}\n'
            "Look at it. There it goes.",
            "ABSTRACT": '  - A beach\n  - 0:05-1:05 A dog\\nruns\n  - {"n":1}',
            "REFERENCE": "[artifact] video:v (1:02:05)",
        },
    ),
    "video with only a description": (
        partial(make_page, "vid_004", text("A man walks a dog along the beach."), modality="video"),
        {
            "FULL": "A man walks a dog along the beach.",
            "REDUCED": "A man walks a dog along the beach.",
            "ABSTRACT": "A man walks a dog along the beach.",
            "REFERENCE": "[artifact] video:vid_004",
        },
    ),
    "data": (
        partial(make_page, "c_011", Body("json", ROWS), modality="structured"),
        {
            "FULL": ROWS,
            "REDUCED": {
                "a": [*range(10), "[… 40 more items]"],
                "b": "x" * 100 + "[… 100 more characters]",
            },
            "ABSTRACT": {"a": "array of 50 integers", "b": "string of 200 characters"},
            "REFERENCE": "[artifact] structured:c_011",
        },
    ),
    "data as a JSON string": (
        partial(make_page, "s", Body("json", '{"temperature": 22}'), modality="structured"),
        {
            "FULL": '{"temperature": 22}',
            "REDUCED": {"temperature": 22},
            "ABSTRACT": {"temperature": 22},
            "REFERENCE": {"temperature": 22},
        },
    ),
    "empty object": (
        partial(make_page, "s", Body("json", {}), modality="structured"),
        {"FULL": {}, "REDUCED": {}, "ABSTRACT": {}, "REFERENCE": {}},
    ),
    "null": (
        partial(make_page, "s", Body("json", None), modality="structured"),
        {"FULL": None, "REDUCED": None, "ABSTRACT": None, "REFERENCE": None},
    ),
}


@pytest.mark.parametrize(("make", "expected"), LEVELS.values(), ids=LEVELS)
def test_page_has_the_levels_that_can_be_made_of_it(
    make: Callable[[], Page], expected: dict[str, Any]
) -> None:
    assert bodies(make()) == expected


SUPPLIED_DATA: dict[str, tuple[Body, Mapping[Level, Body], dict[Level, tuple[str, Body]]]] = {
    "a text is summarized": (
        Body("json", ROWS),
        {Level.REDUCED: text("Fifty rows. And b.")},
        {
            Level.REDUCED: ("supplied", text("Fifty rows. And b.")),
            Level.ABSTRACT: ("derived", text("Fifty rows. And b.")),
            Level.REFERENCE: ("derived", text("Fifty rows. And b.")),
        },
    ),
    "data is outlined": (
        Body("json", ROWS),
        {Level.REDUCED: Body("json", {"a": [1, 2, 3], "b": "x" * 90})},
        {
            Level.REDUCED: ("supplied", Body("json", {"a": [1, 2, 3], "b": "x" * 90})),
            Level.ABSTRACT: (
                "derived",
                Body("json", {"a": "array of 3 integers", "b": "string of 90 characters"}),
            ),
            Level.REFERENCE: ("derived", text("[artifact] structured:p")),
        },
    ),
    "a text in place of data is parsed": (
        text(json.dumps({"a": [1] * 40})),
        {},
        {
            Level.REDUCED: (
                "derived",
                Body("json", {"a": [*[1] * 10, "[… 30 more items]"]}),
            ),
            Level.ABSTRACT: ("derived", Body("json", {"a": "array of 40 integers"})),
            Level.REFERENCE: ("derived", text("[artifact] structured:p")),
        },
    ),
    "a medium has neither": (
        RECORDING,
        {},
        {Level.REFERENCE: ("derived", text("[artifact] structured:p"))},
    ),
}


@pytest.mark.parametrize(
    ("full", "supplied", "expected"), SUPPLIED_DATA.values(), ids=SUPPLIED_DATA
)
def test_levels_of_data_are_derived_of_the_nearest_supplied_one(
    full: Body, supplied: Mapping[Level, Body], expected: dict[Level, tuple[str, Body]]
) -> None:
    page = make_page("p", full, modality="structured", supplied=supplied)
    assert {level: (item.origin, item.body) for level, item in page.levels.items()} == expected


def test_supplied_levels_are_used_and_the_levels_above_are_derived_from_them() -> None:
    supplied = {Level.REDUCED: text("The transcript of it. And more.")}
    page = make_page("a", RECORDING, modality="audio", transcript="Not this.", supplied=supplied)
    assert page.levels == {
        Level.REDUCED: Representation(Level.REDUCED, "supplied", supplied[Level.REDUCED]),
        Level.ABSTRACT: Representation(
            Level.ABSTRACT, "derived", text("The transcript of it. And more.")
        ),
        Level.REFERENCE: Representation(
            Level.REFERENCE, "derived", text("[artifact] audio:a (audio/wav)")
        ),
    }


def test_text_in_a_resource_is_measured_and_cut_like_any_text() -> None:
    fields = make_page("t", RECORDING).fields
    levels = derive_levels("t", fields, RECORDING, reduced_image=None, supplied={}, text="Hi")
    assert [level.body for level in levels.values()] == [text("Hi")] * 3


def test_data_in_a_resource_is_parsed() -> None:
    fields = make_page("s", RECORDING, modality="structured").fields
    levels = derive_levels("s", fields, RECORDING, reduced_image=None, supplied={}, text="[1, 2]")
    assert [level.body for level in levels.values()] == [Body("json", [1, 2])] * 3


@pytest.mark.slow
@given(page=pages())
def test_no_level_is_longer_than_the_one_below_it(page: Page) -> None:
    level_bodies = [representation.body for level in Level if (representation := page.at(level))]
    assert [upper for lower, upper in pairwise(level_bodies) if is_longer(upper, lower)] == []


@pytest.mark.slow
@given(page=pages())
def test_only_the_reduced_level_of_an_image_is_a_medium(page: Page) -> None:
    with_media = {
        level for level, representation in page.levels.items() if representation.body.is_media
    }
    assert with_media <= ({Level.REDUCED} if page.fields.modality == "image" else set())


@pytest.mark.slow
@given(page=pages())
def test_every_page_has_a_reference(page: Page) -> None:
    assert Level.REFERENCE in page.levels


MISFITS: dict[str, tuple[Callable[[], Page], Level, Body, str]] = {
    "longer than the content": (
        partial(make_page, "t", text("Hi")),
        Level.REDUCED,
        text("Hello"),
        "The REDUCED level of this page may not be longer than the level below it, FULL: at most "
        "2 characters (JSON counted as compact text).",
    ),
    "longer than a derived level": (
        partial(make_page, "t", text(FOX * 100)),
        Level.ABSTRACT,
        text(FOX * 99),
        "The ABSTRACT level of this page may not be longer than the level below it, REDUCED: at "
        "most 3999 characters (JSON counted as compact text).",
    ),
    "a medium for words": (
        partial(make_page, "i", text("A sunset"), modality="image"),
        Level.REDUCED,
        SMALL_IMAGE,
        "The REDUCED level of this page may not be longer than the level below it, FULL: at most "
        "8 characters, and no medium.",
    ),
    "a larger medium": (
        partial(make_page, "i", SMALL_IMAGE, modality="image"),
        Level.REDUCED,
        IMAGE,
        "The REDUCED level of this page may not be longer than the level below it, FULL: at most "
        "70 bytes.",
    ),
    "a medium as an abstract": (
        partial(make_page, "i", IMAGE, modality="image"),
        Level.ABSTRACT,
        SMALL_IMAGE,
        "The ABSTRACT level of this page holds words or, on a structured page, data; only the "
        "REDUCED level of an image page is a medium.",
    ),
    "nothing": (
        partial(make_page, "t", text("Hi")),
        Level.ABSTRACT,
        Body("none"),
        "The ABSTRACT level of this page has to hold something; leave it out to have it derived.",
    ),
    "shorter than a supplied level above": (
        partial(make_page, "t", text(FOX * 9), supplied={Level.ABSTRACT: text(FOX)}),
        Level.REDUCED,
        text("Fox."),
        "The ABSTRACT level of this page may not be longer than the level below it, REDUCED: at "
        "most 4 characters (JSON counted as compact text).",
    ),
}


@pytest.mark.parametrize(("make", "level", "body", "detail"), MISFITS.values(), ids=MISFITS)
def test_supplied_level_that_does_not_fit_is_refused(
    make: Callable[[], Page], level: Level, body: Body, detail: str
) -> None:
    with pytest.raises(InvalidPayloadError) as refusal:
        check_supplied_level(make(), level, body)
    sentence = detail.removeprefix(f"The {detail.split()[1]} level of this page ").removesuffix(".")
    assert (refusal.value.detail, refusal.value.faults) == (
        detail,
        (Fault("/content", sentence),),
    )


def test_supplied_level_that_fits_no_more_is_refused_when_levels_are_derived() -> None:
    with pytest.raises(InvalidPayloadError):
        make_page("t", text("Hi"), supplied={Level.ABSTRACT: text("Hello")})


def test_supplied_level_that_fits_is_accepted() -> None:
    page = make_page("i", IMAGE, modality="image")
    check_supplied_level(page, Level.REDUCED, SMALL_IMAGE)
    check_supplied_level(page, Level.ABSTRACT, text(FOX * 1_000))


HOSTILE = {
    "one long line": text("x" * 10_000_000),
    "many dots": text("." * 1_000_000),
    "many blanks": text(" " * 1_000_000 + "x"),
    "a tower of marks": text("a" + "\u0301" * 1_000_000),
    "many flags": text("🇩🇪" * 500_000),
}


@pytest.mark.parametrize("full", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("modality", ["text", "audio", "video", "image", "structured"])
@pytest.mark.timeout(20)
def test_levels_of_hostile_texts_are_short(full: Body, modality: str) -> None:
    page = make_page("h", full, modality=modality)
    assert len(str(page.levels[Level.ABSTRACT].body.value)) <= 800


def test_deep_data_has_levels() -> None:
    deep: Any = []
    for _ in range(1_000):
        deep = [deep]
    page = make_page("s", Body("json", deep), modality="structured")
    assert bodies(page) == {
        "FULL": deep,
        "REDUCED": [[[[[["[… 1 item]"]]]]]],
        "ABSTRACT": [[[[[["[… 1 item]"]]]]]],
        "REFERENCE": "[artifact] structured:s",
    }

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.pages.page_factory import (
    BASE64,
    IMAGE,
    INLINE_IMAGE,
    RECORDING,
    REFERENCE,
    cut_to,
    make_page,
    pages,
    text,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import Body, Level, Page
from pagefault_dialects.model.resource import Damage
from pagefault_dialects.pages.page_blocks import PageBlocks, page_blocks
from pagefault_dialects.pages.typed_content import write_failure_json, write_page_json

NO_WORDS = {"type": "audio", "transcript": None, "timestamps": None, "duration_seconds": None}

CASES: dict[str, tuple[Page, int, JsonValue]] = {
    "text": (make_page("p", text("Hi")), 0, "Hi"),
    "no text": (make_page("p", Body("none")), 0, "[no text available]"),
    "data": (make_page("p", Body("json", '{"a": [1]}'), modality="structured"), 0, {"a": [1]}),
    "null as data": (make_page("p", Body("json", None), modality="structured"), 0, None),
    "no data": (make_page("p", Body("none"), modality="structured"), 0, "[no data available]"),
    "image": (
        make_page("p", IMAGE, modality="image", caption="Sunset", metadata={"embedding": [1]}),
        0,
        {"type": "image", "caption": "Sunset", "url": REFERENCE},
    ),
    "inline image": (
        make_page("p", INLINE_IMAGE, modality="image"),
        0,
        {"type": "image", "caption": None, "url": None},
    ),
    "audio": (make_page("p", RECORDING, modality="audio"), 0, NO_WORDS),
    "video": (
        make_page("p", Body("url", "https://x/y"), modality="video", scenes=["A", {"n": 1}]),
        0,
        {
            "type": "video",
            "scenes": ["A", {"n": 1}],
            "transcript": None,
            "duration_seconds": None,
            "url": "https://x/y",
        },
    ),
    "reference": (make_page("p", RECORDING), 3, "[artifact] text:p"),
}


@pytest.mark.parametrize(("page", "level", "content"), CASES.values(), ids=CASES)
def test_page_is_one_json_string(page: Page, level: int, content: JsonValue) -> None:
    representation = page.at(Level(level))
    assert json.loads(write_page_json(page, Level(level))) == {
        "success": True,
        "page_id": "p",
        "content": content,
        "modality": page.fields.modality,
        "compression": Level(level).name,
        "source_tier": representation.origin if representation else "none",
        "was_compressed": level > 0,
        "truncated": False,
    }


CUT: dict[str, tuple[Page, JsonValue, int]] = {
    "text": (make_page("p", text("Hello")), "He", 5),
    "data": (make_page("p", Body("json", {"a": 1}), modality="structured"), '{"', 7),
    "transcript": (
        make_page("p", RECORDING, modality="audio", transcript="Hello"),
        {**NO_WORDS, "transcript": "He"},
        5,
    ),
    "caption": (
        make_page("p", IMAGE, modality="image", caption="Hello"),
        {"type": "image", "caption": "He", "url": REFERENCE},
        5,
    ),
}


@pytest.mark.parametrize(("page", "content", "total_chars"), CUT.values(), ids=CUT)
def test_cut_page_has_the_next_offset(page: Page, content: JsonValue, total_chars: int) -> None:
    assert json.loads(write_page_json(page, Level.FULL, max_chars=2)) == {
        "success": True,
        "page_id": "p",
        "content": content,
        "modality": page.fields.modality,
        "compression": "FULL",
        "source_tier": "stored",
        "was_compressed": False,
        "truncated": True,
        "total_chars": total_chars,
        "next_offset": 2,
    }


def test_damaged_image_is_described_beside_the_page() -> None:
    page = make_page("p", INLINE_IMAGE, modality="image")
    broken = Damage("damaged-media", "its last lines are missing")
    damaged = replace(page, damage={Level.FULL: broken})
    document = {**_read(page, None), "damage": "its last lines are missing"}
    assert _read(damaged, None) == document
    repairable = replace(broken, is_repairable=True)
    assert _read(replace(page, damage={Level.FULL: repairable}), None) == _read(page, None)
    assert page_blocks(damaged, Level.FULL, image_url=None) == PageBlocks(
        content=[
            {
                "type": "text",
                "text": "Page p (image, FULL):\n  [no image available: image/png, 1x1]",
            },
            {"type": "text", "text": "[image not shown: its last lines are missing]"},
        ],
        truncated=False,
        total_chars=0,
        next_offset=None,
        level=Level.FULL,
    )


def test_summary_says_which_level_was_requested_and_how_to_get_more() -> None:
    page = make_page("p", text("One sentence. " * 600))
    note = 'This is a compressed summary. Use page_fault("p", target_level=0) for full content.'
    summary = page.levels[Level.ABSTRACT].body.value
    document = {
        "success": True,
        "page_id": "p",
        "content": summary,
        "modality": "text",
        "compression": "ABSTRACT",
        "source_tier": "derived",
        "was_compressed": True,
        "truncated": False,
        "note": note,
    }
    assert json.loads(write_page_json(page, Level.ABSTRACT)) == document
    short = make_page("p", text("Hi"), mime_type="text/x-python")
    assert json.loads(write_page_json(short, Level.ABSTRACT)) == {
        "success": True,
        "page_id": "p",
        "content": "Hi",
        "modality": "text",
        "compression": "FULL",
        "requested_level": "ABSTRACT",
        "source_tier": "stored",
        "was_compressed": False,
        "truncated": False,
        "language": "python",
    }
    data = make_page("p", Body("json", [1]), modality="structured", schema_name="s")
    assert json.loads(write_page_json(data, Level.FULL))["schema_name"] == "s"


def test_last_piece_is_not_truncated() -> None:
    document = json.loads(write_page_json(make_page("p", text("Hello")), Level.FULL, offset=3))
    assert (document["content"], document["truncated"], document["next_offset"]) == (
        "lo",
        False,
        None,
    )


def _read(page: Page, max_chars: int | None, offset: int = 0) -> JsonValue:
    return json.loads(write_page_json(page, Level.FULL, max_chars=max_chars, offset=offset))


SCENES = [{"summary": f"Scene {number}", "start": number} for number in range(3_000)]
LONG_FILM = make_page("v", Body("none"), modality="video", scenes=SCENES, transcript="The end.")


@pytest.mark.slow
def test_scenes_that_do_not_fit_are_left_out_whole() -> None:
    document = _read(LONG_FILM, 200)
    assert document == {
        "success": True,
        "page_id": "v",
        "content": {
            "type": "video",
            "scenes": SCENES[:6],
            "transcript": "",
            "duration_seconds": None,
            "url": None,
        },
        "modality": "video",
        "compression": "FULL",
        "source_tier": "none",
        "was_compressed": False,
        "truncated": True,
        "total_chars": page_blocks(LONG_FILM, Level.FULL, image_url=None).total_chars,
        "next_offset": 102,
        "scenes_total": 3_000,
    }


@pytest.mark.parametrize("max_chars", [7, 200, 5_000])
def test_scenes_stepped_through_are_all_scenes(max_chars: int) -> None:
    film = make_page("v", Body("none"), modality="video", scenes=SCENES[:40], transcript="The end.")
    scenes: list[JsonValue] = []
    transcript = ""
    offset: int | None = 0
    while offset is not None:
        document = _read(film, max_chars, offset)
        scenes += document["content"]["scenes"]
        transcript += document["content"]["transcript"]
        offset = document.get("next_offset")
    assert (scenes, transcript) == (SCENES[:40], "The end.")


def test_one_scene_of_any_length_is_returned() -> None:
    scenes = [{"summary": "A", "boxes": [0] * 999}, {"summary": "B", "boxes": [0] * 999}]
    film = make_page("v", Body("none"), modality="video", scenes=scenes)
    document = _read(film, 50)
    assert (document["content"]["scenes"], document["truncated"]) == (scenes[:1], True)
    assert _read(film, 50, document["next_offset"])["content"]["scenes"] == scenes[1:]


def test_all_scenes_that_fit_are_returned() -> None:
    film = make_page("v", Body("none"), modality="video", scenes=["A", ""], transcript="B")
    document = _read(film, 100)
    assert (document["content"]["scenes"], document["content"]["transcript"]) == (["A", ""], "B")
    assert (document["truncated"], "scenes_total" in document) == (False, False)


def test_content_beside_a_transcript_is_rendered_and_cut_with_it() -> None:
    page = make_page("a", text("A phone call"), modality="audio", transcript="Hello")
    assert _read(page, None)["content"] == {
        **NO_WORDS,
        "transcript": "Hello",
        "content": "A phone call",
    }
    assert _read(page, 20, 3)["content"] == {**NO_WORDS, "transcript": "lo", "content": "A phone "}


@pytest.mark.slow
@given(page=pages(), level=st.sampled_from(Level), max_chars=st.none() | st.integers(1, 99))
def test_json_and_blocks_agree_on_left_out_content(
    page: Page, level: Level, max_chars: int | None
) -> None:
    if page.fields.modality == "image":
        return
    document = json.loads(write_page_json(page, level, max_chars=max_chars))
    blocks = page_blocks(page, level, image_url=None, cut=cut_to(max_chars))
    assert document["truncated"] >= blocks.truncated
    assert document.get("total_chars", blocks.total_chars) == blocks.total_chars


def test_failure_is_one_json_string() -> None:
    assert write_failure_json('p"', "There is no such page.") == (
        '{"success":false,"page_id":"p\\"","error":"There is no such page."}'
    )


@pytest.mark.slow
@given(page=pages(), level=st.sampled_from(Level), max_chars=st.none() | st.integers(1, 99))
def test_every_page_is_json_without_bytes(page: Page, level: Level, max_chars: int | None) -> None:
    written = write_page_json(page, level, max_chars=max_chars)
    assert json.loads(written)["success"] is True
    assert BASE64[:40] not in written

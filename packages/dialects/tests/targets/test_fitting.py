"""Reasons why a target cannot take a medium."""

from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import CUT, MENDED, medium, profile, rule, turn
from pagefault_dialects.model.conversation import Address, InlineBytes, Medium, TextItem
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.fitting import (
    MediaLimits,
    MediumRef,
    can_be_resized,
    is_text_file,
    list_media,
)
from pagefault_dialects.targets.profile import Profile

INLINE = RenderOptions()
URL = "https://files.example/a"


def code(candidate: Medium, target: Profile, options: RenderOptions = INLINE) -> str | None:
    (place,) = places = list_media([turn(candidate)])
    obstacle = MediaLimits(target, options, places).find_obstacle(place)
    return obstacle.code if obstacle else None


def test_media_are_numbered_in_reading_order() -> None:
    one, two, three = (medium(filename=name) for name in "abc")
    first, second = turn(TextItem("", "x"), one, two), turn(three, role="user")
    assert list_media([first, turn(), second]) == [
        MediumRef(0, first, one),
        MediumRef(1, first, two),
        MediumRef(2, second, three),
    ]


@pytest.mark.parametrize(
    ("mime_type", "accepted", "fits"),
    [
        ("image/png", "image/png", True),
        ("image/png", "image/*", True),
        ("image/png", "*/*", True),
        ("image/png", "image/jpeg", False),
        ("image/jpg", "image/jpeg", True),
        ("image/png", "png", False),
    ],
)
def test_types_and_ranges_are_compared(mime_type: str, accepted: str, fits: bool) -> None:
    candidate = medium(mime_type)
    assert (code(candidate, profile(image=rule(accepted))) is None) == fits
    accepting = RenderOptions(accept=(accepted,))
    assert (code(candidate, profile(image=rule("*/*")), accepting) is None) == fits


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (medium("video/mp4"), "type-not-taken"),
        (medium("audio/wav"), "too-many-bytes"),
        (medium("text/csv"), None),
        (medium("application/pdf"), None),
        (medium(hints=MediaHints()), "unreadable"),
        (medium("image/svg+xml", hints=MediaHints()), None),
        (medium(hints=MediaHints(101, 5)), "too-many-pixels"),
        (medium(hints=MediaHints(5, 101)), "too-many-pixels"),
        (medium(hints=MediaHints(100, 100)), None),
        (medium(size_bytes=0), None),
        (replace(medium(), source=Address(URL), size_bytes=None), None),
        (replace(medium(), source=Address("http://files.example/a")), "address-not-taken"),
        (replace(medium("audio/wav"), source=Address(URL)), "address-not-taken"),
        (replace(medium("video/mp4"), source=Address(URL)), "type-not-taken"),
        (replace(medium(), mime_type="image/*", source=Address(URL)), None),
        (replace(medium(), source=Address("HTTPS://FILES.EXAMPLE/A"), size_bytes=None), None),
    ],
)
def test_reasons_against_a_medium(candidate: Medium, expected: str | None) -> None:
    target = profile(
        image=rule("*/*", max_side=100, addresses=("https",)),
        audio=rule("*/*", max_base64=3_999),
        document=rule("*/*"),
    )
    assert code(candidate, target) == expected


@pytest.mark.parametrize(("count", "max_side"), [(1, 800), (2, 800), (3, 200)])
def test_crowd_of_images_has_to_be_smaller(count: int, max_side: int) -> None:
    target = profile(image=rule("*/*", max_side=800, max_side_of_many=(2, 200)))
    places = list_media([turn(*[medium()] * count, medium("video/mp4"))])
    assert MediaLimits(target, INLINE, places).max_side == max_side


def test_left_out_images_do_not_count() -> None:
    target = profile(image=rule("*/*", max_side=800, max_side_of_many=(2, 200)))
    places = list_media([turn(*[medium()] * 3)])
    assert MediaLimits(target, RenderOptions(max_images=2), places).max_side == 800


def test_smaller_of_two_counts_holds() -> None:
    target = profile(image=rule("*/*", max_count=5), audio=rule("*/*", max_count=5))
    limits = MediaLimits(target, RenderOptions(max_images=3), [])
    assert [limits.find_max_media(kind) for kind in ("image", "audio", "video")] == [3, 5, None]


def test_images_are_derived_in_accepted_types() -> None:
    target = profile(image=rule("image/png", "image/jpeg"))
    assert MediaLimits(target, INLINE, []).list_image_types() == ("image/jpeg", "image/png")
    only = RenderOptions(accept=("image/png", "image/webp"))
    assert MediaLimits(target, only, []).list_image_types() == ("image/png",)
    assert MediaLimits(profile(), INLINE, []).list_image_types() == ()


def test_forms_of_a_medium() -> None:
    addressed = replace(medium(), source=Address(URL))
    inline = replace(medium(), source=InlineBytes(b""))
    assert [can_be_resized(item) for item in (medium(), inline, addressed)] == [True, True, False]
    assert not can_be_resized(medium("image/tiff"))
    assert not can_be_resized(medium(hints=MediaHints()))
    assert not can_be_resized(medium(damage=CUT))
    assert can_be_resized(medium(damage=MENDED))
    types = ("text/csv", "image/svg+xml", "application/json", "application/pdf", "image/png")
    assert [is_text_file(medium(mime_type)) for mime_type in types] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert not is_text_file(replace(medium("text/csv"), source=Address(URL)))


def test_only_media_inside_records_take_room_beside_references() -> None:
    limits = MediaLimits(profile(), RenderOptions(media="reference"), [])
    inline = replace(medium(), source=InlineBytes(b""), size_bytes=3)
    addressed = replace(medium(), source=Address(URL))
    places = list_media([turn(medium(), inline, addressed)])
    assert list(map(limits.count_base64_chars, places)) == [0, 4, 0]

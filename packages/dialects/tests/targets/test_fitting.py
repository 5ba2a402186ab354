"""Reasons why a target cannot take a medium."""

from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import CUT, MENDED, medium, profile, rule, turn
from pagefault_dialects.media.raw_audio import plan_wav_file
from pagefault_dialects.model.conversation import (
    Address,
    InlineBytes,
    Medium,
    TextItem,
    TurnRole,
)
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.fitting import (
    LoadedMedia,
    MediaLimits,
    MediumRef,
    Obstacle,
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


def obstacle_of(
    candidate: Medium, target: Profile, role: TurnRole = "tool", options: RenderOptions = INLINE
) -> Obstacle | None:
    [ref] = refs = list_media([turn(candidate, role=role)])
    return MediaLimits(target, options, refs).find_obstacle(ref)


def test_obstacle_says_what_the_target_accepts_and_whether_another_image_helps() -> None:
    target = profile(image=rule("image/png", max_base64=4_000, max_side=100, min_side=32))
    remote = replace(medium(), source=Address("ftp://files.example/a"))
    cases = [
        medium(is_evicted=True, is_collected=True, damage=CUT),
        medium(is_collected=True, damage=CUT),
        medium("image/gif", size_bytes=3_001),
        medium(size_bytes=3_001, hints=MediaHints(101, 9)),
        medium(hints=MediaHints(9, 101)),
        medium(hints=MediaHints(31, 96)),
        medium(hints=MediaHints(31, 97)),
        medium(hints=MediaHints(30, 90), damage=MENDED),
        medium(damage=MENDED),
        medium(damage=CUT),
        replace(remote, damage=CUT),
        remote,
    ]
    evicted = "The conversation has to fit its limits; the oldest media make room first."
    collected = "It is a file that the tool left in a folder, and no part of its answer."
    few = "t takes no image with a side below 32 pixels, and this has"
    assert [obstacle_of(candidate, target) for candidate in cases] == [
        Obstacle("evicted", evicted),
        Obstacle("collected", collected),
        Obstacle("type-not-taken", "t takes no image/gif.", fixable_by_resize=True),
        Obstacle(
            "too-many-bytes",
            "t takes 4.0 kB of base64 for one, and this has 4.0 kB.",
            fixable_by_resize=True,
        ),
        Obstacle(
            "too-many-pixels",
            "t takes 100 pixels a side here, and this has 101.",
            fixable_by_resize=True,
        ),
        Obstacle("too-few-pixels", f"{few} 31.", fixable_by_resize=True, rung="larger"),
        None,
        Obstacle("too-few-pixels", f"{few} 30.", fixable_by_resize=True, rung="larger"),
        Obstacle(MENDED.code, MENDED.detail, fixable_by_resize=True, rung="repaired"),
        Obstacle("unreadable", CUT.detail),
        Obstacle(CUT.code, CUT.detail),
        Obstacle(
            "address-not-taken",
            "t loads nothing from such an address, and nothing is fetched here.",
        ),
    ]
    assert obstacle_of(medium(damage=CUT), target, "assistant") == Obstacle(
        "no-media-here", "t takes no media in the assistant's turns."
    )
    gifs = RenderOptions(accept=("image/gif",))
    assert obstacle_of(medium(), target, options=gifs) == Obstacle(
        "not-accepted", "image/png is not among what `accept` names.", fixable_by_resize=True
    )


PCM = medium("audio/pcm;rate=24000", "a.pcm")


def test_samples_become_a_wav_file_where_the_target_accepts_one_but_not_the_samples() -> None:
    wavs = profile(audio=rule("audio/wav", max_base64=4_060))
    anything = profile(audio=rule("*/*"))
    cases: list[tuple[Medium, Profile, RenderOptions, TurnRole]] = [
        (PCM, wavs, INLINE, "tool"),
        (PCM, wavs, RenderOptions(accept=("audio/wav",)), "user"),
        (replace(PCM, source=InlineBytes(b"x" * 3_000)), wavs, INLINE, "tool"),
        (PCM, wavs, INLINE, "assistant"),
        (PCM, wavs, RenderOptions(accept=("audio/mpeg",)), "tool"),
        (PCM, anything, INLINE, "tool"),
        (PCM, profile(audio=rule("audio/mpeg")), INLINE, "tool"),
        (PCM, profile(), INLINE, "tool"),
        (replace(PCM, size_bytes=3_002), wavs, INLINE, "tool"),
        (replace(PCM, source=Address(URL)), wavs, INLINE, "tool"),
        (replace(PCM, is_evicted=True), wavs, INLINE, "tool"),
        (medium("audio/flac"), wavs, INLINE, "tool"),
    ]
    wav = plan_wav_file(PCM.mime_type, 3_000)
    assert wav is not None
    found = []
    for candidate, target, options, role in cases:
        [ref] = refs = list_media([turn(candidate, role=role)])
        limits = MediaLimits(target, options, refs)
        found.append((limits.find_wav(ref), limits.may_be_attached(ref)))
    assert found == [
        *[(wav, True)] * 3,
        *[(None, False)] * 2,
        (None, True),
        *[(None, False)] * 6,
    ]


def test_media_may_be_attached_if_their_type_is_accepted_or_can_be_converted() -> None:
    pngs = profile(image=rule("image/png", addresses=("https",)), document=rule("text/csv"))
    gif = medium("image/gif")
    cases: list[tuple[Medium, Profile, TurnRole]] = [
        (medium(), pngs, "tool"),
        (gif, pngs, "user"),
        (medium("text/csv"), pngs, "tool"),
        (medium(damage=CUT), pngs, "tool"),
        (replace(medium(), source=Address(URL)), pngs, "tool"),
        (medium(), pngs, "assistant"),
        (medium(is_evicted=True), pngs, "tool"),
        (medium(is_collected=True), pngs, "tool"),
        (medium("image/svg+xml"), pngs, "tool"),
        (medium("text/html"), pngs, "tool"),
        (gif, profile(image=rule("image/bmp")), "tool"),
        (replace(medium(), source=Address("ftp://files.example/a")), pngs, "tool"),
    ]
    attached = []
    for candidate, target, role in cases:
        [ref] = refs = list_media([turn(candidate, role=role)])
        attached.append(MediaLimits(target, INLINE, refs).may_be_attached(ref))
    assert attached == [True] * 5 + [False] * 7


def test_signed_urls_take_no_room_where_the_target_loads_them() -> None:
    loading = profile(image=rule("*/*", addresses=("https",)), audio=rule("*/*"))
    users = replace(loading, address_roles=frozenset({"user"}))
    refs = list_media([turn(medium(), medium("audio/wav"), medium("video/mp4", size_bytes=30))])
    signed = RenderOptions(media="signed-url")
    assert [
        [MediaLimits(target, options, refs).count_base64_chars(ref) for ref in refs]
        for target, options in ((loading, signed), (loading, INLINE), (users, signed))
    ] == [[0, 4_000, 40], [4_000, 4_000, 40], [4_000, 4_000, 40]]


def test_images_count_as_many_only_if_they_could_be_attached() -> None:
    target = profile(image=rule("image/png", max_side=800, max_side_of_many=(1, 200), max_count=5))
    gif = medium("image/gif")
    others = [
        medium(is_evicted=True),
        medium(damage=CUT),
        medium(hints=MediaHints()),
        medium("image/gif", hints=MediaHints()),
        replace(medium(), source=Address(URL)),
        medium("image/svg+xml"),
        medium("audio/wav"),
        gif,
        medium(),
    ]
    sides = [
        MediaLimits(target, INLINE, list_media([turn(medium(), other)])).max_side
        for other in others
    ]
    assert sides == [800] * 7 + [200] * 2
    # An image that cannot be converted into an accepted type is not attached.
    jpegs = RenderOptions(accept=("image/jpeg",))
    refs = list_media([turn(medium(), gif)])
    assert MediaLimits(target, jpegs, refs).max_side == 800
    without_many = profile(image=rule("*/*", max_side=800))
    assert MediaLimits(without_many, INLINE, refs).max_side == 800


def test_limits_of_images_are_those_of_their_rule() -> None:
    limits = MediaLimits(profile(image=rule("*/*", max_base64=9, min_side=3)), INLINE, [])
    none = MediaLimits(profile(audio=rule("*/*", max_base64=9)), INLINE, [])
    assert [(item.max_image_base64, item.max_side, item.min_side) for item in (limits, none)] == [
        (9, None, 3),
        (None, None, None),
    ]


def test_sentence_about_a_refusal_is_added_to_what_another_image_would_fix() -> None:
    [first, second] = list_media([turn(medium(), medium())])
    loaded = LoadedMedia(decode_refusals={1: "It has too many pixels to decode."})
    large = Obstacle("too-large", "It is too large.", fixable_by_resize=True)
    other = replace(large, fixable_by_resize=False)
    assert [
        loaded.add_refusal(ref, item) for item in (large, other) for ref in (first, second)
    ] == [
        large,
        replace(large, reason="It is too large. It has too many pixels to decode."),
        *(other, other),
    ]

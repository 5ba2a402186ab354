"""The texts and images that have to be loaded before the media of a conversation are resolved."""

from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import CUT, MENDED, medium, profile, rule, turn
from pagefault_dialects.model.conversation import Address, AlternativeText, InlineBytes, Medium
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import ImageRecipe, MediaHints
from pagefault_dialects.targets.fitting import MediaPlan, plan_media
from pagefault_dialects.targets.profile import Profile

INLINE = RenderOptions()
IMAGES = profile(image=rule("image/png", "image/jpeg", max_base64=40_000, max_side=100))
TYPES = ("image/jpeg", "image/png")
FITTING = ImageRecipe(TYPES, 100, 30_000)
TIGHT = ImageRecipe(TYPES, 100, 1 << 18)
WIDE = MediaHints(101, 60)


def media_plan(
    *media: Medium,
    target: Profile = IMAGES,
    options: RenderOptions = INLINE,
    max_base64: int = 10_000_000,
) -> MediaPlan:
    return plan_media([turn(*media)], target, options, max_base64=max_base64)


def test_media_that_fit_need_no_plan() -> None:
    assert media_plan(medium()) == MediaPlan()


@pytest.mark.parametrize(
    "image",
    [
        medium(hints=WIDE),
        medium(size_bytes=30_001),
        medium("image/bmp", "a.bmp"),
        replace(medium(hints=WIDE), source=InlineBytes(b"x" * 3_000)),
    ],
)
def test_image_that_does_not_fit_is_made_smaller(image: Medium) -> None:
    assert media_plan(image) == MediaPlan(images={0: FITTING})


@pytest.mark.parametrize(
    ("image", "target"),
    [
        (medium(hints=MediaHints()), IMAGES),
        (replace(medium(hints=WIDE), source=Address("https://files.example/a")), IMAGES),
        (medium(hints=WIDE), profile()),
        (medium(hints=WIDE), profile(image=rule("image/gif", max_side=100))),
    ],
)
def test_image_of_which_none_can_be_made_is_left(image: Medium, target: Profile) -> None:
    assert media_plan(image, target=target) == MediaPlan()


def test_images_of_roles_without_media_are_not_planned() -> None:
    image_turn = turn(medium(hints=WIDE), role="assistant")
    assert plan_media([image_turn], IMAGES, INLINE, max_base64=1) == MediaPlan()


def test_images_beyond_the_count_are_left() -> None:
    options = RenderOptions(max_images=1)
    assert media_plan(medium(hints=WIDE), medium(hints=WIDE), options=options) == MediaPlan(
        images={1: FITTING}
    )


def test_older_images_are_made_tight_where_all_together_are_too_large() -> None:
    assert media_plan(*[medium()] * 3, max_base64=8_000) == MediaPlan(images={0: TIGHT})


def test_room_is_rounded_so_that_there_are_few_recipes() -> None:
    image = medium(size_bytes=3_000_000)
    target = profile(image=rule("image/png"))
    made = [
        media_plan(image, medium(), target=target, max_base64=room).images[0].max_bytes
        for room in (3_000_000, 3_500_000, 600_000, 4_000)
    ]
    assert made == [1 << 21, 1 << 21, 1 << 18, 1 << 18]


def test_references_take_no_room() -> None:
    options = RenderOptions(media="reference")
    assert media_plan(*[medium()] * 3, options=options, max_base64=1) == MediaPlan()


@pytest.mark.parametrize(
    "newest", [medium("video/mp4", size_bytes=50_000), medium("image/png", hints=MediaHints())]
)
def test_described_media_take_no_room(newest: Medium) -> None:
    assert media_plan(medium(hints=WIDE), newest, max_base64=5_000) == MediaPlan(
        images={0: FITTING}
    )


def test_images_to_be_made_smaller_take_the_smaller_room() -> None:
    image = medium(size_bytes=90_000)
    assert media_plan(image, image, max_base64=80_000) == MediaPlan(images={0: FITTING, 1: FITTING})


@pytest.mark.parametrize(
    ("file", "is_read"),
    [
        (medium("text/csv", "a.csv"), True),
        (medium("image/svg+xml", "a.svg", hints=MediaHints()), True),
        (medium("text/csv", "a.csv", 32_768), True),
        (medium("text/csv", "a.csv", 100_000_000), True),
        (medium("application/pdf", "a.pdf"), False),
        (medium("text/csv", "a.csv", words=AlternativeText("caption", "A table.")), False),
        (medium("text/csv", "a.csv", instead="The page."), False),
        (replace(medium("text/csv"), source=Address("https://files.example/a")), False),
        (replace(medium("text/csv"), source=InlineBytes(b"a,b")), True),
    ],
)
def test_text_file_that_is_not_accepted_is_read(file: Medium, is_read: bool) -> None:
    assert media_plan(file) == MediaPlan(texts=frozenset({0} if is_read else ()))


def test_of_damaged_images_those_that_can_be_repaired_are_to_be_made() -> None:
    media = (medium(damage=CUT), medium(damage=MENDED))
    recipe = ImageRecipe(("image/png",), None, None)
    assert media_plan(*media, target=profile(image=rule("image/png"))) == MediaPlan({1: recipe})


SMALL = profile(image=rule("image/png", "image/jpeg", max_side=100, min_side=32))
ENLARGED = ImageRecipe(("image/png",), 100, None, 32)


@pytest.mark.parametrize("size", [(16, 14), (1, 1), (31, 90), (90, 31)])
def test_image_with_a_short_side_is_enlarged(size: tuple[int, int]) -> None:
    image = medium(hints=MediaHints(*size))
    assert media_plan(image, target=SMALL) == MediaPlan(images={0: ENLARGED})


@pytest.mark.parametrize("size", [(32, 32), (100, 31), (100, 1)])
def test_image_that_is_large_enough_or_has_no_room_to_grow_stays(size: tuple[int, int]) -> None:
    assert media_plan(medium(hints=MediaHints(*size)), target=SMALL) == MediaPlan()


def test_recipe_without_a_least_side_has_the_key_that_it_had() -> None:
    assert FITTING.key == "v1;jpeg,png;100;30000"
    assert ENLARGED.key == "v1;png;100;-;32"


PCM = medium("audio/pcm;rate=24000", "a.pcm")


def test_stored_samples_are_planned_as_wav_files_and_take_their_room() -> None:
    target = profile(image=rule("image/png"), audio=rule("audio/wav"))
    inline = replace(PCM, source=InlineBytes(b"x" * 3_000))
    assert media_plan(PCM, inline, PCM, target=target) == MediaPlan(wavs=frozenset({0, 2}))
    # The header has 44 bytes, so the file has 4,060 characters of base64.
    tight = {0: ImageRecipe(("image/png",), 1_024, 1 << 18)}
    rooms = (8_060, 8_059)
    assert [media_plan(medium(), PCM, target=target, max_base64=room) for room in rooms] == [
        MediaPlan(wavs=frozenset({1})),
        MediaPlan(tight, wavs=frozenset({1})),
    ]


def test_image_in_little_room_is_limited_in_bytes_and_pixels() -> None:
    def recipe(room: int, **limits: int) -> ImageRecipe:
        target = profile(image=rule("image/png", **limits))
        image = medium(size_bytes=30_000_000)
        return media_plan(image, target=target, max_base64=room).images[0]

    png = ("image/png",)
    mebibyte_chars = (1 << 20) // 3 * 4 + 4
    assert [
        recipe(mebibyte_chars),
        recipe(mebibyte_chars, max_base64=800_000, max_side=2_000),
        recipe(mebibyte_chars - 8),
        recipe(mebibyte_chars - 8, max_side=2_000),
        recipe(mebibyte_chars - 8, max_side=1_000),
        recipe(0),
    ] == [
        ImageRecipe(png, None, 1 << 20),
        ImageRecipe(png, 2_000, 600_000),
        ImageRecipe(png, 1_024, 1 << 19),
        ImageRecipe(png, 1_024, 1 << 19),
        ImageRecipe(png, 1_000, 1 << 19),
        ImageRecipe(png, 1_024, 1 << 18),
    ]


def test_older_images_get_the_room_that_newer_media_leave() -> None:
    pngs = profile(image=rule("image/png"), audio=rule("*/*"))
    sound = medium("audio/wav", size_bytes=3_000)
    tight = ImageRecipe(("image/png",), 1_024, 1 << 18)
    cases = [
        ((medium(), medium(), sound), 12_000, set[int]()),
        ((medium(), medium(), sound), 11_999, {0}),
        ((medium(), medium(), sound), 7_999, {0, 1}),
        # A sound that does not fit becomes a line, and leaves the room to older images.
        ((medium(), sound), 3_999, {0}),
        ((medium(), medium("audio/wav", size_bytes=9_000)), 4_000, set[int]()),
        # The smaller image fills the remaining room.
        ((medium(size_bytes=9), medium(), medium()), 7_000, {1}),
    ]
    plans = [media_plan(*media, target=pngs, max_base64=room) for media, room, _ in cases]
    assert plans == [MediaPlan(dict.fromkeys(indexes, tight)) for _, _, indexes in cases]

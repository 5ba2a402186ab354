"""The ladder: the form of each medium, and the account of the loss."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import (
    CONTENT,
    CUT,
    ID,
    MENDED,
    ORIGIN,
    SMALL_ID,
    made,
    medium,
    original,
    profile,
    rule,
    smaller,
    turn,
)
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    InlineBytes,
    Medium,
    Omission,
    ResolvedItem,
    ResolvedTurn,
    TextItem,
    Turn,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import MediaDelivery, RenderOptions
from pagefault_dialects.model.resource import DerivedImage, MediaHints
from pagefault_dialects.targets.fitting import LoadedMedia
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns, Sign
from pagefault_dialects.targets.profile import MediaRule, Profile
from pagefault_dialects.texts.file_texts import FileText

INLINE = RenderOptions()
PNGS = profile(image=rule("image/png"))
ANYTHING = profile(image=rule("*/*"), audio=rule("*/*"), video=rule("*/*"), document=rule("*/*"))
URL = "https://files.example/a.png"


def resolve_turns(
    *turns: ComposedTurn,
    target: Profile = ANYTHING,
    options: RenderOptions = INLINE,
    images: Mapping[int, DerivedImage] | None = None,
    texts: Mapping[int, str] | None = None,
    max_base64: int = 1_000_000,
    sign: Sign | None = None,
) -> ResolvedTurns:
    read = {index: FileText(text) for index, text in (texts or {}).items()}
    loaded = LoadedMedia(images or {}, read)
    return Ladder(target, options, max_base64=max_base64, sign=sign).resolve(turns, loaded)


def items(outcome: ResolvedTurns) -> list[tuple[ResolvedItem, ...]]:
    return [item.items for item in outcome.turns]


def step(
    to: str, code: str, reason: str, *, from_: str = "original", restore: str = CONTENT
) -> LossEntry:
    return LossEntry(
        seq=7, pointer="/parts/0", from_=from_, to=to, code=code, reason=reason, restore=restore
    )


def line(words: str) -> TextItem:
    return TextItem("/parts/0", words)


def test_media_that_the_target_accepts_are_attached() -> None:
    image = medium()
    whole: ResolvedTurn = Turn("tool", (TextItem("/t", "x"), original(image)), ORIGIN, 7)
    assert resolve_turns(turn(TextItem("/t", "x"), image)) == ResolvedTurns((whole,), ())


@pytest.mark.parametrize(
    ("stored", "text", "to", "expected_words"),
    [
        (medium("video/mp4", "a.mp4", 5_200_000), None, "placeholder", "[Video: a.mp4 (5.2 MB)]"),
        (medium("video/mp4", None), None, "placeholder", "[Video: video/mp4 (3.0 kB)]"),
        (
            medium("image/gif", "a.gif", words=AlternativeText("caption", "A cat.")),
            None,
            "caption",
            "[Image: a.gif (3.0 kB), caption below]\nA cat.",
        ),
        (
            medium("audio/wav", "a.wav", words=AlternativeText("transcript", "Hello.")),
            None,
            "transcript",
            "[Audio: a.wav (3.0 kB), transcript below]\nHello.",
        ),
        (medium("text/csv", "a.csv"), "a,b", "text", "[File: a.csv (3.0 kB), text below]\na,b"),
        (
            medium("text/csv", "a.csv", words=AlternativeText("caption", "A table.")),
            "a,b",
            "caption",
            "[File: a.csv (3.0 kB), caption below]\nA table.",
        ),
        (medium("text/csv", "a.csv"), "", "placeholder", "[File: a.csv (3.0 kB)]"),
        (
            medium("image/gif", "a.gif", words=AlternativeText("caption", ""), instead="The page."),
            None,
            "caption",
            "The page.",
        ),
        (
            medium("image/gif", "a.gif", before="Below:"),
            None,
            "placeholder",
            "[Image: a.gif (3.0 kB)]",
        ),
    ],
)
def test_media_that_the_target_does_not_accept_are_described(
    stored: Medium, text: str | None, to: str, expected_words: str
) -> None:
    outcome = resolve_turns(turn(stored), target=PNGS, texts={} if text is None else {0: text})
    assert items(outcome) == [(line(expected_words),)]
    assert outcome.loss == (step(to, "type-not-taken", f"t takes no {stored.mime_type}."),)


def test_label_of_a_medium_precedes_it() -> None:
    image = medium(before="Below:", instead="Gone.")
    assert items(resolve_turns(turn(image))) == [(line("Below:"), original(image))]


@pytest.mark.parametrize(
    ("stored", "image", "facts"),
    [
        (medium(), made(mime_type="image/png"), "shown as 40x30 instead of 80x60 pixels"),
        (
            medium("image/gif", "a.png"),
            made(mime_type="image/png", first=True),
            "shown as 40x30 instead of 80x60 pixels, shown as image/png, only its first picture",
        ),
        (
            medium(hints=made().resource.hints),
            made(mime_type="image/png"),
            "shown in fewer bytes",
        ),
    ],
)
def test_image_that_is_too_large_is_made_smaller(
    stored: Medium, image: DerivedImage, facts: str
) -> None:
    target = profile(image=rule("image/*", max_base64=3_999))
    outcome = resolve_turns(turn(stored), target=target, images={0: image})
    assert items(outcome) == [(line(f"[Image: a.png (3.0 kB), {facts}]"), smaller(stored, image))]
    reason = "t takes 4.0 kB of base64 for one, and this has 4.0 kB."
    assert outcome.loss == (step("smaller", "too-many-bytes", reason),)


@pytest.mark.parametrize("media", ["inline", "reference", "signed-url"])
def test_smaller_image_that_is_not_stored_is_inline(media: MediaDelivery) -> None:
    stored = replace(medium(), source=InlineBytes(b"large"))
    image = replace(made(), data=b"small")
    target = profile(image=rule("image/*", max_side=79, addresses=("https",)))
    options = RenderOptions(media=media)
    outcome = resolve_turns(
        turn(stored),
        target=target,
        options=options,
        images={0: image},
        sign="https://x/".__add__,
    )
    [(_, attached)] = items(outcome)
    assert attached == replace(smaller(stored, image), source=InlineBytes(b"small"))


@pytest.mark.parametrize(
    ("stored", "target", "options", "code", "reason"),
    [
        (medium(), PNGS, RenderOptions(accept=("image/gif",)), "not-accepted",
         "image/png is not among what `accept` names."),
        (medium(), profile(image=rule("*/*", max_side=79)), INLINE, "too-many-pixels",
         "t takes 79 pixels a side here, and this has 80."),
        (medium(hints=MediaHints()), PNGS, INLINE, "unreadable",
         "The bytes are not those of a sound image/png."),
        (medium(damage=CUT), PNGS, INLINE, "unreadable", CUT.detail),
        (medium(damage=MENDED), profile(image=rule("image/gif", "image/png")), INLINE,
         "damaged-media", MENDED.detail),
        (medium(), profile(image=rule("*/*", max_count=0)), INLINE, "too-many-media",
         "At most 0 of this kind (image) may be there; the newest stay."),
        (medium(), PNGS, RenderOptions(max_images=0), "too-many-media",
         "At most 0 of this kind (image) may be there; the newest stay."),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)  # fmt: skip
def test_each_limit_has_a_code_and_a_reason(
    stored: Medium, target: Profile, options: RenderOptions, code: str, reason: str
) -> None:
    outcome = resolve_turns(turn(stored), target=target, options=options)
    assert items(outcome) == [(line("[Image: a.png (3.0 kB)]"),)]
    assert outcome.loss == (step("placeholder", code, reason),)


def test_image_with_damage_outside_the_picture_is_repaired() -> None:
    damaged, mended = medium(damage=MENDED), made(mime_type="image/png")
    mended = replace(mended, resource=replace(mended.resource, hints=damaged.hints))
    outcome = resolve_turns(turn(damaged), target=PNGS, images={0: mended})
    label = line("[Image: a.png (3.0 kB), repaired]")
    assert items(outcome) == [(label, smaller(damaged, mended))]
    assert outcome.loss == (step("repaired", "damaged-media", MENDED.detail),)


def test_address_that_is_not_loaded_is_a_line_with_the_address() -> None:
    remote = replace(medium(filename=None), source=Address(URL), size_bytes=None)
    outcome = resolve_turns(turn(remote))
    assert items(outcome) == [(line(f"[Image: image/png ({URL})]"),)]
    reason = "t loads nothing from such an address, and nothing is fetched here."
    assert outcome.loss == (step("placeholder", "address-not-taken", reason, restore=f"GET {URL}"),)


def test_address_replaces_the_bytes_if_the_target_loads_it() -> None:
    remote = replace(medium(), source=Address(URL), size_bytes=None)
    target = profile(image=rule("image/*", addresses=("https",)))
    assert items(resolve_turns(turn(remote), target=target)) == [(original(remote, URL),)]


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_roles_without_media_have_descriptions(role: str) -> None:
    image_turn = turn(medium(), role="assistant" if role == "assistant" else "system")
    outcome = resolve_turns(image_turn, images={0: made()})
    assert items(outcome) == [(line("[Image: a.png (3.0 kB)]"),)]
    reason = f"t takes no media in the {role}'s turns."
    assert outcome.loss == (step("placeholder", "no-media-here", reason),)


def test_oldest_media_of_a_class_are_replaced_beyond_its_limit() -> None:
    target = profile(image=rule("*/*", max_count=1), audio=rule("*/*", max_count=1))
    old, new = medium(filename="old.png"), medium(filename="new.png")
    sound = medium("audio/wav", "a.wav")
    outcome = resolve_turns(turn(old), turn(sound), turn(new), target=target, images={0: made()})
    assert items(outcome) == [
        (line("[Image: old.png (3.0 kB)]"),),
        (original(sound),),
        (original(new),),
    ]
    assert [entry.code for entry in outcome.loss] == ["too-many-media"]


def test_images_are_made_smaller_before_anything_becomes_words() -> None:
    old, new = medium(filename="old.png"), medium(filename="new.png")
    outcome = resolve_turns(turn(old), turn(new), images={0: made()}, max_base64=5_200)
    note = "[Image: old.png (3.0 kB), shown as 40x30 instead of 80x60 pixels, shown as image/jpeg]"
    assert items(outcome) == [(line(note), smaller(old, made())), (original(new),)]
    reason = "All media together may have 5.2 kB of base64; the newest stay."
    assert outcome.loss == (step("smaller", "request-too-large", reason),)


def test_medium_may_take_two_steps() -> None:
    captioned = medium(words=AlternativeText("caption", "A cat."))
    target = profile(image=rule("*/*", max_side=79))
    outcome = resolve_turns(turn(captioned), target=target, images={0: made()}, max_base64=1_199)
    assert items(outcome) == [(line("[Image: a.png (3.0 kB), caption below]\nA cat."),)]
    assert outcome.loss == (
        step("smaller", "too-many-pixels", "t takes 79 pixels a side here, and this has 80."),
        step(
            "caption",
            "request-too-large",
            "All media together may have 1.2 kB of base64; the newest stay.",
            from_="smaller",
        ),
    )


def test_image_that_would_not_be_smaller_is_not_made_so_for_room() -> None:
    outcome = resolve_turns(turn(medium()), images={0: made(4_000)}, max_base64=3_999)
    assert items(outcome) == [(line("[Image: a.png (3.0 kB)]"),)]
    assert [entry.to for entry in outcome.loss] == ["placeholder"]


def test_no_room_at_all_leaves_no_media() -> None:
    outcome = resolve_turns(turn(medium(), medium("audio/wav", "a.wav")), max_base64=0)
    assert items(outcome) == [(line("[Image: a.png (3.0 kB)]"), line("[Audio: a.wav (3.0 kB)]"))]


@pytest.mark.parametrize("max_base64", [4_000, 3_999])
def test_limit_is_inclusive(max_base64: int) -> None:
    assert (not resolve_turns(turn(medium()), max_base64=max_base64).loss) == (max_base64 == 4_000)


def test_references_replace_the_bytes_and_take_no_room() -> None:
    query = RenderOptions(media="reference")
    image = medium()
    assert items(resolve_turns(turn(image), options=query, max_base64=0)) == [
        (original(image, f"@blob:{ID}", is_reference=True),)
    ]
    target = profile(image=rule("*/*", max_side=79))
    (shown_items,) = items(
        resolve_turns(turn(image), target=target, options=query, images={0: made()})
    )
    assert shown_items[1:] == (smaller(image, made(), f"@blob:{SMALL_ID}", is_reference=True),)


def test_signed_urls_replace_the_bytes_if_the_target_loads_them() -> None:
    query = RenderOptions(media="signed-url")
    loads: MediaRule = rule("*/*", addresses=("https",), max_side=79)
    target = profile(image=loads, audio=rule("*/*"))
    image, sound = medium(), medium("audio/wav", "a.wav")
    outcome = resolve_turns(
        turn(image, sound),
        target=target,
        options=query,
        images={0: made()},
        sign=lambda resource_id: f"https://here.example/{resource_id}",
    )
    (shown_items,) = items(outcome)
    assert shown_items[1:] == (
        smaller(image, made(), f"https://here.example/{SMALL_ID}"),
        original(sound),
    )


@pytest.mark.parametrize("query", [RenderOptions(media="reference"), RenderOptions()])
def test_image_derived_from_a_small_image_is_inline(query: RenderOptions) -> None:
    image = replace(medium(), source=InlineBytes(b"x" * 3_000))
    target = profile(image=rule("*/*", max_side=79, addresses=("https",)))
    smaller_one = replace(made(), data=b"y" * 900)
    outcome = resolve_turns(
        turn(image), target=target, options=query, images={0: smaller_one}, sign=lambda _: URL
    )
    ((_, attached),) = items(outcome)
    assert attached == replace(smaller(image, made()), source=InlineBytes(b"y" * 900))
    assert [entry.restore for entry in outcome.loss] == [f"GET {ORIGIN}"]


def test_error_has_a_line_if_the_target_has_no_flag() -> None:
    target = replace(ANYTHING, has_error_flag=False)
    failed = turn(TextItem("/t", "x"), is_error=True)
    error = TextItem("", "[The tool reported an error.]")
    assert items(resolve_turns(failed, target=target)) == [(error, TextItem("/t", "x"))]
    assert items(resolve_turns(failed)) == [(TextItem("/t", "x"),)]


def test_left_out_media_are_in_the_loss_in_reading_order() -> None:
    hidden = Omission("/parts/1", "text", "other-audience", "For the user.")
    kept = Omission("/meta", "structuredContent", "stored-apart", "Too long.", restore="GET /r")
    outcome = resolve_turns(turn(hidden, medium("image/gif", "a.gif"), kept), target=PNGS)
    assert items(outcome) == [(line("[Image: a.gif (3.0 kB)]"),)]
    assert outcome.loss == (
        LossEntry(
            seq=7,
            pointer="/parts/1",
            from_="text",
            to="nothing",
            code="other-audience",
            reason="For the user.",
            restore=f"GET {ORIGIN}",
        ),
        step("placeholder", "type-not-taken", "t takes no image/gif."),
        LossEntry(
            seq=7,
            pointer="/meta",
            from_="structuredContent",
            to="nothing",
            code="stored-apart",
            reason="Too long.",
            restore="GET /r",
        ),
    )

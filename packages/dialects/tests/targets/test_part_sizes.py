"""Sizes of parts are added, and compared with the limits of a request."""

from collections import Counter
from dataclasses import replace

from packages.dialects.tests.targets.composed import (
    ID,
    medium,
    original,
    profile,
    rule,
    turn,
)
from pagefault_dialects.model.conversation import Address, InlineBytes, TextItem
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.part_sizes import PartSize, has_room, measure_part
from pagefault_dialects.targets.profile import MediaClass
from pagefault_dialects.targets.tokens import estimate_text_bytes

OPTIONS = RenderOptions()
TARGET = profile(image=rule("image/png", max_count=5), audio=rule("audio/*"))


def count(**numbers: int) -> Counter[MediaClass]:
    """Return the number of media of each class."""
    return Counter(numbers)  # type: ignore[arg-type]


def test_sizes_are_added_in_each_unit() -> None:
    one = PartSize(10, count(image=2), 400, 1, ("a",))
    other = PartSize(5, count(image=1, audio=1), 44, 2, ("b", "a"))
    assert one + other == PartSize(15, count(image=3, audio=1), 444, 3, ("a", "b", "a"))
    assert PartSize() == PartSize(0, count(), 0, 0, ())


def test_part_has_the_texts_and_the_larger_form_of_its_media() -> None:
    stored, inline = medium(), medium("audio/wav", source=InlineBytes(b"x"), size_bytes=30)
    linked = medium(source=Address("https://a.example"), size_bytes=90)
    turns = [turn(TextItem("/0", "häuser"), stored, inline), turn(linked)]
    attached = [turn(original(item)) for item in (stored, inline)]  # type: ignore[arg-type]
    larger = turn(replace(original(stored), size_bytes=9_000))  # type: ignore[arg-type]
    by_url = turn(original(stored, "https://b.example"))  # type: ignore[arg-type]
    text_bytes = 2 * 256 + 7 + 3 * 512
    counts: Counter[MediaClass] = count(image=2, audio=1)
    links = ("https://a.example",)

    def measure(*resolved: object, options: RenderOptions = OPTIONS) -> PartSize:
        return measure_part(turns, ResolvedTurns(resolved, ()), TARGET, options)  # type: ignore[arg-type]

    assert [
        measure(*attached),
        measure(),
        measure(larger),
        measure(by_url),
        measure(options=RenderOptions(media="reference")),
    ] == [
        PartSize(text_bytes, counts, chars, 1, links) for chars in (4_040, 4_040, 12_000, 4_040, 40)
    ]
    assert measure_part([], ResolvedTurns((), ()), TARGET, OPTIONS) == PartSize()


def test_texts_have_their_bytes_and_envelopes() -> None:
    request, each = 256 * 1024, 256
    lone = TextItem("/0", "a\ud800")
    assert [
        estimate_text_bytes([]),
        estimate_text_bytes([turn()]),
        estimate_text_bytes([turn(TextItem("/0", "ä")), turn(medium())]),
        estimate_text_bytes([turn(lone)]),
    ] == [request, request + each, request + 2 * each + 2 + 512, request + each + 2]


def test_conversation_has_room_within_every_limit() -> None:
    def fits(
        *,
        images: int = 0,
        chars: int = 0,
        text_bytes: int = 0,
        request_bytes: int | None = None,
        max_base64: int = 1_000,
        many: tuple[int, int] | None = None,
        options: RenderOptions = OPTIONS,
    ) -> bool:
        image = rule("image/png", max_count=5)
        target = replace(
            TARGET,
            media={"image": replace(image, max_side_of_many=many)},
            request_bytes=request_bytes,
        )
        return has_room(
            PartSize(text_bytes, count(image=images), chars), target, options, max_base64
        )

    empty = estimate_text_bytes([])
    of_two = RenderOptions(max_images=2)
    assert [
        fits(images=5),
        fits(images=6),
        fits(images=2, options=of_two),
        fits(images=3, options=of_two),
        fits(images=3, many=(3, 2_000)),
        fits(images=4, many=(3, 2_000)),
        fits(chars=1_000),
        fits(chars=1_001),
        fits(chars=500, text_bytes=100, request_bytes=empty + 600),
        fits(chars=501, text_bytes=100, request_bytes=empty + 600),
        fits(chars=300, options=RenderOptions(max_bytes=300)),
        fits(chars=301, options=RenderOptions(max_bytes=300)),
        fits(text_bytes=900, request_bytes=empty),
        fits(chars=1, text_bytes=900, request_bytes=empty),
    ] == [True, False] * 7
    assert has_room(PartSize(media=count(document=9)), profile(), OPTIONS, 0)
    assert has_room(PartSize(media=count(audio=9), links=(ID,)), TARGET, OPTIONS, 0)

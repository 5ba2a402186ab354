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
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.media.raw_audio import plan_wav_file
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    BlockLabel,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    MediaItem,
    Medium,
    NativeMessage,
    Omission,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
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


WAVS = profile(audio=rule("audio/wav", addresses=("https",)))
PCM = medium("audio/pcm;rate=24000", "a.pcm", 4)


def resolve_one(
    item: Item, target: Profile = ANYTHING, loaded: LoadedMedia | None = None, **more: object
) -> tuple[tuple[ResolvedItem, ...], list[tuple[str, str, str]]]:
    """Return the items of a turn with one item, and the steps, codes and results of its loss."""
    ladder = Ladder(target, RenderOptions(**more), max_base64=9_000, sign=None)  # type: ignore[arg-type]
    outcome = ladder.resolve([turn(item)], loaded or LoadedMedia())
    [resolved] = outcome.turns
    assert outcome.loss_counts == (len(outcome.loss),)
    return resolved.items, [(entry.from_, entry.code, entry.to) for entry in outcome.loss]


def test_samples_without_a_header_are_attached_as_a_wav_file() -> None:
    wav = made(48, mime_type="audio/wav")
    inline = replace(PCM, source=InlineBytes(b"\x01\x00\x02\x00"))
    plan = plan_wav_file(PCM.mime_type, 4)
    assert plan is not None
    stored = replace(smaller(PCM, wav), kind="audio")
    data = InlineBytes(plan.write(b"\x01\x00\x02\x00"))
    attached = replace(original(inline), source=data, mime_type="audio/wav", size_bytes=48)
    assert resolve_one(PCM, WAVS, LoadedMedia(wavs={0: wav})) == ((stored,), [])
    assert resolve_one(inline, WAVS) == ((attached,), [])
    # The derived file could not be loaded.
    assert resolve_one(PCM, WAVS) == (
        (line("[Audio: a.pcm (4 B)]"),),
        [("original", "type-not-taken", "placeholder")],
    )


def test_long_text_file_names_the_call_that_reads_it() -> None:
    loaded = LoadedMedia(texts={0: FileText("a", tail="z", left_out="900 characters")})
    gap = f'[… 900 characters left out; read_text("@blob:{ID}") shows all of it …]'
    assert resolve_one(medium("text/csv", "a.csv"), PNGS, loaded) == (
        (line(f"[File: a.csv (3.0 kB), text below]\na\n{gap}\nz"),),
        [("original", "type-not-taken", "text"), ("text", "text-too-long", "preview")],
    )


def test_refusal_to_decode_is_part_of_the_reason() -> None:
    loaded = LoadedMedia(decode_refusals={0: "It is too large to decode."})
    ladder = Ladder(PNGS, INLINE, max_base64=9_000, sign=None)
    [entry] = ladder.resolve([turn(medium("image/gif"))], loaded).loss
    assert entry.reason == "t takes no image/gif. It is too large to decode."


def test_detail_of_an_image_is_that_of_the_request_before_its_own() -> None:
    image = medium(detail="original")
    exact = replace(ANYTHING, has_original_detail=True)
    assert [
        attached.detail
        for target, detail in ((ANYTHING, None), (exact, None), (exact, "low"))
        for attached in resolve_one(image, target, detail=detail)[0]
        if isinstance(attached, MediaItem)
    ] == ["high", "original", "low"]


def test_text_has_a_line_with_its_name_and_url_unless_the_target_has_resources() -> None:
    named = TextItem("/parts/0", "x", label=BlockLabel("a.txt"))
    linked = TextItem("/parts/0", "x", label=BlockLabel("a.txt", URL))
    known = TextItem("/parts/0", f"a.txt {URL}", label=BlockLabel("a.txt", URL))
    resources = replace(ANYTHING, has_resources=True)
    assert [
        resolve_one(item, target)[0] for target in (ANYTHING, resources) for item in (named, linked)
    ] == [
        (line("[a.txt]"), named),
        (line(f"[a.txt, {URL}]"), linked),
        (line("[a.txt]"), named),
        (linked,),
    ]
    assert resolve_one(known) == ((known,), [])
    data = DataItem("/parts/0", [1])
    assert resolve_one(data) == ((data,), [])


def test_block_of_a_provider_is_words_or_nothing_for_other_providers() -> None:
    accepting = replace(ANYTHING, dialect="d", accepts_block=lambda form, _: form != {"n": 0})
    forms = {"d": {"n": 1}, "e": {"n": 2}}
    block = ProviderBlock("/parts/0", forms, "search", "no-place", "", words="A search.")
    thought = replace(block, what="thought", code="reasoning", model="one")
    mark = replace(block, code="cache-mark")
    sent = replace(block, forms={"d": {"n": 1}})
    words = line("A search.")
    assert [
        resolve_one(block, accepting),
        resolve_one(block),
        resolve_one(replace(block, words="")),
        resolve_one(replace(block, forms={"d": {"n": 0}}), accepting),
        resolve_one(mark),
        resolve_one(thought, accepting, model="one")[1],
        resolve_one(thought, accepting, model="two"),
        resolve_one(block, accepting, model="two"),
    ] == [
        ((sent,), []),
        ((words,), [("search", "no-place", "text")]),
        ((), [("search", "no-place", "nothing")]),
        ((words,), [("search", "no-place", "text")]),
        ((), []),
        [],
        ((words,), [("thought", "reasoning", "text")]),
        ((sent,), []),
    ]


def test_additions_and_omissions_are_in_the_loss_unless_the_target_has_them_elsewhere() -> None:
    note = SyntheticNote("line", "no-reply", "A reply is required.", 9)
    thought = Omission("/x", "thought", "reasoning", "", kept_by=frozenset({"d"}), seq=9)
    structured = Omission("/x", "structuredContent", "stored-apart", "")
    target = replace(
        ANYTHING, dialect="d", accepts_structured=lambda value: isinstance(value, list)
    )

    def restore(item: Item, structured: tuple[JsonValue] | None = None) -> list[str]:
        whole = replace(turn(item), structured=structured)
        return [
            f"{entry.seq} {entry.restore}" for entry in resolve_turns(whole, target=target).loss
        ]

    assert [
        restore(note),
        restore(thought),
        restore(replace(thought, kept_by=frozenset({"e"}))),
        restore(structured),
        restore(structured, ([1],)),
        restore(structured, ({"n": 1},)),
    ] == [
        [f"9 GET {ORIGIN}"],
        [],
        [f"9 GET {ORIGIN[:-1]}9"],
        [f"7 GET {ORIGIN}"],
        [],
        [f"7 GET {ORIGIN}"],
    ]


def test_turn_without_anything_to_resolve_is_returned_itself() -> None:
    plain = turn(TextItem("/t", "x"), DataItem("/u", 1))
    labelled = turn(TextItem("/t", "x", label=BlockLabel("a")), DataItem("/u", 1))
    assert [resolve_turns(one).turns[0] is one for one in (plain, labelled)] == [True, False]


def test_signatures_of_calls_are_sent_only_to_the_model_that_wrote_them() -> None:
    call = TurnCall("c", "look", {}, thought_signature="s")
    calling = replace(turn(medium(), role="assistant"), calls=(call,))
    native = NativeMessage("d", {}, (calling,), "one")
    sent = replace(calling, native_messages=(native,))
    options = [RenderOptions(model=model) for model in (None, "one", "two")]
    assert [resolve_turns(sent, options=each).turns[0].calls for each in options] == [
        *((call,), (call,)),
        (replace(call, thought_signature=None),),
    ]


def test_messages_are_copied_unless_their_media_need_a_step() -> None:
    target = replace(PNGS, dialect="d", as_request=lambda native, _: native.message)
    message: JsonObject = {"role": "user", "content": f"@blob:{ID}"}

    def resolve(stored: Medium, sent: JsonObject = message) -> ResolvedTurns:
        turns = (turn(stored, role="user"), turn(TextItem("/t", "x"), role="user"))
        native = NativeMessage("d", sent, turns)
        return resolve_turns(
            *[replace(each, native_messages=(native,)) for each in turns], target=target
        )

    copied = resolve(medium())
    first, second = copied.turns
    assert first.copied_messages is not None
    assert (len(first.copied_messages), second.copied_messages) == (1, ())
    assert (first.items, copied.loss) == ((original(medium()),), ())
    rewritten = resolve(medium("image/gif"))
    assert [one.copied_messages for one in rewritten.turns] == [None, None]
    assert rewritten.loss == (step("placeholder", "type-not-taken", "t takes no image/gif."),)
    # A message that does not refer to the medium cannot be sent with its bytes.
    unreferenced = resolve(medium(), {"role": "user", "content": "Look."})
    assert [one.copied_messages for one in unreferenced.turns] == [None, None]
    assert unreferenced.loss == ()

"""The forms of a medium: the change of each step down, and the limits of all media together."""

from dataclasses import replace

from packages.dialects.tests.targets.composed import (
    CONTENT,
    DIGEST,
    ID,
    ORIGIN,
    OTHER_ID,
    made,
    medium,
    original,
    smaller,
    turn,
)
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    InlineBytes,
    MediaItem,
    Medium,
    Omission,
    ProviderBlock,
    StoredBytes,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.fitting import MediumRef, Obstacle
from pagefault_dialects.targets.medium_forms import (
    MediumForm,
    find_stored_media,
    limit_count,
    limit_size,
    make_loss_entry,
    make_record_request,
)
from pagefault_dialects.texts.file_texts import FileText

CAPTION = AlternativeText("caption", "A cat.")
TOO_LARGE = Obstacle("too-large", "It is too large.", fixable_by_resize=True)


def form(stored: Medium, smaller_image: MediaItem | None = None, **more: object) -> MediumForm:
    """Return the form of an attached medium."""
    ref = MediumRef(0, turn(stored), stored)
    fields: dict[str, object] = {"words": stored.words, **more}
    return MediumForm(ref, original(stored), smaller_image, **fields)  # type: ignore[arg-type]


def pictures(*sizes: int, smaller_bytes: int = 0) -> list[MediumForm]:
    """Return the forms of images, which have smaller images if these have bytes."""
    image = made(smaller_bytes)
    media = [medium(filename=f"{index}.png", size_bytes=size) for index, size in enumerate(sizes)]
    return [form(one, smaller(one, image) if smaller_bytes else None) for one in media]


def loss(
    code: str, to: str, reason: str, *, from_: str = "original", restore: str = CONTENT
) -> LossEntry:
    return LossEntry(
        seq=7, pointer="/parts/0", from_=from_, to=to, code=code, reason=reason, restore=restore
    )


def describe(forms: list[MediumForm]) -> list[list[str]]:
    """Return the rungs of each form, with the codes of its steps."""
    return [[*(f"{step.code} {step.to}" for step in one.steps), one.rung] for one in forms]


def test_medium_goes_down_from_the_smaller_image_to_its_words() -> None:
    stored = medium(words=CAPTION, before="Below:")
    picture = form(stored, smaller(stored, made()))
    sizes = [(picture.base64_chars, picture.is_smaller_useful)]
    rendered = [picture.render_items()]
    for _ in range(2):
        picture.step_down(TOO_LARGE, to_text=False)
        sizes.append((picture.base64_chars, picture.is_smaller_useful))
        rendered.append(picture.render_items())
    note = "shown as 40x30 instead of 80x60 pixels, shown as image/jpeg"
    assert rendered == [
        [TextItem("/parts/0", "Below:"), original(stored)],
        [
            TextItem("/parts/0", "Below:"),
            TextItem("/parts/0", f"[Image: a.png (3.0 kB), {note}]"),
            smaller(stored, made()),
        ],
        [TextItem("/parts/0", "[Image: a.png (3.0 kB), caption below]\nA cat.")],
    ]
    assert sizes == [(4_000, True), (1_200, False), (0, False)]
    assert picture.steps == [
        loss("too-large", "smaller", "It is too large."),
        loss("too-large", "caption", "It is too large.", from_="smaller"),
    ]


def test_medium_becomes_text_at_once_if_no_image_helps() -> None:
    stored = medium(filename=None, instead="Gone.")
    picture = form(stored, smaller(stored, made()))
    picture.step_down(Obstacle("too-small", "It is too small.", rung="larger"), to_text=True)
    assert (picture.render_items(), picture.rung) == (
        [TextItem("/parts/0", "Gone.")],
        "placeholder",
    )
    assert picture.steps == [loss("too-small", "placeholder", "It is too small.")]


def test_image_names_its_changes() -> None:
    same, gif = medium(), medium("image/gif", "a.gif")
    whole = original(same)
    cases = [
        (form(same, whole), "smaller", "shown in fewer bytes"),
        (form(same, whole), "repaired", "repaired"),
        (form(same, smaller(same, made(mime_type="image/png"))), "larger",
         "shown as 40x30 instead of 80x60 pixels"),
        (form(gif, original(gif), is_first_picture=True), "smaller", "only its first picture"),
        (form(gif, replace(original(gif), mime_type="image/png"), is_first_picture=True),
         "repaired", "repaired, shown as image/png, only its first picture"),
    ]  # fmt: skip
    notes = []
    for picture, rung, _ in cases:
        picture.step_down(replace(TOO_LARGE, rung=rung), to_text=False)  # type: ignore[arg-type]
        note, _ = picture.render_items()
        notes.append((picture.rung, note))
    names = ["a.png", "a.png", "a.png", "a.gif", "a.gif"]
    assert notes == [
        (rung, TextItem("/parts/0", f"[Image: {name} (3.0 kB), {change}]"))
        for name, (_, rung, change) in zip(names, cases, strict=True)
    ]


def test_ignored_obstacle_is_applied_once_to_an_original() -> None:
    stored = medium()
    fixable = form(stored, smaller(stored, made()), ignored_obstacle=TOO_LARGE)
    unfixable = form(
        stored,
        smaller(stored, made()),
        ignored_obstacle=replace(TOO_LARGE, fixable_by_resize=False),
    )
    reduced = form(stored, rung="smaller", ignored_obstacle=TOO_LARGE)
    forms = [fixable, unfixable, reduced, form(stored)]
    for one in [*forms, *forms]:
        one.apply_obstacle()
    assert describe(forms) == [
        ["too-large smaller", "smaller"],
        ["too-large placeholder", "placeholder"],
        ["smaller"],
        ["original"],
    ]
    assert [one.ignored_obstacle for one in forms] == [None] * 4


def test_text_file_has_entries_for_what_its_text_lacks() -> None:
    file = medium("text/csv", "a.csv")
    text = FileText("a", charset="latin-1", left_out="900 characters", base64_runs=2)
    words = AlternativeText("text", "a")
    lacking, whole = form(file, words=words, text=text), form(file, words=words, text=FileText("a"))
    for one in (lacking, whole):
        one.step_down(TOO_LARGE, to_text=True)
    step = loss("too-large", "text", "It is too large.")
    assert whole.steps == [step]
    assert lacking.steps == [
        step,
        loss("decoded", "text", "The text is in latin-1, and was decoded; the bytes stay.",
             from_="latin-1"),
        loss("base64-left-out", "placeholder",
             "Files in base64 are no words: 2 left out of the text.", from_="base64"),
        loss("text-too-long", "preview",
             "The text of the file is too long to be shown whole: 900 characters left out.",
             from_="text"),
    ]  # fmt: skip


def test_original_is_read_from_its_resource_its_url_or_its_record() -> None:
    inline = replace(medium(), source=InlineBytes(b"x"))
    media = [
        (medium(), CONTENT, 7),
        (replace(medium(), source=Address("https://x/a")), "GET https://x/a", 7),
        (inline, f"GET {ORIGIN}", 7),
        (replace(inline, seq=9), f"GET {ORIGIN[:-1]}9", 9),
    ]
    forms = [form(stored) for stored, _, _ in media]
    for one in forms:
        one.step_down(TOO_LARGE, to_text=True)
    assert [(step.restore, step.seq) for one in forms for step in one.steps] == [
        (restore, seq) for _, restore, seq in media
    ]
    block = ProviderBlock("/parts/1", {}, "file", "no-place", "", seq=12)
    assert make_record_request(turn(), block) == f"GET {ORIGIN[:-1]}12"


def test_stored_media_are_found_only_among_originals() -> None:
    stored, inline = form(medium()), form(replace(medium(), source=InlineBytes(b"x")))
    other = form(medium(source=StoredBytes(OTHER_ID, DIGEST)))
    reduced, left_out = form(medium(), rung="smaller"), form(medium())
    left_out.attachment = None
    assert find_stored_media([stored, inline, other]) == {
        ID: stored.attachment,
        OTHER_ID: other.attachment,
    }
    assert [find_stored_media(forms) for forms in ([], [stored, reduced], [left_out])] == [
        *({}, None, None),
    ]


def test_oldest_media_of_a_class_become_text() -> None:
    def limit(most: int | None) -> list[list[str]]:
        sound = form(medium("audio/wav"))
        forms = [*pictures(9, 9, smaller_bytes=3), sound, *pictures(9)]
        limit_count(forms, "image", most)
        return describe(forms)

    old, kept = ["too-many-media placeholder", "placeholder"], ["original"]
    assert [limit(most) for most in (None, 3, 2, 0)] == [
        *([kept] * 4, [kept] * 4),
        [old, *[kept] * 3],
        [old, old, kept, old],
    ]
    [picture] = pictures(9)
    limit_count([picture], "image", 0)
    reason = "At most 0 of this kind (image) may be there; the newest stay."
    assert picture.steps == [loss("too-many-media", "placeholder", reason)]


def test_media_that_do_not_fit_together_become_smaller_and_then_text_from_the_oldest_on() -> None:
    def limit(most: int, *sizes: int, smaller_bytes: int = 300) -> str:
        forms = pictures(*sizes, smaller_bytes=smaller_bytes)
        limit_size(forms, most)
        letters = {"original": "o", "smaller": "s", "placeholder": "p"}
        return "".join(letters[one.rung] for one in forms)

    # An image has 4,000 characters of base64, and a smaller one 400.
    three = (3_000, 3_000, 3_000)
    assert [
        limit(most, *three) for most in (12_000, 11_999, 8_400, 8_399, 1_200, 1_199, 400, 399, 0)
    ] == ["ooo", "soo", "soo", "sso", "sss", "pss", "pps", "ppp", "ppp"]
    assert [limit(most, *three, smaller_bytes=0) for most in (11_999, 8_000, 7_999)] == [
        *("poo", "poo", "ppo"),
    ]
    # The newest image is too large even alone, so the older ones can stay.
    assert [limit(most, 300, 300, 9_000) for most in (1_200, 1_199)] == ["oos", "pos"]
    assert limit(400, 300, 299, smaller_bytes=300) == "po"
    sizes = {12_000: (3_000, 3_000, 3_000), 11_999: (3_000, 3_000, 3_000), 400: (300, 3_000)}
    assert [
        limit_size([form(medium(size_bytes=size)) for size in item], most)
        for most, item in sizes.items()
    ] == [False, True, False]
    [picture] = pictures(3_000)
    limit_size([picture], 3_999)
    reason = "All media together may have 4.0 kB of base64; the newest stay."
    assert picture.steps == [loss("request-too-large", "placeholder", reason)]


def test_loss_of_a_run_has_its_entries_and_their_number() -> None:
    run = Omission("", "original", "folded", "They were folded.", run=(2, 5, 3))
    line = SyntheticNote("line", "no-reply", "A reply is required.", 4)
    assert make_loss_entry(run, "", "original", "line", "GET /m", 7) == LossEntry(
        from_seq=2,
        to_seq=5,
        count=3,
        pointer="",
        from_="original",
        to="line",
        code="folded",
        reason="They were folded.",
        restore="GET /m",
    )
    assert make_loss_entry(line, "/x", "nothing", "line", "GET /m", 4) == LossEntry(
        seq=4,
        pointer="/x",
        from_="nothing",
        to="line",
        code="no-reply",
        reason="A reply is required.",
        restore="GET /m",
    )


def test_medium_at_an_address_has_no_base64() -> None:
    stored = medium(hints=MediaHints())
    addressed = MediumForm(MediumRef(0, turn(stored), stored), original(stored, "https://x/a"))
    assert (addressed.base64_chars, form(stored).base64_chars) == (0, 4_000)

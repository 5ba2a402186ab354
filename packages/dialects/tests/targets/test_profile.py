"""A profile says which media, URLs, ids and blocks a target accepts."""

from dataclasses import replace

from packages.dialects.tests.targets.composed import profile, rule
from pagefault_dialects.model.conversation import ProviderBlock, TurnCall
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.model.resource import ResourceKind
from pagefault_dialects.targets.base64_leaves import JsonLeaf
from pagefault_dialects.targets.profile import (
    IdRule,
    limit_image_size,
    make_tool_use_block,
    matches,
)


def test_id_that_does_not_fit_ends_with_digits_of_its_hash() -> None:
    letters = IdRule("a-z", 20)
    cases = [
        (IdRule(), "a b", "a b"),
        (IdRule(max_chars=3), "a b", "a b"),
        (letters, "abc", "abc"),
        (letters, "a b", "a_b_c8687a08"),
        (letters, "", "x_e3b0c442"),
        (letters, "\ud800", "x__91a681b9"),
        (IdRule("a-z ", 11), "a b", "a b"),
        (IdRule("a-z ", 2), "a", "a"),
        (IdRule("a-z", 11), "a b", "a__c8687a08"),
        (IdRule("a-z0-9", 20, "[a-z]"), "a1", "a1"),
        (IdRule("a-z0-9", 20, "[a-z]"), "1a", "x1a_a73fcf33"),
    ]
    assert [rule.fit(text) for rule, text, _ in cases] == [fitted for _, _, fitted in cases]


def test_id_may_have_512_characters() -> None:
    longest = "a" * 512
    assert IdRule().fit(longest) == longest
    assert len(IdRule().fit(f"{longest}a")) == 512


def test_id_of_a_fixed_length_is_made_of_letters_and_digits_of_its_hash() -> None:
    rule = IdRule("a-z ", 9, exact_chars=9)
    assert [rule.fit(text) for text in ("abcdefghi", "a b", "\ud800")] == [
        "abcdefghi",
        "VxtDohz4U",
        "1dnTpiB2L",
    ]


def test_type_matches_itself_its_family_and_all_types() -> None:
    types = ["image/png", "IMAGE/PNG; q=1", "image/jpg", "audio/wav", "no type"]
    ranges = [{"image/png"}, {"image/*"}, {"*/*"}, {"image/jpeg", "no type"}, set[str]()]
    assert [[matches(item, frozenset(accepted)) for item in types] for accepted in ranges] == [
        [True, True, False, False, False],
        [True, True, True, False, False],
        [True, True, True, True, True],
        [False, False, True, False, True],
        [False, False, False, False, False],
    ]


def test_media_of_other_kinds_follow_the_rule_of_documents() -> None:
    audio, document = rule("audio/*"), rule("application/pdf")
    target = profile(audio=audio, document=document)
    kinds: tuple[ResourceKind, ...] = ("image", "audio", "video", "text", "binary")
    assert [target.find_media_rule(kind) for kind in kinds] == [
        *(None, audio, None),
        *(document, document),
    ]


def test_url_is_accepted_by_its_scheme_and_by_the_role_of_its_turn() -> None:
    image = rule("image/*", addresses=("https", "gs"))
    target = replace(profile(image=image), address_roles=frozenset({"user"}))
    urls = ("https://a.example/b", "HTTPS://a.example", "gs:x", "http://a.example", "https")
    assert [image.accepts_url(url) for url in urls] == [True, True, True, False, True]
    assert [
        target.accepts_url(urls[0], "image", "user"),
        target.accepts_url(urls[0], "image", "tool"),
        target.accepts_url(urls[3], "image", "user"),
        target.accepts_url(urls[0], "audio", "user"),
    ] == [True, False, False, False]


def test_block_is_accepted_in_the_form_of_the_dialect() -> None:
    def accepts(form: object, role: str) -> bool:
        return (form, role) == ({"type": "thinking"}, "assistant")

    target = replace(profile(), dialect="anthropic", accepts_block=accepts)
    block = ProviderBlock("/0", {"anthropic": {"type": "thinking"}}, "thought", "reasoning", "")
    foreign = replace(block, forms={"gemini": {"type": "thinking"}})
    assert [
        target.accepts_provider_block(block, "assistant"),
        target.accepts_provider_block(block, "user"),
        target.accepts_provider_block(foreign, "assistant"),
        replace(target, accepts_block=None).accepts_provider_block(block, "assistant"),
    ] == [True, False, False, False]


def test_original_detail_is_high_for_targets_without_it() -> None:
    target = profile()
    details: tuple[ImageDetail | None, ...] = ("original", "low", "high", "auto", None)
    assert [target.fit_detail(detail) for detail in details] == [
        *("high", "low", "high"),
        *("auto", None),
    ]
    assert replace(target, has_original_detail=True).fit_detail("original") == "original"


def test_late_system_messages_are_allowed_where_nothing_moves_them() -> None:
    target = profile()
    assert [
        target.allows_late_system,
        replace(target, has_separate_system=True).allows_late_system,
        replace(target, has_system_first=True).allows_late_system,
    ] == [True, False, False]


def test_images_are_limited_to_the_smaller_of_two_sides() -> None:
    audio = rule("audio/*")
    unlimited = profile(image=rule("image/*"), audio=audio)
    limited, smaller = (
        replace(unlimited, media={"image": rule("image/*", max_side=side), "audio": audio})
        for side in (1_000, 800)
    )
    without_images = replace(unlimited, media={"audio": audio})
    cases = [(limited, 800), (limited, 1_200), (unlimited, 800), (limited, None)]
    assert [
        limit_image_size(target, RenderOptions(max_image_pixels=side)) for target, side in cases
    ] == [smaller, limited, smaller, limited]
    options = RenderOptions(max_image_pixels=800)
    assert limit_image_size(without_images, options) is without_images


def test_call_is_a_block_with_an_id_and_a_name_that_the_target_accepts() -> None:
    names = IdRule("a-z_", 20)
    target = replace(profile(), call_id=IdRule("a-z", 20), tool_name=names)
    assert make_tool_use_block(TurnCall("a b", "look_up", {"n": 1}), target) == {
        "type": "tool_use",
        "id": "a_b_c8687a08",
        "name": "look_up",
        "input": JsonLeaf({"n": 1}),
    }

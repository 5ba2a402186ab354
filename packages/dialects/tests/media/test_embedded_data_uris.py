"""Data URIs in JSON values are found, moved out, and written again as they were spelled."""

from typing import Any

from pagefault_dialects.media.data_uris import DataUriSpan, SplitDataUri, split_data_uri
from pagefault_dialects.media.embedded_data_uris import (
    FoundString,
    InlineForm,
    MovableString,
    ValuePath,
    build_inline_form,
    dump_forms,
    find_movable_media,
    find_strings,
    load_forms,
    must_be_moved,
    pointer_of_path,
    put_member,
    write_data_uri,
)
from tests.kit.media import b64

HEAD = "data:image/png;base64,"
DATA = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(index * 89 % 256 for index in range(1_008))
URI = HEAD + b64(DATA)
SMALL = b64(DATA[:1_023])


def split(text: str) -> SplitDataUri:
    uri = split_data_uri(text)
    assert uri is not None
    return uri


FORMS = [
    (URI, InlineForm(resource_id="r", head=HEAD)),
    (HEAD + b64(DATA[:15]), InlineForm(resource_id="r", head=HEAD)),
    (HEAD + "+/+/AA==", InlineForm(resource_id="r", head=HEAD)),
    (HEAD + "+/+/iVBORw0KGgo", None),
    (HEAD + "-_-_", InlineForm(resource_id="r", head=HEAD, alphabet="urlsafe")),
    (HEAD + "AA_AAA==", InlineForm(resource_id="r", head=HEAD, alphabet="urlsafe")),
    (HEAD + "AA-AAA==", InlineForm(resource_id="r", head=HEAD, alphabet="urlsafe")),
    (URI + "\n", None),
    (HEAD + "AA", None),
    (HEAD + "AB==", None),
    (HEAD + "no base64", None),
    (HEAD + SMALL[:40] + "\n" + SMALL[40:], None),
    (HEAD + "AA%3D%3D", None),
    ("DATA:;name=a;base64,AAAA", InlineForm(resource_id="r", head="DATA:;name=a;base64,")),
    ("data:,text", None),
]
UNPADDED = (HEAD + b64(DATA[:16]).rstrip("="), InlineForm(resource_id="r", head=HEAD, padded=False))


def test_form_has_the_spelling_of_a_data_uri() -> None:
    forms = [*FORMS, UNPADDED]
    assert [(text, build_inline_form(split(text), "r")) for text, _ in forms] == forms


def test_data_uri_is_written_in_the_spelling_of_its_form() -> None:
    written = [
        write_data_uri(form, split(text).data or b"") for text, form in [*FORMS, UNPADDED] if form
    ]
    assert written == [text for text, form in [*FORMS, UNPADDED] if form]


def test_form_knows_its_resources_and_whether_it_is_plain() -> None:
    plain = InlineForm(resource_id="a", head=HEAD)
    forms = {
        plain: ({"a"}, True),
        plain.model_copy(update={"text_resource_id": "b"}): ({"a", "b"}, True),
        plain.model_copy(update={"further_resource_ids": ("b", "c")}): ({"a", "b", "c"}, True),
        plain.model_copy(update={"alphabet": "urlsafe"}): ({"a"}, False),
        plain.model_copy(update={"padded": False}): ({"a"}, False),
        plain.model_copy(update={"head": "data:image/png;name=a;base64,"}): ({"a"}, False),
    }
    assert {form: (form.resource_ids, form.is_plain) for form in forms} == forms


def test_forms_are_stored_without_their_usual_properties() -> None:
    forms = {
        "": InlineForm(resource_id="a", head=HEAD),
        "/0": InlineForm(resource_id="b", head="", alphabet="urlsafe", padded=False),
    }
    text = dump_forms(forms)
    assert text == (
        '{"":{"resource_id":"a","head":"data:image/png;base64,"},'
        '"/0":{"resource_id":"b","head":"","alphabet":"urlsafe","padded":false}}'
    )
    assert (load_forms(text), dump_forms({}), load_forms(None)) == (forms, None, {})


MUST_BE_MOVED = [
    (HEAD + b64(DATA[:1_023]), False),
    (HEAD + b64(DATA[:1_024]), True),
    (f"data:image/png,{'%00' * 1_000}", False),
    # Few bytes in a long string.
    (f"{HEAD}AAAA".ljust(8_192), False),
    (f"{HEAD}AAAA".ljust(8_193), True),
    ("data:audio/wav;base64,AAAA", True),
    ("data:video/mp4;base64,AAAA", True),
    ("data:audio/wav;base64,A", False),
    ("data:text/plain;base64,AAAA", False),
]


def test_media_are_moved_from_a_size_on_and_sounds_always() -> None:
    assert [(text, must_be_moved(split(text))) for text, _ in MUST_BE_MOVED] == MUST_BE_MOVED


def test_strings_of_a_value_are_found_in_order() -> None:
    value: Any = {"a": ["b", {"c/~d": "e"}, 1, None, [["f"]]], "g": "h"}
    inner, nested = value["a"][1], value["a"][4][0]
    a = ValuePath(None, "a")
    assert [*find_strings(value)] == [
        FoundString(ValuePath(a, 0), "b", value["a"]),
        FoundString(ValuePath(ValuePath(a, 1), "c/~d"), "e", inner),
        FoundString(ValuePath(ValuePath(ValuePath(a, 4), 0), 0), "f", nested),
        FoundString(ValuePath(None, "g"), "h", value),
    ]
    assert [pointer_of_path(found.path) for found in find_strings(value)] == [
        *("/a/0", "/a/1/c~1~0d", "/a/4/0/0", "/g")
    ]
    assert [*find_strings("a")] == [FoundString(None, "a", None)]
    assert pointer_of_path(None) == ""


def test_member_is_replaced_at_its_pointer() -> None:
    value: Any = {"a": [0, {"c/~d": [1, 2]}], "0": "b"}
    changed = put_member(value, "/a/1/c~1~0d/1", 3)
    assert put_member(value, "/0", 4) is value is changed
    assert put_member(value, "/a/0", 5) == {"a": [5, {"c/~d": [1, 3]}], "0": 4}
    assert put_member(value, "", 6) == 6


def test_media_to_move_are_found_with_their_pointers() -> None:
    text, broken = f"a {URI} b {URI}", f"{HEAD}! {URI}"
    size = len(URI)
    spans = [DataUriSpan(start, start + size, "image/png", DATA, None) for start in (2, 5 + size)]
    in_broken = DataUriSpan(len(HEAD) + 2, len(broken), "image/png", DATA, None)
    assert find_movable_media(
        {
            "small": HEAD + SMALL,
            "small in a text": f"a {HEAD}{SMALL}",
            "whole": [f" {URI}", URI.replace("data", "Data")],
            "sound": "data:audio/wav;base64,AAAA",
            "text": text,
            "broken": broken,
            "percent-encoded": f"data:image/png,{'%00' * 4_000}",
            "no media": "a" * 2_000,
        }
    ) == [
        MovableString("/whole/0", f" {URI}", split(f" {URI}")),
        MovableString("/whole/1", URI.replace("data", "Data"), split(URI.replace("data", "Data"))),
        MovableString("/sound", "data:audio/wav;base64,AAAA", split("data:audio/wav;base64,AAAA")),
        MovableString("/text", text, None, tuple(spans)),
        MovableString("/broken", broken, None, (in_broken,)),
    ]

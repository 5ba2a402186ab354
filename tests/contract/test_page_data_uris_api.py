"""Data URIs in pages over HTTP: what is one, what is moved, what comes back."""

import base64
import json
import re
from typing import Any

import httpx
import hypothesis
import pytest
from hypothesis import strategies as st

from tests.contract.page_requests import (
    ROUTE,
    data_uri,
    download,
    found_by,
    outcome,
    pointers,
    put,
    read,
    resources,
    stored_bytes,
)
from tests.kit.media import jpeg, png, wav

pytestmark = pytest.mark.engines("embedded")

LARGE_PNG = png(noise=True)
B64 = base64.b64encode(LARGE_PNG).decode()
LARGE_JPEG = jpeg(noise=True)
URI = data_uri(LARGE_PNG, "image/png")
SMALL_URI = data_uri(png(), "image/png")
SENTENCE = "Data: in 2024, we measured 50%20 things. " + "Each was weighed, 100%25 of them. " * 40
RECORDINGS = ("audio", "video")


@pytest.mark.parametrize(
    "text",
    [
        "data:,x",
        "data:text/plain,x",
        "data:text/plain;charset=utf-8,x%20y",
        "data:;charset=utf-8,x",
        "data:;base64,eA==",
        "DATA:Image/PNG;BASE64," + base64.b64encode(png()).decode(),
        'data:image/png;name="a, b.png";base64,' + base64.b64encode(png()).decode(),
        "data:image/png;a;b=c;base64," + base64.b64encode(png()).decode(),
        "data:image/svg+xml;utf8,<svg/>",
        "data:application/vnd.a-b.c+d,1",
        " \r\n\tdata:text/plain,x",
    ],
    ids=lambda text: text[:40],
)
def test_data_uri_is_no_caption(shared_client: httpx.Client, text: str) -> None:
    stored = shared_client.put(f"{ROUTE}/uri", json={"modality": "image", "content": text})
    if stored.is_success:
        assert read(shared_client, "uri/content")["caption"] is None
    else:
        assert pointers(stored) == ["/content"]


@pytest.mark.parametrize(
    "text",
    [
        "Data: in 2024, we measured",
        "data:in 2024, x",
        "data: a, b",
        "data:a,b",
        "data:image,x",
        "data:/png,x",
        "data:image/,x",
        "data:a b/c,x",
        "data:a/b c,x",
        "data:text/plain;a b,x",
        "data:text/plain;=b,x",
        "data:image/png;base64",
        "data:",
        "database:,x",
        "See data:,x",
        SENTENCE,
    ],
    ids=lambda text: text[:40],
)
@pytest.mark.parametrize("modality", ["image", *RECORDINGS])
def test_words_that_begin_like_a_data_uri_stay_words(
    shared_client: httpx.Client, modality: str, text: str
) -> None:
    stored = put(shared_client, "words", modality=modality, content=text)
    assert (stored["content"], stored["media"]) == (text, None)
    word = "transcript" if modality in RECORDINGS else "caption"
    assert read(shared_client, "words/content")[word] == text
    assert download(shared_client, "words").text == text


def test_sentence_about_data_stays_that_sentence(client: httpx.Client) -> None:
    assert len(SENTENCE) > 1_024
    assert put(client, content=SENTENCE)["content"] == SENTENCE
    assert read(client, "p", media="inline")["content"] == SENTENCE
    assert read(client, "p/blocks")["content"] == f"Page p (text, FULL):\n{SENTENCE}"
    assert download(client).text == SENTENCE
    assert (found_by(client, "measured"), found_by(client, "weighed")) == (["p"], ["p"])
    assert resources(client) == []


@pytest.mark.parametrize(
    "content", [{"note": SENTENCE, "more": [SENTENCE]}, SENTENCE], ids=["inside data", "alone"]
)
def test_sentence_about_data_stays_that_sentence_in_data(
    client: httpx.Client, content: object
) -> None:
    assert put(client, modality="structured", content=content)["content"] == content
    assert read(client, "p/content")["data"] == content
    assert (found_by(client, "measured"), resources(client)) == (["p"], [])


@pytest.mark.parametrize("modality", ["text", "structured"])
def test_percent_encoded_text_comes_back_byte_for_byte(
    shared_client: httpx.Client, modality: str
) -> None:
    content = "data:text/plain;charset=utf-8,%e2%82%AC and a + " + "%41b\u00e9" * 500
    put(shared_client, modality=modality, content=content)
    assert read(shared_client, "p", media="inline")["content"] == content


def sent_again(client: httpx.Client, page: dict[str, Any]) -> object:
    """Return a content with `media=inline`, which the record itself does not have."""
    stored = put(client, **page)
    assert stored["content"] != page["content"]
    return read(client, "p", media="inline")["content"]


ODD_DATA_URIS = {
    "capitals": f"DATA:IMAGE/PNG;BASE64,{B64}",
    "blanks": f"data: image/png ; base64,{B64}",
    "parameters": f'data:image/png;a=b;name="x, y.png";base64,{B64}',
    "wrong type": f"data:image/jpeg;base64,{B64}",
    "url-safe": f"data:image/png;base64,{base64.urlsafe_b64encode(LARGE_PNG).decode()}",
    "unpadded": f"data:image/png;base64,{base64.b64encode(LARGE_PNG + b'12').decode().rstrip('=')}",
    "wrapped": "data:image/png;base64," + base64.encodebytes(LARGE_PNG).decode(),
    "percent-encoded": "data:image/png;base64," + B64.replace("+", "%2B").replace("/", "%2f"),
    "stray bits": "data:image/png;base64,"
    + base64.b64encode(LARGE_PNG + b"1").decode()[:-3]
    + "R==",
    "newline behind": f"data:image/png;base64,{B64}\n",
}


@pytest.mark.parametrize("form", ODD_DATA_URIS)
@pytest.mark.parametrize("modality", ["image", "structured"])
def test_moved_data_uri_comes_back_byte_for_byte(
    shared_client: httpx.Client, form: str, modality: str
) -> None:
    content: Any = ODD_DATA_URIS[form]
    if modality == "structured":
        content = {"~": ["x", {"a/b": content, "": content}], "~1": content, "n": 10**30}
    assert sent_again(shared_client, {"modality": modality, "content": content}) == content


def test_short_recording_is_moved_and_comes_back(client: httpx.Client) -> None:
    sent = data_uri(wav(0.01), "audio/x-wav")
    assert sent_again(client, {"modality": "audio", "content": sent}) == sent


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
@hypothesis.settings(max_examples=25)
@hypothesis.given(
    head=st.from_regex(
        r"[Dd]ata:([a-z]{1,9}/[a-z.+]{1,9})?(;[a-z]{1,5}=[a-z0-9%]{0,5}){0,3}", fullmatch=True
    ),
    data=st.binary(min_size=1_024, max_size=1_100),
    urlsafe=st.booleans(),
    wrapped_at=st.sampled_from([0, 60, 76]),
)
def test_any_data_uri_comes_back_byte_for_byte(
    shared_client: httpx.Client, head: str, data: bytes, urlsafe: bool, wrapped_at: int
) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    text = encode(data).decode()
    lines = [text[at : at + wrapped_at] for at in range(0, len(text), wrapped_at or len(text))]
    content = [f"{head};base64,{text if not wrapped_at else chr(10).join(lines)}"]
    assert sent_again(shared_client, {"modality": "structured", "content": content}) == content


@pytest.mark.parametrize(
    ("sent", "data"),
    [
        (f" \n\t{SMALL_URI}", png()),
        (f"\r\n {URI}", LARGE_PNG),
        (base64.b64encode(png()).decode(), png()),
        (B64, LARGE_PNG),
        (base64.encodebytes(LARGE_PNG).decode(), LARGE_PNG),
        (base64.b64encode(jpeg()).decode(), jpeg()),
    ],
    ids=["blank, small", "blank", "bare, small", "bare", "bare, wrapped", "bare jpeg"],
)
def test_medium_without_a_clean_head_is_never_a_caption(
    client: httpx.Client, sent: str, data: bytes
) -> None:
    page = put(client, modality="image", content=sent)
    assert (page["media"]["size_bytes"], page["dimensions"]) == (len(data), None)
    assert read(client, "p", media="inline")["content"] == sent
    content = read(client, "p/content")
    assert (content["caption"], base64.b64decode(content["base64"])) == (None, data)
    text, image = read(client, "p/blocks")["content"]
    assert text["text"] == "Page p (image, FULL):\n  [image attached below]"
    assert base64.b64decode(image["image_url"]["url"].partition(",")[2]) == data
    words = [read(client, f"p/blocks?level={level}")["content"] for level in (2, 3)]
    assert [base64.b64encode(data).decode()[:24] in word for word in words] == [False, False]
    assert download(client).content == data


def references(text: str) -> list[str]:
    """The references in a text, in order."""
    return re.findall(r"@blob:[0-9a-f]{32}", text)


@pytest.mark.parametrize("form", ["See %s!", "%s\n\n%s", "(%s) and (%s) and (%s)", "\u00e9 %s"])
def test_media_in_a_sentence_are_moved_out_of_it(client: httpx.Client, form: str) -> None:
    media = [(LARGE_PNG, "image/png"), (LARGE_JPEG, "image/jpeg"), (LARGE_PNG, "image/png")]
    media = media[: form.count("%s")]
    sent = form % tuple(data_uri(*medium) for medium in media)
    content = put(client, content=sent)["content"]
    assert content == form % tuple(references(content))
    assert [stored_bytes(client, reference) for reference in references(content)] == [
        data for data, _ in media
    ]
    assert read(client, "p/blocks")["content"] == f"Page p (text, FULL):\n{content}"
    assert read(client, "p", media="inline")["content"] == sent


@pytest.mark.parametrize(
    "form",
    ['{"img":"%s"}', '{ "img" : "%s", "n": 1.10, "n2": 1e2 }\n', '["%s", {"a": null, "b": "%s"}]'],
)
def test_media_in_a_string_of_json_are_moved_out_of_it(client: httpx.Client, form: str) -> None:
    media = [(LARGE_PNG, "image/png"), (LARGE_JPEG, "image/jpeg")][: form.count("%s")]
    sent = form % tuple(data_uri(*medium) for medium in media)
    content = put(client, modality="structured", content=sent)["content"]
    data = json.loads(form % tuple(references(content)))
    assert json.loads(content) == data
    assert [stored_bytes(client, reference) for reference in references(content)] == [
        data for data, _ in media
    ]
    assert read(client, "p/content")["data"] == data
    block = read(client, "p/blocks")["content"]
    assert (references(block), B64[:24] in block) == (references(content), False)
    assert read(client, "p", media="inline")["content"] == sent


@pytest.mark.engines("embedded", "server")
def test_media_in_words_are_kept_as_long_as_the_page(client: httpx.Client) -> None:
    content = put(client, content=f"{URI} and {data_uri(LARGE_JPEG, 'image/jpeg')}")["content"]
    paths = [
        f"/api/resources/{reference.removeprefix('@blob:')}" for reference in references(content)
    ]
    assert [client.delete(path).status_code for path in paths] == [409, 409]
    client.delete(f"{ROUTE}/p")
    assert [client.delete(path).status_code for path in paths] == [204, 204]


@pytest.mark.engines("embedded", "server")
def test_page_with_a_medium_in_its_words_can_be_written_back(client: httpx.Client) -> None:
    sent = f"Look at {URI}."
    put(client, content=sent)
    answer = client.get(f"{ROUTE}/p")
    again = client.put(f"{ROUTE}/p", json=answer.json())
    assert (again.status_code, again.content) == (200, answer.content)
    assert read(client, "p", media="inline")["content"] == sent
    inline = client.put(f"{ROUTE}/p", json=read(client, "p", media="inline"))
    assert (inline.status_code, inline.content) == (200, answer.content)


@pytest.mark.parametrize(
    ("member", "pointer"),
    [
        ({"hint": URI}, "/hint"),
        ({"caption": f"A caption: {URI}"}, "/caption"),
        ({"transcript": f"{URI}\nHello."}, "/transcript"),
        ({"scenes": ["A door", f"A dog {URI}"]}, "/scenes/1"),
        ({"scenes": [{"summary": URI}]}, "/scenes/0/summary"),
        ({"scenes": [{"a/b": URI}]}, "/scenes/0/a~1b"),
        ({"scenes": [{"frames": ["x", {"url": URI}]}]}, "/scenes/0/frames/1/url"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_medium_among_the_words_about_a_page_is_refused(
    client: httpx.Client, member: dict[str, object], pointer: str
) -> None:
    put(client, modality="video", content="https://example.com/v.mp4")
    before = read(client, "p")
    page = {"modality": "video", "content": "https://example.com/w.mp4", **member}
    assert pointers(client.put(f"{ROUTE}/p", json=page)) == [pointer]
    assert pointers(client.post(ROUTE, json=page)) == [pointer]
    assert pointers(client.patch(f"{ROUTE}/p", json=member)) == [pointer]
    batch = {"pages": [{"content": "x"}, page]}
    assert pointers(client.post(f"{ROUTE}/bulk", json=batch)) == [f"/pages/1{pointer}"]
    assert read(client, "p") == before
    assert (len(client.get(ROUTE).json()["items"]), resources(client)) == (1, [])


def test_small_data_uri_among_the_words_stays(client: httpx.Client) -> None:
    assert put(client, content="x", hint=f"icon {SMALL_URI}")["hint"] == f"icon {SMALL_URI}"


@pytest.mark.parametrize("modality", ["image", *RECORDINGS])
def test_long_base64_that_is_broken_is_refused(client: httpx.Client, modality: str) -> None:
    content = "data:image/png;base64," + "A" * 2_001 + "!"
    refused = client.put(f"{ROUTE}/p", json={"modality": modality, "content": content})
    assert outcome(refused) == (422, "invalid-base64")
    assert resources(client) == []


@pytest.mark.parametrize(
    ("modality", "content"),
    [
        ("structured", {"note": f"Before {URI} and after.", "n": 1}),
        ("structured", json.dumps({"note": f"Before {URI} and after."})),
        ("audio", f"Before {URI} and after."),
    ],
    ids=["data", "JSON in a string", "a transcript"],
)
def test_media_in_words_anywhere_are_moved_out_of_them(
    client: httpx.Client, modality: str, content: object
) -> None:
    put(client, "words", modality=modality, content=content)
    shown = str(client.get(f"{ROUTE}/words/blocks").json()["content"])
    assert ("base64" in shown, len(re.findall(r"@blob:[0-9a-f]{32}", shown))) == (False, 1)
    sent = client.get(f"{ROUTE}/words", params={"media": "inline"}).json()["content"]
    assert sent == content

"""`GET /api/sessions/{id}/document`: a session as one HTML file with everything inside."""

import base64
import hashlib
import html
import re
from pathlib import Path

import httpx
import pytest

from pagefault_doctor.document_html import TextEscaper, escape_text, format_json
from tests.contract.render_cases import file_block, image_block
from tests.contract.session_requests import append
from tests.kit import media
from tests.kit.servers import LiveService

URL = "/api/sessions/demo/document"
LIMIT = 50 * 1024 * 1024
LOST = "A file that is missing in the store: "


def post_result(client: httpx.Client, result: object, call_id: str = "c1") -> None:
    body = {"toolName": "look", "toolCallId": call_id, "sessionId": "demo", "result": result}
    answer = client.post("/api/tool-results", json=body)
    assert answer.status_code == 201, answer.text[:500]


def read_document(client: httpx.Client, **query: str) -> str:
    """Return a document, after a check that its size was known before."""
    answer = client.get(URL, params=query)
    assert answer.status_code == 200, answer.text[:500]
    size = client.head(URL, params=query).headers["content-length"]
    assert (size, answer.headers["content-length"]) == (str(len(answer.content)),) * 2
    return answer.text


def read_entries(document: str) -> str:
    return document.partition("<main>")[2].partition("</main>")[0]


def test_document_has_every_entry_with_its_media_and_the_same_bytes_each_time(
    client: httpx.Client,
) -> None:
    picture, sound, text = media.png(64, 48, noise=True), media.wav(), "one,two\n" * 20_000
    append(client, "demo", role="user", content="Look <here>")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x":1.10}'}}
    append(client, "demo", role="assistant", content=None, tool_calls=[call])
    sounding = {"type": "audio", "data": media.b64(sound), "mimeType": "audio/wav"}
    blocks = [image_block(picture), sounding, file_block("r.pdf", media.pdf(), "application/pdf")]
    post_result(client, {"content": [*blocks, {"type": "text", "text": text}], "isError": True})
    document = read_document(client)
    assert read_document(client) == document
    entries = read_entries(document)
    assert "Look &lt;here&gt;" in entries
    assert "  &quot;x&quot;: 1.10" in entries or '  "x": 1.10' in entries
    for mime_type, data in (("image/png", picture), ("audio/wav", sound)):
        assert f'src="data:{mime_type};base64,{media.b64(data)}"' in entries
    saved = f'download="r.pdf" href="data:application/pdf;base64,{media.b64(media.pdf())}"'
    assert saved in entries
    # The record has a preview of the text, and the document all of it.
    assert text in entries
    assert re.findall(r'<article id="(.*?)" class="(.*?)">', entries) == [
        ("entry-1", "user"),
        ("entry-2", "assistant"),
        ("entry-3", "tool failed"),
    ]


def test_answer_is_saved_and_never_a_page_of_the_service(client: httpx.Client) -> None:
    client.put("/api/sessions/demo")
    headers = client.get(URL).headers
    names = (
        *("content-type", "content-disposition", "content-security-policy"),
        *("x-content-type-options", "cross-origin-resource-policy", "cache-control"),
    )
    assert [headers[name] for name in names] == [
        *("text/html; charset=utf-8", 'attachment; filename="demo.html"'),
        *("sandbox; default-src 'none'", "nosniff", "same-origin", "no-store"),
    ]


def test_policy_of_a_document_comes_first_and_allows_its_own_script_and_style_alone(
    client: httpx.Client,
) -> None:
    client.put("/api/sessions/demo")
    document = read_document(client)
    head = '<!doctype html>\n<html lang="en">\n<head>\n<meta http-equiv="Content-Security-Policy" '
    assert document.startswith(f'{head}content="')
    policy = document.partition('content="')[2].partition('"')[0]
    hashes = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name in ("style", "script")
        for text in [document.partition(f"<{name}>")[2].partition(f"</{name}>")[0]]
    }
    assert policy == (
        "default-src 'none'; img-src data:; media-src data:; "
        f"style-src 'sha256-{hashes['style']}'; script-src 'sha256-{hashes['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", document) == []


def test_empty_session_is_a_document_without_entries_and_an_unknown_one_is_a_404(
    client: httpx.Client,
) -> None:
    assert client.get(URL).json()["code"] == "not-found"
    assert client.head(URL).status_code == 404
    client.put("/api/sessions/demo")
    assert read_entries(read_document(client)) == "\n"


def test_file_that_a_session_shows_again_is_in_its_document_once(client: httpx.Client) -> None:
    for call_id in ("c1", "c2"):
        post_result(client, {"content": [image_block(media.png())]}, call_id)
    entries = read_entries(read_document(client))
    assert entries.count(media.b64(media.png())) == 1
    assert 'The file of <a href="#entry-1">entry 1</a>: image/png' in entries


@pytest.mark.engines("embedded")
def test_missing_file_is_named_with_its_digest_and_nothing_else_is_missing(
    client: httpx.Client, service: LiveService
) -> None:
    picture, other = media.png(61, 47, noise=True), media.png(32, 24, noise=True)
    post_result(client, {"content": [image_block(picture), image_block(other)]})
    digest = hashlib.sha256(picture).hexdigest()
    (blob,) = Path(service.settings.data_dir).rglob(digest)
    blob.unlink()
    document = read_document(client)
    assert f"{LOST}image/png" in document
    assert digest in document
    assert media.b64(other) in document
    assert "Missing files: 1." in document


@pytest.mark.engines("embedded")
def test_damaged_file_cuts_the_download_off(client: httpx.Client, service: LiveService) -> None:
    picture = media.png(62, 47, noise=True)
    post_result(client, {"content": [image_block(picture)]})
    (blob,) = Path(service.settings.data_dir).rglob(hashlib.sha256(picture).hexdigest())
    blob.chmod(0o600)
    blob.write_bytes(picture[:-1] + b"x")
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(URL)


@pytest.mark.slow
@pytest.mark.engines("embedded")
def test_document_above_fifty_mib_is_refused_with_its_size_and_offered_without_files(
    client: httpx.Client,
) -> None:
    # In base64 each has a third more.
    for number in range(2):
        noise = media.noise_bytes(20_000_000) + bytes([number])
        post_result(client, {"content": [file_block("x", noise, "audio/mpeg")]}, f"c{number}")
    refused = client.get(URL)
    assert (refused.status_code, refused.json()["code"]) == (413, "payload-too-large")
    detail = refused.json()["detail"]
    said = re.fullmatch(
        r"The document of this session has ([\d,]+) bytes, and a document may have 52,428,800 "
        r"\(50 MiB\)\. Leave its files out with `\?media=none`, or export the session as a bundle: "
        r"GET /api/sessions/demo/bundle\.",
        detail,
    )
    assert said, detail
    assert 2 * 26_666_668 < int(said[1].replace(",", "")) < 2 * 26_666_668 + 50_000
    assert client.head(URL).status_code == 413
    document = read_document(client, media="none")
    assert document.count("A file that is left out: ") == 2
    assert "base64," not in document.partition("<main>")[2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</pre><script>", "&lt;/pre&gt;&lt;script&gt;"),
        ("<!-- & -->", "&lt;!-- &amp; --&gt;"),
        ("a\0b\u202ec\x1b[1m\x85", "a⟨U+0000⟩b⟨U+202E⟩c⟨U+001B⟩[1m⟨U+0085⟩"),
        ("a\r\nb\rc\td", "a\nb⟨U+000D⟩c\td"),
        ("half \ud800 pair", "half \ufffd pair"),
    ],
)
def test_texts_are_escaped_in_a_record_and_in_a_file_of_any_cut(text: str, expected: str) -> None:
    assert escape_text(text) == expected
    data = text.encode("utf-8", "surrogatepass") if "\ud800" not in text else b""
    for cut in range(4, len(data)):
        escaper = TextEscaper()
        pieces = [escaper.feed(data[:cut]), escaper.feed(data[cut:])]
        assert b"".join([*pieces, escaper.feed(b"", is_last=True)]).decode() == expected


def test_json_has_a_line_for_each_value_and_its_own_spelling_unless_it_would_be_huge() -> None:
    assert format_json('{"a":1.10,"b":["é"]}') == '{\n  "a": 1.10,\n  "b": [\n    "é"\n  ]\n}'
    for text in ("not json", '{"a":1', "[" * 300 + ",".join("0" * 3_000) + "]" * 300):
        assert format_json(text) is text


def test_every_text_of_a_document_can_be_read_back_from_it(client: httpx.Client) -> None:
    text = "  \n&lt; <b>&amp;</b> \"quoted\" 'text' ]]> 😀"
    append(client, "demo", role="user", content=text)
    found = re.search(r'<pre class="text">\n(.*?)</pre>', read_document(client), re.DOTALL)
    assert found is not None
    assert html.unescape(found[1]) == text

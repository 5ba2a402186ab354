"""A result above 1 MiB, which is read while it arrives, is the record it is when it is smaller."""

import base64
from typing import Any

import httpx
import pytest

from tests.kit.media import noise_bytes, png

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/tool-results"
PIECE_BYTES = 1024 * 1024
"""A body is streamed in pieces of this size, and a smaller one is parsed as a whole."""

PICTURE = png() + noise_bytes(50_001)
ENCODED = base64.b64encode(PICTURE)
NOISE = base64.b64encode(noise_bytes(50_000))
LINES = [NOISE[start : start + 76] for start in range(0, len(NOISE), 76)]

STRINGS = {
    "escaped backslash and n": NOISE + b"\\\\n",
    "escaped backslash and n, then more": NOISE + b"\\\\n" + NOISE,
    "picture and an escaped backslash": ENCODED + b"\\\\n",
    "quotation marks as escapes": NOISE + b"\\u0022,\\u0022",
    "quotation mark between quads": NOISE + b'\\",\\"' + NOISE,
    "NUL": NOISE + b"\\u0000",
    "NUL after a picture": ENCODED + b"\\u0000",
    "name with backslashes": b"data:image/png;name=C:\\\\temp\\\\new.png;base64," + ENCODED,
    "name with a backslash and a u": b"data:image/png;name=C:\\\\Users\\\\a.png;base64," + ENCODED,
    "name beyond ASCII": "data:image/png;name=b\xfccher.png;base64,".encode() + ENCODED,
    "name in surrogates": b"data:image/png;name=\\ud83d\\ude00.png;base64," + ENCODED,
    "name with half a pair": b"data:image/png;name=\\ud83d.png;base64," + ENCODED,
    "slashes escaped": b"data:image\\/png;base64," + ENCODED.replace(b"/", b"\\/"),
    "plus signs escaped": ENCODED.replace(b"+", b"\\u002B"),
    "plus signs escaped now and then": ENCODED.replace(b"+", b"\\u002B", 9),
    "padding escaped": ENCODED.rstrip(b"=") + b"\\u003d" * (-len(ENCODED.rstrip(b"=")) % 4),
    "lines": b"\\n".join(LINES),
    "lines with returns": b"\\r\\n".join(LINES) + b"\\r\\n",
    "lines broken by other escapes": b"\\u000a".join(LINES),
    "URL-safe": ENCODED.translate(bytes.maketrans(b"+/", b"-_")),
    "percent-encoded": b"data:image/png;base64," + ENCODED.replace(b"+", b"%2B"),
}
RESULT = b'[{"type":"image","data":"%b","mimeType":"image/png"},["%b"],{"%b":{"note":1}}]'
"""A string as a medium, as a text and as a key."""


def sent(client: httpx.Client, result: bytes, padding: int, session: str) -> httpx.Response:
    """The answer to a call with this raw JSON as its result, behind so many blanks."""
    start = b'{"toolName":"t","toolCallId":"c","sessionId":"%b","result":' % session.encode()
    headers = {"Content-Type": "application/json"}
    body = start + b" " * padding + result + b"}"
    return client.post(ROUTE, content=body, headers=headers)


def told(client: httpx.Client, answer: httpx.Response) -> dict[str, Any]:
    """A record, and the SHA-256 of each of its resources."""
    assert answer.status_code == 201, answer.text[:500]
    record: dict[str, Any] = answer.json()["sanitized"]
    for resource in record["resources"]:
        head = client.head(f"/api/resources/{resource['uri']}/content")
        resource["digest"] = head.headers["Repr-Digest"]
    return record


@pytest.mark.promise(
    "durability.md#bodies-above-1-mib",
    "A string is kept alike below and above 1 MiB, however it is spelled",
    kept_by="packages/dialects/src/pagefault_dialects/streams/long_strings.py",
    tried="21 spellings as a medium, a text and a key",
)
@pytest.mark.parametrize("name", STRINGS)
def test_result_above_a_piece_becomes_what_a_smaller_one_becomes(
    client: httpx.Client, name: str
) -> None:
    raw = RESULT.replace(b"%b", STRINGS[name])
    small = told(client, sent(client, raw, 0, "small"))
    assert told(client, sent(client, raw, PIECE_BYTES, "large")) == small


@pytest.mark.promise(
    "durability.md#bodies-above-1-mib",
    "An escape may be split between two pieces of a body",
    kept_by="packages/dialects/src/pagefault_dialects/streams/long_strings.py",
    tried="8 cuts",
)
def test_line_break_may_be_where_a_piece_ends(client: httpx.Client) -> None:
    raw = b'["%b"]' % (NOISE + b"\\r\\nAAAAAAAA, and so on")
    start = len(b'{"toolName":"t","toolCallId":"c","sessionId":"large-0","result":["')
    start += len(NOISE)
    small = told(client, sent(client, raw, 0, "small"))
    for after in range(8):
        large = sent(client, raw, PIECE_BYTES - start - after, f"large-{after}")
        assert told(client, large) == small


@pytest.mark.promise(
    "durability.md#bodies-above-1-mib",
    "No string of a body can add members to it",
    kept_by="packages/dialects/src/pagefault_dialects/streams/long_strings.py",
    tried="1 string",
)
def test_string_with_escaped_quotation_marks_stays_one_string(client: httpx.Client) -> None:
    raw = b'["%b\\u0022,\\u0022"]' % NOISE
    record = told(client, sent(client, raw, PIECE_BYTES, "s"))
    assert [part["type"] for part in record["parts"]] == ["text"]
    (resource,) = record["resources"]
    content = client.get(f"/api/resources/{resource['uri']}/content")
    assert content.text == NOISE.decode() + '","'


@pytest.mark.promise(
    "durability.md#bodies-above-1-mib",
    (
        "A streamed result spelled differently is the same request; another medium makes it "
        "another request"
    ),
    kept_by="packages/dialects/src/pagefault_dialects/streams/json_digests.py",
    tried="2 spellings",
)
def test_other_spelling_of_a_large_result_is_the_same_request(client: httpx.Client) -> None:
    result = b'{"type":"image","data":"%b","mimeType":"image/png"}'
    first = sent(client, result % ENCODED, PIECE_BYTES, "s")
    again = sent(client, result % ENCODED, PIECE_BYTES, "s")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    for spelling in (b"\\/", b"\\u002f"):
        respelled = result % ENCODED.replace(b"/", spelling)
        other = sent(client, respelled, PIECE_BYTES, "s")
        assert (other.status_code, other.content) == (200, first.content)
    changed = sent(client, result % ENCODED.replace(b"A", b"B", 1), PIECE_BYTES, "s")
    assert (changed.status_code, changed.json()["code"]) == (409, "tool-call-answered")


@pytest.mark.promise(
    "durability.md#bodies-above-1-mib",
    "An error in a streamed body names the line and column of the body that was sent",
    kept_by="app/services/requests/streamed_requests.py",
    tried="1 column",
)
def test_refusal_of_a_large_result_names_the_place_in_what_was_sent(client: httpx.Client) -> None:
    raw = b'{"type":"video","data":"%b"},' % base64.b64encode(b"\x00" + noise_bytes(900_000))
    answer = sent(client, raw, 0, "s")
    column = len(b'{"toolName":"t","toolCallId":"c","sessionId":"s","result":') + len(raw) + 1
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-json")
    assert f"column {column})" in answer.json()["detail"]

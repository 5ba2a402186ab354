"""Strings that databases, files and headers stumble over: the same outcome on both engines."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

pytestmark = pytest.mark.xdist_group("both engines")

STRINGS = {
    "nothing": "",
    "NUL": "\x00",
    "NUL inside": "a\x00b",
    "lone high surrogate": "\ud800",
    "lone low surrogate": "a\udfffb",
    "surrogates the wrong way round": "\udc00\ud800",
    "last code point": "\U0010ffff",
    "non-characters": "\ufffe\uffff\ufdd0",
    "byte order mark": "\ufeffa",
    "line separators": "\u2028\u2029\x85",
    "control characters": "".join(map(chr, range(1, 32))) + "\x7f",
    "escape sequences": "\x1b[31m\x1b]0;x\x07",
    "right to left": "\u202egnp.exe",
    "zero width": "a\u200b\u200d\u2060b",
    "private use": "\ue000\U000f0000",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "many marks": "e" + "\u0301" * 400,
    "two spellings": "\u00e9e\u0301\uac00\u1100\u1161",
    "capital of two letters": "\u00df\u0130\u01c5",
    "full width": "\uff07\uff1b DROP",
    "quotation marks": "'\"`\\",
    "statement": "'; DROP TABLE pages; --",
    "condition": "' OR '1'='1",
    "dollars": "$$;SELECT 1;$$ $1 :a %s %(a)s ?",
    "wildcards": "%_*[a-z]\\%",
    "search syntax": 'a AND b OR NOT "c" NEAR(d, 2) e* ^f -g',
    "JSON in JSON": '{"a":"\\u0000"}',
    "path": "../../etc/passwd\\..\\c:",
    "long word": "x" * 9_000,
    "not a number": "NaN",
}
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.]+Z")


def asked(name: str) -> Iterator[tuple[str, str, object]]:
    """A string in every place that takes text: method, path with query, JSON body."""
    text, place = STRINGS[name], f"s{list(STRINGS).index(name)}"
    words = quote(text, errors="surrogatepass")
    call = {"toolName": text, "toolCallId": text or "c", "result": [text, {text: text}]}
    yield "POST", "/api/tool-results", {**call, "sessionId": place}
    yield "POST", f"/api/sessions/{place}/messages", {"role": "user", "content": text}
    yield "PUT", f"/api/pages/{place}", {"content": text, "session_id": place}
    yield "PATCH", f"/api/pages/{place}", {"hint": text, "metadata": {text: text}}
    yield "GET", f"/api/pages/search?q={words}&session_id={place}", None
    yield "GET", f"/api/sessions?q={words}", None
    yield "GET", f"/api/sessions/{place}/messages", None
    yield "GET", f"/api/sessions/{place}/render?target=text", None
    yield "POST", f"/api/resources?filename={words}", text
    yield "GET", f"/api/pages/{words}", None


def outcome(client: httpx.Client, method: str, path: str, body: object) -> tuple[int, str]:
    """All that an answer says but for ids and times, which no two writes share."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if "/resources" not in path else {}
    answer = client.request(method, path, content=content, headers=headers)
    text = TIME.sub("(time)", ID.sub("(id)", answer.text))
    return answer.status_code, text


@pytest.mark.promise(
    "security.md#the-database",
    "A string has the same outcome on both engines",
    kept_by="packages/dialects/src/pagefault_dialects/json/values.py",
    tried="30 strings in 10 requests, 0 different",
)
@pytest.mark.parametrize("name", STRINGS)
def test_string_has_the_same_outcome_on_both_engines(
    both: tuple[httpx.Client, httpx.Client], name: str
) -> None:
    assert len(STRINGS) == 30
    embedded, server = (
        [outcome(client, *requested) for requested in asked(name)] for client in both
    )
    assert embedded == server
    assert [status for status, _ in embedded if status >= 500] == []

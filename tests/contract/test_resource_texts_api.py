"""`/api/resources/{uri}/text` over HTTP: long text in pieces."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.page_requests import outcome
from tests.contract.session_requests import call_tool, comparable, upload
from tests.kit.media import png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

PLAIN = {"Accept": "text/plain"}
MANY = 30
HUNDRED = "".join(f"line {number}\n" for number in range(1, 101))
DATA = {"a": [{"n": "x"}, None, True], "b/c": {"~": "deep"}, "é": 1.5, "words": "one\ntwo"}


def keep(client: httpx.Client, content: str | bytes, name: str = "a.txt") -> str:
    """The path of an uploaded text."""
    data = content.encode() if isinstance(content, str) else content
    return f"/api/resources/{upload(client, data, filename=name)['uri']}"


def read(client: httpx.Client, path: str, **query: str | int | bool) -> dict[str, Any]:
    answer = client.get(f"{path}/text", params=query)
    assert answer.status_code == 200, answer.text[:500]
    found: dict[str, Any] = answer.json()
    return found


def lines(path: str, content: str, first: int | None, last: int | None) -> dict[str, object]:
    """The answer with these lines of a text, said the simple way."""
    found = content.splitlines()
    wanted = found[first - 1 : last] if first is not None else []
    return {
        "uri": path.rpartition("/")[2],
        "mimeType": "text/plain",
        "totalLines": len(found),
        "totalBytes": len(content.encode()),
        "from": first,
        "to": last,
        "text": "\n".join(wanted),
        "cutLines": [],
        "truncated": False,
        "nextLine": None,
    }


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [
        (None, 1, 100),
        ("10-50", 10, 50),
        ("90-", 90, 100),
        ("90-200", 90, 100),
        ("7", 7, 7),
        ("-3", 98, 100),
        ("-500", 1, 100),
        ("101-", None, None),
        (f"{10**17}", None, None),
    ],
)
def test_lines_of_a_range_come_back(
    client: httpx.Client, wanted: str | None, first: int | None, last: int | None
) -> None:
    path = keep(client, HUNDRED)
    query = {} if wanted is None else {"lines": wanted}
    assert read(client, path, **query) == lines(path, HUNDRED, first, last)


@pytest.mark.parametrize("wanted", ["1-", "-1", "5"])
def test_empty_text_has_no_lines(client: httpx.Client, wanted: str) -> None:
    path = keep(client, "")
    assert read(client, path, lines=wanted) == lines(path, "", None, None)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\r\nb\rc\nd", ["a", "b\rc", "d"]),
        ("\ufeffZażółć\nb".encode(), ["Zażółć", "b"]),
        ("Zażółć\nb\n".encode("utf-16"), ["Zażółć", "b"]),
        (b"a\xff\nb", ["a\ufffd", "b"]),
        (b"\n\n", ["", ""]),
        (b"a\x00b\n", ["a\x00b"]),
    ],
    ids=["line ends", "mark", "UTF-16", "no UTF-8", "empty lines", "NUL"],
)
def test_text_is_decoded(client: httpx.Client, content: bytes, expected: list[str]) -> None:
    path = keep(client, content)
    found = read(client, path)
    assert (found["text"], found["totalLines"]) == ("\n".join(expected), len(expected))
    assert read(client, path, lines="2")["text"] == "".join(expected[1:2])


@pytest.mark.parametrize("before", [0, 300_000])
def test_text_of_before_unicode_is_decoded_and_says_so(client: httpx.Client, before: int) -> None:
    text = "x" * 79 + "\n"
    text = text * (before // 80) + "Grüße aus München,\ndie Straße ist gesperrt: café\n"
    last = text.count("\n")
    path = keep(client, text.encode("cp1252"))
    found = read(client, path, lines=f"{last - 1}-")
    assert (found["text"], found["decodedFrom"]) == (
        "Grüße aus München,\ndie Straße ist gesperrt: café",
        "windows-1252",
    )
    matches = read(client, path, grep="Straße")
    assert (matches["totalMatches"], matches["decodedFrom"]) == (1, "windows-1252")
    again = read(client, path, lines=f"{last}")
    assert (again["text"], again["from"]) == ("die Straße ist gesperrt: café", last)
    assert "decodedFrom" not in read(client, keep(client, text), lines=str(last))


def test_value_in_json_of_before_unicode_is_decoded(client: httpx.Client) -> None:
    path = keep(client, '{"a":"Grüße aus München"}'.encode("cp1252"), name="a.json")
    found = read(client, path, pointer="/a")
    assert (found["value"], found["decodedFrom"]) == ("Grüße aus München", "windows-1252")


def test_answer_is_bounded_and_says_where_to_go_on(client: httpx.Client) -> None:
    content = "".join(f"{number:06} {'x' * 100}\n" for number in range(30_000))
    path = keep(client, content)
    got: list[str] = []
    following: int | None = 1
    while following is not None and len(got) < 2_000:
        found = read(client, path, lines=f"{following}-2000")
        assert len(found["text"]) <= 64 * 1024
        got += found["text"].split("\n")
        following = found["nextLine"]
    assert got == content.splitlines()[:2_000]
    assert read(client, path, lines="29999-")["text"] == "\n".join(content.splitlines()[-2:])
    assert read(client, path, lines="-29999")["nextLine"] is not None


def test_line_that_is_too_long_is_cut_with_a_note(client: httpx.Client) -> None:
    path = keep(client, f"a\n{'é' * 3_000_000}\nb\n")
    found = read(client, path)
    cut = "é" * 8_000 + "[… 2992000 more characters in this line …]"
    assert (found["text"], found["cutLines"]) == (f"a\n{cut}\nb", [2])
    assert (found["truncated"], found["totalLines"]) == (False, 3)


@pytest.mark.engines("embedded", "server")
def test_text_that_a_preview_stands_for_is_read_in_pieces(client: httpx.Client) -> None:
    content = "".join(f"{number} was here\n" for number in range(5_000))
    record = call_tool(client, "c", content)
    path = f"/api/resources/{record['sanitized']['resources'][0]['uri']}"
    assert read(client, path, lines="4321")["text"] == "4320 was here"


def match(line: int, text: str, before: list[str], after: list[str]) -> dict[str, object]:
    return {"line": line, "text": text, "before": before, "after": after}


def test_lines_with_a_text_are_found(client: httpx.Client) -> None:
    path = keep(client, HUNDRED)
    assert read(client, path, grep="line 9") == {
        "uri": path.rpartition("/")[2],
        "mimeType": "text/plain",
        "totalLines": 100,
        "totalBytes": len(HUNDRED),
        "matches": [match(n, f"line {n}", [], []) for n in (9, *range(90, 100))],
        "totalMatches": 11,
        "truncated": False,
        "nextLine": None,
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"grep": "LINE 42"}, []),
        ({"grep": "LINE 42", "ignoreCase": True}, [match(42, "line 42", [], [])]),
        (
            {"grep": "line 1", "lines": "5-15"},
            [match(n, f"line {n}", [], []) for n in range(10, 16)],
        ),
        ({"grep": "e 1", "lines": "-1"}, [match(100, "line 100", [], [])]),
        ({"grep": "line 1", "lines": "500-"}, []),
        ({"grep": "line .*"}, []),
        ({"grep": "(a+)+$"}, []),
        (
            {"grep": "line 50", "context": 2},
            [match(50, "line 50", ["line 48", "line 49"], ["line 51", "line 52"])],
        ),
        ({"grep": "line 100", "context": 1}, [match(100, "line 100", ["line 99"], [])]),
    ],
)
def test_search_is_for_plain_text_in_a_range(
    client: httpx.Client, query: dict[str, Any], expected: list[object]
) -> None:
    found = read(client, keep(client, HUNDRED), **query)
    assert (found["matches"], found["totalMatches"]) == (expected, len(expected))


def test_matches_are_bounded_and_counted(client: httpx.Client) -> None:
    path = keep(client, "needle\n" * 500_000)
    found = read(client, path, grep="needle")
    assert (found["totalMatches"], found["truncated"]) == (500_000, True)
    assert found["nextLine"] == len(found["matches"]) + 1
    rest = read(client, path, grep="needle", lines=f"{found['nextLine']}-")
    assert rest["totalMatches"] == 500_000 - len(found["matches"])


def test_match_deep_inside_one_long_line_is_shown(client: httpx.Client) -> None:
    path = keep(client, "x" * 3_000_000 + "needle" + "y" * 1_000)
    found = read(client, path, grep="needle")
    assert found["totalMatches"] == 1
    assert "xneedley" in found["matches"][0]["text"]
    assert len(found["matches"][0]["text"]) <= 500


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DATA),
        ("/a/0", {"n": "x"}),
        ("/a/1", None),
        ("/b~1c/~0", "deep"),
        ("/é", 1.5),
    ],
)
def test_value_at_a_pointer_comes_back(client: httpx.Client, pointer: str, value: object) -> None:
    path = keep(client, json.dumps(DATA), "a.json")
    assert read(client, path, pointer=pointer) == {
        "uri": path.rpartition("/")[2],
        "mimeType": "application/json",
        "pointer": pointer,
        "truncated": False,
        "shape": None,
        "value": value,
    }


def test_value_keeps_its_spelling(client: httpx.Client) -> None:
    spelled = f'{{"z":1.10,"a":[-0,1E+2,{"9" * 5_000}]}}'
    path = keep(client, f'{{"x": {spelled}}}', "a.json")
    answer = client.get(f"{path}/text", params={"pointer": "/x"})
    assert answer.text.endswith(f',"value":{spelled}}}')


def test_json_in_plain_text_and_deep_json_are_followed(client: httpx.Client) -> None:
    path = keep(client, '{"k":' * 900 + "1" + "}" * 900, "a.txt")
    assert read(client, path, pointer="/k" * 900)["value"] == 1


def test_object_that_is_too_large_is_answered_with_its_shape(client: httpx.Client) -> None:
    rows = [{"id": number, "text": "x" * 100} for number in range(1_000)]
    content = json.dumps({"rows": rows, "n/m": 1}, separators=(",", ":"))
    found = read(client, keep(client, content, "a.json"), pointer="")
    hint = found["shape"].pop("hint")
    assert found["shape"] == {
        "type": "object",
        "size": len(content),
        "length": 2,
        "keys": [
            {"key": "rows", "pointer": "/rows", "type": "array", "length": 1_000},
            {"key": "n/m", "pointer": "/n~1m", "type": "number"},
        ],
    }
    assert (found["value"], found["truncated"]) == (None, True)
    assert "`pointer`" in hint


def test_shape_leads_to_every_piece(client: httpx.Client) -> None:
    rows = [{"id": number, "text": "x" * 100} for number in range(1_000)]
    path = keep(client, json.dumps({"rows": rows}), "a.json")
    shape = read(client, path, pointer="/rows")["shape"]
    assert (shape["type"], shape["length"], len(shape["keys"])) == ("array", 1_000, 200)
    assert read(client, path, pointer=shape["keys"][7]["pointer"])["value"] == rows[7]


@pytest.mark.parametrize(
    "value",
    [
        {f"{number}" * 500: number for number in range(1_000)},
        {"k" * 1_000_000: 1},
        ["x"] * 500_000,
        "e\u0301" * 100_000,
        int("9" * 4_000),
        [[[]] * 100_000],
    ],
    ids=["long keys", "one long key", "many items", "long string", "number", "nested"],
)
def test_answer_about_a_value_is_bounded(client: httpx.Client, value: object) -> None:
    path = keep(client, json.dumps(value), "a.json")
    answer = client.get(f"{path}/text", params={"pointer": ""})
    assert answer.status_code == 200
    assert len(answer.content) < 128 * 1024
    plain = client.get(f"{path}/text", params={"pointer": ""}, headers=PLAIN)
    assert 0 < len(plain.content) < 128 * 1024


def test_pointer_that_leads_nowhere_is_not_found(client: httpx.Client) -> None:
    path = keep(client, json.dumps(DATA), "a.json")
    answer = client.get(f"{path}/text", params={"pointer": "/a/7/zz-marker-zz"})
    assert outcome(answer) == (404, "no-such-value")
    assert "of the 3 names in the pointer, only the first 1 lead somewhere" in answer.text
    assert "marker" not in answer.text


@pytest.mark.parametrize("content", ["no json", "", "{}{}", "[NaN]", '{"a":1,}', "1e999"], ids=str)
def test_text_that_is_no_json_has_no_values(client: httpx.Client, content: str) -> None:
    answer = client.get(f"{keep(client, content)}/text", params={"pointer": ""})
    assert outcome(answer) == (422, "not-json")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a":"\\ud800"}', {"a": "\ufffd"}),
        ("\ufeff[1]", [1]),
        ('{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_odd_json_is_read_all_the_same(
    client: httpx.Client, content: str, expected: object
) -> None:
    assert read(client, keep(client, content, "a.json"), pointer="")["value"] == expected


@pytest.mark.parametrize("content", ["[" * 5_000 + "]" * 5_000, "[0" + ",0" * 500_001 + "]"])
def test_json_beyond_what_is_taken_apart_is_refused(client: httpx.Client, content: str) -> None:
    path = keep(client, content, "a.json")
    answer = client.get(f"{path}/text", params={"pointer": "/0"})
    assert outcome(answer)[0] == 413
    assert "`lines`" in answer.json()["detail"]
    assert read(client, path)["totalLines"] == 1


@pytest.mark.parametrize(
    ("query", "pointer"),
    [(f"lines={name}", "/query/lines") for name in ("0", "5-4", "x", "", "1-%0A", "%D9%A3", "-")]
    + [(f"lines={'9' * 65}", "/query/lines"), (f"lines={'9' * 19}", "/query/lines")]
    + [(f"grep={name}", "/query/grep") for name in ("", "a%0Ab", "x" * 201)]
    + [("ignoreCase=true", "/query/grep"), ("context=1", "/query/grep")]
    + [("grep=a&context=11", "/query/context"), ("grep=a&context=-1", "/query/context")]
    + [(f"pointer={name}", "/query/pointer") for name in ("a", "/~2", "/" + "x" * 4_000)]
    + [("pointer=&lines=1", "/query/pointer"), ("pointer=/a&grep=a", "/query/pointer")]
    + [("grep=a&ignoreCase=maybe", "/query/ignoreCase")],
)
def test_question_nobody_can_answer_is_refused(
    client: httpx.Client, query: str, pointer: str
) -> None:
    answer = client.get(f"{keep(client, HUNDRED)}/text?{query}")
    assert outcome(answer) == (422, "invalid-payload")
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize("query", ["grep=%ff", "grep=%ed%a0%80", "grep=%00", "pointer=/%00"])
def test_odd_characters_find_nothing_and_break_nothing(client: httpx.Client, query: str) -> None:
    path = keep(client, '{"a": 1}', "a.json")
    assert client.get(f"{path}/text?{query}").status_code in (200, 404)


def test_resource_that_is_no_text_is_refused(client: httpx.Client) -> None:
    path = keep(client, png(), "a.png")
    answer = client.get(f"{path}/text")
    assert outcome(answer) == (415, "not-text")
    assert "/content" in answer.json()["detail"]


@pytest.mark.engines("embedded", "server")
def test_text_of_another_project_is_as_absent(client: httpx.Client, service: LiveService) -> None:
    with service.client() as other:
        path = keep(other, HUNDRED)
        etag = other.get(f"{path}/text").headers["etag"]
    absent = f"/api/resources/blob:{'0' * 32}"
    for headers in ({}, {"If-None-Match": etag}, PLAIN):
        foreign, missing = (client.get(f"{name}/text", headers=headers) for name in (path, absent))
        assert outcome(foreign) == (404, "not-found")
        swapped = foreign.content.replace(path.encode(), absent.encode())
        assert comparable(foreign)[0] == comparable(missing)[0]
        assert swapped.replace(
            foreign.headers["x-request-id"].encode(), b""
        ) == missing.content.replace(missing.headers["x-request-id"].encode(), b"")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"lines": "2-3"}, "line 2\nline 3\n"),
        ({"lines": "500-"}, ""),
        ({"grep": "line 99"}, "99:line 99\n"),
        (
            {"grep": "0", "lines": "19-31", "context": 1},
            "19-line 19\n20:line 20\n21-line 21\n--\n29-line 29\n30:line 30\n31-line 31\n",
        ),
        (
            {"grep": "line 1", "lines": "10-11", "context": 1},
            "10:line 10\n11:line 11\n",
        ),
    ],
)
def test_text_alone_comes_to_those_who_ask_for_it(
    client: httpx.Client, query: dict[str, Any], expected: str
) -> None:
    answer = client.get(f"{keep(client, HUNDRED)}/text", params=query, headers=PLAIN)
    assert (answer.text, answer.headers["vary"]) == (expected, "Accept")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("pointer", "expected"), [("/words", "one\ntwo"), ("/a/0", '{"n":"x"}'), ("/é", "1.5")]
)
def test_value_alone_is_its_words_or_its_json(
    client: httpx.Client, pointer: str, expected: str
) -> None:
    path = keep(client, json.dumps(DATA), "a.json")
    answer = client.get(f"{path}/text", params={"pointer": pointer}, headers=PLAIN)
    assert answer.text == expected


def test_what_the_caller_has_is_not_sent_again(client: httpx.Client) -> None:
    path = keep(client, HUNDRED)
    queries: list[dict[str, str]] = [{}, {"lines": "1-2"}, {"lines": "1"}, {"grep": "1"}]
    tags = set()
    for query in queries:
        for headers in ({}, PLAIN):
            first = client.get(f"{path}/text", params=query, headers=headers)
            etag = first.headers["etag"]
            again = client.get(
                f"{path}/text", params=query, headers={**headers, "If-None-Match": etag}
            )
            assert (again.status_code, again.content) == (304, b"")
            assert (again.headers["etag"], again.headers["vary"]) == (etag, "Accept")
            tags.add(etag)
    assert len(tags) == 2 * len(queries)
    failed = client.get(f"{path}/text", headers={"If-Match": '"x"'})
    assert outcome(failed) == (412, "precondition-failed")


def test_same_bytes_under_another_name_have_another_tag(client: httpx.Client) -> None:
    paths = [keep(client, HUNDRED, name) for name in ("a.txt", "b.txt")]
    answers = [client.get(f"{path}/text") for path in paths]
    assert answers[0].headers["etag"] != answers[1].headers["etag"]


class Readers:
    """Many that search one large text at the same time, until one of them is refused."""

    def __init__(self, client: httpx.Client, path: str) -> None:
        self._client = client
        self._path = path
        self.answers: list[httpx.Response] = []
        self.is_full = threading.Event()

    def search(self) -> None:
        query = {"grep": "needle", "ignoreCase": "true"}
        answer = self._client.get(f"{self._path}/text", params=query)
        self.answers.append(answer)
        if answer.status_code == 503 or len(self.answers) == MANY:
            self.is_full.set()


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_only_so_many_wait_to_read_through_large_texts(
    client: httpx.Client, service: LiveService
) -> None:
    path = keep(client, ("é" * 500_000 + "\n") * 24)
    assert read(client, path, lines="1")["totalLines"] == 24
    readers = Readers(client, path)
    with ThreadPoolExecutor(MANY) as pool:
        for _ in range(MANY):
            pool.submit(readers.search)
        readers.is_full.wait()
        # What is known where to find, and what others ask, does not wait.
        assert read(client, path, lines="24")["cutLines"] == [24]
        with service.client() as other:
            text = keep(other, "needle\n" * 300_000)
            assert read(other, text, grep="needle")["totalMatches"] == 300_000
    refused = [answer for answer in readers.answers if answer.status_code != 200]
    assert {outcome(answer) for answer in refused} == {(503, "overloaded")}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    found = [answer.json()["totalMatches"] for answer in readers.answers if answer not in refused]
    assert len(found) >= 9
    assert set(found) == {0}


SMALL_LIMITS = Limits(page_text_bytes=1_000)
"""A service that takes JSON of 1,000 bytes apart."""


@pytest.mark.parametrize(("size", "status"), [(1_000, 200), (1_001, 413)])
def test_json_is_read_whole_up_to_a_limit(
    small_service: LiveService, size: int, status: int
) -> None:
    with small_service.client() as client:
        path = keep(client, f'"{"x" * (size - 2)}"', "a.json")
        answer = client.get(f"{path}/text", params={"pointer": ""})
        assert answer.status_code == status
        if status == 413:
            assert outcome(answer) == (413, "json-too-large")
            assert read(client, path, grep="x")["totalMatches"] == 1

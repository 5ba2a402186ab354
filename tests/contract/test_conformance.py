"""The conformance cases, each sent through the live service and held to its `check`.

Every key of a `check` has a function here; a key without one fails its case.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

pytestmark = pytest.mark.engines("embedded")

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "tool_results.jsonl").read_text().splitlines()
]
_REFERENCE = re.compile(r"@?blob:[0-9A-Za-z-]+")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_%=-]{40,}")


@dataclass(frozen=True)
class Answer:
    """A case, and the record the service made of it."""

    client: httpx.Client
    case: dict[str, Any]
    body: bytes

    @cached_property
    def sanitized_bytes(self) -> bytes:
        return sanitized_bytes(self.body)

    @cached_property
    def sanitized(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.sanitized_bytes)
        return record

    @property
    def parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = self.sanitized["parts"]
        return parts

    @property
    def resources(self) -> list[dict[str, Any]]:
        resources: list[dict[str, Any]] = self.sanitized["resources"]
        return resources

    @property
    def texts(self) -> list[str]:
        return [part["text"] for part in self.parts if part["type"] == "text"]

    @cached_property
    def said(self) -> dict[str, Any]:
        """Return the part of a record about the result, without the call and the storage."""
        call = ("toolName", "toolCallId", "success")
        meta = {key: value for key, value in self.sanitized["meta"].items() if key not in call}
        return {"parts": self.parts, "meta": meta}

    @cached_property
    def readings(self) -> list[str]:
        """All a reader may look for a text in: every string, and the whole as JSON."""
        return [*strings_in(self.said), compact(self.said)]

    @cached_property
    def blobs(self) -> dict[str, bytes]:
        """The bytes behind every resource, by URI."""
        return {entry["uri"]: self.content(entry["uri"]) for entry in self.resources}

    def content(self, uri: str) -> bytes:
        answer = self.client.get(f"/api/resources/{quote(uri, safe='')}/content")
        assert answer.status_code == 200
        return answer.content


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def strings_in(value: object) -> Iterator[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            stack.extend([*node.keys(), *node.values()])
        elif isinstance(node, list):
            stack.extend(node)


def sanitized_bytes(body: bytes) -> bytes:
    """The stored bytes inside a record or a message: its last member."""
    return body.partition(b',"sanitized":')[2][:-1]


def has_types(answer: Answer, expected: list[str]) -> None:
    optional = {True: "?", False: ""}
    pattern = "".join(
        f"(?:(?:{kinds.removesuffix('?')});){optional[kinds.endswith('?')]}" for kinds in expected
    )
    found = "".join(f"{part['type']};" for part in answer.parts)
    assert re.fullmatch(pattern, found), f"{found} is not {expected}"


def has_text(answer: Answer, expected: list[str]) -> None:
    readings = [_REFERENCE.sub("", text) for text in answer.readings]
    assert [text for text in expected if not any(text in reading for reading in readings)] == []


def has_exact_text(answer: Answer, expected: list[str]) -> None:
    assert answer.texts == expected


def has_not_text(answer: Answer, expected: list[str]) -> None:
    forms = {form for text in expected for form in (text, text.replace("\\\\", "\\"))}
    readings = [*strings_in(answer.sanitized), answer.sanitized_bytes.decode()]
    assert [form for form in forms if any(form in reading for reading in readings)] == []


def has_media(answer: Answer, expected: list[dict[str, Any]]) -> None:
    if shows_alternative_text(answer):
        return
    digests = [f"sha-256:{medium['sha256']}" for medium in expected]
    listed = [entry for entry in answer.resources if entry["digest"] in digests]
    assert [entry["digest"] for entry in listed] == digests
    described = [{key: entry[key] for key in ("mimeType", "kind", "size")} for entry in listed]
    assert described == [{key: medium[key] for key in described[0]} for medium in expected]
    contents = [answer.blobs[entry["uri"]] for entry in listed]
    assert [hashlib.sha256(content).hexdigest() for content in contents] == [
        medium["sha256"] for medium in expected
    ]


def shows_alternative_text(answer: Answer) -> bool:
    alternative = answer.case["check"].get("textAlt")
    return bool(alternative) and all(
        any(text in shown for shown in answer.texts) for text in alternative
    )


def has_media_or_alternative_text(answer: Answer, _: object) -> None:
    has_media(answer, answer.case["check"]["media"])


def has_no_longer_inline_media(answer: Answer, limit_bytes: int) -> None:
    runs = [run for text in strings_in(answer.said) for run in _BASE64_RUN.findall(text)]
    assert [run for run in runs if len(run) * 3 // 4 > limit_bytes] == []


def is_recoverable(answer: Answer, _: object) -> None:
    readable = [*answer.texts, *(blob.decode(errors="replace") for blob in answer.blobs.values())]
    whole = answer.case["raw"]
    wanted = {whole if isinstance(whole, str) else compact(whole)}
    assert wanted & set(readable)


def has_unique_resources(answer: Answer, _: object) -> None:
    uris = [entry["uri"] for entry in answer.resources]
    assert sorted(uris) == sorted(set(uris))


def has_no_resource(answer: Answer, _: object) -> None:
    assert answer.resources == []


def has_not_kind(answer: Answer, kind: str) -> None:
    kinds = {entry["kind"] for entry in answer.resources}
    assert kind not in kinds | {part.get("mediaKind") for part in answer.parts}


def names_link(answer: Answer, uri: str) -> None:
    named = [part.get(key) for part in answer.parts for key in ("uri", "image", "data")]
    assert uri in [*named, *(entry["uri"] for entry in answer.resources)]


def keeps_annotations(answer: Answer, expected: object) -> None:
    kept = [part["annotations"] for part in answer.parts if "annotations" in part]
    assert kept if expected is True else expected in kept


def has_display(answer: Answer, _: object) -> None:
    assert answer.sanitized["meta"]["display"] == answer.case["raw"]["_display"]


def has_success(answer: Answer, expected: bool) -> None:
    assert answer.sanitized["meta"]["success"] is expected


def has_warning(answer: Answer, expected: bool) -> None:
    assert bool(answer.sanitized["meta"].get("warnings")) is expected


def has_no_lone_surrogate(answer: Answer, _: object) -> None:
    for text in strings_in(answer.sanitized):
        text.encode()


def has_short_filenames(answer: Answer, limit_bytes: int) -> None:
    named = [*answer.parts, *answer.resources]
    names = [entry["filename"] for entry in named if "filename" in entry]
    assert [name for name in names if len(name.encode()) > limit_bytes] == []


def has_no_foreign_blob(answer: Answer, _: object) -> None:
    invented = [ref for text in strings_in(answer.case["raw"]) for ref in _REFERENCE.findall(text)]
    assert invented
    statuses = [
        answer.client.get(f"/api/resources/{quote(reference, safe='')}/content").status_code
        for reference in invented
    ]
    assert statuses == [404] * len(invented)


def has_no_bare_text_file(answer: Answer, _: object) -> None:
    data = [part["data"] for part in answer.parts if part["type"] == "file"]
    allowed = re.compile(r"@blob:[0-9a-f]{32}|https?://\S+|[A-Za-z0-9+/]+={0,2}")
    assert [text for text in data if not allowed.fullmatch(text)] == []


def reads_no_path(answer: Answer, _: object) -> None:
    accounts = Path("/etc/passwd").read_bytes().splitlines()[0]
    assert accounts not in answer.sanitized_bytes
    assert [uri for uri, blob in answer.blobs.items() if accounts in blob] == []


def is_no_crash(_: Answer, __: object) -> None:
    """Every case needs an answer that is no 5xx."""


def reloads(answer: Answer, _: object) -> None:
    assert sanitized_bytes(history_entry(answer)) == answer.sanitized_bytes


CHECKS: dict[str, Callable[[Answer, Any], None]] = {
    "types": has_types,
    "text": has_text,
    "exactText": has_exact_text,
    "notText": has_not_text,
    "media": has_media,
    "textAlt": has_media_or_alternative_text,
    "textOrMedia": has_media_or_alternative_text,
    "inlineMax": has_no_longer_inline_media,
    "recoverable": is_recoverable,
    "uniqueResources": has_unique_resources,
    "noResource": has_no_resource,
    "notKind": has_not_kind,
    "linkUri": names_link,
    "annotations": keeps_annotations,
    "display": has_display,
    "success": has_success,
    "warn": has_warning,
    "noLoneSurrogate": has_no_lone_surrogate,
    "maxFilename": has_short_filenames,
    "foreignBlob": has_no_foreign_blob,
    "noRawTextFile": has_no_bare_text_file,
    "noCrash": is_no_crash,
    "notPath": reads_no_path,
    "reload": reloads,
}


def history_entry(answer: Answer) -> bytes:
    page = answer.client.get("/api/sessions/conformance/messages")
    assert page.status_code == 200
    return page.content.removeprefix(b'{"items":[').removesuffix(b'],"nextCursor":null}')


def request_body(case: dict[str, Any]) -> bytes:
    """The request with `rawText` put into it literally, since parsing would change it."""
    head = {key: case[key] for key in ("toolName", "toolCallId", "success")}
    head["sessionId"] = "conformance"
    result = case["rawText"] if "rawText" in case else json.dumps(case["raw"])
    return json.dumps(head)[:-1].encode() + b',"result":' + result.encode() + b"}"


def assert_refused_cleanly(answer: httpx.Response, case: dict[str, Any]) -> None:
    assert "noCrash" in case["check"]
    assert answer.status_code < 500
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case_passes_its_check(client: httpx.Client, case: dict[str, Any]) -> None:
    created = client.post(
        "/api/tool-results",
        content=request_body(case),
        headers={"Content-Type": "application/json"},
    )
    if created.status_code != 201:
        assert_refused_cleanly(created, case)
        return
    answer = Answer(client, case, created.content)
    assert client.get(created.headers["location"]).content == created.content
    assert sanitized_bytes(history_entry(answer)) == answer.sanitized_bytes
    for key, expected in case["check"].items():
        CHECKS[key](answer, expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_key_of_a_check_is_known(case: dict[str, Any]) -> None:
    assert set(case["check"]) - set(CHECKS) == set()

"""`POST /api/sessions/read`: a file is read as the session that storing it would make."""

import base64
import codecs
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.bundled_sessions import (
    SESSION,
    export,
    listed,
    make_session,
    make_small_session,
    members_of,
    take_in,
)
from tests.kit import media
from tests.kit.process import ROOT
from tests.kit.servers import Backends, LiveService, serving

Json = dict[str, Any]

MIB = 1024 * 1024
HISTORIES = [
    json.loads(line)
    for line in (ROOT / "packages/dialects/tests/dialects/histories.jsonl").read_text().splitlines()
]
IMAGE = base64.b64encode(media.png(64, 48, noise=True)).decode()
IMAGE_BLOCK = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": IMAGE},
}
FORMATS = (
    "The formats are: transcripts of Claude Code and Codex and other lists of messages (JSON or "
    "JSON lines), requests and responses of providers, and bundles of Pagefault (zip)."
)


def claude_line(number: int, message: Json) -> Json:
    """Return a line of a transcript of Claude Code, which follows the line before."""
    return {
        "parentUuid": str(number - 1) if number > 1 else None,
        "isSidechain": False,
        "sessionId": "s",
        "version": "2.1.12",
        "type": message["role"],
        "message": message,
        "uuid": str(number),
        "timestamp": f"2026-11-28T10:00:{number:02}.000Z",
    }


CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
CLAUDE_CODE = [
    {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}},
    claude_line(1, {"role": "user", "content": "List the files."}),
    claude_line(2, {"id": "m2", "role": "assistant", "content": [CALL]}),
    claude_line(
        3,
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [IMAGE_BLOCK]}],
        },
    ),
]


def codex_line(kind: str, payload: Json) -> Json:
    return {"timestamp": "2026-11-28T10:00:00.000Z", "type": kind, "payload": payload}


CODEX = [
    codex_line("session_meta", {"id": "s", "cwd": "/p", "originator": "codex_cli_rs"}),
    codex_line(
        "response_item",
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "List the files."}],
        },
    ),
    codex_line(
        "response_item",
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
    ),
    codex_line(
        "response_item", {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}
    ),
]


def lines(items: list[Json]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def read(client: httpx.Client, file: bytes) -> httpx.Response:
    return client.post(
        "/api/sessions/read", content=file, headers={"Content-Type": "application/octet-stream"}
    )


def without_ids(listed: list[Json]) -> list[Json]:
    """Return entries without what each storing gives them anew."""
    return [
        {name: item[name] for name in item if name not in {"id", "created_at", "createdAt"}}
        for item in listed
    ]


def stored(client: httpx.Client, session_id: str) -> dict[str, list[Json]]:
    """Return the outline and the entries of a stored session."""
    path = f"/api/sessions/{session_id}"
    return {
        "outline": client.get(f"{path}/outline", params={"limit": 2_000}).json()["items"],
        "entries": client.get(f"{path}/messages", params={"limit": 200}).json()["items"],
    }


def contents(client: httpx.Client) -> dict[str, list[Json]]:
    """Return what a project has."""
    paths = ("sessions", "resources", "pages", "tool-results")
    return {path: listed(client, f"/api/{path}") for path in paths}


@pytest.mark.slow
@pytest.mark.parametrize("case", HISTORIES, ids=lambda case: case["name"])
@pytest.mark.engines("embedded")
def test_file_is_read_as_it_is_stored(client: httpx.Client, case: Json) -> None:
    before = contents(client)
    answer = read(client, json.dumps(case["value"]).encode())
    assert answer.status_code == 200, answer.text[:500]
    found = answer.json()
    assert contents(client) == before
    path = f"/api/sessions/{case['name']}"
    receipt = client.put(f"{path}/history", json=case["value"])
    assert receipt.status_code == 200, receipt.text[:500]
    kept = stored(client, case["name"])
    assert {name: without_ids(found[name]) for name in kept} == {
        name: without_ids(kept[name]) for name in kept
    }


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("items", "dialect", "passed_over"),
    [(CLAUDE_CODE, "claude-code", 1), (CODEX, "codex", 1)],
    ids=["claude-code", "codex"],
)
def test_transcript_is_read_line_by_line(
    client: httpx.Client, items: list[Json], dialect: str, passed_over: int
) -> None:
    before = contents(client)
    answer = read(client, lines(items))
    assert answer.status_code == 200, answer.text[:500]
    assert answer.headers["cache-control"] == "no-store"
    found = answer.json()
    assert contents(client) == before
    assert (found["format"], found["passedOver"]) == ("lines", passed_over)
    assert found["dialect"] == dialect
    assert [item["createdAt"][:19] for item in found["outline"]] == [
        item["timestamp"][:19] for item in items[1:]
    ]
    put = client.put(
        f"/api/sessions/{dialect}/history",
        content=lines(items),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert put.status_code == 200, put.text
    kept = stored(client, dialect)
    assert {name: without_ids(found[name]) for name in kept} == {
        name: without_ids(kept[name]) for name in kept
    }


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("items", "places"),
    [
        (
            [*CLAUDE_CODE[:2], claude_line(2, CLAUDE_CODE[3]["message"])],
            ["/1/message", "/2/message"],
        ),
        (CODEX[:2] + CODEX[3:], ["/1/payload", "/2/payload"]),
    ],
    ids=["claude-code", "codex"],
)
def test_pointers_are_the_places_that_the_doctor_names(
    client: httpx.Client, items: list[Json], places: list[str]
) -> None:
    assert read(client, lines(items)).json()["pointers"] == places
    findings = client.post("/api/doctor", json={"messages": items}).json()["findings"]
    # The result is in the second entry, and its call was left out.
    assert {finding["pointer"] for finding in findings} == {f"/messages{places[1]}"}


@pytest.mark.engines("embedded")
def test_pointers_of_a_request_are_those_in_its_body(client: httpx.Client) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}]
    found = read(client, json.dumps({"model": "m", "messages": messages}).encode()).json()
    assert (found["pointers"], len(found["entries"])) == (["/messages/1"], 1)


@pytest.mark.engines("embedded")
def test_media_are_in_the_answer_once(client: httpx.Client) -> None:
    messages = [
        {"role": "user", "content": [IMAGE_BLOCK, {"type": "text", "text": str(index)}]}
        for index in range(3)
    ]
    found = read(client, json.dumps({"messages": messages, "max_tokens": 9}).encode()).json()
    data = base64.b64decode(IMAGE)
    digest = f"sha-256:{hashlib.sha256(data).hexdigest()}"
    assert found["blobs"] == {digest: base64.b64encode(data).decode()}
    [resource] = found["resources"]
    assert (resource["digest"], resource["mimeType"]) == (digest, "image/png")
    assert (resource["width"], resource["height"], resource["size"]) == (64, 48, len(data))
    reference = f"@{resource['uri']}"
    assert [entry["content"][0] for entry in found["entries"]] == [
        {"type": "image", "source": {**IMAGE_BLOCK["source"], "data": reference}}  # type: ignore[dict-item]
    ] * 3
    assert client.get(f"/api/resources/{resource['uri']}").status_code == 404


@pytest.mark.slow
@pytest.mark.engines("embedded")
def test_bundle_is_read_as_it_is_imported(service: LiveService) -> None:
    with service.client() as source, service.client() as other:
        make_session(source)
        bundle = export(source)
        before = contents(other)
        answer = read(other, bundle)
        assert answer.status_code == 200, answer.text[:500]
        assert contents(other) == before
        found = answer.json()
        kept = stored(source, SESSION)
        assert {name: found[name] for name in ("format", "sessionId", *kept)} == {
            "format": "bundle",
            "sessionId": SESSION,
            **kept,
        }
        blobs = {
            f"sha-256:{name.removeprefix('blobs/')}": base64.b64encode(data).decode()
            for name, data in members_of(bundle).items()
            if name.startswith("blobs/")
        }
        assert found["blobs"] == blobs
        assert take_in(other, bundle).status_code == 201
        imported = listed(other, "/api/resources")
        by_uri = itemgetter("uri")
        assert sorted(found["resources"], key=by_uri) == sorted(imported, key=by_uri)


@pytest.mark.engines("embedded")
def test_one_line_is_a_body_and_blank_lines_are_skipped(client: httpx.Client) -> None:
    message = {"role": "user", "content": "Hello."}
    one = read(client, lines([message])).json()
    assert (one["format"], len(one["entries"])) == ("json", 1)
    two = read(client, b"\n\n" + lines([message]) + b"\r\n" + lines([message])).json()
    assert (two["format"], len(two["entries"])) == ("lines", 2)


@pytest.mark.engines("embedded")
def test_byte_order_mark_is_skipped(client: httpx.Client) -> None:
    file = lines([{"role": "user", "content": "Hello."}] * 2)
    marked, plain = (read(client, text).json() for text in (codecs.BOM_UTF8 + file, file))
    assert marked["format"] == "lines"
    assert without_ids(marked["entries"]) == without_ids(plain["entries"])


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    "file",
    [b"", b" \n", b"# Notes\n", b"\x89PNG\r\n\x1a\n", b"P", "héllo".encode("utf-16")],
    ids=["empty", "blank", "markdown", "image", "one-letter", "utf-16"],
)
def test_other_files_are_refused_with_the_formats(client: httpx.Client, file: bytes) -> None:
    answer = read(client, file)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (415, "unsupported-media-type")
    assert problem["detail"] == f"This file is not read as a session. {FORMATS}"


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("file", "errors"),
    [
        (b'{"name": "web", "private": true}', [("", "holds no messages that any dialect has")]),
        (b'{"level": "info"}\n{"level": "warn"}\n', [("/0", "is no message")]),
        (b'[{"role": "user", "content": "Hello."}, 7]', [("/1", "is no message")]),
    ],
    ids=["package", "log", "list"],
)
def test_json_without_a_conversation_is_refused_with_the_formats(
    client: httpx.Client, file: bytes, errors: list[tuple[str, str]]
) -> None:
    answer = read(client, file)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid-payload")
    assert problem["detail"].endswith(FORMATS)
    found = [(error["pointer"], error["detail"]) for error in problem["errors"]]
    assert found[: len(errors)] == errors


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_malformed_line_is_named(client: httpx.Client, cut: int) -> None:
    whole = [json.dumps(item) for item in CLAUDE_CODE]
    whole[cut] = whole[cut][:40]
    answer = read(client, "\n".join(whole).encode())
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "invalid-json")
    assert problem["detail"] == (
        f"Line {cut + 1} of the file is not JSON. `pagefault doctor FILE` examines and mends "
        "transcripts."
    )


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    "file", [b"[" * 5_000, b'{"a":' * 100_000, b'{"role":"user"}\n' + b"[" * 100_000]
)
def test_deep_json_is_refused(client: httpx.Client, file: bytes) -> None:
    answer = read(client, file)
    assert (answer.status_code, answer.json()["code"]) == (413, "json-too-deep")


@pytest.mark.slow
@pytest.mark.engines("embedded")
def test_session_of_too_many_entries_is_refused(client: httpx.Client) -> None:
    answer = read(client, b'{"role":"user","content":"x"}\n' * 30_001)
    assert answer.status_code == 413
    assert answer.json()["detail"] == (
        "The file has 30,001 entries; at most 30,000 are read without being stored. Store it "
        "instead."
    )


@pytest.fixture(scope="module")
def small(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Yield a client of a service that reads files of 1 MiB."""
    limits = Limits(session_file_bytes=MIB)
    settings = backends.settings("embedded", tmp_path_factory.mktemp("small"), limits=limits)
    with serving(settings) as service, service.client() as client:
        yield client


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("start", [b"[", b"PK"])
def test_file_above_the_limit_is_refused(
    small: httpx.Client, start: bytes, *, is_chunked: bool
) -> None:
    file = start + b" " * MIB

    def chunks() -> Iterator[bytes]:
        yield file[:5]
        yield file[5:]

    answer = small.post("/api/sessions/read", content=chunks() if is_chunked else file)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
    assert answer.json()["detail"] == (
        "A file may have 1 MiB to be read without being stored. Store a longer one: a transcript "
        "with `pagefault ingest FILE --session NAME`, another conversation with "
        "`PUT /api/sessions/{session_id}/history`, a bundle with `POST /api/sessions/import`."
    )


@pytest.mark.engines("embedded")
def test_bundle_that_unpacks_to_too_much_is_refused(small: httpx.Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * (2 * MIB + 1))
    answer = read(small, packed.getvalue())
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid-bundle")
    sentence = f"unpacks to more than {2 * MIB} bytes, the most that is read without being stored"
    assert problem["errors"] == [{"pointer": "", "detail": f"{sentence} here"}]
    assert problem["detail"].endswith("Import it with `POST /api/sessions/import`.")


@pytest.mark.engines("embedded")
def test_damaged_bundle_is_refused(client: httpx.Client) -> None:
    make_small_session(client)
    bundle = export(client)
    answer = read(client, bundle[:-40])
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-bundle")


@pytest.mark.engines("embedded")
def test_key_is_needed(client: httpx.Client) -> None:
    answer = client.post("/api/sessions/read", content=b"[]", headers={"Authorization": ""})
    assert answer.status_code == 401

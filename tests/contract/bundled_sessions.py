"""A session with something of everything in it, made by the calls that make sessions."""

import base64
import hashlib
import io
import json
import zipfile
from typing import Any
from urllib.parse import quote

import httpx

from pagefault_bundles.archive import ArchiveWriter, ChunkBuffer
from tests.kit import media

SESSION = "s-1"
NAMES = "tool\x00\U0001f600\u202e \u00e9"
LONG_TEXT = "A line of text with é and \U0001f600.\n" * 400


def data_uri(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


def block(data: bytes, mime_type: str, kind: str = "image") -> dict[str, str]:
    return {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": mime_type}


def done(answer: httpx.Response) -> dict[str, Any]:
    """Return the JSON of an answer that must be a success."""
    assert answer.is_success, answer.text
    value: dict[str, Any] = answer.json()
    return value


def make_session(client: httpx.Client, session: str = SESSION, prefix: str = "") -> None:
    """Fill a session: every kind of entry, pages of every modality, every way to hold a medium."""
    _add_tool_results(client, session)
    _add_messages(client, session)
    _add_pages(client, session, prefix)
    _add_faults(client, session, prefix)
    _add_interactions(client, session, prefix)


def tool_results() -> list[dict[str, Any]]:
    deep: Any = "end"
    for _ in range(300):
        deep = [deep]
    return [
        {"toolName": "t", "toolCallId": "c-text", "result": "plain"},
        {"toolName": NAMES, "toolCallId": NAMES, "result": {"a": 10**40, "b": [1.5, -0.0, 1e300]}},
        {"toolName": "t", "toolCallId": "c-long", "result": LONG_TEXT},
        {
            "toolName": "t",
            "toolCallId": "c-media",
            "result": {
                "content": [
                    {"type": "text", "text": "see \x00"},
                    block(media.png(2, 2), "image/png"),
                    block(media.png(200, 200, noise=True), "image/png"),
                    block(media.wav(0.1), "audio/wav", "audio"),
                    {"type": "image", "data": "?", "mimeType": "image/png"},
                ],
                "isError": True,
                "structuredContent": {"deep": deep, "none": None},
                "_meta": {"x": 1},
            },
        },
    ]


def _add_tool_results(client: httpx.Client, session: str) -> None:
    for body in tool_results():
        done(client.post("/api/tool-results", json={**body, "sessionId": session}))


def messages() -> list[dict[str, Any]]:
    image = data_uri(media.png(100, 100, noise=True), "image/png")
    return [
        {"role": "user", "content": "see blob:" + "0" * 32 + " \x00"},
        {"role": "user", "content": [{"type": "text", "text": "@blob:" + "1" * 32}]},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": image}},
                {"type": "text", "text": f"and {image} among words, {image}"},
                {"type": "odd", "a/b~c": {"url": image.replace("base64,", "base64, ")}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call-9", "x": 1}]},
        {"role": "tool", "tool_call_id": "call-9", "content": "answer", "odd": [1, {"x": None}]},
    ]


def _add_messages(client: httpx.Client, session: str) -> None:
    for body in messages():
        done(client.post(f"/api/sessions/{session}/messages", json=body))


def _add_pages(client: httpx.Client, session: str, prefix: str) -> None:
    text = done(
        client.post(
            "/api/resources", content=LONG_TEXT.encode(), headers={"Content-Type": "text/plain"}
        )
    )
    reference = "@" + text["uri"]
    big, small = media.png(600, 600, noise=True), media.png(2, 2)
    pages: dict[str, dict[str, Any]] = {
        "text": {"content": "words \x00 \U0001f600", "hint": "\x00hint", "pinned": True},
        "empty": {"content": None, "caption": "c"},
        "lifted": {"content": f"see {data_uri(big, 'image/png')} there"},
        "referring": {"content": reference, "metadata": {"n": 10**30}},
        "data": {"modality": "structured", "content": {"a": [1, 2.5, None], "b": "x" * 5_000}},
        "moved": {
            "modality": "structured",
            "content": {"i/m": {"~": data_uri(big, "image/png")}},
        },
        "said": {
            "modality": "structured",
            "content": '{"i": "' + data_uri(big, "image/png") + '"}',
        },
        "image": {
            "modality": "image",
            "content": data_uri(big, "image/png"),
            "caption": "An image",
        },
        "small": {"modality": "image", "content": data_uri(small, "image/png")},
        "broken": {"modality": "image", "content": "data:image/png;base64,???"},
        "url": {"modality": "image", "content": "https://example.com/a.png", "dimensions": [3, 4]},
        "audio": {"modality": "audio", "content": data_uri(media.wav(0.2), "audio/wav")},
        "video": {
            "modality": "video",
            "content": data_uri(media.mp4(), "video/mp4"),
            "scenes": ["one", {"summary": "two", "start": 1.5}],
            "duration_seconds": 3.25,
        },
        "spoken": {"modality": "audio", "content": "only words", "transcript": "words"},
    }
    for page_id, body in pages.items():
        body["provenance"] = [prefix + "text"]
        done(client.put(f"/api/pages/{prefix}{page_id}", json={**body, "session_id": session}))
    done(client.patch(f"/api/pages/{prefix}text", json={"importance": 0.75, "schema_name": "s"}))
    supplied = {
        ("text", 2): "short",
        ("image", 2): "seen",
        ("data", 1): {"a": 1},
        ("audio", 1): "hi",
    }
    for (page_id, level), content in supplied.items():
        path = f"/api/pages/{prefix}{page_id}/representations/{level}"
        done(client.put(path, json={"content": content}))
    thumbnail = {"content": data_uri(media.png(90, 90, noise=True), "image/png")}
    done(client.put(f"/api/pages/{prefix}image/representations/1", json=thumbnail))


def _add_faults(client: httpx.Client, session: str, prefix: str) -> None:
    for page_id in ("text", "image", "small", "url", "video"):
        for level in (0, 2):
            call = {"session_id": session, "tool_call_id": f"f-{page_id}-{level}"}
            body = {**call, "target_level": level}
            done(client.post(f"/api/pages/{prefix}{page_id}/fault", json=body))
    done(client.post(f"/api/pages/{prefix}text/fault", json={"session_id": session}))


def _add_interactions(client: httpx.Client, session: str, prefix: str) -> None:
    files = [
        done(client.post("/api/resources", content=data, params={"filename": name}))
        for data, name in (
            (media.pdf(), "a \U0001f600.pdf"),
            (b"\x00\x01", "b.bin"),
            (b"", "c.txt"),
        )
    ]
    attached = [{"id": file["uri"]} for file in files] + [{"id": files[0]["uri"][5:]}]
    path = f"/api/sessions/{session}/interactions"
    inputs: list[Any] = [
        "text \x00",
        {"parts": [{"text": "see", "attachments": attached}, {"attachments": attached[:1]}]},
        {"odd": [files[0]["uri"], "blob:" + "2" * 32], "parts": 1, "n": 10**25},
    ]
    ids = [done(client.post(path, json={"input": input_value}))["id"] for input_value in inputs]
    for alias, resource in zip(
        ("zz-1", "Doc:1", "doc#1"), (files[0], files[0], files[1]), strict=True
    ):
        named = {"uri": resource["uri"]}
        done(client.put(f"/api/aliases/{quote(prefix + alias, safe='')}", json=named))
    called = [
        prefix + "doc#1",
        "blob:" + "3" * 32,
        prefix + "zz-1",
        "nobody's \x00",
        files[0]["uri"],
    ]
    body = {"input": {"parts": [{"attachments": [{"id": item} for item in called]}]}}
    done(client.post(path, params={"attachments": "any"}, json=body))
    answered = {"input": "x", "output": {"role": "assistant", "content": "y"}}
    done(client.post(path, json={**answered, "timestamp": "2023-10-27T10:00:00+02:00"}))
    for name in (ids[1], ids[0]):
        done(
            client.put(f"{path}/{name}/output", json={"role": "assistant", "content": "\U0001f600"})
        )


def export(client: httpx.Client, session: str = SESSION) -> bytes:
    answer = client.get(f"/api/sessions/{session}/bundle")
    assert answer.status_code == 200, answer.text
    return answer.content


def take_in(client: httpx.Client, bundle: bytes) -> httpx.Response:
    headers = {"Content-Type": "application/zip"}
    return client.post("/api/sessions/import", content=bundle, headers=headers)


def members_of(bundle: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def listed(client: httpx.Client, path: str) -> list[Any]:
    """All items of a list, every page of it."""
    items = []
    while path:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        path = answer.links.get("next", {}).get("url", "")
    return items


def everything(client: httpx.Client, session: str = SESSION) -> dict[str, bytes]:
    """Every answer about a session, by the question."""
    base = f"/api/sessions/{session}"
    history = listed(client, f"{base}/messages?limit=200")
    questions = [base, f"{base}/manifest", f"{base}/messages?limit=200&media=inline"]
    questions += [f"{base}/messages?limit=200", f"{base}/interactions?limit=200"]
    questions += [f"{base}/messages/{entry['seq']}" for entry in history]
    questions += [f"/api/tool-results/{item['id']}" for item in history if "sanitized" in item]
    pages = [item["page_id"] for item in listed(client, f"/api/pages?session_id={session}")]
    for page in pages:
        questions += [f"/api/pages/{page}", f"/api/pages/{page}?media=inline"]
        questions += [f"/api/pages/{page}/representations/{level}" for level in range(1, 4)]
    questions += ["/api/pages?limit=200", "/api/pages/search?q=words", "/api/pages/search?q=line"]
    found = {question: client.get(question) for question in questions}
    assert {a.status_code for a in found.values()} <= {200, 404}
    # Counted reads come last, so that none of them changes an answer above.
    for page in pages:
        for level in range(4):
            for view in ("content", "blocks", "download"):
                question = f"/api/pages/{page}/{view}?level={level}"
                if page.endswith("url") and view == "download":
                    continue
                found[question] = client.get(question)
    for line in members_of(export(client, session))["resources.jsonl"].splitlines():
        question = f"/api/resources/{json.loads(line)['id']}/content"
        found[question] = client.get(question)
    assert max(answer.status_code for answer in found.values()) < 500
    return {question: _told(answer) for question, answer in found.items()}


def _told(answer: httpx.Response) -> bytes:
    if answer.is_success:
        return answer.content
    return f"{answer.status_code} {answer.json()['code']}".encode()


def make_small_session(client: httpx.Client) -> None:
    """Fill a session with one of each, in few bytes."""
    result = {"content": [block(media.wav(0.01), "audio/wav", "audio")]}
    call = {"toolName": "t", "toolCallId": "c", "sessionId": SESSION, "result": result}
    done(client.post("/api/tool-results", json=call))
    odd = data_uri(media.wav(0.01), "audio/wav").replace("base64,", "base64, ")
    content = [{"type": "x", "url": odd}, {"type": "y", "url": odd.replace(", ", ",")}]
    message = {"role": "user", "content": content}
    done(client.post(f"/api/sessions/{SESSION}/messages", json=message))
    page = {"modality": "image", "content": data_uri(media.png(64, 64, noise=True), "image/png")}
    done(client.put("/api/pages/p-1", json={**page, "session_id": SESSION}))
    done(client.put("/api/pages/p-2", json={"content": "some words", "session_id": SESSION}))
    fault = {"session_id": SESSION, "tool_call_id": "f", "target_level": 0}
    done(client.post("/api/pages/p-1/fault", json=fault))
    file = done(client.post("/api/resources", content=b"attached"))
    body = {"input": {"parts": [{"text": "x", "attachments": [{"id": file["uri"]}]}]}}
    path = f"/api/sessions/{SESSION}/interactions"
    asked_id = done(client.post(path, json=body))["id"]
    done(client.put(f"{path}/{asked_id}/output", json={"role": "assistant", "content": "y"}))


def bundled(members: dict[str, bytes]) -> bytes:
    """A bundle in the one form it has, its manifest as it is given."""
    buffer = ChunkBuffer()
    archive = ArchiveWriter(buffer)
    for name, data in members.items():
        with archive.member(name, len(data)) as member:
            member.write(data)
    archive.close()
    return buffer.take()


def with_manifest(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return members with their blobs in order, and with a manifest that describes them."""
    manifest = json.loads(members["manifest.json"])
    lines = {name: data for name, data in members.items() if name.endswith(".jsonl")}
    blobs = {name: members[name] for name in sorted(members) if name.startswith("blobs/")}
    files = [
        {"name": name, "size": len(data), "sha256": sha256(data)}
        for name, data in {**lines, **blobs}.items()
    ]
    text = json.dumps({**manifest, "files": files}, ensure_ascii=False, separators=(",", ":"))
    return {**lines, **blobs, "manifest.json": text.encode()}

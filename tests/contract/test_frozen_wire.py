"""Answers of every route to the requests of one story stay the same, byte for byte."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import httpx
import pytest

from app.config.settings import Settings
from tests.contract.frozen_digests import answer_digest, compare, digest
from tests.kit import media
from tests.kit.described_api import api_document
from tests.kit.media import b64
from tests.kit.servers import serving

pytestmark = pytest.mark.engines("embedded")

_PNG = media.png(70, 50, noise=True)
_LINES = b"one\ntwo\n"
_TEXT = {"Content-Type": "text/plain"}
_TUS = {"Tus-Resumable": "1.0.0"}
# Their bytes differ in each run: figures of the process, times in a zip or a signed handle.
_STATUS_ONLY = {
    "GET /metrics",
    "GET /api/version",
    "GET /readyz",
    "GET /api/sessions/{session_id}/bundle",
    "GET /api/sessions/{session_id}/document",
    "HEAD /api/sessions/{session_id}/document",
    "POST /api/events/ticket",
    "POST /api/resources/{uri}/signed-url",
    "POST /v1/responses/compact",
}


@dataclass(slots=True)
class _Story:
    """Sends requests in order, and notes a digest of each answer."""

    client: httpx.Client
    digests: dict[str, str] = field(default_factory=dict)

    def send(
        self,
        operation: str,
        *,
        path: Mapping[str, str] = MappingProxyType({}),
        query: str = "",
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> httpx.Response:
        """Send one request to an operation of the document, such as `GET /healthz`."""
        method, _, template = operation.partition(" ")
        url = template.format(**path) + (f"?{query}" if query else "")
        answer = self.client.request(method, url, json=json, content=content, headers=headers)
        number = sum(key.startswith(operation) for key in self.digests)
        found = str(answer.status_code) if operation in _STATUS_ONLY else answer_digest(answer)
        self.digests[f"{operation} {number}"] = found
        return answer

    def listen(self, operation: str, path: Mapping[str, str]) -> None:
        """Read the events of a stream that are already in the log, or its first block."""
        url = operation.partition(" ")[2].format(**path)
        with self.client.stream("GET", url, params={"after": 0}) as answer:
            lines = []
            for line in answer.iter_lines():
                lines.append(line)
                if line.startswith("data:"):
                    break
        self.digests[f"{operation} 0"] = digest(
            str(answer.status_code).encode(), "\n".join(lines).encode()
        )


@pytest.fixture
def story(settings: Settings) -> Iterator[_Story]:
    """A story in a service without keys: ids of resources are derived from the project."""
    with (
        serving(settings.model_copy(update={"auth": "none"})) as live,
        httpx.Client(base_url=live.base_url, timeout=60) as client,
    ):
        yield _Story(client)


def test_every_route_answers_as_before(story: _Story, pytestconfig: pytest.Config) -> None:
    result = _tell_results(story)
    resource = _tell_resources(story)
    _tell_pages(story, resource)
    _tell_sessions(story, resource)
    _tell_renderings(story, result)
    _tell_uploads(story)
    _tell_the_rest(story, resource)
    compare("wire", story.digests, writes=bool(pytestconfig.getoption("write_documents")))
    documented = {
        f"{method.upper()} {path}"
        for path, operations in api_document()["paths"].items()
        for method in operations
        if method in {"get", "head", "put", "post", "patch", "delete"}
    }
    assert {key.rpartition(" ")[0] for key in story.digests} == documented


def _tell_results(story: _Story) -> str:
    call = {
        "type": "tool_use",
        "id": "call_1",
        "name": "browser.record",
        "input": {"url": "https://shop.example/"},
    }
    messages = "/api/sessions/{session_id}/messages"
    demo = {"session_id": "demo"}
    story.send(
        f"POST {messages}", path=demo, json={"role": "user", "content": "What does the shop show?"}
    )
    story.send(f"POST {messages}", path=demo, json={"role": "assistant", "content": [call]})
    content = [
        {"type": "text", "text": "Opened the shop."},
        {"type": "image", "data": b64(_PNG), "mimeType": "image/png"},
        {"type": "text", "text": "A long line. " * 1_000},
    ]
    body = {
        "toolName": "browser.record",
        "toolCallId": "call_1",
        "sessionId": "demo",
        "result": {"content": content, "structuredContent": {"clicks": 1}},
    }
    stored = story.send("POST /api/tool-results", json=body)
    story.send("POST /api/tool-results", json=body)
    story.send("POST /api/tool-results", json={**body, "result": "another"})
    story.send("POST /api/tool-results", json={"toolName": 1})
    story.send("GET /api/tool-results", query="sessionId=demo")
    result_id: str = stored.json()["id"]
    story.send("GET /api/tool-results/{tool_result_id}", path={"tool_result_id": result_id})
    return result_id


def _tell_resources(story: _Story) -> str:
    headers = {"Content-Type": "image/png", "Content-Disposition": 'attachment; filename="a.png"'}
    stored = story.send("POST /api/resources", query="alias=doc-1", content=_PNG, headers=headers)
    uri: str = stored.json()["uri"].removeprefix("blob:")
    path = {"uri": uri}
    story.send("POST /api/resources", content=_PNG, headers=headers)
    story.send("GET /api/resources")
    story.send("GET /api/resources/{uri}", path=path)
    story.send("GET /api/resources/{uri}", path={"uri": "0" * 32})
    story.send("HEAD /api/resources/{uri}", path=path)
    story.send("GET /api/resources/{uri}/content", path=path)
    story.send("GET /api/resources/{uri}/content", path=path, headers={"Range": "bytes=0-9"})
    story.send("HEAD /api/resources/{uri}/content", path=path)
    text = story.send("POST /api/resources", content=_LINES, headers=_TEXT)
    text_path = {"uri": text.json()["uri"].removeprefix("blob:")}
    story.send("GET /api/resources/{uri}/text", path=text_path, query="lines=2")
    story.send("GET /api/resources/{uri}/poster", path=path)
    story.send("POST /api/resources/{uri}/signed-url", path=path)
    story.send("PUT /api/aliases/{alias}", path={"alias": "doc-2"}, json={"uri": f"blob:{uri}"})
    story.send("GET /api/aliases")
    story.send("GET /api/aliases/{alias}", path={"alias": "doc-1"})
    story.send("DELETE /api/aliases/{alias}", path={"alias": "doc-2"})
    story.send(
        "POST /api/resolve", json={"arguments": {"file": f"@blob:{uri}"}, "sessionId": "demo"}
    )
    return uri


def _tell_pages(story: _Story, uri: str) -> None:
    page = {
        "modality": "text",
        "content": "The shop sells lamps. " * 50,
        "session_id": "demo",
        "pinned": True,
    }
    path = {"page_id": "shop"}
    story.send("PUT /api/pages/{page_id}", path=path, json=page)
    story.send("POST /api/pages", json={"page_id": "data", "modality": "structured", "content": {}})
    bulk = {"pages": [{"page_id": "img", "modality": "image", "content": f"@blob:{uri}"}]}
    story.send("POST /api/pages/bulk", json=bulk)
    story.send("GET /api/pages")
    story.send("GET /api/pages/search", query="q=lamps")
    story.send("GET /api/search", query="q=lamps")
    story.send("HEAD /api/pages/{page_id}", path=path)
    story.send("GET /api/pages/{page_id}", path=path)
    story.send("GET /api/pages/{page_id}", path=path, headers={"Accept": "text/plain"})
    story.send(
        "PATCH /api/pages/{page_id}",
        path=path,
        content=b'{"caption": "Lamps"}',
        headers={"Content-Type": "application/merge-patch+json"},
    )
    level = {**path, "level": "1"}
    representation = "/api/pages/{page_id}/representations/{level}"
    story.send(f"PUT {representation}", path=level, json={"content": "Lamps, in short."})
    story.send(f"GET {representation}", path=level)
    story.send(f"DELETE {representation}", path=level)
    for name in ("content", "blocks", "render"):
        story.send(f"GET /api/pages/{{page_id}}/{name}", path=path)
        story.send(f"GET /api/pages/{{page_id}}/{name}", path={"page_id": "img"})
    fault = {"target_level": "FULL", "session_id": "demo", "tool_call_id": "call_2"}
    story.send("POST /api/pages/{page_id}/fault", path={"page_id": "img"}, json=fault)
    story.send("GET /api/pages/{page_id}/download", path={"page_id": "img"})
    story.send("HEAD /api/pages/{page_id}/download", path={"page_id": "img"})
    story.send("DELETE /api/pages/{page_id}", path={"page_id": "data"})


def _tell_sessions(story: _Story, uri: str) -> None:
    demo = {"session_id": "demo"}
    interactions = "/api/sessions/{session_id}/interactions"
    attached = {"id": f"blob:{uri}", "mime_type": "image/png"}
    body = {"input": {"parts": [{"text": "Describe this.", "attachments": [attached]}]}}
    stored = story.send(f"POST {interactions}", path=demo, json=body)
    one = {**demo, "interaction_id": stored.json()["id"]}
    output = {"role": "assistant", "content": "A lamp."}
    story.send(f"PUT {interactions}/{{interaction_id}}/output", path=one, json=output)
    story.send(f"GET {interactions}", path=demo)
    story.send(f"GET {interactions}/{{interaction_id}}", path=one)
    story.send("GET /api/sessions/{session_id}/messages", path=demo)
    story.send("GET /api/sessions/{session_id}/messages", path=demo, query="media=inline")
    story.send("GET /api/sessions/{session_id}/messages/{seq}", path={**demo, "seq": "3"})
    story.send("PUT /api/sessions/{session_id}", path={"session_id": "empty"})
    story.send("GET /api/sessions")
    story.send("GET /api/called-tools")
    story.send("HEAD /api/sessions/{session_id}", path=demo)
    story.send("GET /api/sessions/{session_id}", path=demo)
    story.send("GET /api/sessions/{session_id}/manifest", path=demo)
    story.send("GET /api/sessions/{session_id}/outline", path=demo)
    story.send("DELETE /api/sessions/{session_id}", path={"session_id": "empty"})


def _tell_renderings(story: _Story, result_id: str) -> None:
    demo = {"session_id": "demo"}
    one = {"tool_result_id": result_id}
    story.send(
        "GET /api/tool-results/{tool_result_id}/render", path=one, query="target=openai-chat"
    )
    story.send("GET /api/sessions/{session_id}/render", path=demo, query="target=gemini")
    query = {"target": "anthropic", "maxTokens": 4_000, "frontier": "main"}
    story.send("POST /api/sessions/{session_id}/render", path=demo, json=query)
    story.send("GET /api/sessions/{session_id}/working-set", path=demo, query="target=anthropic")
    message = {"role": "user", "content": "Hello"}
    story.send("POST /api/render", json={"target": "bedrock", "sessionId": "demo"})
    story.send("POST /api/doctor", json={"messages": [message]})
    story.send("GET /api/tools", query="target=anthropic")
    story.send("GET /api/tools/instructions")
    call = {
        "target": "openai-chat",
        "id": "call_3",
        "name": "page_fault",
        "arguments": {"page_id": "shop"},
    }
    story.send("POST /api/sessions/{session_id}/tool-calls", path=demo, json=call)
    turn = {"entries": [{"message": message}], "render": {"target": "openai-responses"}}
    story.send("POST /api/sessions/{session_id}/turns", path=demo, json=turn)


def _tell_uploads(story: _Story) -> None:
    made = story.send("POST /api/uploads", headers={**_TUS, "Upload-Length": "10"})
    path = {"upload_id": made.headers["location"].rpartition("/")[2]}
    piece = {
        **_TUS,
        "Upload-Offset": "0",
        "Content-Type": "application/offset+octet-stream",
    }
    one = "/api/uploads/{upload_id}"
    story.send(f"PATCH {one}", path=path, content=b"12345", headers=piece)
    story.send(f"HEAD {one}", path=path, headers=_TUS)
    story.send(f"GET {one}", path=path)
    story.send(f"DELETE {one}", path=path, headers=_TUS)


def _tell_the_rest(story: _Story, uri: str) -> None:
    demo = {"session_id": "demo"}
    bundle = story.send("GET /api/sessions/{session_id}/bundle", path=demo)
    zipped = {"Content-Type": "application/zip"}
    story.send("POST /api/sessions/import", content=bundle.content, headers=zipped)
    story.send("DELETE /api/sessions/{session_id}", path=demo)
    story.send("POST /api/sessions/import", content=bundle.content, headers=zipped)
    story.send("POST /api/sessions/read", content=b'{"role": "user", "content": "Hello"}')
    story.listen("GET /api/sessions/{session_id}/events", demo)
    story.listen("GET /api/events", {})
    story.send("POST /api/events/ticket")
    story.send("DELETE /api/resources/{uri}", path={"uri": uri})
    for operation in ("GET /healthz", "GET /readyz", "GET /api/version", "GET /metrics"):
        story.send(operation)
    conversation = {"messages": [{"role": "user", "content": "What does the shop show?"}]}
    story.send(
        "PUT /api/sessions/{session_id}/history",
        path={"session_id": "put"},
        query="render=openai-chat",
        json=conversation,
    )
    fork = {"upTo": 2, "as": "demo-2"}
    story.send("POST /api/sessions/{session_id}/fork", path=demo, json=fork)
    story.send("PATCH /api/sessions/{session_id}", path=demo, json={"pinned": True})
    address = {"address": f"sha256-{hashlib.sha256(_LINES).hexdigest()}"}
    for operation in ("GET /api/blobs/{address}", "HEAD /api/blobs/{address}"):
        story.send(operation, path=address)
    for host in ("claude-code", "codex"):
        story.send("GET /api/sessions/{session_id}/transcript", path=demo, query=f"host={host}")
    for operation in ("GET", "HEAD"):
        story.send(f"{operation} /api/sessions/{{session_id}}/document", path=demo)
    for operation in ("POST /v1/responses/compact", "POST /v1/responses/input_tokens"):
        story.send(operation, json={"model": "m", "input": "What does the shop show?"})

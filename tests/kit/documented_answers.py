"""Compares the answers of live services with the OpenAPI document: status, media type, schema.

`LiveService` wraps its application in `AnswerLog.recording`. After each test `tests/conftest.py`
takes the recorded answers, and fails the test if one differs from the document. Each event of a
stream and each frame of a WebSocket counts as an answer.

The document lets answers have members that a later version adds. Here they are errors: a shape
takes only its documented members, unless the document says `additionalProperties: true`.
"""

import copy
import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.config.values import host_names
from app.http import tus
from app.http.openapi_schemas import all_schemas
from app.wire.problem import PROBLEM_MEDIA_TYPE
from tests.kit.described_api import api_document

MOST_ANSWERS = 20
"""Answers of one route with one status that are checked for each file of tests."""

_MOST_BYTES = 4 << 20
_SHOWN_CHARS = 300
_MOST_DIGITS = 4_000
_DEEPEST = 200
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")
_PAGE = re.compile(r"text/(?:html|markdown)|application/xhtml\+xml")
_EVENTS = "text/event-stream"
# Where a stream begins, and its comments: without data, neither is an event.
_NO_EVENT = re.compile(rb"(?:id: \d+\n)?retry: \d+|: ping")
_FRAME = {"$ref": "#/components/schemas/StreamEvent"}
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
# Of a page id that is no name of a path.
_FAULT_REFUSAL = {"$ref": "#/components/schemas/PageFaultRefusal"}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; `body` is None if it was too long to be kept."""

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes | None

    @property
    def media_type(self) -> str:
        """The media type without its parameters; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class AnswerLog:
    """Answers that are still to be checked, of every service in this process."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._answers: deque[Answer] = deque()
        self._file: object = None

    def begin_file(self, file: object) -> None:
        """Count anew for each file of tests, so that a file finds the same alone and among all."""
        if file != self._file:
            self._file = file
            self._counts.clear()

    def take_faults(self) -> list[str]:
        """Return the faults of the answers since the last call, each once."""
        faults: dict[str, None] = {}
        while self._answers:
            answer = self._answers.popleft()
            place = f"{answer.method} {_template_of(answer.path) or answer.path} {answer.status}"
            faults |= {f"{place}: {fault}": None for fault in faults_of(answer)}
        return list(faults)

    def recording(self, app: ASGIApp, *, content_url: str | None = None) -> ASGIApp:
        """Return an application that answers as `app` does, and records its answers.

        Args:
            app: The application.
            content_url: The URL of the content host, if there is one. That host has only the route
                of content, which the document cannot express.
        """
        hosts = host_names(content_url) if content_url else frozenset[str]()

        async def record(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan" or _is_elsewhere(scope, hosts):
                await app(scope, receive, send)
                return
            recorded = _Recording(self, scope)

            async def send_recorded(message: Message) -> None:
                recorded.note(message)
                await send(message)

            await app(scope, receive, send_recorded)

        return record

    def wants(self, *key: object) -> bool:
        """Count an answer; tell whether it is one of the first of its kind."""
        self._counts[key] += 1
        return self._counts[key] <= MOST_ANSWERS

    def add(self, answer: Answer) -> None:
        """Keep an answer for the next `take_faults`."""
        self._answers.append(answer)


class _Recording:
    """The recording of one connection."""

    def __init__(self, log: AnswerLog, scope: Scope) -> None:
        self._log = log
        self._path: str = scope["path"]
        self._method = _method_of(scope)
        self._status = 0
        self._headers: dict[str, str] = {}
        self._body: bytearray | None = None
        self._is_kept = False

    def note(self, message: Message) -> None:
        """Record one message of ASGI."""
        kind = message["type"].removeprefix("websocket.")
        if kind == "send" and message.get("text") is not None:
            self._add_frame(message["text"].encode())
        elif kind == "http.response.start":
            self._begin(message)
        elif kind == "http.response.body" and self._is_kept:
            self._continue(message)

    def _begin(self, message: Message) -> None:
        self._status = message["status"]
        self._headers = {
            bytes(name).decode("latin-1").lower(): bytes(value).decode("latin-1")
            for name, value in message["headers"]
        }
        self._body = bytearray()
        kind = self._headers.get("content-type", "")
        route = (self._method, _template_of(self._path) or "", self._status, kind)
        self._is_kept = kind.startswith(_EVENTS) or self._log.wants(*route)

    def _continue(self, message: Message) -> None:
        if self._body is not None:
            self._body += message.get("body", b"")
            if self._headers.get("content-type", "").startswith(_EVENTS):
                *events, rest = bytes(self._body).split(b"\n\n")
                self._body = bytearray(rest)
                for event in events:
                    self._add_event(event)
            elif len(self._body) > _MOST_BYTES:
                self._body = None
        if not message.get("more_body"):
            self._is_kept = False
            body = None if self._body is None else bytes(self._body)
            self._log.add(Answer(self._method, self._path, self._status, self._headers, body))

    def _add_event(self, block: bytes) -> None:
        if _NO_EVENT.fullmatch(block):
            return
        fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
        data, position = fields.get(b"data", b"null"), fields.get(b"id", b"null")
        name = fields.get(b"event", b"message")
        self._add_frame(b'{"event":"%s","id":%s,"data":%s}' % (name, position, data))

    def _add_frame(self, frame: bytes) -> None:
        if self._log.wants("frame", frame[: frame.find(b",")]):
            self._log.add(Answer("EVENT", self._path, 200, {}, frame))


ANSWERS = AnswerLog()
"""The answers of all services in this process."""


def faults_of(answer: Answer) -> Iterator[str]:
    """Yield how an answer differs from the document."""
    if answer.method == "EVENT":
        yield from _schema_faults(_FRAME, answer.body)
        return
    if _PAGE.fullmatch(answer.media_type) and "content-security-policy" not in answer.headers:
        yield f"a page ({answer.media_type}) without a Content-Security-Policy"
    template = _template_of(answer.path)
    if template is None:
        yield from _faults_without_route(answer)
        return
    methods = api_document()["paths"][template]
    operation = methods.get(answer.method.lower())
    if answer.status == 405:
        allowed, documented = answer.headers.get("allow", ""), ", ".join(sorted(methods)).upper()
        if allowed != documented:
            yield f"`Allow` says {allowed or 'nothing'}, the document {documented}"
    elif operation is None:
        # The guard of browsers refuses requests before they have a route.
        if answer.status < 400 and not _is_preflight(answer):
            yield f"the document has no {answer.method} of this path"
    elif str(answer.status) not in operation["responses"]:
        yield f"the document has no {answer.status}, only {', '.join(operation['responses'])}"
    else:
        content = operation["responses"][str(answer.status)].get("content", {})
        yield from _content_faults(answer, content)


def _faults_without_route(answer: Answer) -> Iterator[str]:
    """Yield the faults of an answer of a path that is not documented."""
    if not answer.path.startswith("/api/"):
        return
    if answer.status < 400:
        yield "the document has no such path"
    elif answer.media_type == PROBLEM_MEDIA_TYPE and answer.method != "HEAD":
        is_fault = answer.path.endswith("/fault")
        yield from _schema_faults(_FAULT_REFUSAL if is_fault else _PROBLEM, answer.body)


def _content_faults(answer: Answer, content: Mapping[str, Any]) -> Iterator[str]:
    # The server drops the body of an answer to HEAD.
    if answer.method == "HEAD":
        return
    if not content:
        if answer.body:
            yield f"a body of {answer.media_type}, where none is documented"
        return
    kind = answer.media_type
    known = [each for each in (kind, f"{kind.partition('/')[0]}/*", "*/*") if each in content]
    if not known:
        yield f"the media type is {kind or 'missing'}, and documented are {', '.join(content)}"
    elif _JSON.fullmatch(kind) and content[known[0]]["schema"].get("format") != "binary":
        yield from _schema_faults(content[known[0]]["schema"], answer.body)


def _schema_faults(schema: Mapping[str, Any], body: bytes | None) -> Iterator[str]:
    if body is None:
        return
    value = json.loads(body, parse_int=_number)
    for error in _validator(json.dumps(schema)).iter_errors(_shallow(value)):
        yield from _lines_of(error)


def _number(digits: str) -> int:
    """Return an integer, or one of as many digits as Python takes."""
    return int(digits[:_MOST_DIGITS])


def _shallow(value: object, depth: int = 0) -> object:
    """Return a JSON value, empty below the depth that the validator supports.

    Only values of tools and users nest that deep, and the document does not describe them.
    """
    if isinstance(value, dict | list) and depth == _DEEPEST:
        return type(value)()
    if isinstance(value, dict):
        return {name: _shallow(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [_shallow(each, depth + 1) for each in value]
    return value


def _lines_of(error: jsonschema_rs.ValidationError) -> Iterator[str]:
    """Yield one error; for a union, those of the members that come closest to the value."""
    alternatives = getattr(error.kind, "context", None)
    if alternatives is None:
        pointer = "".join(f"/{each}" for each in error.instance_path)
        yield f"`{pointer}` {error.message[:_SHOWN_CHARS]}"
        return
    fewest = min(map(_misses, alternatives))
    for errors in alternatives:
        if _misses(errors) == fewest:
            for each in errors:
                yield from _lines_of(each)


def _misses(errors: list[jsonschema_rs.ValidationError]) -> tuple[bool, int]:
    return any(error.kind.name in ("const", "enum", "type") for error in errors), len(errors)


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        {"allOf": [json.loads(schema)], "components": closed_document()["components"]},
        validate_formats=True,
    )


@cache
def closed_document() -> dict[str, Any]:
    """The document, with shapes that take no members but their own unless it says so."""
    document = copy.deepcopy(api_document())
    for schema in all_schemas(document):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return document


@cache
def _templates() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The paths of the document, those without a parameter first, as OpenAPI reads them."""
    paths = sorted(api_document()["paths"], key=lambda path: path.count("{"))
    return tuple((re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in paths)


def _template_of(path: str) -> str | None:
    return next((found for pattern, found in _templates() if pattern.fullmatch(path)), None)


def _is_preflight(answer: Answer) -> bool:
    return answer.method == "OPTIONS" and "access-control-allow-methods" in answer.headers


def _is_elsewhere(scope: Scope, hosts: frozenset[str]) -> bool:
    named = {
        value.decode("latin-1").strip().lower() for n, value in scope["headers"] if n == b"host"
    }
    return not named.isdisjoint(hosts) and not scope["path"].endswith("/content")


def _method_of(scope: Scope) -> str:
    method = str(scope.get("method", "GET"))
    if scope["path"].startswith(tus.PATH):
        for name, value in scope["headers"]:
            if name == b"x-http-method-override":
                return str(value.decode("latin-1").strip().upper())
    return method

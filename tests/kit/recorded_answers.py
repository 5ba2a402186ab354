"""Records what services answer, for `documented_answers` to check after each test.

`LiveService` wraps its application in `AnswerLog.recording`, and so do forks of the command
(`preloaded`), which leave their answers in files. Little is loaded for it in these, since
tests measure their memory.
"""

import atexit
import json
import os
import re
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.config.setting_values import list_host_names

MAX_ANSWERS = 20
"""Answers of one route with one status that are checked for each file of tests."""

_UPLOADS = "/api/uploads"
_EVENTS = "text/event-stream"
# Where a stream begins, and its comments: without data, neither is an event.
_NO_EVENT = re.compile(rb"(?:id: \d+\n)?retry: \d+|: ping")
# The headers that are checked.
_CHECKED = frozenset(
    {
        "allow",
        "content-type",
        "content-encoding",
        "content-security-policy",
        "access-control-allow-methods",
    }
)


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
    """Answers that are still to be checked, of services in this process and in others.

    Args:
        folder: Where other processes leave theirs, each in a file.
    """

    max_bytes: ClassVar[int] = 1 << 20
    """The longest body that is kept, and so checked."""

    def __init__(self, folder: Path | None = None) -> None:
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._answers: deque[Answer] = deque()
        self._file: object = None
        self._folder = folder

    def begin_file(self, file: object) -> None:
        """Count anew for each file of tests, so that a file finds the same alone and among all."""
        if file != self._file:
            self._file = file
            self._counts.clear()

    def take(self) -> Iterator[Answer]:
        """Yield the answers since the last call."""
        while self._answers:
            yield self._answers.popleft()
        for path in self._folder.iterdir() if self._folder else ():
            lines = path.read_bytes().splitlines(keepends=True)
            path.unlink()
            # A process that was killed may have left a part of a line.
            yield from (_parsed(line) for line in lines if line.endswith(b"\n"))

    def recording(self, app: ASGIApp, *, content_url: str | None = None) -> ASGIApp:
        """Return an application that answers as `app` does, and records its answers.

        Args:
            app: The application.
            content_url: The URL of the content host, if there is one. That host has only the route
                of content, which the document cannot express.
        """
        hosts = list_host_names(content_url) if content_url else frozenset[str]()

        async def record(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan" or _is_elsewhere(scope, hosts):
                await app(scope, receive, send)
                return
            recorded = _Recording(self, scope)

            async def send_recorded(message: Message) -> None:
                recorded.note(message)
                await send(message)

            async def receive_noted() -> Message:
                message = await receive()
                recorded.has_reader &= message["type"] != "http.disconnect"
                return message

            await app(scope, receive_noted, send_recorded)

        return record

    def wants(self, *key: object) -> bool:
        """Count an answer; tell whether it is one of the first of its kind."""
        self._counts[key] += 1
        return self._counts[key] <= MAX_ANSWERS

    def add(self, answer: Answer) -> None:
        """Keep an answer for the next `take`."""
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
        self._is_kept = self._is_stream = False
        self.has_reader = True
        """False after the client has left: bytes that are sent then are no answer."""

    def note(self, message: Message) -> None:
        """Record one message of ASGI."""
        if not self.has_reader:
            return
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
        self._is_stream = self._headers.get("content-type", "").startswith(_EVENTS)
        # A path is one of names and values in turn: `/api/pages/…/content`.
        names = self._path.split("/")
        route = (self._method, len(names), *names[2::2], self._status)
        self._is_kept = self._is_stream or self._log.wants(*route)

    def _continue(self, message: Message) -> None:
        if self._body is not None:
            self._body += message.get("body", b"")
            if self._is_stream and self._body.endswith(b"\n\n"):
                for event in bytes(self._body[:-2]).split(b"\n\n"):
                    self._add_event(event)
                self._body.clear()
            elif len(self._body) > self._log.max_bytes:
                self._body = None
        if not message.get("more_body"):
            self._is_kept = False
            body = None if self._body is None else bytes(self._body)
            kept = _CHECKED & self._headers.keys()
            headers = {name: self._headers[name] for name in kept}
            self._log.add(Answer(self._method, self._path, self._status, headers, body))

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


class AnswerFile(AnswerLog):
    """The answers of this process, in a file of a folder that another process reads.

    Args:
        shared: The folder.
    """

    max_bytes = 64 << 10

    def __init__(self, shared: Path) -> None:
        super().__init__()
        self._shared = shared

    def add(self, answer: Answer) -> None:
        """Append an answer; one that cannot be written is not checked."""
        body = None if answer.body is None else answer.body.decode("latin-1")
        line = json.dumps({**asdict(answer), "body": body}) + "\n"
        with suppress(OSError), (self._shared / str(os.getpid())).open("a") as file:
            file.write(line)


@cache
def answers() -> AnswerLog:
    """Return the log of this test process."""
    return AnswerLog(folder())


@cache
def folder() -> Path:
    """Return the folder in which other processes leave their answers; gone with this process."""
    made = tempfile.mkdtemp(prefix="pagefault-answers-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _parsed(line: bytes) -> Answer:
    said = json.loads(line)
    body = None if said["body"] is None else said["body"].encode("latin-1")
    return Answer(**{**said, "body": body})


def _is_elsewhere(scope: Scope, hosts: frozenset[str]) -> bool:
    named = {
        value.decode("latin-1").strip().lower() for n, value in scope["headers"] if n == b"host"
    }
    return not named.isdisjoint(hosts) and not scope["path"].endswith("/content")


def _method_of(scope: Scope) -> str:
    method = str(scope.get("method", "GET"))
    if scope["path"].startswith(_UPLOADS):
        for name, value in scope["headers"]:
            if name == b"x-http-method-override":
                return str(value.decode("latin-1").strip().upper())
    return method

"""`pagefault tail` beside a server, on both engines: what is written appears as lines."""

import base64
import json
import queue
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.integration.sweep_stores import environment_of
from tests.kit.event_streams import listening
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import png
from tests.kit.process import COMMAND, ROOT, WAIT_SECONDS, environment
from tests.kit.servers import LiveService

_INTERRUPTED = 130
_PICTURE = png(noise=True)
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


class Tail:
    """The running command: its lines as they come, and its end."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lines: queue.Queue[str] = queue.Queue()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def line(self) -> str:
        """The next line, within a minute."""
        return self._lines.get(timeout=WAIT_SECONDS)

    def interrupt(self) -> tuple[int, str]:
        """Press Ctrl-C; returns the status and what was said where errors go."""
        self._process.send_signal(signal.SIGINT)
        status = self._process.wait(WAIT_SECONDS)
        self._reading.join(WAIT_SECONDS)
        assert self._process.stderr is not None
        return status, self._process.stderr.read()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.removesuffix("\n"))


def settings_of(settings: Settings) -> dict[str, str]:
    """Return the environment of a command for the stores and the keys of a service."""
    given = environment_of(settings)
    if settings.is_embedded_database:
        # Those are in the data directory.
        del given["PAGEFAULT_SIGNING_KEYS"]
    return {**given, "PAGEFAULT_AUTH": "api-key", "PAGEFAULT_PORT": str(settings.port)}


@contextmanager
def tailing(env: Mapping[str, str], *options: str) -> Iterator[Tail]:
    with subprocess.Popen(  # noqa: S603 - the command under test
        [COMMAND, "tail", *options],
        cwd=ROOT,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Tail(process)
        finally:
            process.kill()


def call_tool(client: httpx.Client, number: int, result: object, *, name: str = "shot") -> None:
    body = {"toolName": name, "toolCallId": f"c{number}", "sessionId": "s", "result": result}
    client.post("/api/tool-results", json=body).raise_for_status()


@pytest.mark.requirement("002-subscribers-get-the-record-only")
def test_events_are_lines_and_media_lines_with_type_size_and_url(service: LiveService) -> None:
    key = service.new_key("tailed")
    data = base64.b64encode(_PICTURE).decode()
    image = {"type": "image", "data": data, "mimeType": "image/png"}
    with service.client(key) as client:
        call_tool(client, 1, {"content": [{"type": "text", "text": "one\n[b]line[/b]"}, image]})
        options = ("s", "--project", "tailed", "--after", "0")
        with tailing(settings_of(service.settings), *options) as tail:
            first = tail.line()
            assert re.fullmatch(
                _TIME + r"  s#1  llmservice:toolResult  shot \(c1\)  one \[b\]line\[/b\]", first
            )
            medium = re.fullmatch(r"    image/png  ([\d.]+ \w+)  (http://\S+)", tail.line())
            assert medium is not None
            with httpx.Client(trust_env=False) as anyone:
                assert anyone.get(medium[2]).content == _PICTURE
            # What is written from now on comes without being asked for.
            call_tool(client, 2, {"content": [], "isError": True}, name="\x1b[31mred\u202e")
            assert "s#2  llmservice:toolResult   [31mred  (c2)  failed: " in tail.line()
            client.put("/api/pages/p", json={"content": "x", "session_id": "s"}).raise_for_status()
            assert tail.line().endswith("s#3  page:created  p version 1 (text)")
            assert tail.interrupt() == (_INTERRUPTED, "")


def test_lines_of_json_are_the_events_as_everybody_gets_them(service: LiveService) -> None:
    with service.client(service.new_key("tailed-json")) as client:
        call_tool(client, 1, {"content": [{"type": "text", "text": "one"}]})
        with listening(client, "/api/events", after=0) as stream:
            block = stream.next()
        with tailing(
            settings_of(service.settings), "--project", "tailed-json", "--after", "0", "--json"
        ) as tail:
            line = tail.line()
            assert tail.interrupt()[0] == _INTERRUPTED
    assert block.data is not None
    assert line == f'{{"event": "{block.event}", "id": {block.id}, "data": {block.data.decode()}}}'
    assert json.loads(line)["data"]["callId"] == "c1"


def test_session_may_be_named_by_the_option_that_other_commands_have(service: LiveService) -> None:
    with service.client(service.new_key("tailed-by-option")) as client:
        call_tool(client, 1, "one")
        options = ("--session", "s", "--project", "tailed-by-option", "--after", "0")
        with tailing(settings_of(service.settings), *options) as tail:
            assert tail.line().endswith("s#1  llmservice:toolResult  shot (c1)  one")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "there is no database in"),
        (("no such/name",), "is not a session id"),
        (("--session", "no such/name"), "is not a session id"),
        (("s", "--session", "s"), "cannot be combined with the argument"),
        (("--after", "-1"), "not in the range"),
    ],
)
def test_what_cannot_be_followed_ends_with_a_sentence(
    pagefault: LoadedCommand, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    if options:
        pagefault.run("migrate", "--data-dir", str(tmp_path))
    ended = pagefault.run("tail", *options, "--data-dir", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.stderr

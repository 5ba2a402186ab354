"""`pagefault proxy --listen`: one host costs the others neither time nor memory."""

import http.client
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from packages.mcp.tests.e2e.test_proxy_listen import (
    ACCEPT,
    SAID,
    Listening,
    call,
    header_names,
    listening,
)
from packages.mcp.tests.e2e.test_proxy_memory import peak_bytes
from tests.kit.process import WAIT_SECONDS
from tests.kit.processor_time import longest_ms

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A proxy before a server that says little."""
    with listening(tmp_path_factory.mktemp("listening"), "--", *SAID) as running:
        yield running


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A proxy that listens checks the session and the revision before it reads a body",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_endpoint.py",
    tried="3 requests of 57 MiB, of which nothing is sent",
)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"mcp-session-id": "none"}, 404),
        ({"mcp-protocol-version": "2031-01-01"}, 400),
        ({}, 413),
    ],
)
def test_session_and_revision_are_checked_before_a_body_is_read(
    proxy: Listening, headers: dict[str, str], status: int
) -> None:
    url = httpx.URL(proxy.url)
    connection = http.client.HTTPConnection(url.host, url.port, timeout=WAIT_SECONDS)
    announced = {"content-type": "application/json", "content-length": str(57 * MIB)}
    for path in (url.path, f"{url.path}/"):
        connection.request("POST", path, headers={**ACCEPT, **announced, **headers})
        assert connection.getresponse().status == status
        connection.close()


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A proxy that listens answers other hosts while it reads a message that is costly to read",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_endpoint.py",
    tried="250 ms of processor time between question and answer: 3 messages of up to 57 MB",
)
def test_other_hosts_are_answered_while_a_hostile_message_is_read(tmp_path: Path) -> None:
    wide = b"[" + b"[]," * 19_000_000 + b"1]"
    bodies = [
        (wide, 413),
        (_call_of(b"[%s]" % b",".join([b"[]"] * 9_000)), 200),
        (_call_of(b'"%s"' % (b"\\\\" * 10_000_000)), 200),
    ]
    with listening(tmp_path, "--", sys.executable, "-m", "tests.kit.mcp_server") as own:
        session = own.session()

        def ask() -> None:
            # Nothing listens, and hosts without a session cannot.
            assert httpx.get(own.url, trust_env=False).status_code == 405

        for body, status in bodies:

            def attack(body: bytes = body, status: int = status) -> None:
                assert own.post(body, **session).status_code == status

            longest = (longest_ms(own.process.pid, ask, attack) for _ in range(3))
            assert any(item <= 250 for item in longest)


def _call_of(argument: bytes) -> bytes:
    written = json.dumps(call(2, "word", a=0)).encode()
    return written.replace(b'"a": 0', b'"a": ' + argument)


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Bodies that arrive at a proxy that listens take their memory from one budget",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_endpoint.py",
    tried="30 unfinished bodies of 4 MiB, a budget of 64 MiB: at most 56 MiB more",
)
def test_unfinished_messages_hold_half_of_the_budget(tmp_path: Path) -> None:
    limited = partial(listening, PAGEFAULT_LIMITS__MEMORY_BYTES=str(64 * MIB), is_installed=True)
    with limited(tmp_path, "--", *SAID) as own, ExitStack() as stack:
        host = header_names(own.session())
        url = httpx.URL(own.url)
        before = peak_bytes(own.process.pid)
        connections = []
        for _ in range(30):
            connection = http.client.HTTPConnection(url.host, url.port, timeout=WAIT_SECONDS)
            stack.callback(connection.close)
            announced = {"content-type": "application/json", "content-length": str(57 * MIB)}
            with suppress(OSError):
                connection.request("POST", url.path, headers={**ACCEPT, **announced, **host})
                connection.send(b'{"a":"' + b"x" * (4 * MIB))
            connections.append(connection)
        last = connections[-1].getresponse().status
        grown = peak_bytes(own.process.pid) - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert (last, grown < 56 * MIB) == (503, True)


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A proxy that listens frees a message that it refuses, and gives the memory back",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_endpoint.py",
    tried="4 messages of 57 MB, one after the other: at most 256 MiB more",
)
@pytest.mark.parametrize(
    ("body", "status"),
    [(b"[" + b"[]," * 19_000_000 + b"1]", 413), (b'["%s"]' % (b"word " * 11_400_000), 400)],
    ids=["empty arrays", "no message"],
)
def test_refused_message_is_freed_with_its_answer(tmp_path: Path, body: bytes, status: int) -> None:
    with listening(tmp_path, "--", *SAID, is_installed=True) as own:
        host = own.session()
        before = peak_bytes(own.process.pid)
        statuses = {own.post(body, **host).status_code for _ in range(4)}
        grown = peak_bytes(own.process.pid) - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert (statuses, grown < 256 * MIB) == ({status}, True)

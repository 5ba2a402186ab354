"""One service for all tests, and a client of it; each test has sessions of its own."""

import random
import socket
import struct
import uuid
import zlib
from collections.abc import Callable, Iterator

import pytest

from clients.python.tests.servers import (
    CuttingProxy,
    Reply,
    Request,
    ScriptedService,
    problem,
    serving,
)
from pagefault_client import Pagefault, Session


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of asynchronous tests."""
    return "asyncio"


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("service") / "data") as found:
        yield found


@pytest.fixture(scope="session")
def pf(url: str) -> Iterator[Pagefault]:
    with Pagefault(url) as client:
        yield client


@pytest.fixture
def session(pf: Pagefault) -> Session:
    return pf.session(f"s-{uuid.uuid4().hex}")


@pytest.fixture
def proxy(url: str) -> Iterator[CuttingProxy]:
    made = CuttingProxy(url)
    yield made
    made.close()


@pytest.fixture
def scripted() -> Iterator[Callable[..., ScriptedService]]:
    made: list[ScriptedService] = []

    def start(*replies: Reply | Callable[[Request], Reply]) -> ScriptedService:
        made.append(ScriptedService(*replies))
        return made[-1]

    yield start
    for item in made:
        item.close()


OUTAGES: dict[str, Reply] = {
    "cut before its answer": Reply(0),
    "cut within its answer": Reply(200, b'{"id": "', {"content-length": "4000"}),
    "answers 500": problem(500, "internal-error"),
    "answers 503": problem(503, "store-unavailable", Retry_After="3600"),
    "answers 413": problem(413, "payload-too-large"),
    "answers 401": problem(401, "unauthorized"),
    "a page of a proxy": Reply(200, b"<h1>Welcome</h1>", {"content-type": "text/html"}),
    "other JSON": Reply(200, []),
    "not rendered": Reply(201, {"id": "r1", "sanitized": {}, "rendering": None}),
    "rendered otherwise": Reply(
        201, {"id": "r1", "sanitized": {}, "rendering": {"target": "text", "messages": []}}
    ),
}


@pytest.fixture(params=["down from the start", "silent", *OUTAGES])
def outage(
    request: pytest.FixtureRequest, scripted: Callable[..., ScriptedService]
) -> Iterator[str]:
    """The URL of a service with which no result can be stored or shown."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        if request.param in OUTAGES:
            yield scripted(OUTAGES[request.param]).url
        elif request.param == "silent":
            # It accepts connections, and answers nothing.
            yield address
        else:
            listener.close()
            yield address


@pytest.fixture(scope="session")
def png() -> bytes:
    """A picture of 300 by 200 pixels, of more bytes than stay in a record."""
    width, height = 300, 200
    rows = b"".join(b"\0" + bytes((x * y) % 251 for x in range(width * 3)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


@pytest.fixture(scope="session")
def big() -> bytes:
    """Twenty megabytes without a pattern that a mistake could hide in."""
    return random.Random(7).randbytes(20_000_000)  # noqa: S311

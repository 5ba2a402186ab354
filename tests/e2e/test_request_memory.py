"""The memory of all requests together is limited, and is freed."""

import http.client
import json
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pybase64
import pytest

from tests.e2e.test_resumable_upload import Process
from tests.kit.hostile_messages import HEADERS, LISTS, message
from tests.kit.media import noise_bytes
from tests.kit.process import WAIT_SECONDS

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(120)]

MIB = 1024 * 1024
BUDGET_BYTES = 64 * MIB
# Beside what is held: what the loop has read of each, and the pieces that are being joined.
MAX_GROWTH_BYTES = BUDGET_BYTES // 2 + 24 * MIB
MAX_MEDIUM_GROWTH_BYTES = 16 * MIB
IMAGE = b"\x89PNG\r\n\x1a\n" + noise_bytes(MIB) * 24


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    """The service with a budget of 64 MiB, warmed up."""
    folder = tmp_path / "data"
    started = Process(folder, env={"PAGEFAULT_LIMITS__MEMORY_BYTES": str(BUDGET_BYTES)})
    with started:
        with started.client("") as client:
            for number in range(2):
                call = {"toolName": "t", "toolCallId": str(number), "result": "a word " * 150_000}
                client.post("/api/tool-results", json=call).raise_for_status()
            page = {"modality": "image", "content": data_uri(IMAGE[:100_000])}
            client.put("/api/pages/w", json=page).raise_for_status()
        yield started
    shutil.rmtree(folder)


def data_uri(data: bytes) -> str:
    return f"data:image/png;base64,{pybase64.b64encode(data).decode()}"


def held_bytes(client: httpx.Client) -> float:
    found = re.search(r"^pagefault_memory_held_bytes (\S+)$", client.get("/metrics").text, re.M)
    assert found
    return float(found[1])


def wait_until_nothing_is_held(client: httpx.Client) -> None:
    """An answer is heard to its end before the service has let go of its last piece."""
    while held_bytes(client):
        pass


def begin(server: Process, path: str, size_bytes: int) -> socket.socket:
    """Send up to 6 MiB of a longer text, and no more, or less if it is refused before."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_SECONDS)
    head = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {size_bytes}",
    )
    try:
        connection.sendall("\r\n".join([*head, "", '{"result":"']).encode())
        for _ in range(min(6, size_bytes // MIB - 1)):
            connection.sendall(b"a word or two, " * (MIB // 15))
    except OSError:
        # It was refused, and told so.
        pass
    return connection


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Bodies that are arriving hold at most half of the memory budget together, and give it back",
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="12 unfinished bodies of 64 MiB, 50 of 4 MiB at `/mcp`: a budget of 64 MiB, +48 MiB",
)
@pytest.mark.parametrize(
    ("path", "size_bytes", "senders"),
    [("/api/tool-results", 64 * MIB, 12), ("/mcp", 4 * MIB, 50)],
)
def test_unfinished_bodies_hold_half_of_the_budget_and_give_it_back(
    server: Process, path: str, size_bytes: int, senders: int
) -> None:
    before = server.peak_bytes()
    with ExitStack() as stack, server.client("") as client:
        for _ in range(senders):
            stack.enter_context(begin(server, path, size_bytes))
        assert 0 < held_bytes(client) <= BUDGET_BYTES // 2
        grown = server.peak_bytes() - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < MAX_GROWTH_BYTES
    with server.client("") as client:
        for _ in range(1_000):
            if held_bytes(client) == 0:
                break
        wait_until_nothing_is_held(client)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A body is freed with its answer, also if it is refused, and waits for no garbage collection",
    kept_by="app/http/problem_types.py",
    tried="20 bodies of 6 MiB that are no JSON, one after the other: at most 32 MiB more",
)
def test_refused_body_is_freed_with_its_answer(server: Process) -> None:
    body = b'{"toolName": "t", "toolCallId": "c", "result": "' + b"a word or two, " * (
        6 * MIB // 15
    )
    before = server.peak_bytes()
    with server.client("") as client:
        for _ in range(20):
            refused = client.post("/api/tool-results", content=body, headers=HEADERS)
            assert refused.json()["code"] == "invalid-json"
        grown = server.peak_bytes() - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < 32 * MIB


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Messages of MCP that make many values take their memory from the budget",
    kept_by="packages/mcp/src/pagefault_mcp/server/mcp_endpoint.py",
    tried="8 at once of 3.4 MB, a budget of 64 MiB: at most 96 MiB more",
)
def test_messages_that_make_many_values_take_their_memory_from_the_budget(server: Process) -> None:
    def post(_: int) -> int:
        with server.client("") as client:
            return client.post("/mcp", content=LISTS, headers=HEADERS).status_code

    with server.client("") as client:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        client.post("/mcp", json=ping, headers=HEADERS).raise_for_status()
        before = server.peak_bytes()
        with ThreadPoolExecutor(8) as threads:
            statuses = {*threads.map(post, range(8))}
        grown = server.peak_bytes() - before
        wait_until_nothing_is_held(client)
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert statuses <= {413, 503}
    # Beside the budget, there is what each thread that reads them keeps for itself.
    assert grown < BUDGET_BYTES + 32 * MIB


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Answers of MCP that nobody reads take their memory from the share of answers",
    kept_by="packages/mcp/src/pagefault_mcp/server/mcp_endpoint.py",
    tried="8 clients ask for 8 MiB each and read nothing, a budget of 64 MiB: at most 64 MiB more",
)
def test_answers_of_mcp_that_nobody_reads_take_their_memory_from_the_budget(
    server: Process,
) -> None:
    with server.client("") as client, ExitStack() as stack:
        stored = client.post("/api/resources", content=noise_bytes(MIB) * 8).json()
        uri = f"pagefault://resources/{stored['uri'].removeprefix('blob:')}"
        asked = message("resources/read", uri=uri)
        headers = {**HEADERS, "content-length": str(len(asked))}
        client.post("/mcp", content=message("ping"), headers=HEADERS).raise_for_status()
        before = server.peak_bytes()
        readers = []
        for _ in range(8):
            reader = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_SECONDS)
            stack.callback(reader.close)
            reader.request("POST", "/mcp", body=asked, headers=headers)
            readers.append(reader)
        last = json.loads(readers[-1].getresponse().read())
        grown = server.peak_bytes() - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert last["error"]["code"] == -32603
    assert grown < BUDGET_BYTES


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A large medium of a page or a message is not held in memory",
    kept_by="app/services/requests/streamed_requests.py",
    tried="24 MiB: at most 16 MiB more",
)
@pytest.mark.parametrize(
    ("path", "members"),
    [
        ("/api/pages", {"modality": "image"}),
        ("/api/sessions/s/messages", {"role": "user"}),
    ],
)
def test_large_medium_of_a_page_or_a_message_is_not_held_in_memory(
    server: Process, path: str, members: Mapping[str, str]
) -> None:
    uri = data_uri(IMAGE)
    content = uri if "modality" in members else [{"type": "image", "url": uri}]
    body = json.dumps({**members, "content": content})
    before = server.peak_bytes()
    with server.client("") as client:
        created = client.post(path, content=body, headers={"Content-Type": "application/json"})
        grown = server.peak_bytes() - before
        assert created.status_code == 201, created.text[:500]
        (resource,) = (
            item
            for item in client.get("/api/resources").json()["items"]
            if item["size"] == len(IMAGE)
        )
        assert client.get(f"/api/resources/{resource['uri']}/content").content == IMAGE
        wait_until_nothing_is_held(client)
    print(f"{path}: grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < MAX_MEDIUM_GROWTH_BYTES

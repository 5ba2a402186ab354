"""Listening over a WebSocket, as programs do: with a key in a header, and bounded waits."""

import contextlib
import json
from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from app.wire.problem import Problem
from tests.kit.event_streams import WAIT_SECONDS, Block, member

TRY_AGAIN_LATER = 1013
"""The code a client is cut off with that may come back (RFC 6455, IANA's registry)."""


@contextlib.contextmanager
def socket_of(
    client: httpx.Client, query: str = "", *, session_id: str = "s", **headers: str | None
) -> Iterator[ClientConnection]:
    """A WebSocket with the client's key, closed behind the block."""
    base = str(client.base_url).replace("http", "ws", 1)
    url = f"{base}/api/sessions/{session_id}/ws{query}"
    given = {"Authorization": client.headers["authorization"], **headers}
    shown = {name: value for name, value in given.items() if value is not None}
    with connect(url, additional_headers=shown, proxy=None, open_timeout=WAIT_SECONDS) as socket:
        yield socket


def refusal(
    client: httpx.Client, query: str = "", *, session_id: str = "s", **headers: str | None
) -> tuple[int, str]:
    """The status and the code that a handshake is refused with, by a problem document."""
    with (
        pytest.raises(InvalidStatus) as refused,
        socket_of(client, query, session_id=session_id, **headers),
    ):
        pass
    answer = refused.value.response
    problem = Problem.model_validate_json(answer.body or b"")
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem.status == answer.status_code
    assert problem.instance.endswith("/ws")
    return problem.status, problem.code


def read_event(socket: ClientConnection) -> Block:
    """The next event."""
    said = socket.recv(timeout=WAIT_SECONDS, decode=False)
    frame = json.loads(said)
    assert list(frame) == ["event", "id", "data"]
    return Block(str(frame["id"]), frame["event"], member(bytes(said), "data"))


def closed(socket: ClientConnection) -> int:
    """The code that the service closes with, having sent nothing before."""
    with pytest.raises(ConnectionClosed) as ended:
        socket.recv(timeout=WAIT_SECONDS)
    assert ended.value.rcvd is not None
    return ended.value.rcvd.code

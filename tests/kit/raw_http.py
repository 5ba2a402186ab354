"""HTTP byte by byte, for requests that no client library sends."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_SECONDS = 60


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """Connect to a service on loopback, for the length of the block."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        yield connection


def rest(connection: socket.socket) -> bytes:
    """Return everything until the service ends its side of the connection."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


def answer_of(connection: socket.socket) -> bytes:
    """Return one answer that tells its length, head and body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, _ = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(received) < len(head) + 4 + length:
        received += _more(connection)
    assert len(received) == len(head) + 4 + length
    return received


def problem(answer: bytes) -> tuple[int, str]:
    """Return the status and the code of an answer that is a problem document."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    return int(head.split()[1]), json.loads(body)["code"]


def is_last(answer: bytes) -> bool:
    """Tell whether an answer says that the connection ends with it."""
    return b"\r\nconnection: close\r\n" in answer.partition(b"\r\n\r\n")[0].lower() + b"\r\n"


def _more(connection: socket.socket) -> bytes:
    piece = connection.recv(65_536)
    assert piece, "the connection ended before the answer"
    return piece

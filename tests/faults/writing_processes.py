"""Processes that write the same bytes at the same moment: loaded once, forked, each a service.

    python -m tests.faults.writing_processes COUNT

Settings come from the environment. Each line on standard input names a file; every process stores
it in a tool result of a session of its own and writes a line: the blob's digest, or what went
wrong.
"""

import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread

from app.config.settings import Settings
from app.features import open_services
from app.services.tool_results.tool_results import ToolResults
from app.wiring.services import Services

READY = "ready"
PROJECT = "default"


def session_of(number: int) -> str:
    """The session of a process."""
    return f"s{number}"


async def _write(number: int, files: TextIO) -> None:
    async with open_services(Settings()) as services:
        _say(READY)
        while place := (await anyio.to_thread.run_sync(files.readline)).rstrip("\n"):
            try:
                data = await anyio.Path(place).read_bytes()
                _say(await _written(services, number, Path(place).name, data))
            except Exception as exc:  # noqa: BLE001 - the test says what it did not expect
                _say(repr(exc))


async def _written(services: Services, number: int, call: str, medium: bytes) -> str:
    data = base64.b64encode(medium).decode()
    body = {
        "toolName": "camera",
        "toolCallId": call,
        "sessionId": session_of(number),
        "result": {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]},
    }

    async def whole() -> AsyncIterator[bytes]:
        yield json.dumps(body).encode()

    ingested = await services[ToolResults].ingest(PROJECT, whole(), idempotency_key=None)
    (resource,) = json.loads(ingested.result.sanitized)["resources"]
    return str(resource["digest"])


def _say(line: str) -> None:
    # One write, so that lines of several processes do not mix.
    os.write(1, f"{line}\n".encode())


def _forked(number: int) -> int:
    """Start a process; returns where it reads what to do."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(reading)
        return writing
    try:
        os.close(writing)
        with os.fdopen(reading) as files:
            anyio.run(_write, number, files)
    finally:
        os._exit(0)


def main() -> None:
    """Start as many as are asked for, and hand each line to all of them."""
    writing = [_forked(number) for number in range(int(sys.argv[1]))]
    for line in sys.stdin:
        for item in writing:
            os.write(item, line.encode())


if __name__ == "__main__":
    main()

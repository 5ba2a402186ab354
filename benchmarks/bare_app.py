"""Baselines of the service: routes that do nothing but answer, under the same server.

    python -m benchmarks.bare_app SPECIFICATION

The specification is a JSON file: `{"constants": {"name": "path"}, "files": {"name": "path"},
"kept": "folder"}`. The server is the service's own, with its settings, its protocol class and its
event loop; of the service itself only its limits are there, for the protocol asks for them.

`POST /keep` is the peer that one would write oneself: it reads the JSON, decodes the medium and
writes it to a file that is there after a loss of power, and does nothing else.
"""

import base64
import json
import os
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio.to_thread
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse

from app.config.settings import Settings
from app.models.limits import Limits
from app.server.uvicorn_config import create_server_config
from app.services.events.streams import EventStreams
from app.wiring.services import Services

Route = Callable[[], Coroutine[Any, Any, Response]]


def create_bare_app(constants: dict[str, str], files: dict[str, str], kept: str) -> FastAPI:
    """The application: `/constants/NAME`, `/files/NAME`, `/reads/NAME`, `POST /count` and `/keep`.

    Args:
        constants: By name, the file whose bytes a route answers with; read once.
        files: By name, the file that one route sends with Starlette's `FileResponse`, and another
            reads whole, in the event loop.
        kept: The folder for what `/keep` is sent; made if need be.
    """
    app = FastAPI(lifespan=_limits_alone)
    for name, path in constants.items():
        app.get(f"/constants/{name}")(_constant(Path(path).read_bytes()))
    for name, path in files.items():
        app.get(f"/files/{name}")(_file(path))
        app.get(f"/reads/{name}")(_read(path))

    @app.post("/count")
    async def count(request: Request) -> Response:
        received = 0
        async for chunk in request.stream():
            received += len(chunk)
        return Response(str(received))

    app.post("/keep", status_code=201)(_keep(Path(kept)))
    return app


def _constant(body: bytes) -> Route:
    async def constant() -> Response:
        return Response(body, media_type="application/json")

    return constant


def _keep(folder: Path) -> Callable[[Request], Coroutine[Any, Any, dict[str, str]]]:
    folder.mkdir(exist_ok=True)

    async def keep(request: Request) -> dict[str, str]:
        (block,) = (await request.json())["result"]["content"]
        raw = base64.b64decode(block["data"], validate=True)
        name = uuid.uuid4().hex
        await anyio.to_thread.run_sync(_write, folder, name, raw)
        return {"id": name}

    return keep


def _write(folder: Path, name: str, raw: bytes) -> None:
    """Write a file that is there, under its name and whole, or not at all."""
    with (folder / f"{name}.part").open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    (folder / f"{name}.part").rename(folder / name)
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _file(path: str) -> Route:
    async def file() -> Response:
        return FileResponse(path)

    return file


def _read(path: str) -> Route:
    async def read() -> Response:
        with Path(path).open("rb") as file:  # noqa: ASYNC230 - a thread would cost more
            return Response(file.read(), media_type="application/octet-stream")

    return read


@asynccontextmanager
async def _limits_alone(_: FastAPI) -> AsyncIterator[dict[str, object]]:
    no_streams = SimpleNamespace(end=lambda: None)
    yield {"services": Services((), {Limits: Settings().limits, EventStreams: no_streams})}


def main() -> None:
    """Serve on a free port, which is the one line it prints."""
    specification = json.loads(Path(sys.argv[1]).read_text())
    config = create_server_config(Settings())
    config.app = create_bare_app(**specification)
    config.factory = False
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()

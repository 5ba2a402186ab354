"""Who is sending to an upload in this process, so that a client that comes back is not kept out.

A connection may be dead for long before the service learns of it. Its client is back meanwhile and
asks where to go on; were it told what counts so far, it would send again what is already here, and
be refused when the dead request's bytes count in the end. So the question ends that request first.
A request in another process is not reached: there, the first to be counted wins.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from app.services.uploads.bodies import UploadBody

# What has come may take some time to be made durable; the question is answered all the same.
_PATIENCE_SECONDS = 20.0


class UploadTurns:
    """The bodies that are being read, by project and upload."""

    def __init__(self) -> None:
        self._sending: dict[tuple[str, str], dict[UploadBody, anyio.Event]] = {}

    @contextmanager
    def sending(self, project_id: str, upload_id: str, body: UploadBody) -> Iterator[None]:
        """Know of a body while the block takes it in."""
        key = (project_id, upload_id)
        bodies = self._sending.setdefault(key, {})
        ended = bodies[body] = anyio.Event()
        try:
            yield
        finally:
            ended.set()
            del bodies[body]
            if not bodies:
                self._sending.pop(key, None)

    async def interrupt(self, project_id: str, upload_id: str) -> None:
        """Stop all bodies of an upload, and wait until what came of them counts."""
        interrupted = dict(self._sending.get((project_id, upload_id), {}))
        for body in interrupted:
            body.stop()
        with anyio.move_on_after(_PATIENCE_SECONDS):
            for ended in interrupted.values():
                await ended.wait()

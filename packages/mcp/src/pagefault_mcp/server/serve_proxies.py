"""Run the service that the proxies of a user share, for `pagefault serve-proxies`.

A proxy starts it, see `pagefault_mcp.service_client.shared_service`. It serves while any proxy uses
it.
"""

import fcntl
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

import anyio
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from app.cli.terminal import CommandError, project_settings
from app.config.settings import Settings
from app.errors import UnauthorizedError
from app.features import open_services
from app.server.uvicorn_config import allow_open_files, served_app, server_config
from app.services.access.callers import Access
from app.stores.records.records import Records
from app.wiring.stores import migrate_in_subprocess
from pagefault_mcp.server.daemon import Notify
from pagefault_mcp.service_client.shared_folder import (
    KEY_PATH,
    find_socket,
    is_same_file,
    try_to_lock,
)

# Longer than hosts need to restart their servers when their configuration changes.
_UNUSED_SECONDS = 3.0
_POLL_SECONDS = 0.05
# A service that shuts down answers open requests for half a minute.
_ENDING_SECONDS = 60.0
_BACKLOG = 2_048
# macOS takes 103 bytes, Linux 107.
_LONGEST_ADDRESS_BYTES = 103
_SOCKET_SECONDS = 1.0
_TEMPORARY = "pagefault-"


def serve_proxies(
    folder: Path, data_dir: Path, env_file: Path | None, project: str | None, notify: Notify
) -> None:
    """Serve until no proxy uses the service; return at once if another process serves already.

    Args:
        folder: The shared folder; see `pagefault_mcp.service_client.shared_folder`.
        data_dir: The data directory.
        env_file: A settings file.
        project: The project; `None` for the default one.
        notify: Is called as soon as this or the other process serves.

    Raises:
        SystemExit: A setting is invalid.
    """
    settings, project_id = project_settings(data_dir, env_file, project)
    # Only its user can reach the service.
    changes = {"auth": "none", "default_project": project_id, "workers": 1, "log_level": "warning"}
    shared = settings.model_copy(update=changes)
    with (folder / "serving").open("ab") as serving, (folder / "used").open("ab") as used:
        if not _is_only_service(serving.fileno(), folder):
            notify()
            return
        signal.signal(signal.SIGTERM, _exit_on_signal)
        # A thread also ends a service that hangs while it opens its stores.
        threading.Thread(target=_end_unused, args=(used.fileno(),), daemon=True).start()
        serving.truncate(0)
        serving.write(b"%d\n" % os.getpid())
        serving.flush()
        try:
            # Relative paths in settings do not depend on the proxy that starts the service.
            os.chdir(data_dir)
            anyio.run(_open_once, shared)
            _serve(shared, folder, notify)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            serving.truncate(0)


def _serve(settings: Settings, folder: Path, notify: Notify) -> None:
    # A killed service leaves its socket behind.
    _remove_socket(folder, find_socket(folder))
    listener, address = _listen_in(folder)
    socket_status = address.stat()
    try:
        (folder / "address").write_bytes(os.fsencode(address))
        allow_open_files(settings)
        server = _SharedServer(server_config(settings, partial(_served_app, settings)), notify)
        threading.Thread(
            target=_end_unreachable, args=(address, socket_status), daemon=True
        ).start()
        server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # If the folder was removed and created again, it may have another service.
        if is_same_file(address, socket_status):
            _remove_socket(folder, address)


def _served_app(settings: Settings) -> FastAPI:
    """Return the application, with the route that checks keys for proxies."""
    app = served_app(settings)
    app.add_route(KEY_PATH, get_host_key, methods=["GET"], include_in_schema=False)
    return app


def _exit_on_signal(_number: int, _frame: FrameType | None) -> None:
    """End this process normally; uvicorn raises the signal again after its shutdown."""
    raise SystemExit(0)


def _is_only_service(serving: int, folder: Path) -> bool:
    """Return False if another service serves; wait for the end of one that is shutting down.

    Raises:
        CommandError: It does not end.
    """
    until = time.monotonic() + _ENDING_SECONDS
    while not try_to_lock(serving, fcntl.LOCK_EX):
        address = find_socket(folder)
        if address is not None:
            with suppress(OSError), socket.socket(socket.AF_UNIX) as other:
                other.connect(str(address))
                return False
        if time.monotonic() > until:
            pid = (folder / "serving").read_text().strip()
            msg = f"process {pid} holds {folder / 'serving'} and does not answer: end it"
            raise CommandError(msg)
        time.sleep(_POLL_SECONDS)
    return True


async def _open_once(settings: Settings) -> None:
    """Open the stores once, so that a failure is an error and not a traceback of the server."""
    await migrate_in_subprocess(settings)
    async with open_services(settings):
        return


def _listen_in(folder: Path) -> tuple[socket.socket, Path]:
    """Listen on a socket in a folder, or in a temporary folder; return it and its path.

    The folder comes first, since sandboxed programs have temporary folders of their own. Its path
    may be too long for a socket, or its file system may not support sockets.
    """
    address = folder / "socket"
    if len(os.fsencode(address)) <= _LONGEST_ADDRESS_BYTES:
        # A killed service may have left its socket without the address file.
        address.unlink(missing_ok=True)
        with suppress(OSError):
            return _listen(address), address
    address = Path(tempfile.mkdtemp(prefix=_TEMPORARY)) / "socket"
    if len(os.fsencode(address)) > _LONGEST_ADDRESS_BYTES:
        address.parent.rmdir()
        address = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir="/tmp")) / "socket"
    return _listen(address), address


def _listen(address: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(address))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_socket(folder: Path, address: Path | None) -> None:
    """Remove the socket of an ended service, its temporary folder, and its address file."""
    if address is None:
        return
    with suppress(OSError):
        address.unlink(missing_ok=True)
        if address.parent != folder:
            address.parent.rmdir()
    with suppress(OSError):
        if find_socket(folder) == address:
            (folder / "address").unlink()


def _end_unreachable(address: Path, socket_status: os.stat_result) -> None:
    """End the service when its socket is removed, so that proxies can start another.

    Cleaners remove old files from temporary folders, and users remove folders.
    """
    while is_same_file(address, socket_status):
        time.sleep(_SOCKET_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _end_unused(used: int) -> None:
    """End the service when no proxy has used it for a while; new proxies wait for its end."""
    while True:
        fcntl.flock(used, fcntl.LOCK_EX)
        fcntl.flock(used, fcntl.LOCK_UN)
        time.sleep(_UNUSED_SECONDS)
        if try_to_lock(used, fcntl.LOCK_EX):
            os.kill(os.getpid(), signal.SIGTERM)
            return


class _SharedServer(uvicorn.Server):
    """A uvicorn server that reports when it serves."""

    def __init__(self, config: uvicorn.Config, notify: Notify) -> None:
        super().__init__(config)
        self._notify = notify

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and report it."""
        await super().startup(sockets)
        self._notify()


async def get_host_key(request: Request) -> Response:
    """Answer 204 to a key of the service's project.

    Raises:
        UnauthorizedError: The key is missing, or of another project.
    """
    services = request.state.services
    access = Access(services[Records], None)
    caller = await access.caller_of(request.headers.get("authorization"))
    if caller.project_id != services[Access].default_project:
        raise UnauthorizedError
    return Response(status_code=204)

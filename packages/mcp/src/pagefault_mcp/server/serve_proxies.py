"""Run the service that the proxies of a user share, for `pagefault serve-proxies`.

A proxy starts this command in the background when no service runs yet; see
`pagefault_mcp.service_client.shared_service`. The service ends a few seconds after the last proxy
that uses it.
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

from app.cli.terminal import CommandError, read_project_settings
from app.config.settings import Settings
from app.errors import UnauthorizedError
from app.features import open_services
from app.server.uvicorn_config import allow_open_files, create_server_config, served_app
from app.services.access.callers import Access
from app.stores.records.records import Records
from app.wiring.stores import migrate_in_subprocess
from pagefault_mcp.server.daemon import ReportReady
from pagefault_mcp.service_client.shared_folder import (
    KEY_PATH,
    find_socket,
    is_same_file,
    try_to_lock,
)

# The time without a proxy after which the service ends. Hosts need less time to restart their
# proxies when their configuration changes.
_UNUSED_SECONDS = 3.0
_LOCK_POLL_SECONDS = 0.05
# The longest wait for another service that shuts down. It first completes its open requests, for up
# to 30 seconds.
_LONGEST_SHUTDOWN_SECONDS = 60.0
_BACKLOG = 2_048
# The longest path of a Unix socket has 103 bytes on macOS, and 107 on Linux.
_LONGEST_SOCKET_PATH_BYTES = 103
_SOCKET_CHECK_SECONDS = 1.0
_TEMPORARY_FOLDER_PREFIX = "pagefault-"


def serve_proxies(
    folder: Path,
    data_dir: Path,
    env_file: Path | None,
    project: str | None,
    report_ready: ReportReady,
) -> None:
    """Serve until no proxy uses the service any more.

    If another process serves the same folder, report that it is ready, and return.

    Args:
        folder: The shared folder; see `pagefault_mcp.service_client.shared_folder`.
        data_dir: The data directory.
        env_file: A settings file.
        project: The project; `None` for the default one.
        report_ready: Is called as soon as a service listens, in this process or the other one.

    Raises:
        SystemExit: A setting is invalid.
        CommandError: Another process has the lock of the service, but does not listen.
    """
    settings, project_id = read_project_settings(data_dir, env_file, project)
    # No API keys are needed, since only the user of the folder can connect to its socket.
    changes = {"auth": "none", "default_project": project_id, "workers": 1, "log_level": "warning"}
    settings = settings.model_copy(update=changes)
    with (
        (folder / "serving").open("ab") as serving_file,
        (folder / "used").open("ab") as used_file,
    ):
        if not _lock_unless_served(serving_file.fileno(), folder):
            report_ready()
            return
        signal.signal(signal.SIGTERM, _exit_on_signal)
        # This is a thread, not a task, so that it also ends a process that hangs in opening stores.
        threading.Thread(target=_end_unused, args=(used_file.fileno(),), daemon=True).start()
        serving_file.truncate(0)
        serving_file.write(b"%d\n" % os.getpid())
        serving_file.flush()
        try:
            # Relative paths in settings are relative to the data directory, whichever proxy starts
            # the service.
            os.chdir(data_dir)
            anyio.run(_try_to_open_stores, settings)
            _serve(settings, folder, report_ready)
        finally:
            # Another SIGTERM must not interrupt the clean-up.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            serving_file.truncate(0)


def _serve(settings: Settings, folder: Path, report_ready: ReportReady) -> None:
    """Listen on a new socket, and serve until the process gets SIGTERM; remove the socket."""
    # A killed service leaves its socket behind.
    _remove_socket(folder, find_socket(folder))
    listener, socket_path = _listen_in(folder)
    socket_status = socket_path.stat()
    try:
        (folder / "address").write_bytes(os.fsencode(socket_path))
        allow_open_files(settings)
        server = _ReportingServer(
            create_server_config(settings, partial(_make_app, settings)), report_ready
        )
        threading.Thread(
            target=_end_unreachable, args=(socket_path, socket_status), daemon=True
        ).start()
        server.run(sockets=[listener])
    finally:
        # Another SIGTERM must not interrupt the clean-up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # If the folder was removed and created again, the socket may be that of another service.
        if is_same_file(socket_path, socket_status):
            _remove_socket(folder, socket_path)


def _make_app(settings: Settings) -> FastAPI:
    """Return the application, with the route by which proxies check the API keys of their hosts."""
    app = served_app(settings)
    app.add_route(KEY_PATH, check_host_key, methods=["GET"], include_in_schema=False)
    return app


def _exit_on_signal(_number: int, _frame: FrameType | None) -> None:
    """Exit with status 0 at SIGTERM.

    While uvicorn runs, it handles the signal itself. After its shutdown it sends the signal to this
    process again, for this handler.
    """
    raise SystemExit(0)


def _lock_unless_served(serving_descriptor: int, folder: Path) -> bool:
    """Lock the open file `serving`; return False if another service has the lock and listens.

    A service that is shutting down has the lock, but does not listen. Wait until it has ended.

    Raises:
        CommandError: The other service neither listens nor ends.
    """
    deadline = time.monotonic() + _LONGEST_SHUTDOWN_SECONDS
    while not try_to_lock(serving_descriptor, fcntl.LOCK_EX):
        socket_path = find_socket(folder)
        if socket_path is not None:
            with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
                client.connect(str(socket_path))
                return False
        if time.monotonic() > deadline:
            pid = (folder / "serving").read_text().strip()
            msg = f"process {pid} holds {folder / 'serving'} and does not answer: end it"
            raise CommandError(msg)
        time.sleep(_LOCK_POLL_SECONDS)
    return True


async def _try_to_open_stores(settings: Settings) -> None:
    """Migrate the database, and open and close the stores.

    The server opens the stores again. It would log a failure as a traceback; here it is an error
    with one line, which the proxy shows.
    """
    await migrate_in_subprocess(settings)
    async with open_services(settings):
        return


def _listen_in(folder: Path) -> tuple[socket.socket, Path]:
    """Listen on a socket in a folder, or in a temporary folder; return it and its path.

    A socket in the folder is preferred, since sandboxed programs have temporary folders of their
    own. It is impossible if its path is too long, or the file system does not support sockets.
    """
    socket_path = folder / "socket"
    if len(os.fsencode(socket_path)) <= _LONGEST_SOCKET_PATH_BYTES:
        # A killed service may have left its socket without a file `address`.
        socket_path.unlink(missing_ok=True)
        with suppress(OSError):
            return _listen(socket_path), socket_path
    socket_path = Path(tempfile.mkdtemp(prefix=_TEMPORARY_FOLDER_PREFIX)) / "socket"
    if len(os.fsencode(socket_path)) > _LONGEST_SOCKET_PATH_BYTES:
        socket_path.parent.rmdir()
        socket_path = Path(tempfile.mkdtemp(prefix=_TEMPORARY_FOLDER_PREFIX, dir="/tmp")) / "socket"
    return _listen(socket_path), socket_path


def _listen(socket_path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(socket_path))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_socket(folder: Path, socket_path: Path | None) -> None:
    """Remove the socket of an ended service, its temporary folder, and the file `address`."""
    if socket_path is None:
        return
    with suppress(OSError):
        socket_path.unlink(missing_ok=True)
        if socket_path.parent != folder:
            socket_path.parent.rmdir()
    with suppress(OSError):
        if find_socket(folder) == socket_path:
            (folder / "address").unlink()


def _end_unreachable(socket_path: Path, socket_status: os.stat_result) -> None:
    """Wait until the socket is removed, then end the service, so that a proxy can start another.

    Programs that clean up temporary folders remove sockets, and users remove whole folders. Runs in
    a thread.
    """
    while is_same_file(socket_path, socket_status):
        time.sleep(_SOCKET_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _end_unused(used_descriptor: int) -> None:
    """Wait until no proxy has locked the open file `used` for a while, then end the service.

    The file stays locked, so that a new proxy waits until this process has ended. Runs in a thread.
    """
    while True:
        # Wait until no proxy has the lock, then look again later.
        fcntl.flock(used_descriptor, fcntl.LOCK_EX)
        fcntl.flock(used_descriptor, fcntl.LOCK_UN)
        time.sleep(_UNUSED_SECONDS)
        if try_to_lock(used_descriptor, fcntl.LOCK_EX):
            os.kill(os.getpid(), signal.SIGTERM)
            return


class _ReportingServer(uvicorn.Server):
    """A uvicorn server that reports when it has started to listen."""

    def __init__(self, config: uvicorn.Config, report_ready: ReportReady) -> None:
        super().__init__(config)
        self._report_ready = report_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and report it."""
        await super().startup(sockets)
        self._report_ready()


async def check_host_key(request: Request) -> Response:
    """Return status 204 if the request has an API key of the service's project.

    Raises:
        UnauthorizedError: The key is missing or invalid, or belongs to another project.
    """
    services = request.state.services
    # The service itself requires no keys, so this one does not use its `Access`.
    access = Access(services[Records], default_project=None)
    caller = await access.caller_of(request.headers.get("authorization"))
    if caller.project_id != services[Access].default_project:
        raise UnauthorizedError
    return Response(status_code=204)

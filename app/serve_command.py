"""`pagefault serve`: the API on a socket, by one process or several."""

import errno
import os
import socket
import tempfile
from pathlib import Path

import anyio
import uvicorn
from uvicorn.supervisors import Multiprocess

from app.server import allow_open_files, server_config
from app.setting_names import STARTED_BY
from app.setting_values import LARGEST_PORT
from app.settings import Settings
from app.telemetry import configure_logging, configure_process_logging, tell_address
from app.terminal import ERR, complain, read_settings, say
from app.wiring import open_container


def serve_api(
    data_dir: Path | None,
    env_file: Path | None,
    *,
    host: str | None,
    port: int | None,
    workers: int | None,
) -> None:
    """Serve until told to end.

    Raises:
        SystemExit: A setting makes no sense, or the port is not to be had.
    """
    configure_process_logging(with_output=True)
    settings = read_settings(data_dir, env_file, host=host, port=port, workers=workers)
    configure_process_logging(with_output=True)
    listening = _listen(settings.host, settings.port, is_option=port is not None)
    settings = settings.model_copy(update={"port": listening.getsockname()[1]})
    _hand_to_workers(settings)
    configure_logging(settings.log_format, settings.log_level)
    # Once here, so that a mistake in the settings is one sentence and not a worker's traceback,
    # and so that workers find the database migrated.
    anyio.run(_open_once, settings)
    address = f"http://{_shown_host(settings.host)}:{settings.port}"
    sentence = f"Pagefault is at {address}  (docs: /docs)"
    if not tell_address(sentence):
        say(sentence, to=ERR)
    config = server_config(settings)
    allow_open_files(settings)
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        with tempfile.TemporaryDirectory(prefix="pagefault-metrics-") as shared:
            # Where the workers put their metrics, so that each can show those of all.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
            Multiprocess(config, sockets=[listening]).run()


async def _open_once(settings: Settings) -> None:
    async with open_container(settings):
        return


def _listen(host: str, port: int, *, is_option: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as exc:
        # The number of an error of names is none of the system's; Python adds to its sentences.
        is_of_system = bool(exc.errno) and not isinstance(exc, socket.gaierror)
        reason = os.strerror(exc.errno or 0) if is_of_system else exc.strerror or str(exc)
        other = _other_place(exc, port, is_option=is_option)
        complain(f"cannot listen on {_shown_host(host)}:{port}: {reason}. {other}")
        raise SystemExit(1) from exc
    listening.set_inheritable(True)
    return listening


def _other_place(error: OSError, port: int, *, is_option: bool) -> str:
    """Return what to name instead of what cannot be listened on."""
    if error.errno == errno.EADDRINUSE and not isinstance(error, socket.gaierror):
        return _other_port(port, is_option=is_option)
    if error.errno == errno.EACCES:
        return "Ports below 1024 need special rights: name one above, such as `--port 8000`."
    return "Name an address of this machine: `--host 127.0.0.1`, or PAGEFAULT_HOST=127.0.0.1."


def _other_port(taken: int, *, is_option: bool) -> str:
    """Return how another port is named, in the words of whoever started the command."""
    port = taken + 1 if taken < LARGEST_PORT else 8000
    if os.environ.get(STARTED_BY) == "make run":
        return f"Name another one: `make run PORT={port}`."
    if is_option:
        return f"Name another one, such as `--port {port}`; `--port 0` takes a free one."
    return (
        f"Name another one: `--port {port}`, or PAGEFAULT_PORT={port}; `--port 0` takes a free one."
    )


def _hand_to_workers(settings: Settings) -> None:
    """Put what the command line said where worker processes read their settings."""
    os.environ["PAGEFAULT_HOST"] = settings.host
    os.environ["PAGEFAULT_PORT"] = str(settings.port)
    os.environ["PAGEFAULT_DATA_DIR"] = str(settings.data_dir.resolve())
    os.environ["PAGEFAULT_WORKERS"] = str(settings.workers)


def _shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host

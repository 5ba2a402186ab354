"""`pagefault serve`: the API on a socket, by one process or several."""

import os
import socket
import tempfile
from errno import EACCES, EADDRINUSE, EPERM
from pathlib import Path

import anyio
import uvicorn
from uvicorn.supervisors import Multiprocess

from app.cli.complaints import complain
from app.cli.terminal import ERR, read_settings, say
from app.config.names import STARTED_BY
from app.config.setting_values import LARGEST_PORT
from app.config.settings import Settings
from app.features import open_services
from app.server.uvicorn_config import allow_open_files, server_config
from app.telemetry.logs import configure_logging, configure_process_logging, tell_address

_USUAL_PORT = 8000
_LEAST_FREE_PORT = 1024


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
    async with open_services(settings):
        return


def _listen(host: str, port: int, *, is_option: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as exc:
        errno = getattr(exc, "errno", None) or 0
        way_out = _way_out(errno, port, is_option=is_option)
        complain(f"cannot listen on {_shown_host(host)}:{port}: {_reason(exc, errno)}. {way_out}")
        raise SystemExit(1) from exc
    listening.set_inheritable(True)
    return listening


def _reason(error: OSError | UnicodeError, errno: int) -> str:
    if errno > 0:
        return os.strerror(errno)
    # What looks names up has numbers of its own, and takes no empty or endless part of one.
    told = error.strerror if isinstance(error, OSError) else None
    return told or "not the name of a host"


def _way_out(errno: int, port: int, *, is_option: bool) -> str:
    if errno == EADDRINUSE:
        return _other_port(port + 1 if port < LARGEST_PORT else _USUAL_PORT, is_option=is_option)
    if errno in (EACCES, EPERM) and port < _LEAST_FREE_PORT:
        other = _other_port(_USUAL_PORT, is_option=is_option)
        return f"Ports below {_LEAST_FREE_PORT} are for privileged processes. {other}"
    if os.environ.get(STARTED_BY) == "make run":
        return "Name another host: PAGEFAULT_HOST=127.0.0.1."
    return "Name another host: `--host 127.0.0.1`, or PAGEFAULT_HOST=127.0.0.1."


def _other_port(port: int, *, is_option: bool) -> str:
    """Return how a port is named, in the words of whoever started the command."""
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

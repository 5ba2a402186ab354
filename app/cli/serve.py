"""`pagefault serve`: serve the API on a socket, with one or several processes."""

import os
import socket
import tempfile
from errno import EACCES, EADDRINUSE, EPERM
from pathlib import Path

import anyio
import uvicorn

from app.cli.error_output import print_error
from app.cli.terminal import ERR, print_line, read_settings
from app.config.setting_values import LARGEST_PORT
from app.config.settings import STARTED_BY_VARIABLE, Settings
from app.features import open_services
from app.server.uvicorn_config import allow_open_files, create_server_config
from app.server.worker_supervisor import WorkerSupervisor
from app.telemetry.logs import configure_logging, configure_process_logging, log_address

_DEFAULT_PORT = 8000
_FIRST_UNPRIVILEGED_PORT = 1024


def serve_api(
    data_dir: Path | None,
    env_file: Path | None,
    *,
    host: str | None,
    port: int | None,
    workers: int | None,
) -> None:
    """Run the server until the process gets SIGTERM or SIGINT.

    Raises:
        SystemExit: A setting is invalid, or the port is not available.
    """
    configure_process_logging(with_output=True)
    settings = read_settings(data_dir, env_file, host=host, port=port, workers=workers)
    configure_process_logging(with_output=True)
    listening = _open_socket(settings.host, settings.port, is_option=port is not None)
    settings = settings.model_copy(update={"port": listening.getsockname()[1]})
    # Workers read the options of the command line from the environment.
    os.environ["PAGEFAULT_HOST"] = settings.host
    os.environ["PAGEFAULT_PORT"] = str(settings.port)
    os.environ["PAGEFAULT_DATA_DIR"] = str(settings.data_dir.resolve())
    os.environ["PAGEFAULT_WORKERS"] = str(settings.workers)
    configure_logging(settings.log_format, settings.log_level)
    # The services are opened and closed once here: an invalid setting leads to an error message
    # instead of the traceback of a worker, and the database is migrated before workers start.
    anyio.run(_open_once, settings)
    address = f"http://{_format_host(settings.host)}:{settings.port}"
    message = f"Pagefault is at {address}  (docs: /docs)"
    if not log_address(message):
        print_line(message, to=ERR)
    config = create_server_config(settings)
    allow_open_files(settings)
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        with tempfile.TemporaryDirectory(prefix="pagefault-metrics-") as shared:
            # Workers write their metrics here, so that each worker can return those of all workers.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
            WorkerSupervisor(config, sockets=[listening]).run()


async def _open_once(settings: Settings) -> None:
    async with open_services(settings):
        return


def _open_socket(host: str, port: int, *, is_option: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as exc:
        errno = getattr(exc, "errno", None) or 0
        remedy = _suggest_remedy(errno, port, is_option=is_option)
        print_error(
            f"cannot listen on {_format_host(host)}:{port}: {_find_reason(exc, errno)}. {remedy}"
        )
        raise SystemExit(1) from exc
    listening.set_inheritable(True)
    return listening


def _find_reason(error: OSError | UnicodeError, errno: int) -> str:
    if errno > 0:
        return os.strerror(errno)
    # Errors of name resolution have negative numbers. A UnicodeError has none: it is raised for an
    # empty or too long label.
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or "not the name of a host"


def _suggest_remedy(errno: int, port: int, *, is_option: bool) -> str:
    if errno == EADDRINUSE:
        return _suggest_port(
            port + 1 if port < LARGEST_PORT else _DEFAULT_PORT, is_option=is_option
        )
    if errno in (EACCES, EPERM) and port < _FIRST_UNPRIVILEGED_PORT:
        other = _suggest_port(_DEFAULT_PORT, is_option=is_option)
        return f"Ports below {_FIRST_UNPRIVILEGED_PORT} are for privileged processes. {other}"
    if os.environ.get(STARTED_BY_VARIABLE) == "make run":
        return "Name another host: PAGEFAULT_HOST=127.0.0.1."
    return "Name another host: `--host 127.0.0.1`, or PAGEFAULT_HOST=127.0.0.1."


def _suggest_port(port: int, *, is_option: bool) -> str:
    """Return a sentence about choosing another port, with `make run`, the option or the setting."""
    if os.environ.get(STARTED_BY_VARIABLE) == "make run":
        return f"Name another one: `make run PORT={port}`."
    if is_option:
        return f"Name another one, such as `--port {port}`; `--port 0` takes a free one."
    return (
        f"Name another one: `--port {port}`, or PAGEFAULT_PORT={port}; `--port 0` takes a free one."
    )


def _format_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host

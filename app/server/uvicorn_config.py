"""The configuration of uvicorn, with the protocols of `app.server`."""

import gc
import resource
from collections.abc import Callable

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE

from app.config.settings import Settings
from app.main import create_app
from app.server.http_protocol import LimitedHttpProtocol
from app.server.lingering_close import AbortingWebSocketProtocol
from app.server.process import (
    accept_deep_json,
    collect_young_only,
    keep_freed_memory,
    switch_threads_often,
)
from app.telemetry.logs import configure_process_logging

_GRACEFUL_SHUTDOWN_SECONDS = 30
# While a worker starts, it does not reply to health checks. With a shorter timeout, the supervisor
# would replace it.
_WORKER_START_SECONDS = 60
# File descriptors for half-closed connections (`MAX_CLOSING_CONNECTIONS`), databases, logs and
# other files.
_OTHER_DESCRIPTORS = 256

_log = structlog.get_logger(__name__)


def create_server_config(
    settings: Settings, app: str | Callable[[], FastAPI] = "app.server.uvicorn_config:served_app"
) -> uvicorn.Config:
    """Return the server's configuration.

    Args:
        settings: The settings of the service.
        app: A factory of the application, or its import string. Worker processes need an import
            string.
    """
    return ServiceConfig(
        app,
        factory=True,
        workers=settings.workers,
        http=LimitedHttpProtocol,
        ws=AbortingWebSocketProtocol,
        log_config=None,
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        # Nothing depends on the address of the client, so forwarded headers are not read.
        proxy_headers=False,
        # Clients send only positions over a WebSocket.
        ws_max_size=4_096,
        ws_ping_interval=15.0,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=_WORKER_START_SECONDS,
    )


class ServiceConfig(uvicorn.Config):
    """uvicorn's configuration, which also configures the log of each worker when it starts."""

    def configure_logging(self) -> None:
        """Configure the log of this process; uvicorn calls this in each process."""
        super().configure_logging()
        level = self.log_level if isinstance(self.log_level, str) else "info"
        configure_process_logging(with_output=True, level=level)


def served_app(settings: Settings | None = None) -> FastAPI:
    """Create the application, and configure the process of the server; see `app.server.process`.

    Modules and other objects that exist now are excluded from garbage collection: to examine them
    takes a tenth of a second.

    Raises:
        SystemExit: The application cannot be loaded; the log has the reason.
    """
    accept_deep_json()
    keep_freed_memory()
    switch_threads_often()
    try:
        app = create_app(settings)
    except Exception as exc:
        _log.critical("the application cannot be loaded", exc_info=exc)
        raise SystemExit(STARTUP_FAILURE) from exc
    gc.freeze()
    collect_young_only()
    return app


def allow_open_files(settings: Settings) -> None:
    """Raise the limit of open files, for this process and its workers, to what the settings need.

    The system's default is often a thousand. A connection beyond the limit waits without a
    response. If the system's hard limit is too low, a warning is logged.
    """
    limits = settings.limits
    needed = limits.connections_at_once + limits.requests_at_once + _OTHER_DESCRIPTORS
    allowed, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= needed:
        return
    soft_limit = needed if hard_limit == resource.RLIM_INFINITY else min(needed, hard_limit)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard_limit))
    if soft_limit < needed:
        _log.warning("fewer open files than connections", allowed=soft_limit, wanted=needed)

"""Traces of a program that only sends requests, such as the proxy between a host and a server.

It is loaded only if they are on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

from app.telemetry.signals import exporter_names

_FLUSH_SECONDS = 3.0


@contextmanager
def client_traces(service: str, warn: Callable[[str], None]) -> Iterator[None]:
    """Export a span for each request that is sent in the block.

    Args:
        service: The name of the program.
        warn: Logs why nothing is exported.
    """
    try:
        from app.telemetry.trace_export import open_tracer_provider  # noqa: PLC0415 - an extra

        provider = open_tracer_provider(exporter_names("traces"), service)
    except Exception as exc:  # noqa: BLE001 - the SDK raises many for invalid variables
        warn(f"no traces are exported ({exc}); they need: pip install 'pagefault[otel]'")
        yield
        return
    try:
        yield
    finally:
        # A collector that does not answer must not delay the end of the program.
        flushing = Thread(target=provider.shutdown, daemon=True)
        flushing.start()
        flushing.join(_FLUSH_SECONDS)

"""A receiver of OTLP over HTTP in a process of its own, as a collector of traces and metrics.

The child ends when its standard input does, so it never outlives the test run that started it.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from tests.kit.process import WAIT_SECONDS

_Found = TypeVar("_Found")
_CHILD = """
import gzip, json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
writing = Lock()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        message = MessageToDict(KINDS[self.path].FromString(body))
        with writing:
            print(json.dumps({"headers": dict(self.headers), "message": message}), flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""


@dataclass(frozen=True)
class ReceivedSpan:
    """A span, with the ids of the protocol in base64."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, object]
    resource: dict[str, object]


@dataclass(frozen=True)
class ReceivedMetric:
    """A metric with its points; each point has its attributes and its figures."""

    name: str
    kind: str
    points: list[tuple[dict[str, object], dict[str, Any]]]
    resource: dict[str, object]


class OtlpReceiver:
    """A receiver on a free loopback port."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._lines: list[str] = []

    def __enter__(self) -> "OtlpReceiver":
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(WAIT_SECONDS)
        self._reader.join(WAIT_SECONDS)
        self._process.stdout.close()

    def environment(self, **more: str) -> dict[str, str]:
        """Return the variables with which a service exports to it, a few times a second."""
        quick = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, **quick, **more}

    @property
    def text(self) -> str:
        """Everything that was received: headers, and messages as JSON."""
        with self._news:
            return "".join(self._lines)

    def wait_for(self, find: Callable[["OtlpReceiver"], _Found | None]) -> _Found:
        """Return the first result that is not `None`, looked for at each message."""
        with self._news:
            found = self._news.wait_for(lambda: find(self), WAIT_SECONDS)
        assert found is not None, [(span.name, span.kind) for span in self.spans()]
        return found

    def spans(self) -> list[ReceivedSpan]:
        """Return all spans so far."""
        return list(self._spans())

    def _spans(self) -> Iterator[ReceivedSpan]:
        for message in self._messages():
            for group in message.get("resourceSpans", ()):
                resource = _attributes(group["resource"])
                for scope in group["scopeSpans"]:
                    for span in scope["spans"]:
                        yield ReceivedSpan(
                            span["name"],
                            span["kind"],
                            span["traceId"],
                            span["spanId"],
                            span.get("parentSpanId", ""),
                            _attributes(span),
                            resource,
                        )

    def metrics(self) -> list[ReceivedMetric]:
        """Return all metrics so far, the newest last."""
        return list(self._metrics())

    def _metrics(self) -> Iterator[ReceivedMetric]:
        for message in self._messages():
            for group in message.get("resourceMetrics", ()):
                resource = _attributes(group["resource"])
                for scope in group["scopeMetrics"]:
                    for metric in scope["metrics"]:
                        (kind,) = metric.keys() & {"sum", "gauge", "histogram"}
                        points = metric[kind].get("dataPoints", ())
                        found = [(_attributes(point), point) for point in points]
                        yield ReceivedMetric(metric["name"], kind, found, resource)

    def _messages(self) -> Iterator[dict[str, Any]]:
        with self._news:
            lines = list(self._lines)
        for line in lines:
            yield json.loads(line)["message"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()


def _attributes(owner: dict[str, Any]) -> dict[str, object]:
    return {
        attribute["key"]: next(iter(attribute["value"].values()))
        for attribute in owner.get("attributes", ())
    }

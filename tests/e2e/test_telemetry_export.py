"""Traces and metrics as a collector gets them, from a service that was started with `OTEL_*`."""

import base64
import re
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.config.settings import Settings
from tests.integration.sweep_stores import environment_of
from tests.kit.hostile_origin import HostileOrigin
from tests.kit.media import png
from tests.kit.otlp_receiver import OtlpReceiver, ReceivedMetric, ReceivedSpan
from tests.kit.process import PagefaultProcess

pytestmark = [pytest.mark.engines("embedded"), pytest.mark.xdist_group("heavy")]
_SECRET = "zzsecretzz"  # noqa: S105 - a marker
_TRACE, _CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_RESULTS = "/api/tool-results"
_TRACEPARENT = {"traceparent": f"00-{_TRACE}-{_CALLER}-01"}
_TRACE_ID = base64.b64encode(bytes.fromhex(_TRACE)).decode()
_CALLER_ID = base64.b64encode(bytes.fromhex(_CALLER)).decode()
_NEVER = "3600000"
_MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as made:
        yield made


@contextmanager
def serving(
    data_dir: Path, env: Mapping[str, str], *options: str
) -> Iterator[tuple[PagefaultProcess, httpx.Client]]:
    process = PagefaultProcess(data_dir, options=options, env=env)
    with process, process.client() as client:
        yield process, client


def post_result(client: httpx.Client, headers: Mapping[str, str] | None = None) -> None:
    data = base64.b64encode(png(noise=True)).decode()
    result = {"type": "image", "mimeType": "image/png", "data": data}
    body = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": {"content": [result]}}
    answer = client.post(_RESULTS, json=body, headers=headers)
    assert answer.status_code in (200, 201), answer.text


def span_of(
    name: str, kind: str = "SPAN_KIND_SERVER"
) -> Callable[[OtlpReceiver], ReceivedSpan | None]:
    """Return the function that finds the first span of a name and kind."""

    def find(receiver: OtlpReceiver) -> ReceivedSpan | None:
        spans = receiver.spans()
        return next((span for span in spans if (span.name, span.kind) == (name, kind)), None)

    return find


def tree(spans: list[ReceivedSpan], parent_id: str) -> dict[str, Any]:
    """Return the names of the spans below a span."""
    return {span.name: tree(spans, span.span_id) for span in spans if span.parent_id == parent_id}


@pytest.mark.engines("embedded", "server")
def test_request_is_a_trace_with_its_stages_and_its_calls_of_the_stores(
    settings: Settings, receiver: OtlpReceiver
) -> None:
    env = environment_of(settings) | receiver.environment(OTEL_SERVICE_NAME="memory")
    with serving(settings.data_dir, env) as (process, client):
        post_result(client, headers=_TRACEPARENT)
        request = receiver.wait_for(span_of(f"POST {_RESULTS}"))
        line = process.wait_for_log(re.compile(f'"route": "{_RESULTS}".*"trace_id": "(\\w+)"'))
    assert (request.kind, request.parent_id) == ("SPAN_KIND_SERVER", _CALLER_ID)
    assert request.attributes == {
        "http.request.method": "POST",
        "http.response.status_code": "201",
        "http.route": _RESULTS,
        "network.protocol.version": "1.1",
        "url.scheme": "http",
    }
    spans = [span for span in receiver.spans() if span.trace_id == _TRACE_ID]
    below = tree(spans, request.span_id)
    assert {
        name: set(inner) for name, inner in below.items() if not name.startswith("records")
    } == {
        "normalization": set(),
        "persistence": {"blobs.put_all"},
        "packaging": set(),
        "commit": {"records.write"},
    }
    system = "postgresql" if settings.db.url else "sqlite"
    stores = [span for span in spans if span.name.startswith("records.")]
    assert {store.attributes["db.system.name"] for store in stores} == {system}
    assert {store.kind for store in stores} == {"SPAN_KIND_CLIENT"}
    assert request.resource["service.name"] == "memory"
    assert line.group(1) == _TRACE


def test_probes_have_no_spans_and_streams_have_one(tmp_path: Path, receiver: OtlpReceiver) -> None:
    with serving(tmp_path / "data", receiver.environment()) as (_, client):
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client.get(path).status_code == 200
        post_result(client)
        with client.stream("GET", "/api/events", params={"after": 0}) as stream:
            assert any("toolResult" in line for line in stream.iter_lines())
            assert [span.name for span in receiver.spans() if "events" in span.name] == []
        opened = receiver.wait_for(span_of("GET /api/events"))
        spans = receiver.spans()
    of_stream = [span for span in spans if span.trace_id == opened.trace_id]
    assert [item.kind for item in of_stream].count("SPAN_KIND_SERVER") == 1
    assert {field.name.partition(".")[0] for field in of_stream} <= {"GET /api/events", "records"}
    assert not {"GET /healthz", "GET /readyz", "GET /metrics"} & {span.name for span in spans}


@pytest.mark.promise(
    "security.md#logs",
    "Traces and metrics that are exported have no key, token, path, query, header or body",
    kept_by="app/telemetry/trace_export.py",
    tried="14 places in requests and messages, and the URL of a fetched file",
)
def test_secrets_of_requests_are_not_exported(tmp_path: Path, receiver: OtlpReceiver) -> None:
    everything = {
        f"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_{side}_{direction}": ".*"
        for side in ("SERVER", "CLIENT")
        for direction in ("REQUEST", "RESPONSE")
    }
    with HostileOrigin() as origin:
        origin.behaviours[f"/{_SECRET}"] = origin.behaviours["/ok.png"]
        allow = {"PAGEFAULT_FETCH__ALLOW": f"127.0.0.1:{origin.port}"}
        env = receiver.environment(**everything) | allow
        with serving(tmp_path / "data", env) as (_, client):
            headers = {
                "Authorization": f"Bearer {_SECRET}",
                "X-Api-Key": _SECRET,
                "Cookie": f"key={_SECRET}",
                "X-Request-ID": _SECRET,
                "User-Agent": _SECRET,
            }
            client.get("/api/search", params={"q": _SECRET, "key": _SECRET}, headers=headers)
            client.get(f"/api/pages/{_SECRET}", headers=headers)
            client.get("/api/pages", headers=headers | {"Host": _SECRET})
            client.get(f"/{_SECRET}", params={"token": _SECRET})
            client.post(_RESULTS, content=_SECRET, headers=headers)
            for method in (_SECRET, "tools/call", "resources/read"):
                named = {"name": _SECRET, "uri": _SECRET, "arguments": {"q": _SECRET}}
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": named}
                answer = client.post("/mcp?session=s", json=message, headers=_MCP)
                assert answer.json()["id"] == 1
            address = f"http://127.0.0.1:{origin.port}/{_SECRET}?key={_SECRET}"
            page = {"modality": "image", "content": address}
            assert client.put(f"/api/pages/{_SECRET}", json=page).status_code == 201
            download = f"/api/pages/{_SECRET}/download"
            traced = _TRACEPARENT | {"baggage": "user=zzcallerzz", "tracestate": f"v={_SECRET}"}
            assert client.get(download, headers=traced).status_code == 200
            receiver.wait_for(span_of("GET /api/pages/{page_id}/download"))
            fetch = receiver.wait_for(span_of("GET", "SPAN_KIND_CLIENT"))
    assert _SECRET not in receiver.text
    assert base64.b64encode(_SECRET.encode()).decode() not in receiver.text
    assert fetch.trace_id == _TRACE_ID
    assert fetch.attributes["server.address"] == "127.0.0.1"
    (sent,) = (request for request in origin.requests if _SECRET in request)
    parent = base64.b64decode(fetch.span_id).hex()
    assert f"traceparent: 00-{_TRACE}-{parent}-01" in sent
    assert "zzcallerzz" not in sent


def test_metrics_are_those_of_prometheus(tmp_path: Path, receiver: OtlpReceiver) -> None:
    with serving(tmp_path / "data", receiver.environment()) as (_, client):
        post_result(client)
        scraped = client.get("/metrics").text

        def find(receiver: OtlpReceiver) -> dict[str, ReceivedMetric] | None:
            found = {metric.name: metric for metric in receiver.metrics()}
            counted = found.get("pagefault_ingested_bytes")
            return found if counted and counted.points[0][1]["asDouble"] else None

        found = receiver.wait_for(find)
    kinds = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
    types = re.findall(r"^# TYPE (\w+) (counter|gauge|histogram)$", scraped, re.MULTILINE)
    named = {
        name.removesuffix("_total"): kinds[kind]
        for name, kind in types
        if not name.endswith("_created")
    }
    assert {name: value.kind for name, value in found.items()} == named
    stages = {point[0]["stage"]: point[1] for point in found["pagefault_stage_seconds"].points}
    assert {name: stage["count"] for name, stage in stages.items()} == dict.fromkeys(
        ("normalization", "persistence", "packaging", "commit"), "1"
    )
    commit = stages["commit"]
    assert [int(count) for count in commit["bucketCounts"]].count(1) == 1
    assert len(commit["bucketCounts"]) == len(commit["explicitBounds"]) + 1


def test_each_worker_is_an_instance_of_its_own(tmp_path: Path, receiver: OtlpReceiver) -> None:
    def find(receiver: OtlpReceiver) -> set[object] | None:
        ids = {metric.resource["service.instance.id"] for metric in receiver.metrics()}
        return ids if len(ids) > 1 else None

    with serving(tmp_path / "data", receiver.environment(), "--workers", "2"):
        instances = receiver.wait_for(find)
    assert len(instances) == 2


def test_process_that_ends_exports_what_is_left(tmp_path: Path, receiver: OtlpReceiver) -> None:
    env = receiver.environment(OTEL_BSP_SCHEDULE_DELAY=_NEVER, OTEL_METRIC_EXPORT_INTERVAL=_NEVER)
    with serving(tmp_path / "data", env) as (process, client):
        post_result(client)
        assert receiver.text == ""
        process.stop()
        receiver.wait_for(span_of(f"POST {_RESULTS}"))
        receiver.wait_for(lambda receiver: receiver.metrics() or None)


def test_collectors_that_do_not_answer_stop_neither_requests_nor_the_end(tmp_path: Path) -> None:
    with socket.socket() as closed, socket.create_server(("127.0.0.1", 0)) as silent:
        closed.bind(("127.0.0.1", 0))
        env = {
            f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT": f"http://127.0.0.1:{port.getsockname()[1]}"
            for name, port in (("TRACES", closed), ("METRICS", silent))
        }
        env |= {"OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_METRIC_EXPORT_INTERVAL": "10"}
        with serving(tmp_path / "data", env) as (process, client):
            for _ in range(20):
                post_result(client)
            assert process.stop() in (0, -signal.SIGTERM)
            assert "Transient error" not in process.logs


def test_exporter_that_is_not_installed_is_logged_and_the_service_starts(tmp_path: Path) -> None:
    with serving(tmp_path / "data", {"OTEL_TRACES_EXPORTER": "pigeon"}) as (process, client):
        post_result(client)
        line = process.wait_for_log(re.compile('"event": "not exported"')).string
    assert "pigeon" in line
    assert '"level": "error"' in line


def test_nothing_is_loaded_while_exports_are_off(tmp_path: Path) -> None:
    # It makes the command one that is not loaded yet.
    env = {"PYTHONPROFILEIMPORTTIME": "1"}
    with serving(tmp_path / "data", env) as (process, client):
        post_result(client)
        loaded = re.findall(r"^import time: +\d+ \| +\d+ \| +([\w.]+)", process.logs, re.MULTILINE)
    assert "fastapi" in loaded
    unneeded = ("opentelemetry.sdk", "opentelemetry.exporter", "app.telemetry.trace", "google")
    assert [name for name in loaded if name.startswith(unneeded)] == []

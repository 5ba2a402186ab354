"""Health, readiness, metrics and logs: what those see who run the service."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from app.config.settings import Settings
from tests.kit.event_streams import WAIT_SECONDS, listening
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import png
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, LiveService, serving

MARKER = "zzmarkerzz"
METRICS = {
    "pagefault_requests_total",
    "pagefault_request_seconds_bucket",
    "pagefault_request_seconds_count",
    "pagefault_request_seconds_sum",
    "pagefault_ingested_bytes_total",
    "pagefault_saved_bytes_total",
    "pagefault_event_delay_seconds_bucket",
    "pagefault_event_delay_seconds_count",
    "pagefault_event_delay_seconds_sum",
    "pagefault_event_streams",
    "pagefault_event_streams_ended_total",
    "pagefault_stage_seconds_bucket",
    "pagefault_stage_seconds_count",
    "pagefault_stage_seconds_sum",
    "pagefault_scrubbed_blobs_total",
    "pagefault_scrubbed_bytes_total",
    "pagefault_scrub_faults_total",
    "pagefault_memory_held_bytes",
    "pagefault_memory_refusals_total",
    "pagefault_database_connections",
    "pagefault_database_connections_max",
    "pagefault_database_waiting",
    "pagefault_search_backlog_age_seconds",
    "pagefault_search_backlog_entries",
    "pagefault_event_feed_lag_events",
    "pagefault_event_listener_lag_events",
    "pagefault_event_notifications_missing",
    "pagefault_frontier_moves_total",
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
}
_SAMPLE = re.compile(r"^(\w+)(\{[^}]*\})? ([0-9.e+-]+)$", re.MULTILINE)


def anyone(service: LiveService) -> httpx.Client:
    return httpx.Client(
        base_url=service.base_url, timeout=30, trust_env=False, verify=TRUSTS_NOBODY
    )


def samples(client: httpx.Client) -> dict[str, float]:
    """The metrics' values by name and labels."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {name + labels: float(value) for name, labels, value in _SAMPLE.findall(answer.text)}


def post_result(client: httpx.Client, result: object, **members: object) -> httpx.Response:
    body = {"toolName": "t", "toolCallId": "c", "result": result, **members}
    return client.post("/api/tool-results", json=body)


def test_health_and_readiness_need_no_key(service: LiveService) -> None:
    with anyone(service) as client:
        health, ready = client.get("/healthz"), client.get("/readyz")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "database": "ok", "blobs": "ok", "events": "ok"},
    )


@dataclass(frozen=True)
class Fault:
    """A store of a service that goes away."""

    backends: Backends
    settings: Settings

    def lose_blobs(self) -> None:
        """Put files where the folders are, or remove the bucket and all in it."""
        if self.settings.blobs.url is None:
            for name in ("tmp", "blobs"):
                shutil.rmtree(self.settings.data_dir / name)
                (self.settings.data_dir / name).write_text("no folder any more")
            return
        bucket = urlsplit(self.settings.blobs.url).netloc
        self.backends.object_store.remove_bucket(bucket)

    def lose_database(self) -> None:
        """Drop the server's database under its connections."""
        assert self.settings.db.url is not None
        database = urlsplit(self.settings.db.url.get_secret_value()).path.strip("/")
        with psycopg.connect(self.backends.postgres.url("postgres"), autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())


@pytest.fixture
def fault(backends: Backends, settings: Settings) -> Fault:
    return Fault(backends, settings)


def assert_unready(answer: httpx.Response, code: str = "store-unavailable") -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, code)
    assert answer.headers["retry-after"].isdigit()


def test_readiness_ends_with_the_blob_store_and_health_does_not(fault: Fault) -> None:
    with serving(fault.settings) as service, anyone(service) as client:
        assert client.get("/readyz").status_code == 200
        fault.lose_blobs()
        code = "store-misconfigured" if fault.settings.blobs.url else "store-unavailable"
        assert_unready(client.get("/readyz"), code)
        assert client.get("/healthz").status_code == 200
        with service.client() as caller:
            assert_unready(caller.post("/api/resources", content=png(noise=True)), code)
            assert caller.get("/api/resources").json()["items"] == []


def test_database_that_went_away_ends_readiness_and_nothing_else(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    with serving(settings) as service, service.client() as client:
        assert client.get("/api/resources").status_code == 200
        Fault(backends, settings).lose_database()
        for answer in (
            client.get("/readyz"),
            client.get("/api/resources"),
            client.post("/api/resources", content=png()),
            post_result(client, 1, sessionId="s"),
        ):
            assert_unready(answer, "store-misconfigured")
            assert answer.json()["cause"] == "missing-database"
        assert client.get("/healthz").status_code == 200


def test_metrics_are_named_and_labelled_by_route(
    service: LiveService, client: httpx.Client
) -> None:
    post_result(client, "x")
    client.get(f"/api/tool-results/{MARKER}")
    client.get(f"/api/tool-results/{MARKER}", params={"q": MARKER})
    client.get(f"/{MARKER}")
    with anyone(service) as scraper:
        found = samples(scraper)
        text = scraper.get("/metrics").text
    own = {
        name.partition("{")[0] for name in found if not name.partition("{")[0].endswith("_created")
    }
    assert own == METRICS
    assert MARKER not in text
    for stage in ("normalization", "persistence", "packaging", "commit"):
        assert found[f'pagefault_stage_seconds_count{{stage="{stage}"}}'] >= 1
    for status in (404, 422):
        sentence = (
            f'{{method="GET",route="/api/tool-results/{{tool_result_id}}",status="{status}"}}'
        )
        assert f"pagefault_requests_total{sentence}" in text


def test_delay_of_each_delivered_event_is_measured(service: LiveService) -> None:
    with service.client() as client, anyone(service) as scraper:
        before = samples(scraper)
        post_result(client, "nobody listens")
        with listening(client, "/api/events") as stream:
            post_result(client, "x", toolCallId="heard")
            stream.next()
        after = samples(scraper)
    count, total = (f"pagefault_event_delay_seconds_{name}" for name in ("count", "sum"))
    assert after[count] - before[count] == 1
    assert 0 < after[total] - before[total] < WAIT_SECONDS


def test_saved_bytes_grow_by_what_readers_are_spared(client: httpx.Client) -> None:
    before = samples(client)
    answer = post_result(client, "word " * 10_000)
    after = samples(client)
    kept = len(answer.content.partition(b',"sanitized":')[2]) - 1
    grown = {
        name: after[f"pagefault_{name}_bytes_total"] - before[f"pagefault_{name}_bytes_total"]
        for name in ("ingested", "saved")
    }
    came_in = len(answer.request.content)
    assert grown == {"ingested": came_in, "saved": came_in - kept}


@pytest.fixture(scope="module")
def logged(
    pagefault: LoadedCommand, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[str]]]:
    """Return the log of a real process for requests full of secrets, and the secrets."""
    data_dir = tmp_path_factory.mktemp("logged")
    env = {"PAGEFAULT_AUTH": "api-key", "PAGEFAULT_LOG_FORMAT": "json"}
    made = pagefault.run("keys", "create", "--project", "p", "--data-dir", str(data_dir), env=env)
    key = made.stdout.strip()
    with PagefaultProcess(data_dir, env=env) as process:
        with process.client(key) as client:
            token = ask_everything(client)
        process.stop()
        yield process.logs, [key, key.split("_")[2], token, MARKER]


def ask_everything(client: httpx.Client) -> str:
    """Send the marker in every place a request has; returns a signed token."""
    post_result(client, MARKER, sessionId="s")
    post_result(client, 1, toolName=f"{MARKER}\n\x1b[31m", **{f"un{MARKER}": 1})
    client.post("/api/tool-results", content=f"{{{MARKER}".encode())
    created = client.post(
        "/api/resources",
        content=MARKER.encode(),
        params={"filename": f"{MARKER}.txt"},
        headers={"X-Custom": MARKER, "X-Request-ID": f"a {MARKER}"},
    )
    path = created.headers["location"]
    link = httpx.URL(client.post(f"{path}/signed-url").json()["url"])
    client.get(f"{path}/content", params={"token": link.params["token"]})
    client.get(f"{path}/content", params={"token": f"{MARKER}.x"})
    client.get(f"/{MARKER}", params={MARKER: MARKER})
    client.get("/api/resources", headers={"Authorization": f"Bearer {MARKER}"})
    client.get(f"/api/tool-results/%00%0a{MARKER}")
    client.get("/api/tool-results", params={"cursor": MARKER})
    client.get("/healthz")
    return link.params["token"]


def test_log_is_one_json_object_a_line(logged: tuple[str, list[str]]) -> None:
    text, _ = logged
    lines = [line for line in text.splitlines() if not line.startswith("Pagefault is at ")]
    entries = [json.loads(line) for line in lines]
    requests = [entry for entry in entries if entry["event"] == "request"]
    assert all({"level", "timestamp", "logger"} <= set(entry) for entry in entries)
    assert len(requests) == 11
    assert {frozenset(entry) for entry in requests} == {
        frozenset(
            {"event", "level", "logger", "timestamp", "milliseconds"}
            | {"request_id", "method", "route", "status"}
        )
    }


def test_log_holds_no_secret_and_nothing_of_a_request(logged: tuple[str, list[str]]) -> None:
    text, secrets = logged
    assert [secret for secret in secrets if secret in text] == []


@pytest.mark.slow
def test_what_is_wrong_with_an_image_is_logged_as_json_too() -> None:
    script = """
from pagefault_dialects.model.resource import ImageRecipe
from pagefault_dialects.model.media import InMemoryMedia
from app.services.images.image_tasks import ImageTask
from app.services.images.pixels import make_image
from app.services.media.media_checks import probe_media
from app.telemetry.logs import configure_logging
from tests.kit.images import picture, saved

configure_logging("json", "info")
cut = b"II*\\0\\x08\\0\\0\\0\\1\\0\\0\\1\\4\\0"
probe_media(cut, InMemoryMedia(cut), "image/tiff")
packed = saved(picture(), "TIFF", compression="tiff_lzw")
damaged = packed[:200] + bytes(1_000) + packed[1_200:]
for data in (cut, damaged):
    for claimed in ("image/tiff", "image/png"):
        for recipe in (ImageRecipe(("image/png",), 9), None):
            make_image(data, ImageTask(claimed, recipe, 10**6, 10**7))
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    entries = [json.loads(line) for line in done.stderr.splitlines()]
    assert {entry["logger"] for entry in entries} == {"py.warnings"}


@pytest.mark.promise(
    "security.md#logs",
    "A traceback holds no local variable",
    kept_by="app/telemetry/logs.py",
    tried="2 formats",
)
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_traceback_in_the_log_holds_no_local_variable(log_format: str) -> None:
    script = f"""
import logging
import structlog
from app.telemetry.logs import configure_logging

configure_logging({log_format!r}, "info")

def fail(authorization):
    raise LookupError("expected")

try:
    fail("".join(reversed("terces-a")))
except LookupError as exc:
    structlog.get_logger("app").error("request_failed", exc_info=exc)
    logging.getLogger("uvicorn.error").error("request failed", exc_info=exc)
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("LookupError") >= 2
    assert "a-secret" not in done.stderr

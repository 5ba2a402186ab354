"""With `PAGEFAULT_LOG_FORMAT=json` the real command writes JSON and nothing else."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_errors import HOSTILE
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import PagefaultProcess

JSON = {"PAGEFAULT_LOG_FORMAT": "json"}
NO_REQUESTS = (
    b"\x00\x01\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /api/resources HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
    b"POST /api/resources HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /api/sessions/s/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n\xff\xff",
)


def entries(text: str) -> list[dict[str, Any]]:
    """The lines of a text, each of which is a log entry."""
    found = [json.loads(line) for line in text.splitlines()]
    assert all({"event", "level", "logger", "timestamp"} <= set(entry) for entry in found)
    return found


@pytest.mark.promise(
    "security.md#logs",
    "With `PAGEFAULT_LOG_FORMAT=json`, a failed start is reported as JSON too",
    kept_by="app/telemetry/json_output.py",
    tried="8 failures",
)
@pytest.mark.parametrize(
    ("arguments", "env", "status", "said"),
    [
        ([], {"PAGEFAULT_PORT": "x"}, 2, "pagefault: PAGEFAULT_PORT: "),
        ([], {"PAGEFAULT_DATADIR": "x"}, 2, "Did you mean PAGEFAULT_DATA_DIR?"),
        ([], {"PAGEFAULT_LIMITS": "x"}, 2, "docs/settings.md"),
        ([], {"PAGEFAULT_CORS_ORIGINS": '["http://a.test"]'}, 2, "write http://a.test"),
        ([], {"PAGEFAULT_DB__URL": "postgresql://u@127.0.0.1:1/x"}, 1, "pagefault: "),
        (["--data-dir", "/proc/none/data"], {}, 1, "cannot make the data directory"),
        (["--bogus"], {}, 2, "serve --help"),
        (["--port", "x"], {}, 2, "serve --help"),
    ],
    ids=str,
)
def test_start_that_fails_says_so_as_json(
    pagefault: LoadedCommand,
    tmp_path: Path,
    arguments: list[str],
    env: dict[str, str],
    status: int,
    said: str,
) -> None:
    given = {**JSON, "PAGEFAULT_PORT": "0", "PAGEFAULT_DATA_DIR": str(tmp_path / "data"), **env}
    done = pagefault.run("serve", *arguments, env=given)
    assert (done.returncode, done.stdout) == (status, "")
    found = entries(done.stderr)
    assert {entry["level"] for entry in found if said in entry["event"]} == {"error"}


def test_port_in_use_is_said_as_json(pagefault: LoadedCommand, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = pagefault.run(
            "serve", "--port", port, "--data-dir", str(tmp_path / "data"), env=JSON
        )
    assert "cannot listen on" in entries(done.stderr)[0]["event"]


@pytest.mark.promise(
    "security.md#logs",
    "With `PAGEFAULT_LOG_FORMAT=json`, all output of the service is JSON until it ends",
    kept_by="app/telemetry/json_output.py",
    tried="every hostile request and 6 that are no HTTP, 2 levels",
)
@pytest.mark.parametrize("level", ["info", "error"])
def test_service_writes_json_from_its_start_to_its_end(tmp_path: Path, level: str) -> None:
    env = {**JSON, "PAGEFAULT_LOG_LEVEL": level}
    with PagefaultProcess(tmp_path / "data", env=env) as process:
        with process.client() as client:
            for asked in HOSTILE.values():
                asked.send(client)
        for sent in NO_REQUESTS:
            with socket.create_connection(("127.0.0.1", process.port)) as connection:
                connection.sendall(sent)
        process.stop()
        found = entries(process.logs)
    assert found[0]["event"].startswith("Pagefault is at http://127.0.0.1:")
    assert (len(found) > len(HOSTILE)) is (level == "info")


@pytest.mark.promise(
    "security.md#logs",
    "With `PAGEFAULT_LOG_FORMAT=json`, the output of workers and their supervisor is JSON",
    kept_by="app/telemetry/json_output.py",
    tried="2 workers, 1 killed",
)
def test_workers_and_their_supervisor_write_json(tmp_path: Path) -> None:
    # Killed, a worker is replaced; without its supervisor, one fails and ends by itself.
    process = PagefaultProcess(
        tmp_path / "data", options=["--workers", "2"], env=JSON, is_installed=True
    )
    with process:
        started = re.compile("Application startup complete")
        process.wait_for_log(started, times=2)
        worker = process.wait_for_log(re.compile(r"Started server process \[(\d+)\]")).group(1)
        os.kill(int(worker), signal.SIGKILL)
        process.wait_for_log(started, times=3)
        process.stop()
        said = [entry["event"] for entry in entries(process.logs)]
    assert any(event.startswith("Child process") for event in said)


@pytest.mark.promise(
    "security.md#logs",
    "Warnings, unhandled exceptions and what libraries print become lines of JSON",
    kept_by="app/telemetry/json_output.py",
    tried="9 ways",
)
def test_text_of_anybody_becomes_a_line_of_json() -> None:
    script = """
import asyncio, gc, sys, threading, traceback, warnings
from app.telemetry.logs import configure_process_logging

configure_process_logging(with_output=True)
print("printed")
sys.stderr.write("a part ")
sys.stderr.write("and the rest\\n\\nanother\\n")
warnings.warn("a warning")
try:
    raise LookupError("traced")
except LookupError:
    traceback.print_exc()

class Broken:
    def __del__(self):
        raise LookupError("unraisable")

Broken()

def fail():
    raise LookupError("thread")

thread = threading.Thread(target=fail)
thread.start()
thread.join()

async def forgotten():
    async def fail():
        raise LookupError("task")
    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    gc.collect()

asyncio.run(forgotten())
sys.stderr.write("no end")
sys.stderr.flush()
raise LookupError("uncaught")
"""
    env = {**os.environ, **JSON, "PYTHONWARNINGS": "always"}
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=env
    )
    assert (done.returncode, done.stdout) == (1, "")
    said = [entry["event"] for entry in entries(done.stderr)]
    for text in ("printed", "a part and the rest", "another", "no end"):
        assert text in said
    for text in ("a warning", "LookupError: traced", "xception ignored", "in a thread"):
        assert any(text in event for event in said)
    assert any("Task exception was never retrieved" in event for event in said)
    assert "uncaught exception" in said
    assert "uncaught" in done.stderr.splitlines()[-1]


def test_failure_of_the_log_itself_ends() -> None:
    script = """
import logging, sys
from app.telemetry.logs import configure_process_logging

configure_process_logging(with_output=True)
logging.getLogger("app").warning("%d", "no number")
sys.stderr.write("goes on\\n")
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **JSON},
    )
    assert "goes on" in [entry["event"] for entry in entries(done.stderr)]

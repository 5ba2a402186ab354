"""Claude Code and Codex resume what `pagefault export` wrote; `make hosts-check` runs this.

Their packages have 800 MB, so this is no part of `make check`. The provider is a server of the test
on loopback, and every other address is behind a proxy that does not exist.
"""

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from packages.doctor.tests.e2e.test_transcript_exports import HOSTS, lines_of
from packages.doctor.tests.e2e.test_transcripts import write
from tests.kit.process import ROOT, run_command

Json = dict[str, Any]

PROGRAMS = ROOT / "peers" / "coding_hosts" / "node_modules"
NOWHERE = "http://127.0.0.1:9"
SECONDS = 120
CONFIGURATION = """
model = "m"
model_provider = "test"
[model_providers.test]
name = "test"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "TEST_KEY"
"""
USAGE = {"input_tokens": 1, "output_tokens": 1}
ANTHROPIC_EVENTS: list[Json] = [
    {
        "type": "message_start",
        "message": {
            **{"id": "msg_9", "type": "message", "role": "assistant", "model": "m"},
            **{"content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Resumed."},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE},
    {"type": "message_stop"},
]
OPENAI_EVENTS: list[Json] = [
    {"type": "response.created", "response": {"id": "r"}},
    {
        "type": "response.output_item.done",
        "item": {
            **{"type": "message", "role": "assistant", "id": "m"},
            "content": [{"type": "output_text", "text": "Resumed."}],
        },
    },
    {
        "type": "response.completed",
        "response": {"id": "r", "usage": {**USAGE, "total_tokens": 2}},
    },
]


@contextmanager
def provider() -> Iterator[tuple[str, list[Json]]]:
    """Serve both providers; return the address, and the requests for a model's answer."""
    requests: list[Json] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            is_anthropic = self.path.startswith("/v1/messages")
            requests.append(json.loads(body))
            events = ANTHROPIC_EVENTS if is_anthropic else OPENAI_EVENTS
            texts = [f"event: {item['type']}\ndata: {json.dumps(item)}\n\n" for item in events]
            answer = "".join(texts).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def export(folder: Path, origin: str, host: str) -> tuple[str, bytes]:
    """Store a transcript of a host, export it for one; return the id of its session, and it."""
    file, output = folder / "before.jsonl", folder / "exported.jsonl"
    write(file, HOSTS[origin])
    data_dir = ("--data-dir", str(folder / "data"))
    ingested = run_command("ingest", str(file), "--session", "s", *data_dir)
    work = str(folder / "work")
    exported = run_command(
        *("export", "s", "--as", host, "--output", str(output), "--folder", work, *data_dir)
    )
    assert (ingested.returncode, exported.returncode) == (0, 0), exported.stderr
    content = output.read_bytes()
    first = lines_of(content)[0]
    return first.get("sessionId") or first["payload"]["id"], content


def place(home: Path, host: str, name: str, content: bytes, url: str) -> list[str]:
    """Put a transcript where its host looks for it; return the command that resumes it."""
    if host == "codex":
        folder, file = home / ".codex" / "sessions", f"rollout-{name}.jsonl"
        program = next(PROGRAMS.glob("@openai/codex-*/vendor/*/bin/codex"))
        command = [str(program), "exec", "--skip-git-repo-check", "resume", name, "And now?"]
    else:
        project = re.sub(r"[^A-Za-z0-9]", "-", str(home / "work"))
        folder, file = home / ".claude" / "projects" / project, f"{name}.jsonl"
        program = next(PROGRAMS.glob("@anthropic-ai/claude-code-*/claude"))
        command = [str(program), "-p", "--resume", name, "And now?"]
    folder.mkdir(parents=True)
    (folder / file).write_bytes(content)
    if host == "codex":
        (home / ".codex" / "config.toml").write_text(CONFIGURATION.format(url=url))
    return command


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("origin", HOSTS)
def test_host_resumes_an_exported_session(tmp_path: Path, origin: str, host: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    name, content = export(tmp_path, origin, host)
    with provider() as (url, requests):
        done = subprocess.run(  # noqa: S603 - the program that is tested
            place(tmp_path, host, name, content, url),
            cwd=work,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "HTTPS_PROXY": NOWHERE,
                "HTTP_PROXY": NOWHERE,
                "NO_PROXY": "127.0.0.1",
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "none",
                "TEST_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout.strip()[-8:]) == (0, "Resumed."), done.stderr
    sent = json.dumps(requests[-1].get("messages") or requests[-1]["input"])
    ids = ("t1", "t2") if origin == "claude-code" else ("c1", "c2")
    words = ["look", *ids, "Two files." if origin == "claude-code" else "Done.", "And now?"]
    places = [sent.index(word) for word in words]
    assert places == sorted(places)

"""`pagefault export` and its route: sessions as transcripts of Claude Code and Codex."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from packages.doctor.tests.e2e.test_transcripts import (
    call,
    findings,
    image,
    reply,
    result,
    rollout,
    text,
    user,
    write,
)
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import b64, png

Json = dict[str, Any]

PICTURE = image(b64(png(64, 64)))
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
CLAUDE_CODE: list[Json | str] = [
    user(1, "look"),
    reply(2, THOUGHT, name="m1"),
    reply(3, text("I look."), name="m1"),
    reply(4, call("t1"), name="m1"),
    reply(5, call("t2"), name="m1"),
    user(6, [result("t1", [PICTURE, text("a.png")])]),
    user(7, [result("t2")]),
    reply(8, text("Two files."), name="m2"),
    user(9, [text("Thanks."), PICTURE]),
]
SHELL = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
PATCH = {"type": "custom_tool_call", "name": "apply_patch", "input": "x", "call_id": "c2"}
CODEX: list[Json | str] = [
    rollout("session_meta", {"id": "s", "cwd": "/p"}),
    rollout(
        "response_item",
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
    ),
    rollout("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "abc"}),
    rollout("response_item", SHELL),
    rollout("response_item", {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}),
    rollout("response_item", PATCH),
    rollout("response_item", {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"}),
    rollout(
        "response_item",
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done."}],
        },
    ),
]
OPEN_CALL: Json = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "shell", "arguments": "{}"},
}
HOSTS = {"claude-code": CLAUDE_CODE, "codex": CODEX}


class Stores:
    """A data directory, used by commands."""

    def __init__(self, pagefault: LoadedCommand, folder: Path) -> None:
        self._pagefault = pagefault
        self._folder = folder

    def run(self, *arguments: str) -> str:
        done = self._pagefault.run(*arguments, "--data-dir", str(self._folder / "data"))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ingest(self, file: Path, session: str) -> str:
        return self.run("ingest", str(file), "--session", session)

    def export(self, session: str, host: str, name: str) -> Path:
        file = self._folder / name
        self.run("export", session, "--as", host, "--output", str(file), "--folder", "/p")
        return file


@pytest.fixture
def stores(pagefault: LoadedCommand, tmp_path: Path) -> Stores:
    return Stores(pagefault, tmp_path)


def lines_of(content: bytes) -> list[Json]:
    """Return the lines of a transcript."""
    return [json.loads(line) for line in content.splitlines()]


def messages_of(content: bytes) -> list[Json]:
    """Return the messages of a transcript, without the rest of their lines."""
    kinds = ("user", "assistant", "response_item")
    return [
        line.get("message") or line["payload"]
        for line in lines_of(content)
        if line["type"] in kinds
    ]


@pytest.mark.promise
@pytest.mark.parametrize("host", HOSTS)
def test_transcript_that_was_ingested_is_exported_and_ingested_again(
    stores: Stores, pagefault: LoadedCommand, tmp_path: Path, host: str
) -> None:
    file = tmp_path / "before.jsonl"
    write(file, HOSTS[host])
    assert findings(pagefault, file) == []
    stores.ingest(file, "first")
    exported = stores.export("first", host, "exported.jsonl")
    assert findings(pagefault, exported) == []
    # The session lacks nothing of its export, and another session becomes the same.
    assert ": 0 messages appended" in stores.ingest(exported, "first")
    stores.ingest(exported, "second")
    again = stores.export("second", host, "again.jsonl")
    assert messages_of(again.read_bytes()) == messages_of(exported.read_bytes())


@pytest.mark.parametrize(("host", "other"), [("claude-code", "codex"), ("codex", "claude-code")])
def test_session_goes_on_in_the_other_host(
    stores: Stores, pagefault: LoadedCommand, tmp_path: Path, host: str, other: str
) -> None:
    file = tmp_path / "before.jsonl"
    write(file, HOSTS[host])
    stores.ingest(file, "s")
    assert findings(pagefault, stores.export("s", other, "other.jsonl")) == []


def test_lines_are_those_of_claude_code(stores: Stores, tmp_path: Path) -> None:
    file = tmp_path / "before.jsonl"
    write(file, CLAUDE_CODE)
    stores.ingest(file, "s")
    lines = lines_of(stores.export("s", "claude-code", "s.jsonl").read_bytes())
    members = CLAUDE_CODE[0]
    assert isinstance(members, dict)
    assert all(line.keys() == members.keys() for line in lines)
    assert {line["cwd"] for line in lines} == {"/p"}
    assert len({line["sessionId"] for line in lines}) == 1
    path = [None, *(line["uuid"] for line in lines)]
    assert [line["parentUuid"] for line in lines] == path[:-1]
    assert sorted(line["timestamp"] for line in lines) == [line["timestamp"] for line in lines]
    answers = [line["message"] for line in lines if line["type"] == "assistant"]
    assert [(answer["id"], answer["model"]) for answer in answers] == [("m1", "m"), ("m2", "m")]


def test_codex_shows_what_was_written(stores: Stores, tmp_path: Path) -> None:
    file = tmp_path / "before.jsonl"
    write(file, CODEX)
    stores.ingest(file, "s")
    lines = lines_of(stores.export("s", "codex", "s.jsonl").read_bytes())
    assert [line["payload"] for line in lines if line["type"] == "event_msg"] == [
        {"type": "user_message", "message": "look"},
        {"type": "agent_message", "message": "Done."},
    ]
    assert lines[0]["type"] == "session_meta"


def test_existing_file_is_not_replaced(
    stores: Stores, pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "before.jsonl"
    before = write(file, CODEX)
    stores.ingest(file, "s")
    data_dir = ("--data-dir", str(tmp_path / "data"))
    done = pagefault.run("export", "s", "--as", "codex", "--output", str(file), *data_dir)
    assert (done.returncode, done.stdout) == (1, "")
    assert "exists: choose another name" in " ".join(done.stderr.split())
    assert file.read_bytes() == b"".join(before)


@pytest.mark.parametrize("host", HOSTS)
def test_route_exports_any_session_without_a_fault(
    client: httpx.Client, pagefault: LoadedCommand, tmp_path: Path, host: str
) -> None:
    history = [
        {"role": "system", "content": "Secret."},
        {"role": "user", "content": "look"},
        {"role": "assistant", "tool_calls": [OPEN_CALL]},
        {"role": "user", "content": "Stop."},
        {"role": "assistant", "content": "Stopped."},
    ]
    client.put("/api/sessions/s/history", json=history).raise_for_status()
    path = "/api/sessions/s/transcript"
    answer = client.get(path, params={"host": host, "folder": "/p"})
    file = tmp_path / "s.jsonl"
    file.write_bytes(answer.content)
    assert findings(pagefault, file) == []
    assert b"Secret." not in answer.content
    assert b"Stopped." in answer.content
    etag = answer.headers["etag"]
    again = client.get(path, params={"host": host, "folder": "/p"}, headers={"If-None-Match": etag})
    assert (answer.headers["content-type"], again.status_code) == ("application/x-ndjson", 304)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/sessions/s/messages", {"role": "system", "content": "Secret."}),
        ("/api/pages", {"session_id": "s", "content": "A page."}),
    ],
)
def test_session_without_turns_has_a_transcript_without_messages(
    client: httpx.Client, path: str, body: Json
) -> None:
    client.post(path, json=body).raise_for_status()
    answers = [client.get(f"/api/sessions/s/transcript?host={host}") for host in HOSTS]
    assert [(answer.status_code, answer.content.count(b"\n")) for answer in answers] == [
        (200, 0),
        (200, 1),
    ]


def test_transcript_fits_its_limit(client: httpx.Client) -> None:
    history: list[Json] = [{"role": "user", "content": "look"}]
    for number in range(20):
        made = {**OPEN_CALL, "id": f"call_{number}"}
        history += [
            {"role": "assistant", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": made["id"], "content": "word " * 1_000},
        ]
    client.put("/api/sessions/s/history", json=history).raise_for_status()
    path = "/api/sessions/s/transcript?host=codex"
    whole, small = (client.get(path + more).content for more in ("", "&maxTokens=4000"))
    assert len(small) < len(whole) / 4


def test_conversation_that_went_back_is_stored_as_a_fork(
    stores: Stores, pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    lines: list[Json | str] = [user(1, "a"), reply(2, text("b")), user(3, "c")]
    write(file, lines)
    stores.ingest(file, "s")
    lines += [user(4, "e", parent=2), reply(5, text("f"))]
    write(file, lines)
    ingest = ("ingest", str(file), "--session", "s")
    refused = pagefault.run(*ingest, "--data-dir", str(tmp_path / "data"))
    assert refused.returncode == 1
    words = " ".join(refused.stderr.split())
    assert "has another conversation from seq 3 on, and nothing was appended" in words
    outcomes = [stores.run(*ingest, "--fork", "t")]
    write(file, [*lines, user(6, "g")])
    outcomes.append(stores.run(*ingest, "--fork", "t"))
    assert [line.partition(";")[0] for line in outcomes] == [
        "session t has the conversation up to seq 4: 2 messages appended",
        "session t has the conversation up to seq 5: 1 message appended",
    ]


def test_session_is_exported_as_a_file_of_html_which_is_never_replaced(
    stores: Stores, pagefault: LoadedCommand, tmp_path: Path
) -> None:
    before = tmp_path / "before.jsonl"
    write(before, CLAUDE_CODE)
    stores.ingest(before, "first")
    file, data_dir = tmp_path / "first.html", ("--data-dir", str(tmp_path / "data"))
    stores.run("export", "first", "--as", "html", "--output", str(file))
    document = file.read_text()
    assert document.startswith("<!doctype html>\n")
    assert stores.run("export", "first", "--as", "html") == document
    again = pagefault.run("export", "first", "--as", "html", "-o", str(file), *data_dir)
    assert (again.returncode, file.read_text()) == (1, document)
    assert "exists: choose another name" in again.stderr
    refused = pagefault.run("export", "first", "--as", "html", "--max-tokens", "9000", *data_dir)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "are for transcripts" in refused.stderr

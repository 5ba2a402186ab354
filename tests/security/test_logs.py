"""Logs of hostile requests: one JSON object a line, without texts of the requests."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.contract.test_errors import HOSTILE
from tests.kit.event_streams import ticket_of
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import PagefaultProcess
from tests.security.test_names_and_ids import IDS, NAMES, spelled

pytestmark = pytest.mark.xdist_group("hostile-log")

SECRET = "zz-secret-zz"  # noqa: S105 - to be looked for
BREAKING = f'{SECRET}"}}\n{{"event":"forged","level":"info"}}\r\n\u2028\x1b[31m'
TELLING = {"Cookie": f"a={SECRET}", "Referer": f"https://a.test/?{SECRET}", "User-Agent": SECRET}


def asked_everything(client: httpx.Client) -> int:
    """Send the corpora, the secret in each request; returns how many requests that were."""
    answers = []
    for asked in HOSTILE.values():
        path = f"{asked.path}{'&' if '?' in asked.path else '?'}{SECRET}={SECRET}"
        answers.append(replace(asked, path=path).send(client))
    for text in (*NAMES, *IDS, BREAKING):
        spelling = spelled(text + BREAKING)
        answers.append(client.get(f"/api/resources/{spelling}/content", params={"token": SECRET}))
        answers.append(client.post(f"/api/resources?filename={spelling}", content=SECRET))
    call = {"toolName": BREAKING, "toolCallId": BREAKING, "result": BREAKING}
    answers.append(client.post("/api/tool-results", json=call))
    answers.append(client.put("/api/pages/p", json={"content": BREAKING, BREAKING: BREAKING}))
    return len(answers)


@pytest.fixture(scope="module")
def logged(
    pagefault: LoadedCommand, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[list[str], int, list[str]]]:
    """The lines of a process, how many requests it had, and every secret in them."""
    folder = tmp_path_factory.mktemp("logged") / Path("data")
    env = {"PAGEFAULT_AUTH": "api-key", "PAGEFAULT_LOG_FORMAT": "json"}
    made = pagefault.run("keys", "create", "--project", "p", "--data-dir", str(folder), env=env)
    key = made.stdout.strip()
    with PagefaultProcess(folder, env=env) as process:
        with process.client(key) as client:
            client.headers.update(TELLING)
            ticket = ticket_of(client)
            client.get("/api/pages", params={"ticket": ticket, "token": ticket})
            count = asked_everything(client) + 2
        process.stop()
        lines = [line for line in process.logs.split("\n") if line]
        yield lines, count, [key, key.split("_")[2], ticket, SECRET, "forged"]


@pytest.mark.promise(
    "security.md#logs",
    "Every line of the log is one JSON object, one for each request",
    kept_by="app/telemetry/logs.py",
    tried="172 requests",
)
def test_every_line_of_the_log_is_one_json_object(logged: tuple[list[str], int, list[str]]) -> None:
    lines, count, _ = logged
    entries = [json.loads(line) for line in lines if not line.startswith("Pagefault is at ")]
    assert all({"event", "level", "timestamp", "logger"} <= set(entry) for entry in entries)
    assert len([entry for entry in entries if entry["event"] == "request"]) == count
    assert {entry["level"] for entry in entries} == {"info"}


@pytest.mark.promise(
    "security.md#logs",
    "No line holds a key, a ticket or a text of a request",
    kept_by="app/telemetry/logs.py",
    tried="5 secrets, 0 found",
)
def test_log_holds_nothing_secret(logged: tuple[list[str], int, list[str]]) -> None:
    lines, _, secrets = logged
    assert [secret for secret in secrets if any(secret in line for line in lines)] == []

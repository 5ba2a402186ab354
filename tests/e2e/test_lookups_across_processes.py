"""Two processes over the same stores: what one is asked for is what the other has just left."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.sweep_stores import environment_of
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine

MESSAGES = "/api/sessions/s/messages"

# The tests share two processes of each engine.
pytestmark = pytest.mark.xdist_group("lookups")


@pytest.fixture(scope="module")
def data_dir(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(engine) / "data"


@pytest.fixture(scope="module")
def env(backends: Backends, engine: Engine, data_dir: Path) -> dict[str, str]:
    """Both processes' settings."""
    settings = backends.settings(engine, data_dir)
    told = {name: value for name, value in environment_of(settings).items() if value is not None}
    return told | {"PAGEFAULT_AUTH": "api-key"}


@pytest.fixture(scope="module")
def key(pagefault: LoadedCommand, env: dict[str, str]) -> str:
    made = pagefault.run("keys", "create", "--project", "p", env=env)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@pytest.fixture(scope="module")
def clients(env: dict[str, str], key: str, data_dir: Path) -> Iterator[tuple[httpx.Client, ...]]:
    """A client of each of the two."""
    with ExitStack() as stack:
        processes = [stack.enter_context(PagefaultProcess(data_dir, env=env)) for _ in range(2)]
        yield tuple(stack.enter_context(process.client(key)) for process in processes)


def done(answer: httpx.Response) -> dict[str, Any]:
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


def said(client: httpx.Client) -> list[str]:
    return [entry["content"] for entry in done(client.get(MESSAGES))["items"]]


def test_reader_sees_what_the_other_process_writes_deletes_and_makes_again(
    clients: tuple[httpx.Client, ...],
) -> None:
    writer, reader = clients
    for content in ("a", "b"):
        done(writer.post(MESSAGES, json={"role": "user", "content": content}))
    assert said(reader) == ["a", "b"]
    done(writer.post(MESSAGES, json={"role": "user", "content": "c"}))
    assert said(reader) == ["a", "b", "c"]
    result = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": "r"}
    record = writer.post("/api/tool-results", json=result).headers["location"]
    done(writer.put("/api/pages/p", json={"content": "one", "session_id": "s"}))
    assert done(reader.get(record))["toolName"] == "t"
    assert done(reader.get("/api/pages/p"))["content"] == "one"
    done(writer.put("/api/pages/p", json={"content": "two", "session_id": "s"}))
    assert done(reader.get("/api/pages/p"))["content"] == "two"
    done(writer.delete("/api/sessions/s"))
    gone = [reader.get(path).status_code for path in (record, "/api/pages/p", MESSAGES)]
    assert gone == [404, 404, 404]
    done(writer.post(MESSAGES, json={"role": "user", "content": "d"}))
    assert said(reader) == ["d"]


def test_key_that_a_command_revokes_is_refused_at_the_very_next_request(
    clients: tuple[httpx.Client, ...], pagefault: LoadedCommand, env: dict[str, str], key: str
) -> None:
    assert [client.get("/api/resources").status_code for client in clients] == [200, 200]
    revoked = pagefault.run("keys", "revoke", key.split("_")[1], env=env)
    assert revoked.returncode == 0, revoked.stderr
    assert [client.get("/api/resources").status_code for client in clients] == [401, 401]

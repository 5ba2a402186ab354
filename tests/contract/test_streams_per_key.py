"""A key may listen with so many streams at once, however it shows itself; others are not kept."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from app.config.settings import EventSettings
from app.wire.problem import Problem
from tests.contract.session_requests import append
from tests.kit.event_streams import listening, ticket_of
from tests.kit.listening_sockets import refusal, socket_of
from tests.kit.servers import Backends, LiveService, serving

MOST = 3
TOO_MANY = (429, "too-many-streams")


@pytest.fixture
def service(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service where a key has three streams."""
    settings = backends.settings("embedded", tmp_path / "data")
    events = EventSettings(streams_per_key=MOST)
    with serving(settings.model_copy(update={"events": events})) as started:
        yield started


def refused(client: httpx.Client, query: str = "") -> tuple[int, str]:
    answer = client.get(f"/api/events{query}")
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) >= 1
    problem = Problem.model_validate_json(answer.content)
    return problem.status, problem.code


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A key cannot open more streams than its limit, by header, ticket or WebSocket",
    kept_by="app/services/events/streams.py",
    tried="429 with `Retry-After`",
)
def test_one_stream_more_than_a_key_may_have_is_refused_by_every_way(service: LiveService) -> None:
    with service.client() as client, service.client() as other, ExitStack() as stack:
        append(client, content="x")
        tickets = [ticket_of(client) for _ in range(2)]
        stack.enter_context(listening(client))
        stack.enter_context(listening(client, ticket=tickets[0]))
        with socket_of(client, "?after=0") as last:
            # Its place is taken when the handshake is answered.
            assert last.recv(timeout=30)
            assert refused(client) == TOO_MANY
            assert refused(other, f"?ticket={tickets[1]}") == TOO_MANY
            assert refusal(client) == TOO_MANY
            with listening(other):
                pass


def test_place_is_free_again_when_a_stream_has_ended(service: LiveService) -> None:
    with service.client() as client:
        append(client, content="x")
        with ExitStack() as stack:
            for _ in range(MOST):
                stack.enter_context(listening(client, after=0)).next()
            assert refused(client) == TOO_MANY
        until_free(client)


def until_free(client: httpx.Client) -> None:
    """Return when a stream may be opened, as a client that comes back does."""
    for _ in range(1_000):
        with client.stream("GET", "/api/events") as answer:
            if answer.status_code == 200:
                return
    pytest.fail("no place became free")

"""Clients that leave before their answer: what is done for them all the same."""

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from app.config.settings import Settings
from app.main import create_app

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded")]


async def status_after_departure(settings: Settings, path: str, value: object) -> int:
    """Post a value, leave, and return the status of the answer, which no client would read."""
    app = create_app(settings.model_copy(update={"auth": "none"}))
    async with app.router.lifespan_context(app) as state:

        async def left(scope: Scope, receive: Receive, send: Send) -> None:
            body = [await receive()]

            async def receive_all() -> Message:
                return body.pop() if body else {"type": "http.disconnect"}

            await app({**scope, "state": dict(state or {})}, receive_all, send)

        transport = httpx.ASGITransport(app=left)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post(path, json=value)).status_code


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A diagnosis or a rendering ends with its current step when its client has left; a step takes "
    "a second of processor time at most",
    kept_by="app/services/renders/turn_resolver.py",
    tried="a diagnosis: its first step is not begun",
)
async def test_diagnosis_does_not_go_on_for_a_client_that_has_left(settings: Settings) -> None:
    # Its first step would refuse what is no history with a 422.
    assert await status_after_departure(settings, "/api/doctor", {"no": "history"}) == 400


async def test_what_a_client_sent_is_stored_though_it_has_left(settings: Settings) -> None:
    call = {"toolName": "t", "toolCallId": "c", "result": "a word " * 10_000}
    assert await status_after_departure(settings, "/api/tool-results", call) == 201

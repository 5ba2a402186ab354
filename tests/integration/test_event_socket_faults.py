"""A WebSocket whose client goes while it is sent an event."""

import asyncio
import gc
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
import pytest
from fastapi import WebSocket
from starlette.types import Message

from app.config.settings import Settings
from app.features import open_services
from app.models.event import NewEvent
from app.routers.events import _SocketStream
from app.services.access.callers import Access, Caller
from app.services.concurrency.background import run_beside
from app.services.events.streams import EventStreams
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.services import Services

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


async def write(services: Services) -> None:
    def note(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        seq = unit[SessionRecords].take_numbers("s")
        unit.add_event(NewEvent("page:created", "p", NOW, session_id="s", seq=seq))

    await services[Records].write(PROJECT, note)


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A client that disconnects while an event is sent leaves no unhandled exception",
    kept_by="app/routers/events.py",
    tried="both engines",
)
async def test_client_that_goes_while_it_is_sent_an_event_leaves_no_exception_behind(
    settings: Settings,
) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: reported.append(said))
    has_gone = anyio.Event()

    async def send(message: Message) -> None:
        if message["type"] == "websocket.send":
            has_gone.set()
            raise OSError("the client has gone")

    said = iter([{"type": "websocket.connect"}])

    async def receive() -> Message:
        for message in said:
            return message
        await has_gone.wait()
        return {"type": "websocket.disconnect", "code": 1006}

    async with open_services(settings) as services:
        await services[Access].ensure_project(PROJECT)
        await write(services)
        socket = WebSocket({"type": "websocket", "headers": []}, receive, send)
        conversation = _SocketStream(socket, services[EventStreams], Caller(PROJECT, None), "s")
        with anyio.fail_after(30):
            async with run_beside(conversation.receive()):
                await conversation.run(0)
    del conversation
    gc.collect()
    await anyio.lowlevel.checkpoint()
    assert reported == []

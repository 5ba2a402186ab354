"""Noticing that a client has left, without taking from the application what it has sent."""

from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message

from app.http.request_context import DisconnectWatcher

pytestmark = pytest.mark.anyio
WHOLE: Message = {"type": "http.request", "body": b"whole", "more_body": False}
PART: Message = {"type": "http.request", "body": b"part", "more_body": True}
GONE: Message = {"type": "http.disconnect"}


class Server:
    """Says the messages it is given, in order, and then waits."""

    def __init__(self, *messages: Message) -> None:
        self._to_say = list(messages)

    async def receive(self) -> Message:
        if not self._to_say:
            await anyio.sleep_forever()
        return self._to_say.pop(0)


async def is_noticed(watch: Callable[[], object]) -> bool:
    """Return whether the wait for the departure ends when the loop has nothing else to do."""
    noticed = False

    async def wait() -> None:
        nonlocal noticed
        await watch()  # type: ignore[misc]
        noticed = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return noticed


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((GONE,), True),
        ((WHOLE, GONE), True),
        ((WHOLE,), False),
        ((PART, GONE), False),
        ((), False),
    ],
    ids=["gone", "gone after its body", "there", "body not read yet", "nothing said"],
)
async def test_departure_is_noticed_once_the_body_is_there(
    messages: tuple[Message, ...], expected: bool
) -> None:
    watcher = DisconnectWatcher(Server(*messages).receive)
    assert await is_noticed(watcher.wait_for_disconnect) is expected


async def test_what_was_said_meanwhile_is_handed_on() -> None:
    watcher = DisconnectWatcher(Server(PART, WHOLE).receive)
    assert not await is_noticed(watcher.wait_for_disconnect)
    assert [await watcher.receive(), await watcher.receive()] == [PART, WHOLE]


async def test_body_that_is_read_while_its_client_is_watched_stays_in_order() -> None:
    pieces: list[Message] = [{**PART, "body": b"%d" % number} for number in range(5)]
    sender, receiver = anyio.create_memory_object_stream[Message]()
    watcher = DisconnectWatcher(receiver.receive)
    read: list[Message] = []

    async def watch() -> None:
        while True:
            with anyio.move_on_after(0):
                await watcher.wait_for_disconnect()
            await anyio.lowlevel.checkpoint()

    async def take() -> None:
        while len(read) <= len(pieces):
            read.append(await watcher.receive())
        tasks.cancel_scope.cancel()

    with sender, receiver:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            tasks.start_soon(watcher.wait_for_disconnect)
            tasks.start_soon(take)
            for piece in (*pieces, WHOLE):
                await sender.send(piece)
    assert read == [*pieces, WHOLE]

"""A host of MCP that records each message before its SDK reads it."""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import BaseModel

from tests.kit.process import WAIT_SECONDS

Json: TypeAlias = dict[str, Any]
Place: TypeAlias = StdioServerParameters | str
"""The command line of a server, or its URL."""

_Said: TypeAlias = SessionMessage | Exception

OWN_TOOLS = ["page_fault", "search_pages", "read_text", "view_media", "save_page", "list_media"]
"""The tools that a proxy adds to those of its server."""


@dataclass
class Heard:
    """The received messages of a host, in their order."""

    messages: list[Json] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    def add(self, said: _Said) -> None:
        """Note a message; a transport's own error ends the test."""
        if isinstance(said, Exception):
            raise said
        self.messages.append(said.message.model_dump(mode="json", exclude_unset=True))
        self._news.set()

    async def until(self, is_enough: Callable[[list[Json]], bool]) -> None:
        """Wait for messages, as long as a test waits."""
        with anyio.move_on_after(WAIT_SECONDS):
            while not is_enough(self.messages):
                self._news = anyio.Event()
                await self._news.wait()


@asynccontextmanager
async def _noted(
    streams: AbstractAsyncContextManager[Any], heard: Heard
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[_Said], Any]]:
    """Put a recording stream before that of a transport."""
    told, hears = anyio.create_memory_object_stream[_Said]()

    async def pass_on(said_by_server: Any) -> None:  # noqa: ANN401 - of each transport another one
        # A host that leaves does not listen to the end.
        with suppress(anyio.BrokenResourceError):
            async with told:
                async for said in said_by_server:
                    heard.add(said)
                    await told.send(said)

    async with streams as (read, write), anyio.create_task_group() as group:
        group.start_soon(pass_on, read)
        yield hears, write
        group.cancel_scope.cancel()


def _in_turn(answers: Iterable[BaseModel]) -> Callable[..., Awaitable[BaseModel]]:
    left = iter(answers)

    async def answer(*_: object) -> BaseModel:
        return next(left)

    return answer


@asynccontextmanager
async def host_of(
    place: Place, answers: Mapping[str, Sequence[BaseModel]]
) -> AsyncIterator[tuple[Client, Heard]]:
    """Connect a host to a server.

    Args:
        place: The server.
        answers: The answers of the host to requests of the server, by the client's callbacks.
    """
    heard = Heard()
    at = streamable_http_client(place) if isinstance(place, str) else stdio_client(place)
    callbacks: dict[str, Any] = {name: _in_turn(answer) for name, answer in answers.items()}
    async with Client(_noted(at, heard), **callbacks) as client:
        yield client, heard


def without_own_tools(messages: Iterable[Json]) -> list[Json]:
    """Return messages with lists of tools as a server made them."""
    return [_without_own_tools(message) for message in messages]


def _without_own_tools(message: Json) -> Json:
    tools = message.get("result", {}).get("tools", ())
    if [tool["name"] for tool in tools[-len(OWN_TOOLS) :]] != OWN_TOOLS:
        return message
    return {**message, "result": {**message["result"], "tools": tools[: -len(OWN_TOOLS)]}}

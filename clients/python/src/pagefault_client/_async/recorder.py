"""Conversations of agents, which their frameworks load and save."""

import contextlib
from typing import Any, Unpack

from pagefault_client._async.sessions import AsyncSession
from pagefault_client.errors import NotFoundError
from pagefault_client.options import SessionRenderOptions, Target


class AsyncRecorder:
    """A session whose messages are recorded by a framework after its tools have run.

    Tools with a recorder store their results only. The calls are in the messages that the framework
    saves; renderings have each result behind its call.

    Args:
        session: The session.
        options: Options of `load`, such as `max_tokens`.

    Attributes:
        unsaved_calls: The ids of calls whose results are stored, and whose messages are not.
    """

    def __init__(self, session: AsyncSession, **options: Unpack[SessionRenderOptions]) -> None:
        self.session = session
        # As in the results that a model has read.
        self.options: SessionRenderOptions = {"handles": True, **options}
        self.unsaved_calls: set[str] = set()

    async def load(self, target: Target) -> list[dict[str, Any]]:
        """Return the messages for the next request; an empty list if there is no session yet."""
        try:
            rendering = await self.session.render(target, **self.options)
        except NotFoundError:
            return []
        return rendering["messages"]

    async def save(self, messages: Any) -> None:  # noqa: ANN401 - of any SDK
        """Append new messages; see `AsyncSession.extend`."""
        await self.session.extend(messages)
        self.unsaved_calls.clear()

    async def clear(self) -> None:
        """Delete the session with its history and its pages."""
        with contextlib.suppress(NotFoundError):
            await self.session.delete()
        self.unsaved_calls.clear()

"""What is to be sent to a host that is served over HTTP: one exchange for each stream of it."""

from collections import deque
from dataclasses import dataclass, field

import anyio

from app.mcp.lines import Line

_MOST_WAITING_LINES = 1_000


@dataclass(eq=False)
class Exchange:
    """What a host has posted and waits for, or the stream that it has opened."""

    name: str = ""
    """Its name within the session."""
    waiting: set[object] = field(default_factory=set)
    """The ids of its requests that are not answered, as the server knows them."""
    renamed: dict[str, object] = field(default_factory=dict)
    """What stands for ids and tokens of the host, by the names that the server knows."""
    lines: deque[Line] = field(default_factory=deque)
    """What is to be sent. Whoever takes a line closes it."""
    has_ended: bool = False
    """Nothing more will come."""
    reader: int = 0
    """Which connection takes the lines: the last one that was attached."""
    is_attached: bool = True
    """Whether there is one."""
    can_resume: bool = False
    """Whether the host was told an event by which it can go on."""
    _news: anyio.Event = field(default_factory=anyio.Event)

    def put(self, line: Line) -> None:
        """Take a line; of too many the oldest are dropped, since nobody takes them."""
        self.lines.append(line)
        if len(self.lines) > _MOST_WAITING_LINES:
            self.lines.popleft().close()
        self._news.set()

    def attach(self) -> int:
        """Let a connection take the lines, in the place of any other; return which it is."""
        self.reader += 1
        self.is_attached = True
        self._news.set()
        return self.reader

    def end(self) -> None:
        """Say that nothing more will come."""
        self.has_ended = True
        self._news.set()

    async def next_line(self, reader: int = 0) -> Line | None:
        """Return the next line; `None` at the end, or if another connection takes them."""
        while reader == self.reader and not self.lines:
            if self.has_ended:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        return self.lines.popleft() if reader == self.reader else None

    def close(self) -> None:
        """Drop what was not taken."""
        self.end()
        while self.lines:
            self.lines.popleft().close()

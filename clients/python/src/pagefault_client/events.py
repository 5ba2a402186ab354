"""The events of a session or a project."""

import json
from typing import Any, TypeAlias, cast

from pagefault_client.models import StreamEvent
from pagefault_client.sse import Block

Event: TypeAlias = StreamEvent
"""An event, `{"event", "id", "data"}`. A comparison of `event["event"]` narrows the type of
`event["data"]`. `id` is the position: pass it as `after` to resume behind it.

`reset` means that events are missing: reload the state. The iterator continues. Events of a newer
service may have other names.
"""

# The service sends a comment every 15 seconds; a stream without data for longer is dead.
SILENCE_SECONDS = 35.0


def event_of(block: Block, position: int) -> Event:
    """Return the event of a block with data."""
    data: Any = json.loads(block.data)
    return cast("Event", {"event": block.event, "id": position, "data": data})


def position_of(block: Block, fallback: int | None) -> int | None:
    """Return the position of a block, or `fallback` if it has none."""
    return int(block.id) if block.id and block.id.isdecimal() else fallback

"""The events of a session or a project."""

import json
from typing import Any, TypeAlias, cast

from pagefault_client.models import StreamEvent
from pagefault_client.sse import Block

Event: TypeAlias = StreamEvent
"""Any event, `{"event", "id", "data"}`: once `event["event"]` is compared with a name, the type of
`event["data"]` is known. `id` is the position: give it as `after` to go on behind it.

`reset` means that events are missing: read again what you show. The iterator goes on by itself. An
event of a newer service comes under its own name.
"""

# A stream that says nothing for so long is dead: the service sends a comment every 15 seconds.
SILENCE_SECONDS = 35.0


def event_of(block: Block, position: int) -> Event:
    """Return the event of a block with data."""
    data: Any = json.loads(block.data)
    return cast("Event", {"event": block.event, "id": position, "data": data})


def position_of(block: Block, otherwise: int | None) -> int | None:
    """Return the position that a block says, or the last one."""
    return int(block.id) if block.id and block.id.isdecimal() else otherwise

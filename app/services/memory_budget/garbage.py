"""Runs full garbage collections at times when a server process has few objects.

A full collection visits all objects that were created since the start, and stops all threads. By
itself, the interpreter runs one when there are many new objects, which is while a large value is
processed. With a history of 60,000 messages in memory, each collection took half a second. So a
server disables full collections (`app.server.process.collect_young_only`), and a task with a
`GarbageCollector` runs them instead.

It can wait, because there is little garbage: nearly all objects of a large request are freed when
their last reference is removed. Of values with 100,000 objects, only a few hundred small objects
had to be collected.
"""

import gc
import sys
from dataclasses import dataclass, field

import anyio

_CHECK_SECONDS = 1.0
# The time between two checks while a collection is due. It is short, because there may be few
# objects only for a moment between two large requests.
_DUE_CHECK_SECONDS = 0.05
# The number of collections of young objects after which a full collection is due, as in CPython.
_DUE_COLLECTIONS = 10
# The number after which a full collection is run even if there are many objects. It is reached if
# requests with large values overlap for minutes.
_OVERDUE_COLLECTIONS = 10_000
# The number of memory blocks up to which a collection takes only about ten milliseconds.
_FEW_BLOCKS = 300_000


@dataclass(slots=True)
class GarbageCollector:
    """Runs the full collections that are disabled in the interpreter.

    Create it at the end of the start of a server, because earlier objects are not counted.
    """

    _blocks_at_start: int = field(init=False, default_factory=sys.getallocatedblocks)

    async def run(self) -> None:
        """Check about once a second whether a collection is due, until cancelled.

        Return at once if full collections are not disabled in the interpreter.
        """
        while gc.get_threshold()[2] > _OVERDUE_COLLECTIONS:
            is_due = self.collect_if_due()
            await anyio.sleep(_DUE_CHECK_SECONDS if is_due else _CHECK_SECONDS)

    def collect_if_due(self) -> bool:
        """Run a collection if one is due, and if it will take a short time or is overdue.

        Returns:
            True if a collection is due, but was not run.
        """
        *_, young_collections = gc.get_count()
        if young_collections <= _DUE_COLLECTIONS:
            return False
        has_few_blocks = sys.getallocatedblocks() - self._blocks_at_start <= _FEW_BLOCKS
        if has_few_blocks or young_collections > _OVERDUE_COLLECTIONS:
            gc.collect()
            return False
        return True

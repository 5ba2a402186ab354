"""Runs full garbage collections at times when there are few objects.

A full collection visits all objects that were made since the start, and stops all threads. The
interpreter starts it when there are many objects, which is while a large value is processed. With a
history of 60,000 messages in memory, each collection took half a second. So a serving process
disables full collections (`app.server.process.collect_young_only`), and this task runs them.

Until then, there is little garbage: nearly all objects of a large request are freed when their last
reference is removed. Of values with 100,000 objects, only some hundred small objects were left.
"""

import gc
import sys
from dataclasses import dataclass, field

import anyio

_REST_SECONDS = 1.0
# If a collection is due, check often: there may be few objects only between two large requests.
_REST_WHILE_DUE_SECONDS = 0.05
# The number of collections of young objects after which a full one is due, as in CPython.
_DUE_COLLECTIONS = 10
# After this number of them, a full one is run even if there are many objects. Then requests with
# large values have overlapped for minutes.
_OVERDUE_COLLECTIONS = 10_000
# Up to this number of memory blocks, a collection takes some ten milliseconds.
_FEW_BLOCKS = 300_000


@dataclass(slots=True)
class GarbageCollector:
    """Runs the full collections that the interpreter does not run.

    Objects that existed when this was created are not counted.
    """

    _blocks_at_start: int = field(init=False, default_factory=sys.getallocatedblocks)

    async def run(self) -> None:
        """Collect about once a second, if there may be garbage.

        Ends at once if the interpreter runs full collections.
        """
        while gc.get_threshold()[2] > _OVERDUE_COLLECTIONS:
            is_due = self.collect_if_due()
            await anyio.sleep(_REST_WHILE_DUE_SECONDS if is_due else _REST_SECONDS)

    def collect_if_due(self) -> bool:
        """Run a collection if it is due, and if it is either short or overdue.

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

"""Garbage among old objects, collected while there are few objects.

A full collection looks at every object that was made since the start. The interpreter does nothing
else meanwhile, and starts one by itself just when there are many objects: while a large value is
worked on. Beside a history of 60,000 messages each took half a second. So a process that serves
leaves them to this task (`app.server.process.collect_young_only`).

The objects of a large request are freed with their last reference. Measured with refused
and accepted values of 100,000 objects, some hundred small objects were left for a collection.
"""

import gc
import sys
from dataclasses import dataclass, field

import anyio

_REST_SECONDS = 1.0
# Between two large requests there may be few objects for a moment only.
_REST_WHILE_DUE_SECONDS = 0.05
# Collections of young objects since the last full one. CPython waits for ten as well.
_ENOUGH = 10
# Seventy million objects more were made than freed meanwhile, and there never were few: requests
# whose large values overlap for minutes.
_MOST = 10_000
# A collection takes some ten milliseconds then.
_FEW_BLOCKS = 300_000


@dataclass(slots=True)
class GarbageCollector:
    """Collects garbage that the interpreter leaves.

    Objects that existed when it was created are not counted.
    """

    _blocks_at_start: int = field(init=False, default_factory=sys.getallocatedblocks)

    async def run(self) -> None:
        """Collect about once a second, if there may be garbage.

        Returns at once in a process whose interpreter does so by itself.
        """
        while gc.get_threshold()[2] > _MOST:
            is_due = self.collect_if_due()
            await anyio.sleep(_REST_WHILE_DUE_SECONDS if is_due else _REST_SECONDS)

    def collect_if_due(self) -> bool:
        """Collect if there may be garbage, and that does not take long or can wait no longer.

        Returns:
            Whether there may be garbage that was left.
        """
        *_, young_collections = gc.get_count()
        if young_collections <= _ENOUGH:
            return False
        are_few = sys.getallocatedblocks() - self._blocks_at_start <= _FEW_BLOCKS
        if are_few or young_collections > _MOST:
            gc.collect()
            return False
        return True

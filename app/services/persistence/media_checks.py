"""Judges media that are to be shown, wherever their bytes are, and remembers what it found.

What is found is a function of the bytes, so nothing of it is stored: media that were kept before
anybody judged them are judged like all others, and better readers judge all of them anew. What is
known of the last media saves reading them again for every turn of a conversation.
"""

from collections import OrderedDict
from functools import partial

import anyio.from_thread
import anyio.to_thread

from app.media.soundness.judging import damage_of, judge
from app.media.soundness.looking import Looking
from app.models.conversation import InlineBytes, Medium, StoredBytes
from app.models.media import InMemoryMedia
from app.models.resource import Damage
from app.stores.blobs import BlobStore, read_whole

_MOST_REMEMBERED = 20_000
_SMALL_BYTES = 4_096
# Each waits for the store while it holds a thread.
_AT_ONCE = 8


class MediaChecks:
    """What is wrong with media; one for all services, since it remembers.

    Args:
        blobs: Where stored media are.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._known: OrderedDict[tuple[str, str], Damage | None] = OrderedDict()
        self._threads = anyio.CapacityLimiter(_AT_ONCE)

    async def of_medium(self, project_id: str, medium: Medium) -> Damage | None:
        """What is wrong with a medium of a conversation; nothing is known of one at an address.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        match medium.source:
            case InlineBytes(data=data):
                return await self.of_bytes(data, medium.mime_type)
            case StoredBytes(digest=digest):
                size_bytes = medium.size_bytes or 0
                return await self.of_blob(
                    project_id, digest, mime_type=medium.mime_type, size_bytes=size_bytes
                )
        return None

    async def of_bytes(self, data: bytes, mime_type: str) -> Damage | None:
        """What is wrong with a medium at hand."""
        source = InMemoryMedia(data)
        if len(data) <= _SMALL_BYTES:
            # A history may have thousands of icons, and a thread costs more than one of them.
            return damage_of(source, mime_type)
        return await anyio.to_thread.run_sync(damage_of, source, mime_type, limiter=self._threads)

    async def of_blob(
        self, project_id: str, digest: str, *, mime_type: str, size_bytes: int
    ) -> Damage | None:
        """What is wrong with a stored medium.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        if (digest, mime_type) in self._known:
            self._known.move_to_end((digest, mime_type))
            return self._known[digest, mime_type]

        def read_at(start: int, size: int) -> bytes:
            read = partial(read_whole, start=start, end=start + size)
            return anyio.from_thread.run(read, self._blobs, project_id, digest)

        def look() -> Damage | None:
            return judge(Looking(read_at, size_bytes), mime_type)

        damage = await anyio.to_thread.run_sync(look, limiter=self._threads)
        self.remember(digest, mime_type, damage)
        return damage

    def remember(self, digest: str, mime_type: str, damage: Damage | None) -> None:
        """Remember what was found about the bytes of a digest, by whoever looked at them."""
        self._known[digest, mime_type] = damage
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)

"""The state after a rendered prefix of a session, from which the later entries are rendered alone.

The service keeps these states in memory between requests; see `app/services/renders`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from pagefault_dialects.media.expired_links import check_link_expiry
from pagefault_dialects.model.resource import Damage, Resource
from pagefault_dialects.rendered_documents import WrittenPrefix
from pagefault_dialects.targets.part_sizes import PartSize
from pagefault_dialects.turns.pairing import PairingState


@dataclass(frozen=True, slots=True)
class RenderedPrefix:
    """The first entries of a session, whose messages later entries do not change."""

    seq: int
    """The `seq` of the last of these entries."""
    pairing_state: PairingState
    """The state of pairing calls and answers after these entries."""
    written: WrittenPrefix
    """The hash of the messages, and what else the next message depends on."""
    size: PartSize
    """The size of these entries, which is compared with the limits of a request."""
    resources: Mapping[str, Resource | None]
    """Referenced resources, by id; `None` for a resource that was not found."""
    structured_sizes: Mapping[str, int]
    """The sizes in bytes of structured contents that are stored as resources, by digest."""
    damages: tuple[Damage | None, ...]
    """The damage of each link in `size`, in the same order."""
    number: int = 1
    """The number of the prefix among the prefixes of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of items that the prefix keeps in memory, without `pairing_state`."""
        return len(self.resources) + len(self.structured_sizes) + len(self.damages)

    def with_pairing_state(self, pairing_state: PairingState) -> Self:
        """Return a copy with an equal state that other prefixes share, to save memory."""
        return replace(self, pairing_state=pairing_state)

    def prepend(self, earlier: "RenderedPrefix") -> "RenderedPrefix":
        """Return the prefix that consists of an earlier prefix and this one."""
        return RenderedPrefix(
            *(self.seq, self.pairing_state, self.written),
            earlier.size + self.size,
            {**earlier.resources, **self.resources},
            {**earlier.structured_sizes, **self.structured_sizes},
            earlier.damages + self.damages,
            earlier.number + 1,
        )

    def has_unchanged_links(self, now: datetime) -> bool:
        """Return whether no link has expired since the prefix was rendered."""
        return self.damages == find_link_damages(self.size, now)


def find_link_damages(size: PartSize, now: datetime) -> tuple[Damage | None, ...]:
    """Return the damage of each link of a part; `None` for a link that has not expired."""
    return tuple(check_link_expiry(url, now) for url in size.links)

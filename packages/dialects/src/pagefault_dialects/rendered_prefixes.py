"""Facts about the beginning of a rendering, from which the rest can be rendered alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from pagefault_dialects.media.expired_links import check_link_expiry
from pagefault_dialects.model.resource import Damage, Resource
from pagefault_dialects.rendered_documents import WrittenPrefix
from pagefault_dialects.targets.part_weights import PartWeight
from pagefault_dialects.turns.pairing import PairedPrefix


@dataclass(frozen=True, slots=True)
class RenderedPrefix:
    """The facts of a final beginning of a session."""

    seq: int
    """The last entry."""
    paired: PairedPrefix
    """Goes on pairing calls and answers."""
    written: WrittenPrefix
    """The hash of the messages."""
    weight: PartWeight
    """Counts against limits."""
    resources: Mapping[str, Resource | None]
    """Referenced resources, by id; `None` for one that was not found."""
    apart: Mapping[str, int]
    """The sizes of structured contents that are files of their own, by digest."""
    damages: tuple[Damage | None, ...]
    """The damage of each link in `weight`."""
    number: int = 1
    """Its place among the beginnings of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of facts besides those of calls."""
        return len(self.resources) + len(self.apart) + len(self.damages)

    def with_paired(self, paired: PairedPrefix) -> Self:
        """Return the same with equal facts of its calls, shared with other prefixes."""
        return replace(self, paired=paired)

    def behind(self, earlier: "RenderedPrefix") -> "RenderedPrefix":
        """Return the beginning that consists of an earlier one and this one."""
        return RenderedPrefix(
            *(self.seq, self.paired, self.written),
            earlier.weight + self.weight,
            {**earlier.resources, **self.resources},
            {**earlier.apart, **self.apart},
            earlier.damages + self.damages,
            earlier.number + 1,
        )

    def has_links_as_at(self, now: datetime) -> bool:
        """Return whether no link has expired since."""
        return self.damages == damages_of(self.weight, now)


def damages_of(weight: PartWeight, now: datetime) -> tuple[Damage | None, ...]:
    """Return the damage of each link of a part."""
    return tuple(check_link_expiry(url, now) for url in weight.links)

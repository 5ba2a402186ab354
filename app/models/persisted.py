"""What persistence hands on: parts ready to be shown, and the resources behind them."""

from dataclasses import dataclass
from typing import Any

from app.models.content import Part
from app.models.normalized import Warning
from app.models.resource import Resource


@dataclass(frozen=True, slots=True)
class PersistedPart:
    """One part, the stored resources it refers to, and what the tool had claimed about it.

    `claimed_mime_type` is set only where the bytes say otherwise. `extracted` is true for media
    lifted out of a structure (see `NormalizedMediaPart`).
    """

    part: Part
    resources: tuple[Resource, ...] = ()
    claimed_mime_type: str | None = None
    extracted: bool = False


@dataclass(frozen=True, slots=True)
class PersistedToolResult:
    """A tool result whose media are all in the blob store.

    `meta_resources` are those that `structured_content`, `display` and `meta` refer to, in order
    of first use. `structured_content` is wrapped, since null is a value it may have.
    """

    parts: tuple[PersistedPart, ...]
    meta_resources: tuple[Resource, ...] = ()
    is_error: bool | None = None
    structured_content: tuple[Any] | None = None
    display: Any = None
    meta: dict[str, Any] | None = None
    warnings: tuple[Warning, ...] = ()

    @property
    def resources(self) -> list[Resource]:
        """Every resource the result refers to, once, in order of first use."""
        distinct: dict[str, Resource] = {}
        for part in self.parts:
            for resource in part.resources:
                distinct.setdefault(resource.resource_id, resource)
        for resource in self.meta_resources:
            distinct.setdefault(resource.resource_id, resource)
        return list(distinct.values())

"""Interactions as the store keeps them, and the resources that are attached to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from typing_extensions import TypeAliasType

from pagefault_dialects.model.resource import Resource, parse_resource_id

InputKind = TypeAliasType("InputKind", Literal["multimodal", "text", "dict"])
AttachmentStatus = TypeAliasType("AttachmentStatus", Literal["available", "missing", "unknown"])

Bindings: TypeAlias = Mapping[str, str | None]
"""The ids of resources by the ids of attachments; see `StoredInteraction`."""


def attachment_key(attached_id: str) -> str:
    """Return the normal form of the id of an attachment."""
    return parse_resource_id(attached_id) or attached_id


def bound_resource_id(attached_id: str, bindings: Bindings) -> str | None:
    """Return the id of the resource that an attachment was bound to, `None` if there was none."""
    resource_id = parse_resource_id(attached_id)
    return bindings.get(resource_id or attached_id, resource_id)


@dataclass(frozen=True, slots=True)
class AttachedResource:
    """An attachment, by the id the client gave it, and the resource it was bound to.

    `resource_id` is `None` if the id was unknown when the interaction was written.
    """

    attached_id: str
    resource_id: str | None
    resource: Resource | None

    @property
    def status(self) -> AttachmentStatus:
        """The status of the resource: bound and stored, bound and deleted, or never known."""
        if self.resource_id is None:
            return "unknown"
        return "missing" if self.resource is None else "available"


@dataclass(frozen=True, slots=True)
class StoredInteraction:
    """An interaction as the store keeps it.

    `input` and `output` are JSON text, never serialised again. An output that came along with the
    input belongs to the entry `seq` of the history; one that was set later has an entry of its own,
    `answer_seq`. `bindings` says what attachments were bound to where their ids do not: an alias to
    the id of a resource, the id of a resource that was not there to `None`.
    """

    interaction_id: str
    session_id: str
    seq: int
    input_kind: InputKind
    timestamp: str
    created_at: datetime
    input: bytes
    output: bytes | None = None
    answer_seq: int | None = None
    answered_at: datetime | None = None
    bindings: Bindings = field(default_factory=dict)

    @property
    def first_output(self) -> bytes | None:
        """The output it was created with."""
        return self.output if self.answer_seq is None else None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The entry of a session's history that the answer of an interaction is."""

    seq: int
    interaction_id: str
    created_at: datetime
    output: bytes

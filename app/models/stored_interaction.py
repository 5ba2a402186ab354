"""Stored interactions, and the resources that are attached to them."""

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
    """Return the id of the resource that an attachment was bound to, if there was one."""
    resource_id = parse_resource_id(attached_id)
    return bindings.get(resource_id or attached_id, resource_id)


@dataclass(frozen=True, slots=True)
class AttachedResource:
    """An attachment with the id that the client sent, and the resource it was bound to.

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
    """A stored interaction.

    `input` and `output` are JSON, never serialised again. An output that was sent with the input
    belongs to the history entry `seq`; an output that was set later has the entry `answer_seq`.
    `bindings` maps aliases of attachments to the ids of their resources, and ids of resources that
    did not exist to `None`.
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
        """The output that was sent with the input."""
        return self.output if self.answer_seq is None else None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The history entry of the output of an interaction that was set after the interaction."""

    seq: int
    interaction_id: str
    created_at: datetime
    output: bytes

"""Shapes of interactions.

An interaction itself is named and checked by `app/models/interaction.py`, since it comes in as
well; what msgspec encodes is derived from it. Its input and its answer are stored bytes.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Raw, Struct
from pydantic import ConfigDict
from pydantic.config import JsonDict

from app.models.interaction import Interaction
from app.models.stored_interaction import (
    AttachedResource,
    AttachmentStatus,
    InputKind,
    StoredInteraction,
)
from app.wire.resources import Descriptor, descriptor
from app.wire.shape import ListPage, Shape, ShownAs, struct_of_model

_EXAMPLE: JsonDict = {
    "id": "01a1fc23-5d6a-716f-bf87-986bff04fd3e",
    "session_id": "demo",
    "seq": 1,
    "input_kind": "text",
    "attachments": [],
    "interaction": {
        "input": "What is the time?",
        "output": None,
        "timestamp": "2023-10-27T10:00:00Z",
    },
}
_INTERACTION = struct_of_model(Interaction)

ShownInteraction = Annotated[Struct, ShownAs(Interaction)]
"""An interaction inside another shape, to be made by `interaction`."""


class Attachment(Shape, rename=None, kw_only=True):
    """An attached file: the client's id, and the resource."""

    id: str
    status: AttachmentStatus
    """`unknown` if there was no such resource when the interaction was written, `missing` if the
    store has lost the record of the resource."""
    resource: Descriptor | None = None


class InteractionRecord(Shape, rename=None, kw_only=True):
    """A stored interaction with its answer, and each attached file once, in order of first use."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    session_id: str
    seq: int
    input_kind: InputKind
    attachments: tuple[Attachment, ...]
    interaction: ShownInteraction


class InteractionPage(ListPage[InteractionRecord]):
    """A page of a session's interactions, in the order of `seq`."""


def interaction_record(stored: StoredInteraction, attachments: Sequence[AttachedResource]) -> bytes:
    """Return the JSON of an interaction with its answer and its attachments."""
    return InteractionRecord(
        id=stored.interaction_id,
        session_id=stored.session_id,
        seq=stored.seq,
        input_kind=stored.input_kind,
        attachments=tuple(map(_attachment, attachments)),
        interaction=interaction(stored, stored.output),
    ).encode()


def interaction(stored: StoredInteraction, output: bytes | None) -> Struct:
    """Return an interaction to be encoded, its members' bytes as they are stored.

    Source: spec 001, "JSON Serialization".
    """
    return _INTERACTION(
        input=Raw(stored.input), output=Raw(output or b"null"), timestamp=stored.timestamp
    )


def _attachment(attached: AttachedResource) -> Attachment:
    resource = attached.resource
    return Attachment(
        id=attached.attached_id,
        status=attached.status,
        resource=None if resource is None else descriptor(resource),
    )

"""Shapes of interactions.

The members of an interaction are declared once, by the model in `app/models/interaction.py`, which
also validates requests. The struct that msgspec encodes is derived from that model. The input and
the output of an interaction are sent as stored bytes.
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
from app.wire.resources import Descriptor, build_descriptor
from app.wire.shape import CursorList, DocumentedAs, Shape, define_struct

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
_InteractionStruct = define_struct(Interaction)

InteractionMember = Annotated[Struct, DocumentedAs(Interaction)]
"""An interaction as a member of another shape; its value is made by `build_interaction`."""


class Attachment(Shape, rename=None, kw_only=True):
    """An attached file: the client's id, and the resource."""

    id: str
    status: AttachmentStatus
    """`unknown` if there was no such resource when the interaction was written, `missing` if the
    store has lost the record of the resource."""
    resource: Descriptor | None = None


class InteractionRecord(Shape, rename=None, kw_only=True):
    """A stored interaction with its output, and each attached file once, in order of first use."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    session_id: str
    seq: int
    input_kind: InputKind
    attachments: tuple[Attachment, ...]
    interaction: InteractionMember


class InteractionPage(CursorList[InteractionRecord]):
    """A part of a session's interactions, in the order of `seq`."""


def encode_interaction(stored: StoredInteraction, attachments: Sequence[AttachedResource]) -> bytes:
    """Return the JSON of an interaction with its output and its attachments."""
    return InteractionRecord(
        id=stored.interaction_id,
        session_id=stored.session_id,
        seq=stored.seq,
        input_kind=stored.input_kind,
        attachments=tuple(map(_build_attachment, attachments)),
        interaction=build_interaction(stored, stored.output),
    ).encode()


def build_interaction(stored: StoredInteraction, output: bytes | None) -> Struct:
    """Return an interaction to encode. Its input and its output are the stored bytes.

    Args:
        stored: The interaction.
        output: The JSON of the output; `None` for null.
    Source: spec 001, "JSON Serialization".
    """
    return _InteractionStruct(
        input=Raw(stored.input), output=Raw(output or b"null"), timestamp=stored.timestamp
    )


def _build_attachment(attached: AttachedResource) -> Attachment:
    resource = attached.resource
    return Attachment(
        id=attached.attached_id,
        status=attached.status,
        resource=None if resource is None else build_descriptor(resource),
    )

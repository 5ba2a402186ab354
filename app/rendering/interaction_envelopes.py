"""The JSON of interactions with what is attached to them."""

from app.models.interaction import StoredInteraction
from app.models.json_value import json_text
from app.models.resource import Resource, describe
from app.rendering.envelopes import interaction_json


def interaction_record(
    stored: StoredInteraction, attachments: list[tuple[str, Resource | None]]
) -> bytes:
    """`{id, session_id, seq, input_kind, attachments, interaction}`.

    Args:
        stored: The interaction.
        attachments: What is attached, by the id the client gave it.
    """
    head = json_text(
        {
            "id": stored.interaction_id,
            "session_id": stored.session_id,
            "seq": stored.seq,
            "input_kind": stored.input_kind,
            "attachments": [_attachment(*each) for each in attachments],
        }
    )
    return b'%s,"interaction":%s}' % (
        head[:-1].encode(),
        interaction_json(stored, stored.output),
    )


def _attachment(attached_id: str, resource: Resource | None) -> dict[str, object]:
    if resource is None:
        return {"id": attached_id, "status": "missing"}
    return {"id": attached_id, "status": "available", "resource": describe(resource).wire()}

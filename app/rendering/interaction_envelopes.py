"""The JSON of interactions with what is attached to them."""

from collections.abc import Sequence

from app.models.interaction import AttachedResource, StoredInteraction
from app.models.json_value import json_text
from app.models.resource import describe
from app.rendering.envelopes import interaction_json


def interaction_record(stored: StoredInteraction, attachments: Sequence[AttachedResource]) -> bytes:
    """`{id, session_id, seq, input_kind, attachments, interaction}`.

    Args:
        stored: The interaction.
        attachments: What is attached.
    """
    head = json_text(
        {
            "id": stored.interaction_id,
            "session_id": stored.session_id,
            "seq": stored.seq,
            "input_kind": stored.input_kind,
            "attachments": [_attachment(each) for each in attachments],
        }
    )
    return b'%s,"interaction":%s}' % (
        head[:-1].encode(),
        interaction_json(stored, stored.output),
    )


def _attachment(attached: AttachedResource) -> dict[str, object]:
    shown: dict[str, object] = {"id": attached.attached_id, "status": attached.status}
    if attached.resource is not None:
        shown["resource"] = describe(attached.resource).wire()
    return shown

"""The JSON of sessions and of the receipts for their deletion."""

from app.models.identity import rfc3339
from app.models.json_value import json_text
from app.models.message import DeletedSession, EntryCounts, ReleasedResource, Session, SessionUse


def session_record(session: Session, use: SessionUse) -> bytes:
    """`{id, createdAt, updatedAt, lastSeq, counts, bytesReferenced, bytesSaved}`."""
    return json_text(
        {
            "id": session.session_id,
            "createdAt": rfc3339(session.created_at),
            "updatedAt": rfc3339(session.updated_at),
            "lastSeq": session.last_seq,
            "counts": {
                **entry_counts(session.counts),
                "pages": use.pages,
                "resources": use.resources,
            },
            "bytesReferenced": use.bytes_referenced,
            "bytesSaved": use.bytes_saved,
        }
    ).encode()


def deletion_receipt(deleted: DeletedSession) -> bytes:
    """`{id, deleted, resources}`: what was removed, and what became of each resource."""
    return json_text(
        {
            "id": deleted.session_id,
            "deleted": {**entry_counts(deleted.counts), "pages": deleted.pages},
            "resources": [_released(each) for each in deleted.resources],
        }
    ).encode()


def entry_counts(counts: EntryCounts) -> dict[str, int]:
    """How many entries there are of each kind, by the names of the wire."""
    return {
        "toolResults": counts.tool_results,
        "pageFaults": counts.page_faults,
        "messages": counts.messages,
        "interactions": counts.interactions,
        "answers": counts.answers,
    }


def _released(resource: ReleasedResource) -> dict[str, object]:
    return {
        "uri": f"blob:{resource.resource_id}",
        "size": resource.size_bytes,
        "status": "kept" if resource.used_by else "deleted",
        "usedBy": [
            {"kind": user.kind, "count": user.count, "exampleId": user.example_id}
            for user in resource.used_by
        ],
    }

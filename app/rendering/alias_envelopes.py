"""The JSON of aliases."""

from app.models.alias import Alias
from app.models.identity import rfc3339
from app.models.json_value import json_text
from app.models.resource import describe


def alias_record(alias: Alias) -> bytes:
    """Return `{alias, uri, createdAt, resource}`."""
    return json_text(
        {
            "alias": alias.alias,
            "uri": alias.resource.uri,
            "createdAt": rfc3339(alias.created_at),
            "resource": describe(alias.resource).wire(),
        }
    ).encode()

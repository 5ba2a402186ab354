"""Requests about aliases, for the tests of them and of what is attached by them."""

import json
from typing import Any
from urllib.parse import quote

import httpx

from app.models.resource_descriptor import MAX_ALIASES
from tests.contract.bundled_sessions import bundled, members_of, with_manifest

ROUTE = "/api/aliases"


def path_of(alias: str) -> str:
    return f"{ROUTE}/{quote(alias, safe='')}"


def name(client: httpx.Client, alias: str, uri: str, **headers: str) -> httpx.Response:
    """Let an alias name a resource; it may be refused."""
    return client.put(path_of(alias), json={"uri": uri}, headers=headers)


def named_by(client: httpx.Client, alias: str) -> str | None:
    """The URI of the resource that an alias names, if there is such an alias."""
    found = client.get(path_of(alias))
    return found.json()["uri"] if found.is_success else None


def with_most_aliases(bundle: bytes) -> bytes:
    """The bundle of a session with one resource, which has as many aliases as it may have."""
    members = members_of(bundle)
    line = json.loads(members["resources.jsonl"])
    line["aliases"] = {
        f"doc-{number:04}": "2026-01-01T00:00:00.000000Z" for number in range(MAX_ALIASES)
    }
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return bundled(with_manifest({**members, "resources.jsonl": text.encode() + b"\n"}))


def attached(record: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [
        (attachment["id"], attachment["status"], attachment.get("resource", {}).get("uri"))
        for attachment in record["attachments"]
    ]

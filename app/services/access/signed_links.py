"""Links and tickets that carry their own permission: signed, and good for a time."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.errors import ForbiddenLinkError, UnauthorizedError
from app.services.access.callers import Caller

_LARGEST_TOKEN_CHARS = 2_048
# What a token is signed for, so that one is not taken for the other. Links are for reading: a GET's
# link also answers HEAD, and no other method takes one.
_LINK = b"GET"
_TICKET = b"EVENTS"
_NOT_OURS = (ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret that signs links, under an id that the links name."""

    key_id: str
    secret: bytes


@dataclass(frozen=True, slots=True)
class LinkGrant:
    """What a signed link permits: reading one resource, in one way, until a moment."""

    project_id: str
    resource_id: str
    disposition: str
    filename: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a ticket permits: listening to events as a caller, if begun before a moment."""

    caller: Caller
    expires_at: datetime


class LinkSigner:
    """Makes and checks links that work without a key, in `<img>` and `<video>`, and tickets.

    A link's token holds the grant and an HMAC-SHA256 over method, grant and key id. The first key
    signs; all of them verify, so that keys can be changed while links live.
    """

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        self._keys = {key.key_id: key for key in keys}
        self._signing = keys[0]

    def sign(self, grant: LinkGrant) -> str:
        """The url-safe token for a grant."""
        claims = [
            self._signing.key_id,
            grant.project_id,
            grant.resource_id,
            grant.disposition,
            grant.filename,
            int(grant.expires_at.timestamp()),
        ]
        return self._signed(_LINK, claims)

    def sign_ticket(self, ticket: Ticket) -> str:
        """The url-safe token of a ticket."""
        claims = [
            self._signing.key_id,
            ticket.caller.project_id,
            ticket.caller.key_id,
            int(ticket.expires_at.timestamp()),
        ]
        return self._signed(_TICKET, claims)

    def verify_ticket(self, token: str, now: datetime) -> Caller:
        """Whose ticket a token is, if it is ours and not over.

        Raises:
            UnauthorizedError: It is none of that; which of it is not told.
        """
        try:
            project_id, key_id, expires = self._claims(_TICKET, token)
        except _NOT_OURS as exc:
            raise UnauthorizedError from exc
        if now.timestamp() >= expires:
            raise UnauthorizedError
        return Caller(project_id, key_id)

    def content_path(self, grant: LinkGrant) -> str:
        """The path and query under which the bytes that a grant is for are read without a key."""
        return f"/api/resources/{grant.resource_id}/content?token={self.sign(grant)}"

    def verify(self, token: str, resource_id: str, now: datetime) -> LinkGrant:
        """The grant in a token, if it is ours, for this resource, and not over.

        Raises:
            ForbiddenLinkError: It is none of that; which of it is not told.
        """
        try:
            project_id, granted_id, disposition, filename, expires = self._claims(_LINK, token)
        except _NOT_OURS as exc:
            raise ForbiddenLinkError from exc
        if granted_id != resource_id or now.timestamp() >= expires:
            raise ForbiddenLinkError
        expires_at = datetime.fromtimestamp(expires, tz=now.tzinfo)
        return LinkGrant(project_id, granted_id, disposition, filename, expires_at)

    def _signed(self, purpose: bytes, claims: list[str | int | None]) -> str:
        payload = json.dumps(claims, separators=(",", ":")).encode()
        return f"{_encode(payload)}.{_encode(_mac(self._signing, purpose, payload))}"

    def _claims(self, purpose: bytes, token: str) -> list[Any]:
        """What a token of ours says, behind the id of the key it is signed with."""
        payload, mac = (_decode(part) for part in _split(token))
        claims: list[Any]
        key_id, *claims = json.loads(payload)
        key = self._keys[key_id]
        if not hmac.compare_digest(mac, _mac(key, purpose, payload)):
            raise ValueError("not signed by us")
        return claims


def link_expiry(now: datetime, seconds: int) -> datetime:
    """When a link made now for so many seconds is over; whole seconds."""
    return (now + timedelta(seconds=seconds)).replace(microsecond=0)


def _mac(key: SigningKey, purpose: bytes, payload: bytes) -> bytes:
    return hmac.new(key.secret, purpose + b"\n" + payload, hashlib.sha256).digest()


def _split(token: str) -> tuple[str, str]:
    payload, dot, mac = token.partition(".")
    if not dot or len(token) > _LARGEST_TOKEN_CHARS or not token.isascii():
        raise ValueError("not a token")
    return payload, mac


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    # Base64 has several spellings of the same bytes; only ours is accepted.
    if _encode(data) != text:
        raise ValueError("not canonical base64")
    return data

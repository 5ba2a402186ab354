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


class LinkSigner:
    """Makes and checks links that work without a key, in `<img>` and `<video>`, and tickets.

    A link's token holds the grant and an HMAC-SHA256 over method, grant and key id. The first key
    signs; all of them verify, so that keys can be changed while links live.
    """

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        self._keys = {key.key_id: key for key in keys}
        self._signing = keys[0]

    def sign(self, grant: LinkGrant) -> str:
        """Return the url-safe token for a grant."""
        claims = (grant.project_id, grant.resource_id, grant.disposition, grant.filename)
        return self._signed(_LINK, claims, grant.expires_at)

    def sign_ticket(self, caller: Caller, expires_at: datetime) -> str:
        """Return a url-safe ticket: it permits listening as a caller, if begun before a moment."""
        return self._signed(_TICKET, (caller.project_id, caller.key_id), expires_at)

    def verify_ticket(self, token: str, now: datetime) -> Caller:
        """Return whose ticket a token is, if it is ours and not over.

        Raises:
            UnauthorizedError: It is none of that; which of it is not told.
        """
        try:
            project_id, key_id, _ = self._claims(_TICKET, token, now)
        except _NOT_OURS as exc:
            raise UnauthorizedError from exc
        return Caller(project_id, key_id)

    def content_path(self, grant: LinkGrant) -> str:
        """Return the path and query under which what a grant is for is read without a key."""
        return f"/api/resources/{grant.resource_id}/content?token={self.sign(grant)}"

    def verify(self, token: str, resource_id: str, now: datetime) -> LinkGrant:
        """Return the grant in a token, if it is ours, for this resource, and not over.

        Raises:
            ForbiddenLinkError: It is none of that; which of it is not told.
        """
        try:
            project_id, granted_id, disposition, filename, expires = self._claims(_LINK, token, now)
        except _NOT_OURS as exc:
            raise ForbiddenLinkError from exc
        if granted_id != resource_id:
            raise ForbiddenLinkError
        expires_at = datetime.fromtimestamp(expires, tz=now.tzinfo)
        return LinkGrant(project_id, granted_id, disposition, filename, expires_at)

    def _signed(self, purpose: bytes, claims: Sequence[str | None], expires_at: datetime) -> str:
        said = [self._signing.key_id, *claims, int(expires_at.timestamp())]
        payload = json.dumps(said, separators=(",", ":")).encode()
        return f"{_encode(payload)}.{_encode(_mac(self._signing, purpose, payload))}"

    def _claims(self, purpose: bytes, token: str, now: datetime) -> list[Any]:
        """Return what a token says, behind the id of the key it is signed with.

        Raises:
            ValueError, KeyError, TypeError: It is none of ours, or over.
        """
        if len(token) > _LARGEST_TOKEN_CHARS or not token.isascii():
            raise ValueError("not a token")
        payload, mac = map(_decode, token.split(".", 1))
        claims: list[Any]
        key_id, *claims = json.loads(payload)
        if not hmac.compare_digest(mac, _mac(self._keys[key_id], purpose, payload)):
            raise ValueError("not signed by us")
        if now.timestamp() >= claims[-1]:
            raise ValueError("over")
        return claims


def link_expiry(now: datetime, seconds: int) -> datetime:
    """Return when a link made now for so many seconds is over, in whole seconds."""
    return (now + timedelta(seconds=seconds)).replace(microsecond=0)


def _mac(key: SigningKey, purpose: bytes, payload: bytes) -> bytes:
    return hmac.new(key.secret, purpose + b"\n" + payload, hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    # Base64 has several spellings of the same bytes; only ours is accepted.
    if _encode(data) != text:
        raise ValueError("not canonical base64")
    return data

"""Access: finds the sender of a request by its API key, or by a signed link or ticket.

Links and tickets contain a permission that expires.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.errors import ForbiddenLinkError, UnauthorizedError
from app.models.app_policy import AppPolicy
from app.models.identity import utc_now
from app.models.project import ApiKey, new_api_key, parse_api_key
from app.stores.records.projects import ProjectRecords
from app.stores.records.records import Records


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request."""

    project_id: str
    key_id: str | None = None
    """The id of the API key; `None` without authentication."""
    is_operator: bool = False
    """True for commands, which use the stores directly and need no key."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """Verifies API keys, and creates, lists and revokes them."""

    records: Records
    default_project: str | None
    """The project of all requests, if authentication is off; otherwise `None`."""

    async def caller_of(self, authorization: str | None) -> Caller:
        """Return the caller of an `Authorization` header.

        Raises:
            UnauthorizedError: The header has no key, or the key is unknown or revoked.
        """
        if self.default_project is not None:
            return Caller(self.default_project)
        scheme, _, token = (authorization or "").partition(" ")
        presented = parse_api_key(token.strip()) if scheme.lower() == "bearer" else None
        if presented is None:
            raise UnauthorizedError
        stored = await self.records.read_projects(
            lambda projects: projects.find_secret(presented.key_id)
        )
        if not presented.opens(stored) or stored is None:
            raise UnauthorizedError
        return Caller(stored.project_id, presented.key_id)

    async def check(self, caller: Caller) -> None:
        """Check that a caller still has access.

        Raises:
            UnauthorizedError: The key is revoked.
        """
        if await self.revoked_callers([caller]):
            raise UnauthorizedError

    async def revoked_callers(self, callers: Iterable[Caller]) -> set[Caller]:
        """Return those callers that have no access any more, because their keys were revoked."""
        checked = {caller for caller in callers if not caller.is_operator}
        if self.default_project is not None:
            return checked - {Caller(self.default_project)}
        valid = await self.records.read_projects(
            lambda projects: projects.valid_keys({item.key_id for item in checked if item.key_id})
        )
        return {item for item in checked if item.key_id not in valid}

    async def ensure_project(self, project_id: str) -> None:
        """Create a project unless it exists."""
        await self.records.write_projects(lambda projects: projects.ensure(project_id, utc_now()))

    async def create_key(self, project_id: str, label: str) -> str:
        """Create a key, and its project if it is missing; return the key, which is not stored."""
        presented = new_api_key()
        now = utc_now()
        key = ApiKey(presented.key_id, project_id, label, presented.secret_sha256, now, None)

        def add(projects: ProjectRecords) -> None:
            projects.ensure(project_id, now)
            projects.add_key(key)

        await self.records.write_projects(add)
        return str(presented)

    async def list_keys(self) -> list[ApiKey]:
        """Return all keys of all projects, also revoked ones, the oldest first."""
        return await self.records.read_projects(lambda projects: projects.list_keys())

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke a key; return True if a valid key has this id."""
        return await self.records.write_projects(
            lambda projects: projects.revoke_key(key_id, utc_now())
        )


_MAX_TOKEN_CHARS = 2_048
# The purpose of a token is part of its signature, so that a ticket cannot be used as a link.
_LINK = b"GET"
_TICKET = b"EVENTS"
_INVALID_TOKEN = (ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret that signs links and tickets."""

    key_id: str
    """The id of the secret, which links and tickets contain."""
    secret: bytes


@dataclass(frozen=True, slots=True)
class LinkGrant:
    """The permission of a signed link: to read one resource until the link expires."""

    project_id: str
    resource_id: str
    disposition: str
    filename: str | None
    expires_at: datetime
    app: AppPolicy | None = None
    """The policy of an MCP App, if the resource is a page of one, which the content host shows."""


class LinkSigner:
    """Makes and verifies signed links and tickets, with which requests need no API key.

    Links are for `<img>` and `<video>`, and tickets are for streams of events. A token has the
    claims of the permission, the id of the signing key, and an HMAC-SHA256 of these and the
    purpose. The first signing key signs, and all of them verify: so keys can be replaced before all
    links have expired.
    """

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        self._keys = {key.key_id: key for key in keys}
        self._signing = keys[0]

    def sign(self, grant: LinkGrant) -> str:
        """Return the url-safe token for a grant."""
        claims = (grant.project_id, grant.resource_id, grant.disposition, grant.filename)
        policy = () if grant.app is None else (grant.app.model_dump(mode="json", by_alias=True),)
        return self.sign_claims(_LINK, (*claims, *policy), grant.expires_at)

    def sign_ticket(self, caller: Caller, expires_at: datetime) -> str:
        """Return a url-safe ticket, with which a caller can open streams until it expires."""
        return self.sign_claims(_TICKET, (caller.project_id, caller.key_id), expires_at)

    def verify_ticket(self, token: str, now: datetime) -> Caller:
        """Return the caller in a ticket.

        Raises:
            UnauthorizedError: The ticket is invalid or expired. The error does not say which.
        """
        try:
            project_id, key_id, _ = self.read_claims(_TICKET, token, now)
        except _INVALID_TOKEN as exc:
            raise UnauthorizedError from exc
        return Caller(project_id, key_id)

    def content_path(self, grant: LinkGrant) -> str:
        """Return the path and query of a signed link."""
        return f"/api/resources/{grant.resource_id}/content?token={self.sign(grant)}"

    def verify(self, token: str, resource_id: str, now: datetime) -> LinkGrant:
        """Return the grant in a token for a resource.

        Raises:
            ForbiddenLinkError: The token is invalid, expired, or for another resource. The error
                does not say which.
        """
        try:
            claims = self.read_claims(_LINK, token, now)
            project_id, granted_id, disposition, filename, *policy, expires = claims
            app = AppPolicy.model_validate(policy[0]) if policy else None
        except _INVALID_TOKEN as exc:
            raise ForbiddenLinkError from exc
        if granted_id != resource_id:
            raise ForbiddenLinkError
        expires_at = datetime.fromtimestamp(expires, tz=now.tzinfo)
        return LinkGrant(project_id, granted_id, disposition, filename, expires_at, app)

    def sign_claims(self, purpose: bytes, claims: Sequence[object], expires_at: datetime) -> str:
        """Return a token with claims for a purpose."""
        members = [self._signing.key_id, *claims, int(expires_at.timestamp())]
        payload = json.dumps(members, separators=(",", ":")).encode()
        return f"{_encode(payload)}.{_encode(_mac(self._signing, purpose, payload))}"

    def read_claims(self, purpose: bytes, token: str, now: datetime | None) -> list[Any]:
        """Return the claims of a token, without the id of its signing key.

        If `now` is `None`, the token may have expired.

        Raises:
            ValueError, KeyError, TypeError: The token is invalid or expired.
        """
        if len(token) > _MAX_TOKEN_CHARS or not token.isascii():
            raise ValueError("not a token")
        payload, mac = map(_decode, token.split(".", 1))
        claims: list[Any]
        key_id, *claims = json.loads(payload)
        if not hmac.compare_digest(mac, _mac(self._keys[key_id], purpose, payload)):
            raise ValueError("not signed by us")
        if now is not None and now.timestamp() >= claims[-1]:
            raise ValueError("over")
        return claims


def link_expiry(now: datetime, seconds: int) -> datetime:
    """Return the expiry of a link that is made now, in whole seconds."""
    return (now + timedelta(seconds=seconds)).replace(microsecond=0)


def _mac(key: SigningKey, purpose: bytes, payload: bytes) -> bytes:
    return hmac.new(key.secret, purpose + b"\n" + payload, hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    # The same bytes have several spellings in base64. Only the one that `_encode` writes is valid.
    if _encode(data) != text:
        raise ValueError("not canonical base64")
    return data

"""Authenticates requests, by an API key or by a signed link or ticket.

Signed links and tickets contain a permission that expires, and need no API key.
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
    """The project that the sender may access."""
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
        """Return the sender of a request, from the value of its header `Authorization`.

        Raises:
            UnauthorizedError: The header has no key, or the key is unknown or revoked.
        """
        if self.default_project is not None:
            return Caller(self.default_project)
        scheme, _, token = (authorization or "").partition(" ")
        sent_key = parse_api_key(token.strip()) if scheme.lower() == "bearer" else None
        if sent_key is None:
            raise UnauthorizedError
        stored_key = await self.records.read_projects(
            lambda projects: projects.find_secret(sent_key.key_id)
        )
        if not sent_key.opens(stored_key) or stored_key is None:
            raise UnauthorizedError
        return Caller(stored_key.project_id, sent_key.key_id)

    async def check(self, caller: Caller) -> None:
        """Raise an error if the key of a caller was revoked since the request was authenticated.

        Raises:
            UnauthorizedError: The key was revoked.
        """
        if await self.revoked_callers([caller]):
            raise UnauthorizedError

    async def revoked_callers(self, callers: Iterable[Caller]) -> set[Caller]:
        """Return those callers whose keys were revoked."""
        with_keys = {caller for caller in callers if not caller.is_operator}
        if self.default_project is not None:
            return with_keys - {Caller(self.default_project)}
        key_ids = {caller.key_id for caller in with_keys if caller.key_id}
        valid_ids = await self.records.read_projects(lambda projects: projects.valid_keys(key_ids))
        return {caller for caller in with_keys if caller.key_id not in valid_ids}

    async def ensure_project(self, project_id: str) -> None:
        """Create a project if it does not exist."""
        await self.records.write_projects(lambda projects: projects.ensure(project_id, utc_now()))

    async def create_key(self, project_id: str, label: str) -> str:
        """Create an API key, and its project if it does not exist.

        Args:
            project_id: The project that the key gives access to.
            label: A text that tells people what the key is for.

        Returns:
            The key. Only its hash is stored, so it cannot be shown again.
        """
        new_key = new_api_key()
        now = utc_now()
        key = ApiKey(new_key.key_id, project_id, label, new_key.secret_sha256, now, None)

        def add(projects: ProjectRecords) -> None:
            projects.ensure(project_id, now)
            projects.add_key(key)

        await self.records.write_projects(add)
        return str(new_key)

    async def list_keys(self) -> list[ApiKey]:
        """Return the keys of all projects, including revoked keys, the oldest first."""
        return await self.records.read_projects(lambda projects: projects.list_keys())

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke a key. Return False if no valid key has this id."""
        return await self.records.write_projects(
            lambda projects: projects.revoke_key(key_id, utc_now())
        )


_MAX_TOKEN_CHARS = 2_048
# The purpose of a token is part of its signature, so that a ticket cannot be used as a link.
_LINK_PURPOSE = b"GET"
_TICKET_PURPOSE = b"EVENTS"
# The errors of `LinkSigner.read_claims`, and of claims of another form.
_INVALID_TOKEN_ERRORS = (ValueError, KeyError, TypeError)


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
    """If the resource is the HTML page of an MCP App: the policy with which it is served."""


class LinkSigner:
    """Makes and verifies signed links and tickets, which replace the API key of a request.

    Links are for `<img>` and `<video>`, and tickets are for streams of events. A token has the id
    of a signing key, the claims (the permission and the time at which it expires), and an
    HMAC-SHA256 of both and of the purpose.

    Args:
        keys: The signing keys. The first key signs, and all keys verify, so that a key can be
            replaced while its links are still valid.
    """

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        self._keys = {key.key_id: key for key in keys}
        self._signing_key = keys[0]

    def sign(self, grant: LinkGrant) -> str:
        """Return the token of a link, which is safe in URLs."""
        claims = (grant.project_id, grant.resource_id, grant.disposition, grant.filename)
        policy = () if grant.app is None else (grant.app.model_dump(mode="json", by_alias=True),)
        return self.sign_claims(_LINK_PURPOSE, (*claims, *policy), grant.expires_at)

    def sign_ticket(self, caller: Caller, expires_at: datetime) -> str:
        """Return a ticket, with which a caller can open streams of events until it expires."""
        return self.sign_claims(_TICKET_PURPOSE, (caller.project_id, caller.key_id), expires_at)

    def verify_ticket(self, token: str, now: datetime) -> Caller:
        """Return the caller for whom a ticket was made.

        Raises:
            UnauthorizedError: The ticket is invalid or expired. The error does not say which.
        """
        try:
            project_id, key_id, _ = self.read_claims(_TICKET_PURPOSE, token, now)
        except _INVALID_TOKEN_ERRORS as exc:
            raise UnauthorizedError from exc
        return Caller(project_id, key_id)

    def content_path(self, grant: LinkGrant) -> str:
        """Return the path and query of a signed link."""
        return f"/api/resources/{grant.resource_id}/content?token={self.sign(grant)}"

    def verify(self, token: str, resource_id: str, now: datetime) -> LinkGrant:
        """Return the permission that the token of a link contains.

        Args:
            token: The token.
            resource_id: The resource that the request asks for.
            now: The current time.

        Raises:
            ForbiddenLinkError: The token is invalid, expired, or for another resource. The error
                does not say which.
        """
        try:
            claims = self.read_claims(_LINK_PURPOSE, token, now)
            project_id, granted_id, disposition, filename, *policy, expires = claims
            app = AppPolicy.model_validate(policy[0]) if policy else None
        except _INVALID_TOKEN_ERRORS as exc:
            raise ForbiddenLinkError from exc
        if granted_id != resource_id:
            raise ForbiddenLinkError
        expires_at = datetime.fromtimestamp(expires, tz=now.tzinfo)
        return LinkGrant(project_id, granted_id, disposition, filename, expires_at, app)

    def sign_claims(self, purpose: bytes, claims: Sequence[object], expires_at: datetime) -> str:
        """Return a signed token.

        Args:
            purpose: The use of the token, which `read_claims` has to be called with.
            claims: Values that can be written as JSON.
            expires_at: The time at which the token expires, which becomes the last claim.
        """
        members = [self._signing_key.key_id, *claims, int(expires_at.timestamp())]
        payload = json.dumps(members, separators=(",", ":")).encode()
        return f"{_encode(payload)}.{_encode(_mac(self._signing_key, purpose, payload))}"

    def read_claims(self, purpose: bytes, token: str, now: datetime | None) -> list[Any]:
        """Verify a token, and return its claims; the last one is the time at which it expires.

        Args:
            purpose: The use of the token.
            token: The token.
            now: The current time; `None` to accept an expired token.

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
    """Return the time, in whole seconds, at which a link expires.

    Args:
        now: The current time.
        seconds: The time for which the link is valid.
    """
    return (now + timedelta(seconds=seconds)).replace(microsecond=0)


def _mac(key: SigningKey, purpose: bytes, payload: bytes) -> bytes:
    return hmac.new(key.secret, purpose + b"\n" + payload, hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    # Several base64 texts decode to the same bytes. Only the text that `_encode` writes is valid.
    if _encode(data) != text:
        raise ValueError("not canonical base64")
    return data

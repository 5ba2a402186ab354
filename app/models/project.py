"""Projects and API keys."""

import hashlib
import hmac
import re
import secrets
import zlib
from dataclasses import asdict, dataclass
from datetime import datetime

PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")
_API_KEY = re.compile(r"(pf_([0-9a-z]{12})_([0-9A-Za-z]{32}))_([0-9a-f]{8})\Z")
_KEY_ID_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_SECRET_ALPHABET = _KEY_ID_ALPHABET + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key, with the SHA-256 of its secret."""

    key_id: str
    project_id: str
    label: str
    secret_sha256: str
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """Totals of a project: records by kind, and the bytes of distinct files."""

    sessions: int
    results: int
    messages: int
    interactions: int
    pages: int
    resources: int
    bytes: int

    def members(self) -> dict[str, int]:
        """Return the numbers by their names."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The stored data of a key that are needed to verify the key of a request."""

    project_id: str
    secret_sha256: str
    is_revoked: bool


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """The key in a request: `pf_<id>_<secret>_<crc>`."""

    key_id: str
    secret: str

    @property
    def secret_sha256(self) -> str:
        """The SHA-256 of the secret, 64 hex digits; the secret is not stored."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def opens(self, stored: StoredSecret | None) -> bool:
        """Return whether the secret is that of a stored key that is not revoked.

        The comparison takes the same time for all keys.
        """
        expected = stored.secret_sha256 if stored else "0" * 64
        same = hmac.compare_digest(self.secret_sha256, expected)
        return same and stored is not None and not stored.is_revoked

    def __str__(self) -> str:
        """Return the text of the key. The checksum detects typing errors without a lookup."""
        stem = f"pf_{self.key_id}_{self.secret}"
        return f"{stem}_{_checksum(stem)}"

    def __repr__(self) -> str:
        """Return the key without its secret, for logs."""
        return f"PresentedKey(key_id={self.key_id!r})"


def new_api_key() -> PresentedKey:
    """Return a new random key, with 62 bits of id and 190 bits of secret."""
    return PresentedKey(
        key_id="".join(secrets.choice(_KEY_ID_ALPHABET) for _ in range(12)),
        secret="".join(secrets.choice(_SECRET_ALPHABET) for _ in range(32)),
    )


def parse_api_key(text: str) -> PresentedKey | None:
    """Return the key in a text; `None` if its form or checksum is wrong."""
    match = _API_KEY.match(text)
    if match is None:
        return None
    stem, key_id, secret, checksum = match.groups()
    return PresentedKey(key_id, secret) if checksum == _checksum(stem) else None


def _checksum(stem: str) -> str:
    return f"{zlib.crc32(stem.encode()):08x}"

"""The keys that links and tickets are signed with."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from app.config.settings import Settings
from app.services.access.callers import SigningKey
from app.wiring.startup_errors import MissingSigningKeysError


def signing_keys(settings: Settings) -> Sequence[SigningKey]:
    """Return the configured keys, or the data directory's own where one machine serves.

    Raises:
        MissingSigningKeysError: Several may serve, and none are configured.
    """
    configured = [key.get_secret_value() for key in settings.signing_keys]
    if not configured and not settings.is_embedded_database:
        raise MissingSigningKeysError
    if not configured:
        configured = [_own_signing_key(settings.data_dir / "signing-key")]
    return [
        SigningKey(key_id, secret.encode())
        for key_id, _, secret in (key.partition(":") for key in configured)
    ]


def _own_signing_key(path: Path) -> str:
    """Return the data directory's own key, made on first use and readable by the owner only."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    if not path.exists():
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"own:{secrets.token_urlsafe(48)}")
            file.flush()
            os.fsync(descriptor)
        try:
            # A link, not a rename: of two workers that start at once, the first one's key stays.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()

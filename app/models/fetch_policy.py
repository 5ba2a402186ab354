"""What the service may fetch by itself, and how long and how much of it."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPolicy:
    """See `app.setting_groups.FetchSettings`, which documents and bounds each of them."""

    allow: tuple[str, ...] = ()
    max_bytes: int = 100 * _MIB
    connect_seconds: float = 3.0
    read_seconds: float = 5.0
    total_seconds: float = 15.0
    redirects: int = 3

"""Groups of settings, one class each, with the bounds and defaults of their members.

`PAGEFAULT_LIMITS__BODY_BYTES` is `body_bytes` of the group `limits`.
"""

from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    SecretStr,
    field_validator,
)

from app.config.setting_values import CommaList, each_by, fetched_host
from app.models.limits import MIB, FetchPolicy


class SettingsGroup(BaseModel):
    """Base of the nested groups."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DatabaseSettings(SettingsGroup):
    """The database of the records."""

    url: SecretStr | None = None
    """`postgresql://user:password@host/name` for a server, its parts percent-encoded, with options
    of libpq such as `?sslmode=verify-full`; without it, SQLite in the data directory."""

    pool_size: Annotated[int, Field(ge=1)] = 10
    """Connections a process keeps open, beside one that writes and, to PostgreSQL, one for events.
    Over SQLite each caches up to 8 MiB."""
    timeout_seconds: PositiveFloat = 10.0
    """Timeout for a connection or a lock."""

    @field_validator("url")
    @classmethod
    def _unset_if_empty(cls, url: SecretStr | None) -> SecretStr | None:
        """Return `None` for an empty URL, as container files write an unset one."""
        return url if url is not None and url.get_secret_value() else None


class BlobSettings(SettingsGroup):
    """The store of the blobs."""

    url: str | None = None
    """`s3://bucket/prefix` for an S3-compatible store; without it, a folder in the data
    directory."""
    s3_endpoint: str | None = None
    """The store's URL, where it is not Amazon's."""
    s3_region: str = "us-east-1"
    """The bucket's region."""
    s3_access_key_id: SecretStr | None = None
    """Without it, the `AWS_*` variables and roles apply."""
    s3_secret_access_key: SecretStr | None = None
    """Belongs to the access key id."""


class ContentSettings(SettingsGroup):
    """Delivery of stored bytes by nginx or the object store."""

    accel_prefix: Annotated[str | None, Field(pattern=r"^/(?:[A-Za-z0-9._~-]+/)+$")] = None
    """The `internal` location of nginx for the folder of the blobs, such as `/_blobs/`. The
    service answers with `X-Accel-Redirect` and nginx sends the bytes. Needs the blobs in the data
    directory and nginx as the only way to the service."""
    redirect_bytes: Annotated[int | None, Field(ge=0)] = None
    """From this size on, content is fetched from the S3 store: the answer is a 307 to a pre-signed
    URL. Without it, the service sends everything itself."""
    redirect_seconds: Annotated[int, Field(ge=1, le=3_600)] = 300
    """Lifetime of such a URL."""


class QuotaSettings(SettingsGroup):
    """Rates of a key, counted by each server process, and stored bytes of a project."""

    requests_per_minute: NonNegativeInt = 0
    """Requests a key may send in a minute, to one process; more get a 429. 0 for any number."""
    body_bytes_per_day: NonNegativeInt = 0
    """Bytes of request bodies a key may send in a day, to one process; more get a 429. 0 for any
    number."""
    stored_bytes: Annotated[int, Field(ge=0, le=2**62)] = 0
    """Bytes of files a project may keep, over all processes; more get a 507. 0 for any number."""


class FetchSettings(FetchPolicy):
    """A fetch policy whose hosts are a list separated by commas."""

    allow: Annotated[
        CommaList,
        AfterValidator(each_by(fetched_host)),
        Field(description=FetchPolicy.model_fields["allow"].description),
    ] = ()


class SweepSettings(SettingsGroup):
    """Removal of unreferenced blobs."""

    interval_seconds: NonNegativeFloat = 6 * 3600.0
    """Time between two sweeps of a server; 0 turns them off."""
    grace_seconds: NonNegativeFloat = 24 * 3600.0
    """Minimum age of an unreferenced blob before it is removed."""


class ScrubSettings(SettingsGroup):
    """Periodic reading of stored files, which finds files that a disk has changed."""

    period_seconds: Annotated[float, Field(ge=0, le=3.2e8)] = 30 * 24 * 3600.0
    """Time in which a server reads every file once; 0 turns it off."""
    bytes_per_second: Annotated[int, Field(ge=1)] = 16 * MIB
    """Maximum read rate of a process."""


class EventSettings(SettingsGroup):
    """Retention of events and limits of their listeners."""

    keep_seconds: Annotated[float, Field(ge=0, le=3.2e9)] = 7 * 24 * 3600.0
    """Age from which a sweep removes an event."""
    keep_count: NonNegativeInt = 1_000_000
    """Number of newest events of a project that a sweep keeps."""
    streams: Annotated[int, Field(ge=1)] = 2_000
    """Listeners a process has at once; more get a 503."""
    streams_per_key: Annotated[int, Field(ge=1)] = 1_000
    """Event streams per key and process; more get a 429. With `PAGEFAULT_AUTH=none` all callers
    share one limit."""
    queued_events: Annotated[int, Field(ge=1)] = 1_000
    """Events that wait for one listener before it is cut off."""
    queued_bytes: Annotated[int, Field(ge=1)] = 64 * MIB
    """Bytes of events that wait for one listener before it is cut off. All queues of a process
    together hold at most a quarter of `PAGEFAULT_LIMITS__MEMORY_BYTES`; with the defaults that is
    the same number, so the quarter is met first as soon as several listeners wait."""

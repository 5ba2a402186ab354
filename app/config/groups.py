"""The groups of settings: a class each, with what can be set, its bounds and its default.

`PAGEFAULT_LIMITS__BODY_BYTES` is `body_bytes` of the group `limits`.
"""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator

from app.config.values import CommaList, each_by, fetched_host
from app.models.limits import MIB, FetchPolicy


class SettingsGroup(BaseModel):
    """Base of the nested groups."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DatabaseSettings(SettingsGroup):
    """Where records are kept."""

    url: Annotated[
        SecretStr | None,
        Field(
            description="`postgresql://user:password@host/name` for a server; "
            "without it, SQLite in the data directory."
        ),
    ] = None

    pool_size: Annotated[
        int,
        Field(
            ge=1,
            description="Connections a process keeps open, beside one that writes. "
            "Over SQLite each caches up to 8 MiB.",
        ),
    ] = 10
    timeout_seconds: Annotated[
        float, Field(gt=0, description="How long to wait for a connection or a lock.")
    ] = 10.0

    @field_validator("url")
    @classmethod
    def _unset_if_empty(cls, url: SecretStr | None) -> SecretStr | None:
        """Treat what a file for containers leaves empty as not set."""
        return url if url is not None and url.get_secret_value() else None


class BlobSettings(SettingsGroup):
    """Where bytes are kept."""

    url: Annotated[
        str | None,
        Field(
            description="`s3://bucket/prefix` for an S3-compatible store; "
            "without it, a folder in the data directory."
        ),
    ] = None
    s3_endpoint: Annotated[
        str | None, Field(description="The store's URL, where it is not Amazon's.")
    ] = None
    s3_region: Annotated[str, Field(description="The bucket's region.")] = "us-east-1"
    s3_access_key_id: Annotated[
        SecretStr | None, Field(description="Without it, the `AWS_*` variables and roles apply.")
    ] = None
    s3_secret_access_key: Annotated[
        SecretStr | None, Field(description="Belongs to the access key id.")
    ] = None


class ContentSettings(SettingsGroup):
    """Who sends stored bytes, where it is not the service."""

    accel_prefix: Annotated[
        str | None,
        Field(
            pattern=r"^/(?:[A-Za-z0-9._~-]+/)+$",
            description="Where nginx has the folder of the blobs, an `internal` location such as "
            "`/_blobs/`: it is told by `X-Accel-Redirect` to send them. Needs the blobs in the "
            "data directory, and nginx as the only way to the service.",
        ),
    ] = None
    redirect_bytes: Annotated[
        int | None,
        Field(
            ge=0,
            description="From this size on, content is fetched from the S3 store: the answer is a "
            "307 to a pre-signed URL. Without it, the service sends everything itself.",
        ),
    ] = None
    redirect_seconds: Annotated[
        int, Field(ge=1, le=3_600, description="How long such a URL is good for.")
    ] = 300


class QuotaSettings(SettingsGroup):
    """How much a key may do, which each server process counts for itself, and a project keep."""

    requests_per_minute: Annotated[
        int,
        Field(
            ge=0,
            description="Requests a key may send in a minute, to one process; more get a 429. 0 "
            "for any number.",
        ),
    ] = 0
    body_bytes_per_day: Annotated[
        int,
        Field(
            ge=0,
            description="Bytes of request bodies a key may send in a day, to one process; more get "
            "a 429. 0 for any number.",
        ),
    ] = 0
    stored_bytes: Annotated[
        int,
        Field(
            ge=0,
            le=2**62,
            description="Bytes of files a project may keep, over all processes; more get a 507. 0 "
            "for any number.",
        ),
    ] = 0


class FetchSettings(FetchPolicy):
    """A fetch policy, with its hosts as a variable spells them: separated by commas."""

    allow: Annotated[
        CommaList,
        AfterValidator(each_by(fetched_host)),
        Field(description=FetchPolicy.model_fields["allow"].description),
    ] = ()


class SweepSettings(SettingsGroup):
    """How blobs that nothing refers to are removed."""

    interval_seconds: Annotated[
        float, Field(ge=0, description="How often a server sweeps by itself; 0 for never.")
    ] = 6 * 3600.0
    grace_seconds: Annotated[
        float, Field(ge=0, description="How old a blob without a reference has to be.")
    ] = 24 * 3600.0


class ScrubSettings(SettingsGroup):
    """How stored files are read again, to find those that a disk has changed."""

    period_seconds: Annotated[
        float,
        Field(
            ge=0,
            le=3.2e8,
            description="Within how long a server reads every file once; 0 for never.",
        ),
    ] = 30 * 24 * 3600.0
    bytes_per_second: Annotated[
        int, Field(ge=1, description="How fast a process reads for it at most.")
    ] = 16 * MIB


class EventSettings(SettingsGroup):
    """How long events are kept, and for how many listeners."""

    keep_seconds: Annotated[
        float,
        Field(ge=0, le=3.2e9, description="How old an event may be before a sweep removes it."),
    ] = 7 * 24 * 3600.0
    keep_count: Annotated[
        int, Field(ge=0, description="How many events of a project a sweep leaves.")
    ] = 1_000_000
    streams: Annotated[
        int, Field(ge=1, description="Listeners a process has at once; more get a 503.")
    ] = 2_000
    streams_per_key: Annotated[
        int,
        Field(
            ge=1,
            description="Event streams per key and process; more get a 429. With "
            "`PAGEFAULT_AUTH=none` all callers share one limit.",
        ),
    ] = 1_000
    queued_events: Annotated[
        int, Field(ge=1, description="Events that wait for one listener before it is cut off.")
    ] = 1_000
    queued_bytes: Annotated[
        int,
        Field(
            ge=1,
            description="Bytes of events that wait for one listener before it is cut off. All "
            "queues of a process together hold at most a quarter of "
            "`PAGEFAULT_LIMITS__MEMORY_BYTES`; with the defaults that is the same number, so the "
            "quarter is met first as soon as several listeners wait.",
        ),
    ] = 64 * MIB

"""Settings, which are read from `PAGEFAULT_*` environment variables.

Services do not import this module; they get the values as arguments.

The name of a nested setting has two underscores: `PAGEFAULT_LIMITS__BODY_BYTES` is `body_bytes` of
the group `limits`.

A variable `PAGEFAULT_…` that is neither a setting nor one of the other variables below is an error,
so that no operator relies on a limit whose name is misspelt.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.config.setting_values import (
    CommaList,
    build_origin,
    check_fetched_host,
    is_loopback,
    is_normalized_host,
    list_host_names,
    make_item_validator,
    normalize_host,
    normalize_page_origin,
    split_commas,
)
from app.models.limits import MIB, FetchPolicy, Limits

PREFIX = "PAGEFAULT_"
RAW_RESULTS_VARIABLE = "DECTO_DEBUG_TOOL_RESULT_RAW"
"""The only setting without the prefix; the specification defines its name."""
STARTED_BY_VARIABLE = "PAGEFAULT_STARTED_BY"
"""Set by the Makefile, so that messages name variables of `make` and not options of a command."""
CLIENT_VARIABLES = frozenset({"PAGEFAULT_URL", "PAGEFAULT_API_KEY", "PAGEFAULT_LOG"})
"""Settings of clients: the URL of the service, a key and the level of their log."""
# Variables that are not settings of the service. PAGEFAULT_CRASH_AT is set by tests.
_OTHER_VARIABLES = CLIENT_VARIABLES | {"PAGEFAULT_CRASH_AT", STARTED_BY_VARIABLE}
# Kubernetes sets these in every container for each existing service whose name begins with
# `pagefault`.
_KUBERNETES_VARIABLE = re.compile(
    r"PAGEFAULT_(?:\w+_)?"
    r"(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_KUBERNETES_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://", re.IGNORECASE)


def list_variables(group: type[BaseModel], prefix: str = PREFIX) -> Iterator[tuple[str, FieldInfo]]:
    """Yield each variable of a group of settings, and of nested groups, with its field."""
    for name, field in group.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from list_variables(field.annotation, f"{prefix}{name.upper()}__")
        else:
            alias = field.validation_alias
            yield alias if isinstance(alias, str) else f"{prefix}{name.upper()}", field


def find_unknown_variables(environment: Mapping[str, str], settings: type[BaseModel]) -> list[str]:
    """Return a sentence for each variable with the prefix `PAGEFAULT_` that is not a setting.

    Args:
        environment: All variables; the case of their names does not matter.
        settings: The class of all settings.
    """
    setting_names = [name for name, _ in list_variables(settings)]
    # The variable of a group, such as PAGEFAULT_LIMITS, may have the group as JSON.
    groups = {name.rpartition("__")[0] for name in setting_names}
    known_names = {*setting_names, *groups, *_OTHER_VARIABLES}
    sentences = []
    for variable, value in sorted(environment.items()):
        name = variable.upper()
        is_from_kubernetes = _KUBERNETES_VARIABLE.fullmatch(name) or (
            name.endswith("_PORT") and _KUBERNETES_ADDRESS.match(value)
        )
        if not name.startswith(PREFIX) or name in known_names or is_from_kubernetes:
            continue
        similar = _find_similar(name, setting_names)
        hint = f"Did you mean {similar}?" if similar else "docs/settings.md lists all of them"
        sentences.append(f"{''.join(filter(str.isprintable, variable))} is not a setting. {hint}")
    return sentences


def _find_similar(name: str, setting_names: list[str]) -> str | None:
    # Missing underscores are the most frequent mistake.
    without_underscores = {setting.replace("_", ""): setting for setting in setting_names}
    if (setting := without_underscores.get(name.replace("_", ""))) is not None:
        return setting
    short_name = name.removeprefix(PREFIX).strip("_")
    # The name may lack the group of the setting, such as PAGEFAULT_BODY_BYTES.
    members = [item for item in setting_names if short_name and item.endswith(f"__{short_name}")]
    if len(members) == 1:
        return members[0]
    by_short_name = {item.removeprefix(PREFIX): item for item in setting_names}
    close = difflib.get_close_matches(short_name, by_short_name, 1, cutoff=0.7)
    return by_short_name[close[0]] if close else None


class SettingsGroup(BaseModel):
    """The base of groups of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DatabaseSettings(SettingsGroup):
    """The database of the records."""

    url: SecretStr | None = None
    """`postgresql://user:password@host/name` for a server, its parts percent-encoded, with options
    such as `?sslmode=verify-full`, or any other connection string of libpq, also of several
    servers; without it, SQLite in the data directory."""
    listen_url: SecretStr | None = None
    """The database for `LISTEN` and `NOTIFY`; by default `url`. Set it if `url` leads to a pooler
    that changes connections between transactions, such as PgBouncer in transaction mode."""

    pool_size: Annotated[int, Field(ge=1)] = 10
    """Connections a process keeps open, beside one that writes and, to PostgreSQL, two for events.
    Over SQLite each caches up to 8 MiB."""
    timeout_seconds: PositiveFloat = 10.0
    """Timeout for a connection or a lock."""
    transaction_pooler: bool | None = None
    """`true` if a pooler such as PgBouncer may run each transaction over another connection:
    statements are then not prepared. By default, a pooler is recognized on each new connection.
    `false` prepares statements behind a pooler that keeps them, as in session mode."""

    @field_validator("url", "listen_url")
    @classmethod
    def _unset_if_empty(cls, url: SecretStr | None) -> SecretStr | None:
        """Return `None` for an empty URL, to which container files set a variable without value."""
        return url if url is not None and url.get_secret_value() else None


class BlobSettings(SettingsGroup):
    """The store of the blobs."""

    url: str | None = None
    """`s3://bucket/prefix` for an S3-compatible store; without it, a folder in the data
    directory."""
    s3_endpoint: str | None = None
    """The URL of the store, if it is not Amazon's."""
    s3_region: str = "us-east-1"
    """The bucket's region."""
    s3_access_key_id: SecretStr | None = None
    """The id of the access key. Without it, the `AWS_*` variables and roles are used."""
    s3_secret_access_key: SecretStr | None = None
    """The secret of the access key."""


class ContentSettings(SettingsGroup):
    """Delivery of stored bytes by nginx or the object store."""

    accel_prefix: Annotated[str | None, Field(pattern=r"^/(?:[A-Za-z0-9._~-]+/)+$")] = None
    """The `internal` location of nginx for the folder of the blobs, such as `/_blobs/`. The
    service responds with `X-Accel-Redirect`, and nginx sends the bytes. The blobs have to be in the
    data directory, and the service has to be reachable only through nginx."""
    redirect_bytes: Annotated[int | None, Field(ge=0)] = None
    """The size from which content is fetched from the S3 store: the response is a 307 to a
    pre-signed URL. By default, the service sends all content itself."""
    redirect_seconds: Annotated[int, Field(ge=1, le=3_600)] = 300
    """The lifetime of a pre-signed URL."""


class QuotaSettings(SettingsGroup):
    """Rates of a key, counted by each server process, and stored bytes of a project."""

    requests_per_minute: NonNegativeInt = 0
    """Requests that a key may send in a minute, to one process; more get a 429. 0: any number."""
    body_bytes_per_day: NonNegativeInt = 0
    """Bytes of request bodies that a key may send in a day, to one process; more get a 429. 0: any
    number."""
    stored_bytes: Annotated[int, Field(ge=0, le=2**62)] = 0
    """Bytes of files that a project may store, over all processes; more get a 507. 0: any
    number."""


class FetchSettings(FetchPolicy):
    """A fetch policy whose hosts are a list separated by commas."""

    allow: Annotated[
        CommaList,
        AfterValidator(make_item_validator(check_fetched_host)),
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

    redis_url: SecretStr | None = None
    """`redis://user:password@host:6379/0` of a Redis server (`rediss://` for TLS), over which
    processes with one PostgreSQL database notify each other of events. Processes with another
    PostgreSQL database need another number than 0. By default, the notifications use
    PostgreSQL."""
    keep_seconds: Annotated[float, Field(ge=0, le=3.2e9)] = 7 * 24 * 3600.0
    """Age from which a sweep removes events."""
    keep_count: NonNegativeInt = 1_000_000
    """Number of newest events of a project that a sweep keeps."""
    streams: Annotated[int, Field(ge=1)] = 2_000
    """Listeners that a process may have at once; more get a 503."""
    streams_per_key: Annotated[int, Field(ge=1)] = 1_000
    """Event streams per key and process; more get a 429. With `PAGEFAULT_AUTH=none` all callers
    share one limit."""
    queued_events: Annotated[int, Field(ge=1)] = 1_000
    """Events that may wait for one listener; with more, its stream is ended."""
    queued_bytes: Annotated[int, Field(ge=1)] = 64 * MIB
    """Bytes of events that may wait for one listener; with more, its stream is ended. All queues of
    a process together have at most a quarter of `PAGEFAULT_LIMITS__MEMORY_BYTES`. With the
    defaults, both limits are the same number, so several slow listeners reach the quarter
    first."""


ResourcePolicy = Literal["same-origin", "same-site", "cross-origin"]

_SHORTEST_SIGNING_SECRET = 32
# The origin is written into a Content-Security-Policy, so it must have no character that ends a
# directive. IPv6 addresses are not valid there.
_ORIGIN = re.compile(r"https?://(?P<host>[a-z0-9.-]+)(?::[1-9][0-9]{0,4})?")


class Settings(BaseSettings):
    """All settings. `docs/settings.md` is generated from this class."""

    model_config = SettingsConfigDict(
        env_prefix="PAGEFAULT_",
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        use_attribute_docstrings=True,
        # Some values are secrets, and errors are logged.
        hide_input_in_errors=True,
    )

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8000
    """Port to listen on."""
    workers: Annotated[int, Field(ge=1)] = 1
    """Server processes."""
    data_dir: Path = Path("data")
    """The embedded database, the blobs and the link-signing keys. `pagefault proxy` and `pagefault
    mcp` use `~/.pagefault/data` by default."""
    auth: Literal["none", "api-key"] = "none"
    """`api-key`: every request needs a key. `none`: no keys; the service then listens on loopback
    only."""
    default_project: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")] = (
        "default"
    )
    """The project of every request while `auth` is `none`."""
    public_url: str | None = None
    """The URL by which clients reach the service; signed links start with it."""
    content_url: str | None = None
    """The origin of another host name of this service, such as `https://files.example.com`. Signed
    links start with it instead, and only their content is served there. Needs
    `PAGEFAULT_PUBLIC_URL`, and a proxy that passes `Host` on."""
    cors_origins: Annotated[
        CommaList, AfterValidator(make_item_validator(normalize_page_origin))
    ] = ()
    """Origins whose web pages may call the API, such as `https://app.example.com`, exact, separated
    by commas."""
    allowed_hosts: Annotated[CommaList, AfterValidator(make_item_validator(normalize_host))] = ()
    """Accepted values of the `Host` header, separated by commas, in addition to loopback names and
    the hosts of `PAGEFAULT_PUBLIC_URL` and `PAGEFAULT_CONTENT_URL`. A name without a port matches
    any port. Other values get a 421. With `PAGEFAULT_AUTH=none` `Host` is always checked; with
    `api-key` only if this list is set. It grants no access."""
    signing_keys: Annotated[
        tuple[SecretStr, ...], NoDecode, BeforeValidator(partial(split_commas, is_secret=True))
    ] = ()
    """`id:secret,id:secret`, with secrets of 32 characters or more. The first key signs links, and
    all keys verify links. `echo "k1:$(openssl rand -hex 32)"` makes a key. Needed with PostgreSQL;
    with SQLite, a key is created in the data directory by default."""
    cross_origin_resource_policy: ResourcePolicy = "same-origin"
    """Web pages that may embed media. If it is not set, content of signed links is `cross-origin`:
    every page that knows the link may embed it."""
    viewer_dir: Path | None = None
    """The folder of the built viewer; by default, that of the package."""
    features: CommaList = ()
    """Installed distributions whose features are added to those of the release, by their entry
    points `pagefault.features`, separated by commas. They run with all rights of the service."""
    compaction_tokens: Annotated[int | None, Field(ge=1)] = None
    """The maximum number of tokens to which a compaction item of `POST /v1/responses/compact` is
    expanded; by default, half of the context window that its target is assumed to have."""
    log_format: Literal["json", "console"] | None = None
    """Default: `console` on a terminal, else `json`: one JSON object on each line. If it is set to
    `json`, all output of a process is JSON, also that of failed starts."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged."""
    db: DatabaseSettings = DatabaseSettings()
    blobs: BlobSettings = BlobSettings()
    content: ContentSettings = ContentSettings()
    limits: Limits = Limits()
    quotas: QuotaSettings = QuotaSettings()
    fetch: FetchSettings = FetchSettings()
    sweep: SweepSettings = SweepSettings()
    scrub: ScrubSettings = ScrubSettings()
    events: EventSettings = EventSettings()
    debug_tool_result_raw: Annotated[bool, Field(validation_alias=RAW_RESULTS_VARIABLE)] = False
    """For debugging only: `true` or `1` adds the raw result, `rawResult`, to the events that
    connected listeners receive. It is never stored. The name is that of the specification."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: object) -> object:
        if errors := find_unknown_variables(os.environ, cls):
            raise ValueError("; ".join(errors))
        return values

    @field_validator("port", mode="before")
    @classmethod
    def _check_port(cls, value: object) -> object:
        if isinstance(value, str) and value.startswith("tcp://"):
            raise ValueError(
                "Kubernetes has set this for a service called `pagefault`: say "
                "`enableServiceLinks: false` in the pod, or set the port there"
            )
        return value

    @field_validator("debug_tool_result_raw", mode="before")
    @classmethod
    def _parse_debug_flag(cls, value: object) -> object:
        # Other programs read this variable too, so their values must not prevent the start.
        return value.strip().lower() in ("true", "1") if isinstance(value, str) else value

    @field_validator("signing_keys")
    @classmethod
    def _check_signing_keys(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for number, key in enumerate(value, 1):
            key_id, colon, secret = key.get_secret_value().partition(":")
            if not key_id or not colon:
                raise ValueError(f"key {number} has no id: write `k1:` before its secret")
            if len(secret) < _SHORTEST_SIGNING_SECRET:
                raise ValueError(
                    f"the secret of key {number} has {len(secret)} characters and needs "
                    f"{_SHORTEST_SIGNING_SECRET} or more: `openssl rand -hex 32` makes one"
                )
        return value

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http(s) URL such as https://media.example.com")
        # Reading an invalid port, or one above 65,535, raises a ValueError with the reason.
        _ = parts.port
        return value.rstrip("/")

    @field_validator("content_url")
    @classmethod
    def _check_content_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        origin = value.lower().removesuffix("/")
        match = _ORIGIN.fullmatch(origin)
        if not match or not is_normalized_host(match["host"]):
            raise ValueError("must be an origin such as https://files.example.com, without a path")
        return build_origin(origin)

    @model_validator(mode="after")
    def _check_content_host(self) -> "Settings":
        if self.content_url is None:
            return self
        if self.public_url is None:
            raise ValueError(
                "PAGEFAULT_CONTENT_URL is a second name of the service: set the first one too, "
                "PAGEFAULT_PUBLIC_URL"
            )
        host = urlsplit(self.public_url).hostname or ""
        if ":" not in host and not is_normalized_host(host.removesuffix(".")):
            raise ValueError(
                "PAGEFAULT_PUBLIC_URL has a host that browsers spell in another way. With "
                "PAGEFAULT_CONTENT_URL it has to be as they do: in ASCII (`xn--…`), an address in "
                "four numbers"
            )
        if list_host_names(self.content_url) & list_host_names(self.public_url):
            raise ValueError(
                "PAGEFAULT_CONTENT_URL and PAGEFAULT_PUBLIC_URL name the same host: content gets "
                "an origin of its own only from another name, or another port"
            )
        return self

    @model_validator(mode="after")
    def _check_loopback_without_auth(self) -> "Settings":
        if self.auth == "none" and not is_loopback(self.host):
            raise ValueError(
                f"listening on {self.host} without authentication is refused: set "
                "PAGEFAULT_AUTH=api-key and make a key with `pagefault keys create --project "
                "NAME`, or listen on 127.0.0.1"
            )
        return self

    @property
    def origin(self) -> str | None:
        """The origin of the public URL; `None` if there is none."""
        return None if self.public_url is None else build_origin(self.public_url)

    @property
    def accepted_hosts(self) -> frozenset[str] | None:
        """The accepted values of `Host` in addition to loopback names; `None` accepts any value.

        Without authentication it is never `None`, because of DNS rebinding: see
        `app.http.browser_guard`.
        """
        if self.auth != "none" and not self.allowed_hosts:
            return None
        urls = (url for url in (self.public_url, self.content_url) if url is not None)
        return frozenset(self.allowed_hosts).union(*map(list_host_names, urls))

    @property
    def is_embedded_database(self) -> bool:
        """True if the records are in SQLite in the data directory."""
        return self.db.url is None

    @property
    def link_resource_policy(self) -> ResourcePolicy:
        """The policy for content of signed links: `cross-origin` unless it is set.

        Any page that has the link may read the content, and the header cannot list such pages.
        """
        is_set = "cross_origin_resource_policy" in self.model_fields_set
        return self.cross_origin_resource_policy if is_set else "cross-origin"

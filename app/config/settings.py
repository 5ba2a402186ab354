"""Settings: `PAGEFAULT_*` environment variables, read once, passed on, never imported below wiring.

A nested setting is spelled with two underscores: `PAGEFAULT_LIMITS__BODY_BYTES`.
"""

import os
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.config.groups import (
    BlobSettings,
    ContentSettings,
    DatabaseSettings,
    EventSettings,
    FetchSettings,
    QuotaSettings,
    ScrubSettings,
    SweepSettings,
)
from app.config.loopback import is_loopback
from app.config.names import RAW_RESULTS, misspelt
from app.config.setting_values import (
    CommaList,
    answered_host,
    each_by,
    host_names,
    is_host_of_browsers,
    origin_of,
    page_origin,
    split_commas,
)
from app.models.limits import Limits

ResourcePolicy = Literal["same-origin", "same-site", "cross-origin"]

_SHORTEST_SIGNING_SECRET = 32
# Nothing that could end a directive of a policy. IPv6 is left out, since it is no source in one.
_ORIGIN = re.compile(r"https?://(?P<host>[a-z0-9.-]+)(?::[1-9][0-9]{0,4})?")


class Settings(BaseSettings):
    """Everything that can be set; `docs/settings.md` lists it and is checked against this class."""

    model_config = SettingsConfigDict(
        env_prefix="PAGEFAULT_",
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        use_attribute_docstrings=True,
        # Some are secrets, and an error is logged.
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
    """The URL clients reach the service by; signed links start with it."""
    content_url: str | None = None
    """An origin of another host that leads here too, such as `https://files.example.com`: signed
    links start with it instead, and nothing else is served there. Needs `PAGEFAULT_PUBLIC_URL`, and
    a proxy that passes its `Host` on."""
    cors_origins: Annotated[CommaList, AfterValidator(each_by(page_origin))] = ()
    """Origins whose web pages may call the API, such as `https://app.example.com`, exact, separated
    by commas."""
    allowed_hosts: Annotated[CommaList, AfterValidator(each_by(answered_host))] = ()
    """Accepted values of the `Host` header, separated by commas, in addition to loopback names and
    the hosts of `PAGEFAULT_PUBLIC_URL` and `PAGEFAULT_CONTENT_URL`. A name without a port matches
    any port. Other values get a 421. With `PAGEFAULT_AUTH=none` `Host` is always checked; with
    `api-key` only if this list is set. It grants no access."""
    signing_keys: Annotated[
        tuple[SecretStr, ...], NoDecode, BeforeValidator(partial(split_commas, is_secret=True))
    ] = ()
    """`id:secret,id:secret`, secrets of 32 characters or more: the first signs links, all verify.
    `echo "k1:$(openssl rand -hex 32)"` makes one. Needed with PostgreSQL; SQLite's data directory
    has one of its own."""
    cross_origin_resource_policy: ResourcePolicy = "same-origin"
    """Web pages that may embed media. If it is not set, content of signed links is `cross-origin`:
    every page that knows the link may embed it."""
    viewer_dir: Path | None = None
    """The folder of the built viewer, if not that of the package."""
    features: CommaList = ()
    """Installed distributions whose features are added to those of the release, by their entry
    points `pagefault.features`, separated by commas. They run with all rights of the service."""
    log_format: Literal["json", "console"] | None = None
    """Default: `console` on a terminal, else one JSON object a line. If it is set to `json`,
    everything a process writes is, failed starts included."""
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
    debug_tool_result_raw: Annotated[bool, Field(validation_alias=RAW_RESULTS)] = False
    """For debugging only: `true` or `1` adds the raw result, `rawResult`, to the events that
    connected listeners receive. It is never stored. The name is that of the specification."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: object) -> object:
        if wrong := misspelt(os.environ, cls):
            raise ValueError("; ".join(wrong))
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
        # Other programs set this variable too, so other values must not end the start.
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
        found = _ORIGIN.fullmatch(origin)
        if not found or not is_host_of_browsers(found["host"]):
            raise ValueError("must be an origin such as https://files.example.com, without a path")
        return origin_of(origin)

    @model_validator(mode="after")
    def _keep_content_on_a_host_of_its_own(self) -> "Settings":
        if self.content_url is None:
            return self
        if self.public_url is None:
            raise ValueError(
                "PAGEFAULT_CONTENT_URL is a second name of the service: set the first one too, "
                "PAGEFAULT_PUBLIC_URL"
            )
        host = urlsplit(self.public_url).hostname or ""
        if ":" not in host and not is_host_of_browsers(host.removesuffix(".")):
            raise ValueError(
                "PAGEFAULT_PUBLIC_URL has a host that browsers spell in another way. With "
                "PAGEFAULT_CONTENT_URL it has to be as they do: in ASCII (`xn--…`), an address in "
                "four numbers"
            )
        if host_names(self.content_url) & host_names(self.public_url):
            raise ValueError(
                "PAGEFAULT_CONTENT_URL and PAGEFAULT_PUBLIC_URL name the same host: content gets "
                "an origin of its own only from another name, or another port"
            )
        return self

    @model_validator(mode="after")
    def _stay_on_loopback_without_auth(self) -> "Settings":
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
        return None if self.public_url is None else origin_of(self.public_url)

    @property
    def answered_hosts(self) -> frozenset[str] | None:
        """The accepted values of `Host` besides loopback names; `None` accepts any.

        Without keys, a web page at a rebound host name could otherwise do all that users can.
        """
        if self.auth != "none" and not self.allowed_hosts:
            return None
        urls = (url for url in (self.public_url, self.content_url) if url is not None)
        return frozenset(self.allowed_hosts).union(*map(host_names, urls))

    @property
    def is_embedded_database(self) -> bool:
        """Records are in SQLite under the data directory."""
        return self.db.url is None

    @property
    def link_resource_policy(self) -> ResourcePolicy:
        """The policy of content behind signed links: `cross-origin` unless it is set.

        A link is the permission to read; the header cannot list the pages that have it.
        """
        is_chosen = "cross_origin_resource_policy" in self.model_fields_set
        return self.cross_origin_resource_policy if is_chosen else "cross-origin"

"""The options of a client and of renderings."""

import logging
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import httpx

from pagefault_client import models
from pagefault_client._version import VERSION

DEFAULT_URL = "http://127.0.0.1:8000"
USER_AGENT = f"pagefault-client/{VERSION} python/{platform.python_version()}"

Target: TypeAlias = models.Target
Level: TypeAlias = models.LevelInput
RenderOptions: TypeAlias = models.RenderOptions
SessionRenderOptions: TypeAlias = models.SessionRenderOptions
_LEVELS: tuple[models.LevelName, ...] = ("FULL", "REDUCED", "ABSTRACT", "REFERENCE")


@dataclass(frozen=True, slots=True)
class Options:
    """The connection options of a client."""

    base_url: str
    api_key: str | None = field(repr=False)
    timeout: httpx.Timeout
    max_retries: int
    default_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def headers(self) -> httpx.Headers:
        """Return the headers of each request, whose `repr` hides the key."""
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        headers = httpx.Headers({"User-Agent": USER_AGENT, **key})
        headers.update(self.default_headers)
        return headers

    def replace(
        self,
        *,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> "Options":
        """Return a copy with other options; None keeps one, and headers are added."""
        return replace(
            self,
            timeout=self.timeout if timeout is None else httpx.Timeout(timeout),
            max_retries=self.max_retries if max_retries is None else max(0, max_retries),
            default_headers={**self.default_headers, **(default_headers or {})},
        )


def load_options(
    base_url: str | None,
    api_key: str | None,
    timeout: float | httpx.Timeout,
    max_retries: int,
    default_headers: Mapping[str, str] | None = None,
) -> Options:
    """Return options; missing ones are read from the environment.

    Raises:
        ValueError: The URL is invalid, or the key has characters that a header cannot have.
    """
    set_log_level()
    url = base_url or os.environ.get("PAGEFAULT_URL") or DEFAULT_URL
    if not url.startswith(("http://", "https://")):
        # The message omits the value, which may be a key that was passed by mistake.
        where = "`base_url`" if base_url else "PAGEFAULT_URL"
        raise ValueError(f"{where} is not the URL of a service, such as {DEFAULT_URL!r}")
    key_or_empty = (os.environ.get("PAGEFAULT_API_KEY") if api_key is None else api_key) or ""
    if not re.fullmatch(r"[!-~]*", key_or_empty.strip()):
        where = "PAGEFAULT_API_KEY" if api_key is None else "`api_key`"
        raise ValueError(
            f"{where} is not a key of Pagefault: a key has only printable ASCII characters. "
            "Copy it again from the output of `pagefault keys create`"
        )
    return Options(
        base_url=url.rstrip("/").removesuffix("/api"),
        api_key=key_or_empty.strip() or None,
        timeout=httpx.Timeout(timeout),
        max_retries=max(0, max_retries),
        default_headers=default_headers or {},
    )


def set_log_level() -> None:
    """Write the log of this package to stderr at the level in `PAGEFAULT_LOG`, if it is set."""
    level = logging.getLevelNamesMapping().get(os.environ.get("PAGEFAULT_LOG", "").upper())
    if level is not None:
        logging.basicConfig()
        logging.getLogger("pagefault_client").setLevel(level)


def level_name(level: Level | None) -> models.LevelName | None:
    """Return the name of a level, as used in queries.

    Raises:
        ValueError: The number is not that of a level.
    """
    if not isinstance(level, int):
        return level
    if not 0 <= level < len(_LEVELS):
        raise ValueError(f"there is no level {level}: levels are 0 (FULL) to 3 (REFERENCE)")
    return _LEVELS[level]


def to_camel_case(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their names in JSON: `max_tokens` becomes `maxTokens`."""
    return {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value
        for name, value in options.items()
        if value is not None
    }

"""What callers choose: of the client, and of a rendering."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypedDict

import httpx

from pagefault_client import models
from pagefault_client._version import VERSION

DEFAULT_URL = "http://127.0.0.1:8000"
USER_AGENT = f"pagefault-client/{VERSION} python/{platform.python_version()}"

Target: TypeAlias = models.Target
Level: TypeAlias = models.LevelInput
_LEVELS: tuple[models.LevelName, ...] = ("FULL", "REDUCED", "ABSTRACT", "REFERENCE")


class RenderOptions(TypedDict, total=False):
    """What a rendering takes beside its target; `docs/targets.md` of the service explains each."""

    accept: list[str]
    media: models.MediaDelivery
    detail: models.ImageDetail
    max_bytes: int
    max_images: int
    max_tokens: int
    max_text: int
    max_image_pixels: int
    count_tokens: bool
    audience: models.Audience
    protocol_version: models.McpRevision
    handles: bool


class SessionRenderOptions(RenderOptions, total=False):
    """What the rendering of a session takes beside its target."""

    memory: list[models.MemoryPart]
    memory_tokens: int
    frontier: str | models.Frontier
    evict_batch: int
    cache_markers: bool
    model: str


@dataclass(frozen=True, slots=True)
class Options:
    """How a client talks to the service."""

    base_url: str
    key: str | None = field(repr=False)
    timeout: httpx.Timeout
    retries: int

    def headers(self) -> httpx.Headers:
        """Return the headers of every request. Their `repr` hides the key."""
        key = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return httpx.Headers({"User-Agent": USER_AGENT, **key})


def options_of(
    base_url: str | None, key: str | None, timeout: float | httpx.Timeout, retries: int
) -> Options:
    """Return options, with those of the environment for what is not given.

    Raises:
        ValueError: The URL is none, or the key is none that a header can carry.
    """
    url = base_url or os.environ.get("PAGEFAULT_URL") or DEFAULT_URL
    if not url.startswith(("http://", "https://")):
        # The value is not repeated: a key may have been passed in its place.
        where = "`base_url`" if base_url else "PAGEFAULT_URL"
        raise ValueError(f"{where} is no URL of a service; one is {DEFAULT_URL!r}")
    found = (os.environ.get("PAGEFAULT_API_KEY") if key is None else key) or ""
    if not re.fullmatch(r"[!-~]*", found.strip()):
        where = "PAGEFAULT_API_KEY" if key is None else "`key`"
        raise ValueError(
            f"{where} is no key of Pagefault: a key has letters, digits and signs of ASCII alone. "
            "Copy it again, as `pagefault keys create` printed it"
        )
    return Options(
        base_url=url.rstrip("/").removesuffix("/api"),
        key=found.strip() or None,
        timeout=timeout if isinstance(timeout, httpx.Timeout) else httpx.Timeout(timeout),
        retries=max(0, retries),
    )


def level_name(level: Level | None) -> models.LevelName | None:
    """Return a level as an address spells it.

    Raises:
        ValueError: There is no level of this number.
    """
    if not isinstance(level, int):
        return level
    if not 0 <= level < len(_LEVELS):
        raise ValueError(f"there is no level {level}: they are 0 (FULL) to 3 (REFERENCE)")
    return _LEVELS[level]


def on_the_wire(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options under their names in a body: `max_tokens` is `maxTokens` there."""
    return {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value
        for name, value in options.items()
        if value is not None
    }

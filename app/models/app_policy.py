"""The policy of a page of an MCP App: the web origins that its server has declared.

Source: extension of MCP `io.modelcontextprotocol/ui`, "MCP Apps", 2026-01-26, `McpUiResourceCsp`.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from pagefault_dialects.model.base import WireModel

# No IP addresses and no names without a dot, so that a page cannot reach this network.
_ORIGIN = r"^(https|wss)://(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}(:[0-9]{1,5})?$"
# The token of a signed link contains all origins.
_MAX_CHARS = 800

Origins = Annotated[
    tuple[Annotated[str, Field(pattern=_ORIGIN, max_length=255)], ...], Field(max_length=20)
]


class AppPolicy(WireModel):
    """The origins that a page of an MCP App may reach; by default none."""

    connect_domains: Origins = ()
    """Origins of requests and sockets."""
    resource_domains: Origins = ()
    """Origins of scripts, styles, images, fonts and media."""
    frame_domains: Origins = ()
    """Origins of inner frames."""
    base_uri_domains: Origins = ()
    """Origins of the base of relative addresses."""

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if sum(len(origin) for _, origins in self for origin in origins) > _MAX_CHARS:
            raise ValueError(f"all origins together have at most {_MAX_CHARS} characters")
        return self

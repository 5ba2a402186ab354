"""The policy of the page of an MCP App: the origins on the web that its server has declared.

Source: extension of MCP `io.modelcontextprotocol/ui`, "MCP Apps", 2026-01-26, `McpUiResourceCsp`.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from pagefault_dialects.model.base import WireModel

# No addresses and no names without a dot, so that no page reaches this machine or its network.
_ORIGIN = r"^(https|wss)://(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}(:[0-9]{1,5})?$"
# All of them are in the token of a link.
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

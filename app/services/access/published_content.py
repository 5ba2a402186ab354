"""The URLs at which clients reach the service and the bytes of its resources.

For safety, the bytes may be served from a host of their own, the *content host*.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ResourcePolicy: TypeAlias = Literal["same-origin", "same-site", "cross-origin"]


@dataclass(frozen=True, slots=True)
class PublishedContent:
    """The URLs of the service and of its content, and the policies in the headers of content."""

    base_url: str
    """The URL at which clients reach the service."""
    content_base_url: str
    """The URL at which the content host is reached, with which signed links begin."""
    resource_policy: ResourcePolicy
    """The header `Cross-Origin-Resource-Policy` of content that is read with a key."""
    link_resource_policy: ResourcePolicy
    """The header `Cross-Origin-Resource-Policy` of content that is read by a signed link."""

    @property
    def has_content_host(self) -> bool:
        """True if content is served from a host of its own."""
        return self.content_base_url != self.base_url

    @property
    def viewer_origin(self) -> str:
        """The origin of the viewer: the scheme, host and port of `base_url`."""
        return "/".join(self.base_url.split("/")[:3])

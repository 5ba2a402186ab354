"""Signed links, asked for and given."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from app.models.base import WireModel

LONGEST_LINK_SECONDS = 24 * 3600


class SignedUrlRequest(WireModel):
    """What a link shall permit."""

    expires_in_seconds: Annotated[int, Field(ge=1, le=LONGEST_LINK_SECONDS)] = 300
    disposition: Annotated[
        Literal["inline", "attachment"],
        Field(description="`attachment` downloads; types that could run code always do."),
    ] = "inline"
    filename: Annotated[
        str | None, Field(max_length=255, description="Another name to download under.")
    ] = None


class SignedUrl(WireModel):
    """A link that needs no key, fit for `<img src>` and `<video src>`, until it expires."""

    url: Annotated[
        str, Field(examples=["http://127.0.0.1:8000/api/resources/0c8e…/content?token=…"])
    ]
    expires_at: datetime

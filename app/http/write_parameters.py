"""What routes that write have in common: conditions in headers, and how a body fails."""

from typing import Annotated

from fastapi import Header

from app.errors import (
    InvalidPayloadError,
    MalformedRequestError,
    PayloadTooLargeError,
    SlowBodyError,
    UnsupportedMediaError,
)

IfMatchHeader = Annotated[
    str | None, Header(description="Write only over this version (its ETag), else 412.")
]
IfNoneMatchHeader = Annotated[
    str | None, Header(description="`*`: write only if there is no such page yet, else 412.")
]
WRITE_FAULTS = (
    MalformedRequestError,
    SlowBodyError,
    PayloadTooLargeError,
    UnsupportedMediaError,
    InvalidPayloadError,
)

"""What the routes below a resource have in common: its URI, its name, its alias."""

from typing import Annotated

from fastapi import Path, Query

UriPath = Annotated[
    str, Path(description="The `blob:` URI, percent-encoded, or its 32 hex digits alone.")
]
FilenameQuery = Annotated[str | None, Query(max_length=1_024)]
AliasQuery = Annotated[
    str | None,
    Query(description="What another system calls the file; see `PUT /api/aliases/{alias}`."),
]

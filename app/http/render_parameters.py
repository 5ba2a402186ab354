"""Query parameters of several routes that render: target and limits."""

from typing import Annotated

from fastapi import Query

from app.wire.renders import (
    COUNT_TOKENS,
    MAX_IMAGE_PIXELS,
    MAX_TEXT,
    MAX_TOKENS,
    MaxImagePixels,
    MaxText,
    Target,
)
from pagefault_dialects.model.base import Count

TargetQuery = Annotated[Target, Query(description="The dialect of the messages.")]
HandlesQuery = Annotated[
    bool,
    Query(
        description="`1`: a line behind each stored medium names it, such as "
        "`[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call."
    ),
]
MaxTokensQuery = Annotated[Count | None, Query(alias="maxTokens", description=MAX_TOKENS)]
MaxTextQuery = Annotated[MaxText | None, Query(alias="maxText", description=MAX_TEXT)]
MaxImagePixelsQuery = Annotated[
    MaxImagePixels | None, Query(alias="maxImagePixels", description=MAX_IMAGE_PIXELS)
]
CountTokensQuery = Annotated[
    bool, Query(alias="countTokens", description=f"{COUNT_TOKENS} `0`: no.")
]

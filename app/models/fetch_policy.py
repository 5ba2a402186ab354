"""What the service may fetch by itself, and how long and how much of it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.models.limits import MIB


class FetchPolicy(BaseModel):
    """What the service fetches by itself: the URL of a page, when its file is downloaded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: Annotated[
        tuple[str, ...],
        Field(
            description="Hosts that may be fetched although their address is not public, or their "
            "port is not 80 or 443: `files.internal,media.internal:9000`."
        ),
    ] = ()
    max_bytes: Annotated[int, Field(gt=0, description="The largest file fetched.")] = 100 * MIB
    connect_seconds: Annotated[float, Field(gt=0, description="Time limit for connecting.")] = 3.0
    read_seconds: Annotated[float, Field(gt=0, description="Between two pieces of a file.")] = 5.0
    total_seconds: Annotated[
        float, Field(gt=0, description="For a whole file, redirects included.")
    ] = 15.0
    redirects: Annotated[int, Field(ge=0, le=10, description="How many are followed.")] = 3

"""Limits of requests, and the policy for fetching URLs.

A request beyond a limit gets an error and stores nothing. Both classes are groups of the settings:
the name, description, bounds and default of each limit are defined only here.
"""

from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

MIB = 1024 * 1024
GIB = 1024 * MIB


class Limits(BaseModel):
    """Limits of requests; a request beyond one gets a 413 or 422 and stores nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    body_bytes: PositiveInt = 2 * GIB
    """One request body."""
    text_bytes: PositiveInt = 32 * MIB
    """The JSON of one request body that is kept in memory, without its media, which are streamed.
    Send a longer text to `/api/resources`."""
    history_bytes: PositiveInt = 64 * MIB
    """A history sent to the doctor, media included, which is kept in memory."""
    session_file_bytes: PositiveInt = 32 * MIB
    """A file that is read as a session and not stored. A bundle may unpack to twice as much."""
    medium_bytes: PositiveInt = 1 * GIB
    """One decoded medium."""
    media_per_result: PositiveInt = 2_000
    """Media in one tool result."""
    parts_per_result: PositiveInt = 20_000
    """Parts of one tool result: a list of texts has one for each."""
    json_depth: Annotated[int, Field(ge=1_000, le=4_000)] = 1_024
    """Nesting of JSON."""
    json_nodes: PositiveInt = 250_000
    """Values in one JSON body."""
    page_text_bytes: PositiveInt = 16 * MIB
    """The text or JSON of one page; media are not counted."""
    page_fields_bytes: PositiveInt = 1 * MIB
    """The fields of one page except its content."""
    image_bytes: PositiveInt = 32 * MIB
    """The largest image that is read into memory whole."""
    image_pixels: PositiveInt = 20_000_000
    """The largest image that is decoded to be made smaller."""
    message_bytes: PositiveInt = 16 * MIB
    """The JSON of one message or interaction; media are not counted."""
    inline_bytes: PositiveInt = 256 * MIB
    """All media put back into one entry of a response, or into one rendering."""
    upload_bytes: Annotated[int, Field(gt=0, le=5 * GIB)] = 5 * GIB
    """One file uploaded in pieces."""
    upload_seconds: Annotated[float, Field(gt=0, le=3.2e7)] = 24 * 3600.0
    """Lifetime of an unfinished upload in pieces."""
    bundle_bytes: PositiveInt = 16 * GIB
    """One bundle that is imported."""
    large_bodies: Annotated[int, Field(ge=1)] = 2
    """Bodies and JSON texts above 1 MiB that are parsed at the same time."""
    large_bodies_waiting: NonNegativeInt = 16
    """Bodies that may wait to be parsed; more get a 503."""
    memory_bytes: Annotated[int, Field(ge=64 * MIB)] = 256 * MIB
    """Memory of a process for bodies, responses, image work and queued events together. A request
    that does not fit gets a 503 `memory-exhausted`: after a second if it holds no memory yet, else
    at once. See `docs/operations.md` (Memory) for its size."""
    connections_at_once: Annotated[int, Field(ge=1)] = 5_000
    """Connections a process has at once; more get a 503."""
    requests_at_once: Annotated[int, Field(ge=1)] = 2_000
    """Requests a process works on at once; more wait up to a second for a slot, then get a 503."""
    header_bytes: PositiveInt = 65_536
    """Total size of the request headers; each counts its characters plus 32 bytes, as in HTTP/2.
    The same limit applies to trailers and chunk framing of a body; framing may exceed it by eight
    bytes for each body byte received."""
    header_seconds: PositiveFloat = 30.0
    """Timeout for the headers of a request."""
    keep_alive_seconds: Annotated[int, Field(ge=1)] = 130
    """Timeout for the next request of a connection. A proxy in front has to close its idle
    connections earlier, or it sends requests over connections that the service is closing."""
    body_idle_seconds: PositiveFloat = 30.0
    """Timeout for the next bytes of a body."""
    body_bytes_per_second: NonNegativeInt = 1_024
    """Minimum rate of a body after its grace period."""
    body_grace_seconds: NonNegativeFloat = 10.0
    """Grace period in which a body may be slower."""
    answer_idle_seconds: PositiveFloat = 60.0
    """Timeout for a client that reads nothing of its response."""


class FetchPolicy(BaseModel):
    """Limits of URLs that the service fetches: those of pages, when their file is downloaded."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    allow: tuple[str, ...] = ()
    """Hosts that may be fetched although their address is not public, or their port is not 80 or
    443: `files.internal,media.internal:9000`."""
    max_bytes: PositiveInt = 100 * MIB
    """The largest file fetched."""
    connect_seconds: PositiveFloat = 3.0
    """Time limit for connecting."""
    read_seconds: PositiveFloat = 5.0
    """Timeout between two pieces of a file."""
    total_seconds: PositiveFloat = 15.0
    """Timeout for a whole file, redirects included."""
    redirects: Annotated[int, Field(ge=0, le=10)] = 3
    """Maximum number of redirects that are followed."""

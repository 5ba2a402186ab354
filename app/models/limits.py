"""Limits a request is held to, and what the service may fetch by itself.

What lies beyond the limits is refused and not stored. Both are groups of the settings, which are
made of these classes: each limit is named, explained, bounded and given its default here and
nowhere else.
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
    """Beyond these the answer is 413 or 422 and nothing is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    body_bytes: PositiveInt = 2 * GIB
    """One request body."""
    text_bytes: PositiveInt = 32 * MIB
    """The JSON of one request body as it is sent, without the media that are streamed out of it:
    what is kept in memory. A longer text goes to `/api/resources`."""
    history_bytes: PositiveInt = 64 * MIB
    """A history that is examined, media and all, in memory."""
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
    """All that is said about one page beside its content."""
    image_bytes: PositiveInt = 32 * MIB
    """The largest image that is read into memory whole."""
    image_pixels: PositiveInt = 20_000_000
    """The largest image that is decoded to be made smaller."""
    message_bytes: PositiveInt = 16 * MIB
    """The JSON of one message or interaction; media are not counted."""
    inline_bytes: PositiveInt = 256 * MIB
    """All media put back into one entry of an answer, or into one rendering."""
    upload_bytes: Annotated[int, Field(gt=0, le=5 * GIB)] = 5 * GIB
    """One file uploaded in pieces."""
    upload_seconds: Annotated[float, Field(gt=0, le=3.2e7)] = 24 * 3600.0
    """How long an upload in pieces may lie unfinished."""
    bundle_bytes: PositiveInt = 16 * GIB
    """One bundle that is imported."""
    large_bodies: Annotated[int, Field(ge=1)] = 2
    """Bodies and JSON texts above 1 MiB that are parsed at the same time."""
    large_bodies_waiting: NonNegativeInt = 16
    """How many of them may wait for that; more get a 503."""
    memory_bytes: Annotated[int, Field(ge=64 * MIB)] = 256 * MIB
    """What bodies, answers, image work and queued events may hold in the memory of a process, all
    together. A request that does not fit gets a 503 `memory-exhausted`, after a second if it holds
    nothing yet, else at once. `docs/operations.md` (Memory) says how large it should be."""
    connections_at_once: Annotated[int, Field(ge=1)] = 5_000
    """Connections a process has at once; more get a 503."""
    requests_at_once: Annotated[int, Field(ge=1)] = 2_000
    """Requests a process works on at once; more wait a second for their turn, then get a 503."""
    header_bytes: PositiveInt = 65_536
    """Total size of the request headers; each counts its characters plus 32 bytes, as in HTTP/2.
    The same limit applies to trailers and chunk framing of a body; framing may exceed it by eight
    bytes for each body byte received."""
    header_seconds: PositiveFloat = 30.0
    """How long the headers of a request may take."""
    body_idle_seconds: PositiveFloat = 30.0
    """How long a body may pause before it is given up."""
    body_bytes_per_second: NonNegativeInt = 1_024
    """The pace a body must keep after its grace."""
    body_grace_seconds: NonNegativeFloat = 10.0
    """How long a body may be slower than that."""
    answer_idle_seconds: PositiveFloat = 60.0
    """How long a client may take nothing of an answer it is sent."""


class FetchPolicy(BaseModel):
    """What the service fetches by itself: the URL of a page, when its file is downloaded."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    allow: tuple[str, ...] = ()
    """Hosts that may be fetched although their address is not public, or their port is not 80 or
    443: `files.internal,media.internal:9000`."""
    max_bytes: PositiveInt = 100 * MIB
    """The largest file fetched."""
    connect_seconds: PositiveFloat = 3.0
    """Time limit for connecting."""
    read_seconds: PositiveFloat = 5.0
    """Between two pieces of a file."""
    total_seconds: PositiveFloat = 15.0
    """For a whole file, redirects included."""
    redirects: Annotated[int, Field(ge=0, le=10)] = 3
    """How many are followed."""

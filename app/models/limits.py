"""Limits a request is held to, and what the service may fetch by itself.

What lies beyond the limits is refused and not stored. Both are groups of the settings, which are
made of these classes: each limit is named, explained, bounded and given its default here and
nowhere else.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MIB = 1024 * 1024
GIB = 1024 * MIB


class Limits(BaseModel):
    """Beyond these the answer is 413 or 422 and nothing is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: Annotated[int, Field(gt=0, description="One request body.")] = 2 * GIB
    text_bytes: Annotated[
        int,
        Field(
            gt=0,
            description="The JSON of one request body as it is sent, without the media that are "
            "streamed out of it: what is kept in memory. A longer text goes to `/api/resources`.",
        ),
    ] = 32 * MIB
    history_bytes: Annotated[
        int, Field(gt=0, description="A history that is examined, media and all, in memory.")
    ] = 64 * MIB
    medium_bytes: Annotated[int, Field(gt=0, description="One decoded medium.")] = 1 * GIB
    media_per_result: Annotated[int, Field(gt=0, description="Media in one tool result.")] = 2_000
    json_depth: Annotated[int, Field(ge=1_000, le=4_000, description="Nesting of JSON.")] = 1_024
    json_nodes: Annotated[int, Field(gt=0, description="Values in one JSON body.")] = 250_000
    page_text_bytes: Annotated[
        int, Field(gt=0, description="The text or JSON of one page; media are not counted.")
    ] = 16 * MIB
    page_fields_bytes: Annotated[
        int, Field(gt=0, description="All that is said about one page beside its content.")
    ] = 1 * MIB
    image_bytes: Annotated[
        int, Field(gt=0, description="The largest image that is read into memory whole.")
    ] = 32 * MIB
    image_pixels: Annotated[
        int, Field(gt=0, description="The largest image that is decoded to be made smaller.")
    ] = 20_000_000
    message_bytes: Annotated[
        int,
        Field(gt=0, description="The JSON of one message or interaction; media are not counted."),
    ] = 16 * MIB
    inline_bytes: Annotated[
        int,
        Field(
            gt=0,
            description="All media put back into one entry of an answer, or into one rendering.",
        ),
    ] = 256 * MIB
    upload_bytes: Annotated[
        int, Field(gt=0, le=5 * GIB, description="One file uploaded in pieces.")
    ] = 5 * GIB
    upload_seconds: Annotated[
        float,
        Field(gt=0, le=3.2e7, description="How long an upload in pieces may lie unfinished."),
    ] = 24 * 3600.0
    bundle_bytes: Annotated[int, Field(gt=0, description="One bundle that is imported.")] = 16 * GIB
    large_bodies: Annotated[
        int,
        Field(
            ge=1, description="Bodies and JSON texts above 1 MiB that are parsed at the same time."
        ),
    ] = 2
    large_bodies_waiting: Annotated[
        int, Field(ge=0, description="How many of them may wait for that; more get a 503.")
    ] = 16
    memory_bytes: Annotated[
        int,
        Field(
            ge=64 * MIB,
            description="What bodies, answers, image work and queued events may hold in the memory "
            "of a process, all together. A request that does not fit gets a 503 "
            "`memory-exhausted`, after a second if it holds nothing yet, else at once. "
            "`docs/operations.md` (Memory) says how large it should be.",
        ),
    ] = 256 * MIB
    connections_at_once: Annotated[
        int, Field(ge=1, description="Connections a process has at once; more get a 503.")
    ] = 5_000
    requests_at_once: Annotated[
        int,
        Field(
            ge=1,
            description="Requests a process works on at once; more wait a second for their turn, "
            "then get a 503.",
        ),
    ] = 2_000
    header_bytes: Annotated[
        int,
        Field(
            gt=0,
            description="Total size of the request headers; each counts its characters plus 32 "
            "bytes, as in HTTP/2. The same limit applies to trailers and chunk framing of a body; "
            "framing may exceed it by eight bytes for each body byte received.",
        ),
    ] = 65_536
    header_seconds: Annotated[
        float, Field(gt=0, description="How long the headers of a request may take.")
    ] = 30.0
    body_idle_seconds: Annotated[
        float, Field(gt=0, description="How long a body may pause before it is given up.")
    ] = 30.0
    body_bytes_per_second: Annotated[
        int, Field(ge=0, description="The pace a body must keep after its grace.")
    ] = 1_024
    body_grace_seconds: Annotated[
        float, Field(ge=0, description="How long a body may be slower than that.")
    ] = 10.0
    answer_idle_seconds: Annotated[
        float,
        Field(gt=0, description="How long a client may take nothing of an answer it is sent."),
    ] = 60.0


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

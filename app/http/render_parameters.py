"""What the addresses of renderings may ask: the target, and how the record is to be rendered."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import AfterValidator

from app.errors import Fault, InvalidPayloadError
from app.models.rendering import Audience, ImageDetail, McpRevision, MediaWish, RenderOptions
from app.rendering.targets.table import TARGETS
from app.services.renders.renders import RenderQuery
from app.wire.renders import check_ranges, check_target

_TARGETS = {"enum": list(TARGETS)}

TargetQuery = Annotated[
    str,
    AfterValidator(check_target),
    Query(description="Whose dialect to write.", json_schema_extra=_TARGETS),
]
AcceptQuery = Annotated[
    str | None,
    Query(
        max_length=4_096,
        description="MIME types and ranges that the model can take, with commas; what is not "
        "among them degrades.",
        examples=["image/png,image/*"],
    ),
]
MediaWishQuery = Annotated[
    MediaWish,
    Query(
        description="`inline`: the bytes. `signed-url`: URLs, where the target loads any. "
        "`reference`: `@blob:` references, to look at and not to send."
    ),
]
DetailQuery = Annotated[
    ImageDetail | None, Query(description="How closely a model is to look at images.")
]
MaxBytesQuery = Annotated[
    int | None,
    Query(
        alias="maxBytes",
        ge=0,
        le=2**53,
        description="The most bytes of media in the messages, as base64; the oldest step down.",
    ),
]
MaxImagesQuery = Annotated[
    int | None,
    Query(alias="maxImages", ge=0, le=2**53, description="The most images; the newest stay."),
]
AudienceQuery = Annotated[
    Audience,
    Query(description="For whom; what MCP annotations keep for others is left out."),
]
ProtocolVersionQuery = Annotated[
    McpRevision,
    Query(
        alias="protocolVersion",
        description="Of `mcp`: the revision of the protocol. Before 2026-07-28 "
        "`structuredContent` is an object or absent, before 2025-06-18 absent.",
    ),
]


async def get_render_options(
    accept: AcceptQuery = None,
    media: MediaWishQuery = "inline",
    detail: DetailQuery = None,
    max_bytes: MaxBytesQuery = None,
    max_images: MaxImagesQuery = None,
    audience: AudienceQuery = "assistant",
    protocol_version: ProtocolVersionQuery = "2026-07-28",
) -> RenderOptions:
    """How a record is to be rendered."""
    try:
        ranges = None if accept is None else check_ranges(tuple(accept.split(",")))
    except ValueError as exc:
        raise InvalidPayloadError(
            "The query is not what the route takes.", faults=[Fault("/query/accept", str(exc))]
        ) from exc
    return RenderOptions(ranges, media, detail, max_bytes, max_images, audience, protocol_version)


RenderOptionsDep = Annotated[RenderOptions, Depends(get_render_options)]


async def get_render_wish(target: TargetQuery, options: RenderOptionsDep) -> RenderQuery:
    """For which target a record is to be rendered, and how."""
    return RenderQuery(target, options)


async def get_page_render_wish(
    options: RenderOptionsDep, target: TargetQuery = "openai-compat"
) -> RenderQuery:
    """The same for a page, for which specification 000 has a shape of its own."""
    return RenderQuery(target, options)


RenderWishDep = Annotated[RenderQuery, Depends(get_render_wish)]
PageRenderWishDep = Annotated[RenderQuery, Depends(get_page_render_wish)]

"""`/api/resources/{uri}/poster`: a picture of a video."""

from fastapi import APIRouter, Request, Response

from app.errors import InvalidPayloadError, NotFoundError, StoreUnavailableError
from app.http.api_route import ApiRoute
from app.http.calls import CallDep
from app.http.content_response import ContentToSend, content_response
from app.http.openapi import BINARY
from app.http.parameters import UriPath
from app.http.problem_types import problem_responses

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)


@router.get(
    "/{uri}/poster",
    response_class=Response,
    responses={
        200: {"description": "The poster, a JPEG.", "content": BINARY},
        **problem_responses(NotFoundError, InvalidPayloadError, StoreUnavailableError),
    },
)
async def get_resource_poster(request: Request, call: CallDep, uri: UriPath) -> Response:
    """Read the first key frame of a video as a JPEG of at most 1,280 pixels a side.

    It is made when it is first asked for, where the service has the optional package `av`, and kept
    until the video is deleted.
    """
    video = await call.container.resources.get(call.project_id, uri)
    poster = (await call.container.posters.get(call.project_id, video)).resource
    content = ContentToSend(
        digest=poster.digest,
        size_bytes=poster.size_bytes,
        mime_type=poster.mime_type,
        filename=None,
        disposition="inline",
        created_at=poster.created_at,
    )
    source = call.container.content_sources.of(call.project_id, poster.digest)
    return content_response(request.headers, "GET", content, open_range=source.open)

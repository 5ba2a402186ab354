"""`/api/aliases`: names that other systems use for resources."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Path, Query, Response

from app.errors import ConflictError, InvalidCursorError, NotFoundError, PreconditionFailedError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import CursorQuery, IfMatchHeader, LimitQuery
from app.http.problem_types import BODY_ERRORS, describe_errors, describe_read_responses
from app.http.record_responses import (
    build_list_response,
    build_record_response,
    build_written_response,
)
from app.services.resources.aliases import Aliases
from app.wire.resources import AliasDraft, AliasPage, AliasRecord, encode_alias
from pagefault_dialects.errors import InvalidPayloadError

router = APIRouter(prefix="/api/aliases", tags=["aliases"], route_class=ApiRoute)

AliasesDep = Annotated[Aliases, Depends(service(Aliases))]

AliasPath = Annotated[
    str,
    Path(
        description='Visible ASCII without `/`, `\\` and `"`, percent-encoded; not of the form '
        "of a resource's id or URI, nor `.` or `..`.",
        examples=["doc-123"],
    ),
]
UriQuery = Annotated[str | None, Query(description="Only the aliases of this resource.")]
IfNoneMatchHeader = Annotated[
    str | None, Header(description="`*`: write only if there is no such alias yet, else 412.")
]


@router.get(
    "",
    response_model=AliasPage,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_aliases(
    api_request: ApiRequestDep,
    aliases: AliasesDep,
    uri: UriQuery = None,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List aliases with their resources, newest first."""
    stored, next_cursor = await aliases.list(
        api_request.project_id, uri=uri, cursor=cursor, limit=limit
    )
    return build_list_response(api_request.request, map(encode_alias, stored), next_cursor)


@router.get(
    "/{alias}", response_model=AliasRecord, responses=describe_read_responses(NotFoundError)
)
async def get_alias(api_request: ApiRequestDep, aliases: AliasesDep, alias: AliasPath) -> Response:
    """Read the resource of an alias, with its descriptor."""
    return build_record_response(
        api_request.request, encode_alias(await aliases.get(api_request.project_id, alias))
    )


@router.put(
    "/{alias}",
    response_model=AliasRecord,
    status_code=201,
    openapi_extra=describe_json_body(AliasDraft),
    responses={
        200: {"model": AliasRecord, "description": "The alias existed before."},
        **describe_errors(ConflictError, PreconditionFailedError, *BODY_ERRORS),
    },
)
async def put_alias(
    api_request: ApiRequestDep,
    aliases: AliasesDep,
    alias: AliasPath,
    if_match: IfMatchHeader = None,
    if_none_match: IfNoneMatchHeader = None,
) -> Response:
    """Give a resource an alias, which attachments of interactions may use instead of its URI.

    The same request again changes nothing. If the alias names another resource, the response is a
    409, unless `If-Match` has the ETag of the alias. Existing attachments keep their resource.
    """
    draft = await api_request.read_model(AliasDraft)
    written, is_new = await aliases.put(
        api_request.project_id,
        alias,
        draft.uri,
        condition=api_request.make_write_check(),
        replaces_version=if_match is not None,
    )
    return build_written_response(
        api_request.request,
        encode_alias(written),
        path=f"/api/aliases/{quote(alias, safe='')}",
        is_new=is_new,
    )


@router.delete(
    "/{alias}", status_code=204, responses=describe_errors(NotFoundError, PreconditionFailedError)
)
async def delete_alias(
    api_request: ApiRequestDep,
    aliases: AliasesDep,
    alias: AliasPath,
    if_match: IfMatchHeader = None,
) -> None:
    """Remove an alias. The resource, and interactions that were written with the alias, stay."""
    await aliases.delete(api_request.project_id, alias, condition=api_request.make_write_check())

"""The route of the shared service that checks keys for proxies over HTTP."""

from starlette.requests import Request
from starlette.responses import Response

from app.errors import UnauthorizedError
from app.services.access.callers import Access
from app.stores.records.records import Records


async def get_host_key(request: Request) -> Response:
    """Answer 204 to a key of the service's project.

    Raises:
        UnauthorizedError: The key is missing, or of another project.
    """
    services = request.state.services
    access = Access(services[Records], None)
    caller = await access.caller_of(request.headers.get("authorization"))
    if caller.project_id != services[Access].default_project:
        raise UnauthorizedError
    return Response(status_code=204)

"""The route `/mcp`, and the service behind it."""

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from app.wiring.services import Provider, Services
from pagefault_mcp.server.mcp_endpoint import McpEndpoint
from pagefault_mcp.server.refusals import PATH


class _Endpoint:
    """An ASGI application that calls the endpoint of the process."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services: Services = scope["state"]["services"]
        await services[McpEndpoint](scope, receive, send)


router = Router([Route(PATH, _Endpoint(), methods=["POST"])])
SERVICES = (
    Provider(McpEndpoint, McpEndpoint, running=lambda services: services[McpEndpoint].running()),
)

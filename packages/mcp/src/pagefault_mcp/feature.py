"""The feature `mcp`: the route `/mcp`, and the commands that hosts of MCP start."""

from app.features import Feature

FEATURE = Feature(
    name="mcp",
    routers=("pagefault_mcp.server.mcp_endpoint:router",),
    services=("pagefault_mcp.server.mcp_endpoint:SERVICES",),
    commands=dict.fromkeys(
        ("proxy", "mcp", "serve-proxies"), "pagefault_mcp.commands.host_commands:commands"
    ),
    middleware=("pagefault_mcp.server.error_middleware:McpErrorMiddleware",),
    # The SDK of MCP. The commands of the proxy do not need it.
    requires=("mcp",),
)

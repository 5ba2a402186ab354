"""The feature mcp: `/mcp`, where models and hosts reach the memory by their own protocol."""

from app.features import Feature

FEATURE = Feature(
    name="mcp",
    routers=("pagefault_mcp.server.mcp_endpoint:router",),
    services=("pagefault_mcp.server.mcp_endpoint:SERVICES",),
    commands=dict.fromkeys(
        ("proxy", "mcp", "serve-proxies"), "pagefault_mcp.commands.host_commands:commands"
    ),
    middleware=("pagefault_mcp.server.refusals:McpRefusals",),
    # The SDK. The proxy's commands do without it.
    requires=("mcp",),
)

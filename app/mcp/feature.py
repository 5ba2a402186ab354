"""The feature mcp: `/mcp`, where models and hosts reach the memory by their own protocol."""

from app.features import Feature

FEATURE = Feature(
    name="mcp",
    routers=("app.mcp.route:router",),
    services=("app.mcp.route:SERVICES",),
    commands=dict.fromkeys(("proxy", "mcp", "serve-proxies"), "app.cli.mcp_commands:hosts"),
    middleware=("app.mcp.refusals:McpRefusals",),
)

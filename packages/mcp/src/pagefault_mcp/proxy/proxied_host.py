"""What a host of a proxy is given."""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.tools.tool_catalogue import definitions
from pagefault_mcp.service_client.tool_files import ToolFiles


@dataclass(frozen=True, slots=True)
class Host:
    """What the host is given."""

    options: RenderOptions
    """What it takes of a result."""
    prefix: str | None
    """What stands before the names of our own tools; `None` to add none of them."""
    files: ToolFiles | None = None
    """Where files that tools are given by their paths are written; `None` to write none."""

    def own_tools(self) -> Mapping[str, ToolDefinition]:
        """Return our tools, by the names that the host is shown."""
        if self.prefix is None:
            return {}
        return {f"{self.prefix}{tool.name}": tool for tool in definitions()}

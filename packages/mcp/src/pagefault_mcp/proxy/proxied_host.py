"""The options of a proxy for its host."""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.tools.tool_catalogue import definitions
from pagefault_mcp.service_client.tool_files import ToolFiles


@dataclass(frozen=True, slots=True)
class Host:
    """The options for a host: limits, tools and files."""

    options: RenderOptions
    """The limits of a rendered result."""
    prefix: str | None
    """The prefix of our tools' names; `None` to add no tools."""
    files: ToolFiles | None = None
    """The folder of files for tools that take paths; `None` to write no files."""

    def own_tools(self) -> Mapping[str, ToolDefinition]:
        """Return our tools, by their names for the host."""
        if self.prefix is None:
            return {}
        return {f"{self.prefix}{tool.name}": tool for tool in definitions()}

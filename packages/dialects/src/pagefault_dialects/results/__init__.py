"""Results of tools: any JSON value becomes typed parts and the media found in them.

Pure code: it reads no clock and no file, and raises on no JSON value.

    result      the whole value, and strings, blocks and lists of them, in order
      call_tool_results   MCP's CallToolResult; what stands around any result is in `dialects`
        blocks, resource_blocks     one block
        dialect_blocks              one block that only one dialect writes
          side_information            what a block carries besides
          parts                       one string, one payload
            structures                  media lifted out of records and texts
              collector                   what is gathered on the way

Where media lie in blocks and in strings is known by `media`.
"""

from pagefault_dialects.results.result import normalize

__all__ = ["normalize"]

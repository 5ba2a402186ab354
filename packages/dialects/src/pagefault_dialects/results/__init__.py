"""Results of tools: any JSON value becomes typed parts and the media found in them.

Pure code: it reads no clock and no file, and accepts every JSON value.

    result      the whole value, and strings, blocks and lists of them, in order
      call_tool_results   MCP's CallToolResult; envelopes of any result are in `dialects`
        blocks, resource_blocks     one block
        dialect_blocks              one block of a single dialect
          side_information            members of a block beside its payload
          parts                       one string, one payload
            structures                  media moved out of records and texts
              collector                   media and warnings collected on the way

The shapes of media in blocks and in strings are in `media`.
"""

from pagefault_dialects.results.result import normalize

__all__ = ["normalize"]

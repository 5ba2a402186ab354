"""Normalization of tool results: any JSON value becomes typed parts and the media found in them.

The code is pure: it reads no clock and no file. It accepts every JSON value. A module uses those
below it:

    result               the whole value: strings, blocks and lists of them, in order
    call_tool_results    MCP's CallToolResult; envelopes of other dialects are in `dialects`
    dialect_blocks       a block that only one dialect has
    blocks               any other block
    resource_blocks      a block with a resource of MCP or with a file
    side_information     members of a block beside its payload
    parts                a string or a payload
    structures           media inside records and texts
    collector            collects media and warnings

The forms of media in blocks and strings are in `media`.
"""

from pagefault_dialects.results.result import normalize

__all__ = ["normalize"]

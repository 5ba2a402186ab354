"""A host that works through the proxy, written down as its model reads it.

    python examples/record_proxy.py > examples/proxy-session.txt

It needs the package `mcp`, the command `pagefault`, and for the server `npx`. Another server, and
other calls:

    python examples/record_proxy.py get_time '{}' view_media '{"ref": "{handle}"}' -- some-server

`{handle}` is the handle that the model has read last.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import sys
import tempfile

import anyio
from mcp import Client, MCPError, StdioServerParameters

SERVER = ["npx", "-y", "@modelcontextprotocol/server-everything"]
CALLS = [
    ("echo", '{"message": "Hello"}'),
    ("get-tiny-image", "{}"),
    ("view_media", '{"ref": "{handle}"}'),
    ("save_page", '{"ref": "{handle}", "caption": "the logo of MCP, a tiny picture"}'),
    ("search_pages", '{"query": "the logo picture"}'),
    ("list_media", "{}"),
    ("page_fault", '{"page_id": "img_999"}'),
]
HANDLE = re.compile(r"@(?:blob|entry):[0-9a-f]+")


def shown(block):
    """Return a block of an answer in a line, base64 cut short."""
    if block.type == "text":
        return block.text
    size = len(getattr(block, "data", ""))
    return f"<{block.type} {getattr(block, 'mime_type', '')}, {size} characters of base64>"


async def record(calls, server):
    """Print what a host asks, and what its model reads."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["proxy", "--session", "demo", "--data-dir", folder, "--", *server]
        print(f"$ pagefault proxy --session demo -- {' '.join(server)}\n")
        proxy = StdioServerParameters(command="pagefault", args=options, env=dict(os.environ))
        async with Client(proxy) as host:
            tools = (await host.list_tools()).tools
            print(f"host:  tools/list\n       {', '.join(tool.name for tool in tools)}\n")
            handle = ""
            for name, arguments in calls:
                asked = arguments.replace("{handle}", handle)
                answer = await host.call_tool(name, json.loads(asked))
                print(f"model: {name} {asked}")
                lines = "\n".join(map(shown, answer.content)).splitlines()
                print("\n".join(f"       {line}" for line in lines))
                print("       (an error)\n" if answer.is_error else "")
                handle = (HANDLE.findall("\n".join(lines)) or [handle])[-1]


given = sys.argv[1:]
cut = given.index("--") if "--" in given else len(given)
server = given[cut + 1 :] or SERVER
parser = argparse.ArgumentParser(
    usage="%(prog)s [-h] [TOOL ARGUMENTS]... [-- SERVER...]",
    description=__doc__,
    formatter_class=argparse.RawDescriptionHelpFormatter,
)
parser.add_argument("calls", nargs="*", help="tools, each with its arguments in JSON")
words = parser.parse_args(given[:cut]).calls
if len(words) % 2:
    parser.error(f"the arguments of {words[-1]} are missing: {{}} if it has none")
for command in ("pagefault", server[0]):
    if shutil.which(command) is None:
        sys.exit(f"There is no command {command}: install it, or put its folder into PATH.")
pairs = list(zip(words[::2], words[1::2], strict=True))
try:
    anyio.run(record, pairs or CALLS, server)
except* json.JSONDecodeError:
    sys.exit("The arguments of a tool are JSON, such as '{}'.")
except* MCPError:
    sys.exit(f"The connection failed. Try whether this starts a server: {shlex.join(server)}")

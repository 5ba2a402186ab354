"""Store the results of an agent's tools with one line each: python tools_that_remember.py.

It needs a running service at PAGEFAULT_URL (default: http://127.0.0.1:8000), and its key in
PAGEFAULT_API_KEY if authentication is on.
"""

import argparse
import asyncio
import sys

from pagefault_client import AsyncPagefault, PagefaultError


async def read_log(service: str) -> str:
    """Return a log that is too long for a model."""
    return "\n".join(
        f"10:{number // 60:02}:{number % 60:02} {service} GET /cart" for number in range(900)
    )


async def main() -> None:
    """Call a wrapped tool, and follow the events of its session."""
    async with AsyncPagefault() as pf:
        session = pf.session("tools-that-remember")
        tool = pf.wrap(read_log, session=session)

        content = await tool("shop")
        print(len(content), "characters for the model, and it ends:", content.splitlines()[-1])

        async for event in session.events(after=0):
            if event["event"] == "llmservice:toolResult":
                (log,) = event["data"]["sanitized"]["resources"]
                # A model can request a part of the text with the memory tools.
                found = await pf.resources.text(log["uri"], grep="10:07:3")
                print(found.get("totalMatches"), "lines of", found.get("totalLines"))
                break
        await session.delete()


argparse.ArgumentParser(description=__doc__).parse_args()
try:
    asyncio.run(main())
except PagefaultError as error:
    sys.exit(f"{type(error).__name__}: {error}")

"""Give an agent's tools a memory in one line each: python tools_that_remember.py.

It needs a running Pagefault at PAGEFAULT_URL, or at http://127.0.0.1:8000. PAGEFAULT_API_KEY is a
key of it, if it asks for one.
"""

import argparse
import asyncio
import sys

from pagefault_client import AsyncPagefault, PagefaultError


async def read_log(service: str) -> str:
    """Return a log, too long for a model."""
    return "\n".join(
        f"10:{each // 60:02}:{each % 60:02} {service} GET /cart" for each in range(900)
    )


async def main() -> None:
    """Call a tool as an agent would, and follow what is stored meanwhile."""
    async with AsyncPagefault() as pf:
        session = pf.session("tools-that-remember")
        tool = pf.wrap(read_log, session=session)

        shown = await tool("shop")
        print(len(shown), "characters for the model, and it ends:", shown.splitlines()[-1])

        async for event in session.events(after=0):
            if event["event"] == "llmservice:toolResult":
                (log,) = event["data"]["sanitized"]["resources"]
                # What the model asks for next, when it wants to know more.
                found = await pf.resources.text(log["uri"], grep="10:07:3")
                print(found.get("totalMatches"), "lines of", found.get("totalLines"))
                break
        await session.delete()


argparse.ArgumentParser(description=__doc__).parse_args()
try:
    asyncio.run(main())
except PagefaultError as error:
    sys.exit(f"{type(error).__name__}: {error}")

"""Store what a tool returned, and see what a model gets of it: python five_minutes.py.

It needs a running Pagefault at PAGEFAULT_URL, or at http://127.0.0.1:8000. PAGEFAULT_API_KEY is a
key of it, if it asks for one.
"""

import argparse
import base64
import itertools
import sys

from pagefault_client import Pagefault, PagefaultError

# A picture of one red pixel; yours come from a browser, a camera, a chart.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


def main() -> None:
    """Write one step of an agent, and read it back."""
    with Pagefault() as pf:
        session = pf.session("five-minutes")
        call = {"type": "function", "id": "call_1", "function": {"name": "shot", "arguments": "{}"}}

        # One step of an agent is one request. What comes back is the next request to the model.
        conversation = session.conversation("openai-chat")
        messages = conversation.turn(
            {"message": {"role": "user", "content": "What colour is it?"}},
            {"message": {"role": "assistant", "content": None, "tool_calls": [call]}},
            {"toolResult": {"toolName": "shot", "toolCallId": "call_1", "result": PIXEL}},
        )
        for message in messages:
            said = repr(message.get("content") or message.get("tool_calls"))
            print(message["role"], "|", said[:70])

        # The history has it as it was stored, for people and for other models.
        for entry in session.messages():
            if entry["entry"] == "tool_result":
                print([part["type"] for part in entry["sanitized"]["parts"]])

        # Every write is an event; an application would go on listening.
        for event in itertools.islice(session.events(after=0), 3):
            print(event["id"], event["event"])

        if receipt := session.delete():
            print(receipt["deleted"]["messages"], "messages deleted")


argparse.ArgumentParser(description=__doc__).parse_args()
try:
    main()
except PagefaultError as error:
    sys.exit(f"{type(error).__name__}: {error}")

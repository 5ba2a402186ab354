"""Store a tool result and print its rendering for a model: python five_minutes.py.

It needs a running service at PAGEFAULT_URL (default: http://127.0.0.1:8000), and its key in
PAGEFAULT_API_KEY if authentication is on.
"""

import argparse
import base64
import itertools
import sys

from pagefault_client import Pagefault, PagefaultError

# A picture of one red pixel, in place of a screenshot or a chart.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


def main() -> None:
    """Store one step of an agent, and read it back."""
    with Pagefault() as pf:
        session = pf.session("five-minutes")
        call = {"type": "function", "id": "call_1", "function": {"name": "shot", "arguments": "{}"}}

        # One request for each step of an agent returns the messages of the next model request.
        conversation = session.conversation("openai-chat")
        messages = conversation.turn(
            {"message": {"role": "user", "content": "What colour is it?"}},
            {"message": {"role": "assistant", "content": None, "tool_calls": [call]}},
            {"toolResult": {"toolName": "shot", "toolCallId": "call_1", "result": PIXEL}},
        )
        for message in messages:
            text = repr(message.get("content") or message.get("tool_calls"))
            print(message["role"], "|", text[:70])

        # The history has the stored record, for people and for other models.
        for entry in session.messages():
            if entry["entry"] == "tool_result":
                print([part["type"] for part in entry["sanitized"]["parts"]])

        # Every write is an event. An application would keep listening.
        for event in itertools.islice(session.events(after=0), 3):
            print(event["id"], event["event"])

        if receipt := session.delete():
            print(receipt["deleted"]["messages"], "messages deleted")


argparse.ArgumentParser(description=__doc__).parse_args()
try:
    main()
except PagefaultError as error:
    sys.exit(f"{type(error).__name__}: {error}")

"""An agent on Chat Completions that has a memory.

It needs the packages `openai` and `pagefault-client`, OPENAI_API_KEY, and a running Pagefault: at
PAGEFAULT_URL, or at http://127.0.0.1:8000. PAGEFAULT_API_KEY is a key of it, if it asks for one.
"""

import argparse
import sys

from openai import OpenAI, OpenAIError

from pagefault_client import Pagefault, PagefaultError


def answer(question):
    """Ask the model until it calls no more tools, and return what it says."""
    model, memory = OpenAI(), Pagefault()
    tools = memory.tools.list("openai-chat")["tools"]
    conversation = memory.session("demo").conversation(
        "openai-chat", memory=["instructions", "manifest"]
    )
    messages = conversation.turn({"message": {"role": "user", "content": question}})
    while True:
        reply = model.chat.completions.create(model="gpt-5", messages=messages, tools=tools)
        said = reply.choices[0].message
        calls = [
            {"id": tool_call.id, **tool_call.function.model_dump()}
            for tool_call in said.tool_calls or ()
        ]
        messages = conversation.turn({"message": said}, *({"toolCall": call} for call in calls))
        if not calls:
            return said.content


parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("question", help='such as "What is in the notes?"')
try:
    print(answer(parser.parse_args().question))
except (PagefaultError, OpenAIError) as error:
    sys.exit(f"{type(error).__name__}: {error}")

"""An agent on Chat Completions that has a memory: python examples/openai_chat.py "What is in it?".

It needs the packages `openai` and `pagefault-client`, a running Pagefault, and OPENAI_API_KEY.
"""

import sys

from openai import OpenAI

from pagefault_client import Pagefault

memory = Pagefault()
tools = memory.tools.list("openai-chat")["tools"]
conversation = memory.session("demo").conversation(
    "openai-chat", memory=["instructions", "manifest"]
)
messages = conversation.turn({"message": {"role": "user", "content": sys.argv[1]}})
while True:
    reply = OpenAI().chat.completions.create(model="gpt-5", messages=messages, tools=tools)
    said = reply.choices[0].message
    calls = [{"id": each.id, **each.function.model_dump()} for each in said.tool_calls or ()]
    messages = conversation.turn({"message": said}, *({"toolCall": each} for each in calls))
    if not calls:
        break
print(said.content)

"""An agent on Chat Completions that has a memory: python examples/openai_chat.py "What is in it?".

It needs the packages `openai` and `httpx`, a running Pagefault, and OPENAI_API_KEY.
"""

import os
import sys

import httpx
from openai import OpenAI

memory = httpx.Client(base_url=os.environ.get("PAGEFAULT_URL", "http://127.0.0.1:8000"), timeout=60)
render = {"target": "openai-chat", "memory": ["instructions", "manifest"]}


def step(*entries):
    """Append what was said and run what was called; return all messages for the model."""
    body = {"entries": entries, "render": render}
    answer = memory.post("/api/sessions/demo/turns", json=body).raise_for_status()
    return answer.json()["rendering"]["messages"]


tools = memory.get("/api/tools", params={"target": "openai-chat"}).json()["tools"]
messages = step({"message": {"role": "user", "content": sys.argv[1]}})
while True:
    reply = (
        OpenAI()
        .chat.completions.create(model="gpt-5", messages=messages, tools=tools)
        .choices[0]
        .message
    )
    calls = [{"id": each.id, **each.function.model_dump()} for each in reply.tool_calls or ()]
    said = reply.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)
    messages = step({"message": said}, *({"toolCall": each} for each in calls))
    if not calls:
        break
print(reply.content)

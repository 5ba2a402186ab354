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
    answer = memory.post("/api/sessions/demo/turns", json={"entries": entries, "render": render})
    return answer.raise_for_status().json()["rendering"]["messages"]


tools = memory.get("/api/tools", params={"target": "openai-chat"}).json()["tools"]
messages = step({"message": {"role": "user", "content": sys.argv[1]}})
while True:
    reply = OpenAI().chat.completions.create(model="gpt-5", messages=messages, tools=tools)
    said = reply.choices[0].message
    calls = [{"id": each.id, **each.function.model_dump()} for each in said.tool_calls or ()]
    messages = step({"message": said.model_dump()}, *({"toolCall": each} for each in calls))
    if not calls:
        break
print(said.content)

"""Keep a list of messages for OpenAI, and send what fits; see docs/clients/python.md."""

from openai import OpenAI

from pagefault_client import Pagefault

model, session, history = OpenAI(), Pagefault().session("fit-openai"), []
for question in ("What is in the notes?", "Are you sure?"):
    history.append({"role": "user", "content": question})
    fitted = session.fit(history, target="openai-chat", max_tokens=60_000)
    reply = model.chat.completions.create(model="gpt-5", messages=fitted.messages)
    history.append(reply.choices[0].message)
    print(reply.choices[0].message.content)

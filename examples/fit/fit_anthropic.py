"""Keep a list of messages for Anthropic, and send what fits; see docs/clients/python.md."""

from anthropic import Anthropic

from pagefault_client import Pagefault

model, session, history = Anthropic(), Pagefault().session("fit-anthropic"), []
for question in ("What is in the notes?", "Are you sure?"):
    history.append({"role": "user", "content": question})
    request = {"system": "Be brief.", "max_tokens": 1_000, "messages": history}
    fitted = session.fit(request, target="anthropic", max_tokens=60_000)
    request |= {"system": fitted.system, "messages": fitted.messages}
    history.append(model.messages.create(model="claude-opus-5", **request))
    print(history[-1].content[0].text)

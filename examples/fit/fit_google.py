"""Keep a list of contents for Gemini, and send what fits; see docs/clients/python.md."""

from google.genai import Client

from pagefault_client import Pagefault

model, session, history = Client(), Pagefault().session("fit-google"), []
for question in ("What is in the notes?", "Are you sure?"):
    history.append({"role": "user", "parts": [{"text": question}]})
    fitted = session.fit(history, target="gemini", max_tokens=60_000)
    reply = model.models.generate_content(model="gemini-3-pro", contents=fitted.messages)
    history.append(reply.candidates[0].content)
    print(reply.text)

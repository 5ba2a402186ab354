"""Sessions in a short form, as a model gets them."""

import json

from pagefault_client import Session


def lines_of(session: Session) -> list[str]:
    """Return a line for each message of a session: its text, its calls, or its result.

    No call is invented, and nothing but thoughts and repeated answers is left out.
    """
    rendering = session.render("openai-chat")
    assert {entry["code"] for entry in rendering["loss"]} <= {"reasoning", "duplicate-answer"}, (
        rendering["loss"]
    )
    return [line for message in rendering["messages"] for line in _lines(message)]


def _lines(message: dict[str, object]) -> list[str]:
    content = message.get("content")
    text = [content] if isinstance(content, str) and content else []
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        if isinstance(content, list):
            text = [block["type"] for block in content]
        first = "\n".join(text).partition("\n")[0]
        name = message.get("tool_call_id") or message["role"]
        return [f"{name}: {first}"]
    made = [
        f"{item['id']}: {item['function']['name']}{_compact(item['function']['arguments'])}"
        for item in calls
    ]
    return [*(f"{message['role']}: {line}" for line in text), *made]


def _compact(arguments: str) -> str:
    return json.dumps(json.loads(arguments), separators=(",", ":"))

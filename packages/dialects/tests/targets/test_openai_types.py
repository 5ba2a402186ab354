from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from packages.dialects.tests.targets.resolved_turns import (
    JPEG,
    PDF,
    PNG,
    URL,
    WAV,
    base64,
    data_uri,
)
from tests.providers.openai_types import (
    check_openai_chat,
    check_openai_compat,
    check_openai_responses,
)

Json = dict[str, Any]
Check = Callable[[list[Json]], None]

IMAGE: Json = {
    "type": "image_url",
    "image_url": {"url": data_uri(PNG, "image/png"), "detail": "low"},
}
CALL: Json = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS: Json = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER: Json = {"role": "tool", "tool_call_id": "a", "content": "Done."}
USER: Json = {"role": "user", "content": "Hi."}

FUNCTION_CALL: Json = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "a", "output": "Done."}
MESSAGE: Json = {"type": "message", "role": "user", "content": "Hi."}


def tool(content: object, **others: object) -> Json:
    return {**ANSWER, "content": content, **others}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def image(url: str, **others: object) -> Json:
    return {"type": "image_url", "image_url": {"url": url, "detail": "low", **others}}


def audio(data: str, spelled: str) -> Json:
    return {"type": "input_audio", "input_audio": {"data": data, "format": spelled}}


def file(filename: str, file_data: str) -> Json:
    return {"type": "file", "file": {"filename": filename, "file_data": file_data}}


def call(**others: object) -> Json:
    return {**CALLS, "tool_calls": [{**CALL, **others}]}


def output(*blocks: Json) -> Json:
    return {**OUTPUT, "output": list(blocks)}


SAID_CALLS = {**CALLS, "content": ""}
REFUSED_BY_CHAT: dict[str, list[Json]] = {
    "an image in a tool message": [tool([IMAGE])],
    "a member that a tool message has not": [tool("Done.", name="f")],
    "a member that an image has not": [user(image(URL, alt="x"))],
    "a detail that there is not": [user(image(URL, detail="medium"))],
    "an image of the assistant": [{"role": "assistant", "content": [IMAGE]}],
    "an image of the system": [{"role": "system", "content": [IMAGE]}],
    "a role that there is not": [{"role": "model", "content": "Hi."}],
    "an empty list of blocks": [tool([])],
    "an empty text block": [user({"type": "text", "text": ""}, IMAGE)],
    "an empty message": [{"role": "user", "content": ""}],
    "an assistant who says nothing": [{"role": "assistant", "content": None}],
    "an empty list of calls": [{**CALLS, "tool_calls": []}],
    "arguments that are no text": [
        call(function={"name": "f", "arguments": {}}),
        ANSWER,
    ],
    "arguments that are no object": [call(function={"name": "f", "arguments": "[]"}), ANSWER],
    "a name that does not fit": [call(function={"name": "f g", "arguments": "{}"}), ANSWER],
    "an id that is too long": [tool("Done.", tool_call_id="a" * 65)],
    "an empty id": [tool("Done.", tool_call_id="")],
    "an answer to no call": [USER, ANSWER],
    "a call without an answer": [CALLS],
    "a message between a call and its answer": [CALLS, USER, ANSWER],
    "two answers to one call": [CALLS, ANSWER, ANSWER],
    "two calls of one id": [{**CALLS, "tool_calls": [CALL, CALL]}, ANSWER],
    "bytes of another type": [user(image(data_uri(JPEG, "image/png")))],
    "bytes of no type": [user(image(data_uri(b"no image", "image/png")))],
    "a type that is not taken": [user(image(data_uri(PDF, "application/pdf")))],
    "base64 that is none": [user(image("data:image/png;base64,iVBORw0KGg=o"))],
    "bytes that are not base64": [user(image("data:image/png,x"))],
    "an address of this machine's files": [user(image("file:///a.png"))],
    "an address that is not safe": [user(image("http://a.example/a.png"))],
    "a reference that is none": [user(image("@blob:ab"))],
    "an image that is too large": [
        user(image(data_uri(PNG + b"\0" * 15_000_000, "image/png"))),
    ],
    "too many images": [user(*[image(URL)] * 501)],
    "too much in all": [
        user(*[file("a.pdf", data_uri(PDF + b"\0" * 13_000_000, "application/pdf"))] * 3)
    ],
    "a recording as a data URI": [user(audio(data_uri(WAV, "audio/wav"), "wav"))],
    "a recording by its address": [user(audio(URL, "wav"))],
    "a recording in another form": [user(audio(base64(WAV), "mp3"))],
    "a form of recordings that there is not": [user(audio(base64(WAV), "ogg"))],
    "a file by its address": [user(file("a.pdf", URL))],
    "a file without a name": [
        user({"type": "file", "file": {"file_data": data_uri(PDF, "application/pdf")}})
    ],
    "a name that does not tell the type": [user(file("a.txt", data_uri(PDF, "application/pdf")))],
    "a file that is no PDF": [user(file("a.pdf", data_uri(b"a,b", "text/csv")))],
    "the items of another target": [MESSAGE],
}

REFUSED_BY_COMPAT: dict[str, list[Json]] = {
    "blocks where a string would do": [tool([{"type": "text", "text": "Done."}])],
    "a recording": [user(audio(base64(WAV), "wav"))],
    "a recording in a tool message": [tool([IMAGE, audio(base64(WAV), "wav")])],
    "a document": [user(file("a.pdf", data_uri(PDF, "application/pdf")))],
    "a member that a tool message has not": [tool("Done.", name="f")],
    "a member that a block has not": [tool([{**IMAGE, "alt": "x"}])],
    "nothing at all": [tool(None)],
    "an empty list of blocks": [tool([])],
    "an empty text block": [tool([{"type": "text", "text": ""}, IMAGE])],
    "bytes of another type": [tool([image(data_uri(JPEG, "image/png"))])],
    "a call without an answer": [SAID_CALLS],
    "null beside calls": [CALLS, tool("Done.")],
    "an image of the assistant": [{"role": "assistant", "content": [IMAGE]}],
}

REFUSED_BY_RESPONSES: dict[str, list[Json]] = {
    "a message of the other API": [CALLS],
    "an image without detail": [
        {**MESSAGE, "content": [{"type": "input_image", "image_url": URL}]}
    ],
    "an image in the form of the other API": [output(IMAGE)],
    "a member that an answer has not": [{**OUTPUT, "is_error": True}],
    "a recording": [output({"type": "input_audio", "data": base64(WAV), "format": "wav"})],
    "blocks in the words of the assistant": [
        {**MESSAGE, "role": "assistant", "content": [{"type": "input_text", "text": "Hi."}]}
    ],
    "words of the assistant without an id": [
        {**MESSAGE, "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    ],
    "an item of another kind": [{"type": "message_reference", "id": "msg_1"}],
    "an empty list of blocks": [output()],
    "an empty text block": [output({"type": "input_text", "text": ""})],
    "an empty message": [{**MESSAGE, "content": ""}],
    "an answer to no call": [MESSAGE, OUTPUT],
    "a call without an answer": [FUNCTION_CALL],
    "two answers to one call": [FUNCTION_CALL, OUTPUT, OUTPUT],
    "an answer without an id": [{"type": "function_call_output", "output": "Done."}],
    "a name that does not fit": [{**FUNCTION_CALL, "name": "f.g"}, OUTPUT],
    "bytes of another type": [
        output({"type": "input_image", "detail": "low", "image_url": data_uri(JPEG, "image/png")})
    ],
    "a file as plain base64": [
        output({"type": "input_file", "filename": "a.pdf", "file_data": base64(PDF)})
    ],
    "a file without a name": [
        output({"type": "input_file", "file_data": data_uri(PDF, "application/pdf")})
    ],
    "a file given twice": [
        output(
            {
                "type": "input_file",
                "file_url": URL,
                "filename": "a.pdf",
                "file_data": data_uri(PDF, "application/pdf"),
            }
        )
    ],
    "nothing of a file": [output({"type": "input_file", "filename": "a.pdf"})],
}


def accepted_by(check: Check, cases: dict[str, list[Json]]) -> list[str]:
    """Return the names of the cases that a check accepts."""
    accepted = []
    for name, messages in cases.items():
        with suppress(AssertionError, ValidationError):
            check(messages)
            accepted.append(name)
    return accepted


def test_chat_completions_refuses_invalid_messages() -> None:
    assert accepted_by(check_openai_chat, REFUSED_BY_CHAT) == []


def test_specification_000_refuses_invalid_messages() -> None:
    assert accepted_by(check_openai_compat, REFUSED_BY_COMPAT) == []


def test_responses_api_refuses_invalid_items() -> None:
    assert accepted_by(check_openai_responses, REFUSED_BY_RESPONSES) == []


def test_valid_neighbours_of_invalid_messages_are_accepted() -> None:
    check_openai_chat([USER, CALLS, ANSWER, user(IMAGE, audio(base64(WAV), "wav"))])
    check_openai_compat([USER, SAID_CALLS, tool([IMAGE]), user(IMAGE)])
    check_openai_responses([MESSAGE, FUNCTION_CALL, OUTPUT, {**MESSAGE, "role": "assistant"}])

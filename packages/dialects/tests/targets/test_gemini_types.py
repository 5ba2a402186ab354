from typing import Any

import pytest
from pydantic import ValidationError

from packages.dialects.tests.targets.resolved_turns import MP3, PDF, PNG, base64
from tests.providers.gemini_types import check_gemini

TEXT = {"text": "Done."}
CALL = {
    "functionCall": {"id": "a", "name": "shoot", "args": {}},
    "thoughtSignature": "skip_thought_signature_validator",
}


def response(response: object, **members: object) -> dict[str, Any]:
    return {"functionResponse": {"id": "a", "name": "shoot", "response": response, **members}}


def blob(content: bytes = PNG, mime_type: str = "image/png", **members: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": mime_type, "data": base64(content), **members}}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


WRONG = {
    "an empty content": ([user()], "nothing is said"),
    "an empty text": ([user({"text": ""})], "a blank text"),
    "a part that says two things": ([user(TEXT | blob())], "1 parts hold"),
    "a role of another provider": ([{"role": "assistant", "parts": [TEXT]}], "the assistant"),
    "an image of the model": ([model(blob())], "the model says"),
    "names in the spelling of Python": (
        [user({"function_response": {"id": "a", "name": "shoot", "response": {}}})],
        "the types know only",
    ),
    "a reference": ([user(response({"a": [{"$ref": "a.png"}]}))], r"a `\$ref` in an answer"),
    "an error without words": ([user(response({"error": ""}))], "an error that says nothing"),
    "audio in an answer": (
        [user(response({}, parts=[blob(MP3, "audio/mpeg")]))],
        "an answer holds audio/mpeg",
    ),
    "an image of a type that is not taken": (
        [user(blob(b"<svg/>", "image/svg+xml"))],
        "a medium of type image/svg",
    ),
    "two media of one name": (
        [user(response({}, parts=[blob(displayName="a"), blob(displayName="a")]))],
        "two media of one name",
    ),
    "an answer behind a text": ([user(TEXT, response({}))], "answers that are not first"),
    "an unsigned call": (
        [model({"functionCall": CALL["functionCall"]}), user(response({}))],
        "calls without a signature",
    ),
    "an unanswered call": ([model(CALL), user(TEXT)], r"\[\] answer \['a'\]"),
    "an odd id": ([user(response({}, id="a/1"))], "the id 'a/1'"),
    "an odd name": ([user(response({}, name="7up"))], "the name '7up'"),
    "bytes of another type": ([user(blob(PDF))], "bytes of application/pdf as image/png"),
}


@pytest.mark.parametrize(("messages", "complaint"), WRONG.values(), ids=WRONG)
def test_invalid_contents_are_refused(messages: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_gemini(messages)


ILL_TYPED = {
    "a response that is no object": [user(response("Done."))],
    "a part of another provider": [user({"type": "text", "text": "Done."})],
    "a member that nobody knows": [user(response({}, isError=True))],
    "arguments that are a string": [
        model(CALL | {"functionCall": {"id": "a", "name": "shoot", "args": "{}"}})
    ],
}


@pytest.mark.parametrize("messages", ILL_TYPED.values(), ids=ILL_TYPED)
def test_contents_of_other_types_are_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError):
        check_gemini(messages)

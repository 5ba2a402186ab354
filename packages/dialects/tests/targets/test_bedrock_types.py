from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import PDF, PNG, WAV, base64
from tests.providers.bedrock_types import check_bedrock

TEXT = {"text": "Done."}
USE = {"toolUse": {"toolUseId": "a", "name": "shoot", "input": {}}}


def image(content: bytes = PNG, spelled: str = "png") -> dict[str, Any]:
    return {"image": {"format": spelled, "source": {"bytes": base64(content)}}}


def pdf(name: str = "a") -> dict[str, Any]:
    source = {"bytes": base64(PDF)}
    return {"document": {"format": "pdf", "name": name, "source": source}}


def result(*content: dict[str, Any], **members: str) -> dict[str, Any]:
    return {
        "toolResult": {
            "toolUseId": "a",
            "content": list(content),
            "status": "success",
            **members,
        }
    }


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


WRONG = {
    "an empty message": ([user()], "nothing is said"),
    "a blank text": ([user({"text": " "})], "a blank text"),
    "a blank text in an answer": ([user(result({"text": ""}))], "a blank text"),
    "a block of another provider": ([user({"type": "text", "text": "Done."})], "Unknown parameter"),
    "a block that says two things": ([user(TEXT | image())], "Can only set one"),
    "a role of another provider": ([{"role": "tool", "content": [TEXT]}], "role is 'tool'"),
    "a message of the system": ([{"role": "system", "content": [TEXT]}], "of the system"),
    "an image of the assistant": ([assistant(image())], "the assistant says"),
    "two messages of one side": ([user(TEXT), user(TEXT)], "do not alternate"),
    "a format of another spelling": ([user(image(spelled="jpg"))], "format is 'jpg'"),
    "JSON that is no object": ([user(result({"json": [1]}))], "JSON that is no object"),
    "a status of another spelling": ([user(result(TEXT, status="failed"))], "status is 'failed'"),
    "an error with an image": ([user(result(TEXT, image(), status="error"))], "an error holds"),
    "an error without words": ([user(result(status="error"))], "an error that says nothing"),
    "audio in an answer": (
        [user(result({"audio": {"format": "wav", "source": {"bytes": base64(WAV)}}}))],
        "Unknown parameter",
    ),
    "an answer behind a text": ([user(TEXT, result(TEXT))], "results that are not first"),
    "an unanswered call": ([assistant(USE)], "calls without an answer"),
    "an odd id": ([user(result(TEXT, toolUseId="a/1"))], "toolUseId is 'a/1'"),
    "a document without a text": ([user(pdf())], "a document without a text"),
    "a document without a text in an answer": (
        [user(result(pdf()), TEXT)],
        "a document without a text",
    ),
    "a name with a dot": ([user(TEXT, pdf("a.pdf"))], "names of documents"),
    "a name with two spaces": ([user(TEXT, pdf("a  b"))], "names of documents"),
    "an empty name": ([user(TEXT, pdf(""))], "valid min length: 1"),
    "two documents of one name": (
        [user(TEXT, pdf()), assistant(TEXT), user(TEXT, pdf("A"))],
        "two documents of one name",
    ),
    "six documents": ([user(TEXT, *(pdf(f"a{at}") for at in range(6)))], "6 media: document"),
    "bytes of another type": ([user(image(PDF))], "bytes of application/pdf as image/png"),
    "a medium without bytes": ([user(image(b""))], "a medium without bytes"),
}


@pytest.mark.parametrize(("messages", "complaint"), WRONG.values(), ids=WRONG)
def test_invalid_messages_are_refused(messages: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_bedrock(messages)

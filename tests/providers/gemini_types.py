"""Messages of Gemini: the types of its own SDK, and the rules that types do not state."""

import json
import re
from typing import Any, TypeAlias

from google.genai.types import Content

from pagefault_dialects.json.values import json_text
from tests.providers.encoded import check_encoded
from tests.providers.pairs import check_pairs

Json: TypeAlias = dict[str, Any]

_CALL_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_PARTS = {
    "user": {"text", "inlineData", "functionResponse"},
    "model": {"text", "functionCall"},
}
_MARKS = {"thought", "thoughtSignature"}
_HELD = {"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}
_BESIDE = {
    *("audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    *("video/mp4", "video/mpeg", "video/quicktime", "video/x-msvideo", "video/x-flv"),
    *("video/webm", "video/3gpp"),
}
_MAX_BASE64 = 100_000_000


def check_gemini_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the types of `generateContent`."""
    for message in messages:
        _check_typed(message)


def check_gemini(messages: list[Json]) -> None:
    """Raise unless `generateContent` takes the messages as contents."""
    length = 0
    for message in messages:
        length += _check_media(message)
        _check_typed(message)
        _check_content(message)
    assert length <= _MAX_BASE64, "too much base64"
    check_pairs(map(_step, messages))


def _check_typed(message: Json) -> None:
    # From JSON, since the SDK takes the strings of a dict for the bytes themselves.
    text = json_text(_without_bytes(message))
    dumped = Content.model_validate_json(text).model_dump_json(by_alias=True, exclude_unset=True)
    assert json.loads(dumped) == json.loads(text), f"the types know only {dumped} of {text}"


def _without_bytes(message: Json) -> Json:
    """A message whose media are all the same few bytes; what they are is looked at elsewhere."""
    parts = []
    for part in message["parts"]:
        answer = part.get("functionResponse")
        if answer and "parts" in answer:
            held = [_emptied(inner) for inner in answer["parts"]]
            parts.append(part | {"functionResponse": answer | {"parts": held}})
        else:
            parts.append(_emptied(part))
    return message | {"parts": parts}


def _emptied(part: Json) -> Json:
    return part | {"inlineData": part["inlineData"] | {"data": "AAAA"}} if _blob(part) else part


def _blob(part: Json) -> Json | None:
    blob: Json | None = part.get("inlineData")
    return blob


def _check_media(message: Json) -> int:
    """Raise unless all media can be read, and may stand where they do; how much base64 it is."""
    length = 0
    for part in message["parts"]:
        answer = part.get("functionResponse", {}).get("parts", [])
        for blob in filter(None, map(_blob, answer)):
            assert blob["mimeType"] in _HELD, f"an answer holds {blob['mimeType']}"
            length += check_encoded(blob["data"], blob["mimeType"])
        for blob in filter(None, [_blob(part)]):
            assert blob["mimeType"] in _HELD | _BESIDE, f"a medium of type {blob['mimeType']}"
            length += check_encoded(blob["data"], blob["mimeType"])
    return length


def _check_content(message: Json) -> None:
    role, parts = message["role"], message["parts"]
    assert role in _PARTS, f"a content of the {role}"
    assert parts, "nothing is said"
    kinds = [kind for part in parts for kind in part if kind not in _MARKS]
    assert len(kinds) == len(parts), f"{len(parts)} parts hold {kinds}"
    assert _PARTS[role] >= set(kinds), f"the {role} says {kinds}"
    answers = kinds.count("functionResponse")
    assert set(kinds[:answers]) <= {"functionResponse"}, f"answers that are not first: {kinds}"
    calls = [part for part in parts if "functionCall" in part]
    assert all("thoughtSignature" in part for part in calls[:1]), "calls without a signature"
    for part in parts:
        _check_part(part)


def _check_part(part: Json) -> None:
    match part:
        case {"text": text}:
            assert text.strip(), "a blank text"
        case {"functionCall": call}:
            _check_called(call)
            assert isinstance(call["args"], dict), "arguments that are no object"
        case {"functionResponse": answer}:
            _check_called(answer)
            _check_response(answer["response"])
            blobs = filter(None, map(_blob, answer.get("parts", [])))
            names = [blob["displayName"] for blob in blobs if "displayName" in blob]
            assert len(set(names)) == len(names), f"two media of one name: {names}"


def _check_called(call: Json) -> None:
    assert _CALL_ID.fullmatch(call["id"]), f"the id {call['id']!r} of a call"
    assert _NAME.fullmatch(call["name"]), f"the name {call['name']!r} of a tool"


def _check_response(response: Json) -> None:
    stack: list[Any] = [response]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            assert "$ref" not in node, "a `$ref` in an answer"
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    assert response.get("error") != "", "an error that says nothing"


def _step(message: Json) -> tuple[list[str], list[str]]:
    calls = [part["functionCall"]["id"] for part in message["parts"] if "functionCall" in part]
    answers = [
        part["functionResponse"]["id"] for part in message["parts"] if "functionResponse" in part
    ]
    return calls, answers

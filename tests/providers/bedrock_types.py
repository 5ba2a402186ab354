"""Messages of Bedrock: the service model of botocore, and the rules that it does not state."""

import re
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import pybase64
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape
from botocore.validate import ParamValidator

from tests.providers.encoded import check_encoded, is_reference
from tests.providers.pairs import check_pairs

Json: TypeAlias = dict[str, Any]
Value: TypeAlias = Any

_DOCUMENT_NAME = re.compile(r"(?!.*  )[A-Za-z0-9 ()\[\]-]{1,200}")
_BLOCKS = {
    "user": {"text", "image", "document", "audio", "video", "toolResult", "cachePoint"},
    "assistant": {"text", "toolUse", "cachePoint"},
}
_OPENXML = "application/vnd.openxmlformats-officedocument"
_TYPES = {
    "image": {
        "png": "image/png",
        "jpeg": "image/jpeg",
        "gif": "image/gif",
        "webp": "image/webp",
    },
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_OPENXML}.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_OPENXML}.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mka": "audio/x-matroska",
        "webm": "audio/webm",
    },
    "video": {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
}
_MAX_BASE64 = {
    "image": 5_000_000,
    "document": 6_000_000,
    "audio": 34_000_000,
    "video": 34_000_000,
}
_MOST = {"image": 20, "document": 5}


def check_bedrock_types(messages: list[Json]) -> None:
    """Raise unless the service model has the messages, once their base64 is bytes."""
    shape = messages_shape()
    decoded = _decoded(shape, messages, "messages")
    report = ParamValidator().validate(decoded, shape).generate_report()
    assert not report, report


def check_bedrock(messages: list[Json]) -> None:
    """Raise unless Converse takes the messages, once their base64 is bytes."""
    check_bedrock_types(messages)
    for message in messages:
        _check_message(message)
    roles = [message["role"] for message in messages]
    assert all(one != other for one, other in pairwise(roles)), f"{roles} do not alternate"
    check_pairs(map(_step, messages))
    _check_media([block for message in messages for block in _all_blocks(message["content"])])


@cache
def messages_shape() -> Shape:
    """Return the shape of the `messages` of Converse in the service model."""
    service = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return service.operation_model("Converse").input_shape.members["messages"]


def _decoded(shape: Shape, value: Value, path: str) -> Value:
    """A value with bytes for base64, its strings held to the enums and patterns of the model."""
    if shape.type_name == "blob":
        assert isinstance(value, str), f"{path} is no base64"
        return b"x" if is_reference(value) else pybase64.b64decode(value, validate=True)
    if shape.type_name == "list" and isinstance(value, list):
        return [_decoded(shape.member, member, f"{path}[{i}]") for i, member in enumerate(value)]
    if shape.type_name == "structure" and isinstance(value, dict):
        members = {} if shape.is_document_type else shape.members
        return {
            key: _decoded(members[key], member, f"{path}.{key}") if key in members else member
            for key, member in value.items()
        }
    if shape.type_name == "string" and isinstance(value, str):
        _check_string(shape, value, path)
    return value


def _check_string(shape: Shape, text: str, path: str) -> None:
    assert not shape.enum or text in shape.enum, f"{path} is {text!r}, none of {shape.enum}"
    pattern = shape.metadata.get("pattern")
    assert pattern is None or re.fullmatch(pattern, text), f"{path} is {text!r}, not {pattern}"


def _check_message(message: Json) -> None:
    role, blocks = message["role"], message["content"]
    assert role in _BLOCKS, f"a message of the {role}"
    assert blocks, "nothing is said"
    kinds = [kind for block in blocks for kind in block]
    assert _BLOCKS[role] >= set(kinds), f"the {role} says {kinds}"
    results = kinds.count("toolResult")
    assert set(kinds[:results]) <= {"toolResult"}, f"results that are not first: {kinds}"
    _check_texts(blocks)
    for block in blocks:
        if result := block.get("toolResult"):
            _check_texts(result["content"])
            if result["status"] == "error":
                held = {kind for inner in result["content"] for kind in inner}
                assert held, "an error that says nothing"
                assert held <= {"text", "json"}, f"an error holds {held}"
        if use := block.get("toolUse"):
            assert isinstance(use["input"], dict), "arguments that are no object"


def _check_texts(blocks: list[Json]) -> None:
    texts = [block["text"] for block in blocks if "text" in block]
    assert all(text.strip() for text in texts), "a blank text"
    assert texts or not any("document" in block for block in blocks), "a document without a text"
    objects = [block["json"] for block in blocks if "json" in block]
    assert all(isinstance(document, dict) for document in objects), "JSON that is no object"


def _all_blocks(blocks: list[Json]) -> list[Json]:
    held = [inner for block in blocks for inner in block.get("toolResult", {}).get("content", ())]
    return [*blocks, *held]


def _check_media(blocks: list[Json]) -> None:
    for kind, types in _TYPES.items():
        media = [block[kind] for block in blocks if kind in block]
        assert len(media) <= _MOST.get(kind, len(media)), f"{len(media)} media: {kind}"
        for medium in media:
            length = check_encoded(medium["source"]["bytes"], types[medium["format"]])
            assert length <= _MAX_BASE64[kind], f"{length} characters: {kind}"
    names = [block["document"]["name"].lower() for block in blocks if "document" in block]
    assert all(map(_DOCUMENT_NAME.fullmatch, names)), f"names of documents: {names}"
    assert len(set(names)) == len(names), f"two documents of one name: {names}"


def _step(message: Json) -> tuple[list[str], list[str]]:
    blocks = message["content"]
    calls = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    answers = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    return calls, answers

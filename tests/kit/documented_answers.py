"""Compares the answers of live services with the OpenAPI document: status, media type, schema.

After each test `tests/conftest.py` takes what `recorded_answers` has recorded, and fails the test
if an answer differs from the document. Each event of a stream and each frame of a WebSocket counts
as an answer.

The document lets answers have members that a later version adds. Here they are errors: a shape
takes only its documented members, unless the document says `additionalProperties: true`.
"""

import copy
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from app.http.openapi import find_schemas
from app.wire.problem import PROBLEM_MEDIA_TYPE
from tests.kit.described_api import api_document
from tests.kit.recorded_answers import Answer

_SHOWN_CHARS = 300
_MAX_DIGITS = 4_000
_DEEPEST = 200
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")
_PAGE = re.compile(r"text/(?:html|markdown)|application/xhtml\+xml")
_FRAME = {"$ref": "#/components/schemas/StreamEvent"}
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
# Of a page id that is no name of a path.
_FAULT_REFUSAL = {"$ref": "#/components/schemas/PageFaultRefusal"}


def all_faults(answers: Iterable[Answer]) -> list[str]:
    """Return the faults of answers, each once, with its route and status."""
    faults: dict[str, None] = {}
    for answer in answers:
        place = f"{answer.method} {_template_of(answer.path) or answer.path} {answer.status}"
        faults |= {f"{place}: {fault}": None for fault in faults_of(answer)}
    return list(faults)


def faults_of(answer: Answer) -> Iterator[str]:
    """Yield how an answer differs from the document."""
    if answer.method == "EVENT":
        yield from _schema_faults(_FRAME, answer.body)
        return
    if _PAGE.fullmatch(answer.media_type) and "content-security-policy" not in answer.headers:
        yield f"a page ({answer.media_type}) without a Content-Security-Policy"
    template = _template_of(answer.path)
    if template is None:
        yield from _faults_without_route(answer)
        return
    methods = api_document()["paths"][template]
    operation = methods.get(answer.method.lower())
    if answer.status == 405:
        allowed, documented = answer.headers.get("allow", ""), ", ".join(sorted(methods)).upper()
        if allowed != documented:
            yield f"`Allow` says {allowed or 'nothing'}, the document {documented}"
    elif operation is None:
        # The guard of browsers refuses requests before they have a route.
        if answer.status < 400 and not _is_preflight(answer):
            yield f"the document has no {answer.method} of this path"
    elif str(answer.status) not in operation["responses"]:
        yield f"the document has no {answer.status}, only {', '.join(operation['responses'])}"
    else:
        content = operation["responses"][str(answer.status)].get("content", {})
        yield from _content_faults(answer, content)


def _faults_without_route(answer: Answer) -> Iterator[str]:
    """Yield the faults of an answer of a path that is not documented."""
    if not answer.path.startswith("/api/"):
        return
    if answer.status < 400:
        yield "the document has no such path"
    elif answer.media_type == PROBLEM_MEDIA_TYPE and answer.method != "HEAD":
        is_fault = answer.path.endswith("/fault")
        yield from _schema_faults(_FAULT_REFUSAL if is_fault else _PROBLEM, answer.body)


def _content_faults(answer: Answer, content: Mapping[str, Any]) -> Iterator[str]:
    # The server drops the body of an answer to HEAD.
    if answer.method == "HEAD":
        return
    if not content:
        if answer.body:
            yield f"a body of {answer.media_type}, where none is documented"
        return
    kind = answer.media_type
    known = [item for item in (kind, f"{kind.partition('/')[0]}/*", "*/*") if item in content]
    if not known:
        yield f"the media type is {kind or 'missing'}, and documented are {', '.join(content)}"
    elif _JSON.fullmatch(kind) and content[known[0]]["schema"].get("format") != "binary":
        body = answer.body
        if body is not None and answer.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        yield from _schema_faults(content[known[0]]["schema"], body)


def _schema_faults(schema: Mapping[str, Any], body: bytes | None) -> Iterator[str]:
    if body is None:
        return
    value = json.loads(body, parse_int=_number)
    for error in _validator(json.dumps(schema)).iter_errors(_shallow(value)):
        yield from _lines_of(error)


def _number(digits: str) -> int:
    """Return an integer, or one of as many digits as Python takes."""
    return int(digits[:_MAX_DIGITS])


def _shallow(value: object, depth: int = 0) -> object:
    """Return a JSON value, empty below the depth that the validator supports.

    Only values of tools and users nest that deep, and the document does not describe them.
    """
    if isinstance(value, dict | list) and depth == _DEEPEST:
        return type(value)()
    if isinstance(value, dict):
        return {name: _shallow(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_shallow(item, depth + 1) for item in value]
    return value


def _lines_of(error: jsonschema_rs.ValidationError) -> Iterator[str]:
    """Yield one error; for a union, those of the members that come closest to the value."""
    alternatives = getattr(error.kind, "context", None)
    if alternatives is None:
        pointer = "".join(f"/{name}" for name in error.instance_path)
        yield f"`{pointer}` {error.message[:_SHOWN_CHARS]}"
        return
    fewest = min(map(_misses, alternatives))
    for errors in alternatives:
        if _misses(errors) == fewest:
            for item in errors:
                yield from _lines_of(item)


def _misses(errors: list[jsonschema_rs.ValidationError]) -> tuple[bool, int]:
    return any(error.kind.name in ("const", "enum", "type") for error in errors), len(errors)


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        {"allOf": [json.loads(schema)], "components": closed_document()["components"]},
        validate_formats=True,
    )


@cache
def closed_document() -> dict[str, Any]:
    """The document, with shapes that take no members but their own unless it says so."""
    document = copy.deepcopy(api_document())
    for schema in find_schemas(document):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return document


@cache
def _templates() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The paths of the document, those without a parameter first, as OpenAPI reads them."""
    paths = sorted(api_document()["paths"], key=lambda path: path.count("{"))
    return tuple((re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in paths)


def _template_of(path: str) -> str | None:
    return next((found for pattern, found in _templates() if pattern.fullmatch(path)), None)


def _is_preflight(answer: Answer) -> bool:
    return answer.method == "OPTIONS" and "access-control-allow-methods" in answer.headers

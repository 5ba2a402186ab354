"""The differences between two OpenAPI documents, and which of them are breaking."""

import copy
from typing import Any

from clients.check.document_diff import differences

EARLIER: dict[str, Any] = {
    "paths": {
        "/a": {
            "get": {
                "summary": "Read.",
                "parameters": [
                    {"name": "q", "in": "query", "required": False, "schema": {"type": "string"}},
                    {"name": "if-match", "in": "header", "schema": {"type": "string"}},
                ],
            }
        },
        "/b": {"get": {}},
    },
    "components": {
        "schemas": {
            "A": {"properties": {"title": {"type": "string"}}, "required": ["title"]},
            "B": {"enum": ["x", "y"]},
            "C": {},
        }
    },
}


def test_same_document_has_no_differences() -> None:
    later = copy.deepcopy(EARLIER)
    later["paths"]["/a"]["get"]["summary"] = "Read it."
    later["paths"]["/a"]["get"]["parameters"].reverse()
    later["paths"]["/a"]["get"]["parameters"][0]["name"] = "If-Match"
    assert list(differences(EARLIER, later)) == []


def test_each_difference_is_told_once_and_what_may_break_comes_first() -> None:
    later = copy.deepcopy(EARLIER)
    del later["paths"]["/b"]
    later["paths"]["/c"] = {"post": {}}
    parameters = later["paths"]["/a"]["get"]["parameters"]
    parameters[0]["schema"] = {"type": "integer", "format": "int64"}
    parameters.append({"name": "n", "in": "query", "required": True, "schema": {}})
    schemas = later["components"]["schemas"]
    schemas["A"]["properties"] = {"text": {"type": "string"}}
    schemas["A"]["required"] = ["text"]
    schemas["B"]["enum"] = ["y", "z"]
    del schemas["C"]
    was, now = '{"type": "string"}', '{"type": "integer", "format": "int64"}'
    assert list(differences(EARLIER, later)) == [
        "! operation removed: GET /b",
        f"! operation changed: GET /a /parameters/query q/schema was {was}, is {now}",
        "! operation changed: GET /a /parameters/query n was added",
        "! schema removed: C",
        "! schema changed: A /properties/title was removed",
        '! schema changed: A /required lacks ["title"]',
        '! schema changed: A /required has also ["text"]',
        '! schema changed: B /enum lacks ["x"]',
        "  operation added: POST /c",
        "  schema changed: A /properties/text was added",
        '  schema changed: B /enum has also ["z"]',
    ]

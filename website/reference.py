"""Generate the reference of the HTTP interface as Markdown, from the OpenAPI document.

There is a page for each tag with its operations, and a page with all schemas, so that the search
of the site finds each route, parameter and member.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

METHODS: Final = ("get", "head", "post", "put", "patch", "delete", "options")
SCHEMAS_PAGE: Final = "schemas.md"

Document = Mapping[str, Any]


def reference_pages(document: Document) -> dict[str, str]:
    """Return the pages by file name: `index.md`, a page for each tag, and `schemas.md`."""
    pages = {f"{slug(tag['name'])}.md": _tag_page(document, tag) for tag in document["tags"]}
    return {"index.md": _index(document), **pages, SCHEMAS_PAGE: _schemas_page(document)}


def slug(name: str) -> str:
    """Return a name in the form used in URLs."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _operations(document: Document, tag: str) -> Iterator[tuple[str, str, Document]]:
    """Yield path, method and operation of a tag, in the order of the document."""
    for path, item in document["paths"].items():
        for method in METHODS:
            operation = item.get(method)
            if operation is not None and tag in operation.get("tags", ()):
                yield path, method, {**operation, "shared": item.get("parameters", ())}


def _index(document: Document) -> str:
    """Return the page that lists all routes."""
    lines = [f"# HTTP reference, version {document['info']['version']}", ""]
    lines += ["Generated from [openapi.json](openapi.json), from which SDKs can be generated.", ""]
    for tag in document["tags"]:
        page = f"{slug(tag['name'])}.md"
        lines += [f"## [{tag['name']}]({page})", "", tag.get("description", ""), ""]
        lines += ["| route | summary |", "|---|---|"]
        for path, method, operation in _operations(document, tag["name"]):
            anchor = slug(operation["operationId"])
            route = f"[`{method.upper()} {path}`]({page}#{anchor})"
            lines.append(f"| {route} | {_cell(operation.get('summary', ''))} |")
        lines.append("")
    return "\n".join(lines)


def _tag_page(document: Document, tag: Document) -> str:
    """Return the page of a tag: its operations with parameters, bodies and answers."""
    lines = [f"# {tag['name']}", "", tag.get("description", ""), ""]
    for path, method, operation in _operations(document, tag["name"]):
        lines += _operation(document, path, method, operation)
    return "\n".join(lines)


def _operation(document: Document, path: str, method: str, operation: Document) -> list[str]:
    """Return the section of one operation."""
    title = operation.get("summary") or operation["operationId"]
    lines = [f"## {title} {{ #{slug(operation['operationId'])} }}", ""]
    lines += [f"`{method.upper()} {path}`", "", operation.get("description", ""), ""]
    declared = [*operation["shared"], *operation.get("parameters", ())]
    parameters = [_resolve(document, item) for item in declared]
    if parameters:
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|"]
        for parameter in parameters:
            name = f"`{parameter['name']}`" + (", required" if parameter.get("required") else "")
            meaning = _cell(parameter.get("description", ""))
            lines.append(
                f"| {name} | {parameter['in']} | {type_of(parameter['schema'])} | {meaning} |"
            )
        lines.append("")
    body = _resolve(document, operation.get("requestBody", {}))
    if body:
        lines += ["**Body**", "", *_contents(body["content"])]
    lines += ["| status | answer | type |", "|---|---|---|"]
    for status, answer in operation["responses"].items():
        response = _resolve(document, answer)
        contents = response.get("content", {}).items()
        types = ", ".join(_media(name, media) for name, media in contents)
        lines.append(f"| {status} | {_cell(response.get('description', ''))} | {types} |")
    return [*lines, ""]


def _contents(content: Document) -> list[str]:
    """Return the media types of a body, with its first example."""
    lines = [*(f"- {_media(name, media)}" for name, media in content.items()), ""]
    for media in content.values():
        examples = [item["value"] for item in media.get("examples", {}).values() if "value" in item]
        examples += [media["example"]] if "example" in media else []
        if examples and not isinstance(examples[0], str):
            example = json.dumps(examples[0], indent=2, ensure_ascii=False)
            return [*lines, "```json", example, "```", ""]
    return lines


def _media(name: str, media: Document) -> str:
    """Return a media type with the schema of its content."""
    return f"`{name}`: {type_of(media['schema'])}" if media.get("schema") else f"`{name}`"


def _schemas_page(document: Document) -> str:
    """Return the page of all schemas, each with its members."""
    lines = ["# Schemas", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += [f"## {name} {{ #{slug(name)} }}", "", schema.get("description", ""), ""]
        members = schema.get("properties")
        if not members:
            lines += [type_of(schema), ""]
            continue
        lines += ["| member | type | meaning |", "|---|---|---|"]
        for member, value in members.items():
            label = f"`{member}`" + (", required" if member in schema.get("required", ()) else "")
            lines.append(f"| {label} | {type_of(value)} | {_cell(value.get('description', ''))} |")
        lines.append("")
    return "\n".join(lines)


def type_of(schema: Document | bool) -> str:
    """Return the text for a schema in a table; named schemas become links."""
    if not isinstance(schema, Mapping) or not schema:
        return "any value"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({SCHEMAS_PAGE}#{slug(name)})"
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(type_of(item) for item in schema[word]))
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in values)
    return _plain_type(schema)


def _plain_type(schema: Document) -> str:
    """Return the text for a JSON type."""
    kind = schema.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {type_of(schema['additionalProperties'])}"
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _resolve(document: Document, item: Document) -> Document:
    """Return the target of a reference, or the item itself."""
    if "$ref" not in item:
        return item
    target: Any = document
    for key in item["$ref"].removeprefix("#/").split("/"):
        target = target[key]
    return target  # type: ignore[no-any-return]


def _cell(text: str) -> str:
    """Return a text as one line, escaped for a table."""
    return " ".join(text.split()).replace("|", "\\|")

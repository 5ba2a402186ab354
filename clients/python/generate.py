"""Write the generated modules of `pagefault_client`: `make clients-python`.

- `models.py` has a `TypedDict` for each schema of `openapi/openapi.json`.
- `operations.py` has a function for each operation, which returns a `Call`.
- `_sync/` is `_async/` without `async` and `await`, except for two modules written by hand.
- `_version.py` has the version of the service.

With `--check`, no file is written, and outdated files are an error.
"""

import ast
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = HERE / "src" / "pagefault_client"
SCHEMAS = "#/components/schemas/"
METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
# Idempotent operations: they only read, or an id in the request identifies the write.
REPEATABLE = {
    "create_event_ticket",
    "create_resource",
    "create_signed_url",
    "delete_upload",
    "examine_history",
    "fork_session",
    "patch_page",
    "render_record",
    "render_session_on",
    "resolve_references",
    "run_tool_call",
}
# A union of all these types is any JSON; `Any` is easier to use.
ANY_JSON = {"str", "bool", "dict[str, Any]", "list[Any]"}
CONDITIONS = {"if-match", "if-none-match", "if-modified-since", "if-unmodified-since"}
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Modules whose blocking version cannot be derived.
WRITTEN_BY_HAND = {"content_files.py", "tool_wrapper.py"}
# Classes for keyword arguments: their bases and docstrings.
OPTIONS = {
    "RenderOptions": (
        "TypedDict",
        "The options of a rendering; documented in `docs/targets.md` of the service.",
    ),
    "SessionRenderOptions": ("RenderOptions", "The options of the rendering of a session."),
}
# Replacements for `_sync/`, in this order, each between word boundaries.
WORDS = {
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "AsyncGenerator": "Generator",
    "AsyncClient": "Client",
    "AsyncExitStack": "ExitStack",
    "asynccontextmanager": "contextmanager",
    "AsyncContextManager": "ContextManager",
    "StopAsyncIteration": "StopIteration",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aiter_bytes": "iter_bytes",
    "aiter_raw": "iter_raw",
    "aread": "read",
    "aclose": "close",
    "aclosing": "closing",
    "aio": "blocking",
    "_async": "_sync",
    r"Async(?=[A-Z]\w*)": "",
    "asynchronous": "blocking",
}


def main() -> int:
    """Write the files, or compare them with the existing ones."""
    files = {PACKAGE / name: text for name, text in generate_files().items()}
    if "--check" not in sys.argv[1:]:
        for path, text in files.items():
            path.write_text(text)
        return 0
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date: run `make clients-python`")
    return bool(stale)


def generate_files() -> dict[str, str]:
    """Return the text of each generated file by its path in the package."""
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    version = re.search(r'VERSION = "(.+)"', (ROOT / "app" / "version.py").read_text())
    assert version, "app/version.py has no version"
    files = {
        "models.py": models(document["components"]["schemas"], document["paths"]),
        "operations.py": operations(document),
        "_version.py": f'"""The version, that of the service."""\n\nVERSION = "{version[1]}"\n',
    }
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        if path.name not in WRITTEN_BY_HAND:
            files[f"_sync/{path.name}"] = remove_async(path.read_text())
    return {name: format_module(name, text) for name, text in files.items()}


def format_module(name: str, text: str) -> str:
    """Format a module with ruff, which also sorts imports and removes unused ones."""
    ruff = [sys.executable, "-m", "ruff"]
    path = str(PACKAGE / name)
    rules = ["check", "--select", "I,F401", "--fix", "--quiet", "--stdin-filename", path, "-"]
    for arguments in (rules, ["format", "--stdin-filename", path, "-"]):
        text = subprocess.run(
            [*ruff, *arguments], input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


def remove_async(text: str) -> str:
    """Convert asynchronous code to blocking code."""
    text = re.sub(r"\basync (def|for|with)\b", r"\1", text)
    text = re.sub(r"\bawait ", "", text)
    text = re.sub(r"\bAwaitable\[(\w+)\]( \| object)?", r"\1", text)
    for word, other in WORDS.items():
        text = re.sub(rf"\b{word}\b" if "(?=" not in word else rf"\b{word}", other, text)
    head, _, rest = text.partition('"""\n')
    return f'{head}"""\n\n# Generated by generate.py from `_async/`; change that.\n{rest}'


# ------------------------------------------------------------------------------------- models


def models(schemas: Mapping[str, Any], paths: Mapping[str, Any]) -> str:
    """Return the module of types, each after the types that it refers to."""
    blocks = [
        '"""The types of the service\'s JSON, with its member names."""\n\n'
        "# Generated by generate.py from openapi/openapi.json.\n"
        "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
    ]
    blocks += [model(name, schemas[name]) for name in sort_schemas(schemas)]
    blocks += render_options(schemas["SessionRenderRequest"], paths)
    names = "".join(f"    {name!r},\n" for name in sorted([*schemas, *OPTIONS]))
    return "\n\n".join([*blocks, f"__all__ = [\n{names}]\n"])


def render_options(request: Mapping[str, Any], paths: Mapping[str, Any]) -> Iterator[str]:
    """Yield the classes of the keyword arguments of renderings, of any record and of a session."""
    query = paths["/api/tool-results/{tool_result_id}/render"]["get"]["parameters"]
    of_record = {parameter["name"] for parameter in query}
    options = {
        python_name({"name": name}): (type_of(schema).removesuffix(" | None"), name in of_record)
        for name, schema in request["properties"].items()
        if name not in {"target", "since"}
    }
    for is_for_record, (name, (base, text)) in zip((True, False), OPTIONS.items(), strict=True):
        fields = (
            f"    {field}: {kind}\n" for field, (kind, of) in options.items() if of is is_for_record
        )
        yield f'class {name}({base}, total=False):\n    """{text}"""\n\n{"".join(fields)}'


def sort_schemas(schemas: Mapping[str, Any]) -> list[str]:
    """Return the names of schemas, each after the schemas that it refers to."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for other in sorted(set(references(schemas[name])) - {name}):
                visit(other)
            ordered[name] = None

    for name in schemas:
        visit(name)
    return list(ordered)


def references(value: object) -> Iterator[str]:
    """Yield the names of the schemas that a value refers to."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(SCHEMAS)
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def model(name: str, schema: Mapping[str, Any]) -> str:
    """Return a class for an object schema, or an alias for any other schema."""
    members = schema.get("properties")
    if schema.get("type") != "object" or not members:
        return f"{name}: TypeAlias = {type_of(schema)}"
    required = set(schema.get("required", ()))
    fields = {
        member: type_of(value) if member in required else f"NotRequired[{type_of(value)}]"
        for member, value in members.items()
    }
    text = docstring(schema.get("description"), schema.get("title", name))
    if any(keyword.iskeyword(field) or not field.isidentifier() for field in fields):
        members_text = "".join(f"{member!r}: {kind}," for member, kind in fields.items())
        comment = "".join(f"# {line.strip()}\n" for line in text.strip().splitlines())
        return f'{comment}{name} = TypedDict("{name}", {{{members_text}}})'
    lines = "".join(f"    {member}: {kind}\n" for member, kind in fields.items())
    return f'class {name}(TypedDict):\n    """{text}"""\n\n{lines}'


def docstring(description: str | None, default: str) -> str:
    """Return the first paragraph of a description, wrapped for a docstring."""
    paragraph = " ".join((description or "").split("\n\n")[0].split()) or f"{default}."
    paragraph = paragraph.replace("\\", "\\\\").replace('"""', "'''")
    if not paragraph.endswith((".", ":", "?")):
        paragraph += "."
    if len(paragraph) < 88:
        return paragraph
    first, dot, rest = paragraph.partition(". ")
    wrapped = "\n\n".join(textwrap.fill(part, 92) for part in (first + dot.strip(), rest) if part)
    return textwrap.indent(wrapped, "    ").strip() + "\n    "


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(SCHEMAS)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum") or [schema["const"]]
        return f"Literal[{', '.join(map(repr, values))}]"
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return union([type_of(member) for member in schema[word]])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return union([type_of({**schema, "type": kind}) for kind in kinds])
    if kinds in {"array", "object"}:
        members = schema.get("items" if kinds == "array" else "additionalProperties")
        inner = type_of(members) if isinstance(members, dict) else "Any"
        return f"list[{inner}]" if kinds == "array" else f"dict[str, {inner}]"
    return "bytes" if schema.get("format") == "binary" else SCALARS.get(str(kinds), "Any")


def union(members: list[str]) -> str:
    """Return a union without duplicates, with `None` at its end."""
    distinct = sorted(dict.fromkeys(members), key=lambda member: member == "None")
    is_any = "Any" in distinct or set(distinct) >= ANY_JSON
    return "Any" if is_any else " | ".join(distinct)


# --------------------------------------------------------------------------------- operations


def operations(document: Mapping[str, Any]) -> str:
    """Return the module of operations."""
    blocks = [
        '"""A function for each operation, which returns a `Call`."""\n\n'
        "# Generated by generate.py from openapi/openapi.json.\n"
        "from collections.abc import Mapping\nfrom typing import Any, Literal\n\n"
        "import httpx\n\n"
        "from pagefault_client import models\n"
        "from pagefault_client.calls import (\n"
        "    Body, Call, bytes_of, headers_of, json_of, nothing_of, segment, text_of\n)\n"
    ]
    for path, item in document["paths"].items():
        blocks += [
            operation(document, path, method, item[method]) for method in METHODS if method in item
        ]
    return "\n\n".join(blocks)


def operation(
    document: Mapping[str, Any], path: str, method: str, described: Mapping[str, Any]
) -> str:
    """Return the function of one operation."""
    parameters = [resolve(document, item) for item in described.get("parameters", ())]
    by_place: dict[str, list[Any]] = {"path": [], "query": [], "header": []}
    names: set[str] = set()
    for parameter in parameters:
        # Omit headers that duplicate a query parameter, and conditions of reads: their answer
        # may be a 304 without a body.
        is_condition = method in {"get", "head"} and parameter["name"].lower() in CONDITIONS
        if python_name(parameter) not in names and not is_condition:
            by_place[parameter["in"]].append(parameter)
        names.add(python_name(parameter))
    signature = [f"{python_name(item)}: str | int" for item in by_place["path"]]
    body_argument, body = body_of(resolve(document, described.get("requestBody", {})))
    signature += [body] if body else []
    keywords = [optional(item) for item in by_place["query"] + by_place["header"]]
    keywords.sort(key=lambda item: "=" in item)
    signature += ["*", *keywords] if keywords else []
    decoder, returned = answer_of(described["responses"], method)
    arguments = [repr(method.upper()), template(path), f"decode={decoder}"]
    for word, place in (("query", "query"), ("headers", "header")):
        members = "".join(f"{field['name']!r}: {python_name(field)}," for field in by_place[place])
        arguments += [f"{word}={{{members}}}"] if members else []
    arguments += [body_argument] if body_argument else []
    name = described["operationId"]
    takes_key = any(field["name"].lower() == "idempotency-key" for field in by_place["header"])
    if method in {"get", "head", "put", "delete", "options"} or name in REPEATABLE:
        arguments.append("is_repeatable=True")
    if takes_key:
        arguments.append("takes_key=True")
    text = docstring(described.get("description") or described.get("summary"), name)
    return (
        f'def {name}({", ".join(signature)}) -> Call[{returned}]:\n    """{text}"""\n'
        f"    return Call({', '.join(arguments)})\n"
    )


def resolve(document: Mapping[str, Any], value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the target of a reference, or the value itself."""
    target: Any = value
    if "$ref" in value:
        target = document
        for name in value["$ref"].removeprefix("#/").split("/"):
            target = target[name]
    return dict(target)


def python_name(parameter: Mapping[str, Any]) -> str:
    """Return the Python name of a parameter."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parameter["name"]).replace("-", "_").lower()
    return f"{words}_" if keyword.iskeyword(words) else words


def optional(parameter: Mapping[str, Any]) -> str:
    """Return the declaration of a parameter in the query or a header."""
    kind = re.sub(r"\b[A-Z]\w+\b", _qualified, type_of(parameter.get("schema", {})))
    if parameter["in"] == "header":
        kind = "str"
    if parameter.get("required"):
        return f"{python_name(parameter)}: {kind}"
    return f"{python_name(parameter)}: {union([*kind.split(' | '), 'None'])} = None"


def _qualified(match: re.Match[str]) -> str:
    return match[0] if match[0] in {"Any", "Literal", "None", "Mapping"} else f"models.{match[0]}"


def template(path: str) -> str:
    """Return the expression of a path with its parameters."""
    text = re.sub(r"{(\w+)}", r"{segment(\1)}", path)
    return f"f{text!r}" if text != path else repr(path)


def body_of(described: Mapping[str, Any]) -> tuple[str, str]:
    """Return the argument of `Call` for a body, and the parameter of the function."""
    content = described.get("content", {})
    for kind, value in content.items():
        if "json" in kind:
            body_type = re.sub(r"\b[A-Z]\w+\b", _qualified, type_of(value.get("schema", {})))
            default = "" if described.get("required", False) else " | None = None"
            extra = f', content_type="{kind}"' if kind != "application/json" else ""
            return f"json=body{extra}", f"body: {body_type}{default}"
    for kind in content:
        if not kind.startswith("multipart/"):
            return f'content=body, content_type="{kind}"', "body: Body"
    return "", ""


def answer_of(responses: Mapping[str, Any], method: str) -> tuple[str, str]:
    """Return the decoder of a successful answer, and the type of its result."""
    if method in {"head", "options"}:
        return "headers_of", "httpx.Headers"
    successes = [response for status, response in responses.items() if status.startswith("2")]
    contents = {
        kind: value for success in successes for kind, value in success.get("content", {}).items()
    }
    of_json = [
        success["content"].get("application/json")
        for success in successes
        if success.get("content")
    ]
    if types := [type_of(item.get("schema", {})) for item in of_json if item is not None]:
        returned = " | ".join(dict.fromkeys(types))
        return "json_of", re.sub(r"\b[A-Z]\w+\b", _qualified, returned)
    if any(kind.startswith("text/") for kind in contents):
        return "text_of", "str"
    if contents:
        return "bytes_of", "bytes"
    if any(success.get("headers") for success in successes):
        return "headers_of", "httpx.Headers"
    return "nothing_of", "None"


if __name__ == "__main__":
    for source in (PACKAGE / "_async").glob("*.py"):
        ast.parse(source.read_text(), str(source))
    sys.exit(main())

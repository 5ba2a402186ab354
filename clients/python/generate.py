"""Write what of `pagefault_client` follows from elsewhere: `make clients-python`.

- `models.py` has a `TypedDict` for each schema of `openapi/openapi.json`.
- `operations.py` has a function for each operation, which makes a `Call` and sends nothing.
- `_sync/` is `_async/` without `async` and `await`, but for two modules that wait in another way.
- `_version.py` repeats the version of the service.

With `--check` nothing is written, and what is out of date is an error.
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
# They are repeated without harm: they read, or what they write has an identity of its own.
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
# A value of all these types is any JSON, and easier to use as what it is.
ANY_JSON = {"str", "bool", "dict[str, Any]", "list[Any]"}
CONDITIONS = {"if-match", "if-none-match", "if-modified-since", "if-unmodified-since"}
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# What waits in another way; `_sync/` has its own.
WRITTEN_BY_HAND = {"content_files.py", "wrapping.py"}
# How `_async/` becomes `_sync/`, in this order; `\b` on both sides is implied.
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
    """Write the files, or compare them."""
    written = {PACKAGE / name: text for name, text in generated().items()}
    if "--check" not in sys.argv[1:]:
        for path, text in written.items():
            path.write_text(text)
        return 0
    stale = [
        path for path, text in written.items() if not path.exists() or path.read_text() != text
    ]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date: run `make clients-python`")
    return bool(stale)


def generated() -> dict[str, str]:
    """Return the text of each generated file by its path in the package."""
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    version = re.search(r'VERSION = "(.+)"', (ROOT / "app" / "version.py").read_text())
    assert version, "app/version.py has no version"
    files = {
        "models.py": models(document["components"]["schemas"]),
        "operations.py": operations(document),
        "_version.py": f'"""The version, that of the service."""\n\nVERSION = "{version[1]}"\n',
    }
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        if path.name not in WRITTEN_BY_HAND:
            files[f"_sync/{path.name}"] = without_async(path.read_text())
    return {name: formatted(name, text) for name, text in files.items()}


def formatted(name: str, text: str) -> str:
    """Return a module as ruff writes it, with imports in order and without unused ones."""
    ruff = [sys.executable, "-m", "ruff"]
    path = str(PACKAGE / name)
    rules = ["check", "--select", "I,F401", "--fix", "--quiet", "--stdin-filename", path, "-"]
    for arguments in (rules, ["format", "--stdin-filename", path, "-"]):
        text = subprocess.run(
            [*ruff, *arguments], input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


def without_async(text: str) -> str:
    """Return blocking code made of asynchronous code."""
    text = re.sub(r"\basync (def|for|with)\b", r"\1", text)
    text = re.sub(r"\bawait ", "", text)
    text = re.sub(r"\bAwaitable\[(\w+)\]( \| object)?", r"\1", text)
    for word, other in WORDS.items():
        text = re.sub(rf"\b{word}\b" if "(?=" not in word else rf"\b{word}", other, text)
    head, _, rest = text.partition('"""\n')
    return f'{head}"""\n\n# Written by generate.py from `_async/`; change that.\n{rest}'


# ------------------------------------------------------------------------------------- models


def models(schemas: Mapping[str, Any]) -> str:
    """Return the module of types, each after those that it names."""
    blocks = [
        '"""The shapes of the service\'s JSON, as it spells them."""\n\n'
        "# Written by generate.py from openapi/openapi.json.\n"
        "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
    ]
    blocks += [model(name, schemas[name]) for name in in_order(schemas)]
    names = "".join(f"    {name!r},\n" for name in sorted(schemas))
    return "\n\n".join([*blocks, f"__all__ = [\n{names}]\n"])


def in_order(schemas: Mapping[str, Any]) -> list[str]:
    """Return the names of schemas, those that others name first."""
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
    """Yield the names of the schemas that one refers to."""
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
    """Return a class for an object, and an alias for any other schema."""
    members = schema.get("properties")
    if schema.get("type") != "object" or not members:
        return f"{name}: TypeAlias = {type_of(schema)}"
    required = set(schema.get("required", ()))
    fields = {
        member: type_of(value) if member in required else f"NotRequired[{type_of(value)}]"
        for member, value in members.items()
    }
    text = docstring(schema.get("description"), schema.get("title", name))
    if any(keyword.iskeyword(each) or not each.isidentifier() for each in fields):
        listed = "".join(f"{member!r}: {kind}," for member, kind in fields.items())
        comment = "".join(f"# {line.strip()}\n" for line in text.strip().splitlines())
        return f'{comment}{name} = TypedDict("{name}", {{{listed}}})'
    lines = "".join(f"    {member}: {kind}\n" for member, kind in fields.items())
    return f'class {name}(TypedDict):\n    """{text}"""\n\n{lines}'


def docstring(description: str | None, otherwise: str) -> str:
    """Return the first paragraph of a description as it stands in a docstring."""
    paragraph = " ".join((description or "").split("\n\n")[0].split()) or f"{otherwise}."
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
        return union([type_of({**schema, "type": each}) for each in kinds])
    if kinds in {"array", "object"}:
        members = schema.get("items" if kinds == "array" else "additionalProperties")
        inner = type_of(members) if isinstance(members, dict) else "Any"
        return f"list[{inner}]" if kinds == "array" else f"dict[str, {inner}]"
    return "bytes" if schema.get("format") == "binary" else SCALARS.get(str(kinds), "Any")


def union(members: list[str]) -> str:
    """Return a union without repetitions, `None` at its end."""
    distinct = sorted(dict.fromkeys(members), key=lambda each: each == "None")
    is_any = "Any" in distinct or set(distinct) >= ANY_JSON
    return "Any" if is_any else " | ".join(distinct)


# --------------------------------------------------------------------------------- operations


def operations(document: Mapping[str, Any]) -> str:
    """Return the module of operations."""
    blocks = [
        '"""A function for each operation, which makes a `Call` and sends nothing."""\n\n'
        "# Written by generate.py from openapi/openapi.json.\n"
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
    parameters = [resolved(document, each) for each in described.get("parameters", ())]
    by_place: dict[str, list[Any]] = {"path": [], "query": [], "header": []}
    names: set[str] = set()
    for parameter in parameters:
        # A header may say again what the query says. An answer without a body would be no record.
        is_condition = method in {"get", "head"} and parameter["name"].lower() in CONDITIONS
        if python_name(parameter) not in names and not is_condition:
            by_place[parameter["in"]].append(parameter)
        names.add(python_name(parameter))
    takes = [f"{python_name(each)}: str | int" for each in by_place["path"]]
    sends, body = body_of(resolved(document, described.get("requestBody", {})))
    takes += [body] if body else []
    named = [optional(each) for each in by_place["query"] + by_place["header"]]
    named.sort(key=lambda each: "=" in each)
    takes += ["*", *named] if named else []
    decoder, returned = answer_of(described["responses"], method)
    given = [repr(method.upper()), template(path), f"decode={decoder}"]
    for word, place in (("query", "query"), ("headers", "header")):
        listed = "".join(f"{each['name']!r}: {python_name(each)}," for each in by_place[place])
        given += [f"{word}={{{listed}}}"] if listed else []
    given += [sends] if sends else []
    name = described["operationId"]
    keyed = any(each["name"].lower() == "idempotency-key" for each in by_place["header"])
    if method in {"get", "head", "put", "delete", "options"} or name in REPEATABLE:
        given.append("is_repeatable=True")
    if keyed:
        given.append("takes_key=True")
    text = docstring(described.get("description") or described.get("summary"), name)
    return (
        f'def {name}({", ".join(takes)}) -> Call[{returned}]:\n    """{text}"""\n'
        f"    return Call({', '.join(given)})\n"
    )


def resolved(document: Mapping[str, Any], value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference leads to."""
    found: Any = value
    if "$ref" in found:
        where, found = found["$ref"].removeprefix("#/").split("/"), document
        for name in where:
            found = found[name]
    return dict(found)


def python_name(parameter: Mapping[str, Any]) -> str:
    """Return the name of a parameter as an argument."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parameter["name"]).replace("-", "_").lower()
    return f"{words}_" if keyword.iskeyword(words) else words


def optional(parameter: Mapping[str, Any]) -> str:
    """Return the argument of a parameter in the query or a header."""
    kind = re.sub(r"\b[A-Z]\w+\b", _qualified, type_of(parameter.get("schema", {})))
    if parameter["in"] == "header":
        kind = "str"
    if parameter.get("required"):
        return f"{python_name(parameter)}: {kind}"
    return f"{python_name(parameter)}: {union([*kind.split(' | '), 'None'])} = None"


def _qualified(match: re.Match[str]) -> str:
    return match[0] if match[0] in {"Any", "Literal", "None", "Mapping"} else f"models.{match[0]}"


def template(path: str) -> str:
    """Return a path as an expression."""
    filled = re.sub(r"{(\w+)}", r"{segment(\1)}", path)
    return f"f{filled!r}" if filled != path else repr(path)


def body_of(described: Mapping[str, Any]) -> tuple[str, str]:
    """Return the argument of the call for a body, and that of the function."""
    content = described.get("content", {})
    for kind, value in content.items():
        if "json" in kind:
            named = re.sub(r"\b[A-Z]\w+\b", _qualified, type_of(value.get("schema", {})))
            default = "" if described.get("required", False) else " | None = None"
            extra = f', content_type="{kind}"' if kind != "application/json" else ""
            return f"json=body{extra}", f"body: {named}{default}"
    for kind in content:
        if not kind.startswith("multipart/"):
            return f'content=body, content_type="{kind}"', "body: Body"
    return "", ""


def answer_of(responses: Mapping[str, Any], method: str) -> tuple[str, str]:
    """Return the decoder of a successful answer, and its type."""
    if method in {"head", "options"}:
        return "headers_of", "httpx.Headers"
    good = [each for status, each in responses.items() if status.startswith("2")]
    contents = {kind: value for each in good for kind, value in each.get("content", {}).items()}
    of_json = [each["content"].get("application/json") for each in good if each.get("content")]
    if types := [type_of(each.get("schema", {})) for each in of_json if each is not None]:
        returned = " | ".join(dict.fromkeys(types))
        return "json_of", re.sub(r"\b[A-Z]\w+\b", _qualified, returned)
    if any(kind.startswith("text/") for kind in contents):
        return "text_of", "str"
    if contents:
        return "bytes_of", "bytes"
    if any(each.get("headers") for each in good):
        return "headers_of", "httpx.Headers"
    return "nothing_of", "None"


if __name__ == "__main__":
    for source in (PACKAGE / "_async").glob("*.py"):
        ast.parse(source.read_text(), str(source))
    sys.exit(main())

"""Real MCP servers, and the calls of each: texts, media, structured values and failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from tests.kit.node import NODE, installed

Call: TypeAlias = tuple[str, Mapping[str, Any]]

FOLDER = Path(__file__).parent
_ENVIRONMENTS = FOLDER.parent / ".venv"


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and calls of its tools.

    Attributes:
        sdk: The environment it is called from: that of the newest SDK, or of its first version.
        command: How it is started.
        calls: The calls, in order.
    """

    sdk: Literal["new", "old"]
    command: Sequence[str]
    calls: Sequence[Call]


CHROMIUM = "/usr/bin/chromium-headless-shell"


def python(sdk: str) -> Path:
    """Return the interpreter of one of the environments that servers are called from."""
    return _ENVIRONMENTS / f"peers-{sdk}" / "bin" / "python"


def of_npm(package: str, *arguments: str) -> Sequence[str]:
    """Return the command of a server of the protocol's own packages."""
    modules = installed(FOLDER) / "node_modules" / "@modelcontextprotocol"
    return [str(NODE), str(modules / package / "dist" / "index.js"), *arguments]


def _playwright(folder: Path) -> Sequence[str]:
    program = installed(FOLDER) / "node_modules" / "@playwright" / "mcp" / "cli.js"
    options = ["--headless", "--isolated", "--no-sandbox", "--executable-path", CHROMIUM]
    return [str(NODE), str(program), *options, "--output-dir", str(folder / "browser")]


def _of_pypi(sdk: str, command: str, *arguments: str) -> Sequence[str]:
    return [str(python(sdk).with_name(command)), *arguments]


def servers(folder: Path) -> Mapping[str, Server]:
    """Return the servers by name, which work in a folder made by `make_folder`."""
    return MappingProxyType(
        {
            "everything": Server("new", of_npm("server-everything"), _EVERYTHING),
            "filesystem": Server(
                "new", of_npm("server-filesystem", str(folder)), _filesystem(folder)
            ),
            "memory": Server("new", of_npm("server-memory"), _MEMORY),
            "sequential-thinking": Server("new", of_npm("server-sequential-thinking"), _THINKING),
            "playwright": Server("new", _playwright(folder), _PLAYWRIGHT),
            "git": Server("new", _of_pypi("new", "mcp-server-git"), _git(folder)),
            "git, old": Server("old", _of_pypi("old", "mcp-server-git"), _git(folder)),
            "time": Server("new", _of_pypi("new", "mcp-server-time"), _TIME),
            "time, old": Server("old", _of_pypi("old", "mcp-server-time"), _TIME),
            "excel": Server("new", _of_pypi("new", "excel-mcp-server", "stdio"), _excel(folder)),
            "sqlite, old": Server(
                "old",
                _of_pypi("old", "mcp-server-sqlite", "--db-path", str(folder / "some.db")),
                _SQLITE,
            ),
            "calculator, old": Server("old", _of_pypi("old", "mcp-server-calculator"), _CALCULATOR),
            "typed": _typed("new", folder),
            "typed, old": _typed("old", folder),
        }
    )


def _typed(sdk: Literal["new", "old"], folder: Path) -> Server:
    tools = (
        "word",
        "whole",
        "real",
        "yes",
        "nothing",
        "words",
        "no_words",
        "numbers",
        "mapping",
        "weather",
        "forecasts",
        "point",
        "json_text",
        "long_text",
        "untyped",
        "failure",
    )
    path = {"path": str(folder / "picture.png")}
    calls: list[Call] = [*((tool, {}) for tool in tools)]
    calls += [("picture", path), ("picture_with_words", path)]
    return Server(sdk, [str(python(sdk)), str(FOLDER / "typed_server.py")], calls)


_EVERYTHING: Sequence[Call] = (
    ("echo", {"message": "a message that comes back"}),
    ("get-sum", {"a": 1.5, "b": 2}),
    ("get-tiny-image", {}),
    ("get-structured-content", {"location": "Chicago"}),
    ("get-annotated-message", {"messageType": "debug"}),
    ("get-annotated-message", {"messageType": "error"}),
    ("get-resource-links", {"count": 4}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
    ("get-sum", {"a": "not a number", "b": 2}),
)


def _filesystem(folder: Path) -> Sequence[Call]:
    text, other, picture = (str(folder / name) for name in ("a.txt", "b.json", "picture.png"))
    return (
        ("read_text_file", {"path": text}),
        ("read_text_file", {"path": other}),
        ("read_multiple_files", {"paths": [text, other]}),
        ("read_media_file", {"path": picture}),
        ("list_directory", {"path": str(folder)}),
        ("list_directory_with_sizes", {"path": str(folder)}),
        ("directory_tree", {"path": str(folder / "inner")}),
        ("search_files", {"path": str(folder), "pattern": "**/*.txt"}),
        ("get_file_info", {"path": text}),
        ("edit_file", {"path": other, "edits": [{"oldText": "1", "newText": "2"}], "dryRun": True}),
        ("read_text_file", {"path": str(folder / "missing.txt")}),
        ("read_text_file", {"path": "/etc/passwd"}),
    )


_PLAYWRIGHT: Sequence[Call] = (
    (
        "browser_navigate",
        {"url": "data:text/html,<title>A page</title><h1>Hello</h1><button>Go on</button>"},
    ),
    ("browser_snapshot", {}),
    ("browser_take_screenshot", {}),
    ("browser_evaluate", {"function": "() => document.title"}),
    ("browser_click", {"target": "no-such-element", "element": "a button that is not there"}),
    ("browser_close", {}),
)

_MEMORY: Sequence[Call] = (
    (
        "create_entities",
        {
            "entities": [
                {
                    "name": "a lighthouse at the sea",
                    "entityType": "kind of building",
                    "observations": ["it was built in 1868", "its light is seen for 20 miles"],
                },
                {"name": "the keeper of the light", "entityType": "person", "observations": []},
            ]
        },
    ),
    (
        "create_relations",
        {
            "relations": [
                {
                    "from": "the keeper of the light",
                    "to": "a lighthouse at the sea",
                    "relationType": "lives inside of",
                }
            ]
        },
    ),
    ("read_graph", {}),
    ("search_nodes", {"query": "lighthouse"}),
    ("open_nodes", {"names": ["nobody knows this name"]}),
    ("delete_entities", {"entityNames": ["a lighthouse at the sea", "the keeper of the light"]}),
)

_THINKING: Sequence[Call] = tuple(
    (
        "sequentialthinking",
        {
            "thought": f"the thought with number {number}",
            "nextThoughtNeeded": number < 2,
            "thoughtNumber": number,
            "totalThoughts": 2,
        },
    )
    for number in (1, 2)
)

_TIME: Sequence[Call] = (
    ("get_current_time", {"timezone": "Europe/Berlin"}),
    (
        "convert_time",
        {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "America/New_York"},
    ),
    ("get_current_time", {"timezone": "Atlantis/Capital"}),
)


def _git(folder: Path) -> Sequence[Call]:
    repository = {"repo_path": str(folder / "repository")}
    return (
        ("git_status", repository),
        ("git_log", repository),
        ("git_show", {**repository, "revision": "HEAD"}),
        ("git_branch", {**repository, "branch_type": "local"}),
        ("git_diff_unstaged", repository),
        ("git_show", {**repository, "revision": "no-such-revision"}),
    )


def _excel(folder: Path) -> Sequence[Call]:
    book = {"path": str(folder / "book.xlsx")}
    sheet = {**book, "sheet": "Sheet1"}
    rows = [["a name of a column", "a number"], ["the first of the rows", 1.5], ["Zweite Zeile", 2]]
    return (
        ("create_workbook", book),
        ("write_range", {**sheet, "at": "A1", "rows": rows}),
        ("read_range", sheet),
        ("describe_workbook", book),
        ("describe_sheet", sheet),
        ("find_cells", {**book, "query": "rows"}),
        ("export_workbook", book),
        ("read_range", {**book, "sheet": "no such sheet"}),
    )


_SQLITE: Sequence[Call] = (
    ("create_table", {"query": "CREATE TABLE places (name TEXT, height REAL)"}),
    ("write_query", {"query": "INSERT INTO places VALUES ('a hill above the town', 312.5)"}),
    ("read_query", {"query": "SELECT * FROM places"}),
    ("list_tables", {}),
    ("describe_table", {"table_name": "places"}),
    ("append_insight", {"insight": "hills are higher than towns"}),
    ("read_query", {"query": "SELECT nothing FROM nowhere"}),
)

_CALCULATOR: Sequence[Call] = (
    ("calculate", {"expression": "2 ** 200"}),
    ("calculate", {"expression": "1 / 3"}),
    ("calculate", {"expression": "1 / 0"}),
)

"""Make the files by which hosts of MCP find and install the memory server.

    build/release/
      server.json              for the MCP registry: how a host starts the server with `uvx`
      pagefault-….mcpb         a bundle: a host installs it with one click

    pagefault-….mcpb           a ZIP file
      manifest.json            the server, its tools, and what the host asks its user
      pyproject.toml           requires the wheel beside it, with the SDK of MCP
      server.py                requires them too, as `uv run` reads it; starts `pagefault mcp`
      pagefault-….whl          the service, as it is in the release

Both are made of the version, the description and the tools of the project, and nothing in them is
written by hand. `mcpb`, which hosts check bundles with, validates the manifest.
"""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any, Final

NAME: Final = "io.github.pagefault/pagefault"
"""The name in the registry. Its README has it too, by which the registry finds the owner."""
SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_SESSION: Final = "The session that the server's tools read and write"
_FOLDER: Final = "The folder that everything is stored in"
_LONGEST_DESCRIPTION: Final = 100

_SERVER: Final = '''\
# /// script
# requires-python = "{python}"
# dependencies = ["{name}[mcp]"]
#
# [tool.uv.sources]
# {name} = {{ path = "{wheel}" }}
# ///
"""Start the memory server of Pagefault."""

import sys

from app.cli.main import main

sys.argv[1:1] = ["mcp"]
main()
'''


def server_json(root: Path, version: str) -> dict[str, object]:
    """Return the entry of the registry."""
    project = _project(root)
    session = {"description": _SESSION, "default": "demo"}
    package = {
        "registryType": "pypi",
        "identifier": project["name"],
        "version": version,
        "runtimeHint": "uvx",
        "runtimeArguments": [{"type": "named", "name": "--with", "value": _sdk(project)}],
        "packageArguments": [
            {"type": "positional", "value": "mcp"},
            {
                "type": "named",
                "name": "--session",
                "value": "{session}",
                "variables": {"session": session},
            },
        ],
        "environmentVariables": [
            {"name": "PAGEFAULT_DATA_DIR", "description": _FOLDER, "format": "filepath"}
        ],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": NAME,
        "title": "Pagefault",
        "description": _short(str(project["description"])),
        "version": version,
        "packages": [package],
    }


def listed_command(entry: dict[str, Any], session: str) -> tuple[str, ...]:
    """Return the arguments of `uvx` with which a host of the registry starts the server."""
    (package,) = entry["packages"]
    words = [word for each in package["runtimeArguments"] for word in (each["name"], each["value"])]
    words.append(f"{package['identifier']}@{package['version']}")
    for argument in package["packageArguments"]:
        words += [argument["name"]] if "name" in argument else []
        words.append(argument["value"].replace("{session}", session))
    return tuple(words)


def write_bundle_folder(
    into: Path, root: Path, wheel: Path, tools: list[dict[str, str]], version: str
) -> None:
    """Write the contents of the bundle into a new folder."""
    into.mkdir()
    shutil.copy(wheel, into)
    project = _project(root)
    manifest = {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": "Pagefault",
        "version": version,
        "description": project["description"],
        "author": {"name": "Pagefault"},
        "license": project["license"],
        "keywords": ["agents", "memory", "media"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    *("run", "--directory", "${__dirname}", "server.py"),
                    *("--session", "${user_config.session}"),
                    *("--data-dir", "${user_config.data_dir}"),
                ],
            },
        },
        "tools": tools,
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
        "user_config": {
            "session": {
                "type": "string",
                "title": "Session",
                "description": _SESSION,
                "default": "desktop",
            },
            "data_dir": {
                "type": "directory",
                "title": "Folder",
                "description": _FOLDER,
                "default": "${HOME}/.pagefault/data",
            },
        },
    }
    (into / "manifest.json").write_text(f"{json.dumps(manifest, indent=2)}\n")
    (into / "pyproject.toml").write_text(_bundle_project(project, wheel.name, version))
    (into / "server.py").write_text(
        _SERVER.format(python=project["requires-python"], name=project["name"], wheel=wheel.name)
    )


def bundle_command(bundle: Path, home: Path, tools: Path) -> tuple[str, ...]:
    """Return the command of an unpacked bundle, as a host fills it in.

    Args:
        bundle: The folder of the bundle.
        home: The folder of the user.
        tools: The folder of `uv`, which the host brings along.
    """
    manifest = json.loads((bundle / "manifest.json").read_text())
    config = manifest["server"]["mcp_config"]
    values = {"${__dirname}": str(bundle), "${HOME}": str(home)}
    for name, field in manifest["user_config"].items():
        values = {f"${{user_config.{name}}}": field["default"], **values}
    words = [str(word) for word in (tools / config["command"], *config["args"])]
    for placeholder, value in values.items():
        words = [word.replace(placeholder, value) for word in words]
    return tuple(words)


def _bundle_project(project: dict[str, object], wheel: str, version: str) -> str:
    return f"""\
[project]
name = "{project["name"]}-bundle"
version = "{version}"
requires-python = "{project["requires-python"]}"
dependencies = ["{project["name"]}[mcp]"]

[tool.uv]
package = false
environments = ["sys_platform == 'darwin'", "sys_platform == 'linux'"]

[tool.uv.sources]
{project["name"]} = {{ path = "{wheel}" }}
"""


def _project(root: Path) -> dict[str, object]:
    project: dict[str, object] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return project


def _sdk(project: dict[str, object]) -> str:
    """Return the requirement of the SDK, which the extra `mcp` adds."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)  # noqa: S101 - the form of every project
    (requirement,) = extras["mcp"]
    return str(requirement)


def _short(description: str) -> str:
    """Return the first clause of a description that is too long for the registry."""
    if len(description) <= _LONGEST_DESCRIPTION:
        return description
    return f"{description.partition(':')[0]}."

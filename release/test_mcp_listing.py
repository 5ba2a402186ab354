"""The entry of the MCP registry and the bundle, made of the project's own version and tools."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.version import VERSION
from pagefault_dialects.tools.tool_catalogue import list_definitions
from release.mcp_listing import (
    NAME,
    bundle_command,
    listed_command,
    server_json,
    write_bundle_folder,
)
from tests.kit.process import ROOT

SCHEMA = ROOT / "release" / "server.schema.json"
MCPB = ROOT / "release" / "node_modules" / ".bin" / "mcpb"
TOOLS = [{"name": tool.name, "description": tool.description} for tool in list_definitions()]


def check(path: Path) -> subprocess.CompletedProcess[str]:
    """Validate an entry as `make release-check` does."""
    program = Path(sys.executable).with_name("check-jsonschema")
    return subprocess.run(
        [program, "--schemafile", SCHEMA, path], capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    wheel = tmp_path / f"pagefault-{VERSION}-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    write_bundle_folder(tmp_path / "bundle", ROOT, wheel, TOOLS, VERSION)
    return tmp_path / "bundle"


def test_entry_starts_the_version_of_the_project(tmp_path: Path) -> None:
    entry: Any = server_json(ROOT, VERSION)
    path = tmp_path / "server.json"
    path.write_text(json.dumps(entry))
    done = check(path)
    assert (done.returncode, done.stderr) == (0, "")
    (package,) = entry["packages"]
    assert (entry["name"], entry["version"], package["version"]) == (NAME, VERSION, VERSION)
    sdk = ("--with", "mcp>=2.3", f"pagefault@{VERSION}")
    assert listed_command(entry, "demo") == (*sdk, "mcp", "--session", "demo")
    assert f"mcp-name: {NAME}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "pagefault"},
        {"name": "a/b/c"},
        {"description": "x" * 101},
        {"version": "^0.2.0"},
        {"version": "latest"},
        {"packages": []},
        {"other": 1},
    ],
)
def test_entry_that_the_registry_refuses_ends_the_check(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "server.json"
    path.write_text(json.dumps({**server_json(ROOT, VERSION), **change}))
    assert check(path).returncode == 1


def test_bundle_has_the_tools_and_is_started_as_a_host_fills_it_in(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["version"], manifest["tools"]) == (VERSION, TOOLS)
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        f"pagefault-{VERSION}-py3-none-any.whl",
        "pyproject.toml",
        "server.py",
    ]
    assert bundle_command(folder, Path("/home/ada"), Path("/opt")) == (
        *("/opt/uv", "run", "--directory", str(folder), "server.py"),
        *("--session", "desktop", "--data-dir", "/home/ada/.pagefault/data"),
    )


@pytest.mark.parametrize(
    ("change", "status"), [({}, 0), ({"version": 2}, 1), ({"server": {"type": "uv"}}, 1)]
)
def test_manifest_is_validated_by_the_tool_of_the_bundles(
    folder: Path, change: dict[str, object], status: int
) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    done = subprocess.run([MCPB, "validate", path], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr

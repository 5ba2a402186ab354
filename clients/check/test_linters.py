"""Linters of the OpenAPI document report no errors and no warnings."""

import pytest

from clients.check.generators import DOCUMENT, OPENAPI, Command, node_tool, run_command
from tests.kit.process import ROOT

QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
LINTERS: dict[str, Command] = {
    "redocly": (
        *(*node_tool("redocly"), "lint", "--config", OPENAPI / "redocly.yaml"),
        *("--format", "stylish", DOCUMENT),
    ),
    "spectral": (
        *(*node_tool("spectral"), "lint", "--ruleset", OPENAPI / "spectral.yaml"),
        *("--fail-severity", "hint", DOCUMENT),
    ),
}


@pytest.mark.parametrize("name", LINTERS)
def test_linter_has_no_errors_and_no_warnings(name: str) -> None:
    output = run_command(LINTERS[name], ROOT, QUIET)
    assert "warning" not in output.lower(), output

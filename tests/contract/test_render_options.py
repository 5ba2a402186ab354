"""A render option is declared once; all doors take it with its type, range, default and text."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

import pagefault_client
from pagefault_dialects.model.render_options import (
    RecordRenderOptions,
    RenderOptions,
    describe_option,
)
from pagefault_doctor.doctor_commands import commands as doctor
from pagefault_mcp.commands.host_commands import commands
from tests.kit.described_api import api_document

pytestmark = pytest.mark.engines("embedded")

DOCUMENT = api_document()
BODIES = ("SessionRenderRequest", "RenderRequest", "TurnRender", "ToolCallRequest")
QUERIES = {
    ("/api/tool-results/{tool_result_id}/render", "get"): RecordRenderOptions,
    ("/api/pages/{page_id}/render", "get"): RecordRenderOptions,
    ("/api/sessions/{session_id}/render", "get"): RenderOptions,
    ("/api/sessions/{session_id}/working-set", "get"): RenderOptions,
    ("/api/sessions/{session_id}/history", "put"): RenderOptions,
}
# A query has only the name of a frontier, a body a name or the frontier.
DECLARED_BY_THE_DOOR = {"frontier"}
# A turn is of an agent, whose model gets handles for its next call.
DEFAULTS = {"TurnRender": {"handles": True}, "ToolCallRequest": {"handles": True}}
LIMITS = ("max_bytes", "max_images", "max_tokens", "max_text", "max_image_pixels")
# The placeholder of an omitted result has fewer tokens.
LEAST_OF_A_PROXY = {"max_tokens": 100}


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def names_of(options: type[RecordRenderOptions]) -> set[str]:
    return {camel(field.name) for field in fields(options)}


def rules_of(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without null, the same in a query and in a body."""
    for kind in schema.get("anyOf", ()):
        if kind.get("type") != "null":
            schema = {**kind, **{name: rule for name, rule in schema.items() if name != "anyOf"}}
    return schema


def members_of_session_query() -> dict[str, dict[str, Any]]:
    parameters = DOCUMENT["paths"]["/api/sessions/{session_id}/render"]["get"]["parameters"]
    return {parameter["name"]: parameter["schema"] for parameter in parameters}


@pytest.mark.parametrize(("path", "method"), QUERIES)
def test_query_takes_all_options(path: str, method: str) -> None:
    parameters = DOCUMENT["paths"][path][method]["parameters"]
    names = {parameter["name"] for parameter in parameters if parameter["in"] == "query"}
    assert names & names_of(RenderOptions) == names_of(QUERIES[path, method])


@pytest.mark.parametrize("body", BODIES)
def test_body_takes_the_options_of_a_query_with_their_rules_and_texts(body: str) -> None:
    members = DOCUMENT["components"]["schemas"][body]["properties"]
    assert names_of(RenderOptions) <= members.keys()
    defaults = DEFAULTS.get(body, {})
    for name in sorted(names_of(RenderOptions) - DECLARED_BY_THE_DOOR):
        expected = rules_of(members_of_session_query()[name])
        if name in defaults:
            expected = {**expected, "default": defaults[name]}
        found = rules_of(members[name])
        if found.get("type") == "array":
            # An address has no lists, but texts with commas.
            found = {
                "type": "string",
                "description": f"{found['description']} Separated by commas.",
            }
        assert found == expected, name


def run(app: typer.Typer, *arguments: str) -> str:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "400", "TERM": "dumb"}).output


@pytest.mark.parametrize("name", LIMITS)
def test_proxy_takes_a_limit_in_the_range_of_the_option(name: str) -> None:
    (low, high), text = describe_option(name)
    low = LEAST_OF_A_PROXY.get(name, low)
    flag = f"--{name.replace('_', '-')}"
    refused = "is out of range"
    for number, is_refused in ((low - 1, True), (low, False), (high, False), (high + 1, True)):
        # A proxy without a server ends there.
        assert (
            refused in run(commands, "proxy", "--session", "s", flag, str(number))
        ) is is_refused
    assert text.partition(". ")[0][1:].rstrip(".") in run(commands, "proxy", "--help")


def test_doctor_takes_the_range_of_the_option() -> None:
    refused = "is out of range: 0 or more"
    assert refused in run(doctor, "doctor", "-", "--max-tokens", "-1")
    assert refused not in run(doctor, "doctor", "-", "--max-tokens", "0")


def test_client_package_knows_all_options() -> None:
    for options, declared in (
        (pagefault_client.RenderOptions, RecordRenderOptions),
        (pagefault_client.SessionRenderOptions, RenderOptions),
    ):
        assert get_type_hints(options).keys() == {field.name for field in fields(declared)}

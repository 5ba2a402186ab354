"""Checks of `make release-check`, and the reference of the site."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from release.image_context import image_context
from release.licenses import license_table
from release.versions import disagreeing_versions
from website.reference import reference_pages, type_of

pytestmark = pytest.mark.engines("embedded")

RULES = 'allowed = ["MIT", "Apache-2.0"]\n[read]\nquiet = "MIT"\n'


def component(name: str, *licenses: Mapping[str, object]) -> dict[str, object]:
    """A package as CycloneDX lists it."""
    return {"name": name, "version": "1.0", "licenses": list(licenses)}


def test_licenses_are_listed_and_those_nobody_allowed_are_named(tmp_path: Path) -> None:
    (tmp_path / "licenses.toml").write_text(RULES)
    classifier = {"license": {"name": "License :: OSI Approved :: MIT License"}}
    listed = [
        component("zeta", {"license": {"id": "MIT"}}, classifier),
        component("both", {"expression": "(MIT OR Apache-2.0)"}),
        component("quiet"),
        component("strict", {"license": {"id": "AGPL-3.0-only"}}),
        component("silent"),
    ]
    assert license_table(listed, tmp_path / "licenses.toml") == (
        "# Licenses of the dependencies\n\n| package | version | license |\n|---|---|---|\n"
        "| both | 1.0 | (MIT OR Apache-2.0) |\n| quiet | 1.0 | MIT |\n| silent | 1.0 |  |\n"
        "| strict | 1.0 | AGPL-3.0-only |\n| zeta | 1.0 | MIT |\n",
        ["silent 1.0 (none named)", "strict 1.0 (AGPL-3.0-only)"],
    )


def test_image_gets_what_it_copies_and_no_secret(tmp_path: Path) -> None:
    for name in ("app/main.py", "docs/a.md", "keys/tls.pem", "web/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text("docs\nweb\n.dockerignore\n")
    (tmp_path / "Dockerfile").write_text("COPY app app\nCOPY web web\nCOPY --from=build /x /x\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)  # noqa: S607 - git is there
    assert image_context(tmp_path) == (
        ["Dockerfile", "app/main.py", "keys/tls.pem"],
        [
            "keys/tls.pem must not be in the image: add it to .dockerignore",
            "the Dockerfile copies web, which .dockerignore leaves out",
        ],
    )


def test_manifests_of_another_version_are_named(tmp_path: Path) -> None:
    files = {
        "openapi/openapi.json": '{"info": {"version": "1.2.0"}}',
        "docker-compose.yml": "image: pagefault:1.1.0\n",
        "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n",
        "clients/typescript/package.json": '{"private": true, "version": "0.0.0"}',
        "clients/typescript/core/package.json": '{"version": "1.0.0"}',
        "clients/python/pyproject.toml": '[project]\nversion = "1.2.0"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert disagreeing_versions(tmp_path, "1.2.0") == [
        "clients/typescript/core/package.json",
        "docker-compose.yml",
    ]


def test_reference_names_every_route_parameter_and_member() -> None:
    document = {
        "info": {"version": "1.2.0"},
        "tags": [{"name": "tool results", "description": "Results."}],
        "paths": {
            "/api/things/{id}": {
                "parameters": [{"$ref": "#/components/parameters/id"}],
                "get": {
                    "tags": ["tool results"],
                    "operationId": "getThing",
                    "summary": "Get Thing",
                    "responses": {
                        "200": {
                            "description": "One | thing",
                            "content": {
                                "application/json": {
                                    "schema": {"$ref": "#/components/schemas/Thing"}
                                }
                            },
                        }
                    },
                },
            }
        },
        "components": {
            "parameters": {
                "id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            },
            "schemas": {
                "Thing": {
                    "required": ["size"],
                    "properties": {"size": {"type": "integer", "format": "int64"}},
                }
            },
        },
    }
    pages = reference_pages(document)
    assert sorted(pages) == ["index.md", "schemas.md", "tool-results.md"]
    assert "| [`GET /api/things/{id}`](tool-results.md#getthing) | Get Thing |" in pages["index.md"]
    assert "| `id`, required | path | string |  |" in pages["tool-results.md"]
    answer = "| 200 | One \\| thing | `application/json`: [Thing](schemas.md#thing) |"
    assert answer in pages["tool-results.md"]
    assert "| `size`, required | integer (int64) |  |" in pages["schemas.md"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (True, "any value"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array", "items": {"$ref": "#/x/Page"}}, "list of [Page](schemas.md#page)"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"enum": ["a", None]}, '`"a"`, `null`'),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "object of string"),
    ],
)  # fmt: skip
def test_type_is_said_in_words(schema: dict[str, object] | bool, words: str) -> None:
    assert type_of(schema) == words
